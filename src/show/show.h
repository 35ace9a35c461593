/* SPDX-License-Identifier: MIT */
/*
 * show.h: prints records and results: tables and lines for people, JSON for programs.
 *
 *      struct communication --> show_statistics --> tables, or one JSON object
 *      struct parallelism   --> show_parallelism --> tables, or one JSON object
 *      struct critical_path --> show_critical_path --> tables, one JSON object, or folded stacks
 *      struct causality     --> show_causality  --> tables, one JSON object, or a state diagram
 *      all of these         --> show_report_... --> the report: text, one JSON object, or an HTML page
 *      struct event         --> show_record     --> a line, or a line of JSON
 *      struct history_event --> history_graph   --> a picture (SVG), or a graph (DOT)
 *
 * Text for people has units. JSON has ns and bytes; its keys are stable, and the manual pages describe them.
 *
 * Names and addresses come from the recorded programs and may hold any bytes. Nothing that could control a terminal or
 * break JSON is ever printed.
 */
#ifndef DPM_SHOW_H
#define DPM_SHOW_H

#include "analysis/causality/causality.h"
#include "analysis/elapsed/elapsed.h"
#include "analysis/lanes/lanes.h"
#include "analysis/parallelism/critical_path.h"
#include "analysis/parallelism/parallelism.h"
#include "analysis/patterns/patterns.h"
#include "analysis/pauses/pauses.h"
#include "analysis/statistics/statistics.h"
#include "analysis/whatif/whatif.h"
#include "event/event.h"
#include "history/history.h"

#include <stdio.h>

/* ---- text and units ---- */

/* Copies `from` (at most `size` bytes; it ends at its first NUL) as valid UTF-8 without control characters. Each byte
 * that is not allowed becomes '?'. `to` needs size + 1 bytes. */
void show_text(const char *from, size_t size, char *to);

/* Quotes a text for a shell: 'a b' if it holds more than letters, digits and a few other characters. `to` needs four times its length
 * and 3 bytes. Returns where it ends. */
char *shell_quote(const char *text, char *to);

/* Prints a frame of a folded stack: ';' separates frames and ' ' the count, so neither may be in it. */
void show_frame(const char *text, FILE *file);

#define PROCESS_NAME_SIZE 64

/* "name[pid]"; "unknown[pid]" if `name` is empty. `name` as in a STREAM record. */
void show_process(const char *name, uint32_t pid, char text[PROCESS_NAME_SIZE]);

/* The same, but by its command line if another process has the same name (`alike`): "python3 worker.py[12]". */
void show_process_of(const char *name, uint32_t pid, const char *command, bool alike,
                     char text[PROCESS_NAME_SIZE]);

/* The same, by a label (process_label); "": it needs none. */
void show_labelled_process(const char *name, uint32_t pid, const char *label,
                           char text[PROCESS_NAME_SIZE]);

#define PLACED_PROCESS_SIZE (PROCESS_NAME_SIZE + MACHINE_NAME_SIZE + 1)

/* The same, with its machine: "tsp-server[121]@web2"; `machine` "": there is only one. */
void show_placed_process(const char *name, uint32_t pid, const char *label, const char *machine,
                         char text[PLACED_PROCESS_SIZE]);

#define UNIT_SIZE 32

void show_bytes(uint64_t bytes, char text[UNIT_SIZE]); /* "17 B", "1.50 KiB", "23.4 GiB" */
/* "17 ns", "1.50 ms", "23.4 s", "2 h 05 min" */
void show_duration(uint64_t ns, char text[UNIT_SIZE]);
void show_count(uint64_t count, char text[UNIT_SIZE]); /* "1,234,567" */

#define COUNTED_SIZE 64

/* "1 request", "1,234 requests", "2 processes", "2 replies". */
void show_counted(uint64_t count, const char *word, char text[COUNTED_SIZE]);

/* Whether to print colours: `file` is a terminal, and neither NO_COLOR nor TERM=dumb forbids it. */
bool show_has_colours(FILE *file);

