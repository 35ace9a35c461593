/* SPDX-License-Identifier: MIT */
/*
 * meter.h: the kernel meter. It loads the kernel programs (privileged), marks processes, and delivers its records as a
 * source; reading needs only the rings' descriptors. Everything except opening is in meter_interface.h.
 *
 *      kernel programs --> control ring --+
 *                      --> data ring -----+--> sorted by time --> source
 *      sweep of closed UNIX sockets ------+
 */
#ifndef DPM_METER_H
#define DPM_METER_H

#include "meter/shared/meter_interface.h"

struct meter_options {
    uint64_t flags; /* EVENT_FLAG bits and METER_FLAG_PC, for all marked processes */
    uint32_t kinds; /* METER_TCP ...: the meter ignores all other paths; 0 = all */
    /* Bytes of the data ring, rounded up to a power of two; 0 = 16 MiB. The control ring has a quarter of it, at least
     * 1 MiB. */
    uint32_t ring_size;
    uint32_t first_sequence; /* number of each stream's first record; for tests */
    /* for tests: number of records that each stream counts as lost before its first record */
    uint64_t first_lost;
    uint64_t first_skipped; /* for tests: initial number of skipped hooks */
    bool coarse_time;       /* CPU time as of the last scheduler tick, so up to a tick old */
};

/* Loads the kernel programs, and attaches those that options->flags and kinds need. Nothing is recorded until a process
 * is marked. Needs CAP_BPF and CAP_PERFMON, or root. UDP also needs BPF trampolines, or Linux 6.16 and CAP_NET_ADMIN;
 * without them it is left out. libbpf's messages go to standard error if DPM_DEBUG is set. Errors: -EPERM, -ENOTSUP
 * (kernel), -ENOMEM ..., with a line in `problem`; nothing stays in the kernel. The kernel removes everything when the
 * caller ends, even by kill -9. */
int meter_open(const struct meter_options *options, struct meter_interface **ret_meter,
               struct problem *problem);

/* Bytes of all rings at their default size. */
uint64_t meter_default_rings(void);

#endif
