/* SPDX-License-Identifier: MIT */
/*
 * program_graph.c: from the causal stream to the program history graph: what each event makes longer.
 *
 *      event   -- processor time since the stream's last one --o
 *      edges   -- a message, room, a creation ... -------------'   whatever is longest counts
 *      outside -- elapsed time, where nothing metered explains a wait
 *
 * Who was awake reaches the event by its own processor time or by an edge, whatever is later. Who slept was
 * woken by the edge, and the processor time since then comes behind it.
 *
 *      awake    max(own + cpu, edges)           slept    max(own, edges) + cpu
 */
#include "analysis/program_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t key_of(uint32_t origin, uint32_t number)
{
    return (uint64_t)origin << 32 | number;
}

/* ---- making and freeing ---- */

int graph_init(struct graph *graph, const struct parallelism_options *options,
               struct history *history, struct parallelism *result, struct problem *problem)
{
    size_t count = options->assignment_count;
    int made = 0;

    *graph = (struct graph){
        .options = options,
        .history = history,
        .result = result,
        .lengths = 1 + (uint32_t)count,
        .keeps = options->sharing,
        .stretches = {.file = -1},
    };
    size_t lengths = graph->lengths * sizeof(uint64_t);
    graph->streams.size = sizeof(struct graph_stream) + lengths;
    graph->chains.size = sizeof(struct chain) + lengths;
    graph->requests.size = sizeof(struct request) + lengths;
    graph->longest = calloc(graph->lengths, sizeof(*graph->longest));
    graph->arrive = calloc(graph->lengths, sizeof(*graph->arrive));
    graph->placed = calloc(count + 1, sizeof(*graph->placed));
    if (graph->longest == NULL || graph->arrive == NULL || graph->placed == NULL)
        made = -ENOMEM;
    for (size_t i = 0; i < count && made == 0; i++)
        made = placed_init(&graph->placed[i], &options->assignments[i], &options->delays);
    if (made < 0)
        return problem_set(problem, made, "out of memory");
    history_keep_values(history, sizeof(struct reached) + lengths);
    return graph->keeps ? stretches_open(&graph->stretches, options->directory, problem) : 0;
}

void graph_done(struct graph *graph)
{
    for (size_t i = 0; graph->placed != NULL && i < graph->options->assignment_count; i++)
        placed_done(&graph->placed[i]);
    lookup_done(&graph->stream_numbers);
    lookup_done(&graph->process_numbers);
    lookup_done(&graph->process_chains);
    lookup_done(&graph->paths);
    pool_done(&graph->streams);
    pool_done(&graph->chains);
    pool_done(&graph->requests);
    stretches_close(&graph->stretches);
    free(graph->placed);
    free(graph->origins);
    free(graph->machines);
    free(graph->starts);
    free(graph->longest);
    free(graph->arrive);
}

/* ---- who ---- */

static int note_machine(struct graph *graph, uint32_t origin, const struct machine_record *record)
{
    uint32_t machine = 0;

    if (array_reserve(&graph->origins, &graph->origin_room, (size_t)origin + 1,
                      sizeof(*graph->origins)) < 0 ||
        array_reserve(&graph->machines, &graph->machine_room, (size_t)graph->machine_count + 1,
                      sizeof(*graph->machines)) < 0)
        return -ENOMEM;
    while (machine < graph->machine_count &&
           (memcmp(graph->machines[machine].machine_id, record->machine_id, 16) != 0 ||
            memcmp(graph->machines[machine].boot_id, record->boot_id, 16) != 0))
        machine++;
    if (machine == graph->machine_count) {
        struct graph_machine *added = &graph->machines[graph->machine_count++];
        memcpy(added->machine_id, record->machine_id, 16);
        memcpy(added->boot_id, record->boot_id, 16);
        added->cpus = record->cpus;
    }
    graph->origins[origin].machine = machine;
    graph->result->machines = graph->machine_count;
    return 0;
}

