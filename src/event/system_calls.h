/* SPDX-License-Identifier: MIT */
/* system_calls.h: what analyses ask of a system call, by its number on x86-64. */
#ifndef DPM_SYSTEM_CALLS_H
#define DPM_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CALL_READ = 0,
    CALL_POLL = 7,
    CALL_SELECT = 23,
    CALL_PAUSE = 34,
    CALL_NANOSLEEP = 35,
    CALL_VFORK = 58,
    CALL_WAIT4 = 61,
    CALL_FSYNC = 74,
    CALL_FDATASYNC = 75,
    CALL_SIGTIMEDWAIT = 128,
    CALL_SIGSUSPEND = 130,
    CALL_FUTEX = 202,
    CALL_CLOCK_NANOSLEEP = 230,
    CALL_EPOLL_WAIT = 232,
    CALL_WAITID = 247,
    CALL_PSELECT6 = 270,
    CALL_PPOLL = 271,
    CALL_EPOLL_PWAIT = 281,
    CALL_EPOLL_PWAIT2 = 441,
    CALL_FUTEX_WAITV = 449,
};

static inline bool call_is_futex(uint32_t call)
{
    return call == CALL_FUTEX || call == CALL_FUTEX_WAITV;
}

/* Calls that programs make for a few files, which they name each time. Event loops use epoll. */
static inline bool call_is_poll(uint32_t call)
{
    return call == CALL_POLL || call == CALL_SELECT || call == CALL_PSELECT6 || call == CALL_PPOLL;
}

static inline bool call_is_epoll(uint32_t call)
{
    return call == CALL_EPOLL_WAIT || call == CALL_EPOLL_PWAIT || call == CALL_EPOLL_PWAIT2;
}

/* Whether it waits for any of several files. */
static inline bool call_waits_for_any(uint32_t call)
{
    return call_is_poll(call) || call_is_epoll(call);
}

#endif
