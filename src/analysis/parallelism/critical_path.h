/* SPDX-License-Identifier: MIT */
/*
 * critical_path.h: the longest path through the program history graph itself: what it goes through, what is not
 * on it, and how much shorter it would be if something were quicker.
 *
 *      stream 1  ==== 3 ms ====o SEND                    === on the path
 *                               \\
 *      stream 2  - 1 ms - RECEIVE o==== 5 ms =====       1 ms of slack
 *
 * Traces are read twice: first the graph is made, and the path found in it from its end; then each event is seen
 * again and told whether it is on the path, for only the events know their procedures and paths.
 */
#ifndef DPM_CRITICAL_PATH_H
#define DPM_CRITICAL_PATH_H

#include "analysis/parallelism/parallelism.h"

/* What it goes through of one process. */
struct critical_process {
    uint64_t cpu;     /* ns on the path */
    uint64_t outside; /* ns of waits on it for answers from outside, timers, disks */
    /* ns: so much longer could any part of its processor time take, and no path were longer */
    uint64_t slack;
    bool has_slack; /* it used some */
};

/* Arcs on the path from one process to another, of messages over one path, or of another kind. */
struct critical_arcs {
    enum edge_kind kind; /* EDGE_EXACT for all messages */
    uint32_t from, to;   /* processes: index into parallelism.processes */
    uint32_t path_kind;  /* enum path_kind; 0: of no path */
    uint64_t count;
    uint64_t bytes;
    uint64_t delay; /* ns */
};

struct critical_procedure {
    char module[MODULE_NAME_SIZE + 1];  /* "": not known */
    char name[PROCEDURE_NAME_SIZE + 1]; /* "": not known */
    uint32_t process;                   /* index into parallelism.processes */
    uint64_t cpu;                       /* ns on the path, up to calls that it made */
};

/* If something were different: */
struct what_if {
    uint32_t process; /* every process of this name (index of one) ... */
    double speed;     /* ... were so many times as fast; 0: instead */
    uint32_t to;      /* ... its messages to processes of this one's name took no time */
    uint64_t longest; /* then t_max were, ns */
};

struct critical_path {
    struct parallelism *parallelism;    /* T, processes, what it rests on */
    uint64_t longest;                   /* t_max, ns */
    uint64_t cpu;                       /* of it: processor time, */
    uint64_t delay;                     /* messages under way, */
    uint64_t outside;                   /* answers from outside and other waits */
    uint64_t events;                    /* on it */
    struct critical_process *processes; /* [parallelism->process_count] */
    struct critical_arcs *arcs;         /* the most first */
    size_t arc_count;
    struct critical_procedure *procedures; /* most cpu first */
    size_t procedure_count;
    struct what_if *what_ifs;
    size_t what_if_count;
};

void critical_path_free(struct critical_path *path);

/* What is asked: by names, as the user has them. */
struct what_if_asked {
    const char *process;
    double speed;   /* 0: no delay */
    const char *to; /* if speed is 0 */
};

struct critical_path_options {
    struct parallelism_options parallelism; /* with one assignment; `sharing` is not looked at */
    bool delays;                            /* step delay; else step max */
    const struct what_if_asked *asked;
    size_t asked_count;
    size_t
        offered; /* so many processes with most on the path are tried at twice their speed, unless some are asked */
};

struct critical_path_reading;

/*
 *      critical_path_new(history)     every event: critical_path_add     critical_path_find
 *      critical_path_again(again)     every event: critical_path_add     critical_path_finish
 *
 * Both histories are of the same traces, and nothing has been read of them. What the options point to stays the caller's,
 * and must live as long as the reading. Errors of all: those of parallelism_new and parallelism_add; after one only
 * critical_path_reading_free is allowed.
 */
int critical_path_new(struct history *history, const struct critical_path_options *options,
                      struct critical_path_reading **ret_reading, struct problem *problem);
void critical_path_reading_free(struct critical_path_reading *reading);

/* Takes the next event of either reading into account. -ESTALE: the traces have changed since the first. */
int critical_path_add(struct critical_path_reading *reading, const struct history_event *event,
                      struct problem *problem);
struct analysis critical_path_analysis(struct critical_path_reading *reading);

/* Finds the path, after the last event of the first reading. -EINVAL: a process in `asked` is not in the traces. */
int critical_path_find(struct critical_path_reading *reading, struct problem *problem);

/* The second reading begins. */
void critical_path_again(struct critical_path_reading *reading, struct history *again);

/* Whether the event that was added last is on the path, and by which of its edges the path comes to it (UINT32_MAX: along
 * its stream). Never in the first reading. */
bool critical_path_passes(const struct critical_path_reading *reading, uint32_t *ret_edge);

/* The result, after the last event of the second reading. It stands alone: free it with critical_path_free. */
int critical_path_finish(struct critical_path_reading *reading, struct critical_path **ret_path,
                         struct problem *problem);

#endif
