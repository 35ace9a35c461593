/* SPDX-License-Identifier: MIT */
/*
 * statistics.h: the communication statistics: who sent how much to whom, and how long it took.
 *
 *      history --> statistics_add, once per event --> statistics_finish --> struct communication
 *
 *      processes   one row per process            CPU time, what it sent and received
 *      pairs       one row per (from, to)         what from sent to to
 *      paths       one row per like               what went each way, who used each end
 *
 * One pass, and no file is ever seen: a history's sources may be finished traces or live rings. What is matched is the
 * history's word. Connections between the same processes, to the same address and port of a service, share a row,
 * whenever they end.
 *
 * Memory is bounded by what lives at one time, and by the number of rows: the first 8,192 processes have a row each, later
 * ones share one with their like; of the rows of connections that have ended there are 4,096, then later ones
 * share rows whatever their addresses, and then whatever their processes. Pairs are made from these at a result.
 */
#ifndef DPM_STATISTICS_H
#define DPM_STATISTICS_H

#include "analysis/analysis.h"
#include "base/histogram.h"
#include "event/event.h"
#include "history/history.h"

/* ---- the result ---- */

/* A call is one message however many records it has (RECORD_CONTINUED), and the end of file that a
 * receive of 0 bytes on a byte stream means is none. */
struct traffic {
    uint64_t messages;
    uint64_t bytes;
};

/* Who sends or receives: one process, the several that used one end of a path, or nobody that was
 * metered, then the address of that end. Points into its struct communication. */
struct party {
    const uint32_t *processes; /* [count], indexes into communication.processes, ascending */
    uint32_t count;            /* 0: not metered */
    const char *address;       /* of the end of the path; NULL where processes say more */
};

#define NO_PROCESS UINT32_MAX

/* What takes time. */
enum time_kind {
    TIME_RESPONSE, /* as a server: from the last receive of a request to the next send on the same path by
                      the same process */
    TIME_REQUEST,        /* as a client: from the last send of a request to the next receive */
    TIME_MESSAGE_WAIT,   /* a message in its receiver's queue, until it was taken whole */
    TIME_RECEIVER_WAIT,  /* a receive that blocked, until it had something: its sender was late */
    TIME_SENDER_BLOCKED, /* a send that waited for room, until it ended */
    TIME_DELIVERY,       /* a message from being sent to being in the queue */
    TIME_KINDS,
};

/* ns, of each kind. */
struct times {
    struct histogram of[TIME_KINDS];
};

/* The messages that wait to be received. */
struct queue_length {
    uint32_t messages, messages_max; /* at the end, and the most: each of them takes memory */
    uint64_t bytes, bytes_max;
    uint64_t operations;   /* messages put in and taken out ... */
    uint64_t messages_sum; /* ... and messages in the queue after each of these */
    uint64_t wait;       /* ns, of all messages: with the duration it gives the average over time */
    uint64_t unreceived; /* messages that nobody has received as far as is known */
};

struct communication_process {
    uint32_t origin;        /* trace that tells of it */
    uint32_t machine;       /* index into communication.machines */
    uint32_t pid;           /* 0: its identity was lost */
    uint32_t stream;        /* number of its first stream, which is the number of the process */
    uint32_t parent;        /* index of the process that created it, or NO_PROCESS */
    uint32_t parent_number; /* number of a stream of that process, 0: not known */
    char name[STREAM_NAME_SIZE]; /* NUL-filled, not always terminated; "" if lost */
    uint32_t user;               /* uid, initial user namespace */
    uint32_t pid_inside;         /* pid in its own PID namespace */
    uint32_t pid_namespace;      /* inode of that, 0: not known */
    uint64_t cgroup;             /* cgroup2 id, 0: not known */
    const char *user_name;       /* these are NULL where they are not known */
    const char *cgroup_name;     /* path */
    const char *program;         /* last part of the file name that it executes */
    const char *group;           /* what a group of processes is called; NULL: one process */
    uint32_t group_size;         /* processes in the group */
    uint64_t cpu;                /* ns, used while metered */
    struct traffic sent;
    struct traffic received;
    struct histogram sizes; /* bytes of a message that it sent */
    uint64_t failed_sends;  /* calls; of threads that have ended */
    uint64_t failed_receives;
    struct times times;
    struct queue_length queue; /* of all its paths */
    bool ended;
};