static struct graph_stream *find_stream(struct graph *graph, uint32_t origin, uint32_t number)
{
    if (graph->last_stream != NULL && graph->last_stream->number == number &&
        graph->last_stream->origin == origin)
        return graph->last_stream;
    uint32_t found = lookup_find(&graph->stream_numbers, key_of(origin, number));
    return found == LOOKUP_NONE ? NULL : (graph->last_stream = pool_at(&graph->streams, found));
}

/* NULL: out of memory. */
static struct graph_stream *find_or_add_stream(struct graph *graph, uint32_t origin,
                                               uint32_t number)
{
    struct graph_stream *stream = find_stream(graph, origin, number);

    if (stream != NULL)
        return stream;
    int64_t index = pool_take(&graph->streams);
    if (index < 0 ||
        lookup_set(&graph->stream_numbers, key_of(origin, number), (uint32_t)index) < 0)
        return NULL;
    stream = pool_at(&graph->streams, (uint32_t)index);
    stream->origin = origin;
    stream->number = number;
    stream->process = NO_PROCESS_NUMBER - 1; /* not known yet */
    return graph->last_stream = stream;
}

static int place(struct graph *graph, uint32_t process)
{
    for (size_t i = 0; i < graph->options->assignment_count; i++)
        if (placed_add(&graph->placed[i], process, &graph->result->processes[process]) < 0)
            return -ENOMEM;
    return 0;
}

/* Number of a process, by that of its first stream; `record` may be NULL: its identity was lost. */
static int64_t find_or_add_process(struct graph *graph, uint32_t origin, uint32_t first,
                                   const struct stream_record *record)
{
    struct parallelism *result = graph->result;
    uint32_t found = lookup_find(&graph->process_numbers, key_of(origin, first));
    uint32_t number = found == LOOKUP_NONE ? (uint32_t)result->process_count : found;

    if (found == LOOKUP_NONE &&
        (array_reserve(&result->processes, &graph->process_room, (size_t)number + 1,
                       sizeof(*result->processes)) < 0 ||
         lookup_set(&graph->process_numbers, key_of(origin, first), number) < 0))
        return -ENOMEM;
    struct parallelism_process *process = &result->processes[number];
    if (found == LOOKUP_NONE) {
        result->process_count++;
        *process = (struct parallelism_process){
            .machine = origin < graph->origin_room ? graph->origins[origin].machine : 0};
    }
    if (record != NULL && (found == LOOKUP_NONE || record->header.stream == record->process)) {
        memcpy(process->name, record->name, STREAM_NAME_SIZE);
        process->pid = record->pid;
    }
    int placed = place(graph, number);
    return placed < 0 ? placed : (int64_t)number;
}

static int note_identity(struct graph *graph, uint32_t origin, const struct stream_record *record)
{
    const struct parallelism_options *options = graph->options;
    struct graph_stream *stream = find_or_add_stream(graph, origin, record->header.stream);

    if (stream == NULL)
        return -ENOMEM;
    stream->start = record->start;
    if (stream->process == NO_PROCESS_NUMBER ||
        (options->leaves_out != NULL && options->leaves_out(options->context, record))) {
        stream->process = NO_PROCESS_NUMBER;
        return 0;
    }
    int64_t process = find_or_add_process(graph, origin, record->process, record);
    if (process < 0)
        return -ENOMEM;
    stream->process = (uint32_t)process;
    return 0;
}

/* ---- chains ---- */

uint32_t graph_machine_of(const struct graph *graph, const struct placed *placed, uint32_t process)
{
    return placed_machine(placed, process, graph->result->processes[process].machine);
}

static struct chain *chain_of(const struct graph *graph, const struct graph_stream *stream)
{
    return pool_at(&graph->chains, stream->chain - 1);
}

