/* SPDX-License-Identifier: MIT */
/*
 * critical_path.h: the critical path through the program history graph: what it consists of, what is not on it, and how
 * much shorter it would be if something were faster.
 *
 * The thesis' longest path is that of the whole graph. Here waits for timers and disks have a length, too, so it would
 * be that of any helper which only sleeps until the recording ends. So the path ends where the work ended (`end`): with
 * the command, or with what was done last for others.
 *
 *      stream 1  ==== 3 ms ====o SEND                    === on the path
 *                               \\
 *      stream 2  - 1 ms - RECEIVE o==== 5 ms =====       1 ms of slack
 *
 * Traces are read twice. The first reading makes the graph, in which the path is found from its end. The second reading
 * finds the events on the path, since only events have procedures and paths.
 */
#ifndef DPM_CRITICAL_PATH_H
#define DPM_CRITICAL_PATH_H

#include "analysis/parallelism/parallelism.h"

/* The part of the path in one process. */
struct critical_process {
    uint64_t cpu; /* ns of CPU time on the path */
    /* ns of waits on the path: for answers from unmonitored peers, timers, disks */
    uint64_t outside;
    /* ns: any part of its CPU time could take that much longer without making the longest path longer */
    uint64_t slack;
    bool has_slack; /* it has used CPU time */
};

/* Arcs on the path from one process to another: messages over one path, or arcs of another kind. */
struct critical_arcs {
    enum edge_kind kind; /* EDGE_EXACT for messages of any certainty */
    uint32_t from, to;   /* processes: indexes into parallelism.processes */
    uint32_t path_kind;  /* enum path_kind; 0: no path */
    uint64_t count;
    uint64_t bytes;
    uint64_t delay;     /* ns, of the model */
    uint64_t in_flight; /* ns, as recorded, of messages */
};

struct critical_procedure {
    char module[MODULE_NAME_SIZE + 1];  /* "": not known */
    char name[PROCEDURE_NAME_SIZE + 1]; /* "": not known */
    uint32_t process;                   /* index into parallelism.processes */
    uint64_t cpu;                       /* ns on the path, up to the calls that it made */
};

enum what_if_scope {
    SCOPE_NAME, /* every process with its name */
    SCOPE_ONE,  /* it alone */
    SCOPE_TREE, /* it, the processes that it created, those that they created ... */
};

/* The effect of one change. */
struct what_if {
    enum what_if_scope scope;
    uint32_t process; /* this one (index) and others of `scope` ... */
    double speed;     /* ... are so many times as fast; 0: instead ... */
    uint32_t to;      /* ... its messages to processes with the name of this one take no time */
    uint64_t longest; /* length of the path after that, ns ... */
    uint64_t whole;   /* ... and t_max ... */
    uint64_t total;   /* ... and T: what is faster also uses less CPU time */
};

/* Where the path ends. */
enum critical_end {
    END_COMMAND, /* at the end of the command of the first trace */
    /* where the longest work ended that was done for others: since the latest message on the path to it, waits for timers
     * and disks do not outweigh CPU time */
    END_OF_WORK,
    END_BUSIEST, /* at the end of the thread with most CPU time: it has far more than any such work */
    END_LONGEST, /* at the end of the longest path of the whole graph, as the thesis has it */
};

/* What carries at least CARRIER_SHARE of the CPU time on the path: the smallest such part of the tree of processes. */
#define CARRIER_SHARE 0.7

struct critical_carrier {
    uint32_t process; /* index; NO_PARENT: no part but all of it */
    bool alone;       /* it carries that much itself; else with the processes that it created */
    uint64_t cpu;     /* ns on the path */
    uint64_t longest; /* length of the path if they were twice as fast */
};

struct critical_path {
    struct parallelism *parallelism; /* T, processes, and the data behind them */
    enum critical_end end;
    bool threads;     /* each thread is a stream; else each process is one */
    uint64_t whole;   /* t_max: length of the longest path of the whole graph, ns ... */
    uint64_t total;   /* ... and T, on machines of the same speeds */
    uint64_t longest; /* length of this path, ns */
    uint64_t elapsed; /* ns from the first event of all traces to the end of the path */
    /* ns that messages on it were in flight, as recorded: no part of `longest`, since a model has delays of its own */
    uint64_t in_flight;
    uint64_t unknown_flights;           /* messages on it without a known time in flight */
    uint64_t cpu;                       /* part of it: CPU time ... */
    uint64_t delay;                     /* ... messages in flight ... */
    uint64_t outside;                   /* ... answers from unmonitored peers, and other waits */
    uint64_t events;                    /* number of events on it */
    struct critical_process *processes; /* [parallelism->process_count] */
    struct critical_arcs *arcs;         /* highest count first */
    size_t arc_count;
    struct critical_procedure *procedures; /* most cpu first */
    size_t procedure_count;
    struct what_if *what_ifs;
    size_t what_if_count;
    struct what_if
        *alone; /* [what_if_count]: of its processes the one with most of the path, alone */
    struct critical_carrier carrier;
    bool shares_parallelism; /* it is freed by others */
};

void critical_path_free(struct critical_path *path);

