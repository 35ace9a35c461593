/* SPDX-License-Identifier: MIT */
/*
 * causality_pools.c: requests that queue for a connection to a back end.
 *
 *      connection to the back end   call 1 ...... answer 1  call 2 ...... answer 2  call 3
 *      client 2                           request 2 --waits-->|                     |
 *      client 3                              request 3 ------ waits --------------->|
 *
 * A request has waited if it came while the connection was busy, and its first call uses that connection as soon as it
 * is free. What was between the two is not recorded; a pool that has a free connection would have used that one.
 */
#include "analysis/causality/causality_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How long a connection may be free between two calls that follow each other: what the process needs to go on. */
#define GAP_LEAST 1000000u /* ns */
#define GAP_PART  4        /* of the call before */

/* NULL: there are too many, or nothing is known of the path. Returns 0 or -ENOMEM. */
static int add_row(struct causality_analysis *analysis, const struct causality_event *at,
                   struct pool_row **ret_row)
{
    const struct path_record *path =
        identities_path(history_identities(analysis->history), at->end->origin, at->end->number);
    struct pool_row row = {.member = at->process->member};

    *ret_row = NULL;
    if (path == NULL || at->process->member == NO_MEMBER)
        return 0;
    endpoint_remote(path, row.address);
    row.key = hash_bytes(at->process->member, row.address, strlen(row.address));
    for (uint32_t i = 0; i < analysis->pool_count; i++)
        if (analysis->pools[i].key == row.key)
            *ret_row = &analysis->pools[i];
    if (*ret_row != NULL || analysis->pool_count == POOLS_MOST)
        return 0;
    if (array_reserve(&analysis->pools, &analysis->pool_capacity, analysis->pool_count + 1UL,
                      sizeof(row)) < 0)
        return -ENOMEM;
    *ret_row = &analysis->pools[analysis->pool_count++];
    **ret_row = row;
    return 0;
}

static int find_row(struct causality_analysis *analysis, const struct causality_event *at,
                    struct pool_row **ret_row)
{
    struct pool_use *use = &at->end->pool;

    if (use->row_and_1 != 0) {
        *ret_row = use->row_and_1 > POOLS_MOST ? NULL : &analysis->pools[use->row_and_1 - 1];
        return 0;
    }
    int result = add_row(analysis, at, ret_row);
    use->row_and_1 = *ret_row == NULL ? POOLS_MOST + 1 : (uint32_t)(*ret_row - analysis->pools) + 1;
    if (*ret_row != NULL)
        (*ret_row)->connections++;
    return result;
}

/* Whether the connection is used again as soon as it was free: the time in which its thread had no CPU does not count. */
static bool follows(const struct pool_use *use, const struct history_event *event)
{
    uint64_t now = event->when, no_cpu = 0;

    if (use->called == 0 || use->answered < use->called || now < use->answered)
        return false;
    if (use->stream == event->event.header->stream && event->runnable > use->runnable)
        no_cpu = event->runnable - use->runnable;
    uint64_t gap = (use->answered - use->called) / GAP_PART;
    return now - use->answered <= (gap > GAP_LEAST ? gap : GAP_LEAST) + no_cpu;
}

static int count(const struct causality_analysis *analysis, struct pool_row *row,
                 const struct causality_event *at, const struct causality_end *entry, bool busy)
{
    const struct pool_use *use = &at->end->pool;
    const struct step *came = step_of(analysis, entry->entry);
    uint64_t now = at->event->when;

    row->requests++;
    if (!busy || came == NULL || came->when < use->busy_since || came->when >= use->answered ||
        came->origin != at->event->event.origin)
        return 0;
    covered_add(&row->covered, came->when, now);
    return histogram_add(&row->waits, now - came->when, HISTOGRAM_MOST);
}

int pools_note_call(struct causality_analysis *analysis, const struct causality_event *at,
                    const struct causality_end *entry)
{
    struct pool_use *use = &at->end->pool;
    uint64_t now = at->event->when;
    struct pool_row *row;

    if (at->end->turn == TURN_SENT) /* more of a call, or a call before the answer */
        return 0;
    int result = find_row(analysis, at, &row);
    bool busy = follows(use, at->event);
    if (result == 0 && row != NULL && entry != NULL && !entry->has_called)
        result = count(analysis, row, at, entry, busy);
    if (!busy)
        use->busy_since = now;
    use->called = now;
    return result;
}

void pools_note_answer(const struct causality_event *at)
{
    struct pool_use *use = &at->end->pool;

    if (at->end->side != SIDE_CALLS)
        return;
    use->answered = at->event->when;
    use->runnable = at->event->runnable;
    use->stream = at->record->header.stream;
}

/* ---- the result ---- */

static int by_wait(const void *left, const void *right)
{
    const struct causality_pool *a = left, *b = right;

    if (a->waited != b->waited)
        return a->waited > b->waited ? -1 : 1;
    return strcmp(a->address, b->address);
}

static int build_pool(const struct causality_analysis *analysis, struct pool_row *row,
                      struct causality *result)
{
    const struct member *member = &analysis->members[row->member];
    char *address = arena_allocate(&result->memory, strlen(row->address) + 1);

    if (address == NULL)
        return -ENOMEM;
    struct causality_pool *pool = &result->pools[result->pool_count++];
    *pool = (struct causality_pool){
        .origin = member->origin,
        .pid = member->pid,
        .address = strcpy(address, row->address),
        .connections = row->connections,
        .requests = row->requests,
        .waits = row->waits, /* now owned by the result */
        .waited = covered_time(&row->covered),
    };
    memcpy(pool->name, member->name, STREAM_NAME_SIZE);
    row->waits = (struct histogram){0};
    return 0;
}

int pools_build(struct causality_analysis *analysis, struct causality *result)
{
    int error = 0;

    result->pools = calloc(analysis->pool_count + 1UL, sizeof(*result->pools));
    if (result->pools == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < analysis->pool_count && error == 0; i++)
        if (histogram_bars(&analysis->pools[i].waits) > 0)
            error = build_pool(analysis, &analysis->pools[i], result);
    qsort(result->pools, result->pool_count, sizeof(*result->pools), by_wait);
    return error;
}

void pools_done(struct causality_analysis *analysis)
{
    for (uint32_t i = 0; i < analysis->pool_count; i++)
        histogram_done(&analysis->pools[i].waits);
    free(analysis->pools);
}
