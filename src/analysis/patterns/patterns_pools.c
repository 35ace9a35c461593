/* SPDX-License-Identifier: MIT */
/*
 * patterns_pools.c: requests that wait until a thread of the process has answered another one. See patterns.h.
 *
 *      reader   RECEIVE a . RECEIVE b                        (or each worker receives itself: then b waits in its socket)
 *      worker   o=========== a ===========o=========== b ===========o SEND
 *                           b waits . . . .
 *
 * That b waited for this worker is certain if the worker went on with b right after a: it did not wait for work in
 * between.
 */
#include "analysis/patterns/patterns_private.h"

#include "event/system_calls.h"

#include <errno.h>

/* A worker that waits for less than that has waited for the lock of the queue, not for work. */
#define IDLE_LEAST 200000u /* ns */

static bool was_woken(const struct history_event *event)
{
    for (uint32_t i = 0; i < event->edge_count; i++)
        if (event->edges[i].kind == EDGE_WAKEUP && !event->edges[i].earlier)
            return true;
    return false;
}

/* ns in which it ran, or could have run. */
static uint64_t wanted_cpu(const struct history_event *event)
{
    return event->proc_time + event->runnable;
}

/* After its answer, a worker waits for work: for a condition, until another thread has some, or for a message, of which it
 * has asked for none. */
void pools_note_wait(const struct history_event *event, struct pattern_thread *thread)
{
    const struct record *record = (const struct record *)event->event.header;

    if (!thread->fresh)
        return;
    if (record->header.id == EVENT_BLOCK && !call_is_futex(record->block.system_call)) {
        thread->fresh = false;
        return;
    }
    if (record->header.id == EVENT_BLOCK &&
        (record->block.duration < IDLE_LEAST || !was_woken(event)))
        return;
    thread->idle = true;
    thread->free_since = record->header.time;
    thread->free_cpu = wanted_cpu(event);
}

static int row_of(struct patterns_analysis *analysis, struct pattern_process *process,
                  struct pool_state **ret_state)
{
    *ret_state = NULL;
    if (process->pool == 0) {
        if (analysis->pool_count == PATTERN_ROWS)
            return 0;
        if (array_reserve(&analysis->pools, &analysis->pool_room, analysis->pool_count + 1,
                          sizeof(*analysis->pools)) < 0)
            return -ENOMEM;
        analysis->pools[analysis->pool_count++].row =
            (struct pool_row){.origin = process->origin, .stream = process->number};
        process->pool = (uint32_t)analysis->pool_count;
    }
    *ret_state = &analysis->pools[process->pool - 1];
    return 0;
}

static void set_free(struct pattern_thread *thread, const struct history_event *event)
{
    thread->fresh = true;
    thread->idle = false;
    thread->last = thread->free_since = event->event.header->time;
    thread->free_cpu = wanted_cpu(event);
    thread->answered_at = event->end_place;
}

/* `came`: when the request did. */
static int note_answer(struct patterns_analysis *analysis, const struct history_event *event,
                       struct pattern_thread *thread, uint64_t came)
{
    uint64_t now = event->event.header->time;
    uint64_t began = thread->free_since > came ? thread->free_since : came;
    bool waited = thread->free_since > came && !thread->idle && thread->answers > 0 &&
                  thread->answered_at != event->end_place;
    struct pool_state *state;
    int result = row_of(analysis, pattern_process_at(analysis, thread->process), &state);

    if (result < 0 || state == NULL)
        return result;
    state->row.requests++;
    state->row.time += now - came;
    thread->first = thread->answers == 0 ? came : thread->first;
    thread->answers++;
    thread->busy += now > began ? now - began : 0;
    thread->cpu += wanted_cpu(event) > thread->free_cpu ? wanted_cpu(event) - thread->free_cpu : 0;
    if (waited) {
        covered_add(&state->waited, came, began);
        result = histogram_add(&state->row.waits, began - came, HISTOGRAM_SOME);
    }
    return result;
}

/* More of an answer, or one to a request that is not known. */
static void note_other_answer(const struct history_event *event, struct pattern_thread *thread)
{
    uint64_t now = event->event.header->time;
    uint64_t time = now > thread->last ? now - thread->last : 0;

    if (thread->answered_at == event->end_place)
        thread->busy += time;
    else if (thread->answers > 0)
        thread->unknown += time;
}

/* A receive may be known only after the answer, if it was not known at once who had sent the request. */
static void note_request(struct pattern_place *place, uint64_t time)
{
    uint64_t came = place->came;

    place->came = 0;
    if (time < place->sent)
        return;
    if (!place->is_open)
        place->received = came > place->sent && came < time ? came : time;
    place->is_open = true;
}

int pools_note_message(struct patterns_analysis *analysis, const struct history_event *event,
                       struct pattern_thread *thread, struct pattern_place *place)
{
    const struct record_header *header = event->event.header;
    int result = 0;

    if (place->side == ASKING_SERVES && header->id == EVENT_RECEIVE) {
        note_request(place, header->time);
        return 0;
    }
    if (place->side == ASKING_SERVES && header->id == EVENT_SEND) {
        if (place->is_open)
            result = note_answer(analysis, event, thread, place->received);
        else
            note_other_answer(event, thread);
        place->is_open = false;
        place->sent = header->time;
        set_free(thread, event);
        return result;
    }
    place->came = 0;
    thread->fresh = thread->fresh && header->id != EVENT_SEND;
    return 0;
}

void pools_end_thread(struct patterns_analysis *analysis, const struct pattern_thread *thread)
{
    const struct pattern_process *process = pattern_process_at(analysis, thread->process);

    if (process->pool == 0 || thread->answers < 2)
        return;
    struct pool_row *row = &analysis->pools[process->pool - 1].row;
    row->workers++;
    row->busy += thread->busy;
    row->span += thread->last - thread->first - thread->unknown;
    row->cpu += thread->cpu;
}
