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

#include "event/record_queue.h"
#include "meter/shared/meter_interface.h"

/* A user, as ptrace(2) would look at it. */
struct meter_user {
    uid_t user;
    gid_t group;
    uint64_t capabilities; /* permitted */
};

struct meter_options {
    uint64_t flags; /* EVENT_FLAG bits and METER_FLAG_PC, for all marked processes */
    /* Flags that `change` may set later: what it takes to follow the processes for these is done from the beginning. The
     * flags above are always among them. */
    uint64_t later_flags;
    uint32_t kinds; /* METER_TCP ...: the meter ignores all other paths; 0 = all */
    /* As later_flags: kinds that `change` may set. Those above are among them. 0: it cannot change kinds. */
    uint32_t later_kinds;
    bool selects; /* selection rules may be put in force: meter_interface.selection */
    /* Bytes of the data ring, rounded up to a power of two; 0 = 16 MiB. The control ring has a quarter of it, at least
     * 1 MiB. */
    uint32_t ring_size;
    uint32_t first_sequence; /* number of each stream's first record; for tests */
    /* for tests: number of records that each stream counts as lost before its first record */
    uint64_t first_lost;
    uint64_t first_skipped; /* for tests: initial number of skipped hooks */
    uint32_t first_path;    /* for tests: how many paths have got their number already */
    bool coarse_time;       /* CPU time as of the last scheduler tick, so up to a tick old */
    bool libraries;         /* places in libraries may be probed: meter_interface.probe */
    /* ---- for a service that loads the meter for others ---- */
    bool served;                   /* another process reads the rings: see below */
    const struct meter_user *user; /* whose processes may be metered; NULL: everybody's */
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

/* Bytes of each ring for a requested data ring of this size (0 = the default). */
void meter_ring_sizes(uint32_t asked, uint32_t ret_sizes[RING_COUNT]);

#define METER_FULL_TEXT_SIZE 192

/* What to do if a ring was full; `size`: bytes of that for messages. A live display or a job has no --ring. */
void meter_full_text(uint32_t size, char ret_text[METER_FULL_TEXT_SIZE]);

/*
 * ---- a meter whose rings another process reads (options.served) ----
 *
 *      loader: struct meter  ---- descriptors of the rings ---->  ring_reader of the other process
 *                 '-- record queue: what mark, begin, sweep ... would have added to the rings' records
 *
 * Its source is not used. The other process calls ring_extra's functions (ring_reader.h), which lead here. Every call
 * may add records to the queue: take them before the next.
 */

/* The descriptor of a ring, and its size in bytes. The meter owns it. It gives access to this ring only. */
int meter_ring(const struct meter_interface *meter, enum ring_id ring, uint32_t *ret_size);

/* The same of the memory that selection rules are in (selection_memory.h), or -ENOENT: it was not asked for. */
int meter_selection(const struct meter_interface *meter);

/* The records that were added since the last call. */
struct record_queue *meter_added(struct meter_interface *meter);

/* Skipped hooks so far, as reported by LOST records. */
uint64_t meter_skipped(const struct meter_interface *meter);

/* struct ring_extra's functions. Return 0 or a negative errno. */
int meter_look(struct meter_interface *meter);
int meter_note(struct meter_interface *meter, const struct record_header *record);
int meter_last_records(struct meter_interface *meter, uint64_t time,
                       const uint64_t told_lost[RING_COUNT]);

/* As time_per_record, after this many records. */
uint32_t meter_time_per_each(const struct meter_interface *meter, uint64_t records);

/* Processes that are executed from the same file as `pid` is are DPM's own from now on: never marked with all others.
 * Our own always are. Returns 0 or a negative errno. */
int meter_note_own(struct meter_interface *meter, pid_t pid);

#endif
