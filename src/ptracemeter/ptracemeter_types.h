/* SPDX-License-Identifier: MIT */
/*
 * ptracemeter_types.h: the parts of a ptrace meter, and what its files are for.
 *
 *      ptracemeter.c   opened, marked, closed by others' threads
 *      tracer.c        the thread: waits for stops, and lets go
 *        |-- tracees.c       streams and processes: created, executing, ended; who they are
 *        |-- calls.c         a system call begins, ends: which it is, what of it is told
 *        |     |-- message_calls.c bytes sent, received
 *        |     |-- descriptor_calls.c  descriptors made, copied, closed
 *        |     '-- program_callers.c   from where in its program a call is made
 *        |-- descriptors.c   which file is behind a descriptor, once looked at
 *        |-- objects.c       sockets and pipes that are known
 *        |     |-- socket_facts.c  what a socket is
 *        |     |     '-- diagnosis.c  what the kernel says of it by its inode
 *        |     |-- addresses.c     its addresses
 *        |     '-- paths.c         its paths, and who is at their other end
 *        '-- telling.c       records
 *      call_filter.c   which calls stop at all (seccomp)
 *
 *      tracee --> process --> table --[descriptor]--> object --> path --> number, positions
 *                 (threads share it)   (forks have an own one)
 */
#ifndef DPM_PTRACEMETER_TYPES_H
#define DPM_PTRACEMETER_TYPES_H

#include "base/lookup.h"
#include "ptracemeter/program_callers.h"
#include "ptracemeter/ptracemeter.h"

#include <linux/filter.h>
#include <pthread.h>
#include <stdatomic.h>

#define MILLISECOND 1000000ull

#define TICKSIGNAL (SIGRTMIN + 3) /* interrupts the tracer's wait */

/* What the kernel's calls return inside when they are to go on after a signal: from the first on ... */
#define FIRST_RESTART (-516) /* ... which goes on by restart_syscall ... */
#define LAST_RESTART  (-512) /* ... to the last */

/* ---- the object behind a descriptor ---- */

enum object_kind {
    OBJECT_SOCKET,
    OBJECT_PIPE, /* or FIFO */
};

struct object;

/* One end of a path. */
struct path {
    struct path *next; /* of the same object */
    struct object *object;
    uint32_t number;
    uint32_t out; /* bytes, or messages, that calls have sent that have ended */
    uint32_t in;
    uint64_t peer;             /* cookie; 0: not known */
    uint8_t kind;              /* enum path_kind */
    bool older;                /* than the metering */
    bool doubtful;             /* positions may be wrong from now on */
    bool paired;               /* TCP: the other end is known */
    bool peer_gone;            /* the other end is closed ... */
    uint32_t peer_out;         /* ... and had sent so much */
    struct path_record record; /* as it was told */
};

struct object {
    uint64_t device; /* with the inode the key under which it is found */
    uint64_t inode;
    uint64_t cookie;  /* of a pipe twice its serial number */
    uint32_t index;   /* of the pool, for the lookup */
    uint32_t holders; /* entries of tables */
    uint32_t sending; /* calls in progress */
    uint32_t receiving;
    uint32_t sent; /* calls that have begun so far */
    uint32_t received;
    bool shut_out; /* shutdown */
    bool shut_in;
    bool in_flight; /* in a message that passes it on */
    bool missed;    /* something was sent before it had a path */
    uint8_t object_kind;
    uint8_t kind; /* enum path_kind, 0: it is no path */
    uint8_t family;
    uint8_t role; /* enum path_role, as far as calls told */
    bool older;   /* than the metering: not made by who is traced, as far as is known */
    bool packets; /* O_DIRECT */
    bool connected;
    uint64_t peer;            /* cookie; 0: not known */
    struct path *paths;       /* of a socket; datagrams: one for each peer */
    struct path *ends[2];     /* of a pipe: written, read */
    struct path_record facts; /* what a PATH of it has to say */
};

#define PIPE_WRITTEN 0
#define PIPE_READ    1

/* A descriptor that leads to no path. */
#define NO_OBJECT ((struct object *)-1)

/* Descriptors of processes that share them. */
struct table {
    uint32_t users; /* tracees */
    uint32_t
        changing; /* calls in progress that close or replace some: what is looked up is not kept */
    struct object **at; /* [capacity] NULL: not looked at yet */
    size_t capacity;
};

/* ---- who is traced ---- */

struct process {
    pid_t pid;
    uint32_t number;  /* that of its first stream */
    uint32_t streams; /* that live */
    uint32_t image;
    int pid_fd;       /* -1: not opened yet */
    bool other_bits;  /* executes a program of 32 bits, or x32: its calls are not seen */
    bool other_calls; /* makes some calls of 32 bits, which has been told */
    bool unreadable;  /* has been told of */
    uint32_t user;
    uint32_t pid_inside;
    uint32_t pid_namespace;
    uint32_t network;
    uint64_t cgroup;
    struct callers *callers; /* of its address space; NULL: nobody asks, or no memory */
};

/* The CPU's view of a stream. */
struct schedule {
    uint64_t run;      /* ns of CPU time */
    uint64_t delay;    /* ns it waited for a CPU */
    uint64_t arrivals; /* how often it got one */
};

struct system_call;

