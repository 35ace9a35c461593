/* SPDX-License-Identifier: MIT */
/* critical_path_private.h: what the files of the critical path share. Private to parallelism/. */
#ifndef DPM_CRITICAL_PATH_PRIVATE_H
#define DPM_CRITICAL_PATH_PRIVATE_H

#include "analysis/parallelism/critical_path.h"
#include "analysis/parallelism/program_graph.h"

/* Where a stretch is in time. */
struct place {
    uint64_t end : 62;     /* ns since the beginning */
    uint64_t by_wait : 1;  /* its wait determines `end`, not its own chain */
    uint64_t critical : 1; /* it is on the path */
};

#define PLACE_END_MOST ((1ULL << 62) - 1)

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
    struct history *again;             /* NULL during the first reading */
    const struct history_event *event; /* of the second reading, while it is added ... */
    bool critical;                     /* ... it is on the path ... */
    uint32_t edge; /* ... which comes to it by this edge; UINT32_MAX: along its stream */
    struct critical_parts parts;
    struct critical_path *result;
};

/* Fills `places`; returns the length of the longest path. */
uint64_t critical_forward(struct critical_path_reading *reading, const struct what_if *what_if);

/* The time from the end of a stretch's source to the end of the stretch's wait. */
uint64_t critical_delay(const struct critical_path_reading *reading, const struct what_if *what_if,
                        const struct stretch *stretch);

/* Adds an event of the second reading. Returns 0 or an error of graph_add. */
int critical_add_again(struct critical_path_reading *reading, const struct history_event *event);

int critical_what_ifs(struct critical_path_reading *reading, struct problem *problem);
int critical_offer(struct critical_path_reading *reading);

#endif
