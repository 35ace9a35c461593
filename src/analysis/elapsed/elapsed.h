/* SPDX-License-Identifier: MIT */
/*
 * elapsed.h: where the elapsed time of a computation went: at each moment, one thing was being waited for.
 *
 *      client   ==compute==o SEND . . . . . . . . . RECEIVE o==compute== end
 *                           \                      /
 *      server      . . . . . o==compute==o(fdatasync)o==compute==o SEND
 *
 *      from the end backwards: client computes, message in flight, server computes, disk, server computes,
 *      message in flight, client computes
 *
 * A thread that waits is left for the thread that ended its wait, at the moment when it did (Trace Compass calls this
 * the critical path of an execution). What no record explains is charged to what the thread waited for: a disk, a
 * timer, a lock, an unmonitored peer. The parts add up to the elapsed time exactly.
 *
 * This is not the thesis' longest path (critical_path.h), which counts CPU time only, and serves for what-ifs.
 */
#ifndef DPM_ELAPSED_H
#define DPM_ELAPSED_H

#include "analysis/analysis.h"

enum elapsed_kind {
    ELAPSED_COMPUTES,
    ELAPSED_NO_CPU,    /* it could have run, but had no CPU: woken or preempted */
    ELAPSED_IN_FLIGHT, /* a message, from its send to its arrival in the receiver's queue */
    ELAPSED_OUTSIDE,   /* waits for an unmonitored peer */
    ELAPSED_DISK,
    ELAPSED_LOCK,    /* a lock or semaphore; which thread held it is not known */
    ELAPSED_TIMER,   /* asleep for a time that the program chose */
    ELAPSED_CHILD,   /* waits for an unmonitored child */
    ELAPSED_STOPPED, /* by a signal */
    ELAPSED_EVENT,   /* poll, select or epoll: a timeout, or an event that no record explains */
    ELAPSED_INPUT,   /* reads or writes something else: a terminal, a device */
    ELAPSED_UNKNOWN,
    ELAPSED_KIND_COUNT,
};

/* "computing", "no CPU", "in flight" ...; and a stable key: "computing", "no_cpu" ... */
const char *elapsed_kind_name(enum elapsed_kind kind);
const char *elapsed_kind_key(enum elapsed_kind kind);

struct elapsed_row {
    enum elapsed_kind kind;
    uint64_t time;  /* ns */
    uint64_t count; /* intervals */
    /* The thread that computes or waits; for a message in flight, its receiver. */
    uint32_t origin;
    uint32_t pid, tid;
    char process[STREAM_NAME_SIZE + 1];
    /* The procedure that made the call in which it waits, or up to whose call it computed; "": not known. */
    char procedure[PROCEDURE_NAME_SIZE + 1];
    char module[MODULE_NAME_SIZE + 1];
    /* Waits: number of the system call; NO_SYSTEM_CALL: none, or not known. */
    uint32_t call;
    /* OUTSIDE, IN_FLIGHT: the connection; 0: none. */
    uint8_t path_kind;
    char address[ENDPOINT_SIZE]; /* of the peer */
};

struct elapsed {
    uint64_t time; /* ns, what the rows add up to */
    uint64_t by_kind[ELAPSED_KIND_COUNT];
    struct elapsed_row *rows; /* most time first */
    size_t row_count;
    uint64_t intervals; /* on the way from the end to the beginning */
    /* The process with whose end the time ends; pid 0: it ends with the last event. */
    uint32_t pid;
    char process[STREAM_NAME_SIZE + 1];
    bool from_start; /* ... and its beginning was recorded */
};

/* Rows of one program with one reason, for a summary. */
struct elapsed_group {
    const struct elapsed_row *largest;
    uint64_t time;
    uint64_t count;
    size_t processes;
};

/* The groups, most time first; the caller frees them. Returns 0 or -ENOMEM. */
int elapsed_groups(const struct elapsed *elapsed, struct elapsed_group **ret_groups,
                   size_t *ret_count);

struct elapsed_analysis;

/* Errors: -ENOMEM; those of a file without a name in `directory` (NULL: $TMPDIR, or /var/tmp), with a line in
 * `problem`. Call it before anything is read from the history. */
int elapsed_new(struct history *history, const char *directory,
                struct elapsed_analysis **ret_analysis, struct problem *problem);
void elapsed_analysis_free(struct elapsed_analysis *analysis);

/* Processes the next event. Returns 0 or -ENOMEM, -ENOSPC, -EFBIG. */
int elapsed_add(struct elapsed_analysis *analysis, const struct history_event *event);
struct analysis elapsed_analysis(struct elapsed_analysis *analysis);

/* After the last event. Free the result with elapsed_free. Returns 0 or -ENOMEM. */
int elapsed_finish(struct elapsed_analysis *analysis, struct elapsed **ret_elapsed);
void elapsed_free(struct elapsed *elapsed);

#endif
