/* SPDX-License-Identifier: MIT */
/*
 * elapsed_walk.c: from the end backwards, along what was being waited for.
 *
 *      now                                              <--- end
 *       |  cpu  |  no CPU  | in flight |   cpu ...
 *       '-- of the receiver ----------' '-- of the sender, from its send backwards
 */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What was found of one detail and one kind. */
struct sum {
    uint32_t detail;
    enum elapsed_kind kind;
    uint64_t time;
    uint64_t count;
};

struct walk {
    struct elapsed_analysis *analysis;
    struct elapsed *elapsed;
    uint64_t now; /* everything after this is accounted for */
    struct intern keys;
    struct sum *sums;
    size_t sum_room;
    bool failed;
};

static void charge(struct walk *walk, uint64_t from, enum elapsed_kind kind, uint32_t detail)
{
    if (from >= walk->now || walk->failed)
        return;
    uint64_t time = walk->now - from;
    int64_t index = intern_add(&walk->keys, (uint64_t)kind << 32 | detail);
    if (index < 0 ||
        array_reserve(&walk->sums, &walk->sum_room, (size_t)index + 1, sizeof(*walk->sums)) < 0) {
        walk->failed = true;
        return;
    }
    struct sum *sum = &walk->sums[index];
    sum->detail = detail;
    sum->kind = kind;
    sum->time += time;
    sum->count++;
    walk->elapsed->by_kind[kind] += time;
    walk->now = from;
}

/* From `now` back to `begin`: the thread computed for `cpu` of it, and had no CPU for the rest. */
static void charge_awake(struct walk *walk, uint64_t begin, uint64_t cpu, uint32_t detail)
{
    uint64_t length = walk->now > begin ? walk->now - begin : 0;

    charge(walk, walk->now - (cpu < length ? cpu : length), ELAPSED_COMPUTES, detail);
    charge(walk, begin, ELAPSED_NO_CPU, detail);
}

static enum elapsed_kind kind_of(const struct walk *walk, uint32_t detail)
{
    return detail == 0 ? ELAPSED_UNKNOWN : walk->analysis->details[detail - 1].kind;
}

/* The end of the wait, and the way to what ended it. */
static void charge_arrival(struct walk *walk, const struct interval *interval)
{
    const struct interval *source = interval_at(walk->analysis, interval->source);
    uint64_t sent = source->end < walk->now ? source->end : walk->now;

    charge(walk, interval->arrival > sent ? interval->arrival : sent, ELAPSED_NO_CPU,
           interval->computes);
    charge(walk, sent, interval->is_message ? ELAPSED_IN_FLIGHT : ELAPSED_UNKNOWN, interval->waits);
}

/* Accounts for an interval; returns the one before it. */
static uint32_t step(struct walk *walk, const struct interval *interval)
{
    uint64_t begin = interval->previous != 0 ? interval_at(walk->analysis, interval->previous)->end
                     : interval->source != 0 ? interval_at(walk->analysis, interval->source)->end
                                             : interval->end;

    if (interval->previous == 0) { /* its first one: created there */
        charge_awake(walk, begin, interval->cpu, interval->computes);
        return interval->source;
    }
    if (interval->wait == 0) {
        charge_awake(walk, begin, interval->cpu, interval->computes);
        return interval->previous;
    }
    if (interval->asleep)
        charge(walk, interval->end - interval->cpu, ELAPSED_COMPUTES, interval->computes);
    if (interval->source != 0) {
        charge_arrival(walk, interval);
        return interval->source;
    }
    charge(walk, walk->now - (interval->queued < walk->now ? interval->queued : walk->now),
           ELAPSED_NO_CPU, interval->computes);
    uint64_t slept = interval->asleep ? begin : interval->end - interval->wait;
    charge(walk, slept, kind_of(walk, interval->waits), interval->waits);
    if (!interval->asleep)
        charge_awake(walk, begin, interval->cpu, interval->computes);
    return interval->previous;
}

/* ---- rows ---- */

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
    if (module == NULL)
        return;
    char name[MODULE_NAME_SIZE + 1] = "";
    memcpy(name, module->name, MODULE_NAME_SIZE);
    const char *slash = strrchr(name, '/');
    strcpy(row->module, slash == NULL ? name : slash + 1);
}

