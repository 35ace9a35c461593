/* SPDX-License-Identifier: MIT */
/*
 * ptracemeter_types.h: the parts of a ptrace meter, and what its files are for.
 *
 *      ptracemeter.c   the interface, called by other threads
 *      tracer.c        the tracing thread: waits for stops, resumes tracees
 *        |-- tracees.c       streams and processes: creation, exec, end, identity
 *        |-- calls.c         beginning and end of a system call, and what is recorded of it
 *        |     |-- message_calls.c     data sent and received
 *        |     |-- submit_calls.c      the same by io_submit
 *        |     |-- descriptor_calls.c  descriptors made, copied, closed
 *        |     |-- file_calls.c        files read and written
 *        |     |-- queue_calls.c       messages in message queues
 *        |     '-- program_callers.c   the place in the program that a call comes from
 *        |-- descriptors.c   the object behind a descriptor, cached
 *        |-- objects.c       the known sockets and pipes
 *        |     |-- pipe_facts.c    what a pipe is
 *        |     |-- socket_facts.c  what a socket is
 *        |     |     |-- networks.c   its network namespace
 *        |     |     '-- diagnosis.c  asks the kernel there
 *        |     |-- addresses.c     its addresses
 *        |     |-- paths.c         its paths
 *        |     |-- datagram_names.c  UNIX datagram sockets with a name
 *        |     '-- peers.c         other ends of connections
 *        '-- telling.c       records
 *      call_filter.c   which calls stop at all (seccomp)
 *
 *      tracee --> process --> table --[descriptor]--> object --> path --> number, offsets
 *                 (threads share it)   (each fork has its own)
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

/* The results with which the kernel internally marks calls that continue after a signal. */
#define FIRST_RESTART (-516) /* ERESTART_RESTARTBLOCK: continues by restart_syscall */
#define LAST_RESTART  (-512) /* ERESTARTSYS */

/* ---- the object behind a descriptor ---- */

enum object_kind {
    OBJECT_SOCKET,
    OBJECT_PIPE, /* or FIFO */
};

struct object;

/* One end of a path. */
struct path {
    struct path *next; /* next one of the same object */
    struct object *object;
    uint32_t number;
    uint32_t out; /* bytes or messages sent, counted when calls end */
    uint32_t in;
    uint64_t peer;       /* cookie; 0: not known */
    uint64_t sent_bytes; /* in all */
    uint8_t kind;        /* enum path_kind */
    bool older;          /* older than the metering */
    bool doubtful;       /* offsets may be wrong from now on */
    bool guessed;        /* UDP: the local address is what the route says */
    bool many;           /* UDP: several sockets receive what is sent: broadcast */
    bool leads_nowhere;  /* UDP: no socket had its remote address when it was met */
    bool translated;     /* UDP: the local address is what its sender sends to, not the socket's */
    bool paired;         /* TCP: the other end is known */
    bool peer_gone;      /* the other end is closed ... */
    uint32_t peer_out;   /* ... and had sent this much */
    struct path_record record; /* as it was reported */
};

struct object {
    uint64_t device; /* key of the object, together with `inode` */
    uint64_t inode;
    uint64_t cookie;     /* of a pipe: twice its serial number */
    uint64_t generation; /* of a FIFO: tells it from others with this inode number; 0: not known */
    uint32_t index;      /* in the pool */
    uint32_t holders;    /* table entries that refer to it */
    uint32_t sending;    /* calls in progress */
    uint32_t receiving;
    uint32_t sent; /* calls begun so far */
    uint32_t received;
    bool shut_out; /* by shutdown */
    bool shut_in;
    bool in_flight; /* inside a message that passes it on */
    bool missed;    /* data may have been sent before it had a path: new paths are doubtful */
    uint8_t object_kind;
    uint8_t kind;      /* enum path_kind; 0: not a path */
    uint8_t unmetered; /* enum unmetered_kind, if it is not a path */
    uint8_t family;
    uint8_t role; /* enum path_role, as far as calls show it */
    bool older;   /* older than the metering: not made by a tracee, as far as is known */
    bool packets; /* pipe in packet mode (O_DIRECT) */
    bool connected;
    bool drops_known; /* `drops` has been read */
    uint32_t
        drops;     /* UDP: datagrams that were dropped on arrival, as far as counted in its paths */
    bool v6_only;  /* IPv6 socket that gets nothing from IPv4 */
    bool gone;     /* closed, and kept because it may be accepted later */
    bool reused;   /* another connection had its addresses, and may have had its peer */
    uint64_t peer; /* cookie; 0: not known */
    uint64_t listener; /* UNIX: cookie of the socket in whose queue it waits; 0: not known */
    bool connecting;   /* connect was called, and how it ended was not recorded yet */
    uint32_t connecting_stream; /* which called it ... */
    pid_t connecting_tid;
    uint64_t connect_began;   /* ... and when */
    uint64_t connect_ended;   /* UNIX: when that call ended; 0: never ... */
    pid_t connector;          /* ... and of which process it was */
    uint32_t listener_path;   /* number of its PATH as a listener; 0: it is none */
    uint64_t gone_at;         /* the meter's `gone_count` when it had gone */
    struct path *former;      /* paths that a call in progress may use */
    struct path *paths;       /* of a socket; datagrams: one for each peer */
    struct path *ends[2];     /* of a pipe: written, read */
    struct path_record facts; /* what all its PATH records have in common */
};

