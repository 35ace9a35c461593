/* SPDX-License-Identifier: MIT */
/*
 * critical_path.c: the critical path, found in the condensed graph. See critical_path.h, and critical_parts.c for what
 * it consists of.
 *
 *      forward    when each stretch ends: the later one of its own chain and of what it waits for
 *      backward   from the one that ends last: to the one that made it end when it did, and so on
 *                 and for each, how long the longest path from its end is: tail
 *
 *      slack = t_max - (end + tail)
 *
 * Both passes read the stretches once, in order or in reverse; only sources need random access.
 */
#include "analysis/parallelism/critical_path_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- forward ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool has_name(const struct graph *graph, uint32_t process, uint32_t like)
{
    return strcmp(graph->result->processes[process].name, graph->result->processes[like].name) == 0;
}

/* CPU time of a stretch, with the change of `what_if`. */
static uint64_t cpu_of(const struct critical_path_reading *reading, const struct what_if *what_if,
                       const struct stretch *stretch)
{
    const struct graph *graph = &reading->graph;
    uint32_t process = graph->starts[stretch->chain].process;
    double speed = 1;

    if (reading->options.delays)
        speed =
            placed_speed(&graph->placed[0], graph_machine_of(graph, &graph->placed[0], process));
    if (what_if != NULL && what_if->speed > 0 && has_name(graph, process, what_if->process))
        speed *= what_if->speed;
    return speed == 1 ? stretch->cpu : (uint64_t)((double)stretch->cpu / speed);
}

uint64_t critical_delay(const struct critical_path_reading *reading, const struct what_if *what_if,
                        const struct stretch *stretch)
{
    const struct graph *graph = &reading->graph;
    const struct placed *placed = &graph->placed[0];

    if (stretch->wait == STRETCH_SINCE || stretch->wait == STRETCH_SLEEP)
        return stretch_time(stretch);
    if (!reading->options.delays ||
        (stretch->wait != STRETCH_MESSAGE && stretch->wait != STRETCH_SIGNAL))
        return 0;
    uint32_t from = graph->starts[graph->stretches.at[stretch->source].chain].process;
    uint32_t to = graph->starts[stretch->chain].process;
    if (what_if != NULL && what_if->speed == 0 && has_name(graph, from, what_if->process) &&
        has_name(graph, to, what_if->to))
        return 0;
    return placed_delay(placed, &graph->options->delays, graph_machine_of(graph, placed, from),
                        graph_machine_of(graph, placed, to),
                        stretch->wait == STRETCH_MESSAGE ? stretch->weight : 0);
}

/* When a stretch ends, if its chain has come to `own`. *ret_by_wait: its wait determined that. */
static uint64_t end_of(const struct critical_path_reading *reading, const struct what_if *what_if,
                       uint32_t index, uint64_t own, bool *ret_by_wait)
{
    const struct stretch *stretch = &reading->graph.stretches.at[index];
    uint64_t arrives = 0;

    own += cpu_of(reading, what_if, stretch);
    *ret_by_wait = false;
    switch (stretch->wait) {
    case STRETCH_RUNS:
    case STRETCH_CREATES:
        return own;
    case STRETCH_SLEEP:
        return own + stretch_time(stretch);
    default:
        arrives = reading->places[stretch->source].end + critical_delay(reading, what_if, stretch);
        *ret_by_wait = arrives > own;
        return later(arrives, own);
    }
}

uint64_t critical_forward(struct critical_path_reading *reading, const struct what_if *what_if)
{
    const struct graph *graph = &reading->graph;
    uint64_t longest = 0;

    memset(reading->chains, 0, graph->chain_count * sizeof(*reading->chains));
    for (uint32_t i = 0; i < graph->stretches.count; i++) {
        const struct stretch *stretch = &graph->stretches.at[i];
        bool by_wait;
        uint64_t end = end_of(reading, what_if, i, reading->chains[stretch->chain], &by_wait);
        reading->places[i] = (struct place){.end = end & PLACE_END_MOST, .by_wait = by_wait};
        reading->chains[stretch->chain] = end;
        if (stretch->wait == STRETCH_CREATES && stretch->weight != 0)
            reading->chains[stretch->weight - 1] = end;
        longest = later(longest, end);
    }
    return longest;
}

/* ---- backward ---- */

/* The predecessor on the path, while it is followed backwards. */
struct wanted {
    uint32_t index;   /* this stretch ... */
    uint32_t chain;   /* ... or the next one to be met of this chain ... */
    uint32_t creates; /* ... or the one that creates this chain */
};

static bool is_wanted(const struct wanted *wanted, uint32_t index, const struct stretch *stretch)
{
    return index == wanted->index || stretch->chain == wanted->chain ||
           (stretch->wait == STRETCH_CREATES && stretch->weight == wanted->creates + 1);
}

