/* SPDX-License-Identifier: MIT */
/* critical_path_private.h: what the files of the critical path share. Private to parallelism/. */
#ifndef DPM_CRITICAL_PATH_PRIVATE_H
#define DPM_CRITICAL_PATH_PRIVATE_H

#include "analysis/parallelism/critical_path.h"
#include "analysis/parallelism/program_graph.h"
#include "base/scratch.h"

/*
 * What an arc to a chain means, where waits for timers and disks are on the path of one side. Their time is elapsed time,
 * and the CPU time of others is less than what elapsed meanwhile; so a thread that only sleeps would seem to be always
 * later than threads that work. What was recorded decides instead:
 */
enum arc_rule {
    ARC_LATER, /* the later one of both counts, as the thesis has it */
    ARC_WOKE, /* a chain that has only slept was woken by one that works: the chain comes from there */
    /* a chain that works has waited a moment for one that had slept: that delays it by what it waited, and no more */
    ARC_WAITED,
    ARC_OWN, /* the same, when the other one was not so late: no delay */
};

/* Where a stretch is in time. */
struct place {
    uint64_t end : 59; /* ns since the beginning */
    uint64_t rule : 2; /* enum arc_rule */
    /* on the path to it, waits for timers and disks outweigh what was done since the latest message: nothing ends there */
    uint64_t idle : 1;
    uint64_t by_wait : 1;  /* its wait determines `end`, not its own chain */
    uint64_t critical : 1; /* it is on the path */
};

#define PLACE_END_MOST ((1ULL << 59) - 1)

/* A program counter of a process, and the CPU time on the path that it has. */
struct critical_pc {
    uint64_t pc;
    uint64_t cpu;
    uint32_t origin;
    uint32_t image;
    uint32_t process;
};

/* What is noted for a stretch while events are read, as it may be on the path. */
struct fact {
    uint64_t time; /* of the event that made it, by the first origin's clock */
    uint64_t pc;   /* of its chain then, in `image` */
    /* MESSAGE: how long it was in flight, or FLIGHT_UNKNOWN; SINCE, SLEEP: options.kind_of_wait */
    uint64_t flight;
    uint32_t image;
    uint16_t path_kind; /* MESSAGE: the kind of its path */
    uint8_t edge_kind;  /* of the edge that it waits for; EDGE_KIND_COUNT: none */
    bool begins : 1;    /* the first one of its event */
    bool after : 1;     /* after the last event */
};

_Static_assert(sizeof(struct fact) == 32, "they are as many as the stretches");

#define FLIGHT_UNKNOWN UINT64_MAX

/* Sums of the path. */
struct critical_parts {
    struct intern pc_keys;
    struct critical_pc *pcs;
    size_t pc_room;
    struct intern arc_keys;
    struct critical_arcs *arcs;
    size_t arc_room;
    /* by the history's index of an end: when the first message came there since its last RECEIVE; 0: none has */
    uint64_t *arrived;
    size_t arrived_room;
    uint64_t arrived_now; /* the same for the present RECEIVE */
};

void critical_parts_done(struct critical_parts *parts);

struct critical_path_reading {
    struct critical_path_options options;
    struct graph graph;
    struct parallelism *parallelism; /* owned by the result */
    struct place *places;            /* [stretches], in a file */
    uint64_t *tails;                 /* [stretches], in a file */
    struct stretches place_file;
    struct stretches tail_file;
    uint64_t *chains;  /* [chains]: end of the latest stretch of each */
    uint64_t *idled;   /* [chains]: see note_idle */
    double *speeds;    /* [processes]: of their CPU time, now */
    bool notes_idle;   /* places[].idle and .rule are to be filled in */
    bool plain;        /* every rule is ARC_LATER */
    uint32_t end;      /* stretch at whose end the path ends; NO_STRETCH: none */
    uint32_t busiest;  /* END_BUSIEST: the last stretch of that chain */
    uint32_t path_end; /* where the path ends in the recording: stretch */
    /* for critical_path_simulate, of the stretches: ns without a CPU (float), and when they end (double) */
    struct scratch no_cpu, run_ends;
    struct scratch facts;              /* of the stretches */
    const struct history_event *event; /* while it is added, in the first reading; NULL: none */
    struct {
        uint32_t origin;
        uint64_t time;
    } latest;   /* event */
    bool timed; /* ... `time` is its time, by the first origin's clock */
    uint64_t time;
    bool critical; /* the event of the second reading is on the path ... */
    uint32_t edge; /* ... which comes to it by this edge; UINT32_MAX: along its stream */
    struct critical_parts parts;
    struct critical_path *result;
};

/* Whether an arc of the recorded graph leads to this stretch. */
static inline bool stretch_has_arc(const struct stretch *stretch)
{
    return stretch->wait >= STRETCH_MESSAGE && stretch->wait <= STRETCH_ORDER;
}

/* Fills `places`. Returns the length of the path; *ret_whole: t_max (NULL: it is not asked for). */
uint64_t critical_forward(struct critical_path_reading *reading, const struct what_if *what_if,
                          uint64_t *ret_whole);

/* T at the speeds of the latest critical_forward, ns. */
uint64_t critical_total(const struct critical_path_reading *reading);

bool critical_has_name(const struct graph *graph, uint32_t process, uint32_t like);

/* The time from the end of a stretch's source to the end of the stretch's wait. */
uint64_t critical_delay(const struct critical_path_reading *reading, const struct what_if *what_if,
                        const struct stretch *stretch);

/* ---- critical_parts.c ---- */

static inline struct fact *critical_fact(const struct critical_path_reading *reading,
                                         uint32_t stretch)
{
    return (struct fact *)reading->facts.at + stretch;
}

/* Notes the fact of a new stretch (see_stretch_function). */
int critical_note(void *context, uint32_t index, const struct chain *chain, uint32_t edge);

/* Adds an event of the first or second reading. Returns 0 or an error of graph_add. */
int critical_add(struct critical_path_reading *reading, const struct history_event *event);
int critical_add_again(struct critical_path_reading *reading, const struct history_event *event);

/* Counts what the path consists of, once it is marked. Returns 0 or -ENOMEM. */
int critical_count(struct critical_path_reading *reading);

/* ---- critical_what_ifs.c: return 0 or a negative errno ---- */

/* Whether a change concerns this process. */
bool what_if_concerns(const struct critical_path_reading *reading, const struct what_if *what_if,
                      uint32_t process);
int critical_what_ifs(struct critical_path_reading *reading, struct problem *problem);
int critical_offer(struct critical_path_reading *reading);
int critical_find_carrier(struct critical_path_reading *reading);

#endif