static struct elapsed_row row_of(const struct walk *walk, const struct sum *sum)
{
    struct elapsed_row row = {
        .kind = sum->kind, .time = sum->time, .count = sum->count, .call = NO_SYSTEM_CALL};

    if (sum->detail == 0)
        return row;
    const struct detail *detail = &walk->analysis->details[sum->detail - 1];
    row.origin = detail->origin;
    row.pid = detail->pid;
    row.tid = detail->tid;
    memcpy(row.process, detail->process, sizeof(row.process));
    if (sum->kind == ELAPSED_NO_CPU)
        return row;
    name_procedure(walk->analysis, detail, &row);
    if (sum->kind == ELAPSED_COMPUTES)
        return row;
    row.call = detail->call;
    if (sum->kind == ELAPSED_OUTSIDE || sum->kind == ELAPSED_IN_FLIGHT) {
        row.path_kind = detail->path_kind;
        if (detail->address != NULL)
            strcpy(row.address, detail->address);
    }
    return row;
}

static int compare_what(const struct elapsed_row *a, const struct elapsed_row *b)
{
    int order = (int)a->kind - (int)b->kind;

    if (order == 0)
        order = a->origin < b->origin ? -1 : a->origin > b->origin;
    if (order == 0)
        order = a->tid < b->tid ? -1 : a->tid > b->tid;
    if (order == 0)
        order = a->call < b->call ? -1 : a->call > b->call;
    if (order == 0)
        order = strcmp(a->process, b->process);
    if (order == 0)
        order = strcmp(a->module, b->module);
    if (order == 0)
        order = strcmp(a->procedure, b->procedure);
    return order == 0 ? strcmp(a->address, b->address) : order;
}

static int by_what(const void *a, const void *b)
{
    return compare_what(a, b);
}

static int by_time(const void *one, const void *other)
{
    const struct elapsed_row *a = one, *b = other;

    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return compare_what(a, b);
}

/* Several PCs may be in one procedure. */
static void merge(struct elapsed *elapsed)
{
    size_t count = 0;

    if (elapsed->row_count == 0)
        return;
    qsort(elapsed->rows, elapsed->row_count, sizeof(*elapsed->rows), by_what);
    for (size_t i = 1; i < elapsed->row_count; i++) {
        struct elapsed_row *row = &elapsed->rows[i];
        if (compare_what(&elapsed->rows[count], row) == 0) {
            elapsed->rows[count].time += row->time;
            elapsed->rows[count].count += row->count;
        } else {
            elapsed->rows[++count] = *row;
        }
    }
    elapsed->row_count = count + 1;
    qsort(elapsed->rows, elapsed->row_count, sizeof(*elapsed->rows), by_time);
}

static int make_rows(const struct walk *walk)
{
    struct elapsed *elapsed = walk->elapsed;

    elapsed->rows = calloc((size_t)walk->keys.count + 1, sizeof(*elapsed->rows));
    if (elapsed->rows == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < walk->keys.count; i++)
        elapsed->rows[elapsed->row_count++] = row_of(walk, &walk->sums[i]);
    merge(elapsed);
    return 0;
}

int elapsed_walk(struct elapsed_analysis *analysis, struct elapsed *elapsed)
{
    struct walk walk = {.analysis = analysis, .elapsed = elapsed};
    uint32_t index = analysis->root_end != 0 ? analysis->root_end : analysis->last;

    if (index != 0) {
        walk.now = interval_at(analysis, index)->end;
        elapsed->time = walk.now - analysis->first;
    }
    while (index != 0 && !walk.failed) {
        index = step(&walk, interval_at(analysis, index));
        elapsed->intervals++;
    }
    charge(&walk, analysis->first, ELAPSED_UNKNOWN, 0);
    if (analysis->root_end != 0) {
        elapsed->pid = analysis->root_pid;
        memcpy(elapsed->process, analysis->root_name, sizeof(elapsed->process));
        elapsed->from_start = true;
    }
    int result = walk.failed ? -ENOMEM : make_rows(&walk);
    intern_done(&walk.keys);
    free(walk.sums);
    return result;
}
