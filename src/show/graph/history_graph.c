/* SPDX-License-Identifier: MIT */
/* history_graph.c: collects the events, arcs and waits in the picture of a program history. See show.h and
 * history_graph.h. */
#include "show/graph/history_graph.h"

#include <errno.h>
#include <stdlib.h>

/* ---- collecting ---- */

int history_graph_new(const struct graph_choice *choice, const struct identities *identities,
                      struct history_graph **ret_graph)
{
    struct history_graph *graph = calloc(1, sizeof(*graph));

    if (graph == NULL)
        return -ENOMEM;
    graph->choice = *choice;
    if (graph->choice.most == 0)
        graph->choice.most = GRAPH_EVENTS;
    graph->identities = identities;
    *ret_graph = graph;
    return 0;
}

void history_graph_free(struct history_graph *graph)
{
    if (graph == NULL)
        return;
    intern_done(&graph->column_keys);
    intern_done(&graph->line_keys);
    free(graph->columns);
    free(graph->lines);
    free(graph->events);
    free(graph->edges);
    free(graph->waits);
    free(graph);
}

/* Events of streams, and gaps in a stream's record. Records about rings, connections or the recording itself have no
 * line to be drawn on. */
static bool is_drawn(const struct record_header *header)
{
    bool is_gap = header->id == EVENT_LOST || header->id == EVENT_DISCARDED;

    return (event_is_metered(header->id) || is_gap) && header->stream != 0 &&
           !(header->flags & RECORD_NO_STREAM);
}

static int64_t find_column(struct history_graph *graph, uint32_t origin, uint32_t number)
{
    const struct stream_record *stream = identities_stream(graph->identities, origin, number);
    uint32_t process = stream == NULL || stream->process == 0 ? number : stream->process;
    int64_t index = intern_add(&graph->column_keys, number_key(origin, process));

    if (index < 0 || array_reserve(&graph->columns, &graph->column_capacity, (size_t)index + 1,
                                   sizeof(*graph->columns)) < 0)
        return -ENOMEM;
    graph->columns[index].origin = origin;
    graph->columns[index].process = process;
    graph->machines |= origin != graph->columns[0].origin;
    return index;
}

static int64_t find_line(struct history_graph *graph, uint32_t origin, uint32_t number)
{
    uint32_t known = graph->line_keys.count;
    int64_t index = intern_add(&graph->line_keys, number_key(origin, number));

    if (index < 0 || array_reserve(&graph->lines, &graph->line_capacity, (size_t)index + 1,
                                   sizeof(*graph->lines)) < 0)
        return -ENOMEM;
    if (index < known)
        return index;
    int64_t column = find_column(graph, origin, number);
    if (column < 0)
        return column;
    graph->lines[index] = (struct graph_line){
        .column = (size_t)column,
        .place = graph->columns[column].line_count++,
        .origin = origin,
        .stream = number,
        .last = GRAPH_NONE,
    };
    for (size_t i = 0; i < ARRAY_SIZE(graph->lines[index].call); i++)
        graph->lines[index].call[i] = GRAPH_NONE;
    return index;
}

/* A wait that the latest event ends. `named_by`: the event that says what it was for. */
static int add_wait(struct history_graph *graph, enum wait_kind kind, size_t named_by,
                    int64_t begin, int64_t end)
{
    struct graph_event *event = &graph->events[graph->event_count - 1];

    if (begin >= end)
        return 0;
    if (array_reserve(&graph->waits, &graph->wait_capacity, graph->wait_count + 1,
                      sizeof(*graph->waits)) < 0)
        return -ENOMEM;
    event->wait = graph->wait_count;
    graph->waits[graph->wait_count++] =
        (struct graph_wait){kind, event->line, named_by, false, begin, end};
    return 0;
}

/* The latest event ends the wait that its line's call began, if both are on the same path (WAIT_STOPPED has none). */
static int end_call(struct history_graph *graph, enum wait_kind kind, int64_t end)
{
    const struct graph_event *event = &graph->events[graph->event_count - 1];
    size_t *call = &graph->lines[event->line].call[kind], call_index = *call;
    const struct graph_event *begin = *call == GRAPH_NONE ? NULL : &graph->events[*call];

    if (begin == NULL ||
        (kind != WAIT_STOPPED && begin->record.message.path != event->record.message.path))
        return 0;
    *call = GRAPH_NONE;
    return add_wait(graph, kind, call_index, begin->time, end);
}

