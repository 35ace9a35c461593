/* SPDX-License-Identifier: MIT */
/*
 * meter_interface.h: a meter, whichever it is. Who records sees no more of it.
 *
 *                                   +-- struct meter         the kernel meter    meter/load
 *      struct meter_interface <-----+
 *                                   '-- struct ptracemeter   the ptrace meter    ptracemeter
 *
 * Each meter begins with one, as each begins with its source: a pointer to it is a pointer to the meter. Opening is
 * each meter's own (meter_open, ptracemeter_open).
 */
#ifndef DPM_METER_INTERFACE_H
#define DPM_METER_INTERFACE_H

#include "event/event.h"

#include <sys/types.h>

/* A metered process that is alive. */
struct meter_process {
    pid_t pid;
    char name[STREAM_NAME_SIZE]; /* NUL-filled, not always terminated */
};

/* What meter_interface.begin has found. */
struct meter_begun {
    size_t processes; /* acquired and alive */
    /* directions of UNIX sockets that were so busy that their positions could not be settled: their offsets may not
     * agree with those of their other ends */
    uint32_t unsettled;
};

struct meter_interface {
    /* The meter's records, in order of time; of one origin. next() never waits: SOURCE_NONE_YET means ask again in a
     * millisecond or more. After detach it gives the rest and ends. */
    struct source source;
    struct source_state state; /* the source's */

    /* ---- what it is; does not change once it is open ---- */

    enum meter_kind kind;
    uint32_t unknown_flags; /* of events that it cannot record, whatever it is asked for */
    uint32_t kinds;         /* METER_TCP ...: of the paths that it meters */
    const char *
        left_out; /* what it does not record though it is asked to, and why, in one line; NULL: nothing */
    bool holds_descendants; /* the command's descendants end with us */
    int descriptor; /* readable when the command has ended, and when the last of all has; -1: the command's own
                               descriptor says so (pidfd_open) */

    /* ---- who is metered ---- */

    /* To be called in the command's process with the meter, last before its exec; allocates nothing. NULL: there is
     * nothing to do. Returns 0 or a negative errno. */
    int (*enter)(void *meter);

    /* Marks a process that is suspended and has one thread, a child of ours: its metering begins when it next executes
     * a program, and so that of all it creates from then on. Errors: -ESRCH, -EPERM ... with a line in `problem`. */
    int (*mark)(struct meter_interface *meter, pid_t pid, struct problem *problem);

    /* Marks all threads of a running process, or with pid 0 of every process but our own, and so all that they create
     * from then on. They record nothing before `begin`. Kernel threads are never marked. Returns how many streams were
     * newly marked: 0 if all were, or if the process has ended. To be called again for those found since, until there
     * are none: then `begin`. NULL: this meter cannot meter a process that runs already. */
    int (*acquire)(struct meter_interface *meter, pid_t pid, struct problem *problem);

    /* Lists the acquired processes and the paths that they hold, with their positions, as records of the source, and
     * has all of them record from one moment on. Takes some 10 ms, longer while UNIX sockets are busy (half a second at
     * most). NULL where `acquire` is. */
    int (*begin)(struct meter_interface *meter, struct meter_begun *ret_begun,
                 struct problem *problem);

    /* Whether the marked command has ended; then *ret_status is as wait(2) gives it, and it is reaped. */
    bool (*ended)(struct meter_interface *meter, pid_t pid, int *ret_status);

    /* Whether a signal has stopped it since this was last asked. */
    bool (*stopped)(struct meter_interface *meter, pid_t pid);

    /* Metered streams that are alive now. */
    uint32_t (*live)(const struct meter_interface *meter);

    /* Lists the metered processes that run on when the recording ends, each once; *ret_list is the caller's to free.
     * The ptrace meter has to release them for that: to be called right before `detach`. */
    int (*processes)(struct meter_interface *meter, struct meter_process **ret_list,
                     size_t *ret_count, struct problem *problem);

    /* ---- while it goes on ---- */

    /* Looks for UNIX sockets and pipes that were closed, which become DESTROYPATH records. To be called about once a
     * second (no hook of the kernel shows it). NULL: there is nothing to do. */
    int (*sweep)(struct meter_interface *meter, struct problem *problem);

    /* Measures what the hooks cost, now and then for a moment: to be called a hundred times a second, with the time
     * (CLOCK_MONOTONIC). NULL: it cannot. */
    void (*measure)(struct meter_interface *meter, uint64_t now);

    /* ns that the hooks have run for each record, the kernel's counting included, on the average of those moments; 0:
     * not known, or they have seen too few of the records to speak for all. NULL: it is never known. */
    uint32_t (*time_per_record)(const struct meter_interface *meter);

    /* Records of a ring lost so far, those of skipped hooks (state.skipped) among those of the data ring. */
    uint64_t (*lost)(const struct meter_interface *meter, enum ring_id ring);

    /* ---- the end ---- */

    /* The recording has given up: no more records are made or kept, and the metered run on. */
    void (*stop)(struct meter_interface *meter);

    /* The recording ends: what is metered lasts to one moment. The records that are left can still be read. */
    void (*detach)(struct meter_interface *meter);

    /* Calls `line` for each thing that was not recorded, or is not certain. To be called when the source has ended. */
    void (*report)(const struct meter_interface *meter,
                   void (*line)(const char *sentence, void *context), void *context);

    /* Detaches and frees it. */
    void (*close)(struct meter_interface *meter);
};

static inline void meter_interface_close(struct meter_interface *meter)
{
    if (meter != NULL)
        meter->close(meter);
}

#endif
