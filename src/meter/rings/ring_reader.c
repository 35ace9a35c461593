/* SPDX-License-Identifier: MIT */
/*
 * ring_reader.c: merges two rings and the loader's own records. Records newer than the time up to which the rings are
 * complete have to wait. See ring_reader.h.
 */
#include "meter/rings/ring_reader.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

int ring_reader_open(struct ring_reader *reader, enum ring_id ring, int descriptor, size_t size)
{
    reader->wall_offset = (int64_t)(clock_now(CLOCK_REALTIME) - clock_now(CLOCK_MONOTONIC));
    return ring_open(&reader->rings[ring], descriptor, size);
}

void ring_reader_close(struct ring_reader *reader)
{
    for (size_t i = 0; i < RING_COUNT; i++)
        ring_close(&reader->rings[i]);
    record_queue_done(&reader->own);
    if (reader->watched)
        close(reader->watch);
    reader->watched = false;
}

/* Records stay in a ring until the next collection, so a ring is always readable. Only its wake-ups count (EPOLLET). */
int ring_reader_watch(struct ring_reader *reader, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};

    if (!reader->watched)
        reader->watch = epoll_create1(EPOLL_CLOEXEC);
    if (reader->watch < 0)
        return -errno;
    reader->watched = true;
    return epoll_ctl(reader->watch, EPOLL_CTL_ADD, descriptor, &event) < 0 ? -errno : 0;
}

int ring_reader_descriptor(const struct ring_reader *reader)
{
    return reader->watched ? reader->watch : -1;
}

/* Wake-ups after this make the descriptor readable again. */
static void forget_wake_ups(struct ring_reader *reader)
{
    struct epoll_event events[RING_COUNT];

    if (reader->watched)
        (void)epoll_wait(reader->watch, events, RING_COUNT, 0);
}

int ring_reader_add(struct ring_reader *reader, const struct record_header *record)
{
    return record_queue_add(&reader->own, record);
}

void ring_reader_end(struct ring_reader *reader)
{
    reader->ending = true;
    reader->collected = false;
}

static uint64_t complete_up_to(const struct ring_reader *reader)
{
    uint64_t control = reader->rings[RING_CONTROL].complete;
    uint64_t data = reader->rings[RING_DATA].complete;

    return control < data ? control : data;
}

/* Takes the oldest of all records; control before data at equal times. */
static const struct record_header *take_oldest(struct ring_reader *reader)
{
    const struct record_header *control = ring_peek(&reader->rings[RING_CONTROL]);
    const struct record_header *data = ring_peek(&reader->rings[RING_DATA]);
    const struct record_header *own = record_queue_peek(&reader->own);
    const struct record_header *oldest = control;

    if (oldest == NULL || (own != NULL && own->time < oldest->time))
        oldest = own;
    if (oldest == NULL || (data != NULL && data->time < oldest->time))
        oldest = data;
    if (oldest == NULL || oldest->time > complete_up_to(reader))
        return NULL;
    if (oldest == own)
        record_queue_take(&reader->own);
    else
        ring_take(&reader->rings[oldest == control ? RING_CONTROL : RING_DATA]);
    return oldest;
}

static bool is_empty(const struct ring_reader *reader)
{
    return record_queue_peek(&reader->own) == NULL &&
           ring_peek(&reader->rings[RING_CONTROL]) == NULL &&
           ring_peek(&reader->rings[RING_DATA]) == NULL;
}

/* What the loader adds now is no newer than the time up to which the rings are complete afterwards. */
static int collect(struct ring_reader *reader)
{
    int result = reader->extra.look(reader->extra.loader);

    forget_wake_ups(reader);
    for (size_t i = 0; i < RING_COUNT && result == 0; i++)
        result = ring_collect(&reader->rings[i]);
    reader->collected = true;
    return result;
}

static int end(struct ring_reader *reader)
{
    reader->ended = true;
    return reader->extra.end(reader->extra.loader, complete_up_to(reader), reader->told_lost);
}

static int hand_out(struct ring_reader *reader, const struct record_header *record,
                    struct event *ret_event)
{
    const struct record *lost = (const struct record *)record;

    if (record->id == EVENT_LOST && lost->lost.reason == LOST_RING_FULL)
        reader->told_lost[lost->lost.ring % RING_COUNT] += lost->lost.count;
    reader->records++;
    *ret_event = (struct event){record, 0, reader->wall_offset};
    return reader->extra.note(reader->extra.loader, record);
}

/* Looks for more when no record is ready. Returns 1: there may be one, 0: there is none, or an error. */
static int go_on(struct ring_reader *reader)
{
    int result = 0;

    if (!reader->collected)
        result = collect(reader);
    else if (reader->ending && !reader->ended)
        result = end(reader);
    else
        return 0;
    return result < 0 ? result : 1;
}

int ring_reader_next(struct ring_reader *reader, struct event *ret_event, uint64_t *ret_complete,
                     struct problem *problem)
{
    const struct record_header *record;
    int result = 1;

    while ((record = take_oldest(reader)) == NULL && result > 0)
        result = go_on(reader);
    if (record != NULL)
        result = hand_out(reader, record, ret_event);
    if (result < 0)
        return problem_set(problem, result, "cannot read the meter's rings: %s", strerror(-result));
    if (record != NULL)
        return SOURCE_RECORD;
    reader->collected = false;
    /* a ring that remained full until the next look would get no record that wakes the reader */
    for (size_t i = 0; i < RING_COUNT; i++)
        ring_release(&reader->rings[i]);
    if (reader->ended && is_empty(reader))
        return SOURCE_END;
    *ret_complete = complete_up_to(reader);
    return SOURCE_NONE_YET;
}

void ring_reader_describe(const struct ring_reader *reader, int result, uint64_t skipped,
                          uint64_t lost, struct source_state *state)
{
    state->records = reader->records;
    if (result == SOURCE_RECORD)
        return;
    state->skipped = skipped;
    state->lost = lost;
    if (result == SOURCE_END) {
        state->complete = true;
        state->end_reason = END_COMPLETE;
    }
}

uint64_t ring_reader_made(const struct ring_reader *reader)
{
    return reader->records + ring_waiting(&reader->rings[RING_CONTROL]) +
           ring_waiting(&reader->rings[RING_DATA]);
}
