/* SPDX-License-Identifier: MIT */
/* elapsed_rows.c: parts of an account in words: process, procedure, system call, connection. See elapsed.h. */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void name_procedure(const struct elapsed_analysis *analysis, const struct detail *detail,
                           struct elapsed_row *row)
{
    const struct module_record *module = NULL;
    const struct procedure_record *procedure =
        detail->pc == 0
            ? NULL
            : identities_procedure_of(history_identities(analysis->history), detail->origin,
                                      detail->image, detail->pc, &module);

    if (procedure != NULL)
        memcpy(row->procedure, procedure->name, PROCEDURE_NAME_SIZE);
    if (module == NULL || procedure == NULL)
        return;
    char name[MODULE_NAME_SIZE + 1] = "";
    memcpy(name, module->name, MODULE_NAME_SIZE);
    const char *slash = strrchr(name, '/');
    strcpy(row->module, slash == NULL ? name : slash + 1);
}

static void name_connection(const struct detail *detail, struct elapsed_row *row)
{
    row->path_kind = detail->path_kind;
    if (detail->address != NULL)
        strcpy(row->address, detail->address);
}

/* "table_lock (0x55d0c0de4040)": the symbol that a recording made a PROCEDURE of, if the lock is in the program's data. */
static void name_lock(const struct elapsed_analysis *analysis, const struct detail *detail,
                      struct elapsed_row *row)
{
    uint64_t address = strtoull(row->object_name, NULL, 16);
    const struct procedure_record *symbol = identities_procedure_of(
        history_identities(analysis->history), detail->origin, detail->image, address, NULL);

    if (symbol != NULL && symbol->name[0] != '\0')
        snprintf(row->object_name, sizeof(row->object_name), "%.80s (0x%" PRIx64 ")", symbol->name,
                 address);
}

static void name_object(const struct elapsed_analysis *analysis, const struct detail *detail,
                        struct elapsed_row *row)
{
    const char *name;

    row->object = identities_object(history_identities(analysis->history), detail->origin,
                                    detail->object, &name);
    if (name != NULL)
        snprintf(row->object_name, sizeof(row->object_name), "%s", name);
    if (row->object == WAIT_ON_LOCK)
        name_lock(analysis, detail, row);
}

static void name_peer(const struct elapsed_analysis *analysis, const struct detail *detail,
                      struct elapsed_row *row)
{
    if (detail->peer == 0)
        return;
    const struct detail *peer = &analysis->details[detail->peer - 1];
    memcpy(row->peer, peer->process, sizeof(row->peer));
    row->peer_pid = peer->pid;
    elapsed_machine_of(analysis, peer->origin, row->peer_machine);
}

/* Whether the machine that sends there has a clock that nothing compares with the receiver's: as walk_flight finds of each
 * message. */
static bool has_no_clock(const struct elapsed_analysis *analysis, const struct detail *detail)
{
    const struct detail *peer = detail->peer == 0 ? NULL : &analysis->details[detail->peer - 1];
    int64_t offset;
    uint64_t error;

    return peer != NULL && peer->origin != detail->origin &&
           !history_clock_between(analysis->history, peer->origin, analysis->last_time,
                                  detail->origin, &offset, &error);
}

static void say_unknown(const struct elapsed_analysis *analysis, const struct detail *detail,
                        struct elapsed_row *row)
{
    row->no_clock = detail->kind == ELAPSED_IN_FLIGHT && has_no_clock(analysis, detail);
    row->ran_late =
        !row->no_clock && (detail->kind == ELAPSED_IN_FLIGHT || detail->kind == ELAPSED_COMPUTES);
}

struct elapsed_row elapsed_row_of(const struct elapsed_analysis *analysis, const struct part *part)
{
    struct elapsed_row row = {
        .kind = part->kind, .time = part->time, .count = part->count, .call = NO_SYSTEM_CALL};

    if (part->detail == 0)
        return row;
    const struct detail *detail = &analysis->details[part->detail - 1];
    row.runtime = (enum elapsed_runtime)detail->runtime;
    row.origin = detail->origin;
    row.pid = detail->pid;
    row.tid = detail->tid;
    memcpy(row.process, detail->process, sizeof(row.process));
    memcpy(row.thread, detail->thread, sizeof(row.thread));
    memcpy(row.label, detail->label, sizeof(row.label));
    elapsed_machine_of(analysis, detail->origin, row.machine);
    if (part->kind == ELAPSED_NO_CPU)
        return row;
    if (part->kind == ELAPSED_UNKNOWN)
        say_unknown(analysis, detail, &row);
    if (part->kind == ELAPSED_IN_FLIGHT || part->kind == ELAPSED_QUEUED ||
        (part->kind == ELAPSED_UNKNOWN && detail->kind == ELAPSED_IN_FLIGHT)) {
        name_connection(detail, &row);
        return row;
    }
    name_procedure(analysis, detail, &row);
    if (part->kind == ELAPSED_COMPUTES)
        return row;
    if (part->kind == ELAPSED_CLIENT || part->kind == ELAPSED_OTHER_CONNECTION)
        name_peer(analysis, detail, &row);
    else
        row.call = detail->call;
    if (part->kind == ELAPSED_OUTSIDE || part->kind == ELAPSED_NOT_FOUND ||
        part->kind == ELAPSED_SPACE || part->kind == ELAPSED_CONNECT ||
        part->kind == ELAPSED_NO_ANSWER || part->kind == ELAPSED_CLIENT ||
        part->kind == ELAPSED_OTHER_CONNECTION || part->kind == ELAPSED_RESENT_SYN)
        name_connection(detail, &row);
    name_object(analysis, detail, &row);
    row.signal = detail->signal;
    row.sender = detail->sender;
    return row;
}