static void mark_path(struct critical_path_reading *reading, uint64_t longest)
{
    const struct graph *graph = &reading->graph;
    struct wanted wanted = {NO_STRETCH, NO_STRETCH, NO_STRETCH - 1};
    bool found = false;

    for (uint32_t i = graph->stretches.count; i > 0; i--) {
        const struct stretch *stretch = &graph->stretches.at[i - 1];
        struct place *place = &reading->places[i - 1];
        if (found ? !is_wanted(&wanted, i - 1, stretch) : place->end != longest)
            continue;
        found = true;
        place->critical = true;
        wanted = (struct wanted){NO_STRETCH, NO_STRETCH, NO_STRETCH - 1};
        if (place->by_wait)
            wanted.index = stretch->source;
        else if (graph->starts[stretch->chain].first != i - 1)
            wanted.chain = stretch->chain;
        else if (graph->starts[stretch->chain].created)
            wanted.creates = stretch->chain;
        else
            return;
    }
}

#define CHAIN_COMPUTES (1ULL << 63) /* the next stretch of the chain uses CPU time */

static void raise_tail(uint64_t *tail, uint64_t to)
{
    *tail = later(*tail, to);
}

/* The next stretch of a chain uses CPU time from `begin` on, and may take this much longer. */
static void note_slack(struct critical_path_reading *reading, uint32_t chain, uint64_t begin,
                       uint64_t longest)
{
    struct critical_process *process =
        &reading->result->processes[reading->graph.starts[chain].process];
    uint64_t slack = longest - (begin + (reading->chains[chain] & ~CHAIN_COMPUTES));

    if (!(reading->chains[chain] & CHAIN_COMPUTES))
        return;
    if (!process->has_slack || slack < process->slack)
        process->slack = slack;
    process->has_slack = true;
}

/* Finds slacks. The tail of a stretch is known when all stretches behind it have been visited. */
static void find_slack(struct critical_path_reading *reading, uint64_t longest)
{
    const struct graph *graph = &reading->graph;
    /* length of the longest path from the beginning of the next stretch */
    uint64_t *chains = reading->chains;

    memset(chains, 0, graph->chain_count * sizeof(*chains));
    memset(reading->tails, 0, graph->stretches.count * sizeof(*reading->tails));
    for (uint32_t i = graph->stretches.count; i > 0; i--) {
        const struct stretch *stretch = &graph->stretches.at[i - 1];
        uint64_t tail = reading->tails[i - 1], end = reading->places[i - 1].end;
        note_slack(reading, stretch->chain, end, longest);
        raise_tail(&tail, chains[stretch->chain] & ~CHAIN_COMPUTES);
        if (stretch->wait == STRETCH_CREATES && stretch->weight != 0) {
            note_slack(reading, stretch->weight - 1, end, longest);
            raise_tail(&tail, chains[stretch->weight - 1] & ~CHAIN_COMPUTES);
        }
        if (stretch->wait >= STRETCH_MESSAGE && stretch->wait <= STRETCH_SINCE)
            raise_tail(&reading->tails[stretch->source],
                       tail + critical_delay(reading, NULL, stretch));
        chains[stretch->chain] = (tail + cpu_of(reading, NULL, stretch) +
                                  (stretch->wait == STRETCH_SLEEP ? stretch_time(stretch) : 0)) |
                                 (stretch->cpu > 0 ? CHAIN_COMPUTES : 0);
    }
    for (uint32_t i = 0; i < graph->chain_count; i++)
        if (!graph->starts[i].created)
            note_slack(reading, i, 0, longest);
}

/* ---- what if ---- */

static int64_t find_process(const struct graph *graph, const char *name)
{
    const struct parallelism_process *processes = graph->result->processes;

    for (size_t i = 0; i < graph->result->process_count; i++)
        if (process_is_meant(name, processes[i].pid, processes[i].name))
            return (int64_t)i;
    return -ENOENT;
}

int critical_what_ifs(struct critical_path_reading *reading, struct problem *problem)
{
    const struct critical_path_options *options = &reading->options;
    struct critical_path *result = reading->result;

    result->what_ifs = calloc(options->asked_count + 1, sizeof(*result->what_ifs));
    if (result->what_ifs == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; i < options->asked_count; i++) {
        const struct what_if_asked *asked = &options->asked[i];
        int64_t process = find_process(&reading->graph, asked->process);
        int64_t to = asked->speed > 0 ? 0 : find_process(&reading->graph, asked->to);
        if (process < 0 || to < 0)
            return problem_set(problem, -EINVAL, "--what-if: no process of the traces is %s",
                               process < 0 ? asked->process : asked->to);
        struct what_if *what_if = &result->what_ifs[result->what_if_count++];
        *what_if = (struct what_if){
            .process = (uint32_t)process, .speed = asked->speed, .to = (uint32_t)to};
        what_if->longest = critical_forward(reading, what_if);
    }
    return 0;
}

