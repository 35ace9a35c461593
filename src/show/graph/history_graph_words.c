/* SPDX-License-Identifier: MIT */
/* history_graph_words.c: the texts in the picture of a program history. See history_graph.h. */
#include "show/graph/history_graph.h"
#include "show/text/system_call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void add(char text[GRAPH_TEXT_SIZE],
                                                      const char *format, ...)
{
    size_t length = strlen(text);
    va_list list;

    va_start(list, format);
    vsnprintf(text + length, GRAPH_TEXT_SIZE - length, format, list);
    va_end(list);
}

const char *graph_rest_name(enum history_rest rest)
{
    static const char *const names[] = {
        [REST_NONE] = "",
        [REST_EXTERNAL] = "from outside",
        [REST_UNSELECTED] = "from a SEND that was removed by selection",
        [REST_UNMATCHED] = "without a SEND",
        [REST_NOT_FOUND] = "from an end that was not found",
    };

    return names[rest];
}

const char *graph_event_name(const struct graph_event *event)
{
    return event_type(event->record.header.id)->name;
}

static void add_time(char text[GRAPH_TEXT_SIZE], int64_t time)
{
    uint64_t size = time < 0 ? 0 - (uint64_t)time : (uint64_t)time;

    add(text, "%s%" PRIu64 ".%09" PRIu64 " s", time < 0 ? "-" : "", size / 1000000000,
        size % 1000000000);
}

void graph_title(const struct history_graph *graph, char text[GRAPH_TEXT_SIZE])
{
    char count[COUNTED_SIZE];
    int64_t begin, end;

    graph_extent(graph, &begin, &end);
    text[0] = '\0';
    show_counted(graph->event_count, "event", count);
    add(text, "Program history: %s of %" PRIu32 " process%s", count, graph->column_keys.count,
        graph->column_keys.count == 1 ? "" : "es");
    if (graph->event_count > 0) {
        add(text, ", from ");
        add_time(text, begin);
        add(text, " to ");
        add_time(text, end);
        add(text, " after the first record");
    }
    show_counted(graph->left_out, "event", count);
    if (graph->left_out > 0)
        add(text, "; %s left out: too many", count);
}

void graph_column_name(const struct history_graph *graph, const struct graph_column *column,
                       char text[GRAPH_TEXT_SIZE])
{
    const struct stream_record *stream =
        identities_stream(graph->identities, column->origin, column->process);
    const struct machine_record *machine = identities_machine(graph->identities, column->origin);
    char name[MACHINE_NAME_SIZE + 1];

    text[0] = '\0';
    if (stream == NULL) {
        add(text, "process %" PRIu32, column->process);
    } else {
        show_text(stream->name, sizeof(stream->name), name);
        add(text, "%s[%" PRIu32 "]", name, stream->pid);
    }
    if (!graph->machines || machine == NULL)
        return;
    show_text(machine->name, sizeof(machine->name), name);
    add(text, "@%s", name);
}

static void add_line(const struct history_graph *graph, const struct graph_line *line,
                     char text[GRAPH_TEXT_SIZE])
{
    const struct stream_record *stream =
        identities_stream(graph->identities, line->origin, line->stream);

    if (stream == NULL)
        add(text, "stream %" PRIu32, line->stream);
    else
        add(text, "thread %" PRIu32, stream->tid);
}

void graph_line_name(const struct history_graph *graph, const struct graph_line *line,
                     char text[GRAPH_TEXT_SIZE])
{
    text[0] = '\0';
    add_line(graph, line, text);
}

static void add_path(const struct history_graph *graph, uint32_t origin, uint32_t number,
                     char text[GRAPH_TEXT_SIZE])
{
    const struct path_record *path = identities_path(graph->identities, origin, number);
    char address[ENDPOINT_SIZE];
    char local[ENDPOINT_SIZE + 1];
    char remote[ENDPOINT_SIZE + 1];

    add(text, "\npath %" PRIu32, number);
    if (path == NULL)
        return;
    endpoint_local(path, address);
    show_text(address, sizeof(address), local);
    if (path->kind == PATH_FILE) {
        add(text, " file %s", local);
        return;
    }
    endpoint_remote(path, address);
    show_text(address, sizeof(address), remote);
    add(text, " %s %s > %s", path_kind_name(path->kind), local, remote);
}

