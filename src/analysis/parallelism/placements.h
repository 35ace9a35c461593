/* SPDX-License-Identifier: MIT */
/*
 * placements.h: the assignments of processes to machines, and the delivery times of messages between these, from files
 * and options.
 *
 *      --assign FILE                     --delays FILE
 *      machine big 4 1.5                 local  10us+0.2ns/B
 *      machine small                     remote 13ms+22us/B
 *      tsp          big                  big small 1:4.2ms,1000:12.8ms
 *      4711         small
 *      *            big
 */
#ifndef DPM_PLACEMENTS_H
#define DPM_PLACEMENTS_H

#include "analysis/parallelism/parallelism.h"

/* A process that --without names: results contain nothing of it. */
struct left_out {
    uint32_t pid;
    char name[STREAM_NAME_SIZE];
};

struct placements {
    struct assignment *assignments;
    size_t count;
    size_t room;
    struct delays delays;
    bool messages_only; /* --edges messages */
    struct delay_between *between;
    size_t between_room;
    bool *met; /* for each of them: two such machines exist */
    size_t met_room;
    const char **without; /* names or pids, as given */
    size_t without_count;
    size_t without_room;
    struct left_out *left_out;
    size_t left_out_count;
    size_t left_out_room;
    bool forgotten; /* left_out is incomplete, as memory ran out */
};

/* Adds an assignment, unless one with that name exists. Errors: -ENOMEM. */
int placements_add(struct placements *placements, const char *name, enum assignment_kind kind,
                   uint32_t per_machine);

/* Adds the assignment of a file, named like it. Errors: those of reading it; -EINVAL: not a rule; with a line in
 * `problem` that says where. */
int placements_read(struct placements *placements, const char *file, struct problem *problem);

/* Reads delays from a file. Errors as above. */
int placements_read_delays(struct placements *placements, const char *file,
                           struct problem *problem);

/* "13ms", "13ms+22us/B", or by length "1:4.2ms,1000:12.8ms". Returns 0 or -EINVAL. */
int delay_parse(const char *text, struct delay *ret_delay);

/* Sets the number of processors of each machine for which no file gives it. */
void placements_cores(struct placements *placements, uint32_t cores);

void placements_done(struct placements *placements);

#endif