#define PIPE_WRITTEN 0
#define PIPE_READ    1

/* A descriptor that is not a path. */
#define NO_OBJECT ((struct object *)-1)

/* ... because it is a socket of a kind that no meter records (enum unmetered_kind). */
#define UNMETERED_SOCKET(kind) ((struct object *)-(2 + (intptr_t)(kind)))

static inline bool is_object(const struct object *object)
{
    return object != NULL && (uintptr_t)object < (uintptr_t)UNMETERED_SOCKET(UNMETERED_END);
}

/* Descriptors, shared by the tracees that use them. */
struct table {
    uint32_t users; /* tracees */
    uint32_t noted; /* the latest sweep that has looked at all its descriptors */
    /* calls in progress that close or replace descriptors: meanwhile nothing is cached */
    uint32_t changing;
    struct object **at; /* [capacity] NULL: not looked at yet */
    size_t capacity;
};

/* ---- tracees ---- */

struct process {
    pid_t pid;
    uint32_t number;  /* number of its first stream */
    uint32_t streams; /* live streams */
    uint32_t image;
    int pid_fd;       /* -1: not opened yet */
    bool other_bits;  /* 32-bit or x32 program: its calls are not seen */
    bool other_calls; /* has made 32-bit or x32 calls, and this was reported */
    bool unreadable;  /* its descriptors cannot be looked at, and this was reported */
    uint32_t user;
    uint32_t pid_inside;
    uint32_t pid_namespace;
    uint64_t cgroup;
    struct callers *callers; /* of its address space; NULL: not asked for, or no memory */
};

/* The scheduler's figures for a stream. */
struct schedule {
    uint64_t run;      /* ns of CPU time */
    uint64_t delay;    /* ns waiting for a CPU */
    uint64_t arrivals; /* how often it got a CPU */
};

struct system_call;
struct submission;

/* The call in progress. */
struct call {
    const struct system_call *what; /* NULL: none that matters */
    uint64_t number;
    uint64_t arguments[6];
    uint64_t began; /* when it was resumed at its entry */
    struct schedule before;
    uint64_t involuntary;    /* involuntary switches of its process at `began` */
    uint64_t preempted;      /* preemptions of its stream at `began` */
    struct object *from;     /* the object it receives from; may be NULL */
    struct object *to;       /* the object it sends to; may be NULL */
    struct path *path;       /* the path it sends on; NULL: not known yet, or several */
    uint32_t other_sends;    /* sends begun on `to` by then; 0: some were in progress */
    uint32_t other_receives; /* the same for `from` */
    bool told;               /* RECEIVECALL was recorded */
    uint32_t told_bytes;     /* 1 + bytes of the latest SENDCALL; 0: none */
    bool changing;           /* counted in its table's `changing` */
    bool starved;            /* splice ...: there was nothing to read when it began */
    bool counted;            /* counted in its objects' `sending` and `receiving` */
    bool uses_files;         /* these two are set: */
    int file_read;           /* descriptor of a file that it reads from, or -1 */
    int file_written;
    uint32_t queue;                /* index of its message queue, + 1; 0: none */
    struct submission *submission; /* io_submit: its operations, or NULL */
};

struct tracee {
    pid_t tid;
    uint32_t number; /* of its STREAM; 0: not reported yet */
    uint32_t sequence;
    uint32_t parent;
    struct process *process;
    struct table *table;
    struct call call;
    struct call restarting; /* a call that continues by restart_syscall */
    int schedstat;          /* descriptor; -1: not opened, -2: it cannot be */
    int thread_fd; /* the same: pidfd of the thread, if its descriptors are not its process's */
    struct schedule schedule;
    uint64_t involuntary; /* involuntary switches of its process, at its latest stop */
    uint64_t ip;          /* instruction pointer at its latest stop */
    uint64_t stack;       /* stack pointer there */
    uint64_t pc;          /* the PC in its program, valid if `pc_found` */
    uint16_t pc_flags;    /* of `pc`: RECORD_LIBRARY or 0 */
    bool pc_found;
    bool stands;           /* it is stopped at `ip` */
    uint64_t preempted;    /* its preemptions when last read */
    uint64_t preempted_at; /* `involuntary` then, + 1; 0: never read */
    uint64_t started;      /* when it was created */
    uint32_t failed_sends;
    uint32_t failed_receives;
    bool born;        /* its creator's stop has been seen */
    bool waits;       /* stopped, and held until it is born */
    bool from_exec;   /* nothing is recorded before it executes a program */
    bool begun;       /* STARTPROCESS has been recorded */
    bool exit_wanted; /* must stop at the end of its call */
    bool stopped;     /* by a signal */
    /* a RECEIVECALL was recorded for a tee, which takes nothing, or a restarted call: the next RECEIVE had to wait */
    bool waited;
    bool ended;          /* its end has been handled */
    uint64_t held_since; /* when `waits` was set */
    /* in its latest STREAM */
    uint32_t user;
    uint64_t cgroup;
    char name[STREAM_NAME_SIZE];
};

