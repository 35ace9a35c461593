/* SPDX-License-Identifier: MIT */
/*
 * central_order.c: values of several machines are evaluated in the order of their times, or the row is unknown.
 *
 *      web1   25 at 10.310   26 at 10.338   ... all is said up to 10.340
 *      db1           31 at 10.324   ... all is said up to 10.330             evaluated: 10.310, 10.324; 10.338 waits
 *
 * A machine that has not said all for PATIENCE is late: the others do not wait for it, and rows with values from it are unknown
 * until it has, up to the latest value of others that was evaluated meanwhile. Two clocks are compared as well as they are known:
 * what is closer together may be taken in either order.
 */
#include "monitor/central_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE     2000000000u /* ns */
#define AHEAD_MOST   1000000000u /* ns: a machine cannot have reported up to a later time */
#define WAITING_MOST 500000u     /* records; then the earliest does not wait any longer */

/* A record that waits for others of an earlier time. */
struct waiting {
    uint64_t time, number;
    uint32_t row, entity;
    size_t count;
    char (*texts)[TEXT_SIZE]; /* behind the values */
    struct view_value values[];
};

/* ---- what waits: a heap, the earliest first ---- */

static bool is_before(const struct waiting *a, const struct waiting *b)
{
    return a->time != b->time ? a->time < b->time : a->number < b->number;
}

static void swap(struct waiting **a, struct waiting **b)
{
    struct waiting *other = *a;

    *a = *b;
    *b = other;
}

static void push(struct central_order *order, struct waiting *record)
{
    size_t at = order->count++;

    order->heap[at] = record;
    for (; at > 0 && is_before(order->heap[at], order->heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&order->heap[at], &order->heap[(at - 1) / 2]);
}

static struct waiting *pop(struct central_order *order)
{
    struct waiting *first = order->heap[0];
    size_t at = 0, next;

    order->heap[0] = order->heap[--order->count];
    while ((next = 2 * at + 1) < order->count) {
        if (next + 1 < order->count && is_before(order->heap[next + 1], order->heap[next]))
            next++;
        if (!is_before(order->heap[next], order->heap[at]))
            break;
        swap(&order->heap[next], &order->heap[at]);
        at = next;
    }
    return first;
}

void central_order_done(struct central_order *order)
{
    for (size_t i = 0; i < order->count; i++)
        free(order->heap[i]);
    free(order->heap);
}

/* ---- in order ---- */

/* If it compares values of several machines, each of which says how far it is. What a plan probes must be asked for at once. */
bool central_is_ordered(const struct central_row *row)
{
    const struct central_order *order = &row->central->order;

    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++)
        if (row->plan.parts[i].collection == VIEW_PROBED)
            return false;
    for (size_t i = 0; i < row->opened_count; i++)
        if (!order->links[row->opened[i]].tells)
            return false;
    return row->opened_count > 1;
}

static struct waiting *copy_of(uint32_t row, uint32_t entity, uint64_t time,
                               const struct view_value *values, size_t count)
{
    size_t texts = 0;

    for (size_t i = 0; i < count; i++)
        texts += values[i].kind == VIEW_IS_TEXT;
    struct waiting *record =
        malloc(sizeof(*record) + count * sizeof(*values) + texts * sizeof(*record->texts));
    if (record == NULL)
        return NULL;
    record->time = time;
    record->row = row;
    record->entity = entity;
    record->count = count;
    memcpy(record->values, values, count * sizeof(*values));
    record->texts = (void *)(record->values + count);
    for (size_t i = 0, k = 0; i < count; i++)
        if (values[i].kind == VIEW_IS_TEXT) {
            snprintf(record->texts[k], TEXT_SIZE, "%s", values[i].text);
            record->values[i].text = record->texts[k++];
        }
    return record;
}

static void take_first(struct central *central, struct central_order *order)
{
    struct waiting *first = pop(order);

    if (first->time > central->order.taken)
        central->order.taken = first->time;
    central_take_record(central, first->row, first->entity, first->time, 0, first->values,
                        first->count);
    free(first);
}