/* Adds a stretch to a chain, with the processor time that is pending. Its index + 1; 0: none are kept. */
static int64_t add_stretch(struct graph *graph, struct chain *chain, enum stretch_wait wait,
                           uint32_t source, uint64_t weight)
{
    struct stretches *stretches = &graph->stretches;
    uint64_t cpu = chain->pending < STRETCH_CPU_MOST ? chain->pending : STRETCH_CPU_MOST;
    unsigned shift = 0;

    if (!graph->keeps)
        return 0;
    int64_t index = stretches_add(stretches);
    if (index < 0)
        return index;
    while (weight >> shift > UINT32_MAX)
        shift++;
    stretches->at[index] = (struct stretch){
        .cpu = cpu,
        .wait = wait & 7,
        .shift = shift & 31,
        .chain = chain->number,
        .source = source,
        .weight = (uint32_t)(weight >> shift),
    };
    chain->pending -= cpu;
    if (chain->last != 0)
        stretches->at[chain->last - 1].next = (uint32_t)index + 1 - chain->last;
    else
        graph->starts[chain->number].first = (uint32_t)index;
    chain->last = (uint32_t)index + 1;
    if (source != NO_STRETCH && stretches->at[source].users < STRETCH_USERS_MOST)
        stretches->at[source].users++;
    return index + 1;
}

/* The stretch at whose end the chain is now, index + 1; 0: none are kept. */
static int64_t end_here(struct graph *graph, struct chain *chain)
{
    if ((chain->pending == 0 && chain->last != 0) || !graph->keeps)
        return chain->last;
    return add_stretch(graph, chain, STRETCH_RUNS, NO_STRETCH, 0);
}

static int begin_chain(struct graph *graph, struct graph_stream *stream)
{
    uint64_t key = stream->process;
    uint32_t found =
        graph->options->threads ? LOOKUP_NONE : lookup_find(&graph->process_chains, key);

    if (found == LOOKUP_NONE) {
        int64_t index = pool_take(&graph->chains);
        if (index < 0 || array_reserve(&graph->starts, &graph->start_room,
                                       (size_t)graph->chain_count + 1, sizeof(*graph->starts)) < 0)
            return -ENOMEM;
        if (!graph->options->threads &&
            lookup_set(&graph->process_chains, key, (uint32_t)index) < 0)
            return -ENOMEM;
        struct chain *chain = pool_at(&graph->chains, (uint32_t)index);
        chain->number = graph->chain_count++;
        chain->process = stream->process;
        graph->starts[chain->number] =
            (struct chain_start){.first = NO_STRETCH, .process = stream->process};
        found = (uint32_t)index;
    }
    stream->chain = found + 1;
    chain_of(graph, stream)->streams++;
    graph->result->streams++;
    graph->result->processes[stream->process].streams++;
    return 0;
}

static void end_chain(struct graph *graph, struct chain *chain)
{
    for (uint32_t i = 0; i < graph->lengths; i++)
        if (chain->length[i] > graph->longest[i])
            graph->longest[i] = chain->length[i];
    if (chain->cpu > graph->result->largest)
        graph->result->largest = chain->cpu;
}

static void reach(struct graph *graph, struct reached *reached, const struct chain *chain,
                  uint32_t stretch)
{
    reached->stretch = stretch;
    reached->process = chain->process;
    memcpy(reached->length, chain->length, graph->lengths * sizeof(uint64_t));
}

static void forget_stream(struct graph *graph, uint32_t index)
{
    struct graph_stream *stream = pool_at(&graph->streams, index);

    if (graph->last_stream == stream)
        graph->last_stream = NULL;
    lookup_remove(&graph->stream_numbers, key_of(stream->origin, stream->number));
    pool_give(&graph->streams, index);
}

/* It has ended; who waits for the end of its file may still ask for it. */
static int end_stream(struct graph *graph, struct graph_stream *stream)
{
    struct chain *chain = chain_of(graph, stream);
    uint32_t index = lookup_find(&graph->stream_numbers, key_of(stream->origin, stream->number));
    int64_t last = end_here(graph, chain);

    if (last < 0)
        return (int)last;
    reach(graph, &stream->at, chain, (uint32_t)last);
    stream->ended = true;
    end_chain(graph, chain);
    if (--chain->streams == 0) {
        if (!graph->options->threads)
            lookup_remove(&graph->process_chains, chain->process);
        pool_give(&graph->chains, stream->chain - 1);
    }
    stream->chain = 0;
    if (graph->ended_count == ENDED_STREAMS) {
        forget_stream(graph, graph->ended[graph->ended_first]);
        graph->ended_first = (graph->ended_first + 1) % ENDED_STREAMS;
        graph->ended_count--;
    }
    graph->ended[(graph->ended_first + graph->ended_count++) % ENDED_STREAMS] = index;
    return 0;
}