/* What a stream can record while it sleeps: that it was stopped, continued, or waited for a lock in the kernel. */
static bool is_within_wait(const struct record *record)
{
    switch (record->header.id) {
    case EVENT_STOPPROCESS:
    case EVENT_STARTPROCESS:
    case EVENT_LOST:
    case EVENT_DISCARDED:
        return true;
    case EVENT_BLOCK:
        return (record->block.state & 1) == 0;
    default:
        return false;
    }
}

/* What a stream can record in a call that receives or sends, before its wait there ends: it also meets paths, and wakes
 * other streams. */
static bool is_within_call(const struct graph_event *event)
{
    switch (event->record.header.id) {
    case EVENT_CREATEPATH:
    case EVENT_CONNECT:
    case EVENT_ACCEPT:
    case EVENT_WAKEUP:
    case EVENT_SIGNAL:
        return event->edge_count == 0;
    default:
        return is_within_wait(&event->record);
    }
}

/* Whether the wait that began with a call goes on at the event, or ends by it. */
static bool belongs_to_wait(enum wait_kind kind, const struct graph_event *begin,
                            const struct graph_event *event)
{
    const struct record *record = &event->record;
    bool same_path = record->message.path == begin->record.message.path;

    if (event->time < begin->time) /* of the same call, which waited later: what sendfile(2) read */
        return true;
    switch (record->header.id) {
    case EVENT_RECEIVE:
        return kind == WAIT_RECEIVE && same_path && !(record->header.flags & RECORD_CALL_IMPLIED);
    case EVENT_SEND:
    case EVENT_SENDCALL:
        return kind == WAIT_SEND && same_path;
    default:
        return kind == WAIT_ANY ? is_within_wait(record) : is_within_call(event);
    }
}

/* A wait that ends without a record of its own: for any of several paths, or in a call that gives up, fails, or is the
 * thread's last. It was over before the latest event of its line, and before the CPU time used for that, or its sleep. */
static int end_unseen(struct history_graph *graph, enum wait_kind kind)
{
    const struct graph_event *event = &graph->events[graph->event_count - 1];
    size_t *call = &graph->lines[event->line].call[kind], call_index = *call;
    const struct graph_event *begin = *call == GRAPH_NONE ? NULL : &graph->events[*call];

    if (begin == NULL || belongs_to_wait(kind, begin, event))
        return 0;
    *call = GRAPH_NONE;
    uint64_t cpu = event->proc_time - begin->proc_time;
    if (cpu > (uint64_t)INT64_MAX / 4)
        cpu = 0;
    int64_t end = event->time - (int64_t)cpu;
    if (event->record.header.id == EVENT_BLOCK)
        end -= (int64_t)event->record.block.duration;
    return add_wait(graph, kind, call_index, begin->time, end);
}

static int end_waits_unseen(struct history_graph *graph)
{
    int result = end_unseen(graph, WAIT_ANY);

    if (result == 0)
        result = end_unseen(graph, WAIT_RECEIVE);
    return result < 0 ? result : end_unseen(graph, WAIT_SEND);
}

/* `end`: time of the event's record, which can be later than event->time. */
static int find_waits(struct history_graph *graph, int64_t end)
{
    size_t index = graph->event_count - 1;
    const struct graph_event *event = &graph->events[index];
    struct graph_line *line = &graph->lines[event->line];
    const struct record *record = &event->record;

    switch (record->header.id) {
    case EVENT_RECEIVECALL:
        line->call[record->message.path == 0 ? WAIT_ANY : WAIT_RECEIVE] = index;
        return 0;
    case EVENT_SENDCALL:
        if (line->call[WAIT_SEND] == GRAPH_NONE && !(record->header.flags & RECORD_PREEMPTED))
            line->call[WAIT_SEND] = index;
        return 0;
    case EVENT_STOPPROCESS:
        line->call[WAIT_STOPPED] = index;
        return 0;
    case EVENT_RECEIVE:
        return end_call(graph, WAIT_RECEIVE, event->time);
    case EVENT_SEND:
        return end_call(graph, WAIT_SEND, end);
    case EVENT_STARTPROCESS:
        return end_call(graph, WAIT_STOPPED, event->time);
    case EVENT_BLOCK:
        return add_wait(graph, WAIT_BLOCKED, index, end - (int64_t)record->block.duration, end);
    default:
        return 0;
    }
}

