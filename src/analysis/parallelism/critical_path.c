/* SPDX-License-Identifier: MIT */
/*
 * critical_path.c: the critical path, found in the condensed graph. See critical_path.h, and critical_parts.c for what
 * it consists of.
 *
 *      forward    when each stretch ends: the later one of its own chain and of what it waits for
 *      the end    with the command, or with what was done last for others
 *      backward   from there: to the one that made it end when it did, and so on
 *                 and for each, how long the longest path from its end to the path's end is: tail
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

bool critical_has_name(const struct graph *graph, uint32_t process, uint32_t like)
{
    return strcmp(graph->result->processes[process].name, graph->result->processes[like].name) == 0;
}

/* How much faster each process is than it was recorded, with the change of `what_if`. */
static void set_speeds(struct critical_path_reading *reading, const struct what_if *what_if)
{
    const struct graph *graph = &reading->graph;
    const struct placed *placed = &graph->placed[0];

    for (uint32_t i = 0; i < reading->parallelism->process_count; i++) {
        double speed = 1;
        if (reading->options.delays)
            speed = placed_speed(placed, graph_machine_of(graph, placed, i));
        if (what_if != NULL && what_if->speed > 0 && what_if_concerns(reading, what_if, i))
            speed *= what_if->speed;
        reading->speeds[i] = speed;
    }
}

/* CPU time of a stretch at that speed. */
static uint64_t cpu_of(const struct critical_path_reading *reading, const struct stretch *stretch)
{
    double speed = reading->speeds[reading->graph.starts[stretch->chain].process];

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
    if (what_if != NULL && what_if->speed == 0 &&
        critical_has_name(graph, from, what_if->process) &&
        critical_has_name(graph, to, what_if->to))
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
    enum arc_rule rule = reading->plain ? ARC_LATER : reading->places[index].rule;
    uint64_t arrives = 0;

    own += cpu_of(reading, stretch);
    *ret_by_wait = false;
    switch (stretch->wait) {
    case STRETCH_RUNS:
    case STRETCH_CREATES:
        return own;
    case STRETCH_SLEEP:
        return own + stretch_time(stretch);
    default:
        arrives = reading->places[stretch->source].end + critical_delay(reading, what_if, stretch);
        if (rule == ARC_WAITED)
            return own + stretch_time(stretch);
        if (rule == ARC_OWN)
            return own;
        *ret_by_wait = rule == ARC_WOKE || arrives > own;
        return *ret_by_wait ? arrives : own;
    }
}

static uint64_t less(uint64_t value, uint64_t by)
{
    return value > by ? value - by : 0;
}

/* By how much waits for timers and disks outweigh the CPU time on the path to the end of this stretch, since something
 * was done for others there. `before`: the same at its beginning, on its own chain. */
static uint64_t idled_after(const struct critical_path_reading *reading, uint32_t index,
                            uint64_t before)
{
    const struct stretch *stretch = &reading->graph.stretches.at[index];
    bool by_wait = reading->places[index].by_wait;
    uint64_t own = less(before, stretch->cpu);

    if (stretch->meets || stretch->wait == STRETCH_MESSAGE)
        return 0;
    if (stretch->wait == STRETCH_SLEEP)
        return own + stretch_time(stretch);
    if (!by_wait)
        return own + (reading->places[index].rule == ARC_WAITED ? stretch_time(stretch) : 0);
    uint64_t idled = reading->tails[stretch->source];
    bool same = reading->graph.stretches.at[stretch->source].chain == stretch->chain;
    return stretch->wait == STRETCH_SINCE && same ? idled + stretch_time(stretch) : idled;
}

#define FAR_MORE 2 /* times */

/* Whether one side has slept, and the other one has worked beside that: waits of a moment, as for a lock, do not count. */
static bool slept_far_more(uint64_t idled, uint64_t than)
{
    return idled > FAR_MORE * than;
}

/* How an arc counts, by how much both sides have idled: its chain and its source. */
static enum arc_rule rule_of(const struct critical_path_reading *reading, uint32_t index)
{
    uint64_t cpu, end, arrives;
    const struct stretch *stretch = &reading->graph.stretches.at[index];
    uint64_t own = less(reading->idled[stretch->chain], stretch->cpu), source, waited;

