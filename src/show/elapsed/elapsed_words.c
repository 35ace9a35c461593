/* SPDX-License-Identifier: MIT */
/* elapsed_words.c: threads, system calls and connections of an account, in words. See elapsed_face.h. */
#include "show/elapsed/elapsed_face.h"
#include "show/text/system_call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

void elapsed_what(const struct elapsed_row *row, char text[ELAPSED_TEXT_SIZE])
{
    char call[UNIT_SIZE], procedure[PROCEDURE_NAME_SIZE + MODULE_NAME_SIZE + 30];
    char address[ENDPOINT_SIZE + 1];

    text[0] = '\0';
    procedure_text(row, procedure, sizeof(procedure));
    if (row->path_kind != 0) {
        show_text(row->address, ENDPOINT_SIZE, address);
        snprintf(text, ELAPSED_TEXT_SIZE, "%s %s", path_kind_name(row->path_kind), address);
    } else if (row->call != NO_SYSTEM_CALL) {
        system_call_text(row->call, call);
        snprintf(text, ELAPSED_TEXT_SIZE, "%s%s%s", call, procedure[0] == '\0' ? "" : " ",
                 procedure);
    } else {
        snprintf(text, ELAPSED_TEXT_SIZE, "%s", procedure);
    }
}

void elapsed_thread_text(const struct elapsed_row *row, char text[ELAPSED_THREAD_SIZE])
{
    char name[STREAM_NAME_SIZE + 1];
    char process[PROCESS_NAME_SIZE];

    if (row->pid == 0) {
        strcpy(text, "-");
        return;
    }
    show_labelled_process(row->process, row->pid, row->label, process);
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
