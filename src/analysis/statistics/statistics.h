/* SPDX-License-Identifier: MIT */
/*
 * statistics.h: communication statistics: which process sent how much to which, and how long it took.
 *
 *      history --> statistics_add, once per event --> statistics_finish --> struct communication
 *
 *      processes   one row per process            CPU time, what it sent and received
 *      pairs       one row per (from, to)         what from sent to to
 *      paths       one row per like (likes.h)     what went each way, which processes used each end
 *      failures    one row per (process, address) connections that failed
 *
 * One pass over a history, whose sources may be finished traces or live rings. The history alone matches messages.
 * Connections between the same processes, to the same address and port of a service, share a row, whenever they end.
 *
 * Memory is bounded by what lives at one time, and by the number of rows. The first 8,192 processes have a row each;
 * later ones share rows with similar processes. The first 4,096 likes of ended connections have a row each; later ones
 * share rows regardless of their addresses, and finally regardless of their processes. Pairs are computed from these
 * rows for each result.
 */
#ifndef DPM_STATISTICS_H
#define DPM_STATISTICS_H

#include "analysis/analysis.h"
#include "base/covered.h"
#include "base/histogram.h"
#include "event/event.h"
#include "history/history.h"

/* ---- the result ---- */

/* A call is one message, however many records it has (RECORD_CONTINUED). A receive of 0 bytes on a byte stream is the
 * end of the file, not a message. */
struct traffic {
    uint64_t messages;
    uint64_t bytes;
};

/* A sender or receiver: one process, several that used one end of a path, or an unmonitored peer, which only has the
 * address of that end. Points into its struct communication. */
struct party {
    const uint32_t *processes; /* [count], indexes into communication.processes, ascending */
    uint32_t count;            /* 0: not metered */
    const char *address;       /* of the end of the path; NULL if there are processes */
    const char *common;        /* ... of it, what stays if others share its row: "10.0.0.7:*" */
};

#define NO_PROCESS UINT32_MAX

enum time_kind {
    /* as a server: from the last receive of a request to the next send on the same path by the same process */
    TIME_RESPONSE,
    TIME_REQUEST, /* as a client: from the last send of a request to the next receive */
    TIME_RESPONSE_WHOLE, /* the same two, but to the last send or receive before the next request: all pieces of an */
    TIME_REQUEST_WHOLE,  /* answer are one answer */
    TIME_MESSAGE_WAIT,   /* receive-queue delay of a message, until it was taken whole */
    TIME_RECEIVER_WAIT,  /* a blocked receive, until it had data: its sender was late */
    TIME_SENDER_BLOCKED, /* a send blocked by a full buffer, until it ended */
    TIME_DELIVERY,       /* delivery latency of a message: from send to receive queue */
    TIME_KINDS,
};

/* What the request latencies of a client consist of, and its questions without an answer (analysis/client_requests.h). Times in
 * ns, summed. */
struct request_parts {
    uint64_t connects, connect_time; /* requests for which a connection was made, and that time */
    uint64_t resent, resent_time;    /* of these: a SYN was lost and sent again */
    uint64_t retried,
        retry_time; /* requests that were asked again, and the time until the last try */
    uint64_t unanswered,
        unanswered_time; /* questions without an answer, and how long they were waited for ... */
    uint64_t unanswered_most; /* ... at most */
};

/* in ns */
struct times {
    struct histogram of[TIME_KINDS];
};

/* The messages that wait to be received. */
struct queue_length {
    uint32_t messages, messages_max; /* at the end; maximum. Each takes memory */
    uint64_t bytes, bytes_max;
    uint64_t operations;   /* messages put in and taken out ... */
    uint64_t messages_sum; /* ... and messages in the queue after each of these */
    uint64_t
        wait; /* ns, sum over messages, while its process lived; divided by that life: the mean length over time */
    uint64_t unreceived; /* messages not received as far as is known */
    /* selection rules may have removed receives, whose messages would seem to be there: nothing of this is known */
    bool unknown;
};

/* How threads shared the processors with others, as SCHEDULE reports: sums over those that it reports of. A thread runs,
 * waits for a CPU, or sleeps. */
