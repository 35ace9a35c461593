/* SPDX-License-Identifier: MIT */
/*
 * show.h: faces of what was recorded and found out: tables and lines for people, JSON for programs.
 *
 *      struct communication --> show_statistics --> tables, or one JSON object
 *      struct parallelism   --> show_parallelism --> tables, or one JSON object
 *      struct critical_path --> show_critical_path --> tables, one JSON object, or folded stacks
 *      struct causality     --> show_causality  --> the same, or a state diagram
 *      all of these         --> show_report_... --> the report: text, one JSON object, or a page
 *      struct event         --> show_record     --> a line, or a line of JSON
 *      struct history_event --> history_graph   --> a picture (SVG), or a graph (DOT)
 *
 * People get units, JSON gets ns and bytes; its keys are described in the manual pages and stable.
 * Names and addresses come from programs and may hold anything: what could command a terminal or
 * break JSON is never printed.
 */
#ifndef DPM_SHOW_H
#define DPM_SHOW_H

#include "analysis/causality/causality.h"
#include "analysis/parallelism/critical_path.h"
#include "analysis/parallelism/parallelism.h"
#include "analysis/statistics/statistics.h"
#include "event/event.h"
#include "history/history.h"

#include <stdio.h>

/* ---- text and units ---- */

/* Copies a text of at most `size` bytes (it ends at its first NUL) as valid UTF-8 without control
 * characters; every byte that is not allowed becomes '?'. `to` has room for size + 1 bytes. */
void show_text(const char *from, size_t size, char *to);

#define PROCESS_NAME_SIZE 64

/* "name[pid]"; of whom nothing is known "unknown[pid]". `name` as in a STREAM record. */
void show_process(const char *name, uint32_t pid, char text[PROCESS_NAME_SIZE]);

#define UNIT_SIZE 32

void show_bytes(uint64_t bytes, char text[UNIT_SIZE]); /* "17 B", "1.50 KiB", "23.4 GiB" */
void show_duration(uint64_t ns,
                   char text[UNIT_SIZE]); /* "17 ns", "1.50 ms", "23.4 s", "2 h 05 min" */
void show_count(uint64_t count, char text[UNIT_SIZE]); /* "1,234,567" */

#define COUNTED_SIZE 64

/* "1 request", "1,234 requests", "2 processes", "2 replies". */
void show_counted(uint64_t count, const char *word, char text[COUNTED_SIZE]);

/* Whether to print colours: on a terminal, unless NO_COLOR or TERM=dumb ask for none. */
bool show_has_colours(FILE *file);

/* A text from this column on, where the line is now, and a newline: on a terminal in as many lines as it takes. */
void show_indented(FILE *file, size_t column, const char *text);

/* How often in a second, without a unit: "0", "<0.01", "0.25", "12.5", "1,234". */
void show_frequency(double rate, char text[UNIT_SIZE]);

/* Without a unit: "<0.1", "2.5", "37". */
void show_percent(uint64_t part, uint64_t whole, char text[UNIT_SIZE]);

double show_share(uint64_t part, uint64_t whole);     /* 0 to 1; 0 of nothing */
double show_rate(uint64_t amount, uint64_t duration); /* a second; `duration` in ns */

/* What is drawn is a picture, or a graph for Graphviz. */
enum graph_format { GRAPH_SVG, GRAPH_DOT };

/* ---- communication statistics ---- */

enum show_table { TABLE_ALL, TABLE_PROCESSES, TABLE_PAIRS, TABLE_PATHS, TABLE_PROCEDURES };

/* What rows are sorted by, the largest first; names from A on. */
enum show_order { ORDER_BYTES, ORDER_MESSAGES, ORDER_CPU, ORDER_RESPONSE, ORDER_NAME };

struct show_options {
    bool json;
    bool csv;              /* one table: `table`, of processes if that is TABLE_ALL */
    bool histogram;        /* tables and JSON: also how sizes and times are distributed */
    enum show_table table; /* tables: which */
    enum show_order order; /* tables and CSV */
    bool rates; /* tables: also rates and sizes of messages, of processes or the one table shown */
    bool live;  /* tables: the recording still goes on, so that it has no end yet is no defect */
    bool all; /* tables: every row, not the 100 largest and a row of others. JSON has all always */
};

/* Prints a result. Colour only if `file` is a terminal. Returns 0 or -ENOMEM. What cannot be
 * written ends it; that is left in `file` (ferror), and in errno. */
int show_statistics(const struct communication *communication, FILE *file,
                    const struct show_options *options);

/* ---- parallelism ---- */

/* How much of it is in the traces. */
struct recorded {
    uint64_t lost; /* records */
    bool complete; /* all traces, to their ends */
};

/* One computation that ran once or several times. */
struct parallelism_run {
    struct parallelism *threads; /* each thread is a stream */
    struct parallelism
        *processes; /* each process is one; NULL: no process had threads, it is the same */
    struct recorded recorded;
    const char *name; /* of its first trace */
};

