/* SPDX-License-Identifier: MIT */
/*
 * graph_events.c: what each event makes longer.
 *
 *      awake    max(own + cpu, edges)           slept    max(own, edges) + cpu
 *
 * An awake stream reaches the event by its own CPU time or by an edge, whichever is later. A sleeping stream was woken
 * by the edge, and used its CPU time after that.
 *
 * Example: the stream has come to 5 ms, it uses 3 ms of CPU time, and an edge arrives at 6 ms. If it was awake, the
 * event is at max(5 + 3, 6) = 8 ms; if it slept, at max(5, 6) + 3 = 9 ms.
 */
#include "analysis/parallelism/graph_private.h"

#include "event/system_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- events ---- */

/* Whether threads of one process wait for each other, without a record of which one ended the wait. With WAKEUP, no
 * metered thread ends such a wait. A process with one thread so far waits for another process with the same shared
 * memory, of which nothing is recorded. */
static bool is_lock(const struct graph *graph, const struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    uint32_t call = record->block.system_call;

    return call_is_futex(call) && !graph->origins[arrival->stream->origin].tells_wakeups &&
           graph->result->processes[arrival->stream->process].streams > 1;
}

/* When the event began. A meter that only sees calls reports a wait when it is over. */
static uint64_t begins(const struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;

    uint64_t span = record->header.id == EVENT_RECEIVECALL ? message_span(record) : 0;

    return record->header.time > span ? record->header.time - span : 0;
}

/* The stream falls asleep here; this is where an arc of elapsed time would begin. */
static int fall_asleep(struct graph *graph, const struct arrival *arrival, enum sleeping how)
{
    struct graph_stream *stream = arrival->stream;
    int64_t last = graph->options->threads ? 0 : graph_end_here(graph, arrival->chain);

    if (last < 0)
        return (int)last;
    stream->sleeps = (uint8_t)how;
    stream->since = begins(arrival);
    stream->no_cpu = 0;
    stream->met = false;
    graph_reach(graph, &stream->at, arrival->chain, (uint32_t)last);
    return 0;
}

/* Combines own CPU time and what has arrived, in the right order. */
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

/* Since it fell asleep it was also awake for so long, but had no CPU. (That a BLOCK ends late is not a part of the sleep before it.) */
static uint64_t without_cpu(const struct arrival *arrival)
{
    const struct no_cpu *no_cpu = &arrival->event->no_cpu;

    return arrival->stream->no_cpu + no_cpu->time - no_cpu->of_block;
}

/* How long a BLOCK has slept. */
static uint64_t block_slept(const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    return record->block.duration - event->no_cpu.of_block; /* which is not more */
}

/* How long it has slept, as far as its own records show. */
static uint64_t slept_for(const struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    uint64_t end = begins(arrival);

    if (arrival->stream->met)
        return arrival->stream->slept;
    if (record->header.id == EVENT_BLOCK)
        end -= record->block.duration < end ? record->block.duration : end;
    uint64_t begin = arrival->stream->since + arrival->cpu + without_cpu(arrival);
    return stretch_whole_time(end > begin ? end - begin : 0);
}

/* Nothing metered explains the sleep: adds its time, then the CPU time. The event's edges then count as for an awake
 * stream. */
static int wake_up(struct graph *graph, struct arrival *arrival)
{
    int result =
        graph->options->messages_only ? 0 : graph_add_sleep(graph, arrival, slept_for(arrival));

    if (result < 0)
        return result;
    lengthen(graph, arrival);
    arrival->chain->pending += arrival->cpu;
    arrival->cpu = 0;
    arrival->slept = false;
    graph_look_at_edges(graph, arrival); /* these apply if it waits again */
    memset(graph->arrive, 0, graph->lengths * sizeof(*graph->arrive));
    return 0;
}

static int arrive(struct graph *graph, struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    bool outside = record->header.id == EVENT_RECEIVE && record->message.bytes > 0;
    int result = 0;

    memset(graph->arrive, 0, graph->lengths * sizeof(*graph->arrive));
    if (!arrival->slept)
        arrival->chain->pending += arrival->cpu;
    graph_add_creation(graph, arrival);
    graph_look_at_edges(graph, arrival);
    if (outside && !arrival->answered && !graph->options->messages_only)
        result = graph_add_outside(graph, arrival);
    /* before other stretches of the chain, whose waits pass at the same time as this sleep */
    if (result == 0 && arrival->slept && !arrival->explained)
        result = wake_up(graph, arrival);
    if (result == 0)
        result = graph_add_edges(graph, arrival);
    if (arrival->slept)
        arrival->chain->pending += arrival->cpu;
    lengthen(graph, arrival);
    return result;
}

