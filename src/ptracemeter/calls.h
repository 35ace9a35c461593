/* SPDX-License-Identifier: MIT */
/* calls.h: the beginning and the end of a system call, and what is recorded of it. See ptracemeter_types.h. */
#ifndef DPM_CALLS_H
#define DPM_CALLS_H

#include "ptracemeter/ptracemeter_types.h"

#include <errno.h>

/* Returns whether the call must also stop at its end. */
bool call_begins(struct ptracemeter *meter, struct tracee *tracee, uint64_t number,
                 const uint64_t arguments[6]);
void call_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
/* The call will not end as usual: its stream ended, or began another one. */
void call_dropped(struct ptracemeter *meter, struct tracee *tracee);
/* To be called from time to time while the call is in progress. */
void call_goes_on(struct ptracemeter *meter, struct tracee *tracee, uint64_t now);
/* Whether the stream slept in the call that ends. */
bool call_slept(struct tracee *tracee);
/* Whether a send took so long that the stream slept in it. */
bool call_took_long(const struct tracee *tracee);
/* Records a RECEIVECALL, at the end of the call or while it is in progress. */
void call_tell_wait(struct ptracemeter *meter, struct tracee *tracee, uint32_t path,
                    uint32_t offset);

/* Some later sends and receives, or some of this call, will not be seen: counts it as a shortfall of the tracee. */
void calls_missed(struct ptracemeter *meter, const struct tracee *tracee,
                  struct shortfall *shortfall);

static inline bool call_restarts(int64_t result)
{
    return result >= FIRST_RESTART && result <= LAST_RESTART;
}

/* EAGAIN only says that the call would have to wait: event loops ask until they get it. */
static inline bool call_failed(int64_t result)
{
    return result < 0 && result != -EAGAIN && !call_restarts(result);
}

/* What a call does. */
enum call_class {
    CALL_SENDS,      /* on the descriptor in its first argument */
    CALL_SENDS_MANY, /* sendmmsg */
    CALL_RECEIVES,   /* as above */
    CALL_RECEIVES_MANY,
    CALL_MOVES,     /* splice, sendfile, tee, vmsplice */
    CALL_SUBMITS,   /* io_submit */
    CALL_WAITS_ANY, /* for any of several paths */
    CALL_ACCEPTS,
    CALL_CONNECTS,
    CALL_LISTENS,
    CALL_OPTIONS,    /* getsockopt */
    CALL_SLEEPS,     /* recorded as BLOCK */
    CALL_CLOSES,     /* close, close_range, dup2, dup3, unshare */
    CALL_MAKES,      /* pipe, socketpair, socket */
    CALL_NOTICED,    /* io_uring_setup, ptrace ... */
    CALL_RENAMES,    /* prctl: the stream's name */
    CALL_IDENTIFIES, /* setuid ...: its user */
    CALL_RESTARTS,
    CALL_FILES,        /* only on files */
    CALL_OPENS,        /* a file */
    CALL_QUEUES,       /* message queues */
    CALL_CHANGES_TEXT, /* callers_changes */
};

struct system_call {
    uint16_t number;
    uint8_t what;   /* enum call_class */
    uint64_t flags; /* stops only if one of these is in force; 0: always */
    /* stops only if this test of one argument succeeds */
    uint8_t test;     /* enum argument_test */
    uint8_t argument; /* index of the argument */
    uint64_t mask, value;
    uint32_t kinds; /* stops only if one of these is metered; 0: all */
};

enum argument_test { TEST_NONE, TEST_NOT, TEST_MASKED };

/* The calls that matter. Some occur several times, with different tests. The last one's `what` is NO_CLASS. */
extern const struct system_call system_calls[];
#define NO_CLASS 255

#endif
