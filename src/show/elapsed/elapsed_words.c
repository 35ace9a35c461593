/* SPDX-License-Identifier: MIT */
/* elapsed_words.c: threads, system calls and connections of an account, in words. See elapsed_face.h. */
#include "show/elapsed/elapsed_face.h"
#include "show/text/system_call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SIGNAL_TEXT_SIZE 60
#define CALL_TEXT_SIZE   (UNIT_SIZE + OBJECT_TEXT_SIZE + 5)

static void procedure_text(const struct elapsed_row *row, char *text, size_t size)
{
    char procedure[PROCEDURE_NAME_SIZE + 1], module[MODULE_NAME_SIZE + 1];

    show_text(row->procedure, PROCEDURE_NAME_SIZE, procedure);
    show_text(row->module, MODULE_NAME_SIZE, module);
    if (procedure[0] != '\0')
        snprintf(text, size, "%s%s (%s)",
                 row->kind == ELAPSED_COMPUTES ? "up to calls from " : "in ", procedure, module);
    else
        text[0] = '\0';
}

/* "flock", "flock on /run/lock/app" */
static void call_text(const struct elapsed_row *row, char text[CALL_TEXT_SIZE])
{
    char call[UNIT_SIZE], object[OBJECT_TEXT_SIZE];

    if (row->object == WAIT_ON_MPI) {
        object_text(row->object, row->object_name, text);
        return;
    }
    system_call_text(row->call, call);
    object_text(row->object, row->object_name, object);
    snprintf(text, CALL_TEXT_SIZE, "%s%s%s", call,
             object[0] == '\0'               ? ""
             : row->object == WAIT_ON_OPENED ? " of "
                                             : " on ",
             object);
}

/* ": SIGUSR1 from process 4242" */
static void add_signal(const struct elapsed_row *row, char text[SIGNAL_TEXT_SIZE])
{
    char name[UNIT_SIZE];

    signal_text(row->signal, name);
    if (row->signal == 0)
        text[0] = '\0';
    else if (row->sender == 0 || row->sender == SENDER_UNKNOWN)
        snprintf(text, SIGNAL_TEXT_SIZE, ": %s%s", name,
                 row->sender == 0 ? " from the kernel" : "");
    else
        snprintf(text, SIGNAL_TEXT_SIZE, ": %s from process %" PRIu32, name, row->sender);
}

static void connection_text(const struct elapsed_row *row, char text[ELAPSED_TEXT_SIZE])
{
    char address[ENDPOINT_SIZE + 1], peer[PLACED_PROCESS_SIZE] = "";

    show_text(row->address, ENDPOINT_SIZE, address);
    if (row->peer[0] != '\0')
        show_placed_process(row->peer, row->peer_pid, "", row->peer_machine, peer);
    snprintf(text, ELAPSED_TEXT_SIZE, "%s%s%s %s", peer, peer[0] == '\0' ? "" : ", ",
             path_kind_name(row->path_kind), address);
}

void elapsed_what(const struct elapsed_row *row, char text[ELAPSED_TEXT_SIZE])
{
    char call[CALL_TEXT_SIZE], signal[SIGNAL_TEXT_SIZE],
        procedure[PROCEDURE_NAME_SIZE + MODULE_NAME_SIZE + 30];

    text[0] = '\0';
    procedure_text(row, procedure, sizeof(procedure));
    if (row->path_kind != 0) {
        connection_text(row, text);
    } else if (row->call != NO_SYSTEM_CALL) {
        call_text(row, call);
        add_signal(row, signal);
        snprintf(text, ELAPSED_TEXT_SIZE, "%s%s%s%s", call, procedure[0] == '\0' ? "" : " ",
                 procedure, signal);
    } else {
        snprintf(text, ELAPSED_TEXT_SIZE, "%s", procedure);
    }
}

void elapsed_process_text(const struct elapsed_row *row, char text[PLACED_PROCESS_SIZE])
{
    show_placed_process(row->process, row->pid, row->label, row->machine, text);
}

void elapsed_thread_text(const struct elapsed_row *row, char text[ELAPSED_THREAD_SIZE])
{
    char name[STREAM_NAME_SIZE + 1];
    char process[PLACED_PROCESS_SIZE];

    if (row->pid == 0) {
        strcpy(text, "-");
        return;
    }
    elapsed_process_text(row, process);
    show_text(row->thread, STREAM_NAME_SIZE, name);
    if (name[0] != '\0')
        snprintf(text, ELAPSED_THREAD_SIZE, "%s %s", process, name);
    else if (row->pid == row->tid || row->tid == 0)
        snprintf(text, ELAPSED_THREAD_SIZE, "%s", process);
    else
        snprintf(text, ELAPSED_THREAD_SIZE, "%s %" PRIu32, process, row->tid);
}

const char *elapsed_wait_name(enum elapsed_kind kind)
{
    return kind == ELAPSED_IN_FLIGHT ? "message"
           : kind == ELAPSED_CHILD   ? "child"
                                     : elapsed_kind_name(kind);
}