/* A change to compute, by names as the user gives them. */
struct what_if_asked {
    const char *process;
    double speed;   /* 0: no delay */
    const char *to; /* if speed is 0 */
};

struct critical_path_options {
    struct parallelism_options parallelism; /* its first assignment counts; `sharing` is ignored */
    bool delays;                            /* of step delay; else of step max */
    bool whole;                             /* END_LONGEST */
    const struct what_if_asked *asked;
    size_t asked_count;
    /* if nothing is in `asked`: number of processes to try at twice their speed, those with most of the path */
    size_t offered;
    /* What the wait was for that this event ended, below RUN_KINDS; for critical_path_simulate. NULL: not known (0). */
    unsigned (*kind_of_wait)(const struct history *history, const struct recorded_types *recorded,
                             const struct history_event *event);
};

struct critical_path_reading;

/*
 *      critical_path_new(history)     every event: critical_path_add     critical_path_find, critical_path_finish
 *
 * For a picture, the path can be followed in a second reading, between these two: critical_path_again(again), every event:
 * critical_path_add. Both histories are of the same traces, and nothing has been read from them. What the options point to stays the
 * caller's, and must outlive the reading. Errors of all functions: those of parallelism_new and parallelism_add; after
 * an error only critical_path_reading_free is allowed.
 */
int critical_path_new(struct history *history, const struct critical_path_options *options,
                      struct critical_path_reading **ret_reading, struct problem *problem);
void critical_path_reading_free(struct critical_path_reading *reading);

/* Processes the next event of either reading. -ESTALE: the traces have changed since the first reading. */
int critical_path_add(struct critical_path_reading *reading, const struct history_event *event,
                      struct problem *problem);
struct analysis critical_path_analysis(struct critical_path_reading *reading);

/* Finds the path, after the last event of the first reading. -EINVAL: a process in `asked` is not in the traces. */
int critical_path_find(struct critical_path_reading *reading, struct problem *problem);

/* The parallelism, of the same graph and the same options. After critical_path_find; the caller frees it when the path is not
 * used any more. Errors: those of parallelism_finish. */
int critical_path_parallelism(struct critical_path_reading *reading,
                              struct parallelism **ret_parallelism, struct problem *problem);

/* Begins the second reading. */
void critical_path_again(struct critical_path_reading *reading, struct history *again);

/* Whether the event added last is on the path. *ret_edge: the edge of the event by which the path comes to it;
 * UINT32_MAX: along its stream. Always false in the first reading. */
bool critical_path_passes(const struct critical_path_reading *reading, uint32_t *ret_edge);

/* Whether the arc of an answer from outside leads to the event added last. */
bool critical_path_answers(const struct critical_path_reading *reading,
                           struct outside_arc *ret_arc);

/* ---- the same run, with changes ---- */

#define RUN_KINDS 64u /* of waits */

/* What a process waits for on the path of a simulated run. */
struct run_wait {
    uint32_t process; /* index */
    uint32_t from;    /* of a message: its sender; else NO_PARENT */
    unsigned kind;    /* of no message: as options.kind_of_wait said */
    uint64_t time;    /* ns, as recorded; of a message: in flight */
};

enum run_what { RUN_COMPUTES, RUN_NO_CPU, RUN_IN_FLIGHT, RUN_WAITS };

struct run_changes {
    const double *speeds;     /* [process]: how many times as fast it computes */
    const uint32_t *machines; /* [process]: numbers of machines; NULL: as recorded */
    /* ns that a wait, or a message, now takes; NULL: as recorded */
    double (*wait)(void *context, const struct run_wait *wait);
    uint32_t cpus; /* of each machine; 0: enough */
    double no_cpu; /* part of the recorded time without a CPU that others caused */
    /* It stays as long as it was. Otherwise it is in proportion to the CPU time, and ends with a wait that takes no time any more. */
    bool no_cpu_stays;
    bool
        calls_go; /* with a wait that takes no time any more goes what was computed just before it */
    /* Called for the parts of the path of the simulated run, from its end back to its beginning; NULL: not asked for. They
     * add up to its time. `kind`: of RUN_WAITS; of RUN_IN_FLIGHT: the process that sent. `time`: ns. */
    void (*part)(void *context, uint32_t process, enum run_what what, unsigned kind, double time);
    void *context;
};

/* Simulates the run from its beginning to the end of the path: threads share the CPUs of their machines, messages are in
 * flight for as long as they were. *ret_time: ns. Only with options.kind_of_wait, after critical_path_find, also after critical_path_finish, as long as that
 * result exists. Errors: -ENOMEM, -ENOSPC ... with a line in `problem`. */
int critical_path_simulate(struct critical_path_reading *reading, const struct run_changes *changes,
                           double *ret_time, struct problem *problem);

/* How many intervals a simulation goes through. */
uint64_t critical_path_size(const struct critical_path_reading *reading);

/* Makes the result, after the last event of the second reading, if there is one. It needs neither history nor reading; free it with
 * critical_path_free. */
int critical_path_finish(struct critical_path_reading *reading, struct critical_path **ret_path,
                         struct problem *problem);

#endif