/* What was sent into a path goes to all who used its other end, for it is counted before it is known which
 * of them takes it. What an unmetered process sent is counted where it was received. */
struct communication_pair {
    struct party from;
    struct party to;
    struct traffic sent;
    uint64_t from_bytes;    /* what `from` sent in all, to whomever */
    struct histogram sizes; /* bytes of a message */
    struct times times;     /* TIME_MESSAGE_WAIT, TIME_RECEIVER_WAIT and TIME_DELIVERY: of what `to`
                               received; TIME_SENDER_BLOCKED: how long `from` had no room */
    bool local;             /* all of it stayed on one machine */
    bool shared;            /* from or to is several processes */
};

/* How the network served TCP connections, as the kernel tells when they end or the recording does. */
struct network {
    bool known;
    uint64_t retransmitted;  /* segments, by all ends that are metered */
    uint64_t round_trip;     /* ns, smoothed, the greater of both ends; of several connections the
                                greatest */
    uint64_t unacknowledged; /* bytes */
};

/* A connection. `local` is the end that connected; where that is not known, the end whose path
 * number is smaller, or the only one that is known. */
struct communication_path {
    unsigned kind;     /* enum path_kind, unless the trace says nonsense */
    uint32_t number;   /* of the local end, else of the remote one */
    const char *local; /* addresses as endpoint_local() writes them; of several connections what
                          they have in common: "127.0.0.1:*" */
    const char *remote;
    struct party ends[2]; /* who used the local and the remote end */
    uint64_t connections; /* that share this row */
    uint64_t ended;       /* of them */
    struct times times;
    struct queue_length queue; /* both directions */
    struct traffic sent;       /* from local to remote */
    struct traffic received;   /* from remote to local */
    struct histogram sizes;    /* bytes of a message, both directions */
    uint64_t dropped;          /* datagrams that found the receiver's queue full, both directions */
    uint64_t duplicates;       /* datagrams that came once more, both directions */
    struct network network;
};

struct communication_machine {
    char name[MACHINE_NAME_SIZE + 16]; /* distinct from all others; terminated */
    /* at its last record, as messages tell, if it was read as a history (`matched`): */
    int64_t
        clock_offset; /* ns to add to its times to have those of the first machine's clock ... */
    int64_t
        clock_ahead; /* ... how far its wall clock is ahead of the first one's, each as the machine's
                            latest record says it: one that was set in between is not seen ... */
    uint64_t
        clock_error; /* ... and how wrong both may be. UINT64_MAX: it is not known; 0: of the first one */
};

/* Where programs send and receive, if the flag pc was set. */
struct communication_procedure {
    const char *name;   /* as its programmer wrote it; "": no symbol tells; "*": too many others */
    const char *module; /* path of the file of program text; "": not known */
    struct traffic sent;
    struct traffic received;
};

struct communication_piece {
    void *bytes;
    size_t size;
};

/* What a row of the processes stands for. */
enum communication_by {
    BY_PROCESS,
    BY_USER,
    BY_CONTAINER, /* container_name() of the cgroup */
    BY_PROGRAM,
    BY_MACHINE,
    BY_NAMESPACE, /* of PIDs */
};

struct communication {
    enum communication_by by;
    struct communication_process *processes; /* in order of their first record */
    size_t process_count;
    struct communication_pair *pairs; /* most bytes first */
    size_t pair_count;
    size_t pair_capacity;
    struct intern pair_keys;          /* of all pairs in their order, or empty */
    struct communication_path *paths; /* most bytes first */
    size_t path_count;
    struct communication_machine *machines;
    size_t machine_count;
    struct arena memory;                /* of the pieces */
    struct communication_piece *pieces; /* texts and lists that rows point into */
    size_t piece_capacity;
    struct intern piece_keys;

    struct communication_procedure *procedures; /* most bytes first */
    size_t procedure_count;
    struct traffic *intervals; /* what was sent in each stretch of time, the first first */
    size_t interval_count;
    uint64_t interval;      /* ns; 0: not asked for */
    int64_t interval_begin; /* of the first, ns after the first record */

