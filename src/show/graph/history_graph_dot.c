/* SPDX-License-Identifier: MIT */
/*
 * history_graph_dot.c: the program history as a Graphviz graph, in the language DOT. See show.h.
 *
 *      digraph { subgraph cluster_0 { e1 -> e4 }  subgraph cluster_1 { e2 -> e3 }  e1 -> e2   cluster_legend }
 *                a process and its streams                                         arcs
 */
#include "show/graph/history_graph.h"

#include "show/text/xml.h"

#include <inttypes.h>
#include <string.h>

/* Lines along a stream: without a wait, and with one of a colour. */
#define WAY_LOOK    "color=\"#777777\", penwidth=2"
#define WAIT_FORMAT "color=\"%s\", penwidth=5"

static void write_event(const struct history_graph *graph, const struct graph_event *event,
                        FILE *file)
{
    char text[GRAPH_TEXT_SIZE];

    graph_describe_event(graph, event, text);
    fprintf(file, "    e%" PRIu64 " [label=\"%s\", tooltip=", event->number,
            graph_event_name(event));
    dot_string(file, text);
    fputs("];\n", file);
}

/* Its colour and width. A way along which the stream waited is a bar, unless it is on the critical path; its tooltip has
 * the waits. */
static void put_way_look(const struct graph_event *event, const struct history_graph *graph,
                         FILE *file)
{
    if (graph_is_critical_way(event))
        fputs(graph_arc_look(ARC_CRITICAL)->dot, file);
    else if (event->wait != GRAPH_NONE)
        fprintf(file, WAIT_FORMAT, graph_wait_look(graph->waits[event->wait].kind)->light);
    else if (event->runnable > 0)
        fprintf(file, WAIT_FORMAT, graph_wait_look(WAIT_CPU)->light);
    else
        fputs(WAY_LOOK, file);
}

/* The edge from the previous event of the stream. Its tooltip also describes the wait that the event ends. */
static void write_way(const struct history_graph *graph, const struct graph_event *event,
                      FILE *file)
{
    const struct graph_event *previous = &graph->events[event->previous];
    char text[2 * GRAPH_TEXT_SIZE];
    char unit[UNIT_SIZE];

    show_duration(event->proc_time - previous->proc_time, unit);
    fprintf(file, "    e%" PRIu64 " -> e%" PRIu64 " [weight=10, arrowhead=none, label=\"%s\", ",
            previous->number, event->number, unit);
    put_way_look(event, graph, file);
    graph_describe_way(graph, event, text);
    if (event->wait != GRAPH_NONE) {
        strcat(text, "\n");
        graph_describe_wait(graph, &graph->waits[event->wait], text + strlen(text));
    }
    fputs(", tooltip=", file);
    dot_string(file, text);
    fputs("];\n", file);
}

