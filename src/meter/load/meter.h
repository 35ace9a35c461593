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
 * nothing is recorded. Needs CAP_BPF and CAP_PERFMON (or root); for UDP see meter_left_out().
 * Errors: -EPERM, -ENOTSUP (kernel), -ENOMEM ..., with a line in `problem`; nothing stays in the
 * kernel. Whatever way the caller ends, even by kill -9, the kernel removes everything. */
int meter_open(const struct meter_options *options, struct meter **ret_meter,
               struct problem *problem);

/* Marks a process that is suspended and has one thread: its metering begins when it next executes a
 * program, and so that of all it creates from then on. The sockets it has inherited are listed as
 * records of the source. Errors: -ESRCH, there is no such process. */
int meter_mark(struct meter *meter, pid_t pid, struct problem *problem);

/* Marks all threads of a running process, or with pid 0 of every process but the caller's own, and
 * so all that they create from then on. They tell nothing before meter_begin. Kernel threads are
 * never marked. Returns how many streams were newly marked: 0 if all were, or if the process has
 * ended. Call it again for those found since, until nobody is: then meter_begin. */
int meter_acquire(struct meter *meter, pid_t pid, struct problem *problem);

/* Lists the acquired processes and the paths that they hold, with their positions, as records of
 * the source, and lets all of them tell from one moment on. Takes some 10 ms, longer while UNIX
 * sockets are busy (half a second at most). *ret_processes: acquired and alive. */
int meter_begin(struct meter *meter, size_t *ret_processes, struct problem *problem);

/* How many directions of UNIX sockets were so busy when the last acquired processes began that their
 * positions could not be settled: their offsets may not agree with those of their other ends. */
uint32_t meter_unsettled(const struct meter *meter);

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

/* Looks for UNIX sockets and pipes that were closed; they become DESTROYPATH records. To be called about
 * once a second (the kernel has no hook that tells). */
int meter_sweep(struct meter *meter, struct problem *problem);

/* Records of a ring lost so far, from the kernel's own counters. What meter_skipped counts is among those of the data
 * ring. */
uint64_t meter_lost(const struct meter *meter, enum ring_id ring);

/* Hooks that the kernel skipped because they were already running on that processor, as far as was reported (LOST_SKIPPED):
 * at most so many records are missing. */
uint64_t meter_skipped(const struct meter *meter);

/* Paths that could not be remembered (no memory): their messages are not recorded. */
uint64_t meter_lost_paths(const struct meter *meter);

/* UNIX streams older than the metering whose positions were settled while several were sending, and
 * wrongly: what was sent before that was found out has offsets that are too large. */
uint32_t meter_resettled(const struct meter *meter);

/* UDP datagrams of which the RECEIVE does not know who sent them: several threads received from a socket at the
 * same time; or there was no memory to note their coming. */
uint64_t meter_lost_datagrams(const struct meter *meter);

/* What this meter does not record though its flags ask for it, and why, in one line; NULL: nothing.
 * UDP needs BPF trampolines, or CAP_NET_ADMIN. Valid as long as the meter. */
const char *meter_left_out(const struct meter *meter);

/* The kinds of paths that are metered: those asked for, but for what is left out. */
uint32_t meter_kinds(const struct meter *meter);

/* Measures what the hooks cost, now and then for a moment: to be called a hundred times a second, with
 * the time (CLOCK_MONOTONIC). */
void meter_measure(struct meter *meter, uint64_t now);

/* ns that the kernel's programs have run for each record, on the average of those moments, the kernel's
 * counting included; 0: not known, or they have seen too few of the records to speak for all. */
uint32_t meter_time_per_record(const struct meter *meter);

/* Ends the recording of all at one moment, and takes every hook out of the kernel. Records still in the rings can
 * be read. */
void meter_detach(struct meter *meter);

/* Detaches and frees. NULL is allowed. */
void meter_close(struct meter *meter);

/* ---- what works on this machine ---- */

enum meter_check_state {
    METER_CHECK_OK,
    METER_CHECK_LIMITED, /* metering works, with less comfort */
    METER_CHECK_MISSING, /* some flags, or all, cannot be metered */
    METER_CHECK_UNKNOWN, /* could not be found out */
};

struct meter_check {
    const char *group; /* what it is about, in a word: "Kernel", "Hooks" ... */
    char name[64];
    enum meter_check_state state;
    char detail[512];
    char advice[1024]; /* what to do; "" if there is nothing to do */
};

/* Finds out what works here for this process, and calls `tell` for each thing that matters. Where
 * nothing speaks against it the meter is truly loaded and attached, with no process marked, and
 * taken out again. Texts may hold any byte that files and paths hold.
 * Returns the flags that can be metered, 0 if none. */
uint32_t meter_check(void (*tell)(const struct meter_check *check, void *context), void *context);

/* Whether something plainly speaks against the meter here; names it, as meter_check does: "CAP_BPF, CAP_PERFMON". It is
 * quick, and safe where a filter kills whoever calls bpf(). Whether the meter works indeed only meter_open tells. */
bool meter_hindered(char *ret_missing, size_t size);

#endif
