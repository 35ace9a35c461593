/* SPDX-License-Identifier: MIT */
/* critical_path_private.h: what the files of the critical path share. Private to parallelism/. */
#ifndef DPM_CRITICAL_PATH_PRIVATE_H
#define DPM_CRITICAL_PATH_PRIVATE_H

#include "analysis/parallelism/critical_path.h"
#include "analysis/parallelism/program_graph.h"

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

/* Sums of the second reading. */
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
    uint64_t *chains;                  /* [chains]: end of the latest stretch of each */
    uint64_t *idled;                   /* [chains]: see note_idle */
    bool notes_idle;                   /* places[].idle and .rule are to be filled in */
    bool plain;                        /* every rule is ARC_LATER */
    uint32_t end;                      /* stretch at whose end the path ends; NO_STRETCH: none */
    uint32_t busiest;                  /* END_BUSIEST: the last stretch of that chain */
    struct history *again;             /* NULL during the first reading */
    const struct history_event *event; /* of the second reading, while it is added ... */
    uint64_t time;                     /* ... when, by the first origin's clock */
    uint64_t end_time;                 /* the same for the end of the path */
    bool critical;                     /* ... it is on the path ... */
    uint32_t edge; /* ... which comes to it by this edge; UINT32_MAX: along its stream */
    struct critical_parts parts;
    struct critical_path *result;
};

/* Whether an arc of the recorded graph leads to this stretch. */
static inline bool stretch_has_arc(const struct stretch *stretch)
{
    return stretch->wait >= STRETCH_MESSAGE && stretch->wait <= STRETCH_ORDER;
}

/* Fills `places`. Returns the length of the path; *ret_whole: t_max. */
uint64_t critical_forward(struct critical_path_reading *reading, const struct what_if *what_if,
                          uint64_t *ret_whole);

bool critical_has_name(const struct graph *graph, uint32_t process, uint32_t like);

/* The time from the end of a stretch's source to the end of the stretch's wait. */
uint64_t critical_delay(const struct critical_path_reading *reading, const struct what_if *what_if,
                        const struct stretch *stretch);

/* Adds an event of the second reading. Returns 0 or an error of graph_add. */
int critical_add_again(struct critical_path_reading *reading, const struct history_event *event);

/* ---- critical_what_ifs.c: return 0 or a negative errno ---- */

/* Whether a change concerns this process. */
bool what_if_concerns(const struct critical_path_reading *reading, const struct what_if *what_if,
                      uint32_t process);
int critical_what_ifs(struct critical_path_reading *reading, struct problem *problem);
int critical_offer(struct critical_path_reading *reading);
int critical_find_carrier(struct critical_path_reading *reading);

#endif
