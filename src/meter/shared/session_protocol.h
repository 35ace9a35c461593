/* SPDX-License-Identifier: MIT */
/*
 * session_protocol.h: how dpm asks dpmd for a session: a kernel meter that dpmd has loaded, and whose rings dpm reads.
 *
 *      dpm (any user)                                          dpmd (privileged)
 *      OPEN  flags, kinds, size       ------------------->     loads a meter for the peer's user
 *                                     <-------------------     descriptors of its two rings
 *      MARK  a pidfd                  ------------------->     marks the command
 *                                     <-------------------     records (a memory file)
 *      reads the rings
 *      LOOK, SWEEP ... now and then   <------------------>     numbers, records
 *      DETACH, LAST                   <------------------>     the last records
 *      closes the connection          ------------------->     unloads the meter
 *
 * A connection is a session. It is a UNIX socket of type SOCK_SEQPACKET: each message is one request or one reply. The
 * peer's user is whom the kernel names (SO_PEERCRED). Processes are named by pidfds, never by numbers: those may be of
 * another PID namespace, or have ended. Records come as a file in memory of `bytes` bytes, one after the other.
 *
 * The reader trusts dpmd. dpmd trusts nothing: every request is checked, and can only concern its own session.
 */
#ifndef DPM_SESSION_PROTOCOL_H
#define DPM_SESSION_PROTOCOL_H

#include "event/event.h"

#define SESSION_SOCKET  "/run/dpm/socket"
#define SESSION_FOLDER  "/run/dpm/sessions"
#define SESSION_VERSION 2u

enum session_operation {
    SESSION_OPEN = 1,
    SESSION_MARK,      /* with a pidfd: records from its next exec on */
    SESSION_ACQUIRE,   /* with a pidfd, or `all` */
    SESSION_BEGIN,     /* of the acquired processes */
    SESSION_CHANGE,    /* with a pidfd, or `all`: of what is recorded */
    SESSION_LOOK,      /* adds records that are due */
    SESSION_NOTE,      /* sockets that the reader has found in its records */
    SESSION_SWEEP,     /* adds records of closed paths */
    SESSION_PROCESSES, /* the file has struct meter_process instead of records */
    SESSION_REPORT,    /* the file has sentences, each ended by a NUL, instead of records */
    SESSION_DETACH,    /* metering ends; nothing may follow but LAST, PROCESSES and REPORT */
    SESSION_LAST,      /* adds the last records */
    SESSION_OPERATIONS,
};

/* A UNIX socket's path that has begun or ended. */
struct session_socket {
    uint32_t path;
    uint32_t network;
    uint64_t cookie;
    uint64_t peer;
    uint64_t inode;
    uint32_t datagram; /* 0 or 1 */
    uint32_t ended;    /* 0 or 1: only the path counts */
};

#define SESSION_SOCKETS_MOST 64

struct session_request {
    uint32_t version;
    uint32_t operation; /* enum session_operation */
    union {
        struct {
            uint64_t flags;
            uint64_t later_flags; /* that CHANGE may set, besides these */
            uint32_t kinds;
            uint32_t later_kinds; /* likewise */
            uint32_t ring_size;   /* 0: the default */
            uint32_t selects;     /* not 0: selection rules are wanted in the kernel */
        } open;
        struct {
            uint64_t flags_off, flags_on; /* CHANGE: struct meter_change */
            uint32_t kinds_off, kinds_on;
            uint32_t leaves;
            uint32_t all; /* 1: everything that the user may meter, or that is metered; else 0 */
        } of;
        uint64_t records; /* LOOK: how many the reader has taken */
        struct {
            uint32_t count;
            struct session_socket sockets[SESSION_SOCKETS_MOST];
        } note;
        struct {
            uint64_t time;
            uint64_t told_lost[RING_COUNT];
        } last;
    };
};

#define SESSION_TEXT_SIZE 512

#define SESSION_DESCRIPTORS_MOST (RING_COUNT + 1) /* that come with a reply */

struct session_reply {
    uint32_t version;
    int32_t result; /* a negative errno: `text` says why; ACQUIRE, CHANGE: how many threads */
    uint64_t bytes; /* of the file that comes with it; 0: none */
    uint64_t cpu;   /* time in ns that dpmd has spent on this session */
    union {
        struct {
            uint32_t sizes
                [RING_COUNT]; /* of the rings, in bytes; their descriptors come in this order, then, if it was
                               * wanted, that of the memory of the rules (kernel_selection.h) */
            uint32_t kinds; /* that are metered */
            uint32_t later_kinds;
            uint64_t unknown_flags;
        } open;           /* `text`: what was left out */
        uint32_t refused; /* ACQUIRE */
        struct {
            uint64_t processes;
            uint32_t unsettled;
        } begin;
        struct {
            uint64_t lost[RING_COUNT];
            uint64_t skipped;
            uint32_t live;
            uint32_t time_per_record;
        } look; /* LOOK, SWEEP, DETACH, LAST */
    };
    char text[SESSION_TEXT_SIZE];
};

#endif
