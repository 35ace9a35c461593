/* SPDX-License-Identifier: MIT */
/* history_graph_looks.c: how arcs and waits look in pictures of a program history; every legend has all of them. See
 * history_graph.h. */
#include "show/graph/history_graph.h"

#define BLUE  "#1f4e8c"
#define GREEN "#5b7f2b"
#define BROWN "#9a6b1f"

const struct arc_look *graph_arc_look(enum arc_kind kind)
{
    static const struct arc_look looks[] = {
        [ARC_EXACT] = {"exact", "style=solid, color=\"" BLUE "\"", "message, exact"},
        [ARC_ORDERED] = {"ordered", "style=dashed, color=\"" BLUE "\"", "ordered"},
        [ARC_INFERRED] = {"inferred", "style=dotted, color=\"" BLUE "\"", "inferred"},
        [ARC_CREATION] = {"creation", "style=solid, color=\"" GREEN "\"",
                          "creation, connection, end"},
        [ARC_WAKEUP] = {"wakeup", "style=dotted, color=\"" GREEN "\"", "wakeup, collective"},
        [ARC_FILE] = {"file", "style=dashed, color=\"" BROWN "\"", "file, inferred"},
        [ARC_ROOM] = {"room", "style=dashed, color=\"" GREEN "\"", "buffer space made"},
        [ARC_ANSWER] = {"answer", "style=solid, color=\"#8a3d9c\"",
                        "answer from outside, elapsed time"},
        [ARC_CRITICAL] = {"critical", "penwidth=3, color=\"#d3182b\"", "critical path"},
    };

    return &looks[kind];
}

const struct arc_look *graph_edge_look(enum edge_kind kind)
{
    static const enum arc_kind arcs[] = {
        [EDGE_EXACT] = ARC_EXACT,          [EDGE_ORDERED] = ARC_ORDERED,
        [EDGE_INFERRED] = ARC_INFERRED,    [EDGE_CREATION] = ARC_CREATION,
        [EDGE_TERMINATION] = ARC_CREATION, [EDGE_ROOM] = ARC_ROOM,
        [EDGE_WAKEUP] = ARC_WAKEUP,        [EDGE_END] = ARC_CREATION,
        [EDGE_CONNECTION] = ARC_CREATION,  [EDGE_FILE] = ARC_FILE,
        [EDGE_COLLECTIVE] = ARC_WAKEUP,
    };

    return graph_arc_look(arcs[kind]);
}

const struct wait_look *graph_wait_look(enum wait_kind kind)
{
    static const struct wait_look looks[] = {
        [WAIT_RECEIVE] = {"#f2b27a", "#a86428", "waits for a message"},
        [WAIT_SEND] = {"#9db9e0", "#3f669c", "waits until it can send"},
        [WAIT_STOPPED] = {"#c9c9c9", "#5a5f66", "is stopped by a signal"},
        [WAIT_BLOCKED] = {"#d9c2e3", "#7a5590", "is blocked"},
        [WAIT_ANY] = {"#f0d08a", "#8a6d1f", "waits for any message or connection"},
        [WAIT_CPU] = {"#e08a8a", "#8f3d3d", "waits for a processor"},
    };

    return &looks[kind];
}

bool graph_is_critical_way(const struct graph_event *event)
{
    return event->marks.critical && event->marks.edge == UINT32_MAX;
}

bool graph_is_critical_edge(const struct graph_event *event, uint32_t edge)
{
    return event->marks.critical && event->marks.edge == edge;
}