struct scheduled {
    uint32_t threads;                /* 0: nothing is known */
    uint64_t elapsed;                /* ns that they were watched */
    uint64_t runnable;               /* ns that they waited for a CPU */
    uint64_t asleep;                 /* ns that they waited for anything else */
    uint64_t voluntary, involuntary; /* context switches */
};

struct communication_process {
    uint32_t origin;             /* trace that records it */
    uint32_t machine;            /* index into communication.machines */
    uint32_t pid;                /* 0: its identity was lost */
    uint32_t stream;             /* number of its first stream, and thus of the process */
    uint32_t parent;             /* index of the process that created it, or NO_PROCESS */
    uint32_t parent_number;      /* number of a stream of that process; 0: unknown */
    char name[STREAM_NAME_SIZE]; /* NUL-filled, not always terminated; "" if lost */
    uint32_t user;               /* uid, initial user namespace */
    uint32_t pid_inside;         /* pid in its own PID namespace */
    uint32_t pid_namespace;      /* its inode; 0: unknown */
    uint64_t cgroup;             /* cgroup2 id; 0: unknown */
    const char *user_name;       /* this and the next three: NULL if unknown */
    const char *cgroup_name;     /* path */
    const char *program;         /* last part of its executable's file name */
    const char *command;         /* its command line */
    bool named_alike;            /* another process has its name, and another command line */
    const char *group;           /* name of a group of processes; NULL: one process */
    uint32_t group_size;         /* processes in the group */
    uint64_t begin,
        end; /* its life in the recording, ns, by its origin's clock: first to last of several processes */
    uint64_t cpu;  /* ns, used while metered */
    uint64_t spun; /* of it, in waits for messages of MPI */
    struct scheduled scheduled;
    struct traffic sent;
    struct traffic received;
    struct histogram sizes; /* bytes of a message that it sent */
    uint64_t failed_sends;  /* calls, of ended threads only */
    uint64_t failed_receives;
    struct times times;
    struct request_parts asked; /* as a client */
    struct covered_times {
        uint64_t response, request; /* of TIME_RESPONSE_WHOLE, TIME_REQUEST_WHOLE */
        uint64_t reads, writes;     /* of files; the duration: not known */
        uint64_t held;              /* held_messages that it sent */
    } covered; /* ns in which at least one of these was in progress. Not of groups */
    struct queue_length queue; /* of all its paths */
    bool ended;
    bool aside;        /* not chosen (communication_choose): only the peer of one that is */
    bool partly_aside; /* a group, and some of its processes are not chosen */
};

/* `to` is all processes that used the other end of a path: sends are counted before it is known which of them receives.
 * What an unmonitored peer sent is counted where it was received. */
struct communication_pair {
    struct party from;
    struct party to;
    struct traffic sent;
    struct traffic from_sent; /* what `from` sent to all receivers, if all of `from` is chosen */
    struct histogram sizes;   /* bytes of a message */
    /* TIME_MESSAGE_WAIT, TIME_RECEIVER_WAIT, TIME_DELIVERY: of what `to` received; TIME_SENDER_BLOCKED: of `from` */
    struct times times;
    /* ns in which at least one of these waits was in progress: the sum at most, an upper bound if `from` or `to` is not
     * one metered process; of groups the sum of its pairs */
    struct covered_waits {
        uint64_t receiver, message, sender;
    } covered;
    bool local;  /* all of it stayed on one machine */
    bool shared; /* from or to is several processes */
};

/* Network figures of TCP connections, which the kernel reports when they end or the recording does. */
struct network {
    bool known;
    bool counted; /* `retransmitted` is known, too: some connection began in the recording */
    /* retransmits: segments, by all metered ends of connections that began in the recording */
    uint64_t retransmitted;
    uint64_t round_trip;     /* ns, smoothed; the maximum over both ends of all connections */
    uint64_t unacknowledged; /* bytes */
};

/* Messages that Nagle's algorithm held back until a delayed acknowledgement, as far as is known, and how long. */
struct held_messages {
    uint64_t messages;
    uint64_t time; /* ns, sum */
};