/* Times farther away are damaged; within these limits their difference cannot overflow. */
#define MOST_TIME (1LL << 61)

/* Wall-clock time in ns after the first record. */
static int64_t wall_time(const struct history_graph *graph, const struct history_event *event,
                         uint64_t time)
{
    int64_t wall = (int64_t)(time + (uint64_t)event->event.wall_offset - (uint64_t)graph->first);

    return wall > MOST_TIME ? MOST_TIME : wall < -MOST_TIME ? -MOST_TIME : wall;
}

/* Whether it is in the picture, as far as the user's choice decides. */
static bool is_chosen(const struct history_graph *graph, const struct event *event, int64_t time)
{
    const struct graph_choice *choice = &graph->choice;

    return (choice->from == 0 || time >= choice->from) && (choice->to == 0 || time < choice->to) &&
           (choice->accepts == NULL || choice->accepts(choice->context, event));
}

static bool is_wanted(const struct history_graph *graph, const struct event *event, int64_t time)
{
    return is_drawn(event->header) && is_chosen(graph, event, time);
}

/* Whether a stream began when it was metered already, and in the time of the picture, so that its sums began at 0. */
static bool is_new(const struct history_graph *graph, const struct history_event *event)
{
    const struct stream_record *stream =
        identities_stream(graph->identities, event->event.origin, event->event.header->stream);

    return stream != NULL && stream->parent != 0 &&
           (graph->choice.from == 0 ||
            wall_time(graph, event, stream->start) >= graph->choice.from);
}

/* SCHEDULE is no event of its stream. It says how long the stream has waited for a CPU since the latest SCHEDULE: the
 * last of these waits, if there were several, has just ended. */
static int add_schedule(struct history_graph *graph, const struct history_event *event,
                        int64_t time)
{
    const struct record *record = (const struct record *)event->event.header;
    int64_t index =
        intern_find(&graph->line_keys, number_key(event->event.origin, record->header.stream));

    if (index < 0 || !is_chosen(graph, &event->event, time))
        return 0;
    struct graph_line *line = &graph->lines[index];
    bool known = line->knows_runnable || is_new(graph, event);
    uint64_t waited = record->schedule.runnable - line->runnable;
    line->runnable = record->schedule.runnable;
    line->knows_runnable = true;
    if (!known || waited == 0 || waited > MOST_TIME / 2)
        return 0;
    if (array_reserve(&graph->waits, &graph->wait_capacity, graph->wait_count + 1,
                      sizeof(*graph->waits)) < 0)
        return -ENOMEM;
    line->waited += waited;
    int64_t begin = time - (int64_t)waited;
    graph->waits[graph->wait_count++] =
        (struct graph_wait){WAIT_CPU, (size_t)index, GRAPH_NONE, false, begin, time};
    return 0;
}

