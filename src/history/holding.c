/* SPDX-License-Identifier: MIT */
/*
 * holding.c: streams that are held back, with copies of their records.
 *
 *      stream --first_held--> RECEIVE --> record --> record <--last_held--
 *         |
 *         |-- a waiter of the end, until bytes come     (waiters: in no order)
 *         |-- in the heap of an origin, until a time    (the earliest deadline first)
 *         '-- among all that wait for bytes, or for WAKEUPs      (oldest ... youngest)
 *
 * Records of an end without a stream (MESSAGEQUEUED, DESTROYPATH) wait for the older held records of that end. If one
 * stream holds all of these, they are queued with it, in the order of time; otherwise with the end (end->first_kept).
 * Whatever may end a wait wakes the stream: it becomes ready, and its first record is looked at again.
 */
#include "history/holding.h"

#include "history/ends.h"
#include "history/receiving.h"

#include <errno.h>
#include <string.h>

static struct held *held_at(const struct history *history, uint32_t index_and_1)
{
    return index_and_1 == 0 ? NULL : pool_at(&history->held, index_and_1 - 1);
}

static void *end_of_record(struct history *history, const struct stream *stream,
                           const struct record *record)
{
    switch (record->header.id) {
    case EVENT_SEND:
    case EVENT_SENDCALL:
    case EVENT_RECEIVE:
    case EVENT_RECEIVECALL:
    case EVENT_CONNECT:
    case EVENT_ACCEPT:
    case EVENT_CONNECTFAILED: /* its path is at the same place */
        return ends_find(history, stream->origin, record->message.path);
    default:
        return NULL;
    }
}

/* Returns the index of the copy, or -ENOMEM. */
static int64_t copy_record(struct history *history, const struct event *event)
{
    int64_t index = pool_take(&history->held);

    if (index < 0)
        return -ENOMEM;
    struct held *held = pool_at(&history->held, (uint32_t)index);
    memcpy(&held->record, event->header, sizeof(held->record));
    held->wall_offset = event->wall_offset;
    held->origin = event->origin;
    held->no_cpu = (struct no_cpu){0};
    held->runnable = 0;
    held->next = 0;
    history->held_count++;
    history->held_events += event_is_metered(event->header->id);
    return index;
}

static void note_released(struct history *history, const struct held *held)
{
    history->held_count--;
    history->held_events -= event_is_metered(held->record.header.id);
}

static void note_holder(struct end *end, const struct stream *stream)
{
    if (end->held++ == 0) {
        end->holder = stream->index;
        end->held_by_several = false;
    }
    end->held_by_several |= end->holder != stream->index;
}

/* Appends to the held records of the stream. */
static int add_to_stream(struct history *history, struct stream *stream, const struct event *event)
{
    int64_t index = copy_record(history, event);

    if (index < 0)
        return -ENOMEM;
    held_at(history, (uint32_t)index + 1)->no_cpu = stream->no_cpu;
    held_at(history, (uint32_t)index + 1)->runnable = stream->cpu_wait.count;
    if (stream->last_held != 0)
        held_at(history, stream->last_held)->next = (uint32_t)index + 1;
    else
        stream->first_held = (uint32_t)index + 1;
    stream->last_held = (uint32_t)index + 1;
    stream->held_count++;
    history->origins[stream->origin].held++;
    return 0;
}

int holding_add(struct history *history, struct stream *stream, const struct event *event)
{
    struct end *end = end_of_record(history, stream, (const struct record *)event->header);
    int result = add_to_stream(history, stream, event);

    if (result == 0 && end != NULL)
        note_holder(end, stream);
    return result;
}

const struct held *holding_first(const struct history *history, const struct stream *stream)
{
    return held_at(history, stream->first_held);
}

static void release_first_kept(struct history *history, struct end *end)
{
    uint32_t index_and_1 = end->first_kept;
    struct held *kept = held_at(history, index_and_1);

    end->first_kept = kept->next;
    kept->next = 0;
    if (history->first_released == 0)
        history->first_released = index_and_1;
    else
        held_at(history, history->last_released)->next = index_and_1;
    history->last_released = index_and_1;
    note_released(history, kept);
}

