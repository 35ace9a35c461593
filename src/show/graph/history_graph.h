/* SPDX-License-Identifier: MIT */
/*
 * history_graph.h: what the picture of a program history shows, before it is drawn. Private to show/.
 *
 *      column   server[12]           client[13]
 *      line     stream 1  stream 2   stream 3
 *                  o         |          o  SEND          event
 *                  |         |    .----'
 *                  |   RECEIVE o <'                      arc
 *                  |         #                           wait
 */
#ifndef DPM_HISTORY_GRAPH_H
#define DPM_HISTORY_GRAPH_H

#include "show/show.h"

#define GRAPH_NONE      SIZE_MAX
#define GRAPH_TEXT_SIZE 2048

/* A process. */
struct graph_column {
    uint32_t origin;
    uint32_t process; /* number of its first stream */
    size_t line_count;
};

enum wait_kind {
    WAIT_RECEIVE,
    WAIT_SEND,
    WAIT_STOPPED,
    WAIT_BLOCKED,
    WAIT_ANY, /* in poll, epoll, accept ...: a RECEIVECALL without a path */
    WAIT_CPU,
    WAIT_KIND_COUNT
};

/* A stream. */
struct graph_line {
    size_t column;
    size_t place; /* index among the lines of its column */
    uint32_t origin;
    uint32_t stream;
    size_t last;                  /* its latest event, or GRAPH_NONE */
    size_t call[WAIT_KIND_COUNT]; /* event that began a wait which has not ended, or GRAPH_NONE */
    bool knows_runnable;          /* from a SCHEDULE: ns that it has waited for a CPU so far */
    uint64_t runnable;
    uint64_t waited; /* ... and of these since its latest event */
};

struct graph_wait {
    enum wait_kind kind;
    size_t line;
    size_t event;  /* that began it; WAIT_BLOCKED: that ended it; GRAPH_NONE: none did (WAIT_CPU) */
    bool goes_on;  /* at the end of the picture */
    int64_t begin; /* as graph_event.time */
    int64_t end;
};

struct graph_event {
    uint64_t number;
    int64_t time; /* ns after the first record */
    uint64_t proc_time;
    size_t line;
    size_t previous; /* previous event of its line, or GRAPH_NONE */
    size_t wait;     /* wait that it ended, or GRAPH_NONE */
    size_t edges;    /* index of its first edge */
    uint32_t edge_count;
    uint32_t rest_bytes;
    enum history_rest rest;
    uint64_t
        runnable; /* ns that its stream waited for a CPU since the previous event, from SCHEDULEs */
    struct graph_marks marks;
    struct record record;
};

struct history_graph {
    struct graph_choice choice;
    const struct identities *identities;
    bool begun;
    int64_t first; /* wall clock of the first record */
    uint64_t left_out;
    bool machines; /* several origins: machines are named */
    struct intern column_keys;
    struct intern line_keys;
    struct graph_column *columns;
    size_t column_capacity;
    struct graph_line *lines;
    size_t line_capacity;
    struct graph_event *events;
    size_t event_count;
    size_t event_capacity;
    struct history_edge *edges;
    size_t edge_count;
    size_t edge_capacity;
    struct graph_wait *waits;
    size_t wait_count;
    size_t wait_capacity;
};

int history_graph_svg(const struct history_graph *graph, FILE *file);
int history_graph_dot(const struct history_graph *graph, FILE *file);

/* The index of the event with this number, or GRAPH_NONE if it is not in the picture. */
size_t graph_find_event(const struct history_graph *graph, uint64_t number);

/* Times of the first and the last thing in the picture; both 0 if it is empty. */
void graph_extent(const struct history_graph *graph, int64_t *ret_begin, int64_t *ret_end);

/* ---- looks, the same in all formats; a legend has each ---- */

enum arc_kind {
    ARC_EXACT,
    ARC_ORDERED,
    ARC_INFERRED,
    ARC_CREATION,
    ARC_WAKEUP,
    ARC_FILE,
    ARC_ROOM,
    ARC_ANSWER,
    ARC_CRITICAL,
    ARC_KIND_COUNT
};

struct arc_look {
    const char *class; /* in SVG's style */
    const char *dot;   /* attributes in DOT */
    const char *text;
};

struct wait_look {
    const char *light; /* colour, and on a dark background */
    const char *dark;
    const char *text;
};

const struct arc_look *graph_arc_look(enum arc_kind kind);
const struct arc_look *graph_edge_look(enum edge_kind kind);
const struct wait_look *graph_wait_look(enum wait_kind kind);

/* What the label of a way means. */
#define WAY_LABEL "12 us"
#define WAY_TEXT  "CPU time between two events"

/* Whether the critical path comes to the event along its stream, or by this edge. */
bool graph_is_critical_way(const struct graph_event *event);
bool graph_is_critical_edge(const struct graph_event *event, uint32_t edge);

/* ---- texts: valid UTF-8, no control characters except line feeds; still to be escaped ---- */

const char *graph_rest_name(enum history_rest rest);

/* Name of the event's type. */
const char *graph_event_name(const struct graph_event *event);

void graph_title(const struct history_graph *graph, char text[GRAPH_TEXT_SIZE]);
void graph_column_name(const struct history_graph *graph, const struct graph_column *column,
                       char text[GRAPH_TEXT_SIZE]);
void graph_line_name(const struct history_graph *graph, const struct graph_line *line,
                     char text[GRAPH_TEXT_SIZE]);
void graph_describe_event(const struct history_graph *graph, const struct graph_event *event,
                          char text[GRAPH_TEXT_SIZE]);
void graph_describe_edge(const struct history_graph *graph, const struct graph_event *event,
                         const struct history_edge *edge, char text[GRAPH_TEXT_SIZE]);
/* The arc to an event whose marks say that it receives an answer. */
void graph_describe_answer(const struct history_graph *graph, const struct graph_event *event,
                           char text[GRAPH_TEXT_SIZE]);
void graph_describe_wait(const struct history_graph *graph, const struct graph_wait *wait,
                         char text[GRAPH_TEXT_SIZE]);

/* What the stream did between its previous event and this one: its CPU time and the elapsed time, and how long it
 * waited for a processor. */
void graph_describe_way(const struct history_graph *graph, const struct graph_event *event,
                        char text[GRAPH_TEXT_SIZE]);

#endif