/*
 * How long a chain has stood still for a sleep that is reported at its end: not while its other threads did something.
 */
static uint64_t time_stood_still(const struct arrival *arrival, uint64_t duration)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    uint64_t since =
        record->header.time > arrival->chain->time ? record->header.time - arrival->chain->time : 0;

    return stretch_whole_time(duration < since ? duration : since);
}

/* The chain has stood still until now; the event comes after that. */
static int sleep_until_now(struct graph *graph, struct arrival *arrival, uint64_t duration)
{
    uint64_t time = time_stood_still(arrival, duration);
    int result;

    memset(graph->arrive, 0, graph->lengths * sizeof(*graph->arrive));
    if ((result = fall_asleep(graph, arrival, AWAKE)) < 0 ||
        (result = graph_add_sleep(graph, arrival, time)) < 0)
        return result;
    arrival->cpu = 0;
    lengthen(graph, arrival);
    return 0;
}

/* A sleep that is reported at its end. */
static int block(struct graph *graph, struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;
    int result = arrive(graph, arrival);

    if (result < 0 || arrival->ends_block)
        return result;
    if (is_lock(graph, arrival)) {
        graph_count_wait(&graph->result->locks, &graph->locks, arrival,
                         record->header.time - arrival->event->no_cpu.of_block,
                         block_slept(arrival->event));
        return 0;
    }
    return graph->options->messages_only
               ? 0
               : sleep_until_now(graph, arrival, block_slept(arrival->event));
}

/* Continued. If it had been stopped while awake, it is not known by what. */
static int go_on(struct graph *graph, struct arrival *arrival)
{
    uint64_t stopped = arrival->stream->stopped, now = arrival->event->event.header->time;
    int result = arrive(graph, arrival);

    return result < 0 || stopped == 0 || graph->options->messages_only
               ? result
               : sleep_until_now(graph, arrival, now > stopped ? now - stopped : 0);
}

/* A message has come from an unmonitored peer, or an answer goes there: the chain has done something for others. */
static void note_meeting(struct graph *graph, const struct arrival *arrival, bool turn)
{
    const struct history_event *event = arrival->event;
    const struct record *record = (const struct record *)event->event.header;
    bool came = record->header.id == EVENT_RECEIVE && record->message.bytes > 0;

    if (!graph->keeps || graph->again || event->joined || arrival->chain->last == 0)
        return;
    if (came || (record->header.id == EVENT_SEND && turn))
        graph->stretches.at[arrival->chain->last - 1].meets = 1;
}

static int handle(struct graph *graph, struct arrival *arrival)
{
    const struct history_event *event = arrival->event;
    const struct record *record = (const struct record *)event->event.header;
    unsigned id = record->header.id;
    int result;

    if (id == EVENT_BLOCK)
        result = block(graph, arrival);
    else if (id == EVENT_STARTPROCESS)
        result = go_on(graph, arrival);
    else
        result = arrive(graph, arrival);
    if (result < 0)
        return result;
    arrival->stream->sleeps = AWAKE;
    arrival->stream->stopped = id == EVENT_STOPPROCESS ? record->header.time : 0;
    bool turn = !arrival->stream->has_sent || arrival->stream->waited;
    if ((result = graph_note_turn(graph, arrival)) < 0)
        return result;
    if (id == EVENT_RECEIVE)
        note_meeting(graph, arrival, false);
    if (id == EVENT_RECEIVECALL)
        return fall_asleep(graph, arrival, record->message.path != 0 ? RECEIVES : WAITS_FOR_ANY);
    if (id == EVENT_SENDCALL && !(record->header.flags & RECORD_PREEMPTED))
        result = fall_asleep(graph, arrival, SENDS);
    if (result < 0 || id != EVENT_SEND || record->message.path == 0)
        return result;
    if (!event->joined || graph->options->leaves_out != NULL) {
        result = graph_note_request(graph, arrival);
        note_meeting(graph, arrival, turn);
        return result;
    }
    /* the next answer does not answer a request from before the other end was known */
    graph_forget_path(graph, arrival->stream->origin, record->message.path);
    return 0;
}