bool holding_release_older(struct history *history, struct end *end, const struct record *record)
{
    bool any = false;

    while (end->first_kept != 0 &&
           held_at(history, end->first_kept)->record.header.time <= record->header.time) {
        release_first_kept(history, end);
        any = true;
    }
    return any;
}

/* To be called when no held record refers to the end any more. */
static void release_end(struct history *history, struct end *end)
{
    while (end->first_kept != 0)
        release_first_kept(history, end);
    ends_settle(history, end);
}

/* The copy stays in memory until the next one is removed. */
void holding_remove_first(struct history *history, struct stream *stream)
{
    struct held *first = held_at(history, stream->first_held);
    struct end *end = end_of_record(history, stream, &first->record);

    history->handed = stream->first_held;
    stream->first_held = first->next;
    if (first->next == 0)
        stream->last_held = 0;
    stream->held_count--;
    note_released(history, first);
    history->origins[stream->origin].held--;
    if (end != NULL && --end->held == 0)
        release_end(history, end);
}

int holding_keep(struct history *history, struct end *end, const struct event *event)
{
    end->kept++;
    if (!end->held_by_several)
        return add_to_stream(history, pool_at(&history->streams, end->holder), event);
    int64_t index = copy_record(history, event);

    if (index < 0)
        return -ENOMEM;
    if (end->first_kept == 0)
        end->first_kept = (uint32_t)index + 1;
    else
        held_at(history, end->last_kept)->next = (uint32_t)index + 1;
    end->last_kept = (uint32_t)index + 1;
    return 0;
}

void holding_forget_kept(struct history *history, struct end *end)
{
    end->kept -= end->kept > 0;
    ends_settle(history, end);
}

const struct held *holding_take_released(struct history *history)
{
    const struct held *released = held_at(history, history->first_released);

    if (released != NULL) {
        history->handed = history->first_released;
        history->first_released = released->next;
    }
    return released;
}

/* ---- deadlines ---- */

static void place(struct origin *origin, struct stream *stream, uint32_t at)
{
    origin->heap[at] = stream;
    stream->place = at;
}

static void sift_up(struct origin *origin, struct stream *stream, uint32_t at)
{
    while (at > 0 && origin->heap[(at - 1) / 2]->deadline > stream->deadline) {
        place(origin, origin->heap[(at - 1) / 2], at);
        at = (at - 1) / 2;
    }
    place(origin, stream, at);
}

static void sift_down(struct origin *origin, struct stream *stream, uint32_t at)
{
    for (;;) {
        uint32_t child = at * 2 + 1;
        if (child >= origin->heap_count)
            break;
        if (child + 1 < origin->heap_count &&
            origin->heap[child + 1]->deadline < origin->heap[child]->deadline)
            child++;
        if (origin->heap[child]->deadline >= stream->deadline)
            break;
        place(origin, origin->heap[child], at);
        at = child;
    }
    place(origin, stream, at);
}

static void leave_heap(struct history *history, struct stream *stream)
{
    struct origin *origin = &history->origins[stream->waits_for];
    uint32_t at = stream->place;

    if (at == NO_PLACE)
        return;
    struct stream *last = origin->heap[--origin->heap_count];
    stream->place = NO_PLACE;
    if (last == stream)
        return;
    if (at > 0 && origin->heap[(at - 1) / 2]->deadline > last->deadline)
        sift_up(origin, last, at);
    else
        sift_down(origin, last, at);
}

void holding_progress(struct history *history, struct origin *origin)
{
    while (origin->heap_count > 0 && origin->heap[0]->deadline < origin->progress)
        holding_wake(history, origin->heap[0]);
}

/* ---- waiting ---- */

static void link_waiter(struct stream *stream, struct stream **waiters)
{
    stream->next_waiter = *waiters;
    stream->waiter_link = waiters;
    if (*waiters != NULL)
        (*waiters)->waiter_link = &stream->next_waiter;
    *waiters = stream;
}

