/* SPDX-License-Identifier: MIT */
/*
 * computations.h: computations to be analysed, told as a trace, and how long their longest path is by definition.
 *
 *      steps of each stream  --+--> tape --> history --> an analysis
 *                              '--> length_to(), again and again
 */
#ifndef DPM_COMPUTATIONS_H
#define DPM_COMPUTATIONS_H

#include "analysis/parallelism.h"

#include "tapes.h"

#include <math.h>

#define ALL     UINT32_MAX
#define T0      1000000000u
#define STREAMS 6
#define STEPS   80 /* of a stream, at most */
#define SENDERS 4  /* of what one RECEIVE takes, at most */

/* ---- a computation ---- */

struct step {
    uint64_t cpu;
    bool slept; /* the processor time comes behind the wait */
    uint32_t source_count;
    struct {
        uint32_t stream, step;
        uint32_t bytes;
    } sources[SENDERS];
};

struct computation {
    struct tape tape;
    uint32_t streams;
    struct step steps[STREAMS][STEPS];
    uint32_t count[STREAMS];
    uint64_t cpu[STREAMS];
    uint32_t sequence[STREAMS];
    uint64_t now;
    /* what is under way from one stream to another */
    struct {
        uint32_t sent, received; /* positions */
        struct {
            uint32_t step, bytes;
        } queue[STEPS];
        uint32_t first, last;
    } channels[STREAMS][STREAMS];
};

static inline uint32_t path_of(uint32_t from, uint32_t to, bool receiver)
{
    return 1 + (from * STREAMS + to) * 2 + receiver;
}

static inline void add_process(struct tape *tape, uint32_t number, const char *name)
{
    struct stream_record record = {
        .header = {.time = T0, .id = EVENT_STREAM, .flags = 16, .stream = number},
        .process = number,
        .pid = 100 + number};

    snprintf(record.name, sizeof(record.name), "%s", name);
    tape_add(tape, &record);
}

static inline void begin(struct computation *computation, uint32_t streams)
{
    memset(computation, 0, sizeof(*computation));
    tape_init(&computation->tape);
    computation->streams = streams;
    computation->now = T0;
    add_machine(&computation->tape, T0, 1, ALL);
    for (uint32_t i = 0; i < streams; i++)
        add_process(&computation->tape, i + 1, (char[]){(char)('A' + i), '\0'});
    for (uint32_t i = 0; i < streams; i++)
        for (uint32_t k = 0; k < streams; k++) {
            uint32_t from = path_of(i, k, false), to = path_of(i, k, true);
            if (i == k)
                continue;
            add_unix(&computation->tape, T0, from, PATH_UNIX_STREAM, from, to);
            add_unix(&computation->tape, T0, to, PATH_UNIX_STREAM, to, from);
        }
    for (uint32_t i = 0; i < streams; i++) /* from here on processor time counts */
        add_event(&computation->tape, ++computation->now, EVENT_EXEC, i + 1,
                  computation->sequence[i]++)
            ->header.proc_time_and_pc = 0;
}

static inline struct step *add_step(struct computation *computation, uint32_t stream, uint64_t cpu)
{
    struct step *step = &computation->steps[stream][computation->count[stream]++];

    assert_true(computation->count[stream] <= STEPS);
    *step = (struct step){.cpu = cpu};
    computation->cpu[stream] += cpu;
    return step;
}

static inline struct record *tell(struct computation *computation, uint32_t stream,
                                  enum event_id id, uint32_t path, uint32_t offset, uint32_t bytes)
{
    struct record *record = add_message(&computation->tape, ++computation->now, id, stream + 1,
                                        computation->sequence[stream]++, path, offset, bytes);

    record->header.proc_time_and_pc = computation->cpu[stream];
    return record;
}

static inline void run_on(struct computation *computation, uint32_t stream, uint64_t cpu)
{
    add_step(computation, stream, cpu);
    tell(computation, stream, EVENT_EXEC, 0, 0, 0);
}

static inline void send_to(struct computation *computation, uint32_t from, uint32_t to,
                           uint64_t cpu, uint32_t bytes)
{
    add_step(computation, from, cpu);
    uint32_t last = computation->channels[from][to].last++;
    computation->channels[from][to].queue[last].step = computation->count[from] - 1;
    computation->channels[from][to].queue[last].bytes = bytes;
    tell(computation, from, EVENT_SEND, path_of(from, to, false),
         computation->channels[from][to].sent, bytes);
    computation->channels[from][to].sent += bytes;
}

