/* SPDX-License-Identifier: MIT */
/*
 * parallelism.h: how parallel a computation was, and would be elsewhere: the parallelism factor P = T / t_max (Miller's
 * thesis, section 5.2.3 and appendix A).
 *
 *      T       CPU time of all streams together
 *      t_max   the longest path through the program history graph: CPU time along streams, and across from the
 *              end of one wait's cause to the end of that wait
 *
 *      stream 1  --- 3 ms ---o SEND
 *                             \ delay
 *      stream 2  - 1 ms - RECEIVE o------- 5 ms -------      T = 9 ms, t_max = 8 ms, P = 1.1
 *
 *      step      machines                       messages
 *      max       one for each stream            take no time
 *      delay     one for each stream            take what they would between the machines of an assignment
 *      sharing   those of an assignment: streams share processors, in elapsed time
 *      appendix-a  the same by the thesis' appendix A as printed, to imitate published numbers
 *
 * Steps 1 and 2 take one pass, with memory only for what lives. Step 3 reads a condensed copy of the graph from a file,
 * 24 bytes for each event that counts, in the order of simulated time.
 *
 * All steps assume that events would happen in the same order elsewhere (thesis, 5.2.3).
 */
#ifndef DPM_PARALLELISM_H
#define DPM_PARALLELISM_H

#include "analysis/analysis.h"

/* ---- how long messages take ---- */

#define DELAY_POINTS 16

/*
 * The delivery time of a message by its length: interpolated between these points, and extrapolated from the last two.
 */
struct delay {
    struct {
        double bytes;
        double time;        /* ns */
    } points[DELAY_POINTS]; /* bytes ascending */
    uint32_t count;         /* 0: no time; 1: the same for every length */
};

/* ns, for a message of so many bytes */
uint64_t delay_of(const struct delay *delay, uint64_t bytes);

/* From one machine of an assignment to another. */
struct delay_between {
    char from[MACHINE_NAME_SIZE];
    char to[MACHINE_NAME_SIZE];
    struct delay delay;
};

struct delays {
    struct delay local;  /* within one machine */
    struct delay remote; /* between machines that are not in `between` */
    const struct delay_between *between;
    size_t between_count;
    /* [between_count], the caller's: set to true if two such machines exist; NULL: not needed */

    bool *met;
};

/* ---- where processes run ---- */

enum assignment_kind {
    AS_RECORDED,
    ONE_MACHINE, /* all processes on one machine */
    ONE_EACH,    /* a machine for each process */
    PER_MACHINE, /* so many to a machine, in the order in which they appear */
    ASSIGNED,    /* by rules */
    SEARCHED,    /* a good one for so many machines, found by a search; requires step sharing */
};

struct assigned_machine {
    char name[MACHINE_NAME_SIZE];
    uint32_t cores;
    double speed; /* relative to the machines of the recording, which have 1 */
};

/* The first rule that matches a process assigns it to a machine. */
struct assigned_process {
    char who[STREAM_NAME_SIZE]; /* its name, its pid, or "*" */
    uint32_t machine;           /* index */
};

struct assignment {
    char name[64];
    enum assignment_kind kind;
    uint32_t per_machine; /* PER_MACHINE; for SEARCHED: number of machines */
    /* of each machine, except for ASSIGNED; 0: as recorded for AS_RECORDED, else 1 */
    uint32_t cores;
    const struct assigned_machine *machines; /* ASSIGNED: [machine_count], at least one ... */
    size_t machine_count;
    /* ... and the rules; processes without one are on the first machine */
    const struct assigned_process *processes;
    size_t process_count;
};

/* ---- options ---- */

/* Tasks of others on the machines of step sharing. */
enum other_load {
    OTHER_LOAD_NONE,
    OTHER_LOAD_GIVEN, /* `other_tasks` on each machine */
    OTHER_LOAD_SEEN, /* as the records show: on a machine of the recording its own, elsewhere the mean */
};

struct parallelism_options {
    const struct assignment *assignments;
    size_t assignment_count;
    struct delays delays;
    bool threads;       /* each thread is a stream; else each process is one */
    bool messages_only; /* the thesis' graph: only arcs of messages, none of waits for outside */
    bool sharing;       /* also step 3 */
    bool appendix_a;    /* ... and the thesis' algorithm for it, as printed */
    bool slices;        /* the slices of step 3 of the last assignment */
    enum other_load other_load;
    double other_tasks;
    /* directory for its copy of the graph; NULL: $TMPDIR, or /var/tmp */
    const char *directory;
    /* Whether a process is left out, by the identity of its first stream. NULL: none is left out. */
    bool (*leaves_out)(void *context, uint32_t origin, const struct stream_record *stream);
    void *context;
};

