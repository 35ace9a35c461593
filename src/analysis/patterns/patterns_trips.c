/* SPDX-License-Identifier: MIT */
/*
 * patterns_trips.c: round trips that one thread makes one after the other, and the connections for them. See patterns.h.
 *
 *      thread   RECEIVE (a request)  SEND o - - o RECEIVE   SEND o - - o RECEIVE ...  SEND (the answer)
 *                                         trip                   trip
 */
#include "analysis/patterns/patterns_private.h"

#include "meter/shared/message.h"

#include <errno.h>
#include <string.h>

/* A SYN without an answer is sent again after 1 s (RFC 6298), so a connection that took less has not waited for that. */
#define RESENT_FIRST 1000000000u /* ns */

/* What a thread does between two calls of a series is its library's part of them, up to so many times the round trip. */
#define TRIP_GAP 2

/* ... and what it does between connect() and the last question is set-up, up to this. */
#define SETUP_GAP 1000000u /* ns */

/* More than one question, or data of which the other end says now and then how much it has taken. */
#define QUESTION_SENDS 4
#define QUESTION_BYTES 16384

/* ---- rows ---- */

/* The row for the address at the other end; *ret_row is 0 if there are too many, or the end is not known. */
static int row_of(struct patterns_analysis *analysis, const struct history_event *event,
                  const struct pattern_thread *thread, uint32_t *ret_row)
{
    const struct record *record = (const struct record *)event->event.header;
    const struct pattern_process *process = pattern_process_at(analysis, thread->process);
    const struct path_record *path = identities_path(history_identities(analysis->history),
                                                     event->event.origin, record->message.path);
    char address[ENDPOINT_SIZE];

    *ret_row = 0;
    if (path == NULL)
        return 0;
    endpoint_remote(path, address);
    uint64_t key = hash_bytes(thread->process, address, strlen(address));
    uint32_t before = analysis->exchange_keys.count;
    int64_t index = before < PATTERN_ROWS ? intern_add(&analysis->exchange_keys, key)
                                          : intern_find(&analysis->exchange_keys, key);
    if (index == -ENOENT)
        return 0;
    if (index < 0 || array_reserve(&analysis->exchanges, &analysis->exchange_room,
                                   (size_t)index + 1, sizeof(*analysis->exchanges)) < 0)
        return -ENOMEM;
    if (index == before) {
        char *kept = arena_allocate(&analysis->memory, strlen(address) + 1);
        if (kept == NULL)
            return -ENOMEM;
        analysis->exchanges[index].row = (struct exchange_row){
            .origin = process->origin,
            .stream = process->number,
            .address = strcpy(kept, address),
        };
    }
    *ret_row = (uint32_t)index + 1;
    return 0;
}

/* ---- round trips ---- */

static bool is_in_request(const struct pattern_thread *thread)
{
    return thread->request_place != 0 && !thread->overlaps && thread->request_ended == 0;
}

static void add_to_request(struct pattern_thread *thread, uint32_t row, uint64_t time,
                           uint64_t alone)
{
    uint32_t at = 0;

    while (at < thread->series_count && thread->series[at].row != row)
        at++;
    if (at == SERIES_MOST)
        return;
    if (at == thread->series_count)
        thread->series[thread->series_count++] = (struct trip_series){.row = row};
    thread->series[at].count++;
    thread->series[at].time += time;
    thread->series[at].alone += alone;
}

static void drop_trip(struct pattern_thread *thread)
{
    thread->trip_row = thread->trip_place = 0;
    thread->asked = thread->answered = thread->before = 0;
}

/* When the part of the thread's time began that this round trip takes. */
static uint64_t began_of(const struct pattern_thread *thread)
{
    uint64_t time = thread->answered - thread->asked;
    bool follows = thread->before != 0 && thread->asked - thread->before <= TRIP_GAP * time;

    return follows ? thread->before : thread->asked;
}

static int end_trip(struct patterns_analysis *analysis, struct pattern_thread *thread)
{
    struct exchange_state *state = exchange_at(analysis, thread->trip_row);
    bool is_transfer = thread->asked_sends > QUESTION_SENDS || thread->asked_bytes > QUESTION_BYTES;
    int result = 0;

    if (state != NULL && is_transfer) {
        state->row.transfers++;
        thread->before = 0;
    } else if (state != NULL && thread->answered > thread->asked) {
        uint64_t began = began_of(thread), alone = thread->answered - thread->asked;
        if (state->thread == 0)
            state->thread = thread->number;
        state->row.threads = state->thread == thread->number && state->row.threads < 2 ? 1 : 2;
        covered_add(&state->trips, began, thread->answered);
        if (is_in_request(thread)) {
            covered_add(&state->many, began, thread->answered);
            add_to_request(thread, thread->trip_row, thread->answered - began, alone);
        }
        result = histogram_add(&state->row.trips, alone, HISTOGRAM_SOME);
        thread->before = thread->answered;
    }
    thread->trip_row = thread->trip_place = 0;
    thread->asked = thread->answered = 0;
    return result;
}

/* ---- requests ---- */

static int add_request(struct patterns_analysis *analysis, const struct pattern_thread *thread,
                       const struct trip_series *series)
{
    struct exchange_row *row = &exchange_at(analysis, series->row)->row;

    row->asking++;
    if (series->count < TRIPS_MANY)
        return 0;
    row->requests++;
    row->request_time += thread->request_ended - thread->request_began;
    row->trip_time += series->alone;
    row->series_time += series->time;
    row->surplus += series->time - series->time / series->count;
    return histogram_add(&row->each, series->count, HISTOGRAM_SOME);
}