static void write_column(const struct history_graph *graph, size_t column, FILE *file)
{
    char text[GRAPH_TEXT_SIZE];

    graph_column_name(graph, &graph->columns[column], text);
    fprintf(file, "  subgraph cluster_%zu {\n    label=", column);
    dot_string(file, text);
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

/* The beginning of an arc to an event, up to its attributes: from the event with this number, or from a point outside of
 * the picture. `name` distinguishes the arcs to one event. */
static void begin_arc(const struct history_graph *graph, uint64_t from,
                      const struct graph_event *event, uint32_t name, FILE *file)
{
    if (graph_find_event(graph, from) == GRAPH_NONE) {
        fprintf(file, "  outside_%" PRIu64 "_%" PRIu32 " [shape=point, label=\"\"];\n",
                event->number, name);
        fprintf(file, "  outside_%" PRIu64 "_%" PRIu32, event->number, name);
    } else {
        fprintf(file, "  e%" PRIu64, from);
    }
    fprintf(file, " -> e%" PRIu64 " [", event->number);
}

static void write_arc(const struct history_graph *graph, const struct graph_event *event,
                      uint32_t place, FILE *file)
{
    const struct history_edge *edge = &graph->edges[event->edges + place];
    char text[GRAPH_TEXT_SIZE];

    begin_arc(graph, edge->number, event, place, file);
    fputs(graph_edge_look(edge->kind)->dot, file);
    if (graph_is_critical_edge(event, place))
        fprintf(file, ", %s", graph_arc_look(ARC_CRITICAL)->dot);
    fputs(", tooltip=", file);
    graph_describe_edge(graph, event, edge, text);
    dot_string(file, text);
    if (edge_is_message(edge) || edge->kind == EDGE_FILE) {
        show_bytes(edge->bytes, text);
        fprintf(file, ", label=\"%s\"", text);
    }
    fputs("];\n", file);
}

static void write_answer(const struct history_graph *graph, const struct graph_event *event,
                         FILE *file)
{
    char text[GRAPH_TEXT_SIZE];
    char unit[UNIT_SIZE];

    begin_arc(graph, event->marks.sent, event, event->edge_count, file);
    fprintf(file, "%s, tooltip=", graph_arc_look(ARC_ANSWER)->dot);
    graph_describe_answer(graph, event, text);
    dot_string(file, text);
    show_duration(event->marks.took, unit);
    fprintf(file, ", label=\"%s\"];\n", unit);
}

/* ---- the legend ---- */

/* One of its lines: a point, a line that looks so, and what that means; below the line before it, if there is one. */
static void write_key(unsigned group, unsigned line, const char *look, const char *text, FILE *file)
{
    char name[32];

    snprintf(name, sizeof(name), "key_%u_%u", group, line);
    fprintf(
        file,
        "    {rank=same; %s [shape=point, label=\"\"]; %s_text [shape=plaintext, label=\"%s\"];}\n"
        "    %s -> %s_text [%s];\n",
        name, name, text, name, name, look);
    if (line > 0)
        fprintf(file, "    key_%u_%u -> %s [style=invis];\n", group, line - 1, name);
}

/* Arcs, and beside them lines along a stream. */
static void write_legend(FILE *file)
{
    char look[128];
    unsigned line = 0;

    fputs("  subgraph cluster_legend {\n    label=\"legend\";\n", file);
    for (int kind = 0; kind < ARC_KIND_COUNT; kind++)
        write_key(0, (unsigned)kind, graph_arc_look((enum arc_kind)kind)->dot,
                  graph_arc_look((enum arc_kind)kind)->text, file);
    write_key(1, line++, WAY_LOOK ", arrowhead=none, label=\"" WAY_LABEL "\"", WAY_TEXT, file);
    for (int kind = 0; kind < WAIT_KIND_COUNT; kind++) {
        const struct wait_look *wait = graph_wait_look((enum wait_kind)kind);
        snprintf(look, sizeof(look), WAIT_FORMAT ", arrowhead=none", wait->light);
        write_key(1, line++, look, wait->text, file);
    }
    fputs("  }\n", file);
}

int history_graph_dot(const struct history_graph *graph, FILE *file)
{
    char text[GRAPH_TEXT_SIZE];

    graph_title(graph, text);
    fputs("digraph history {\n  newrank=true;\n  labelloc=t;\n  label=", file);
    dot_string(file, text);
    fputs(";\n  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=10];\n"
          "  edge [fontname=\"sans-serif\", fontsize=9];\n",
          file);
    for (size_t i = 0; i < graph->column_keys.count; i++)
        write_column(graph, i, file);
    for (size_t i = 0; i < graph->event_count; i++) {
        const struct graph_event *event = &graph->events[i];
        for (uint32_t k = 0; k < event->edge_count; k++)
            write_arc(graph, event, k, file);
        if (event->marks.answers)
            write_answer(graph, event, file);
    }
    write_legend(file);
    fputs("}\n", file);
    return 0;
}