/* ---- the result ---- */

enum parallelism_step { STEP_MAX, STEP_DELAY, STEP_SHARING, STEP_APPENDIX_A, STEP_COUNT };

/* "max", "delay", "sharing", "appendix-a". */
const char *parallelism_step_name(enum parallelism_step step);

struct parallelism_row {
    uint32_t assignment; /* index into the options' */
    enum parallelism_step step;
    uint64_t longest; /* t_max, ns */
    uint64_t total;   /* T at the speeds of the step's machines, ns */
};

/* Number and total time of one kind of waits. */
struct waits {
    uint64_t count;
    uint64_t time;    /* ns, sum over all waits: those that overlap count several times */
    uint64_t covered; /* ns in which at least one of them was in progress */
};

/* SENDs after which the same stream received. A turn is synchronous (synchronous communication, thesis 5.2.3) if the
 * stream only waited for that RECEIVE: it used next to no CPU time in between, and what it received was sent after the
 * SEND. */
struct turns {
    uint64_t count;
    uint64_t synchronous;
};

#define NO_PARENT UINT32_MAX

struct parallelism_process {
    char name[STREAM_NAME_SIZE + 1];
    bool named_alike; /* another process has its name, and another command line */
    uint32_t pid;
    uint32_t origin, number; /* index of its trace, and number of its first stream there */
    char *command;           /* line; NULL: not known */
    /* index of the machine of the recording; the same for all traces of one machine; and its name */
    uint32_t machine;
    char machine_name[MACHINE_NAME_SIZE + 1];
    uint32_t parent; /* index of the process that created it; NO_PARENT: not known */
    uint32_t streams;
    uint64_t cpu; /* ns */
    /* t_max of the process: the longest path from where it begins (or one of its streams), in step max; ns */
    uint64_t longest;
    struct turns turns;
};

#define PARALLELISM_PATHS_MOST 4096u

/* What a process sends by all paths with one address: that of the serving end, which is its own or its partner's. */
struct parallelism_path {
    uint32_t process; /* index */
    uint8_t kind;     /* enum path_kind */
    char address[ENDPOINT_SIZE];
    struct turns turns;
};

/* The result of a search for an assignment. */
struct parallelism_search {
    uint32_t assignment; /* index into the options' */
    uint32_t *machines;  /* [process_count]: machine of each process */
    uint32_t trials;     /* number of simulated assignments */
    uint64_t longest;    /* t_max of step sharing, ns */
    /* lower bound for any assignment: work spread evenly, or the longest path without delays */
    uint64_t bound;
};

/* How many tasks of others ran or waited for a CPU of a machine, on average while the computation used CPU time. */
struct parallelism_other_load {
    char name[MACHINE_NAME_SIZE + 1];
    uint32_t cpus; /* 0: not known */
    bool known;    /* some record of the machine tells its load */
    double tasks;
};

/* The simulated run of step sharing (thesis, figure 5.5). In a slice each stream advances at one rate, and in the next
 * one some stream does at another one. Times are ns from the beginning of the simulation. */
struct parallelism_slices {
    uint32_t assignment;
    struct parallelism_lane {
        uint32_t process; /* index */
        uint32_t machine; /* number in the assignment */
        char machine_name[MACHINE_NAME_SIZE + 1];
        double begin, end;
    } * lanes; /* of the streams */
    uint32_t lane_count;
    double *ends; /* [count]; the first slice begins at 0 */
    double *
        rates; /* [count * lane_count]: CPU time in a unit of time; 0: it waits, or does not exist */
    uint32_t count;
    struct parallelism_slice_arc {
        uint32_t from, to; /* lanes */
        double sent, came;
        bool message; /* else a creation, an end, buffer space ... */
    } * arcs;
    uint32_t arc_count;
};

#define PARALLELISM_SLICES_MOST     300u
#define PARALLELISM_LANES_MOST      200u
#define PARALLELISM_SLICE_ARCS_MOST 3000u

