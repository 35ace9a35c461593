/* SPDX-License-Identifier: MIT */
/*
 * other_load.c: how many tasks of others ran or waited for a CPU, while the computation used CPU time.
 *
 *      stream 1  --runs--o SEND ------------o RECEIVECALL . . asleep . . o RECEIVE --
 *      stream 2          . . . . asleep . . . . . o woken -- waits for a CPU -- runs
 *      load               3                 3                             4            in the records' headers
 *      own                1                 1                             2
 *      others             2                 2                             2
 *
 * Each record of a stream reports the load of its machine. How many streams of the computation were awake then is known
 * only later: some records, made after a sleep, hold its length. So these moments are collected in a file, and are
 * counted in the order of their times after the last event.
 *
 * The CPU time between two records of a stream counts with the mean of both. With k streams and L others on c
 * processors that are all in use, CPU time takes (k + L) / c times as long: so a mean by CPU time shows how much longer
 * it took because of others.
 *
 * A single difference may be negative, because the load is counted when CPUs switch: only the mean is corrected.
 */
#include "analysis/parallelism/graph_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum moment_kind {
    STREAM_IS_BORN,
    STREAM_SLEEPS,
    STREAM_WAKES,
    STREAM_WAITS, /* for a CPU, whether or not a wait that began earlier is over */
    STREAM_RUNS,  /* after that */
    STREAM_ENDS,
    STREAM_TELLS, /* the load */
};

struct moment {
    uint64_t time;
    uint64_t cpu; /* TELLS: procTime of the stream */
    uint32_t stream;
    uint32_t machine;
    uint32_t order; /* of moments with the same time */
    uint8_t kind;   /* enum moment_kind */
    uint8_t load;
};

/* ---- collecting ---- */

static int add_moment(struct graph *graph, const struct graph_stream *stream, enum moment_kind kind,
                      uint64_t time, const struct record_header *tells)
{
    int64_t index = scratch_add(&graph->moments);

    if (index < 0)
        return (int)index;
    ((struct moment *)graph->moments.at)[index] = (struct moment){
        .time = time,
        .cpu = tells == NULL ? 0 : record_proc_time(tells),
        .stream = stream->moments - 1,
        .machine = graph->origins[stream->origin].machine,
        .order = (uint32_t)index,
        .kind = (uint8_t)kind,
        .load = tells == NULL ? 0 : tells->load,
    };
    return 0;
}

/* At the first thing that is known of a stream. */
static int begin(struct graph *graph, struct graph_stream *stream, uint64_t time)
{
    uint64_t first = graph->origins[stream->origin].first;

    if (stream->moments != 0)
        return 0;
    stream->moments = ++graph->moment_streams;
    stream->seen_born = first != 0 && stream->start > first;
    return stream->seen_born ? add_moment(graph, stream, STREAM_IS_BORN, stream->start, NULL)
                             : add_moment(graph, stream, STREAM_WAKES, time, NULL);
}

static int add_schedule(struct graph *graph, struct graph_stream *stream,
                        const struct record *record)
{
    uint64_t time = record->header.time, waited = record->schedule.runnable;
    int result = begin(graph, stream, time);
    bool known = stream->waited_cpu != 0 || stream->seen_born;
    uint64_t wait = known && waited > stream->waited_cpu ? waited - stream->waited_cpu : 0;

    stream->waited_cpu = waited;
    if (result == 0 && wait > 0 && wait < time)
        result = add_moment(graph, stream, STREAM_WAITS, time - wait, NULL);
    if (result == 0 && wait > 0)
        result = add_moment(graph, stream, STREAM_RUNS, time, NULL);
    return result < 0 ? result : add_moment(graph, stream, STREAM_TELLS, time, &record->header);
}

/* Whether the event is within a wait that goes on. */
static bool sleeps_on(const struct graph_stream *stream, const struct record *record)
{
    unsigned id = record->header.id;

    return stream->sleeps != AWAKE && (id == EVENT_STOPPROCESS || id == EVENT_STARTPROCESS ||
                                       (id == EVENT_BLOCK && (record->block.state & 1) == 0));
}