/* Prints the text and a newline; the line is already at this column. On a terminal, long text continues on more lines,
 * indented to the same column. */
void show_indented(FILE *file, size_t column, const char *text);

/* Frequency per second, without a unit: "0", "<0.01", "0.25", "12.5", "1,234". */
void show_frequency(double rate, char text[UNIT_SIZE]);

#define DECISION_LINE_SIZE 1024

/* A decision of dpm steer as a line, safe to print: "kept 1: workers of app: 2 -> 8, predicted +304%; requests/s of load 92.0 -> 367, gain
 * +298% (noise 10%)". */
void show_decision(const struct decision_record *decision, char text[DECISION_LINE_SIZE]);

/* A value of its goal; and a gain in thousandths: "+298%". */
void show_goal(uint64_t value, uint32_t flags, char text[UNIT_SIZE]);
void show_gain(double thousandths, char text[UNIT_SIZE]);
void show_noise(double thousandths, char text[UNIT_SIZE]); /* "6%" */

/* Percentage without the sign: "0", "<0.1", "2.5", "37". */
void show_percent(uint64_t part, uint64_t whole, char text[UNIT_SIZE]);

double show_share(uint64_t part, uint64_t whole);     /* 0 to 1; 0 if `whole` is 0 */
double show_rate(uint64_t amount, uint64_t duration); /* per second; `duration` in ns */

/* The smallest of 1, 2 and 5 times a power of ten that is at least `least`: between two marks of a scale. */
double show_tick_step(double least);

/* SVG is a picture; DOT is a graph for Graphviz. */
enum graph_format { GRAPH_SVG, GRAPH_DOT };

/* ---- communication statistics ---- */

enum show_table {
    TABLE_ALL,
    TABLE_PROCESSES,
    TABLE_PAIRS,
    TABLE_PATHS,
    TABLE_FAILURES,
    TABLE_PROCEDURES,
    TABLE_FILES,
    TABLE_INPUTS,
    TABLE_LOADS,
    TABLE_CGROUPS,
    TABLE_DECISIONS,
};

/* How rows are sorted: largest first; names in ascending order. */
enum show_order { ORDER_BYTES, ORDER_MESSAGES, ORDER_CPU, ORDER_RESPONSE, ORDER_NAME };

struct show_options {
    bool json;
    bool csv;              /* one table: `table`, or processes if that is TABLE_ALL */
    bool histogram;        /* tables and JSON: add the distributions of sizes and times */
    enum show_table table; /* which tables to print */
    enum show_order order; /* for tables and CSV */
    bool rates; /* tables: add message rates and sizes, for processes or for the one table shown */
    bool live;  /* tables: the recording is still running; a missing END is no defect */
    bool all;   /* tables: all rows, not the 100 largest and "others"; JSON always has all */
};

/* Prints a result; in colour only on a terminal. Returns 0 or -ENOMEM. A write error ends the output and stays in
 * `file` (ferror) and errno. */
int show_statistics(const struct communication *communication, FILE *file,
                    const struct show_options *options);

/* Prints the processes of a result that communication_since has reduced to its last interval. Returns as above. */
int show_last_interval(const struct communication *since, FILE *file);

/* ---- parallelism ---- */

/* How much of the run the traces hold. */
struct recorded {
    uint64_t lost; /* records */
    bool complete; /* every trace is whole (source_is_whole) */
};

/* A computation that ran once or several times. */
struct parallelism_run {
    struct parallelism *threads;   /* one stream per thread */
    struct parallelism *processes; /* one stream per process; NULL: same as `threads` */
    struct recorded recorded;
    const char *name; /* of its first trace */
};

struct parallelism_runs {
    const struct parallelism_options *options; /* holds the assignments that rows refer to */
    const struct parallelism_run *at;
    size_t count; /* at least 1 */
};

/* Prints P of every assignment and step, with what it is based on and what it assumes. Several runs: the median, least
 * and greatest P. Returns 0 or -ENOMEM; write errors stay in the file. */