static inline uint32_t waiting(const struct computation *computation, uint32_t from, uint32_t to)
{
    return computation->channels[from][to].sent - computation->channels[from][to].received;
}

/* Takes so many bytes of what waits. `waits`: it falls asleep first, with `cpu` used on each side. */
static inline void receive(struct computation *computation, uint32_t to, uint32_t from,
                           uint64_t cpu, uint32_t bytes, bool waits)
{
    if (waits) {
        add_step(computation, to, cpu);
        tell(computation, to, EVENT_RECEIVECALL, path_of(from, to, true), 0, 0);
    }
    struct step *step = add_step(computation, to, cpu);
    step->slept = waits;
    uint32_t left = bytes;
    while (left > 0) {
        uint32_t first = computation->channels[from][to].first;
        uint32_t *queued = &computation->channels[from][to].queue[first].bytes;
        uint32_t part = *queued < left ? *queued : left;
        uint32_t i = step->source_count++;
        assert_true(step->source_count <= SENDERS);
        step->sources[i].stream = from;
        step->sources[i].step = computation->channels[from][to].queue[first].step;
        step->sources[i].bytes = part;
        *queued -= part;
        left -= part;
        computation->channels[from][to].first += *queued == 0;
    }
    tell(computation, to, EVENT_RECEIVE, path_of(from, to, true),
         computation->channels[from][to].received, bytes)
        ->header.flags = waits ? 0 : RECORD_CALL_IMPLIED;
    computation->channels[from][to].received += bytes;
}

/* ---- naive: the longest path ---- */

struct world {
    const struct computation *computation;
    const struct delays *delays;
    uint32_t machine[STREAMS];
    double cores[STREAMS];
    double speed[STREAMS];
    bool free; /* messages take no time */
};

static inline double delay_between(const struct world *world, uint32_t from, uint32_t to,
                                   uint32_t bytes)
{
    const struct delays *delays = world->delays;

    if (world->free)
        return 0;
    return (double)delay_of(
        world->machine[from] == world->machine[to] ? &delays->local : &delays->remote, bytes);
}

/* By definition, and again for whoever asks. */
static inline double length_to(const struct world *world, uint32_t stream, uint32_t index)
{
    const struct step *step = &world->computation->steps[stream][index];
    double own = index == 0 ? 0 : length_to(world, stream, index - 1), arrive = 0;
    double speed = world->free ? 1 : world->speed[world->machine[stream]];
    double cpu = floor((double)step->cpu / speed);

    for (uint32_t i = 0; i < step->source_count; i++) {
        double length =
            length_to(world, step->sources[i].stream, step->sources[i].step) +
            delay_between(world, step->sources[i].stream, stream, step->sources[i].bytes);
        arrive = length > arrive ? length : arrive;
    }
    if (step->slept)
        return (own > arrive ? own : arrive) + cpu;
    return own + cpu > arrive ? own + cpu : arrive;
}

static inline double longest_path(const struct world *world)
{
    double longest = 0;

    for (uint32_t i = 0; i < world->computation->streams; i++)
        if (world->computation->count[i] > 0) {
            double length = length_to(world, i, world->computation->count[i] - 1);
            longest = length > longest ? length : longest;
        }
    return longest;
}

/* ---- random computations ---- */

static inline void make(struct computation *computation, uint64_t *seed)
{
    begin(computation, 1 + (uint32_t)random_below(seed, STREAMS));
    uint32_t streams = computation->streams;
    uint64_t most = random_below(seed, 2) == 0 ? 10 : 100000;
    uint32_t steps = (uint32_t)random_below(seed, streams * 12) + 1;

    for (uint32_t i = 0; i < steps; i++) {
        uint32_t stream = (uint32_t)random_below(seed, streams);
        uint32_t other = (uint32_t)random_below(seed, streams);
        uint64_t cpu = random_below(seed, 4) == 0 ? 0 : random_below(seed, most);
        if (computation->count[stream] + 2 >= STEPS)
            continue;
        uint32_t there = stream == other ? 0 : waiting(computation, other, stream);
        if (stream == other)
            run_on(computation, stream, cpu);
        else if (there == 0)
            send_to(computation, stream, other, cpu, 1 + (uint32_t)random_below(seed, 100));
        else
            receive(computation, stream, other, cpu,
                    1 + (uint32_t)random_below(seed, there < 3 ? there : 3),
                    random_below(seed, 2) == 0);
    }
}

#endif
