/* SPDX-License-Identifier: MIT */
/*
 * cpu_wait.h: how long a thread was awake without a CPU at the end of a wait. THE place that splits a wait into sleep and
 * this: all analyses and displays use it.
 *
 *      |------------------ BLOCK -----------------|
 *      nanosleep .......... woken .... no CPU ....| SCHEDULE, BLOCK
 *           40 ms                       3 ms        ^ the thread has waited 43 ms for CPUs so far; 40 ms, said the SCHEDULE before
 *
 * BLOCK and RECEIVECALL end when the thread runs again, not when it is woken. The kernel meter makes a SCHEDULE just
 * before, if the thread has waited for a CPU for 1 ms or more since its last SCHEDULE: so in each wait up to 1 ms may count
 * as sleep that was none, but not more than that in several waits together without a SCHEDULE. The ptrace meter only reports
 * the sum, when a thread ends: there, what was sleep is not known.
 */
#ifndef DPM_CPU_WAIT_H
#define DPM_CPU_WAIT_H

#include "event/event.h"

/* The state of one thread; all zero at first. */
struct cpu_wait {
    bool known;     /* a SCHEDULE was seen */
    uint64_t count; /* ns that it has waited for CPUs, as its latest SCHEDULE says */
    uint64_t time;  /* of its latest event */
    uint64_t sum;   /* ns without a CPU since then */
    uint64_t last;  /* ns: of the latest wait for a CPU ... */
    uint64_t ended; /* ... which ended then; 0: none since the latest event */
};

/* A SCHEDULE. `from_birth`: the recording has seen the thread begin, so that all its waits for CPUs were in it. */
void cpu_wait_schedule(struct cpu_wait *wait, const struct record *schedule, bool from_birth);

/* For how many ns a thread was awake and had no CPU. */
struct no_cpu {
    uint64_t time; /* since its previous event: at the end of a wait, or because it was preempted */
    uint64_t of_block; /* BLOCK: of these, at its end; the rest of its duration was sleep. Else 0 */
};

/* An event of the thread, in the order of time. */
struct no_cpu cpu_wait_take(struct cpu_wait *wait, const struct record *record);

/* ---- of all threads, for those who read records in order and keep nothing else of threads ---- */

#define CPU_WAITS_SIZE                                                                             \
    1024 /* threads; of more, some are forgotten, and their waits then seem to be sleep */

struct cpu_waits {
    struct {
        uint64_t key; /* number_key(origin, stream) */
        struct cpu_wait wait;
    } of[CPU_WAITS_SIZE];
};

/* To be called for each event, in the order of time. */
struct no_cpu cpu_waits_note(struct cpu_waits *waits, const struct event *event);

#endif
