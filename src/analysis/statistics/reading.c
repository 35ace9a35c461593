/* SPDX-License-Identifier: MIT */
/*
 * reading.c: reads a recording to its end for its communication statistics.
 *
 *      traces --> history --> events in causal order, clocks --> statistics --> result, with what was matched
 *      traces, in turn by their clocks of the day ------------> statistics --> result of what is counted alone
 */
#include "analysis/statistics/statistics_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int explain(int result, struct problem *problem)
{
    if (result == -EAGAIN)
        problem_set(problem, result, "the recording has not ended yet");
    else if (result < 0)
        problem_set(problem, result, "out of memory for the communication statistics");
    return result;
}

struct communication_reading {
    struct history *history;
    struct statistics *statistics;
    uint64_t clock_error; /* as known last */
};

/* The recording of a machine that says the latest of its clocks. */
static uint32_t latest_origin(const struct statistics *statistics, uint32_t origins,
                              uint32_t machine)
{
    const struct statistics_origin *all = statistics->origins;
    uint32_t latest = origins;

    for (uint32_t i = 0; i < origins; i++)
        if (all[i].seen && all[i].machine == machine &&
            (latest == origins || all[i].last_time > all[latest].last_time))
            latest = i;
    return latest;
}

/* How far the clocks of machines are apart. The first machine is compared with itself: another recording of
 * it, made later, may tell of a clock of the day that was set since. */
static void compare_clocks(const struct statistics *statistics, const struct history *history,
                           uint32_t origins, struct communication *result)
{
    const struct statistics_origin *all = statistics->origins;

    if (origins > statistics->origin_count)
        origins = statistics->origin_count;
    uint32_t first =
        origins > 0 && all[0].seen ? latest_origin(statistics, origins, all[0].machine) : 0;
    for (uint32_t i = 0; i < result->machine_count; i++) {
        struct communication_machine *machine = &result->machines[i];
        uint32_t origin = latest_origin(statistics, origins, i);
        if (origin == origins)
            continue;
        history_clock(history, origin, all[origin].last_time, &machine->clock_offset,
                      &machine->clock_error);
        machine->clock_ahead = (int64_t)((uint64_t)history_wall_offset(history, origin) -
                                         (uint64_t)history_wall_offset(history, first) -
                                         (uint64_t)machine->clock_offset);
    }
}

/* As known at the end: what was learned of an origin's clock after its last record counts, too. */
static int note_clocks(struct statistics *statistics, const struct history *history,
                       uint32_t origins)
{
    int result = 0;

    for (uint32_t i = 1; result == 0 && i < origins && i < statistics->origin_count; i++) {
        uint64_t error;
        int64_t offset;
        uint32_t reference =
            history_clock(history, i, statistics->origins[i].last_time, &offset, &error);
        result = statistics_note_clock(statistics, i, offset, reference);
    }
    return result;
}

static int finish_history(struct statistics *statistics, struct history *history, uint32_t origins,
                          struct communication **ret_communication)
{
    struct source_state *states = calloc(origins + 1UL, sizeof(*states));
    int result = note_clocks(statistics, history, origins);

    history_finish(history); /* the result needs the memory */

    for (uint32_t i = 0; states != NULL && i < origins; i++)
        states[i] = *history_state(history, i);
    if (result == 0 && states == NULL)
        result = -ENOMEM;
    if (result == 0)
        result = statistics_finish_last(statistics, states, origins, ret_communication);
    free(states);
    if (result < 0)
        return result;
    (*ret_communication)->matched = true;
    compare_clocks(statistics, history, origins, *ret_communication);
    history_counts(history, &(*ret_communication)->matching);
    return 0;
}

int communication_new(struct history *history, uint64_t every,
                      struct communication_reading **ret_reading)
{
    struct communication_reading *reading = calloc(1, sizeof(*reading));

    if (reading == NULL || statistics_new(&reading->statistics) < 0) {
        free(reading);
        return -ENOMEM;
    }
    reading->history = history;
    statistics_every(reading->statistics, every);
    statistics_share_identities(reading->statistics, history_share_identities(history));
    *ret_reading = reading;
    return 0;
}

void communication_reading_free(struct communication_reading *reading)
{
    if (reading == NULL)
        return;
    statistics_free(reading->statistics);
    free(reading);
}

int communication_add(struct communication_reading *reading, const struct history_event *event)
{
    const struct event *is = &event->event;
    uint32_t reference = 0;
    int64_t offset = 0;

    if (is->origin != 0)
        reference = history_clock(reading->history, is->origin, is->header->time, &offset,
                                  &reading->clock_error);
    return statistics_add_at(reading->statistics, is, offset, reference);
}

static int add_event(void *reading, const struct history_event *event, struct problem *problem)
{
    (void)problem; /* who reads says that memory was short */
    return communication_add(reading, event);
}

struct analysis communication_analysis(struct communication_reading *reading)
{
    return (struct analysis){"the communication statistics", reading, add_event};
}