struct parallelism {
    uint64_t total;    /* T as recorded, ns */
    uint64_t duration; /* ns from first to last event: the elapsed time */
    uint32_t streams;  /* those with an event (or processes, if each is one stream): N of P <= N */
    uint64_t largest;  /* CPU time of the stream that used most, ns */
    uint64_t lived;    /* ns, sum over threads: how long each lived during the recording */
    struct parallelism_process *processes;
    size_t process_count;
    bool has_process_paths;         /* processes[].longest is filled in: needs step sharing */
    struct parallelism_path *paths; /* the first PARALLELISM_PATHS_MOST */
    size_t path_count;
    struct turns other_turns;     /* by paths without a row, or unknown ones */
    struct parallelism_row *rows; /* the steps of each assignment */
    size_t row_count;
    uint32_t machines; /* of the recording */
    struct parallelism_search *searches;
    size_t search_count;
    struct parallelism_other_load
        *other_loads; /* OTHER_LOAD_SEEN: of the machines of the recording */
    size_t other_load_count;
    double other_load;                 /* of all of them */
    struct parallelism_slices *slices; /* NULL: not asked for */

    uint64_t messages;   /* arcs of messages ... */
    uint64_t ordered;    /* ... of these with several possible senders ... */
    uint64_t inferred;   /* ... and matched by order alone */
    uint64_t other_arcs; /* creation, termination, buffer space, connections, ends of files */
    /* for answers from unmonitored peers: arcs of elapsed time from a SEND to a RECEIVE */
    struct waits outside;
    struct waits asleep; /* that nothing explains: timers, disks, stops; arcs of their time */
    struct waits locks;  /* of threads for each other, for unknown reasons; no arcs */
    uint64_t stretches;  /* in the condensed graph */
    struct history_counts matching;
};

void parallelism_free(struct parallelism *parallelism);

/* P of this row. */
double parallelism_factor(const struct parallelism_row *row);

/* The factors of P / N for step delay, as tools for parallel computing name them. Their product is P / N: how evenly streams
 * are loaded, the loss by waiting for each other, the loss by message delays. Each is at most 1; but if machines differ in
 * speed, transfer may be more: the longest path may be on the faster ones. */
struct parallelism_efficiency {
    double load_balance;
    double serialisation;
    double transfer;
};

void parallelism_efficiency(const struct parallelism *parallelism, uint32_t assignment,
                            struct parallelism_efficiency *ret_efficiency);

/* Whether some process had several threads. */
bool parallelism_has_threads(const struct parallelism *parallelism);

/* ---- making the result ---- */

struct parallelism_analysis;

/* An arc within a process beside that of its CPU time: from a SEND to an unmonitored peer to a RECEIVE of its answer
 * (thesis, figure 5.3). */
struct outside_arc {
    uint64_t from; /* number of the SEND in the history */
    uint64_t time; /* ns; its length: the elapsed time from the SEND until the answer had come */
};

/* For a history from which nothing has been read. What the options point to stays the caller's, and must outlive the
 * analysis. Errors: -ENOMEM; others if the copy of the graph cannot be made; with a line in `problem`. */
int parallelism_new(struct history *history, const struct parallelism_options *options,
                    struct parallelism_analysis **ret_analysis, struct problem *problem);
void parallelism_analysis_free(struct parallelism_analysis *analysis);

/* Processes the next event. Errors: -ENOMEM; -ENOSPC and others if the copy of the graph cannot grow; with a line in
 * `problem`. After an error only parallelism_analysis_free is allowed. */
int parallelism_add(struct parallelism_analysis *analysis, const struct history_event *event,
                    struct problem *problem);
struct analysis parallelism_analysis(struct parallelism_analysis *analysis);

/* Whether such an arc leads to the event added last. */
bool parallelism_answers(const struct parallelism_analysis *analysis, struct outside_arc *ret_arc);

/* Makes the result after the last event; afterwards only parallelism_analysis_free is allowed. Errors as in
 * parallelism_add. The result needs neither history nor analysis; free it with parallelism_free. */
int parallelism_finish(struct parallelism_analysis *analysis, struct parallelism **ret_parallelism,
                       struct problem *problem);

/* Does all of the above: reads a history, from which nothing has been read, to its end. Errors: those above, and those
 * of the history. */
int parallelism_read_history(struct history *history, const struct parallelism_options *options,
                             struct parallelism **ret_parallelism, struct problem *problem);

#endif
