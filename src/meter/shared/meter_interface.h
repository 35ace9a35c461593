/* SPDX-License-Identifier: MIT */
/*
 * meter_interface.h: the interface of every meter. A recorder uses nothing else.
 *
 *                                   +-- struct meter         the kernel meter    meter/load
 *      struct meter_interface <-----+
 *                                   '-- struct ptracemeter   the ptrace meter    ptracemeter
 *
 * A meter's struct begins with this interface, which begins with its source, so a pointer to one is a pointer to the
 * others. Each meter has its own function to open it (meter_open, ptracemeter_open).
 */
#ifndef DPM_METER_INTERFACE_H
#define DPM_METER_INTERFACE_H

#include "base/process.h"
#include "event/event.h"

#include <sys/types.h>

struct selection;

/* A live metered process. */
struct meter_process {
    pid_t pid;
    char name[STREAM_NAME_SIZE]; /* NUL-filled, not always terminated */
};

/* What `change` does to processes: first they do not record any longer what is `off`, then they record what is `on`. What
 * neither names stays as it is for each of them. */
struct meter_change {
    uint64_t flags_off, flags_on; /* EVENT_FLAG bits; METER_FLAG_PC has no effect */
    uint32_t kinds_off, kinds_on; /* METER_TCP ... */
    bool leaves; /* instead: the processes are not metered any longer, and run on */
};

/* Exactly these flags, and the same kinds as before. */
static inline struct meter_change meter_change_flags(uint64_t flags)
{
    return (struct meter_change){.flags_off = METER_ALL_FLAGS, .flags_on = flags};
}

/* The result of meter_interface.begin. */
struct meter_begun {
    size_t processes; /* acquired and alive */
    /* Directions of UNIX sockets that were too busy to align: their offsets may not agree with those of the other
     * end. */
    uint32_t unsettled;
    /* CLOCK_MONOTONIC, ns: every event is recorded since then, at the latest. From acquiring_begin. */
    uint64_t time;
};

/* A place in a file that processes map, and what the kernel does for metered ones each time that they reach it. */
struct meter_probe {
    uint64_t offset;     /* of the instruction, in the file */
    uint64_t semaphore;  /* offset of a counter in the file that is raised meanwhile; 0: none */
    const char *program; /* of the kernel meter */
    uint64_t cookie;     /* what the program is told */
    bool at_return;      /* when the function that begins there returns */
};

struct meter_interface {
    /* The meter's records, in order of time, from one origin. next() never waits: SOURCE_NONE_YET means ask again in a
     * millisecond or more, or when the source's descriptor is readable. After detach it returns the remaining records, then the end. */
    struct source source;
    struct source_state state; /* of `source` */

    /* ---- properties: constant once the meter is open ---- */

    enum meter_kind kind;
    uint64_t unknown_flags; /* of events that this meter can never record */
    uint32_t kinds;         /* METER_TCP ...: kinds of paths that it meters from the beginning */
    uint32_t later_kinds;   /* ... and those that `change` may set; 0: it changes none */
    /* What it was asked to record but does not, and why, in one line; NULL: nothing. */
    const char *left_out;
    /* Memory shared with the meter, which makes no records that rules there cannot accept (kernel_selection.h); NULL: the
     * meter was not opened for that, or cannot select. */
    struct selection *selection;
    bool holds_descendants; /* the command's descendants end when this process ends */
    /* Readable when the command has ended, and again when the last metered process has; -1: use the command's own
     * descriptor (pidfd_open). */
    int descriptor;

    /* CPU time in ns that a service has spent on this meter so far; 0: there is none. */
    uint64_t service_time;

    /* How many processes the last `acquire` has left because the user may not meter them. */
    uint32_t refused;

    /* ---- which processes are metered ---- */

    /* Call it in the command's process, as the last step before its exec. Allocates nothing. NULL: nothing to do.
     * Returns 0 or a negative errno. */
    int (*enter)(void *meter);

    /* Marks a suspended child of this process that has one thread. Its metering begins with its next exec, and includes
     * all that it creates from then on. Errors: -ESRCH, -EPERM ... with a line in `problem`. */
    int (*mark)(struct meter_interface *meter, pid_t pid, struct problem *problem);

    /* Marks all threads of a running process, or of every process except our own if pid is 0, and with them all that
     * they create from then on. They record nothing before `begin`. Kernel threads are never marked. Returns the number
     * of newly marked streams; 0 if all were marked already or the process has ended. Repeat the call, for streams
     * created meanwhile, until it returns 0, then call `begin`. Errors: -EPERM if the user may not meter this process
     * (`refused`, with pid 0). NULL: this meter cannot meter running processes. */
    int (*acquire)(struct meter_interface *meter, pid_t pid, struct problem *problem);