/* A connection, or several that share this row. `local` is the end that connected. If that is unknown, it is the end
 * with the smaller path number, or the only known one. */
struct communication_path {
    unsigned kind;   /* enum path_kind; any number if the trace is corrupt */
    uint32_t number; /* of the local end, else of the remote one */
    /* addresses as endpoint_local() writes them; of several connections, what they have in common: "127.0.0.1:*" */
    const char *local;
    const char *remote;
    struct party ends[2]; /* the users of the local and the remote end */
    uint64_t connections; /* that share this row */
    uint64_t ended;       /* of these */
    struct times times;
    /* of `times`, answers to the last byte that may go on: they become longer. Those of servers, and of clients */
    struct histogram open_responses, open_requests;
    struct request_parts asked; /* by its clients */
    struct queue_length queue;  /* both directions */
    struct traffic sent;        /* from local to remote */
    struct traffic received;    /* from remote to local */
    struct histogram sizes;     /* bytes of a message, both directions */
    uint64_t dropped;           /* datagrams dropped by a full receive queue, both directions */
    uint64_t refused;           /* ... by the receiver's socket filter, or as damaged */
    uint64_t duplicates;        /* datagrams received twice, both directions */
    struct network network;
    struct held_messages held_sent, held_received; /* of those in `sent` and `received` */
};

/* What the machine did between its first SUMMARY and its last. NOT_KNOWN: the kernel does not say. */
struct machine_load {
    uint64_t elapsed; /* ns; 0: there are no two SUMMARYs, and nothing is known */
    uint64_t cpus;    /* in use */
    /* ns, of all CPUs together; idle: also while a disk was waited for */
    uint64_t cpu_all, cpu_user, cpu_system, cpu_idle, cpu_stolen;
    uint64_t runnable_sum,
        runnable_count;    /* tasks that ran or waited for a CPU, but for the recorder: mean ... */
    uint64_t runnable_max; /* ... and maximum of all SUMMARYs */
    /* ns in which some task, or all that were not idle, waited */
    uint64_t cpu_waited, memory_waited, memory_waited_all, disk_waited, disk_waited_all;
    uint64_t memory, memory_available_least; /* bytes */
    uint64_t swapped_in, swapped_out;
    uint64_t major_faults;
    uint64_t disk_reads, disk_writes;        /* requests */
    uint64_t disk_read, disk_written;        /* bytes */
    uint64_t disk_busy;                      /* ns, of the busiest disk */
    uint64_t network_received, network_sent; /* bytes */
    uint64_t packets_received, packets_sent, packets_dropped;
    uint64_t tcp_retransmitted; /* segments */
};

/* A cgroup with metered processes, or above these, between its first CGROUP and its last. NOT_KNOWN as above. */
struct communication_cgroup {
    uint32_t machine; /* index into communication.machines */
    uint64_t number;
    const char *name;   /* path; NULL: unknown */
    uint64_t elapsed;   /* ns */
    uint64_t cpu;       /* ns used */
    uint64_t quota;     /* ns in each period, at the end; 0: no limit */
    uint64_t period;    /* ns */
    uint64_t cpu_limit; /* ns that it could use in `elapsed`; 0: no limit */
    uint64_t periods, throttled_periods;
    uint64_t throttled;   /* ns, of all CPUs together */
    uint64_t memory;      /* bytes, largest of all CGROUPs */
    uint64_t memory_most; /* limit, at the end; 0: none */
    uint64_t memory_reclaims, oom_kills;
    uint64_t cpu_waited, memory_waited, disk_waited; /* ns in which some task of it waited */
};

/* What `dpm steer` has decided. */
struct communication_decision {
    uint32_t machine; /* index into communication.machines */
    uint64_t time;    /* ns since the first record */
    struct decision_record record;
};

