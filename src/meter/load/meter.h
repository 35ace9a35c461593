/* SPDX-License-Identifier: MIT */
/*
 * meter.h: the kernel meter: loads it (privileged), marks processes, hands out its records as a
 * source (the ring's descriptors are all that reading needs). All but opening it is in meter_interface.h.
 *
 *      kernel programs --> control ring --+
 *                      --> data ring -----+--> order by time --> source
 *      sweep of closed UNIX sockets ------+
 */
#ifndef DPM_METER_H
#define DPM_METER_H

#include "meter/shared/meter_interface.h"

struct meter_options {
    uint32_t flags;     /* EVENT_FLAG bits and METER_FLAG_PC, in force for all processes marked */
    uint32_t kinds;     /* METER_TCP ...: no other path is known to the meter; 0 = all */
    uint32_t ring_size; /* bytes of the data ring, rounded up to a power of two; 0 = 16 MiB. The
                           control ring has a quarter of it, at least 1 MiB */
    uint32_t first_sequence; /* number of each stream's first record; for tests */
    uint64_t first_lost;     /* records counted as lost by each stream before that one; for tests */
    uint64_t first_skipped;  /* hooks counted as skipped before the first; for tests */
    bool coarse_time;        /* CPU time as of the scheduler's last look, up to a tick old */
};

/* Loads the kernel programs and attaches those that options->flags and kinds need. Until a process is marked
 * nothing is recorded. Needs CAP_BPF and CAP_PERFMON (or root); UDP needs BPF trampolines
 * besides, or CAP_NET_ADMIN: else it is left out. libbpf's own words go to standard error if DPM_DEBUG is set.
 * Errors: -EPERM, -ENOTSUP (kernel), -ENOMEM ..., with a line in `problem`; nothing stays in the
 * kernel. Whatever way the caller ends, even by kill -9, the kernel removes everything. */
int meter_open(const struct meter_options *options, struct meter_interface **ret_meter,
               struct problem *problem);

/* Bytes of all rings if no size is asked for. */
uint64_t meter_default_rings(void);

#endif