int show_parallelism(const struct parallelism_runs *runs, FILE *file,
                     const struct show_options *options);

/* Draws its slices (SVG), which must be there, of the assignment with this name. Returns 0 or -ENOMEM; write errors stay
 * in the file. */
int show_parallelism_slices(const struct parallelism *parallelism, const char *assignment,
                            FILE *file);

/* ---- where the elapsed time went ---- */

enum elapsed_view {
    ELAPSED_VIEW_BEST, /* the run, or else the requests, or else waits */
    ELAPSED_VIEW_REQUESTS,
    ELAPSED_VIEW_WAITS,
    ELAPSED_VIEW_PATH, /* the way that requests take, if the account is of requests */
};

/* Prints what the time was spent on; JSON has all views. Returns 0 or -ENOMEM; write errors stay in the file. */
int show_elapsed(const struct elapsed *elapsed, const struct recorded *recorded, FILE *file,
                 const struct show_options *options, enum elapsed_view view);

/* Prints all time of all threads as folded stacks, "machine;program;thread;kind;procedure MICROSECONDS", for flame graphs. */
void show_profile_folded(const struct lanes *lanes, FILE *file);

/* ---- what-ifs for requests ---- */

/* Prints what was recorded, what the model makes of it, and what it would be then. `cpus`: of each machine; 0: not known.
 * Returns 0 or -ENOMEM; write errors stay in the file. */
int show_whatif(const struct whatif_model *model, const struct whatif_answer *answer, uint32_t cpus,
                FILE *file, const struct show_options *options);

/* The same for each change that there is, best first. */
int show_whatif_search(const struct whatif_model *model, const struct whatif_found *found,
                       uint32_t cpus, FILE *file, const struct show_options *options);

/* The same of the elapsed time of a run. */
int show_whatif_run(const struct whatif_run_answer *answer, uint32_t cpus, FILE *file,
                    const struct show_options *options);
int show_whatif_run_search(const struct whatif_run_found *found, uint32_t cpus, FILE *file,
                           const struct show_options *options);

/* ---- the critical path (Miller: longest path) ---- */

/* Prints what the critical path consists of, and what is not on it. `elapsed`: if it is of requests, their path is shown
 * instead (JSON has both); NULL: never. Returns 0 or -ENOMEM; write errors stay in the file. */
int show_critical_path(const struct critical_path *path, const struct elapsed *elapsed,
                       const struct recorded *recorded, FILE *file,
                       const struct show_options *options);

/* Prints the critical path as folded stacks, "process;procedure MICROSECONDS", for flame graphs; that of requests as
 * "process;spent on;what MICROSECONDS". */
void show_critical_path_folded(const struct critical_path *path, const struct elapsed *elapsed,
                               FILE *file);

/* ---- request paths (Miller: paths of causality) ---- */

struct causality_face {
    bool json;
    bool substrings; /* tables: add the message sequences; JSON always has them */
    bool all;        /* tables: all rows, not the 100 largest and "others" */
};

/* Prints a result. Returns 0 or -ENOMEM; write errors stay in the file. */
int show_causality(const struct causality *causality, FILE *file,
                   const struct causality_face *face);

/* Writes the state diagram. A state is a process that holds a request, and where the request came from; an arc leads to
 * the next process. Draws only the `most` most frequent arcs (0: 100), and writes how many it leaves out. Returns 0 or
 * -ENOMEM; write errors stay in the file. */
int show_causality_diagram(const struct causality *causality, enum graph_format format, size_t most,
                           FILE *file);

/* ---- the report: all analyses ---- */

struct history_graph;