/* Length without the number at its end. */
static size_t length_of_kind(const char *name)
{
    size_t length = strlen(name);

    while (length > 0 && strchr("0123456789*", name[length - 1]) != NULL)
        length--;
    return length;
}

/* "worker-1" and "worker-2" are of one kind. */
static int compare_threads(const char *a, const char *b)
{
    size_t lengths[] = {length_of_kind(a), length_of_kind(b)};
    int order = strncmp(a, b, lengths[0] < lengths[1] ? lengths[0] : lengths[1]);

    return order == 0 ? (int)lengths[0] - (int)lengths[1] : order;
}

bool elapsed_are_alike(const char *thread, const char *other)
{
    return compare_threads(thread, other) == 0;
}

int elapsed_compare_rows(const struct elapsed_row *a, const struct elapsed_row *b)
{
    int order = (int)a->kind - (int)b->kind;

    if (order == 0)
        order = a->origin < b->origin ? -1 : a->origin > b->origin;
    if (order == 0)
        order = a->pid < b->pid ? -1 : a->pid > b->pid;
    if (order == 0)
        order = a->call < b->call ? -1 : a->call > b->call;
    if (order == 0)
        order = strcmp(a->process, b->process);
    if (order == 0)
        order = compare_threads(a->thread, b->thread);
    if (order == 0)
        order = strcmp(a->module, b->module);
    if (order == 0)
        order = strcmp(a->procedure, b->procedure);
    if (order == 0)
        order = (int)a->object - (int)b->object;
    if (order == 0)
        order = strcmp(a->object_name, b->object_name);
    if (order == 0)
        order = a->signal < b->signal ? -1 : a->signal > b->signal;
    if (order == 0)
        order = a->sender < b->sender ? -1 : a->sender > b->sender;
    if (order == 0)
        order = a->peer_pid < b->peer_pid ? -1 : a->peer_pid > b->peer_pid;
    if (order == 0)
        order = (int)a->ran_late - (int)b->ran_late;
    if (order == 0)
        order = (int)a->no_clock - (int)b->no_clock;
    return order == 0 ? strcmp(a->address, b->address) : order;
}

static int by_what(const void *a, const void *b)
{
    return elapsed_compare_rows(a, b);
}

static int by_time(const void *one, const void *other)
{
    const struct elapsed_row *a = one, *b = other;

    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return elapsed_compare_rows(a, b);
}

void elapsed_add_row(struct elapsed_row *sum, const struct elapsed_row *row)
{
    sum->time += row->time;
    sum->count += row->count;
    if (sum->tid != row->tid)
        sum->tid = 0;
    if (strcmp(sum->thread, row->thread) == 0)
        return;
    size_t length = length_of_kind(sum->thread);
    if (length < STREAM_NAME_SIZE)
        strcpy(sum->thread + length, "*");
}

/* Several PCs may be in one procedure, and several threads may do the same. */
static void merge(struct elapsed_account *account)
{
    size_t count = 0;

    if (account->row_count == 0)
        return;
    qsort(account->rows, account->row_count, sizeof(*account->rows), by_what);
    for (size_t i = 1; i < account->row_count; i++) {
        struct elapsed_row *row = &account->rows[i];
        if (elapsed_compare_rows(&account->rows[count], row) == 0) {
            elapsed_add_row(&account->rows[count], row);
        } else {
            account->rows[++count] = *row;
        }
    }
    account->row_count = count + 1;
    qsort(account->rows, account->row_count, sizeof(*account->rows), by_time);
}

int elapsed_make_rows(const struct elapsed_analysis *analysis, const struct part *parts,
                      size_t count, struct elapsed_account *account)
{
    account->rows = calloc(count + 1, sizeof(*account->rows));
    if (account->rows == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        account->rows[account->row_count++] = elapsed_row_of(analysis, &parts[i]);
    merge(account);
    return 0;
}