/* ---- network namespaces ---- */

struct network {
    uint32_t inode;
    uint64_t cookie; /* 0: not known yet */
    int file;        /* open on it */
    int diag;        /* netlink socket in it, or -1 */
    bool tried;
    bool closed; /* we may not enter it */
    bool is_ours;
    bool used;
};

/* ---- commands ---- */

/* A process that was marked: it is a child of ours. */
struct marked {
    pid_t pid;
    bool seized; /* it is traced, or that failed */
    int error;   /* why it is not */
    atomic_bool ended;
    atomic_bool stopped; /* since this was asked last */
    int status;          /* once it has ended */
};

#define MARKED_MOST 256

/* ---- records between the threads ---- */

#define BUFFER_SIZE (4u << 20)

struct buffer {
    char *bytes;
    size_t used;
    size_t first;
};

enum phase {
    PHASE_RECORDS,
    PHASE_STOPPED,  /* still traces, but records nothing */
    PHASE_DETACHES, /* releases all tracees */
};

/* How often it happened, and to which process first. */
struct shortfall {
    uint64_t count;
    char first[32];
};

/* What could not be metered. It is counted, and reported at the end. */
struct shortfalls {
    struct shortfall unreadable;  /* descriptors and memory that cannot be looked at */
    struct shortfall other_bits;  /* 32-bit programs */
    struct shortfall other_calls; /* 64-bit programs with 32-bit calls */
    struct shortfall uring;       /* io_uring rings */
    struct shortfall submitted;   /* operations of io_submit without a result */
    struct shortfall answered;    /* filters of calls that a process answers */
    struct shortfall mapped;      /* receives that map the data */
    struct shortfall tracers;     /* ptrace calls by tracees */
    uint64_t anonymous;           /* datagrams received without their sender's address */
    uint64_t networks;            /* network namespaces that may not be entered */
    uint64_t no_memory;           /* for paths, streams, programs */
    uint64_t no_schedule;         /* streams without schedstat */
    uint64_t dropped;             /* records, while tracees are released and nothing reads */
};

#define NOT_PENDING UINT64_MAX

struct ptracemeter {
    struct meter_interface interface; /* first: it is cast, and so is its source */
    struct ptracemeter_options options;
    struct sock_fprog filter;
    int64_t wall_offset;
    /* shared by both threads, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct buffer filling;
    struct buffer reading; /* the reader's own */
    bool finished;         /* no more records will come */
    atomic_ullong
        pending; /* the record that is being made is no older than this; NOT_PENDING: none is */
    uint64_t complete; /* the reader's own: it has returned all records before this time */
    /* Entries stay as they are. Those that the tracer has not seized yet are new. */
    struct marked marked[MARKED_MOST];
    atomic_uint phase;          /* enum phase */
    atomic_bool kills;          /* kill all tracees */
    struct meter_process *left; /* processes that were released */
    size_t left_count, left_capacity;
    atomic_uint marked_count;
    atomic_uint live;
    int event_fd;
    pthread_t thread;
    bool running;
    pid_t tracer_tid; /* 0: not known yet */
    /* the tracer's own */
    unsigned seized_count; /* of `marked` */
    uint64_t last_time;
    uint32_t stops; /* so far */
    uint64_t last_tick;
    uint64_t last_sweep;
    struct lookup tids; /* -> tracees */
    struct pool tracees;
    uint32_t tracee_count;
    struct lookup inodes; /* -> objects */
    struct pool objects;
    struct lookup cookies;   /* of sockets -> objects */
    struct lookup addresses; /* of TCP ends, hashed -> objects */
    struct lookup files;     /* of processes -> used_files */
    struct pool used_files;
    struct lookup queue_keys; /* -> queues */
    struct pool queues;
    struct lookup awaited; /* cookies of TCP ends -> the objects whose peers they are */
    uint32_t *gone;        /* [GONE_MOST], circular: objects that are closed, and kept */
    uint64_t gone_count;   /* so far */
    uint32_t last_stream, last_path, last_image, last_pipe, last_file, last_queue;
    int cgroup_root;
    struct network *networks; /* network namespaces; ours first */
    size_t network_count, network_capacity;
    uint32_t diag_questions;
    bool tcp_answers; /* the kernel has answered a question about a TCP connection */
    uint32_t sweeps;
    bool no_copies; /* pidfd_getfd is refused */
    bool no_proc;   /* /proc does not show our processes */
    bool doubtful;  /* some calls are not seen: all offsets may be wrong */
    /* some process may have changed its user or namespaces: they are read again for each */
    bool identities_change;
    bool closings;      /* some objects may be closed */
    uint32_t unmetered; /* 1 << enum unmetered_kind: sockets in use of which NAME was recorded */
    struct shortfalls shortfalls;
};

static inline struct ptracemeter *ptracemeter_of(const struct meter_interface *interface)
{
    return (struct ptracemeter *)(uintptr_t)interface;
}

#endif