int communication_finish(struct communication_reading *reading, uint32_t origins,
                         struct communication **ret_communication)
{
    int result = finish_history(reading->statistics, reading->history, origins, ret_communication);

    if (result == 0)
        (*ret_communication)->clock_error = reading->clock_error;
    return result;
}

int communication_read_history(struct history *history, uint32_t origins, uint64_t every,
                               struct communication **ret_communication, struct problem *problem)
{
    struct communication_reading *reading = NULL;
    int result = explain(communication_new(history, every, &reading), problem);

    if (result == 0) {
        const struct analysis reads = communication_analysis(reading);
        result = analyses_read_all(history, &reads, 1, problem);
    }
    if (result == 0)
        result = explain(communication_finish(reading, origins, ret_communication), problem);
    communication_reading_free(reading);
    return result;
}

/* ---- without a history ---- */

/* A source is read for so many records before another one's turn comes: what it speaks of is at hand then. */
#define TURN 512

/* One source, and how far it was read. */
struct counted {
    struct source *source;
    struct machine_record machine; /* where it was recorded; all zero: it does not say */
    int64_t wall;   /* of its latest record, ns since 1970; INT64_MIN: none was read */
    int64_t offset; /* of its clock of the day, at its first record */
    bool ended;
};

/* The one that is behind; NULL: all have ended. */
static struct counted *whose_turn(struct counted *all, size_t count)
{
    struct counted *behind = NULL;

    for (size_t i = 0; i < count; i++)
        if (!all[i].ended && (behind == NULL || all[i].wall < behind->wall))
            behind = &all[i];
    return behind;
}

/* Recordings of one machine have one clock, whatever its clock of the day was set to in between. */
static bool has_clock_of(const struct machine_record *one, const struct machine_record *other)
{
    static const uint8_t none[sizeof(one->boot_id)];

    return memcmp(one->boot_id, none, sizeof(none)) != 0 &&
           memcmp(one->boot_id, other->boot_id, sizeof(none)) == 0 &&
           memcmp(one->machine_id, other->machine_id, sizeof(one->machine_id)) == 0;
}

static void note_first(struct counted *all, size_t count, struct counted *one,
                       const struct event *event)
{
    one->offset = event->wall_offset;
    if (event->header->id != EVENT_MACHINE)
        return;
    memcpy(&one->machine, event->header, sizeof(one->machine));
    for (size_t i = count; i-- > 0;)
        if (&all[i] != one && all[i].wall != INT64_MIN &&
            has_clock_of(&all[i].machine, &one->machine))
            one->offset = all[i].offset;
}

static int take_turn(struct statistics *statistics, struct counted *all, size_t count,
                     struct counted *one, struct problem *problem)
{
    struct event event;
    uint64_t complete = 0;

    for (unsigned i = 0; i < TURN; i++) {
        int result = one->source->next(one->source, &event, &complete, problem);
        if (result == SOURCE_NONE_YET)
            return explain(-EAGAIN, problem);
        if (result != SOURCE_RECORD) {
            one->ended = true;
            return result;
        }
        if (one->wall == INT64_MIN)
            note_first(all, count, one, &event);
        one->wall = (int64_t)(event.header->time + (uint64_t)event.wall_offset);
        event.origin = (uint32_t)(one - all);
        int64_t offset = (int64_t)((uint64_t)one->offset - (uint64_t)all->offset);
        if (statistics_add_at(statistics, &event, offset, 0) < 0)
            return explain(-ENOMEM, problem);
    }
    return 0;
}

static int finish_counts(struct statistics *statistics, const struct counted *all, size_t count,
                         struct communication **ret_communication)
{
    struct source_state *states = calloc(count + 1, sizeof(*states));

    if (states == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        states[i] = *all[i].source->states;
    int result = statistics_finish_last(statistics, states, (uint32_t)count, ret_communication);
    free(states);
    return result;
}

static int read_counts(struct statistics *statistics, struct counted *all, size_t count,
                       struct communication **ret_communication, struct problem *problem)
{
    struct counted *one;
    int result = 0;

    while (result == 0 && (one = whose_turn(all, count)) != NULL)
        result = take_turn(statistics, all, count, one, problem);
    return result < 0 ? result
                      : explain(finish_counts(statistics, all, count, ret_communication), problem);
}

int communication_read_counts(struct source *const *sources, size_t count, uint64_t every,
                              struct communication **ret_communication, struct problem *problem)
{
    struct counted *all = calloc(count + 1, sizeof(*all));
    struct statistics *statistics = NULL;
    int result = explain(all == NULL ? -ENOMEM : statistics_new(&statistics), problem);

    for (size_t i = 0; all != NULL && i < count; i++)
        all[i] = (struct counted){.source = sources[i], .wall = INT64_MIN};
    if (result == 0) {
        statistics_every(statistics, every);
        statistics_count_only(statistics);
        result = read_counts(statistics, all, count, ret_communication, problem);
    }
    statistics_free(statistics);
    free(all);
    return result;
}
