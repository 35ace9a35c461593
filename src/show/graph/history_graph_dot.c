/* SPDX-License-Identifier: MIT */
/*
 * history_graph_dot.c: the program history as a Graphviz graph, in the language DOT. See show.h.
 *
 *      digraph { subgraph cluster_0 { e1 -> e4 }  subgraph cluster_1 { e2 -> e3 }  e1 -> e2 }
 *                a process and its streams                                         arcs
 */
#include "show/graph/history_graph.h"

#include <inttypes.h>

/* Prints a quoted string. A backslash would begin an escape (node name, line alignment). */
static void put_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\n') {
            fputs("\\n", file);
            continue;
        }
        if (*at == '"' || *at == '\\')
            fputc('\\', file);
        fputc(*at, file);
    }
    fputc('"', file);
}

static void write_event(const struct history_graph *graph, const struct graph_event *event,
                        FILE *file)
{
    char text[GRAPH_TEXT_SIZE];

    graph_describe_event(graph, event, text);
    fprintf(file, "    e%" PRIu64 " [label=\"%s\", tooltip=", event->number,
            graph_event_name(event));
    put_string(file, text);
    fputs("];\n", file);
}

/* The edge from the previous event of the stream. Its tooltip describes the wait that the event ends, if any. */
static void write_way(const struct history_graph *graph, const struct graph_event *event,
                      FILE *file)
{
    const struct graph_event *previous = &graph->events[event->previous];
    char text[GRAPH_TEXT_SIZE];
    char unit[UNIT_SIZE];

    show_duration(event->proc_time - previous->proc_time, unit);
    fprintf(file, "    e%" PRIu64 " -> e%" PRIu64 " [weight=10, arrowhead=none, label=\"%s\"",
            previous->number, event->number, unit);
    if (event->wait != GRAPH_NONE) {
        graph_describe_wait(graph, &graph->waits[event->wait], text);
        fputs(", color=\"#d98a3d\", penwidth=5, tooltip=", file);
    } else {
        graph_describe_way(graph, event, text);
        fprintf(file, ", color=\"%s\", penwidth=2, tooltip=",
                event->critical && !event->by_edge ? "#d3182b" : "#777777");
    }
    put_string(file, text);
    fputs("];\n", file);
}

static void write_column(const struct history_graph *graph, size_t column, FILE *file)
{
    char text[GRAPH_TEXT_SIZE];

    graph_column_name(graph, &graph->columns[column], text);
    fprintf(file, "  subgraph cluster_%zu {\n    label=", column);
    put_string(file, text);
    fputs(";\n", file);
    for (size_t i = 0; i < graph->event_count; i++) {
        const struct graph_event *event = &graph->events[i];
        if (graph->lines[event->line].column != column)
            continue;
        write_event(graph, event, file);
        if (event->previous != GRAPH_NONE)
            write_way(graph, event, file);
    }
    fputs("  }\n", file);
}

static void write_arc(const struct history_graph *graph, size_t index, uint32_t place, FILE *file)
{
    static const char *const looks[] = {
        [EDGE_EXACT] = "style=solid, color=\"#1f4e8c\"",
        [EDGE_ORDERED] = "style=dashed, color=\"#1f4e8c\"",
        [EDGE_INFERRED] = "style=dotted, color=\"#1f4e8c\"",
        [EDGE_CREATION] = "style=solid, color=\"#5b7f2b\"",
        [EDGE_TERMINATION] = "style=solid, color=\"#5b7f2b\"",
        [EDGE_ROOM] = "style=dashed, color=\"#5b7f2b\"",
        [EDGE_WAKEUP] = "style=dotted, color=\"#5b7f2b\"",
        [EDGE_END] = "style=solid, color=\"#5b7f2b\"",
        [EDGE_CONNECTION] = "style=solid, color=\"#5b7f2b\"",
    };
    const struct graph_event *event = &graph->events[index];
    const struct history_edge *edge = &graph->edges[event->edges + place];
    char text[GRAPH_TEXT_SIZE];

    if (graph_find_event(graph, edge->number) == GRAPH_NONE) {
        fprintf(file, "  outside_%" PRIu64 "_%" PRIu32 " [shape=point, label=\"\"];\n",
                event->number, place);
        fprintf(file, "  outside_%" PRIu64 "_%" PRIu32, event->number, place);
    } else {
        fprintf(file, "  e%" PRIu64, edge->number);
    }
    fprintf(file, " -> e%" PRIu64 " [%s%s, tooltip=", event->number, looks[edge->kind],
            event->critical && event->by_edge && place == event->edge
                ? ", penwidth=3, color=\"#d3182b\""
                : "");
    graph_describe_edge(graph, event, edge, text);
    put_string(file, text);
    if (edge->kind <= EDGE_INFERRED) {
        show_bytes(edge->bytes, text);
        fprintf(file, ", label=\"%s\"", text);
    }
    fputs("];\n", file);
}

int history_graph_dot(const struct history_graph *graph, FILE *file)
{
    char text[GRAPH_TEXT_SIZE];

    graph_title(graph, text);
    fputs("digraph history {\n  newrank=true;\n  labelloc=t;\n  label=", file);
    put_string(file, text);
    fputs(";\n  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=10];\n"
          "  edge [fontname=\"sans-serif\", fontsize=9];\n",
          file);
    for (size_t i = 0; i < graph->column_keys.count; i++)
        write_column(graph, i, file);
    for (size_t i = 0; i < graph->event_count; i++)
        for (uint32_t k = 0; k < graph->events[i].edge_count; k++)
            write_arc(graph, i, k, file);
    fputs("}\n", file);
    return 0;
}