static void add_message(const struct history_graph *graph, const struct graph_event *event,
                        char text[GRAPH_TEXT_SIZE])
{
    const struct record *record = &event->record;
    char count[COUNTED_SIZE];

    add_path(graph, graph->lines[event->line].origin, record->message.path, text);
    show_counted(record->message.bytes, "byte", count);
    if (record->header.id <= EVENT_MESSAGEQUEUED)
        add(text, "\n%s", count);
    if (record->header.flags & RECORD_END_OF_FILE)
        add(text, ", end of file");
    show_counted(event->rest_bytes, "byte", count);
    if (event->rest_bytes > 0 && event->rest != REST_NONE)
        add(text, "\n%s %s", count, graph_rest_name(event->rest));
}

/* A RECEIVECALL without a path: " in epoll_wait". */
static void add_call(const struct record *record, char text[GRAPH_TEXT_SIZE])
{
    char call[UNIT_SIZE];

    if (any_call(record) == NO_SYSTEM_CALL)
        return;
    system_call_text(any_call(record), call);
    add(text, " in %s", call);
}

static void add_receive_call(const struct history_graph *graph, const struct graph_event *event,
                             char text[GRAPH_TEXT_SIZE])
{
    if (event->record.message.path != 0)
        add_message(graph, event, text);
    else
        add_call(&event->record, text);
}

static void add_signal(const struct graph_event *event, char text[GRAPH_TEXT_SIZE])
{
    const struct record *record = &event->record;
    char name[UNIT_SIZE];

    signal_text(record->signal.number, name);
    add(text, "\n%s to process %" PRIu32, name, record->signal.receiver_pid);
}

/* Appends the name of another stream on the event's machine. */
static void add_stream(const struct history_graph *graph, const struct graph_event *event,
                       uint32_t number, char text[GRAPH_TEXT_SIZE])
{
    const struct stream_record *stream =
        identities_stream(graph->identities, graph->lines[event->line].origin, number);
    char name[STREAM_NAME_SIZE + 1];

    if (stream == NULL) {
        add(text, "of stream %" PRIu32, number);
        return;
    }
    show_text(stream->name, sizeof(stream->name), name);
    add(text, "%s[%" PRIu32 "]", name, stream->tid);
}

static void add_child(const struct history_graph *graph, const struct graph_event *event,
                      char text[GRAPH_TEXT_SIZE])
{
    add(text, "\n%s ", event->record.create.thread ? "thread" : "process");
    add_stream(graph, event, event->record.create.child, text);
}

static void add_woken(const struct history_graph *graph, const struct graph_event *event,
                      char text[GRAPH_TEXT_SIZE])
{
    if (event->record.wakeup.woken == 0) {
        add(text, "\nbegins a collective function of MPI");
        return;
    }
    add(text, "\nthread ");
    add_stream(graph, event, event->record.wakeup.woken, text);
}

static void add_image(const struct history_graph *graph, const struct graph_event *event,
                      char text[GRAPH_TEXT_SIZE])
{
    const struct image_record *image = identities_image(
        graph->identities, graph->lines[event->line].origin, event->record.exec.image);
    char name[IMAGE_NAME_SIZE + 1];

    if (image == NULL)
        return;
    show_text(image->name, sizeof(image->name), name);
    add(text, "\n%s", name);
}

