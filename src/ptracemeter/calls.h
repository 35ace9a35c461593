/* SPDX-License-Identifier: MIT */
/* calls.h: a system call begins, ends: which it is, what of it is told. See ptracemeter_types.h. */
#ifndef DPM_CALLS_H
#define DPM_CALLS_H

#include "ptracemeter/ptracemeter_types.h"

/* Whether the end of the call is to stop it, too. */
bool call_begins(struct ptracemeter *meter, struct tracee *tracee, uint64_t number,
                 const uint64_t arguments[6]);
void call_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
/* The stream has ended in it. */
void call_dropped(struct ptracemeter *meter, struct tracee *tracee);
/* Calls that have been going on for long. */
void call_goes_on(struct ptracemeter *meter, struct tracee *tracee, uint64_t now);
/* Whether the stream slept in the call that ends. */
bool call_slept(struct tracee *tracee);
/* The same of a send. */
bool call_took_long(const struct tracee *tracee);
/* RECEIVECALL, told at the end of the call, or while it goes on. */
void call_tell_wait(struct ptracemeter *meter, struct tracee *tracee, uint32_t path,
                    uint32_t offset);

/* What a call is about. */
enum call_class {
    CALL_SENDS,      /* on the descriptor that is the first argument */
    CALL_SENDS_MANY, /* sendmmsg */
    CALL_RECEIVES,   /* ... */
    CALL_RECEIVES_MANY,
    CALL_MOVES,     /* splice, sendfile, tee, vmsplice */
    CALL_WAITS_ANY, /* for any of several paths */
    CALL_ACCEPTS,
    CALL_CONNECTS,
    CALL_SLEEPS,  /* BLOCK */
    CALL_CLOSES,  /* close, close_range, dup2, dup3, unshare */
    CALL_MAKES,   /* pipe, socketpair, socket */
    CALL_NOTICED, /* io_uring_setup, ptrace */
    CALL_RESTARTS,
    CALL_CHANGES_TEXT, /* callers_changes */
};

struct system_call {
    uint16_t number;
    uint8_t what;   /* enum call_class */
    uint32_t flags; /* stops only if one of these is in force; 0: always */
    /* stops only if ... */
    uint8_t test;     /* enum argument_test */
    uint8_t argument; /* of this argument */
    uint64_t mask, value;
};

enum argument_test { TEST_NONE, TEST_NOT, TEST_MASKED };

/* The calls that matter; some several times, with different tests. Ends with `what` 255. */
extern const struct system_call system_calls[];
#define NO_CLASS 255

#endif