/* Fills in what is kept with the event, for edges that begin at it. */
static int fill_value(struct graph *graph, const struct arrival *arrival)
{
    const struct history_event *event = arrival->event;
    bool creates = event->event.header->id == EVENT_CREATEPROCESS;
    int64_t stretch = creates
                          ? graph_add_stretch(graph, arrival->chain, STRETCH_CREATES, NO_STRETCH, 0)
                          : graph_end_here(graph, arrival->chain);

    if (stretch < 0)
        return (int)stretch;
    graph_reach(graph, graph_value(graph, event->value), arrival->chain, (uint32_t)stretch);
    return 0;
}

/* The stream comes to a path, so it is awake now, although what woke it is not reported yet and may never be. */
static void note_met(const struct arrival *arrival)
{
    struct graph_stream *stream = arrival->stream;
    struct arrival here = *arrival;
    unsigned id = arrival->event->event.header->id;

    if (stream->met || (id != EVENT_CREATEPATH && id != EVENT_CONNECT && id != EVENT_ACCEPT &&
                        id != EVENT_CONNECTFAILED))
        return;
    here.cpu = proc_time_used(stream->proc_time, arrival->event->proc_time);
    stream->slept = slept_for(&here);
    stream->met = true;
}

/* An event in the middle of a wait: only its edges lead to it, and the wait still counts from where it began. */
static int stay_asleep(struct graph *graph, struct arrival *arrival)
{
    const struct history_event *event = arrival->event;

    note_met(arrival);
    arrival->stream->no_cpu += event->no_cpu.time;
    if (event->edge_count == 0 && event->value == NULL)
        return 0;
    int64_t last = graph_end_here(graph, arrival->chain);
    if (last < 0)
        return (int)last;
    if (arrival->stream->at.stretch == 0)
        arrival->stream->at.stretch = (uint32_t)last;
    memset(graph->arrive, 0, graph->lengths * sizeof(*graph->arrive));
    int result = graph_add_edges(graph, arrival);
    if (result < 0)
        return result;
    lengthen(graph, arrival);
    return event->value == NULL ? 0 : fill_value(graph, arrival);
}

/* CPU time since the stream's last event. At its first event: since its creation if that was seen, else since its
 * identity first reported CPU time. */
static uint64_t processor_time(struct graph_stream *stream, const struct history_event *event,
                               bool from_birth)
{
    uint64_t since_told = stream->told ? proc_time_used(stream->told_time, event->proc_time) : 0;
    uint64_t before = stream->runs ? stream->proc_time
                      : from_birth ? 0
                                   : event->proc_time - since_told;
    uint64_t cpu = event->proc_time > before ? event->proc_time - before : 0;

    stream->proc_time = before + cpu;
    stream->runs = true;
    return cpu;
}