/* It slept until `end`, but for the CPU time that it has used since it fell asleep. */
static int end_sleep(struct graph *graph, const struct graph_stream *stream,
                     const struct record_header *header, uint64_t end)
{
    uint64_t used = proc_time_used(stream->proc_time & PROC_TIME_MASK, record_proc_time(header));
    uint64_t asleep = stream->sleeps == AWAKE ? stream->stopped : stream->since;
    uint64_t since = end > asleep ? end - asleep : 0;

    if (stream->sleeps == AWAKE && stream->stopped == 0)
        return 0;
    return add_moment(graph, stream, STREAM_WAKES, end - (used < since ? used : since), NULL);
}

static int wake(struct graph *graph, const struct graph_stream *stream, const struct record *record)
{
    uint64_t time = record->header.time;
    int result;

    if (record->header.id != EVENT_BLOCK || record->block.duration >= time)
        return end_sleep(graph, stream, &record->header, time);
    uint64_t began = time - record->block.duration;
    result = end_sleep(graph, stream, &record->header, began);
    if (result == 0)
        result = add_moment(graph, stream, STREAM_SLEEPS, began, NULL);
    return result < 0 ? result : add_moment(graph, stream, STREAM_WAKES, time, NULL);
}

static bool falls_asleep(const struct record *record)
{
    return record->header.id == EVENT_RECEIVECALL || record->header.id == EVENT_STOPPROCESS ||
           (record->header.id == EVENT_SENDCALL && !(record->header.flags & RECORD_PREEMPTED));
}

static int add_event(struct graph *graph, struct graph_stream *stream, const struct record *record)
{
    uint64_t time = record->header.time;
    int result = begin(graph, stream, time);

    if (result < 0 || sleeps_on(stream, record))
        return result;
    result = wake(graph, stream, record);
    if (result == 0)
        result = add_moment(graph, stream, STREAM_TELLS, time, &record->header);
    if (result == 0 && falls_asleep(record))
        result = add_moment(graph, stream, STREAM_SLEEPS, time, NULL);
    if (result == 0 && record->header.id == EVENT_TERMINATION)
        result = add_moment(graph, stream, STREAM_ENDS, time, NULL);
    return result;
}

static bool counts(const struct graph_stream *stream)
{
    return stream != NULL && stream->process != NO_PROCESS_NUMBER && !stream->ended;
}

int other_load_add(struct graph *graph, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    unsigned id = record->header.id;
    int result = 0;

    if (graph->options->other_load != OTHER_LOAD_SEEN || event->origin >= graph->origin_room)
        return 0;
    if (id == EVENT_WAKEUP) {
        struct graph_stream *woken = graph_find_stream(graph, event->origin, record->wakeup.woken);
        if (counts(woken) && woken->moments != 0)
            result = add_moment(graph, woken, STREAM_WAKES, record->header.time, NULL);
    }
    struct graph_stream *stream = graph_find_stream(graph, event->origin, record->header.stream);
    if (result < 0 || !counts(stream))
        return result;
    if (id == EVENT_SCHEDULE)
        return add_schedule(graph, stream, record);
    return event_is_metered(id) && !(record->header.flags & RECORD_NO_STREAM)
               ? add_event(graph, stream, record)
               : 0;
}

/* ---- counting ---- */

struct own {
    bool exists, awake, waits;
    bool has_cpu, has_others;
    uint64_t cpu;
    uint64_t time;
    double others; /* at its latest record */
};

struct sum {
    uint32_t own; /* streams of the computation that run or wait for a CPU */
    double cpu;
    double weighed; /* CPU time times others */
};