    /* Adds records for the acquired processes and the paths they hold, with their positions, and starts the recording
     * of all of them at one moment. Takes some 10 ms, longer while UNIX sockets are busy (at most half a second). NULL
     * if `acquire` is NULL. */
    int (*begin)(struct meter_interface *meter, struct meter_begun *ret_begun,
                 struct problem *problem);

    /* Changes what a process records from now on, all its threads and what they create; of every process if pid is 0, and
     * of those that are marked later. Flags and kinds are those that the meter was opened for. Positions go on
     * being counted, so messages are matched exactly across a change; PATH and DESTROYPATH records are made for all kinds
     * that it was opened for, whether they are recorded or not. Adds a FLAGS record for each process that has changed, and
     * for all; none for a process that leaves between `acquire` and `begin`. Returns how many threads have changed. Errors:
     * -EINVAL (flags or kinds that it was not opened for). NULL: this meter cannot. */
    int (*change)(struct meter_interface *meter, pid_t pid, const struct meter_change *change,
                  struct problem *problem);

    /* Whether the marked command has ended. If so, *ret_status is as wait(2) returns it, and the command is reaped. NULL:
     * it is our child, and nobody else waits for it (meter_command_ended). */
    bool (*ended)(struct meter_interface *meter, pid_t pid, int *ret_status);

    /* Whether a signal has stopped the process since the last call. NULL: as above (meter_command_stopped). */
    bool (*stopped)(struct meter_interface *meter, pid_t pid);

    /* Number of live metered streams. */
    uint32_t (*live)(const struct meter_interface *meter);

    /* Lists the metered processes that outlive the recording, each once. The caller frees *ret_list. The ptrace meter
     * has to release them for this, so call it right before `detach`. */
    int (*processes)(struct meter_interface *meter, struct meter_process **ret_list,
                     size_t *ret_count, struct problem *problem);

    /* ---- while recording ---- */

    /* Finds closed UNIX sockets and pipes, and adds DESTROYPATH records for them. Call it about once a second; no
     * kernel hook reports these. NULL: nothing to do. */
    int (*sweep)(struct meter_interface *meter, struct problem *problem);

    /* Until when to call the source's next() again, although nothing has woken us: it also looks for what no ring shows,
     * e.g. skipped hooks. CLOCK_MONOTONIC. NULL: there is no such time. */
    uint64_t (*look_until)(const struct meter_interface *meter);

    /* Measures the run time of the hooks, for short periods now and then. `now`: CLOCK_MONOTONIC. Returns when to call it
     * again: neither much earlier nor later; UINT64_MAX: never. NULL: this meter cannot. */
    uint64_t (*measure)(struct meter_interface *meter, uint64_t now);

    /* Average run time of the hooks in ns per record, including the kernel's counting, over the measured periods; 0:
     * unknown, or too few records were measured to be representative. NULL: never known. */
    uint32_t (*time_per_record)(const struct meter_interface *meter);

    /* Number of records lost so far in a ring. The data ring's number includes those of skipped hooks
     * (state.skipped), and messages that there was no path for. */
    uint64_t (*lost)(const struct meter_interface *meter, enum ring_id ring);

    /* Probes places of a file (a descriptor), until the end of the metering. Each process of the machine that reaches one pays some
     * microseconds; only metered ones make records. Returns how many are probed, with a line in `problem` for the first that is not
     * (else an empty one). NULL: this meter cannot, or was not opened for it. */
    size_t (*probe)(struct meter_interface *meter, int file, const struct meter_probe *probes,
                    size_t count, struct problem *problem);

    /* ---- the end ---- */

    /* The recorder gives up: no more records are made or kept, and the metered processes run on. */
    void (*stop)(struct meter_interface *meter);

    /* The recording ends: metering stops at one moment for all processes. The remaining records can still be read. */
    void (*detach)(struct meter_interface *meter);

    /* Calls `line` for each thing that was not recorded or is uncertain. Call it after the end of the source. */
    void (*report)(const struct meter_interface *meter,
                   void (*line)(const char *sentence, void *context), void *context);

    /* Detaches and frees the meter. */
    void (*close)(struct meter_interface *meter);
};

/* As meter_interface.ended and stopped, of any meter. */
static inline bool meter_command_ended(struct meter_interface *meter, pid_t pid, int *ret_status)
{
    return meter->ended == NULL ? process_has_ended(pid, ret_status)
                                : meter->ended(meter, pid, ret_status);
}

static inline bool meter_command_stopped(struct meter_interface *meter, pid_t pid)
{
    return meter->stopped == NULL ? process_has_stopped(pid) : meter->stopped(meter, pid);
}

static inline void meter_interface_close(struct meter_interface *meter)
{
    if (meter != NULL)
        meter->close(meter);
}

#endif