/* Tries the processes with the most CPU time on the path, one for each name, at twice their speed. */
int critical_offer(struct critical_path_reading *reading)
{
    struct critical_path *result = reading->result;
    size_t count = result->parallelism->process_count;

    result->what_ifs = calloc(reading->options.offered + 1, sizeof(*result->what_ifs));
    if (result->what_ifs == NULL)
        return -ENOMEM;
    while (result->what_if_count < reading->options.offered) {
        uint32_t best = NO_PROCESS_NUMBER;
        for (uint32_t i = 0; i < count; i++) {
            bool taken = result->processes[i].cpu == 0;
            for (size_t k = 0; k < result->what_if_count && !taken; k++)
                taken = has_name(&reading->graph, i, result->what_ifs[k].process);
            if (!taken && (best == NO_PROCESS_NUMBER ||
                           result->processes[i].cpu > result->processes[best].cpu))
                best = i;
        }
        if (best == NO_PROCESS_NUMBER)
            return 0;
        struct what_if *what_if = &result->what_ifs[result->what_if_count++];
        *what_if = (struct what_if){.process = best, .speed = 2};
        what_if->longest = critical_forward(reading, what_if);
    }
    return 0;
}

/* ---- all of it ---- */

/* Memory in a file without a name, as for the stretches. NULL: none. */
static void *scratch(struct stretches *file, const char *directory, size_t bytes,
                     struct problem *problem)
{
    if (stretches_open(file, directory, problem) < 0)
        return NULL;
    return stretches_reserve(file, bytes / sizeof(struct stretch) + 1) < 0 ? NULL : file->at;
}

static int find(struct critical_path_reading *reading, struct problem *problem)
{
    struct graph *graph = &reading->graph;
    const char *directory = reading->options.parallelism.directory;
    size_t count = (size_t)graph->stretches.count + 1;

    reading->places =
        scratch(&reading->place_file, directory, count * sizeof(*reading->places), problem);
    reading->tails =
        scratch(&reading->tail_file, directory, count * sizeof(*reading->tails), problem);
    reading->chains = calloc((size_t)graph->chain_count + 1, sizeof(*reading->chains));
    reading->result->processes =
        calloc(reading->parallelism->process_count + 1, sizeof(*reading->result->processes));
    if (reading->places == NULL || reading->tails == NULL || reading->chains == NULL ||
        reading->result->processes == NULL)
        return problem_set(problem, -ENOSPC, "there is no room for the path; set TMPDIR");
    if (reading->options.asked_count > 0) {
        int result = critical_what_ifs(reading, problem);
        if (result < 0)
            return result;
    }
    reading->result->longest = critical_forward(reading, NULL);
    mark_path(reading, reading->result->longest);
    find_slack(reading, reading->result->longest);
    return 0;
}

int critical_path_find(struct critical_path_reading *reading, struct problem *problem)
{
    int result = graph_finish(&reading->graph);

    if (result == 0)
        result = parallelism_name_processes(reading->parallelism,
                                            history_identities(reading->graph.history));
    return result < 0 ? graph_explain(result, problem) : find(reading, problem);
}

/* ---- as an analysis ---- */

int critical_path_new(struct history *history, const struct critical_path_options *options,
                      struct critical_path_reading **ret_reading, struct problem *problem)
{
    struct critical_path_reading *reading = calloc(1, sizeof(*reading));
    int result = problem_set(problem, -ENOMEM, "out of memory");

    if (reading == NULL)
        return result;
    reading->place_file.file = reading->tail_file.file = reading->graph.stretches.file = -1;
    reading->edge = UINT32_MAX;
    reading->options = *options;
    reading->options.parallelism.sharing = true; /* needed for the stretches */
    reading->result = calloc(1, sizeof(*reading->result));
    if (reading->result != NULL)
        reading->parallelism = reading->result->parallelism =
            calloc(1, sizeof(*reading->parallelism));
    if (reading->parallelism != NULL)
        result = graph_init(&reading->graph, &reading->options.parallelism, history,
                            reading->parallelism, problem);
    if (result < 0)
        critical_path_reading_free(reading);
    else
        *ret_reading = reading;
    return result;
}

int critical_path_add(struct critical_path_reading *reading, const struct history_event *event,
                      struct problem *problem)
{
    int added = reading->again == NULL ? graph_add(&reading->graph, event)
                                       : critical_add_again(reading, event);

    return added < 0 ? graph_explain(added, problem) : 0;
}

static int add_event(void *reading, const struct history_event *event, struct problem *problem)
{
    return critical_path_add(reading, event, problem);
}

struct analysis critical_path_analysis(struct critical_path_reading *reading)
{
    return (struct analysis){"the critical path", reading, add_event};
}

void critical_path_reading_free(struct critical_path_reading *reading)
{
    if (reading == NULL)
        return;
    graph_done(&reading->graph);
    stretches_close(&reading->place_file);
    stretches_close(&reading->tail_file);
    free(reading->chains);
    critical_parts_done(&reading->parts);
    critical_path_free(reading->result);
    free(reading);
}

void critical_path_free(struct critical_path *path)
{
    if (path == NULL)
        return;
    parallelism_free(path->parallelism);
    free(path->processes);
    free(path->arcs);
    free(path->procedures);
    free(path->what_ifs);
    free(path);
}