bool central_hold(struct central_row *row, uint32_t entity, uint64_t time,
                  const struct view_value *values, size_t count)
{
    struct central *central = row->central;
    struct central_order *order = &central->order;

    if (!central_is_ordered(row))
        return false;
    struct waiting *record = copy_of(row->number, entity, time, values, count);
    if (record == NULL ||
        array_reserve(&order->heap, &order->capacity, order->count + 1, sizeof(*order->heap)) < 0) {
        free(record);
        central_out_of_memory(central);
        return true;
    }
    record->number = order->pushed++;
    push(order, record);
    return true;
}

/* Up to when all machines whose values are compared have reported; `ret_slowest`: the one that is furthest behind, -1: none is
 * waited for. */
static uint64_t said_by_all(const struct central *central, int *ret_slowest)
{
    uint64_t until = UINT64_MAX;

    *ret_slowest = -1;
    for (size_t i = 0; i < central->row_count; i++) {
        const struct central_row *row = central->rows[i];
        for (size_t k = 0; row != NULL && central_is_ordered(row) && k < row->opened_count; k++) {
            const struct order_link *of = &central->order.links[row->opened[k]];
            if (of->late || of->until >= until)
                continue;
            until = of->until;
            *ret_slowest = row->opened[k];
        }
    }
    return until;
}

/* Takes those of the row out of the heap. Returns the time of the latest; 0: it has none. */
static uint64_t take_out(struct central_order *order, const struct central_row *row,
                         struct central_order *of_row)
{
    size_t count = order->count;
    uint64_t latest = 0;

    order->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct waiting *record = order->heap[i]; /* pushes overwrite only what was looked at */
        if (record->row == row->number && record->time > latest)
            latest = record->time;
        push(record->row == row->number ? of_row : order, record);
    }
    return latest;
}

void central_take_held(struct central_row *row)
{
    struct central *central = row->central;
    struct central_order *order = &central->order, of_row = {0};

    of_row.heap = calloc(order->count + 1, sizeof(*of_row.heap));
    if (of_row.heap == NULL) {
        central_out_of_memory(central);
        return;
    }
    uint64_t latest = take_out(order, row, &of_row);
    if (latest > row->early)
        row->early = latest;
    if (latest != 0)
        central_set_unknown(row, true, clock_now(CLOCK_REALTIME));
    while (of_row.count > 0)
        take_first(central, &of_row);
    free(of_row.heap);
}

/* ---- machines that are late ---- */

static void note(struct central *central, int link, const char *text)
{
    char line[256], dropped[80] = "";
    struct order_link *of = &central->order.links[link];

    if (!of->late && of->dropped > 0)
        snprintf(dropped, sizeof(dropped), "; %" PRIu64 " value%s dropped", of->dropped,
                 of->dropped == 1 ? " was" : "s were");
    of->dropped = of->late ? of->dropped : 0;
    snprintf(line, sizeof(line), "%s: %s%s", central->links[link].machine, text, dropped);
    central->calls.note(central->calls.context, line);
}

bool central_is_unknown(const struct central_row *row)
{
    if (central_is_changing(row) || central_is_ambiguous(row) || row->early != 0)
        return true;
    for (size_t i = 0; i < row->opened_count; i++)
        if (row->central->order.links[row->opened[i]].late ||
            row->central->order.links[row->opened[i]].behind != 0)
            return true;
    return false;
}

/* Whether a machine is late has changed. */
static void mark_rows(struct central *central, uint64_t time)
{
    for (size_t i = 0; i < central->row_count; i++)
        if (central->rows[i] != NULL)
            central_set_unknown(central->rows[i], central_is_unknown(central->rows[i]), time);
}

static void set_late(struct central *central, int link, const char *why, uint64_t time)
{
    central->order.links[link].late = why != NULL;
    note(central, link, why != NULL ? why : "its values arrive in time again");
    mark_rows(central, time);
}

/* Rows whose plan was changed, and whose first values are evaluated; and those whose values did not wait for others, which have
 * reported up to then by now. */