/* ---- arcs ---- */

/* What leads to an event, as it is found out. */
struct arrival {
    const struct history_event *event;
    struct graph_stream *stream;
    struct chain *chain;
    uint64_t cpu;
    bool slept;
    bool explained; /* by something metered */
};

/* An arc: whatever it makes longer. `bytes`: MESSAGE; `time`: SINCE. */
static int add_arc(struct graph *graph, struct arrival *arrival, const struct reached *from,
                   enum stretch_wait wait, uint64_t weight)
{
    const struct parallelism_options *options = graph->options;
    uint64_t most[2] = {from->length[0], 0};

    most[1] = wait == STRETCH_SINCE ? weight : 0;
    if (most[0] + most[1] > graph->arrive[0])
        graph->arrive[0] = most[0] + most[1];
    for (uint32_t i = 1; i < graph->lengths; i++) {
        const struct placed *placed = &graph->placed[i - 1];
        uint64_t delay = most[1];
        if (wait == STRETCH_MESSAGE || wait == STRETCH_SIGNAL)
            delay = placed_delay(placed, &options->delays,
                                 graph_machine_of(graph, placed, from->process),
                                 graph_machine_of(graph, placed, arrival->chain->process),
                                 wait == STRETCH_MESSAGE ? weight : 0);
        if (from->length[i] + delay > graph->arrive[i])
            graph->arrive[i] = from->length[i] + delay;
    }
    if (from->stretch == 0)
        return 0;
    int64_t added = add_stretch(graph, arrival->chain, wait, from->stretch - 1, weight);
    return added < 0 ? (int)added : 0;
}

static int add_message_arc(struct graph *graph, struct arrival *arrival,
                           const struct history_edge *edge)
{
    const struct reached *from = edge->value;

    graph->result->messages++;
    graph->result->ordered += edge->kind == EDGE_ORDERED;
    graph->result->inferred += edge->kind == EDGE_INFERRED;
    arrival->explained = true;
    return add_arc(graph, arrival, from, STRETCH_MESSAGE, edge->bytes);
}

/* The end of a file, from the latest event of who sent it. */
static int add_end_arc(struct graph *graph, struct arrival *arrival,
                       const struct history_edge *edge)
{
    struct graph_stream *sender = find_stream(graph, edge->origin, edge->stream);

    graph->last_stream = arrival->stream;
    if (sender == NULL || (sender->chain == 0 && !sender->ended) || sender == arrival->stream)
        return 0;
    if (!sender->ended) {
        int64_t last = end_here(graph, chain_of(graph, sender));
        if (last < 0)
            return (int)last;
        reach(graph, &sender->at, chain_of(graph, sender), (uint32_t)last);
    }
    graph->result->other_arcs++;
    arrival->explained = true;
    return add_arc(graph, arrival, &sender->at, STRETCH_ORDER, 0);
}

/* The first event of a chain that another one has created: it begins there. */
static void begin_after(struct graph *graph, const struct arrival *arrival,
                        const struct reached *from)
{
    uint32_t number = arrival->chain->number;

    if (from->stretch == 0 || graph->starts[number].first != NO_STRETCH ||
        graph->stretches.at[from->stretch - 1].chain == number)
        return;
    graph->stretches.at[from->stretch - 1].weight = number + 1;
    graph->starts[number].created = true;
}