void graph_describe_event(const struct history_graph *graph, const struct graph_event *event,
                          char text[GRAPH_TEXT_SIZE])
{
    const struct graph_line *line = &graph->lines[event->line];
    char count[COUNTED_SIZE];

    graph_column_name(graph, &graph->columns[line->column], text);
    add(text, ", ");
    add_line(graph, line, text);
    add(text, "\n%s at ", graph_event_name(event));
    add_time(text, event->time);
    switch (event->record.header.id) {
    case EVENT_CREATEPROCESS:
        add_child(graph, event, text);
        break;
    case EVENT_EXEC:
        add_image(graph, event, text);
        break;
    case EVENT_WAKEUP:
        add_woken(graph, event, text);
        break;
    case EVENT_LOST:
    case EVENT_DISCARDED:
        show_counted(event->record.lost.count, "record", count);
        add(text, "\n%s", count);
        break;
    case EVENT_RECEIVECALL:
        add_receive_call(graph, event, text);
        break;
    case EVENT_SIGNAL:
        add_signal(event, text);
        break;
    case EVENT_BLOCK:
    case EVENT_STARTPROCESS:
    case EVENT_STOPPROCESS:
    case EVENT_TERMINATION:
        break;
    default:
        add_message(graph, event, text);
    }
}

/* The ends of an arc. */
static void add_ends(const struct history_graph *graph, uint64_t number,
                     const struct graph_event *event, char text[GRAPH_TEXT_SIZE])
{
    size_t from = graph_find_event(graph, number);

    if (from == GRAPH_NONE) {
        add(text, "\nfrom an event that is not in the picture");
    } else {
        add(text, "\nfrom %s at ", graph_event_name(&graph->events[from]));
        add_time(text, graph->events[from].time);
    }
    add(text, "\nto %s at ", graph_event_name(event));
    add_time(text, event->time);
}

void graph_describe_edge(const struct history_graph *graph, const struct graph_event *event,
                         const struct history_edge *edge, char text[GRAPH_TEXT_SIZE])
{
    bool passes = edge_is_message(edge) || edge->kind == EDGE_FILE;
    char count[COUNTED_SIZE];

    text[0] = '\0';
    show_counted(edge->bytes, "byte", count);
    if (passes)
        add(text, "%s, ", count);
    add(text, "%s%s", edge_kind_name(edge->kind),
        edge->doubtful  ? ", in doubt"
        : edge->earlier ? " of the wait before"
                        : "");
    add_ends(graph, edge->number, event, text);
    if (passes)
        add_path(graph, edge->origin, edge->path, text);
}

void graph_describe_answer(const struct history_graph *graph, const struct graph_event *event,
                           char text[GRAPH_TEXT_SIZE])
{
    char unit[UNIT_SIZE];

    text[0] = '\0';
    show_duration(event->marks.took, unit);
    add(text, "answer from outside, took %s", unit);
    add_ends(graph, event->marks.sent, event, text);
    add_path(graph, graph->lines[event->line].origin, event->record.message.path, text);
}

static void add_duration(char text[GRAPH_TEXT_SIZE], int64_t duration)
{
    char unit[UNIT_SIZE];

    show_duration(duration < 0 ? 0 : (uint64_t)duration, unit);
    add(text, "%s", unit);
}

void graph_describe_wait(const struct history_graph *graph, const struct graph_wait *wait,
                         char text[GRAPH_TEXT_SIZE])
{
    text[0] = '\0';
    add(text, "%s", graph_wait_look(wait->kind)->text);
    if (wait->kind == WAIT_ANY)
        add_call(&graph->events[wait->event].record, text);
    if (wait->begin < wait->end) {
        add(text, " for ");
        add_duration(text, wait->end - wait->begin);
    }
    if (wait->goes_on) {
        add(text, ", and goes on");
    } else {
        add(text, "%s, until ", wait->kind == WAIT_CPU ? " since the latest record of that" : "");
        add_time(text, wait->end);
    }
    if (wait->kind == WAIT_RECEIVE || wait->kind == WAIT_SEND)
        add_path(graph, graph->lines[wait->line].origin,
                 graph->events[wait->event].record.message.path, text);
}

void graph_describe_way(const struct history_graph *graph, const struct graph_event *event,
                        char text[GRAPH_TEXT_SIZE])
{
    const struct graph_event *previous = &graph->events[event->previous];

    text[0] = '\0';
    add_duration(text, (int64_t)(event->proc_time - previous->proc_time));
    add(text, " of CPU time in ");
    add_duration(text, event->time - previous->time);
    if (event->runnable == 0)
        return;
    add(text, "\n%s for ", graph_wait_look(WAIT_CPU)->text);
    add_duration(text, (int64_t)event->runnable);
}