/* A stream that an unmonitored process created: its chain begins at its creation. */
static int begin_late(struct graph *graph, struct arrival *arrival)
{
    uint64_t first = graph->origins[arrival->stream->origin].first;

    /* its process has a chain already */
    if (graph->options->messages_only || arrival->stream->start <= first ||
        arrival->chain->began > 1)
        return 0;
    uint64_t time = stretch_whole_time(arrival->stream->start - first);
    memset(graph->arrive, 0, graph->lengths * sizeof(*graph->arrive));
    graph_reach(graph, &arrival->stream->at, arrival->chain, arrival->chain->last);
    int result = graph_add_sleep(graph, arrival, time);
    for (uint32_t i = 0; i < graph->lengths; i++)
        if (graph->arrive[i] > arrival->chain->length[i])
            arrival->chain->length[i] = graph->arrive[i];
    return result;
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

/* Whether the event is inside a call that counts as a whole: the stream stops, or sleeps for a lock in the kernel, unless
 * it has been woken from its call before; or it comes to a path, which is reported just before what ended the wait. */
static bool is_within(const struct arrival *arrival)
{
    const struct record *record = (const struct record *)arrival->event->event.header;

    if (arrival->stream->sleeps == AWAKE)
        return false;
    switch (record->header.id) {
    case EVENT_STOPPROCESS:
    case EVENT_STARTPROCESS:
        return true;
    case EVENT_BLOCK:
        return (record->block.state & 1) == 0 && !arrival->ended_before; /* not interruptible */
    case EVENT_CREATEPATH:
    case EVENT_CONNECT:
    case EVENT_CONNECTFAILED:
    case EVENT_ACCEPT:
    case EVENT_WAKEUP:
    case EVENT_SIGNAL:
        return !arrival->explained;
    default:
        return false;
    }
}

/* Notes the chain's program counter. */
static void note_counter(const struct graph *graph, const struct arrival *arrival)
{
    const struct record_header *header = arrival->event->event.header;
    const struct stream_record *stream = identities_stream(
        history_identities(graph->history), arrival->stream->origin, arrival->stream->number);

    if (record_pc(header) == 0)
        return;
    arrival->chain->pc = record_pc(header);
    arrival->chain->origin = arrival->stream->origin;
    arrival->chain->image = stream == NULL ? 0 : stream->image;
}

int graph_add_event(struct graph *graph, struct graph_stream *stream,
                    const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    bool created = !stream->runs && event_is_created(event);
    struct arrival arrival = {.event = event, .stream = stream};
    int result = 0;

    note_time(graph, &event->event);
    bool ends = command_see(&graph->command, history_identities(graph->history), &event->event);
    graph->edge = UINT32_MAX;
    bool late = stream->start > graph->origins[stream->origin].first;
    if (stream->chain == 0) {
        if (graph_begin_chain(graph, stream) < 0)
            return -ENOMEM;
        arrival.chain = graph_chain_of(graph, stream);
        if (!created)
            result = begin_late(graph, &arrival);
        if (result < 0)
            return result;
    }
    arrival.chain = graph_chain_of(graph, stream);
    arrival.chain->no_cpu += event->no_cpu.time;
    if (graph->see != NULL)
        note_counter(graph, &arrival);
    graph_look_at_edges(graph, &arrival);
    if (is_within(&arrival))
        return stay_asleep(graph, &arrival);
    arrival.cpu = processor_time(stream, event, created || late);
    arrival.slept = stream->sleeps != AWAKE;
    graph->result->total += arrival.cpu;
    arrival.chain->cpu += arrival.cpu;
    graph->result->processes[stream->process].cpu += arrival.cpu;
    arrival.waited = record->header.id == EVENT_BLOCK ? stretch_whole_time(block_slept(event))
                     : arrival.slept                  ? slept_for(&arrival)
                                                      : 0;
    if (record->header.id == EVENT_BLOCK && arrival.slept)
        arrival.waited_before = slept_for(&arrival);
    result = handle(graph, &arrival);
    arrival.chain->time = record->header.time;
    if (result == 0 && event->value != NULL)
        result = fill_value(graph, &arrival);
    if (result == 0 && record->header.id == EVENT_TERMINATION)
        result = graph_end_stream(graph, stream, record->termination.last);
    if (result == 0 && ends)
        graph->command_end = stream->at.stretch;
    return result;
}

/* Adds CPU time after the latest event of the chain. */
static void compute(struct graph *graph, const struct graph_stream *stream, uint64_t cpu)
{
    struct arrival arrival = {.chain = graph_chain_of(graph, stream), .cpu = cpu};

    graph->result->total += cpu;
    graph->result->processes[stream->process].cpu += cpu;
    arrival.chain->cpu += cpu;
    arrival.chain->pending += cpu;
    memset(graph->arrive, 0, graph->lengths * sizeof(*graph->arrive));
    lengthen(graph, &arrival);
}

void graph_note_time(struct graph *graph, const struct event *event)
{
    const struct stream_record *record = (const struct stream_record *)event->header;
    struct graph_stream *stream = graph_find_stream(graph, event->origin, record->header.stream);

    if (stream == NULL || event->origin >= graph->origin_room || stream->ended ||
        stream->process == NO_PROCESS_NUMBER || !graph->origins[event->origin].tells_ends)
        return;
    note_time(graph, event);
    stream->told_last = record_proc_time(event->header);
    if (!stream->told && !stream->runs)
        stream->told_time = stream->told_last;
    stream->told = true;
}

int graph_add_rest(struct graph *graph, struct graph_stream *stream)
{
    if (!stream->told || stream->ended)
        return 0;
    bool from_birth = stream->start > graph->origins[stream->origin].first;
    uint64_t before = stream->runs ? stream->proc_time : from_birth ? 0 : stream->told_time;
    uint64_t cpu = proc_time_used(before, stream->told_last);
    if (cpu == 0)
        return 0;
    if (stream->chain == 0 && graph_begin_chain(graph, stream) < 0)
        return -ENOMEM;
    compute(graph, stream, cpu);
    return 0;
}
