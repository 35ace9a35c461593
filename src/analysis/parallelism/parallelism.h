/* SPDX-License-Identifier: MIT */
/*
 * parallelism.h: how parallel a computation was, and would be elsewhere: P = T / t_max (Miller's thesis,
 * section 5.2.3 and appendix A).
 *
 *      T       processor time of all streams together
 *      t_max   the longest path through the program history graph: processor time along streams, and
 *              across from the end of one wait's cause to the end of that wait
 *
 *      stream 1  --- 3 ms ---o SEND
 *                             \ delay
 *      stream 2  - 1 ms - RECEIVE o------- 5 ms -------      T = 9 ms, t_max = 8 ms, P = 1.1
 *
 *      step      machines                       messages
 *      max       one for each stream            take no time
 *      delay     one for each stream            take what they would between the machines of an assignment
 *      sharing   those of an assignment: streams share processors, in elapsed time
 *
 * Steps 1 and 2 are one pass and need no more memory than what lives; step 3 goes through a condensed copy of
 * the graph in a file, 24 bytes for each event that counts, in the order of simulated time.
 *
 * All of it rests on the assumption that events would stand in the same order elsewhere (thesis, 5.2.3).
 */
#ifndef DPM_PARALLELISM_H
#define DPM_PARALLELISM_H

#include "analysis/analysis.h"

/* ---- how long messages take ---- */

#define DELAY_POINTS 16

/* The delivery time of a message by its length: through these points, and on as between the last two. */
struct delay {
    struct {
        double bytes;
        double time;        /* ns */
    } points[DELAY_POINTS]; /* bytes ascending */
    uint32_t count;         /* 0: no time at all; 1: the same for every length */
};

/* ns, of a message of so many bytes. */
uint64_t delay_of(const struct delay *delay, uint64_t bytes);

/* Between two machines of an assignment, from one to the other. */
struct delay_between {
    char from[MACHINE_NAME_SIZE];
    char to[MACHINE_NAME_SIZE];
    struct delay delay;
};

struct delays {
    struct delay local;  /* within a machine */
    struct delay remote; /* between machines that are not in `between` */
    const struct delay_between *between;
    size_t between_count;
    /* [between_count], the caller's: set where there are two such machines; NULL: nobody asks */
    bool *met;
};

/* ---- where processes run ---- */

enum assignment_kind {
    AS_RECORDED,
    ONE_MACHINE, /* all on one */
    ONE_EACH,    /* a machine for each process */
    PER_MACHINE, /* so many to a machine, in the order in which they appear */
    ASSIGNED,    /* as rules say */
    SEARCHED, /* a good one for so many machines, which is looked for (step sharing must be asked for) */
};

struct assigned_machine {
    char name[MACHINE_NAME_SIZE];
    uint32_t cores;
    double speed; /* of the machines where it was recorded: 1 */
};

/* The first rule that is true of a process says where it runs. */
struct assigned_process {
    char who[STREAM_NAME_SIZE]; /* its name, its pid, or "*" */
    uint32_t machine;           /* index */
};

struct assignment {
    char name[64];
    enum assignment_kind kind;
    uint32_t per_machine; /* PER_MACHINE; SEARCHED: how many machines there are */
    uint32_t cores; /* of each machine but those of ASSIGNED; 0: AS_RECORDED as recorded, else 1 */
    const struct assigned_machine *machines; /* ASSIGNED: [machine_count], at least one ... */
    size_t machine_count;
    const struct assigned_process
        *processes; /* ... and the rules; who has none is on the first machine */
    size_t process_count;
};

/* ---- what is asked ---- */

struct parallelism_options {
    const struct assignment *assignments;
    size_t assignment_count;
    struct delays delays;
    bool threads;       /* each thread is a stream; else each process is one */
    bool messages_only; /* the thesis' graph: arcs of messages, and nothing of outside */
    bool sharing;       /* step 3, too */
    const char
        *directory; /* ... where its copy of the graph has room; NULL: $TMPDIR, or /var/tmp */
    /* Whether a process is left out, by what is known of its first stream; NULL: none is. */
    bool (*leaves_out)(void *context, const struct stream_record *stream);
    void *context;
};

/* ---- the result ---- */

enum parallelism_step { STEP_MAX, STEP_DELAY, STEP_SHARING, STEP_COUNT };

/* "max", "delay", "sharing". */
const char *parallelism_step_name(enum parallelism_step step);

struct parallelism_row {
    uint32_t assignment; /* index into the options' */
    enum parallelism_step step;
    uint64_t longest; /* t_max, ns */
};

/* Waits of a kind, and how long they were together. */
struct waits {
    uint64_t count;
    uint64_t time; /* ns */
};