/* The call in progress. */
struct call {
    const struct system_call *what; /* NULL: none that matters */
    uint64_t number;
    uint64_t arguments[6];
    uint64_t began; /* let go at its entry */
    struct schedule before;
    uint64_t involuntary;    /* switches of its process, as of `began` */
    uint64_t preempted;      /* how often its stream was, then */
    struct object *from;     /* receives; may be NULL */
    struct object *to;       /* sends */
    struct path *path;       /* where it sends to; NULL: not known yet, or several */
    uint32_t other_sends;    /* begun on `to` until then; 0: some were in progress */
    uint32_t other_receives; /* the same on `from` */
    bool told;               /* RECEIVECALL */
    uint32_t told_bytes;     /* + 1: SENDCALL */
    bool changing;           /* of its table */
    bool starved;            /* splice: there was nothing to read when it began */
    bool counted;            /* among those of its objects that are sending, receiving */
};

struct tracee {
    pid_t tid;
    uint32_t number; /* of its STREAM; 0: not told yet */
    uint32_t sequence;
    uint32_t parent;
    struct process *process;
    struct table *table;
    struct call call;
    struct call restarting; /* that goes on by restart_syscall */
    int schedstat;          /* descriptor, -1: not opened */
    struct schedule schedule;
    uint64_t involuntary; /* switches of its process, at its latest stop */
    uint64_t ip;          /* where it was at its latest stop ... */
    uint64_t stack;       /* ... and its stack pointer */
    uint64_t pc;          /* the place in its program, if it has been looked for ... */
    uint16_t pc_flags;    /* ... RECORD_LIBRARY or 0 */
    bool pc_found;
    bool stands;           /* it is stopped there */
    uint64_t preempted;    /* how often it was, when that was last asked for */
    uint64_t preempted_at; /* `involuntary` then, + 1 */
    uint64_t started;      /* when it was created */
    uint32_t failed_sends;
    uint32_t failed_receives;
    bool born;        /* its creator's stop has been seen */
    bool waits;       /* stopped, and not let go until it is born */
    bool from_exec;   /* nothing is told before it executes a program */
    bool begun;       /* STARTPROCESS has been told */
    bool exit_wanted; /* the end of its call must stop it */
    bool stopped;     /* by a signal */
    bool
        waited; /* RECEIVECALL of a tee, which takes nothing, or of a call that begins again: the next RECEIVE had to wait */
    bool ended; /* TERMINATION has been told */
    uint64_t held_since; /* not born, and waits */
};

/* ---- records between the threads ---- */

#define BUFFER_SIZE (4u << 20)

struct buffer {
    char *bytes;
    size_t used;
    size_t first;
};

enum phase {
    PHASE_RECORDS,
    PHASE_STOPPED,  /* goes on tracing, records nothing */
    PHASE_DETACHES, /* lets go of everybody */
};

/* How often it was, and who was the first. */
struct shortfall {
    uint64_t count;
    char first[32];
};

/* What could not be metered: counted, told at the end. */
struct shortfalls {
    struct shortfall unreadable;  /* descriptors and memory that could not be looked at */
    struct shortfall other_bits;  /* programs of 32 bits */
    struct shortfall other_calls; /* programs of 64 bits with calls of 32 bits */
    struct shortfall uring;       /* rings of io_uring */
    struct shortfall answered;    /* filters of calls that a process answers */
    struct shortfall mapped;      /* receives that map what has come */
    struct shortfall tracers;     /* calls of ptrace by who is traced */
    uint64_t anonymous;           /* datagrams received without their sender's address */
    uint64_t no_memory;           /* for paths, streams, programs */
    uint64_t no_schedule;         /* streams without schedstat */
    uint64_t dropped;             /* records, while everybody is let go of and nobody reads */
};

struct ptracemeter {
    struct meter_interface interface; /* first: it is cast, and so is its source */
    struct ptracemeter_options options;
    struct sock_fprog filter;
    int64_t wall_offset;
    /* shared, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct buffer filling;
    struct buffer reading; /* the reader's own */
    bool finished;         /* no more records will come */
    bool seized;           /* or failed */
    int seize_error;
    atomic_uint phase;          /* enum phase */
    atomic_bool kills;          /* whoever is left */
    struct meter_process *left; /* let go of */
    size_t left_count, left_capacity;
    atomic_bool command_ended;
    atomic_bool command_stopped;
    int command_status;
    atomic_uint live;
    int event_fd;
    pthread_t thread;
    bool running;
    pid_t command;
    pid_t tracer_tid;
    /* the tracer's */
    uint64_t last_time;
    uint32_t stops; /* so far */
    uint64_t last_tick;
    uint64_t last_sweep;
    struct lookup tids; /* -> tracees */
    struct pool tracees;
    uint32_t tracee_count;
    struct lookup inodes; /* -> objects */
    struct pool objects;
    struct lookup cookies;   /* of UNIX sockets -> objects */
    struct lookup addresses; /* of TCP ends, hashed -> objects */
    uint32_t last_stream, last_path, last_image, last_pipe;
    int cgroup_root;
    int diag;
    bool diag_tried;
    uint32_t diag_questions;
    bool no_copies; /* of descriptors: pidfd_getfd is refused */
    bool doubtful;  /* calls are made that are not seen: all positions */
    bool
        identities_change; /* somebody may have got another user, other namespaces: all are asked */
    bool closings;         /* objects that may be closed */
    struct shortfalls shortfalls;
};

static inline struct ptracemeter *ptracemeter_of(const struct meter_interface *interface)
{
    return (struct ptracemeter *)(uintptr_t)interface;
}

#endif
