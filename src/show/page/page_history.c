/* SPDX-License-Identifier: MIT */
/* page_history.c: events of a part of the time, with the messages between them. See page.h. */
#include "show/graph/history_graph.h"
#include "show/page/page_private.h"
#include "show/text/json.h"

#include <errno.h>
#include <string.h>

static json_t *line_json(const void *context, size_t index)
{
    const struct history_graph *graph = context;
    const struct graph_line *line = &graph->lines[index];
    const struct stream_record *stream =
        identities_stream(graph->identities, line->origin, line->stream);
    char process[PROCESS_NAME_SIZE];

    if (stream == NULL)
        return json_string("unknown");
    show_process(stream->name, stream->pid, process);
    return stream->tid == stream->pid ? json_string(process)
                                      : json_sprintf("%s %u", process, stream->tid);
}

struct drawn {
    const struct history_graph *graph;
    int64_t shift; /* of the picture's times to those of the chart, ns */
};

/* The picture begins with the first record, the chart with the first event. The clocks of the first origin tell the two apart. */
static int64_t shift_of(const struct history_graph *graph, const struct lanes *lanes)
{
    for (size_t i = 0; lanes != NULL && i < graph->event_count; i++) {
        const struct graph_event *event = &graph->events[i];
        if (graph->lines[event->line].origin == 0)
            return (int64_t)(event->record.header.time - lanes->begin) - event->time;
    }
    return 0;
}

/* ns from the first record, from which --from counts, to the beginning of the chart. */
static uint64_t before_chart(const struct lanes *lanes)
{
    return lanes == NULL || lanes->begin < lanes->first_record ? 0
                                                               : lanes->begin - lanes->first_record;
}

/* [time, line, type, critical] */
static json_t *event_json(const void *context, size_t index)
{
    const struct drawn *drawn = context;
    const struct graph_event *event = &drawn->graph->events[index];
    int64_t time = event->time + drawn->shift;

    return json_pack("[o, i, s, i]", json_count(time < 0 ? 0 : (uint64_t)time), (int)event->line,
                     graph_event_name(event), event->marks.critical);
}

static int add_edges(const struct history_graph *graph, size_t index, json_t *list)
{
    const struct graph_event *event = &graph->events[index];

    for (uint32_t i = 0; i < event->edge_count; i++) {
        const struct history_edge *edge = &graph->edges[event->edges + i];
        size_t from = graph_find_event(graph, edge->number);
        if (from == GRAPH_NONE)
            continue;
        if (json_array_append_new(
                list, json_pack("[i, i, s, i]", (int)from, (int)index, edge_kind_name(edge->kind),
                                event->marks.critical && event->marks.edge == i)) < 0)
            return -ENOMEM;
    }
    return 0;
}

json_t *page_history_json(const struct report *report)
{
    const struct history_graph *graph = report->graph;
    json_t *edges = json_array();
    int result = edges == NULL ? -ENOMEM : 0;

    if (graph == NULL) {
        json_decref(edges);
        return json_null();
    }
    for (size_t i = 0; i < graph->event_count && result == 0; i++)
        result = add_edges(graph, i, edges);
    if (result < 0) {
        json_decref(edges);
        return NULL;
    }
    const struct drawn drawn = {graph, shift_of(graph, report->lanes)};
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o}", "first_ns", json_count(before_chart(report->lanes)), "lines",
        json_array_of(graph, graph->column_keys.count == 0 ? 0 : graph->line_keys.count, line_json),
        "events", json_array_of(&drawn, graph->event_count, event_json), "edges", edges, "left_out",
        json_count(graph->left_out));
}
