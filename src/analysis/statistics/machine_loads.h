/* SPDX-License-Identifier: MIT */
/*
 * machine_loads.h: what machines and cgroups did, from SUMMARY and CGROUP records. Private to statistics/.
 *
 *      SUMMARY   SUMMARY   SUMMARY       totals: the last minus the first
 *      CPU 100 s CPU 101 s CPU 104 s     4 s
 *      9 tasks   2 tasks   1 task        of the moment: mean, maximum
 *
 * Several recordings of one machine count from the first SUMMARY of all to the last.
 */
#ifndef DPM_MACHINE_LOADS_H
#define DPM_MACHINE_LOADS_H

#include "analysis/statistics/statistics.h"
#include "base/lookup.h"

struct statistics;

struct origin_load {
    bool known;
    struct summary_record first, last;
    uint64_t runnable_sum, runnable_count, runnable_max;
    uint64_t memory_available_least;
};

struct cgroup_state {
    uint32_t origin;
    struct cgroup_record first, last;
    uint64_t memory; /* the largest */
};

struct cgroup_states {
    struct intern keys; /* of origin and number */
    struct cgroup_state *list;
    size_t capacity;
    uint64_t left_out;
};

void machine_load_note(struct origin_load *load, const struct summary_record *summary);

/* Returns 0 or -ENOMEM. */
int cgroup_note(struct cgroup_states *states, uint32_t origin, const struct cgroup_record *record);

/* Fill in the loads of a result's machines, and its cgroups. Return 0 or -ENOMEM. */
void machine_loads_build(const struct statistics *statistics, struct communication *result);
int cgroups_build(const struct statistics *statistics, struct communication *result);

void cgroup_states_done(struct cgroup_states *states);

#endif