struct communication_machine {
    char name[MACHINE_NAME_SIZE + 16]; /* distinct from all others; terminated */
    /* The clock members are valid at its last record and come from messages, if it was read as a history
     * (`matched`). */
    int64_t clock_offset; /* ns to add to its times to get those of the first machine's clock */
    /* ns that its wall clock is ahead of the first machine's, each as that machine's latest record reports it. Clocks
     * set earlier do not show. */
    int64_t clock_ahead;
    uint64_t clock_error; /* ns, of both. 0: the first machine; UINT64_MAX: unknown */
    struct machine_load load;
};

/* Where programs send and receive, if the flag pc was set. */
struct communication_procedure {
    const char *name;   /* as in the source; "": no symbol; "*": all beyond the limit */
    const char *module; /* path of the executable or library; "": unknown */
    struct traffic sent;
    struct traffic received;
};

/* How a connection failed. */
enum failure_reason {
    FAILURE_REFUSED,
    FAILURE_TIMED_OUT,
    FAILURE_UNREACHABLE, /* no route, or no answer below TCP */
    FAILURE_GIVEN_UP,    /* the program closed the socket before there was an answer */
    FAILURE_OTHER,       /* any other error, or an unknown one */
    FAILURE_REASONS,
};

/* Connections that one process tried to make to one address, and that failed. */
struct communication_failure {
    uint32_t process;    /* index, or NO_PROCESS */
    const char *address; /* that it tried; "*": any of many */
    uint64_t count;      /* of all reasons */
    uint64_t of[FAILURE_REASONS];
    struct histogram times; /* ns, from the call of connect() to its failure */
    struct covered covered; /* by these; only while they are counted */
    /* ns in which at least one of them was in progress; of groups the sum of their processes, at most the duration */
    uint64_t in_progress;
    uint64_t first,
        last; /* when the first one was tried, and the last one had failed; of groups: of one process */
};

struct file_use {
    uint64_t calls;
    uint64_t bytes;
    struct histogram times; /* ns in a call */
};

/* A file that a process has used, if files were metered. */
struct communication_file {
    uint32_t
        process; /* index into communication.processes; NO_PROCESS: all files beyond the limit */
    const char *name; /* as endpoint_local() writes it; "*": all files beyond the limit */
    uint64_t opens;   /* calls; not those of before the metering, or of another process */
    uint64_t closes;
    struct file_use reads;
    struct file_use writes;
};

/* What one process has read from files that another one had written, as far as is known. */
struct communication_input {
    /* indexes into communication.processes: the writer, and the reader. NO_PROCESS: of all files beyond the limit */
    uint32_t from, to;
    uint64_t files;
    uint64_t
        reads; /* READs that found something of the writer's; those of several threads of it count for each */
    uint64_t bytes;    /* that the writer had written last */
    uint64_t doubtful; /* of the reads: a write overlapped it in time, or one of them is mmap */
    const char
        *name; /* of the file, as endpoint_local() writes it; of several, the one with most bytes */
};

/* Memory that several processes may write to, some of which exchange no messages that are recorded. */
struct communication_shared {
    const char *name;          /* of one: "/dev/zero (deleted)" is anonymous memory */
    const uint32_t *processes; /* [count], indexes into communication.processes, ascending */
    uint32_t count;
    uint32_t objects; /* that exactly these processes share */
};

struct communication_piece {
    void *bytes;
    size_t size;
};

/* `group` of the row of a machine that processes of any kind share, since there are too many kinds. */
#define SHARED_BY_ALL "*"