struct parallelism_runs {
    const struct parallelism_options *options; /* with the assignments that rows speak of */
    const struct parallelism_run *at;
    size_t count; /* at least 1 */
};

/* Prints P of every assignment and step, what it rests on and what it assumes; as the median of several runs with
 * the least and the greatest. Returns 0 or -ENOMEM; errors of writing are left in the file. */
int show_parallelism(const struct parallelism_runs *runs, FILE *file,
                     const struct show_options *options);

/* ---- the longest path ---- */

/* Prints what the path goes through, and what is not on it. Returns 0 or -ENOMEM; errors of writing are
 * left in the file. */
int show_critical_path(const struct critical_path *path, const struct recorded *recorded,
                       FILE *file, const struct show_options *options);

/* The same as folded stacks, "process;procedure MICROSECONDS", for flame graphs. */
void show_critical_path_folded(const struct critical_path *path, FILE *file);

/* ---- paths of causality ---- */

struct causality_face {
    bool json;
    bool substrings; /* tables: also the message sequences. JSON has them always */
    bool all;        /* tables: every row, not the 100 largest and a row of others */
};

/* Prints a result. Returns 0 or -ENOMEM; errors of writing are left in the file. */
int show_causality(const struct causality *causality, FILE *file,
                   const struct causality_face *face);

/* Writes the state diagram: who has a request, having received it from whom, and where it goes next. Only the
 * `most` commonest ways are drawn (0: 100), and how many are left out is written there. Returns 0 or -ENOMEM; errors of
 * writing are left in the file. */
int show_causality_diagram(const struct causality *causality, enum graph_format format, size_t most,
                           FILE *file);

/* ---- all of it: the report ---- */

struct history_graph;

/* Every analysis of one recording. What is NULL was not made, and is left out. */
struct report {
    const struct communication *communication;  /* always; by process */
    const struct parallelism_runs *parallelism; /* one run */
    const struct critical_path *path;
    const struct causality *causality;
    struct recorded recorded;
    const struct history_graph *graph; /* drawn in HTML */
    const char *traces;                /* what commands are told to read, for a shell */
};

/* What the analyses have found, in words and figures, the weightiest first. Returns whether they have found anything,
 * or -ENOMEM; errors of writing are left in the file, here and below, where 0 or -ENOMEM is returned. */
int show_report_findings(const struct report *report, FILE *file);

/* What is shown when a recording has ended: the findings, and the tables of the statistics. */
int show_recorded(const struct report *report, FILE *file);

/* The recording, the findings, and the first rows of the tables of each analysis. */
int show_report_text(const struct report *report, FILE *file);

/* One object: findings, and the object of each analysis. */
int show_report_json(const struct report *report, FILE *file);

/* The same as the text, and drawings: one page that needs nothing else. */
int show_report_html(const struct report *report, FILE *file);

/* ---- single records ---- */

/* Set the first four members, and the rest to zero. */
struct record_face {
    FILE *file;
    const struct identities *identities; /* holds what is known when the record is shown */
    bool json;
    bool machines; /* text: name the machine with each process, there are several */
    const struct history_event
        *matched;   /* the record that is shown, with what leads to it; or NULL */
    int64_t second; /* the last wall-clock second, in words: most records share it */
    char second_text[32];
    char zone_text[8];
};

/* Prints a record as one line. Returns 0 or -ENOMEM; errors of writing are left in the file. */
int show_record(struct record_face *face, const struct event *event);

/* ---- the program history as a graph ---- */

struct history_graph;

#define GRAPH_EVENTS 2000 /* unless more are asked for */

/* Which events are in the picture. Those of no stream never are: they stand on nobody's line. */
struct graph_choice {
    int64_t from; /* ns after the first event, by wall clock: it happened not before; 0: all ... */
    int64_t to;   /* ... and before; 0: the end */
    size_t most;  /* events; 0: GRAPH_EVENTS. What is beyond is left out, and counted */
    bool (*accepts)(void *context, const struct event *event); /* of which processes; NULL: all */
    void *context;
};

/* `identities` say who the events speak of; they must live as long as the graph. Returns 0 or -ENOMEM. */
int history_graph_new(const struct graph_choice *choice, const struct identities *identities,
                      struct history_graph **ret_graph);
void history_graph_free(struct history_graph *graph);

/* Every event of the history has to be added, in its order. Times of several machines agree as well as the
 * wall_offset of their events does. Returns 0 or -ENOMEM. */
int history_graph_add(struct history_graph *graph, const struct history_event *event);

/* The same of an event on the longest path, which comes to it by this one of its edges (UINT32_MAX: along its stream). */
int history_graph_add_critical(struct history_graph *graph, const struct history_event *event,
                               uint32_t edge);

/* Events in the picture, and those that have been left out as there were too many. */
size_t history_graph_events(const struct history_graph *graph);
uint64_t history_graph_left_out(const struct history_graph *graph);

/* Writes the picture. Returns 0 or -ENOMEM; errors of writing are left in the file. */
int history_graph_write(const struct history_graph *graph, enum graph_format format, FILE *file);

#endif