/* All analyses of one recording. NULL: the analysis was not made, and the report leaves it out. */
struct report {
    const struct communication *communication;  /* required; one row per process */
    const struct parallelism_runs *parallelism; /* one run */
    const struct critical_path *path;
    const struct causality *causality;
    const struct elapsed *elapsed;      /* or NULL */
    const struct lanes *lanes;          /* or NULL; drawn in HTML */
    const struct pauses *pauses;        /* or NULL */
    const struct patterns *patterns;    /* or NULL */
    const struct whatif_found *changes; /* or NULL */
    struct recorded recorded;
    const struct history_graph *graph; /* drawn in HTML */
    const char *traces; /* trace names, quoted for a shell, for suggested commands; NULL: none */
    const char *times;  /* options that select the same time of them: " --from 10s"; NULL: all */
    bool all;           /* also findings that explain nothing (JSON always has them) */
};

/* Prints the findings, most important first. Returns 1 if there are any, else 0, or -ENOMEM. Here and below, write
 * errors stay in the file; the other functions return 0 or -ENOMEM. */
int show_report_findings(const struct report *report, FILE *file);

/* Prints the report at the end of a recording: findings and statistics tables. */
int show_recorded(const struct report *report, FILE *file);

/* Prints the recording, the findings, and the first rows of each analysis's tables. */
int show_report_text(const struct report *report, FILE *file);

/* Prints one object: the findings, and one object per analysis. */
int show_report_json(const struct report *report, FILE *file);

/* Prints the text report and drawings as one self-contained page. */
int show_report_html(const struct report *report, FILE *file);

/* ---- single records ---- */

/* Set the first four members; zero the rest. */
struct record_face {
    FILE *file;
    const struct identities *identities; /* what is known when the record is shown */
    bool json;
    bool machines; /* text: name the machine with each process (several machines) */
    const struct history_event *matched; /* `event` with the edges that lead to it; or NULL */
    struct cpu_waits cpu_waits;
    struct no_cpu no_cpu; /* of the event: show_note_record has set it */
    int64_t second;       /* wall-clock second that the texts below hold; most records share it */
    char second_text[32];
    char zone_text[8];
};

/* To be called for each event before show_record, also for those that are not shown. */
void show_note_record(struct record_face *face, const struct event *event);

/* Prints a record as one line. Returns 0 or -ENOMEM; write errors stay in the file. */
int show_record(struct record_face *face, const struct event *event);

/* ---- the program history as a graph ---- */

struct history_graph;

#define GRAPH_EVENTS 2000 /* default limit */

/* Which events to draw. Events without a stream are never drawn: they have no line in the picture. */
struct graph_choice {
    /* ns after the first record, by wall clock; earlier events are left out. 0: none. */
    int64_t from;
    int64_t to;  /* ns after the first record; this and later ones are left out; 0: none */
    size_t most; /* limit on events; 0: GRAPH_EVENTS. Events beyond it are counted, not drawn */
    bool (*accepts)(void *context, const struct event *event); /* selects processes; NULL: all */
    void *context;
};

/* `identities` name the processes and connections of the events and must outlive the graph. Returns 0 or -ENOMEM. */
int history_graph_new(const struct graph_choice *choice, const struct identities *identities,
                      struct history_graph **ret_graph);
void history_graph_free(struct history_graph *graph);

/* What analyses say of an event. */
struct graph_marks {
    bool critical; /* it is on the critical path ... */
    uint32_t edge; /* ... which reaches it by this edge; UINT32_MAX: along the event's own stream */
    bool answers;  /* it receives an answer from outside ... */
    uint64_t sent; /* ... to the SEND with this number ... */
    uint64_t took; /* ... which took so long, ns */
};

/* Add every event of the history, in its order. Times of several machines agree as well as the wall_offset of their
 * events does. `marks` may be NULL. Returns 0 or -ENOMEM. */
int history_graph_add(struct history_graph *graph, const struct history_event *event,
                      const struct graph_marks *marks);

/* Events in the picture, and events left out because of the limit `most`. */
size_t history_graph_events(const struct history_graph *graph);
uint64_t history_graph_left_out(const struct history_graph *graph);

/* Writes the picture. Returns 0 or -ENOMEM; write errors stay in the file. */
int history_graph_write(struct history_graph *graph, enum graph_format format, FILE *file);

#endif