/* What a row of the table of processes stands for. */
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
    bool chosen; /* restricted to some processes (communication_choose) */
    struct communication_process *processes; /* in order of their first record */
    size_t process_count;
    struct communication_pair *pairs; /* most bytes first */
    size_t pair_count;
    size_t pair_capacity;
    struct intern pair_keys;          /* of all pairs, in their order; or empty */
    struct communication_path *paths; /* most bytes first */
    size_t path_count;
    struct communication_machine *machines;
    size_t machine_count;
    struct communication_cgroup *cgroups; /* in order of their first records */
    size_t cgroup_count;
    uint64_t cgroups_left_out;                /* CGROUP records beyond MOST_CGROUPS cgroups */
    struct communication_decision *decisions; /* in order of time, of each machine */
    size_t decision_count;
    uint64_t decisions_left_out;        /* beyond MOST_DECISIONS */
    struct arena memory;                /* of the pieces */
    struct communication_piece *pieces; /* texts and lists that rows point into */
    size_t piece_capacity;
    struct intern piece_keys;

    struct communication_procedure *procedures; /* most bytes first */
    size_t procedure_count;
    struct communication_failure *failures; /* most first */
    size_t failure_count;
    struct communication_file *files; /* most bytes first */
    size_t file_count;
    struct communication_input *inputs; /* most bytes first */
    size_t input_count;
    struct communication_shared *shared; /* in order of their numbers. Not of groups */
    size_t shared_count;
    struct traffic *intervals; /* what was sent in each interval, in order of time */
    size_t interval_count;
    uint64_t interval;      /* ns; 0: not asked for */
    int64_t interval_begin; /* ns from the first record to the first interval */

    uint32_t traces; /* origins of the source */
    uint64_t events; /* records of events: SEND to TERMINATION, WAKEUP */
    /* of these, while recording: a receive waits for its send, and what its thread did afterwards waits with it. They
     * are in no other figure. */
    uint64_t not_known_yet;
    uint64_t lost;         /* records that could not be written */
    uint64_t skipped;      /* of these, hooks that the kernel skipped: at most one event each */
    uint64_t dropped;      /* datagrams dropped by a full receive queue */
    uint64_t refused;      /* ... by the receiver's socket filter, or as damaged */
    uint64_t duplicates;   /* datagrams received twice, since the network duplicated them */
    uint64_t cpu;          /* ns, of all processes */
    uint64_t spun;         /* of it, in waits for messages of MPI */
    struct traffic sent;   /* by all processes */
    struct traffic local;  /* within one machine */
    struct traffic remote; /* to or from another machine */
    uint64_t connections;  /* each counted once, with both ends */
    uint64_t ended;        /* of these */
    uint64_t unused;       /* sockets' connections without any message; if `chosen`, not known */
    uint64_t failed;       /* connections that failed; not among the others */
    uint64_t begin;        /* of the first record, by the first origin's clock; 0: there is none */
    uint64_t duration;     /* ns from the first record to the last, while the meter was on */
    bool complete;         /* every recording ended with END_COMPLETE */
    /* messages of streams whose identity record is missing; each such stream counts as a process of its own */
    uint64_t unknown_streams;
    uint64_t left; /* processes that are not metered since an EXEC that gains privilege */
    /* ns: error when comparing two machines' times, at the end; 0: one machine; UINT64_MAX: no messages both ways */
    uint64_t clock_error;
    uint32_t kinds_left_out; /* METER_TCP ...: not metered by some recording */
    uint64_t flags_left_out; /* the same, of METER_EVENT_FLAGS */
    uint32_t kinds_partly;   /* of these, those that were metered for some process at some time */
    uint64_t flags_partly;   /* of these, those that were metered for some process at some time */
    bool mpi_recorded;       /* by some recording, all the time */
    uint32_t
        unmetered; /* 1 << enum unmetered_kind: sockets in use whose messages no meter records */
    uint32_t traces_of_ptrace; /* recordings made by the ptrace meter */
    uint32_t traces_of_others; /* converted raw records of other systems */
    bool sizes_unknown;        /* some messages have no known size, so no sum of bytes is known */
    bool cpu_unknown;          /* some trace has no CPU times, so no sum of these is known */
    bool has_rules;            /* selection rules have removed records of some recording */
    uint64_t unseen_bytes; /* received by calls that the meter does not see; not in any process */
    uint64_t unseen_sent_bytes;     /* the same for sending */
    bool matched;                   /* `matching` is known: it was read as a history */
    struct history_counts matching; /* outcome of messages; overhead (always known) */
    /* messages on paths whose identity record is missing: they count for their process, but for no pair and no path */
    uint64_t unknown_paths;
};

void communication_free(struct communication *communication);

/* A copy of these bytes that lives as long as the result. Equal bytes share one copy. NULL: out of memory. */
const void *communication_keep(struct communication *communication, const void *bytes, size_t size);
const char *communication_keep_text(struct communication *communication, const char *text);
/* That copy; NULL: there is none. */
const void *communication_find(const struct communication *communication, const void *bytes,
                               size_t size);