/* SENDs that the same stream followed by a RECEIVE, and those of them after which it had nothing to do but to wait for
 * that: next to no processor time was between, and what it received was sent since (synchronous communication,
 * thesis 5.2.3). */
struct turns {
    uint64_t count;
    uint64_t synchronous;
};

struct parallelism_process {
    char name[STREAM_NAME_SIZE + 1];
    uint32_t pid;
    uint32_t machine; /* where it was recorded: index, the same for traces of one machine */
    uint32_t streams;
    uint64_t cpu; /* ns */
    struct turns turns;
};

#define PARALLELISM_PATHS_MOST 4096u

/* What a process sends by the paths of one address: that of who serves there, be it the process or its partner. */
struct parallelism_path {
    uint32_t process; /* index */
    uint8_t kind;     /* enum path_kind */
    char address[ENDPOINT_SIZE];
    struct turns turns;
};

/* An assignment that was searched for. */
struct parallelism_search {
    uint32_t assignment; /* index into the options' */
    uint32_t *machines;  /* [process_count]: of each process */
    uint32_t trials;     /* assignments that were simulated */
    uint64_t longest;    /* t_max of step sharing, ns */
    uint64_t
        bound; /* no assignment can be shorter: work spread evenly, or the longest path without delays */
};

struct parallelism {
    uint64_t total;    /* T, ns */
    uint64_t duration; /* ns from the first event to the last: the elapsed time */
    uint32_t streams;  /* that had an event (or processes, if each is one): N of P <= N */
    uint64_t largest;  /* processor time of the stream that used most, ns */
    struct parallelism_process *processes;
    size_t process_count;
    struct parallelism_path *paths; /* the first PARALLELISM_PATHS_MOST */
    size_t path_count;
    struct turns other_turns;     /* by paths without a row, or of which nothing is known */
    struct parallelism_row *rows; /* for each assignment its steps */
    size_t row_count;
    uint32_t machines; /* where it was recorded */
    struct parallelism_search *searches;
    size_t search_count;

    uint64_t messages;   /* arcs of messages ... */
    uint64_t ordered;    /* ... of which these lead to one of several candidates ... */
    uint64_t inferred;   /* ... and these by order alone */
    uint64_t other_arcs; /* creation, termination, room, connections, ends of files */
    struct waits
        outside; /* for answers from outside: arcs of elapsed time from a SEND to a RECEIVE */
    struct waits asleep; /* for what nothing explains, timers, disks, stops: arcs of their time */
    struct waits locks;  /* of threads for each other: not known for what, and no arcs */
    uint64_t stretches;  /* of the condensed graph */
    struct history_counts matching;
};

void parallelism_free(struct parallelism *parallelism);

/* P of this row. */
double parallelism_factor(const struct parallelism *parallelism, const struct parallelism_row *row);

/* The factors of P / N in the words of tools for parallel computing, each at most 1, and their product is P / N of
 * step delay: how evenly streams are loaded; what waiting for each other leaves of that; what messages leave. */
struct parallelism_efficiency {
    double load_balance;
    double serialisation;
    double transfer;
};

void parallelism_efficiency(const struct parallelism *parallelism, uint32_t assignment,
                            struct parallelism_efficiency *ret_efficiency);

/* Whether some process had several threads. */
bool parallelism_has_threads(const struct parallelism *parallelism);

/* ---- making it ---- */

struct parallelism_analysis;

/* Of a history that nothing has been read of. What the options point to stays the caller's, and must live as long as the
 * analysis. Errors: -ENOMEM; others if the copy of the graph cannot be made; a line in `problem`. */
int parallelism_new(struct history *history, const struct parallelism_options *options,
                    struct parallelism_analysis **ret_analysis, struct problem *problem);
void parallelism_analysis_free(struct parallelism_analysis *analysis);

/* Takes the next event into account. Errors: -ENOMEM; -ENOSPC and others if the copy of the graph cannot grow; a line in
 * `problem`. After one only parallelism_analysis_free is allowed. */
int parallelism_add(struct parallelism_analysis *analysis, const struct history_event *event,
                    struct problem *problem);
struct analysis parallelism_analysis(struct parallelism_analysis *analysis);

/* The result, after the last event; then only parallelism_analysis_free is allowed. Errors as parallelism_add. The result
 * stands alone: free it with parallelism_free. */
int parallelism_finish(struct parallelism_analysis *analysis, struct parallelism **ret_parallelism,
                       struct problem *problem);

/* All of it: reads a history, which nothing has been read of, to its end. Errors: those above, and the history's. */
int parallelism_read_history(struct history *history, const struct parallelism_options *options,
                             struct parallelism **ret_parallelism, struct problem *problem);

#endif