static int add_other_arc(struct graph *graph, struct arrival *arrival,
                         const struct history_edge *edge)
{
    const struct reached *from = edge->value;
    bool signal = edge->kind == EDGE_ROOM || edge->kind == EDGE_CONNECTION;

    if (graph->options->messages_only)
        return 0;
    graph->result->other_arcs++;
    arrival->explained = true;
    if (edge->kind != EDGE_CREATION)
        return add_arc(graph, arrival, from, signal ? STRETCH_SIGNAL : STRETCH_ORDER, 0);
    for (uint32_t i = 0; i < graph->lengths; i++)
        if (from->length[i] > arrival->chain->length[i])
            arrival->chain->length[i] = from->length[i];
    if (graph->keeps)
        begin_after(graph, arrival, from);
    return 0;
}

#define SOON 1000000 /* ns; a message may be a little older than the wait that it ends */

/* Whether a wait for any of several paths can have been ended by this. */
static bool may_have_woken(const struct arrival *arrival, const struct history_edge *edge)
{
    return arrival->stream->sleeps != WAITS_FOR_ANY || edge->origin != arrival->stream->origin ||
           edge->time + SOON >= arrival->stream->since;
}

static int add_edges(struct graph *graph, struct arrival *arrival)
{
    const struct history_event *event = arrival->event;
    bool explained = false;

    for (uint32_t i = 0; i < event->edge_count; i++) {
        const struct history_edge *edge = &event->edges[i];
        const struct reached *from = edge->value;
        int result = 0;
        arrival->explained = false;
        if (edge->kind == EDGE_END)
            result = graph->options->messages_only ? 0 : add_end_arc(graph, arrival, edge);
        else if (from == NULL || from->process == NO_PROCESS_NUMBER)
            continue;
        else if (edge->kind <= EDGE_INFERRED)
            result = add_message_arc(graph, arrival, edge);
        else
            result = add_other_arc(graph, arrival, edge);
        if (result < 0)
            return result;
        explained = explained || (arrival->explained && may_have_woken(arrival, edge));
    }
    arrival->explained = explained;
    return 0;
}

/* ---- outside ---- */

static struct request *find_request(const struct graph *graph, uint32_t origin, uint32_t path)
{
    uint32_t found = lookup_find(&graph->paths, key_of(origin, path));

    return found == LOOKUP_NONE ? NULL : pool_at(&graph->requests, found);
}

static int note_request(struct graph *graph, const struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    uint32_t origin = arrival->stream->origin, path = record->message.path;
    struct request *request = find_request(graph, origin, path);
    int64_t stretch = end_here(graph, arrival->chain);

    if (stretch < 0)
        return (int)stretch;
    if (request == NULL) {
        int64_t index = pool_take(&graph->requests);
        if (index < 0 || lookup_set(&graph->paths, key_of(origin, path), (uint32_t)index) < 0)
            return -ENOMEM;
        request = pool_at(&graph->requests, (uint32_t)index);
    }
    request->time = record->header.time;
    reach(graph, &request->at, arrival->chain, (uint32_t)stretch);
    return 0;
}

static void forget_path(struct graph *graph, uint32_t origin, uint32_t path)
{
    uint32_t found = lookup_find(&graph->paths, key_of(origin, path));

    if (found == LOOKUP_NONE)
        return;
    pool_give(&graph->requests, found);
    lookup_remove(&graph->paths, key_of(origin, path));
}

/* A RECEIVE from outside: since the same process has sent something there, this time has passed (thesis,
 * figure 5.3). */
static int add_outside(struct graph *graph, struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    const struct request *request =
        find_request(graph, arrival->stream->origin, record->message.path);

    if (request == NULL || request->at.process != arrival->chain->process ||
        record->header.time < request->time)
        return 0;
    uint64_t time = record->header.time - request->time;
    graph->result->outside.count++;
    graph->result->outside.time += time;
    arrival->explained = true;
    return add_arc(graph, arrival, &request->at, STRETCH_SINCE, time);
}