static void settle_rows(struct central *central, uint64_t until)
{
    for (size_t i = 0; i < central->row_count; i++) {
        struct central_row *row = central->rows[i];
        if (row == NULL || (row->early == 0 && row->settled == 0))
            continue;
        uint64_t most = central_is_ordered(row) ? until : UINT64_MAX;
        if (row->early <= most)
            row->early = 0;
        if (row->settling == 0 && row->settled <= most)
            row->settled = 0;
        central_set_unknown(row, central_is_unknown(row), clock_now(CLOCK_REALTIME));
    }
}

void central_settle_entity(struct central_row *row, uint32_t entity, uint64_t time)
{
    if ((row->settling & 1u << entity) == 0)
        return;
    row->settling &= ~(1u << entity);
    if (time > row->settled)
        row->settled = time;
    if (row->settling == 0 && !central_is_ordered(row))
        settle_rows(row->central, 0);
}

void central_settle(struct central *central)
{
    struct central_order *order = &central->order;
    uint64_t now = clock_now(CLOCK_REALTIME);
    int slowest;

    for (int i = 0; i < central->link_count; i++)
        if (order->links[i].tells && !order->links[i].late && now > order->links[i].until &&
            now - order->links[i].until > PATIENCE)
            set_late(central, i,
                     "its values arrive more than 2 s late: views that use them are unknown",
                     order->links[i].until);
    uint64_t until = said_by_all(central, &slowest);
    if (order->count == 0) {
        settle_rows(central, until);
        return;
    }
    if (order->count > WAITING_MOST && slowest >= 0) {
        set_late(central, slowest,
                 "too many values of other machines wait for its own: views that use these are "
                 "unknown",
                 order->links[slowest].until);
        until = said_by_all(central, &slowest);
    }
    while (order->count > 0 && order->heap[0]->time <= until)
        take_first(central, order);
    settle_rows(central, until);
}

/* The others wait for it again. But their values were evaluated up to now: what it had then, it may say only later. */
static void end_late(struct central *central, int link, uint64_t now)
{
    struct order_link *of = &central->order.links[link];
    uint64_t most = now + AHEAD_MOST; /* a clock may have been set back since */

    of->behind = central->order.taken < most ? central->order.taken : most;
    if (of->behind <= of->until)
        of->behind = 0;
    set_late(central, link, NULL, of->until);
}

void central_said(struct central *central, int link, uint64_t until)
{
    struct order_link *of = &central->order.links[link];

    uint64_t now = clock_now(CLOCK_REALTIME);

    of->tells = true;
    if (until > now + AHEAD_MOST)
        until = now + AHEAD_MOST;
    if (until > of->until || of->until > now + AHEAD_MOST) /* else a clock was set back */
        of->until = until;
    central_settle(central);
    if (of->late && now < of->until + PATIENCE)
        end_late(central, link, now);
    if (of->behind != 0 && of->until >= of->behind) {
        of->behind = 0;
        mark_rows(central, of->until);
    }
}

void central_dropped(struct central *central, int link, uint64_t count)
{
    struct order_link *of = &central->order.links[link];

    of->dropped += count;
    central->rates[link].dropped += count;
    if (!of->late)
        set_late(central, link,
                 "its values come faster than they can be sent, and some are dropped: views that "
                 "use them are unknown",
                 of->until);
}

void central_order_forget(struct central *central, int link)
{
    central->order.links[link] = (struct order_link){0};
    mark_rows(central, clock_now(CLOCK_REALTIME));
    central_settle(central);
}

/* ---- what is known ---- */

bool central_machine(const struct central *central, size_t number,
                     struct central_machine_state *ret_state)
{
    const struct order_link *link = &central->order.links[number < CENTRAL_LINKS_MOST ? number : 0];

    if (number >= (size_t)central->link_count || !link->tells)
        return false;
    *ret_state = (struct central_machine_state){central->links[number].machine, link->late,
                                                link->until, link->dropped};
    return true;
}

uint64_t central_behind(const struct central *central)
{
    uint64_t now = clock_now(CLOCK_REALTIME);
    const struct central_order *order = &central->order;

    return order->count == 0 || order->heap[0]->time >= now ? 0 : now - order->heap[0]->time;
}
