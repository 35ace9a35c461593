/* SPDX-License-Identifier: MIT */
/* whatif_run_private.h: what the files about runs share. Private to whatif/. */
#ifndef DPM_WHATIF_RUN_PRIVATE_H
#define DPM_WHATIF_RUN_PRIVATE_H

#include "analysis/whatif/whatif_private.h"
#include "base/lookup.h"

/* A part of the critical path of a simulated run: of all processes with a name. */
struct whatif_run_part {
    uint32_t name; /* process: the first one of that name */
    enum elapsed_kind kind;
    double time; /* ns */
};

struct whatif_run {
    struct critical_path_reading *reading;
    const struct parallelism *parallelism;
    const struct communication *communication;
    uint32_t cpus;
    size_t count; /* processes */
    double recorded;
    double no_cpu; /* part of the recorded time without a CPU that is not due to the run itself */
    struct whatif_party *parties; /* [process] */
    uint32_t *names;              /* [process]: the first one that a change names with it */
    double *speeds;               /* [process], of the present simulation */
    uint32_t *machines;
    struct whatif_run_part *parts; /* of the path of the latest simulation */
    size_t part_count, part_room;
    double held; /* ns of that path, in flight for as long as messages that are held back */
    struct lookup of_part;
    bool failed; /* no memory for a part */
};

/* Changes, in a simulation. */
struct applied {
    struct whatif_run *run;
    const struct whatif_change *changes;
    size_t count;
    bool *found; /* [change]: it concerned something */
    bool calls_go, no_cpu_stays;
    uint32_t placed;
    double collects;
};

/* Simulates the run as it was: fills in all but `then`. Errors as those of whatif_run_ask. */
int whatif_run_begin(struct whatif_run *run, struct whatif_run_answer *ret_answer,
                     struct problem *problem);

/* After that: with a change. Without a range. */
int whatif_run_try(struct whatif_run *run, const struct whatif_change *change,
                   struct whatif_run_answer *answer, struct problem *problem);

#endif