/* Nothing explains why it slept: an arc of that time, from where it fell asleep. */
static int add_sleep(struct graph *graph, struct arrival *arrival, uint64_t time)
{
    struct graph_stream *stream = arrival->stream;
    int64_t added = 0;

    graph->result->asleep.count++;
    graph->result->asleep.time += time;
    for (uint32_t i = 0; i < graph->lengths; i++)
        if (stream->at.length[i] + time > graph->arrive[i])
            graph->arrive[i] = stream->at.length[i] + time;
    if (graph->options->threads)
        added = add_stretch(graph, arrival->chain, STRETCH_SLEEP, NO_STRETCH, time);
    else if (stream->at.stretch != 0)
        added = add_stretch(graph, arrival->chain, STRETCH_SINCE, stream->at.stretch - 1, time);
    return added < 0 ? (int)added : 0;
}

/* ---- events ---- */

enum { CALL_FUTEX = 202, CALL_FUTEX_WAITV = 449 };

static bool is_lock(const struct record *record)
{
    return record->block.system_call == CALL_FUTEX || record->block.system_call == CALL_FUTEX_WAITV;
}

/* Its stream falls asleep here, or is where it was: what an arc of elapsed time begins at. */
static int fall_asleep(struct graph *graph, const struct arrival *arrival, enum sleeping how)
{
    struct graph_stream *stream = arrival->stream;
    int64_t last = graph->options->threads ? 0 : end_here(graph, arrival->chain);

    if (last < 0)
        return (int)last;
    stream->sleeps = (uint8_t)how;
    stream->since = arrival->event->event.header->time;
    reach(graph, &stream->at, arrival->chain, (uint32_t)last);
    return 0;
}

/* Own processor time, what has arrived, and which of them comes first. */
static void lengthen(struct graph *graph, const struct arrival *arrival)
{
    struct chain *chain = arrival->chain;

    for (uint32_t i = 0; i < graph->lengths; i++) {
        uint64_t cpu = arrival->cpu, arrive = graph->arrive[i];
        if (i > 0 && !graph->placed[i - 1].same_speed)
            cpu =
                (uint64_t)((double)cpu / placed_speed(&graph->placed[i - 1],
                                                      graph_machine_of(graph, &graph->placed[i - 1],
                                                                       chain->process)));
        if (!arrival->slept)
            chain->length[i] += cpu;
        if (arrive > chain->length[i])
            chain->length[i] = arrive;
        if (arrival->slept)
            chain->length[i] += cpu;
    }
}

/* How long it has slept, as far as its own records tell. */
static uint64_t slept_for(const struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    uint64_t end = record->header.time;

    if (record->header.id == EVENT_BLOCK)
        end -= record->block.duration < end ? record->block.duration : end;
    uint64_t begin = arrival->stream->since + arrival->cpu;
    return end > begin ? end - begin : 0;
}

static int arrive(struct graph *graph, struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    bool outside = record->header.id == EVENT_RECEIVE && record->message.bytes > 0;
    int result;

    memset(graph->arrive, 0, graph->lengths * sizeof(*graph->arrive));
    if (!arrival->slept)
        arrival->chain->pending += arrival->cpu;
    result = add_edges(graph, arrival);
    if (result == 0 && outside && !arrival->explained && !graph->options->messages_only)
        result = add_outside(graph, arrival);
    if (result == 0 && arrival->slept && !arrival->explained && !graph->options->messages_only)
        result = add_sleep(graph, arrival, slept_for(arrival));
    if (arrival->slept)
        arrival->chain->pending += arrival->cpu;
    lengthen(graph, arrival);
    return result;
}

/* Asleep for something that is told when it is over. */
static int block(struct graph *graph, struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    int result = arrive(graph, arrival);

    if (result < 0 || arrival->explained)
        return result;
    if (is_lock(record)) {
        graph->result->locks.count++;
        graph->result->locks.time += record->block.duration;
        return 0;
    }
    if (graph->options->messages_only)
        return 0;
    memset(graph->arrive, 0, graph->lengths * sizeof(*graph->arrive));
    if ((result = fall_asleep(graph, arrival, AWAKE)) < 0 ||
        (result = add_sleep(graph, arrival, record->block.duration)) < 0)
        return result;
    arrival->cpu = 0;
    lengthen(graph, arrival);
    return 0;
}