static void unlink_waiter(struct stream *stream)
{
    if (stream->waiter_link == NULL)
        return;
    *stream->waiter_link = stream->next_waiter;
    if (stream->next_waiter != NULL)
        stream->next_waiter->waiter_link = stream->waiter_link;
    stream->next_waiter = NULL;
    stream->waiter_link = NULL;
}

static void join_line(struct line_of_streams *line, struct stream *stream)
{
    stream->older = line->youngest;
    *(stream->older == NULL ? &line->oldest : &stream->older->younger) = stream;
    line->youngest = stream;
}

static void leave_line(struct line_of_streams *line, struct stream *stream)
{
    *(stream->older == NULL ? &line->oldest : &stream->older->younger) = stream->younger;
    *(stream->younger == NULL ? &line->youngest : &stream->younger->older) = stream->older;
    stream->older = stream->younger = NULL;
}

void holding_wait(struct stream *stream, enum waiting what, struct stream **waiters)
{
    stream->waits = (uint8_t)what;
    if (waiters != NULL)
        link_waiter(stream, waiters);
}

int holding_wait_bytes(struct history *history, struct stream *stream, struct end *end,
                       const struct wait *wait)
{
    struct origin *origin = &history->origins[wait->origin];

    if (array_reserve(&origin->heap, &origin->heap_capacity, (size_t)origin->heap_count + 1,
                      sizeof(*origin->heap)) < 0)
        return -ENOMEM;
    holding_wait(stream, WAITS_BYTES, end == NULL ? NULL : &end->waiters);
    stream->waits_for = wait->origin;
    stream->deadline = wait->deadline;
    stream->impatient = wait->impatient;
    history->impatient += wait->impatient;
    origin->waiters++;
    sift_up(origin, stream, origin->heap_count++);
    join_line(&history->for_bytes, stream);
    return 0;
}

void holding_wait_wakeup(struct history *history, struct stream *stream, struct stream *waker)
{
    holding_wait(stream, WAITS_WAKEUP, waker == NULL ? NULL : &waker->waiters);
    join_line(&history->for_wakeups, stream);
}

void holding_wait_write(struct history *history, struct stream *stream, struct stream **waiters)
{
    holding_wait(stream, WAITS_WAKEUP, waiters);
    join_line(&history->for_wakeups, stream);
}

static void stop_waiting_for_bytes(struct history *history, struct stream *stream)
{
    history->impatient -= stream->impatient;
    stream->impatient = false;
    history->origins[stream->waits_for].waiters--;
    leave_heap(history, stream);
    leave_line(&history->for_bytes, stream);
}

void holding_wake(struct history *history, struct stream *stream)
{
    if (stream->waits == WAITS_NOT || stream->waits == WAITS_READY)
        return;
    if (stream->waits == WAITS_BYTES)
        stop_waiting_for_bytes(history, stream);
    if (stream->waits == WAITS_WAKEUP)
        leave_line(&history->for_wakeups, stream);
    unlink_waiter(stream);
    holding_ready(history, stream);
}

void holding_ready(struct history *history, struct stream *stream)
{
    stream->waits = WAITS_READY;
    stream->next_ready = NULL;
    *(history->last_ready == NULL ? &history->first_ready : &history->last_ready->next_ready) =
        stream;
    history->last_ready = stream;
}

void holding_wake_all(struct history *history, struct stream **waiters)
{
    while (*waiters != NULL)
        holding_wake(history, *waiters);
}

void holding_wake_impatient(struct history *history)
{
    struct stream *next;

    for (struct stream *stream = history->for_bytes.oldest;
         stream != NULL && history->impatient > 0; stream = next) {
        next = stream->younger;
        if (stream->impatient)
            holding_wake(history, stream);
    }
}

void holding_wake_origin(struct history *history, struct origin *origin)
{
    while (origin->heap_count > 0)
        holding_wake(history, origin->heap[0]);
}

struct stream *holding_take_ready(struct history *history)
{
    struct stream *stream = history->first_ready;

    if (stream == NULL)
        return NULL;
    history->first_ready = stream->next_ready;
    if (history->first_ready == NULL)
        history->last_ready = NULL;
    stream->next_ready = NULL;
    stream->waits = WAITS_NOT;
    return stream;
}
