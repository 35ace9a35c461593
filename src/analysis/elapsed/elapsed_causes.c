/* SPDX-License-Identifier: MIT */
/* elapsed_causes.c: what a thread waited for, and what ended the wait. See elapsed_private.h. */
#include "analysis/elapsed/elapsed_private.h"

/* ns: what has ended a wait may be noted this much before the wait began. */
#define SOON 1000000u

uint32_t elapsed_source_of(const struct elapsed_analysis *analysis, const struct history_edge *edge)
{
    const uint32_t *value = history_value_at(edge->value, analysis->value);

    if (value != NULL)
        return *value;
    const struct elapsed_thread *thread = elapsed_find_thread(analysis, edge->origin, edge->stream);
    return thread == NULL ? 0 : thread->latest;
}

static bool is_message(const struct history_edge *edge)
{
    return edge->kind <= EDGE_INFERRED;
}

void elapsed_find_cause(struct elapsed_analysis *analysis, const struct history_event *event,
                        uint64_t began, uint64_t arrived, struct interval *interval)
{
    bool found_message = false;

    for (uint32_t i = 0; i < event->edge_count; i++) {
        const struct history_edge *edge = &event->edges[i];
        uint32_t source = edge->kind == EDGE_CREATION ? 0 : elapsed_source_of(analysis, edge);
        if (source == 0 || ((found_message || began == 0) && !is_message(edge)))
            continue;
        uint64_t sent = begun_at(interval_at(analysis, source)), arrival = sent;
        if (is_message(edge) && arrived > sent)
            arrival = arrived;
        else if (is_message(edge) && event->came < event->event.header->time)
            arrival = elapsed_common_time(analysis, event->event.origin, event->came);
        if (edge->kind != EDGE_WAKEUP && arrival + SOON < began)
            continue; /* it was there before the wait */
        if (interval->source != 0 && found_message == is_message(edge) &&
            (is_message(edge) ? arrival >= interval->arrival : arrival <= interval->arrival))
            continue;
        found_message = is_message(edge);
        interval->source = source;
        interval->arrival = arrival;
        interval->is_message = is_message(edge);
    }
}

/* Whether the other end has ended a wait for it: with space, or with its answer to connect. */
static bool is_end_of_wait(const struct history_event *event)
{
    uint16_t id = event->event.header->id;

    return is_send(event) || id == EVENT_CONNECT || id == EVENT_CONNECTFAILED;
}

enum elapsed_kind elapsed_unexplained(const struct elapsed_thread *thread,
                                      const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    if (thread->stopped)
        return ELAPSED_STOPPED;
    if (record->header.id == EVENT_BLOCK && !thread->asleep &&
        (record->header.flags & RECORD_TIME_LIMIT))
        return ELAPSED_TIMER; /* no other thread has woken it */
    if (record->header.id == EVENT_BLOCK && !thread->asleep)
        return kind_of_call(record->block.system_call, record->block.state);
    if (event->joined && record->header.id == EVENT_RECEIVE)
        return ELAPSED_UNKNOWN; /* a metered process has sent, or closed the other end */
    if (event->joined && is_send(event))
        return ELAPSED_SPACE;
    if (record->header.id == EVENT_RECEIVE || record->header.id == EVENT_ACCEPT ||
        (!thread->for_any && is_end_of_wait(event)))
        return ELAPSED_OUTSIDE;
    /* none of several paths has woken it; or the call ended without a message: a timeout, a signal */
    return thread->for_any ? ELAPSED_EVENT : ELAPSED_UNKNOWN;
}

uint32_t elapsed_call_of_wait(const struct elapsed_thread *thread,
                              const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    if (thread->asleep)
        return thread->call;
    return record->header.id == EVENT_BLOCK ? record->block.system_call : NO_SYSTEM_CALL;
}

enum elapsed_kind elapsed_waited_for(const struct elapsed_thread *thread,
                                     const struct history_event *event,
                                     const struct interval *interval)
{
    const struct record *record = (const struct record *)event->event.header;

    if (interval->source == 0)
        return elapsed_unexplained(thread, event);
    if (is_send(event) && thread->asleep && !thread->for_any)
        return ELAPSED_SPACE;
    if (interval->is_message || (thread->asleep && !thread->for_any))
        return ELAPSED_IN_FLIGHT; /* or for an end of file, or for a connection */
    if (thread->asleep)
        return ELAPSED_EVENT;
    return record->header.id == EVENT_BLOCK
               ? kind_of_call(record->block.system_call, record->block.state)
               : ELAPSED_UNKNOWN;
}