static int by_time(const void *a, const void *b)
{
    const struct moment *left = a, *right = b;

    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static bool is_runnable(const struct own *own)
{
    return own->exists && (own->awake || own->waits);
}

static void take_load(const struct moment *moment, struct own *own, struct sum *sum)
{
    double others = (double)moment->load - sum->own;
    uint64_t cpu = own->has_cpu ? proc_time_used(own->cpu, moment->cpu) : 0;
    uint64_t passed = moment->time - own->time;

    if (moment->load == 0) /* this meter does not know it */
        return;
    cpu = cpu < passed ? cpu : passed;
    sum->cpu += (double)cpu;
    sum->weighed += (double)cpu * (own->has_others ? (own->others + others) / 2 : others);
    own->has_cpu = own->has_others = true;
    own->cpu = moment->cpu;
    own->time = moment->time;
    own->others = others;
}

static void change(const struct moment *moment, struct own *own)
{
    if (moment->kind == STREAM_IS_BORN) {
        own->has_cpu = true;
        own->time = moment->time;
    }
    if (moment->kind == STREAM_IS_BORN || moment->kind == STREAM_WAKES)
        own->exists = own->awake = true;
    if (moment->kind == STREAM_SLEEPS)
        own->awake = false;
    if (moment->kind == STREAM_WAITS || moment->kind == STREAM_RUNS)
        own->waits = moment->kind == STREAM_WAITS;
    if (moment->kind == STREAM_ENDS)
        own->exists = false;
}

static void count_all(const struct scratch *moments, struct own *streams, struct sum *sums)
{
    const struct moment *list = moments->at;

    for (uint32_t i = 0; i < moments->count; i++) {
        struct own *own = &streams[list[i].stream];
        struct sum *sum = &sums[list[i].machine];
        if (list[i].kind == STREAM_TELLS) {
            take_load(&list[i], own, sum);
            continue;
        }
        sum->own -= is_runnable(own);
        change(&list[i], own);
        sum->own += is_runnable(own);
    }
}

static double mean(const struct sum *sum)
{
    return sum->cpu > 0 && sum->weighed > 0 ? sum->weighed / sum->cpu : 0;
}

static int make_result(struct graph *graph, const struct sum *sums)
{
    struct parallelism_other_load *loads = calloc((size_t)graph->machine_count + 1, sizeof(*loads));
    struct sum all = {0};

    if (loads == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->machine_count; i++) {
        memcpy(loads[i].name, graph->machines[i].name, sizeof(loads[i].name));
        loads[i].cpus = graph->machines[i].cpus;
        loads[i].known = sums[i].cpu > 0;
        loads[i].tasks = mean(&sums[i]);
        all.cpu += sums[i].cpu;
        all.weighed += loads[i].tasks * sums[i].cpu;
    }
    graph->result->other_loads = loads;
    graph->result->other_load_count = graph->machine_count;
    graph->result->other_load = mean(&all);
    return 0;
}

int other_load_find(struct graph *graph)
{
    struct own *streams = calloc((size_t)graph->moment_streams + 1, sizeof(*streams));
    struct sum *sums = calloc((size_t)graph->machine_count + 1, sizeof(*sums));
    int result = streams == NULL || sums == NULL ? -ENOMEM : 0;

    if (result == 0 && graph->moments.count > 0) {
        qsort(graph->moments.at, graph->moments.count, sizeof(struct moment), by_time);
        count_all(&graph->moments, streams, sums);
    }
    if (result == 0)
        result = make_result(graph, sums);
    scratch_close(&graph->moments);
    free(streams);
    free(sums);
    return result;
}

int other_load_open(struct graph *graph, struct problem *problem)
{
    return scratch_open(&graph->moments, sizeof(struct moment), graph->options->directory, problem);
}

double other_load_of(const struct graph *graph, const struct placed *placed, uint32_t machine)
{
    const struct parallelism *result = graph->result;

    if (graph->options->other_load == OTHER_LOAD_GIVEN)
        return graph->options->other_tasks;
    if (graph->options->other_load == OTHER_LOAD_NONE)
        return 0;
    return placed->assignment->kind == AS_RECORDED && machine < result->other_load_count
               ? result->other_loads[machine].tasks
               : result->other_load;
}
