/* SPDX-License-Identifier: MIT */
/*
 * meter_types.h: a loaded kernel meter. Private to meter/load.
 *
 *      meter.c            loads and attaches it: hooks.c chooses the programs
 *        |-- mark.c           marks processes, and lists what running ones hold open   \
 *        |-- change.c         changes what they record                                 |
 *        |-- sockets.c        finds closed sockets and pipes                           |-- iterate.c
 *        |-- skipped.c        counts skipped hooks                                     |
 *        |-- last_records.c   makes the last records                                  /
 *        |-- meter_probes.c   probes places in libraries
 *        |-- cost.c           measures the overhead
 *        '-- meter/rings      reads the records: needs only the rings' descriptors, and what the files above add
 */
#ifndef DPM_METER_TYPES_H
#define DPM_METER_TYPES_H

#include "meter/load/cost.h"
#include "meter/load/hooks.h"
#include "meter/load/skipped.h"
#include "meter/load/sockets.h"
#include "meter/rings/ring_reader.h"
#include "meter/shared/meter_interface.h"

struct meter_bpf;

/* Up to this many acquired processes, the files of each are listed one by one; else those of the whole machine. */
#define FEW_PROCESSES 16

#define LEFT_OUT_SIZE 256

struct meter {
    struct meter_interface interface; /* first: it is cast, and so is its source */
    struct meter_bpf *kernel;
    enum hook_choice choices[HOOKS_MOST];
    struct bpf_link *links[HOOKS_MOST]; /* by hook; NULL: not attached */
    /* Reads the rings. Records that no ring holds are added here: DESTROYPATH of UNIX sockets, LOST, acquired processes
     * and paths, and last_records.h's. */
    struct ring_reader reader;
    struct meter_cost cost;
    struct skipped_hooks skipped;
    struct open_sockets sockets;
    pid_t acquired[FEW_PROCESSES];
    size_t acquired_count;
    uint32_t generation; /* of marks whose metering has not begun yet */
    uint64_t flags;      /* that may be recorded at some time */
    uint64_t told; /* ... that are recorded now, except where `change` was called for a process */
    uint64_t told_by_some; /* ... and by any of these processes */
    /* the same for kinds of paths, METER_TCP ... */
    uint32_t kinds;
    uint32_t kinds_told;
    uint32_t kinds_by_some;
    int cgroup;          /* of the root control group; negative: no hook needs it, or not allowed */
    bool cgroup_is_part; /* ... of a container's own hierarchy, outside of which UDP has no hooks */
    bool outside;        /* a process outside of it was acquired */
    bool exit_tells_last; /* the thread exit hook shows whether the thread is its process's last */
    uint32_t unmetered;   /* 1 << enum unmetered_kind: those in use of which a NAME was added */
    bool probes_at_once;  /* many places can be probed with one link */
    struct bpf_link **probes; /* of places in libraries */
    size_t probe_count, probe_capacity;
    int *probe_links; /* the same: descriptors of links that libbpf does not know */
    size_t probe_link_count, probe_link_capacity;
    char left_out[LEFT_OUT_SIZE]; /* what is not metered, and why; empty: nothing */
    bool detached;
};

static inline struct meter *meter_of(const struct meter_interface *interface)
{
    return (struct meter *)(uintptr_t)interface;
}

/* Attaches the hooks that these flags and kinds need, and those that count positions; detaches the others. Returns 0, or
 * a negative errno with a line in `problem`. */
int meter_attach(struct meter *meter, uint64_t told, uint32_t kinds, struct problem *problem);

/* As meter_interface.probe. */
size_t meter_probe(struct meter_interface *interface, int file, const struct meter_probe *probes,
                   size_t count, struct problem *problem);

/* Before the meter is loaded: its programs for probes are attached to many places at once. */
void meter_probes_choose(struct meter *meter);

/* Removes all probes. */
void meter_probes_done(struct meter *meter);

/* Number of records lost so far because this ring was full. */
uint64_t ring_lost(const struct meter *meter, enum ring_id ring);

#endif