    if (!stretch_has_arc(stretch) ||
        reading->graph.stretches.at[stretch->source].chain == stretch->chain)
        return ARC_LATER;
    source = reading->tails[stretch->source];
    if (stretch->wait == STRETCH_MESSAGE)
        return stretch->meets && own > 0 && source == 0 ? ARC_WOKE : ARC_LATER;
    waited = stretch_time(stretch);
    if (waited > 0 && slept_far_more(own, source))
        return ARC_WOKE;
    if (waited == 0 || !slept_far_more(source, own + waited))
        return ARC_LATER;
    cpu = cpu_of(reading, stretch);
    end = reading->chains[stretch->chain] + cpu;
    arrives = reading->places[stretch->source].end + critical_delay(reading, NULL, stretch);
    return arrives < end + waited ? ARC_OWN : ARC_WAITED;
}

/* Fills in places[index].idle; tails[index] is how much it idled until a tail is stored there. */
static void note_idle(struct critical_path_reading *reading, uint32_t index)
{
    const struct stretch *stretch = &reading->graph.stretches.at[index];
    struct place *place = &reading->places[index];
    uint64_t *idled = &reading->idled[stretch->chain];

    *idled = idled_after(reading, index, *idled);
    if (stretch->wait == STRETCH_CREATES && stretch->weight != 0)
        reading->idled[stretch->weight - 1] = *idled;
    reading->tails[index] = *idled;
    place->idle = *idled > 0;
}

/* Whether the path may end with this stretch. */
static bool may_end(const struct critical_path_reading *reading, uint32_t index)
{
    switch (reading->result->end) {
    case END_COMMAND:
        return index == reading->graph.command_end - 1;
    case END_OF_WORK:
        return !reading->places[index].idle;
    case END_BUSIEST:
        return index == reading->busiest;
    default:
        return true;
    }
}

static uint64_t forward(struct critical_path_reading *reading, const struct what_if *what_if,
                        uint64_t *ret_whole)
{
    const struct graph *graph = &reading->graph;
    bool notes = reading->notes_idle && !reading->plain;
    uint64_t longest = 0, whole = 0;

    memset(reading->chains, 0, graph->chain_count * sizeof(*reading->chains));
    reading->end = NO_STRETCH;
    for (uint32_t i = 0; i < graph->stretches.count; i++) {
        const struct stretch *stretch = &graph->stretches.at[i];
        struct place *place = &reading->places[i];
        bool by_wait;
        if (notes)
            place->rule = rule_of(reading, i);
        uint64_t end = end_of(reading, what_if, i, reading->chains[stretch->chain], &by_wait);
        place->end = end & PLACE_END_MOST;
        place->by_wait = by_wait;
        reading->chains[stretch->chain] = end;
        if (stretch->wait == STRETCH_CREATES && stretch->weight != 0)
            reading->chains[stretch->weight - 1] = end;
        if (notes)
            note_idle(reading, i);
        whole = larger_of(whole, end);
        if (may_end(reading, i) && end >= longest) {
            reading->end = i;
            longest = end;
        }
    }
    *ret_whole = whole;
    return longest;
}

uint64_t critical_forward(struct critical_path_reading *reading, const struct what_if *what_if,
                          uint64_t *ret_whole)
{
    uint64_t unused, longest = 0;

    set_speeds(reading, what_if);
    reading->plain = true;
    if (ret_whole != NULL || reading->options.whole)
        longest = forward(reading, what_if, ret_whole != NULL ? ret_whole : &unused);
    reading->plain = reading->options.whole;
    return reading->plain ? longest : forward(reading, what_if, &unused);
}

uint64_t critical_total(const struct critical_path_reading *reading)
{
    const struct parallelism *parallelism = reading->parallelism;
    double total = 0;

    for (size_t i = 0; i < parallelism->process_count; i++)
        total += (double)parallelism->processes[i].cpu / reading->speeds[i];
    return (uint64_t)(total + 0.5);
}

/* ---- where the path ends ---- */