static int end_request(struct patterns_analysis *analysis, struct pattern_thread *thread)
{
    int result = 0;

    for (uint32_t i = 0; i < thread->series_count && result == 0; i++)
        if (!thread->overlaps && thread->request_ended > thread->request_began)
            result = add_request(analysis, thread, &thread->series[i]);
    thread->request_place = 0;
    thread->overlaps = false;
    thread->series_count = 0;
    thread->request_began = thread->request_ended = 0;
    return result;
}

/* At an end that serves. */
static int note_served(struct patterns_analysis *analysis, const struct history_event *event,
                       struct pattern_thread *thread)
{
    bool is_request = event->event.header->id == EVENT_RECEIVE;
    int result = end_trip(analysis, thread);

    pattern_process_at(analysis, thread->process)->serves = true;
    thread->before = 0;
    if (result < 0)
        return result;
    if (!is_request) {
        if (event->end_place == thread->request_place)
            thread->request_ended = event->event.header->time;
        return 0;
    }
    if (thread->request_place != 0 && thread->request_ended == 0) {
        thread->overlaps = thread->overlaps || thread->request_place != event->end_place;
        return 0; /* more of it, or of another one */
    }
    result = end_request(analysis, thread);
    thread->request_place = event->end_place;
    thread->request_began = event->event.header->time;
    return result;
}

/* What came before the latest exchange of a connection may have been its set-up: connect() and the exchanges before. */
static void note_exchange(struct patterns_analysis *analysis, struct pattern_place *place,
                          uint64_t when)
{
    struct exchange_state *state = exchange_at(analysis, place->row);
    uint64_t began = place->exchanges == 0 ? place->connecting : place->asked;
    uint64_t ended = place->exchanges == 0 ? began + place->took : place->answered;

    if (state != NULL && began != 0 && ended > began && place->exchanges < OWN_EXCHANGES &&
        place->took < RESENT_FIRST) {
        if (when > ended && when - ended <= SETUP_GAP)
            ended = when;
        state->row.setup += ended - began;
        covered_add(&state->setup, began, ended);
        if (place->exchanges == 0)
            covered_add(&state->connecting, began, ended);
    }
    place->exchanges++;
    place->asked = when;
    place->answered = 0;
}

/* At an end that calls. */
static int note_called(struct patterns_analysis *analysis, const struct history_event *event,
                       struct pattern_thread *thread, struct pattern_place *place)
{
    bool asks = event->event.header->id == EVENT_SEND;
    bool is_same = thread->trip_place == event->end_place;
    uint64_t bytes = ((const struct record *)event->event.header)->message.bytes;

    if (!asks) {
        place->answered = event->event.header->time;
        if (is_same)
            thread->answered = event->event.header->time;
        else
            drop_trip(thread);
        return 0;
    }
    if (is_same && thread->answered == 0) { /* more of the question */
        thread->asked_sends++;
        thread->asked_bytes += bytes;
        return 0;
    }
    if (thread->trip_place != 0 && thread->answered == 0)
        drop_trip(thread);
    int result = end_trip(analysis, thread);
    if (result == 0 && place->row == 0)
        result = row_of(analysis, event, thread, &place->row);
    thread->trip_row = place->row;
    thread->trip_place = event->end_place;
    thread->asked = event->when;
    thread->asked_sends = 1;
    thread->asked_bytes = bytes;
    note_exchange(analysis, place, event->when);
    return result;
}

int trips_note_message(struct patterns_analysis *analysis, const struct history_event *event,
                       struct pattern_thread *thread, struct pattern_place *place)
{
    return place->side == ASKING_SERVES ? note_served(analysis, event, thread)
                                        : note_called(analysis, event, thread, place);
}

int trips_end_thread(struct patterns_analysis *analysis, struct pattern_thread *thread)
{
    int result = end_trip(analysis, thread);

    return result < 0 ? result : end_request(analysis, thread);
}

/* ---- connections ---- */

int trips_note_connect(struct patterns_analysis *analysis, const struct history_event *event,
                       struct pattern_thread *thread, struct pattern_place *place)
{
    place->side = ASKING_CALLS;
    place->took = message_span((const struct record *)event->event.header);
    place->connecting = event->event.header->time - place->took;
    int result = place->row != 0 ? 0 : row_of(analysis, event, thread, &place->row);
    struct exchange_state *state = exchange_at(analysis, place->row);
    if (result == 0 && state != NULL)
        state->row.connects++;
    return result;
}

/* That a segment was sent again is the second evidence. */
int trips_note_network(struct patterns_analysis *analysis, const struct record *record,
                       struct pattern_place *place)
{
    struct exchange_state *state = exchange_at(analysis, place->row);
    uint64_t took = place->took;

    if (state == NULL || place->side != ASKING_CALLS || record->network.retransmitted == 0 ||
        took < RESENT_FIRST)
        return 0;
    place->took = 0; /* it counts once */
    state->row.resent++;
    covered_add(&state->resent, place->connecting, place->connecting + took);
    return histogram_add(&state->row.resent_times, took, HISTOGRAM_SOME);
}

void trips_end_path(struct patterns_analysis *analysis, const struct pattern_place *place)
{
    struct exchange_state *state = exchange_at(analysis, place->row);

    if (state == NULL || place->connecting == 0 || place->exchanges == 0)
        return;
    state->row.connections++;
    state->row.exchanges += place->exchanges;
}