#define NEXT_TO_NOTHING 20000 /* ns */

/* Whether it waits at once for an answer to what it has sent. */
static void note_turn(struct graph *graph, const struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    struct parallelism_process *process = &graph->result->processes[arrival->stream->process];
    struct graph_stream *stream = arrival->stream;
    bool waits = record->header.id == EVENT_RECEIVECALL;

    if (record->header.id == EVENT_SEND) {
        if (stream->has_sent)
            return;
        stream->sent_turn = stream->proc_time - stream->sent;
        stream->sent = stream->proc_time;
        stream->has_sent = true;
        return;
    }
    if (!stream->has_sent || !(waits || record->header.id == EVENT_RECEIVE))
        return;
    uint64_t between = stream->proc_time - stream->sent;
    stream->has_sent = false;
    process->turns++;
    process->synchronous +=
        waits && (between < NEXT_TO_NOTHING || between * 20 < stream->sent_turn);
}

static int handle(struct graph *graph, struct arrival *arrival)
{
    const struct history_event *event = arrival->event;
    const struct record *record = (const struct record *)event->event.header;
    unsigned id = record->header.id;
    int result;

    if (id == EVENT_BLOCK)
        result = block(graph, arrival);
    else
        result = arrive(graph, arrival);
    if (result < 0)
        return result;
    arrival->stream->sleeps = AWAKE;
    note_turn(graph, arrival);
    if (id == EVENT_RECEIVECALL)
        return fall_asleep(graph, arrival, record->message.path != 0 ? RECEIVES : WAITS_FOR_ANY);
    if (id == EVENT_SENDCALL && !(record->header.flags & RECORD_PREEMPTED))
        result = fall_asleep(graph, arrival, SENDS);
    if (result == 0 && id == EVENT_SEND && record->message.path != 0 &&
        (!event->joined || graph->options->leaves_out != NULL))
        result = note_request(graph, arrival);
    return result;
}

/* What is kept with the event, for edges that begin at it. */
static int fill_value(struct graph *graph, const struct arrival *arrival)
{
    const struct history_event *event = arrival->event;
    bool creates = event->event.header->id == EVENT_CREATEPROCESS;
    int64_t stretch = creates ? add_stretch(graph, arrival->chain, STRETCH_CREATES, NO_STRETCH, 0)
                              : end_here(graph, arrival->chain);

    if (stretch < 0)
        return (int)stretch;
    reach(graph, event->value, arrival->chain, (uint32_t)stretch);
    return 0;
}

/* Processor time since the stream's last event; before its first one, if that is known to be its first. */
static uint64_t processor_time(struct graph_stream *stream, const struct history_event *event,
                               bool from_birth)
{
    uint64_t before = stream->runs ? stream->proc_time : from_birth ? 0 : event->proc_time;
    uint64_t cpu = event->proc_time > before ? event->proc_time - before : 0;

    stream->proc_time = before + cpu;
    stream->runs = true;
    return cpu;
}

/* A stream that somebody who is not metered has created begins when it did. */
static int begin_late(struct graph *graph, struct arrival *arrival)
{
    uint64_t first = graph->origins[arrival->stream->origin].first;

    if (graph->options->messages_only || arrival->stream->start <= first)
        return 0;
    uint64_t time = arrival->stream->start - first;
    memset(graph->arrive, 0, graph->lengths * sizeof(*graph->arrive));
    reach(graph, &arrival->stream->at, arrival->chain, arrival->chain->last);
    int result = add_sleep(graph, arrival, time);
    for (uint32_t i = 0; i < graph->lengths; i++)
        if (graph->arrive[i] > arrival->chain->length[i])
            arrival->chain->length[i] = graph->arrive[i];
    return result;
}

static bool is_created(const struct history_event *event)
{
    for (uint32_t i = 0; i < event->edge_count; i++)
        if (event->edges[i].kind == EDGE_CREATION)
            return true;
    return false;
}