int history_graph_add(struct history_graph *graph, const struct history_event *event,
                      const struct graph_marks *marks)
{
    const struct record_header *header = event->event.header;

    if (!graph->begun) {
        graph->begun = true;
        graph->first = wall_time(graph, event, event->when);
    }
    int64_t time = wall_time(graph, event, event->when);
    int result = 0;
    if (header->id == EVENT_SCHEDULE) /* with the first event that is left out, the picture ends */
        return graph->left_out > 0 ? 0 : add_schedule(graph, event, time);
    if (!is_wanted(graph, &event->event, time))
        return 0;
    if (graph->event_count >= graph->choice.most) {
        graph->left_out++;
        return 0;
    }
    int64_t line = find_line(graph, event->event.origin, header->stream);
    if (line < 0 ||
        array_reserve(&graph->events, &graph->event_capacity, graph->event_count + 1,
                      sizeof(*graph->events)) < 0 ||
        array_reserve(&graph->edges, &graph->edge_capacity, graph->edge_count + event->edge_count,
                      sizeof(*graph->edges)) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < event->edge_count; i++)
        graph->edges[graph->edge_count + i] = event->edges[i];
    graph->events[graph->event_count] = (struct graph_event){
        .number = event->number,
        .time = time,
        .proc_time = event->proc_time,
        .line = (size_t)line,
        .previous = graph->lines[line].last,
        .wait = GRAPH_NONE,
        .edges = graph->edge_count,
        .edge_count = event->edge_count,
        .rest_bytes = event->rest_bytes,
        .rest = event->rest,
        .marks = marks == NULL ? (struct graph_marks){0} : *marks,
        .runnable = graph->lines[line].waited,
        .record = *(const struct record *)header,
    };
    graph->edge_count += event->edge_count;
    graph->lines[line].last = graph->event_count++;
    graph->lines[line].waited = 0;
    result = end_waits_unseen(graph);
    return result < 0 ? result : find_waits(graph, wall_time(graph, event, header->time));
}

size_t history_graph_events(const struct history_graph *graph)
{
    return graph->event_count;
}

uint64_t history_graph_left_out(const struct history_graph *graph)
{
    return graph->left_out;
}

/* Whether a thread still waits at the end of its line. Those that went on after a call have been ended by end_unseen; a thread that
 * was stopped has recorded nothing since but what it can meanwhile. */
static bool still_waits(const struct history_graph *graph, const struct graph_line *line,
                        enum wait_kind kind)
{
    size_t at = line->last, call = line->call[kind];

    if (call == GRAPH_NONE || kind != WAIT_STOPPED)
        return call != GRAPH_NONE;
    while (at != call && at != GRAPH_NONE && is_within_wait(&graph->events[at].record))
        at = graph->events[at].previous;
    return at == call;
}

/* What waits at the end of the picture, as in a deadlock, waits up to there; also what begins to wait with the last event.
 * Then no call is open: a picture may be written twice. */
static int add_open_waits(struct history_graph *graph)
{
    int64_t begin, end;

    graph_extent(graph, &begin, &end);
    for (size_t i = 0; i < graph->line_keys.count; i++)
        for (int kind = 0; kind < WAIT_KIND_COUNT; kind++) {
            struct graph_line *line = &graph->lines[i];
            size_t call = line->call[kind];
            bool is_open = still_waits(graph, line, (enum wait_kind)kind);
            line->call[kind] = GRAPH_NONE;
            if (!is_open)
                continue;
            if (array_reserve(&graph->waits, &graph->wait_capacity, graph->wait_count + 1,
                              sizeof(*graph->waits)) < 0)
                return -ENOMEM;
            graph->waits[graph->wait_count++] = (struct graph_wait){
                (enum wait_kind)kind, i, call, true, graph->events[call].time, end};
        }
    return 0;
}

int history_graph_write(struct history_graph *graph, enum graph_format format, FILE *file)
{
    int result = add_open_waits(graph);

    if (result < 0)
        return result;
    return format == GRAPH_SVG ? history_graph_svg(graph, file) : history_graph_dot(graph, file);
}

/* ---- finding ---- */

/* Binary search: events are in ascending order of their numbers. */
size_t graph_find_event(const struct history_graph *graph, uint64_t number)
{
    size_t low = 0;
    size_t high = graph->event_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (graph->events[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->event_count && graph->events[low].number == number ? low : GRAPH_NONE;
}

void graph_extent(const struct history_graph *graph, int64_t *ret_begin, int64_t *ret_end)
{
    int64_t begin = graph->event_count == 0 ? 0 : INT64_MAX;
    int64_t end = graph->event_count == 0 ? 0 : INT64_MIN;

    for (size_t i = 0; i < graph->event_count; i++) {
        begin = graph->events[i].time < begin ? graph->events[i].time : begin;
        end = graph->events[i].time > end ? graph->events[i].time : end;
    }
    for (size_t i = 0; i < graph->wait_count; i++)
        end = graph->waits[i].end > end ? graph->waits[i].end : end;
    *ret_begin = begin;
    *ret_end = end;
}
