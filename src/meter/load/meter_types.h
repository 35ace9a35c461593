/* SPDX-License-Identifier: MIT */
/*
 * meter_types.h: a kernel meter that is loaded. Private to meter/load.
 *
 *      meter.c            loads and attaches it: hooks.c, which programs
 *        |-- mark.c           marks processes, and lists what those hold that run already   \
 *        |-- sockets.c        what is closed                                                |-- iterate.c
 *        |-- skipped.c        hooks that were skipped                                       |
 *        |-- last_records.c   what no record has reported at the end                       /
 *        |-- cost.c           what it costs
 *        '-- meter/rings      reading, which needs nothing of this but the rings' descriptors and what these add
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

/* The most processes of which the files are looked at one by one, not those of the whole machine. */
#define FEW_PROCESSES 16

#define LEFT_OUT_SIZE 128

struct meter {
    struct meter_interface interface; /* first: it is cast, and so is its source */
    struct meter_bpf *kernel;
    enum hook_choice choices[HOOKS_MOST];
    struct bpf_link *links[HOOKS_MOST];
    size_t link_count;
    /* reads the rings; what no ring holds is added here: DESTROYPATH of UNIX sockets, LOST, what was acquired, and at
     * the end what last_records.h says */
    struct ring_reader reader;
    struct meter_cost cost;
    struct skipped_hooks skipped;
    struct open_sockets sockets;
    pid_t acquired[FEW_PROCESSES];
    size_t acquired_count;
    uint32_t generation; /* of the marks that have not begun yet */
    uint32_t flags;
    int cgroup; /* the root of the hierarchy; negative: no hook of it is needed, or allowed */
    bool exit_tells_last; /* the hook of a thread's end says whether it is its process's last */
    char left_out[LEFT_OUT_SIZE]; /* what is not metered, and why; empty: nothing */
    bool detached;
};

static inline struct meter *meter_of(const struct meter_interface *interface)
{
    return (struct meter *)(uintptr_t)interface;
}

/* Records that found this ring full so far. */
uint64_t ring_lost(const struct meter *meter, enum ring_id ring);

#endif