    uint32_t traces;      /* origins of the source */
    uint64_t events;      /* records that tell of an event: SEND to TERMINATION, WAKEUP */
    uint64_t lost;        /* records that could not be written */
    uint64_t skipped;     /* of them: hooks that the kernel skipped, each at most one event */
    uint64_t dropped;     /* datagrams that found their receiver's queue full */
    uint64_t duplicates;  /* datagrams that were received once more: the network has doubled them */
    uint64_t cpu;         /* ns, of all processes */
    struct traffic sent;  /* by all processes */
    struct traffic local; /* what stayed on its machine */
    struct traffic remote;    /* what left or came from another machine */
    uint64_t connections;     /* paths with all their ends, once each */
    uint64_t ended;           /* of them */
    uint64_t duration;        /* ns from the first record to the last */
    bool complete;            /* every recording ended in order, with END_COMPLETE */
    uint64_t unknown_streams; /* messages of streams whose identity record is missing: they count
                                 for a process of their own */
    uint64_t
        clock_error; /* ns: how far times of one machine and another may be wrong, at the end; 0: there is
                                 one machine; UINT64_MAX: no messages went both ways */
    uint32_t kinds_left_out;    /* METER_TCP ...: some recording did not meter them */
    uint32_t flags_left_out;    /* of METER_EVENT_FLAGS, the same */
    uint32_t traces_of_ptrace;  /* how many of the recordings the ptrace meter made */
    uint64_t unseen_bytes;      /* received by a call the kernel does not tell of: they count for no
                                 process */
    uint64_t unseen_sent_bytes; /* the same of sending */
    bool matched;               /* `matching` is known: it was read as a history */
    struct history_counts
        matching;           /* what became of messages, and (always) what the recordings cost */
    uint64_t unknown_paths; /* messages on paths whose identity record is missing: they count for
                                 their process, but for no pair and no path */
};

void communication_free(struct communication *communication);

/* A copy of these bytes that lives as long as the result; equal ones share it. NULL: out of memory. */
const void *communication_keep(struct communication *communication, const void *bytes, size_t size);
const char *communication_keep_text(struct communication *communication, const char *text);
/* The copy, if there is one; NULL. */
const void *communication_find(const struct communication *communication, const void *bytes,
                               size_t size);

/* ---- making it ---- */

struct statistics;

/* For a history that nothing was read of, which must live as long as the statistics. `every`: also count over time, in
 * stretches of this many ns, twice as long whenever there are too many (MOST_INTERVALS); 0: do not. Returns 0 or -ENOMEM. */
int statistics_new(struct history *history, uint64_t every, struct statistics **ret_statistics);

#define MOST_INTERVALS 10000

/* Each connection has a row of its own, as long as there are not too many that have ended. To be called before the first
 * event. */
void statistics_each_connection(struct statistics *statistics);

void statistics_free(struct statistics *statistics);

/* Takes the next event of the history into account. Returns 0 or -ENOMEM; after that only statistics_free is allowed. */
int statistics_add(struct statistics *statistics, const struct history_event *event);

/* The statistics, for analyses_read. */
struct analysis statistics_analysis(struct statistics *statistics);

/* The result so far, of so many origins; more events may be added afterwards, and after the last one the history may be
 * finished before (history_finish). Returns 0 or -ENOMEM. The result stands alone: free it with communication_free. */
int statistics_finish(struct statistics *statistics, uint32_t origins,
                      struct communication **ret_communication);

/* All of it: reads a history with so many origins to its end; `every` is statistics_new's. The history is finished then
 * (history_finish). Errors: those of the history; -EAGAIN if it has nothing yet; -ENOMEM; a line in `problem`. */
int communication_read_history(struct history *history, uint32_t origins, uint64_t every,
                               struct communication **ret_communication, struct problem *problem);

/* ---- groups ---- */

/* The same result with groups of processes in place of the processes: sums for each, and who sent
 * to whom among them; `by` is not BY_PROCESS. A group lies within one machine; processes whose identity was lost are a
 * group of their own. In its processes only machine, group, group_size, cpu, sent and received have
 * a meaning. Returns 0 or -ENOMEM. The result stands alone: free it with communication_free. */
int communication_group(const struct communication *communication, enum communication_by by,
                        struct communication **ret_groups);

/* What a process's user, container or program is called: by its name, where that is not known by its
 * number ("1000", "cgroup 77"). A group is called so unless another one of its machine is. */
void communication_group_name(const struct communication_process *process, enum communication_by by,
                              char name[NAME_SIZE]);

/* "process", "user", "container", "program", "machine". */
const char *communication_by_name(enum communication_by by);

#endif