/* The chain with most CPU time: *ret_last is its last stretch. */
static uint64_t find_busiest(struct critical_path_reading *reading, uint32_t *ret_last)
{
    const struct graph *graph = &reading->graph;
    uint64_t *cpu = reading->chains, most = 0;

    memset(cpu, 0, graph->chain_count * sizeof(*cpu));
    for (uint32_t i = 0; i < graph->stretches.count; i++)
        cpu[graph->stretches.at[i].chain] += graph->stretches.at[i].cpu;
    for (uint32_t i = 0; i < graph->stretches.count; i++)
        if (graph->stretches.at[i].next == 0 && cpu[graph->stretches.at[i].chain] > most) {
            most = cpu[graph->stretches.at[i].chain];
            *ret_last = i;
        }
    return most;
}

/* Decides where the path ends, and fills `places`. */
static void find_end(struct critical_path_reading *reading)
{
    struct critical_path *result = reading->result;

    result->end = reading->options.whole            ? END_LONGEST
                  : reading->graph.command_end != 0 ? END_COMMAND
                                                    : END_OF_WORK;
    result->threads = reading->options.parallelism.threads;
    reading->notes_idle = !reading->options.whole;
    result->longest = critical_forward(reading, NULL, &result->whole);
    reading->notes_idle = false;
    if (result->end != END_OF_WORK)
        return;
    if (find_busiest(reading, &reading->busiest) <= FAR_MORE * result->longest)
        return;
    result->end = END_BUSIEST;
    result->longest = critical_forward(reading, NULL, &result->whole);
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

static void mark_path(struct critical_path_reading *reading)
{
    const struct graph *graph = &reading->graph;
    struct wanted wanted = {NO_STRETCH, NO_STRETCH, NO_STRETCH - 1};
    bool found = false;

    for (uint32_t i = graph->stretches.count; i > 0; i--) {
        const struct stretch *stretch = &graph->stretches.at[i - 1];
        struct place *place = &reading->places[i - 1];
        if (found ? !is_wanted(&wanted, i - 1, stretch) : i - 1 != reading->end)
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

#define NO_TAIL (CHAIN_COMPUTES - 1) /* no way leads from there to the end of the path */

static void raise_tail(uint64_t *tail, uint64_t to)
{
    if (to != NO_TAIL)
        *tail = *tail == NO_TAIL ? to : larger_of(*tail, to);
}

static uint64_t longer_tail(uint64_t tail, uint64_t by)
{
    return tail == NO_TAIL ? NO_TAIL : tail + by;
}

/* The next stretch of a chain uses CPU time from `begin` on, and may take this much longer. */
static void note_slack(struct critical_path_reading *reading, uint32_t chain, uint64_t begin,
                       uint64_t longest)
{
    struct critical_process *process =
        &reading->result->processes[reading->graph.starts[chain].process];
    uint64_t tail = reading->chains[chain] & ~CHAIN_COMPUTES;

    if (!(reading->chains[chain] & CHAIN_COMPUTES) || tail == NO_TAIL)
        return;
    uint64_t slack = longest - (begin + tail);
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

    for (uint32_t i = 0; i < graph->chain_count; i++)
        chains[i] = NO_TAIL;
    for (uint32_t i = 0; i < graph->stretches.count; i++)
        reading->tails[i] = may_end(reading, i) ? 0 : NO_TAIL;
    for (uint32_t i = graph->stretches.count; i > 0; i--) {
        const struct stretch *stretch = &graph->stretches.at[i - 1];
        uint64_t tail = reading->tails[i - 1], end = reading->places[i - 1].end;
        note_slack(reading, stretch->chain, end, longest);
        raise_tail(&tail, chains[stretch->chain] & ~CHAIN_COMPUTES);
        if (stretch->wait == STRETCH_CREATES && stretch->weight != 0) {
            note_slack(reading, stretch->weight - 1, end, longest);
            raise_tail(&tail, chains[stretch->weight - 1] & ~CHAIN_COMPUTES);
        }
        enum arc_rule rule = reading->plain ? ARC_LATER : reading->places[i - 1].rule;
        if (rule != ARC_WAITED && rule != ARC_OWN && stretch->wait >= STRETCH_MESSAGE &&
            stretch->wait <= STRETCH_SINCE)
            raise_tail(&reading->tails[stretch->source],
                       longer_tail(tail, critical_delay(reading, NULL, stretch)));
        bool sleeps = stretch->wait == STRETCH_SLEEP || rule == ARC_WAITED;
        uint64_t sleep = sleeps ? stretch_time(stretch) : 0;
        if (rule == ARC_WOKE) /* what its own chain did before does not matter */
            tail = NO_TAIL;
        chains[stretch->chain] = longer_tail(tail, cpu_of(reading, stretch) + sleep) |
                                 (stretch->cpu > 0 ? CHAIN_COMPUTES : 0);
    }
    for (uint32_t i = 0; i < graph->chain_count; i++)
        if (!graph->starts[i].created)
            note_slack(reading, i, 0, longest);
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
    reading->idled = calloc((size_t)graph->chain_count + 1, sizeof(*reading->idled));
    reading->speeds = calloc(reading->parallelism->process_count + 1, sizeof(*reading->speeds));
    if (reading->places == NULL || reading->tails == NULL || reading->chains == NULL ||
        reading->idled == NULL || reading->speeds == NULL || reading->result->processes == NULL)
        return problem_set(problem, -ENOSPC, "there is no room for the path; set TMPDIR");
    find_end(reading);
    reading->result->total = critical_total(reading);
    if (reading->options.asked_count > 0) {
        int result = critical_what_ifs(reading, problem);
        if (result < 0)
            return result;
        critical_forward(reading, NULL, &reading->result->whole);
    }
    reading->path_end = reading->end;
    mark_path(reading);
    find_slack(reading, reading->result->longest);
    return critical_count(reading) < 0 ? problem_set(problem, -ENOMEM, "out of memory") : 0;
}

int critical_path_find(struct critical_path_reading *reading, struct problem *problem)
{
    int result = graph_finish(&reading->graph);

    if (result == 0)
        result = parallelism_name_processes(reading->parallelism,
                                            history_identities(reading->graph.history));
    return result < 0 ? graph_explain(result, problem) : find(reading, problem);
}

int critical_path_parallelism(struct critical_path_reading *reading,
                              struct parallelism **ret_parallelism, struct problem *problem)
{
    int result = parallelism_complete(&reading->graph, reading->parallelism, problem);

    if (result < 0)
        return result;
    reading->result->shares_parallelism = true;
    *ret_parallelism = reading->parallelism;
    return 0;
}

/* ---- as an analysis ---- */

int critical_path_new(struct history *history, const struct critical_path_options *options,
                      struct critical_path_reading **ret_reading, struct problem *problem)
{
    struct critical_path_reading *reading = calloc(1, sizeof(*reading));
    int result = problem_set(problem, -ENOMEM, "out of memory");

    if (reading == NULL)
        return result;
    reading->place_file.file = reading->tail_file.file = reading->graph.stretches.file =
        reading->facts.file = reading->no_cpu.file = reading->run_ends.file = -1;
    reading->path_end = NO_STRETCH;
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
    if (result == 0)
        result = scratch_open(&reading->facts, sizeof(struct fact), options->parallelism.directory,
                              problem);
    if (result == 0 && options->kind_of_wait != NULL)
        result =
            scratch_open(&reading->no_cpu, sizeof(float), options->parallelism.directory, problem);
    reading->graph.see = critical_note;
    reading->graph.context = reading;
    if (result < 0)
        critical_path_reading_free(reading);
    else
        *ret_reading = reading;
    return result;
}

int critical_path_add(struct critical_path_reading *reading, const struct history_event *event,
                      struct problem *problem)
{
    int added =
        reading->graph.again ? critical_add_again(reading, event) : critical_add(reading, event);

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
    scratch_close(&reading->facts);
    scratch_close(&reading->no_cpu);
    scratch_close(&reading->run_ends);
    free(reading->chains);
    free(reading->idled);
    free(reading->speeds);
    critical_parts_done(&reading->parts);
    critical_path_free(reading->result);
    free(reading);
}

void critical_path_free(struct critical_path *path)
{
    if (path == NULL)
        return;
    if (!path->shares_parallelism)
        parallelism_free(path->parallelism);
    free(path->processes);
    free(path->arcs);
    free(path->procedures);
    free(path->what_ifs);
    free(path->alone);
    free(path);
}
