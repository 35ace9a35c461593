/* SPDX-License-Identifier: MIT */
/*
 * meter.h: the kernel meter: loads it (privileged), marks processes, hands out its records as a
 * source (the ring's descriptors are all that reading needs).
 *
 *      kernel programs --> control ring --+
 *                      --> data ring -----+--> order by time --> source
 *      sweep of closed UNIX sockets ------+
 */
#ifndef DPM_METER_H
#define DPM_METER_H

#include "event/event.h"

#include <sys/types.h>

struct meter;

struct meter_options {
    uint32_t flags;     /* EVENT_FLAG bits in force for all processes this meter will mark */
    uint32_t ring_size; /* bytes of the data ring, rounded up to a power of two; 0 = 16 MiB. The
                           control ring has a quarter of it, at least 1 MiB */
};

/* Says what the meter needs and this machine lacks for `flags`: calls `tell` once for each, with
 * one sentence. Returns how many. */
int meter_missing(uint32_t flags, void (*tell)(const char *sentence, void *context), void *context);

/* Loads the kernel programs and attaches those that options->flags need. Until a process is marked
 * nothing is recorded. Needs CAP_BPF and CAP_PERFMON (or root); for UDP see meter_left_out().
 * Errors: -EPERM, -ENOTSUP (kernel), -ENOMEM ..., with a line in `problem`; nothing stays in the
 * kernel. Whatever way the caller ends, even by kill -9, the kernel removes everything. */
int meter_open(const struct meter_options *options, struct meter **ret_meter,
               struct problem *problem);

/* Marks all threads of process `pid` as metered, and so all that they create from then on.
 * from_exec: the metering begins when the process next executes a program.
 * Returns the number of streams marked, -ESRCH if there is no such process. */
int meter_mark(struct meter *meter, pid_t pid, bool from_exec, struct problem *problem);

/* Metered streams that are alive now. */
uint32_t meter_live(const struct meter *meter);

/* A metered process that is alive. */
struct meter_process {
    pid_t pid;
    char name[STREAM_NAME_SIZE];
};

/* Lists the metered processes that are alive, each once; *ret_list is the caller's to free. */
int meter_processes(struct meter *meter, struct meter_process **ret_list, size_t *ret_count,
                    struct problem *problem);

/* The meter's records, in order of time. One origin. Belongs to the meter. next() never waits:
 * SOURCE_NONE_YET means ask again in a millisecond or more. After meter_detach it delivers the rest
 * and ends. */
struct source *meter_source(struct meter *meter);

/* Looks for UNIX sockets that were closed; they become DESTROYPATH records. To be called about
 * once a second (the kernel has no hook that tells). */
int meter_sweep(struct meter *meter, struct problem *problem);

/* Records of a ring lost so far, from the kernel's own counters. */
uint64_t meter_lost(const struct meter *meter, enum ring_id ring);

/* Paths that could not be remembered (no memory): their messages are not recorded. */
uint64_t meter_lost_paths(const struct meter *meter);

/* UDP datagrams whose coming could not be noted (no memory): the RECEIVE that took one does not
 * know who sent it. */
uint64_t meter_lost_datagrams(const struct meter *meter);

/* What this meter does not record though its flags ask for it, and why, in one line; NULL: nothing.
 * UDP needs CAP_NET_ADMIN. Valid as long as the meter. */
const char *meter_left_out(const struct meter *meter);

/* Takes every hook out of the kernel. Records still in the rings can be read. */
void meter_detach(struct meter *meter);

/* Detaches and frees. NULL is allowed. */
void meter_close(struct meter *meter);

#endif