#define MOST_CGROUPS   4096
#define MOST_DECISIONS 4096

/* ---- making it ---- */

struct statistics;

/* `history` must be unread, and outlive the statistics. `every`: also counts over time, in intervals of this many ns,
 * which double whenever there would be more than MOST_INTERVALS; 0: does not. Returns 0 or -ENOMEM. */
int statistics_new(struct history *history, uint64_t every, struct statistics **ret_statistics);

#define MOST_INTERVALS 10000

/* Gives each connection a row of its own, until too many have ended. To be called before the first event. */
void statistics_each_connection(struct statistics *statistics);

void statistics_free(struct statistics *statistics);

/* Counts the next event of the history. Returns 0 or -ENOMEM; after an error only statistics_free is allowed. */
int statistics_add(struct statistics *statistics, const struct history_event *event);

/* The statistics, for analyses_read. */
struct analysis statistics_analysis(struct statistics *statistics);

/* The row of a process, by its number at an origin: an index into `processes` of all results to come. It is decided now, if it
 * was not before. NO_PROCESS: there is none, or it has ended and shared a row. *ret_shared: other processes have it, too.
 * Returns that, or -ENOMEM. */
int64_t statistics_process_row(struct statistics *statistics, uint32_t origin, uint32_t number,
                               bool *ret_shared);

/* The machine of an origin that has events, by now: an index into `machines` of a result of this moment, in the order of their first
 * origins. history_machine counts in the order in which machines were read. */
uint32_t statistics_machine(const struct statistics *statistics, uint32_t origin);

/* The result so far, with that number of origins. More events may be added afterwards. After the last one,
 * history_finish may be called first. Returns 0 or -ENOMEM. The result is independent; free it with
 * communication_free. */
int statistics_finish(struct statistics *statistics, uint32_t origins,
                      struct communication **ret_communication);

/* Does all of the above: reads a history with that number of origins to its end and finishes it (history_finish).
 * `every`: as for statistics_new. Errors: those of the history; -EAGAIN if it has nothing yet; -ENOMEM; a line in
 * `problem`. */
int communication_read_history(struct history *history, uint32_t origins, uint64_t every,
                               struct communication **ret_communication, struct problem *problem);

/* ---- some processes ---- */

/* Restricts a result by process to the processes that are chosen, and to what they exchanged with others: totals, pairs,
 * connections, failures and files. The rows of other processes are marked (`aside`). Procedures, which are counted for
 * all processes together, are dropped; intervals, which are, too, are not: do not ask for both. Returns 0 or -ENOMEM. */
typedef bool process_is_chosen(void *context, const struct communication_process *process);
int communication_choose(struct communication *communication, process_is_chosen *chosen,
                         void *context);

/* ---- what is new ---- */

/* Reduces the processes of a result, and the totals of CPU time and of what was sent, to what came after an earlier result
 * of the same statistics. Processes that did nothing since are marked (`aside`). All other rows stay what they were.
 * Errors: -ENOMEM; -EINVAL: two processes cannot be told apart. The result can then only be freed. */
int communication_since(struct communication *later, const struct communication *earlier);

/* ---- groups ---- */

/* The same result with a row for each group of processes: its sums, and the traffic between groups. `by` is not
 * BY_PROCESS. A group lies within one machine. Processes whose identity was lost form a group of their own. Of its
 * `processes` only machine, group, group_size, cpu, sent and received are meaningful. Returns 0 or -ENOMEM. The result
 * is independent; free it with communication_free. */
int communication_group(const struct communication *communication, enum communication_by by,
                        struct communication **ret_groups);

/* The name of a process's user, container or program; if unknown, its number ("1000", "cgroup 77"). Also the name of
 * the group, unless another one of its machine has the same. */
void communication_group_name(const struct communication_process *process, enum communication_by by,
                              char name[NAME_SIZE]);

/* "process", "user", "container", "program", "machine". */
const char *communication_by_name(enum communication_by by);

#endif