static void note_time(struct graph *graph, const struct event *event)
{
    struct graph_origin *origin = &graph->origins[event->origin];

    if (origin->first == 0)
        origin->first = event->header->time;
    origin->last = event->header->time;
    if (origin->last - origin->first > graph->result->duration && origin->last > origin->first)
        graph->result->duration = origin->last - origin->first;
}

/* Inside a call that is told as a whole: it stops, or sleeps for a lock of the kernel's. */
static bool is_within(const struct graph_stream *stream, const struct record *record)
{
    unsigned id = record->header.id;

    return stream->sleeps != AWAKE &&
           (id == EVENT_STOPPROCESS || id == EVENT_STARTPROCESS ||
            (id == EVENT_BLOCK && record->block.state != 1)); /* 1: interruptible */
}

static int add_event(struct graph *graph, struct graph_stream *stream,
                     const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    bool created = !stream->runs && is_created(event);
    struct arrival arrival = {.event = event, .stream = stream};
    int result = 0;

    note_time(graph, &event->event);
    bool late = stream->start > graph->origins[stream->origin].first;
    if (stream->chain == 0) {
        if (begin_chain(graph, stream) < 0)
            return -ENOMEM;
        arrival.chain = chain_of(graph, stream);
        if (!created)
            result = begin_late(graph, &arrival);
        if (result < 0)
            return result;
    }
    arrival.chain = chain_of(graph, stream);
    if (is_within(stream, record) && event->value == NULL)
        return 0;
    arrival.cpu = processor_time(stream, event, created || late);
    arrival.slept = stream->sleeps != AWAKE;
    graph->result->total += arrival.cpu;
    arrival.chain->cpu += arrival.cpu;
    graph->result->processes[stream->process].cpu += arrival.cpu;
    result = handle(graph, &arrival);
    if (result == 0 && event->value != NULL)
        result = fill_value(graph, &arrival);
    if (result == 0 && record->header.id == EVENT_TERMINATION)
        result = end_stream(graph, stream);
    return result;
}

static void leave_out(const struct history_event *event)
{
    if (event->value != NULL)
        ((struct reached *)event->value)->process = NO_PROCESS_NUMBER;
}

int graph_add(struct graph *graph, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    uint32_t origin = event->event.origin;
    unsigned id = record->header.id;

    if (id == EVENT_MACHINE)
        return note_machine(graph, origin, (const struct machine_record *)event->event.header);
    if (id == EVENT_STREAM)
        return record->header.stream == 0
                   ? 0
                   : note_identity(graph, origin,
                                   (const struct stream_record *)event->event.header);
    if (id == EVENT_DESTROYPATH)
        forget_path(graph, origin, record->message.path);
    if (id > EVENT_TERMINATION || (record->header.flags & RECORD_NO_STREAM) ||
        record->header.stream == 0) {
        leave_out(event);
        return 0;
    }
    struct graph_stream *stream = find_or_add_stream(graph, origin, record->header.stream);
    if (stream == NULL || array_reserve(&graph->origins, &graph->origin_room, (size_t)origin + 1,
                                        sizeof(*graph->origins)) < 0)
        return -ENOMEM;
    if (stream->process == NO_PROCESS_NUMBER - 1) {
        int64_t process = find_or_add_process(graph, origin, record->header.stream, NULL);
        if (process < 0)
            return -ENOMEM;
        stream->process = (uint32_t)process;
    }
    if (stream->process == NO_PROCESS_NUMBER || stream->ended) {
        leave_out(event);
        return 0;
    }
    return add_event(graph, stream, event);
}

int graph_finish(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->streams.used; i++) {
        struct graph_stream *stream = pool_at(&graph->streams, i);
        if (stream->chain == 0)
            continue;
        int64_t last = end_here(graph, chain_of(graph, stream));
        if (last < 0)
            return (int)last;
        end_chain(graph, chain_of(graph, stream));
    }
    graph->result->stretches = graph->stretches.count;
    return 0;
}
