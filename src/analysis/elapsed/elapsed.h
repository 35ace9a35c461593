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
 * A service has no end to begin at. There each request is an account of its own, from its last answer backwards to the
 * request, and their sum is that of the service:
 *
 *      client    o SEND . . . . . . . . . . . . . . . . . . . . . . . . RECEIVE o
 *                 \  in flight | queued                                    /
 *      server   ==another request==| RECEIVE o==compute==o(back end)o==o SEND
 *
 * A request begins with the first message on a connection to the side that serves, and ends with the last byte of its
 * answer before the next request. If the client is metered and serves no others, its request begins when it sends, or
 * begins to connect for it, and its retries are part of it (client_requests.h); otherwise when the message arrives. What a server
 * asks of other processes is part of its own requests. One that was sent before the recording is left out.
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
    ELAPSED_QUEUED,  /* ... from then on, while its receiver did something else; of requests only */
    ELAPSED_SPACE,   /* a send waits for buffer space; no record shows which receive made it */
    ELAPSED_OUTSIDE, /* waits for an unmonitored peer */
    ELAPSED_NOT_FOUND, /* ... or for a metered one that is not recognized: REST_NOT_FOUND */
    ELAPSED_DISK,
    ELAPSED_LOCK,        /* a lock, a condition or a semaphore: a futex does not say which */
    ELAPSED_INTERPRETER, /* Python's interpreter lock */
    ELAPSED_VM_STOP, /* of requests only: the JVM stopped the thread, to collect garbage or otherwise */
    ELAPSED_IDLE, /* a thread of a language's runtime without work for it */
    ELAPSED_LIMIT, /* futex until its time limit, which nothing ended: a lock, a condition, or a sleep (Java's) */
    ELAPSED_FILE_LOCK, /* flock, fcntl, lockf */
    ELAPSED_TIMER,     /* asleep for a time that the program chose */
    ELAPSED_SIGNAL,
    ELAPSED_NOTICE, /* eventfd, inotify and the like: what comes from a descriptor that is no path */
    ELAPSED_MESSAGE_QUEUE, /* that is not recorded */
    ELAPSED_MPI, /* in a function of MPI that waits for other processes without messages of its own: a collective one */
    ELAPSED_OPEN,      /* open: the other end of a FIFO, a device */
    ELAPSED_CONNECT,   /* a connection is being made */
    ELAPSED_NO_ANSWER, /* what was sent had no answer until a time limit */
    ELAPSED_CLIENT, /* of requests only: what holds up the request waited for the next message of its own client */
    ELAPSED_OTHER_CONNECTION, /* of requests only: its thread had it, and waited until another request came, or a time limit */
    ELAPSED_CHILD, /* waits for the end of a child that is not metered, or of a process after its last record */
    ELAPSED_STOPPED, /* by a signal */
    ELAPSED_EVENT,   /* poll, select or epoll: a timeout, or an event that no record explains */
    ELAPSED_INPUT,   /* reads or writes something else: a terminal, a device, a file */
    ELAPSED_RESENT_SYN, /* of requests only: while it was connected for one, until a lost SYN was sent again */
    ELAPSED_NOT_STARTED, /* the command of a machine was not started yet */
    ELAPSED_UNKNOWN,
    ELAPSED_KIND_COUNT,
};

/* "computing", "no CPU", "in flight" ...; and a stable key: "computing", "no_cpu" ... */
const char *elapsed_kind_name(enum elapsed_kind kind);
const char *elapsed_kind_key(enum elapsed_kind kind);

/* What the wait was for that a BLOCK ends, by its call and object alone. `recorded`: of its origins. */
enum elapsed_kind elapsed_kind_of_block(const struct history *history,
                                        const struct recorded_types *recorded,
                                        const struct history_event *event);

/* Runtimes of languages, whose own affairs some waits are. */
enum elapsed_runtime {
    RUNTIME_NONE,
    RUNTIME_GO,
    RUNTIME_PYTHON,           /* its interpreter lock, by the procedure ... */
    RUNTIME_PYTHON_PROCESS,   /* ... which is not known ... */
    RUNTIME_PYTHON_CONTENDED, /* ... but most of the process's waits of 5 ms seem to be for it */
    RUNTIME_UV,               /* libuv: Node's threads for files, names and compression */
    RUNTIME_JVM,
};

/* By the names of a JVM's threads: whether this one stops the others and does what the VM needs then; whether it collects
 * garbage while these are stopped; whether it does, at least in part, while they go on. */
bool elapsed_is_vm_thread(const char *thread);
bool elapsed_is_collector(const char *thread);
bool elapsed_collects_beside(const char *thread);

struct elapsed_row {
    enum elapsed_kind kind;
    uint64_t time;  /* ns */
    uint64_t count; /* intervals */
    /* The process that computes or waits; for a message in flight, its receiver. */
    uint32_t origin;
    uint32_t pid;
    uint32_t tid; /* 0: several threads, or not known */
    char process[STREAM_NAME_SIZE + 1];
    /* Tells the process from others of its name: "python3 worker.py"; "": no other has its name, or its command line
     * is not known. */
    char label[PROCESS_LABEL_SIZE];
    char machine[MACHINE_NAME_SIZE + 1]; /* "": all processes are of one machine; here and below */
    /* The thread's own name; of several "worker-*"; "": that of the process. */
    char thread[STREAM_NAME_SIZE + 1];
    /* The procedure that made the call in which it waits, or up to whose call it computed; "": not known. */
    char procedure[PROCEDURE_NAME_SIZE + 1];
    char module[MODULE_NAME_SIZE + 1];
    enum elapsed_runtime runtime; /* of waits; JVM: of all that its threads do */
    /* Waits: number of the system call; NO_SYSTEM_CALL: none, or not known. */
    uint32_t call;
    /* ... and what it waits for there. */
    enum wait_object object;
    char object_name[PATH_NAME_SIZE + 1];
    uint32_t signal; /* that ended the wait: its number; 0: none, or not known ... */
    uint32_t sender; /* ... and the process that sent it; 0: the kernel, or SENDER_UNKNOWN */
    /* UNKNOWN: its thread did not wait, or what ended its wait is known, and it ran later than that explains ... */
    bool ran_late;
    /* ... or so it seems: no messages compare its clock with that of the machine where its message was sent. */
    bool no_clock;
    /* OUTSIDE, IN_FLIGHT, CONNECT, NO_ANSWER, CLIENT: the connection; 0: none. */
    uint8_t path_kind;
    char address[ENDPOINT_SIZE]; /* of the peer */
    /* CLIENT: the process that sent the message; "": not known. */
    char peer[STREAM_NAME_SIZE + 1];
    uint32_t peer_pid;
    char peer_machine[MACHINE_NAME_SIZE + 1];
};

/* Parts that add up. */
struct elapsed_account {
    uint64_t time; /* ns, what the rows add up to */
    uint64_t by_kind[ELAPSED_KIND_COUNT];
    struct elapsed_row *rows; /* most time first */
    size_t row_count;
    uint64_t intervals; /* on the way from the end to the beginning */
};

/* A part of one request. */
struct elapsed_hop {
    uint64_t begin; /* ns since the request began */
    struct elapsed_row part;
};

#define ELAPSED_HOPS_MOST 2000 /* the latest ones */

struct elapsed_request {
    uint64_t begin, time; /* ns; begin: by the first origin's clock */
    struct elapsed_hop *hops;
    size_t hop_count;
    bool cut;                 /* it had more hops, before these */
    struct elapsed_row *rows; /* of all hops; most time first */
    size_t row_count;
};

/* What threads did, in the account of a run, while others waited for them in futex or semop: for a lock or a condition, or
 * for the end of a thread. At each moment only the wait that the account followed counts. */
struct elapsed_holder {
    struct elapsed_row did;    /* by the thread that ended the wait */
    struct elapsed_row waited; /* by the others: where */
    uint64_t threads;          /* how many others */
};

struct elapsed_requests {
    uint64_t count;      /* with an answer */
    uint64_t unanswered; /* questions that were asked again, given up, or whose connection ended */
    uint64_t unfinished; /* in progress at the end of the recording */
    uint64_t retried;    /* of `count`: asked more than once */
    uint64_t connects;   /* of `count`: for which a connection was made */
    uint64_t
        followed; /* of `count`, the ones that are in the account: all, or evenly spread ones */
    uint64_t median, p99; /* ns, of those */
    uint64_t covered;     /* ns in which at least one of `count` was in progress */
    struct elapsed_account account;
    /* which threads released Python's interpreter lock when the requests waited for it; most time first */
    struct elapsed_holder *releasers;
    size_t releaser_count;
    struct elapsed_request typical, slowest; /* typical: the median one */
};

/* A time or count of the account, which is of the requests that are followed, for all of them. */
static inline uint64_t elapsed_of_all_requests(const struct elapsed_requests *requests,
                                               uint64_t figure)
{
    uint64_t followed = requests->followed;

    return followed == 0 ? figure
                         : figure / followed * requests->count +
                               figure % followed * requests->count / followed;
}

/* What threads waited for, on the way or not; waits of several threads overlap. */
struct elapsed_wait {
    struct elapsed_row what; /* ELAPSED_IN_FLIGHT: a message */
    uint64_t longest;        /* ns */
    /* The process that ended them; "": not known. */
    uint32_t ender_origin, ender_pid;
    char ender[STREAM_NAME_SIZE + 1];
    char ender_machine[MACHINE_NAME_SIZE + 1];
};

/* A lock of a file, or one that a program keeps in its memory (WAIT_ON_LOCK), which the end of a run waited for. */
struct elapsed_lock {
    struct elapsed_row what; /* one of its waits: of which file, or where */
    /* ns of the elapsed time that the process with whose end it ends, and those to which it owes its beginning, waited for
     * the lock themselves: without it, the run would take at most that less. */
    uint64_t time;
    uint64_t
        followed; /* ns in which the account left a thread that waited for it, for its holder */
    uint64_t waits;
    uint32_t threads, processes; /* that waited for it ... */
    uint32_t most;               /* ... at the same time */
    /* did most of what threads did meanwhile: held it, or had it before; its kind is what it did longest; pid 0: not known ... */
    struct elapsed_row holder;
    uint64_t holder_time, held; /* ... ns that this thread, and all did ... */
    uint64_t holder_mostly;     /* ... and that this thread did of that kind */
};

/* A process that has much more of a run's account than the others of its name that the same process created. */
struct elapsed_item {
    struct elapsed_row process, parent; /* names only */
    uint64_t time; /* ns of the account, with the processes that it created; 0: there is none ... */
    uint64_t next; /* ... and the other one that has most */
    size_t of;     /* processes of that name and parent, with itself */
};

/* A process of a run's account has read what another one of it had written to a file: it needed what that one did. Inferred
 * (EDGE_FILE). */
struct elapsed_file {
    struct elapsed_row from, to;  /* names only */
    uint64_t time;                /* ns of the account that `from` has */
    uint64_t bytes, reads;        /* of all its files */
    char name[ENDPOINT_SIZE + 1]; /* of the one with most bytes */
};

#define ELAPSED_FILES_MOST 100u /* those with most time */

struct elapsed {
    struct elapsed_account run;
    struct elapsed_file *files; /* of `run`; most time first */
    size_t file_count;
    struct elapsed_item item;       /* of `run` */
    struct elapsed_holder *holders; /* most time first */
    size_t holder_count;
    struct elapsed_lock *locks; /* of `run`: the few that cost most */
    size_t lock_count;
    /* The process with whose end the time ends; pid 0: it ends with the last event. */
    uint32_t pid;
    char process[STREAM_NAME_SIZE + 1];
    uint32_t
        commands; /* of several machines, the last of which ended; then the time begins with the first event, too */
    bool from_start; /* ... and its beginning was recorded, or it was chosen */
    bool
        chosen; /* it was asked for (elapsed_end_with): the time begins with the first event of all */
    uint64_t
        flags_left_out; /* event types that say what ended a wait, and were not always recorded */
    uint32_t kinds_left_out; /* METER_TCP ...: kinds of paths */
    bool has_rules;          /* selection rules may have removed what ended a wait */
    struct elapsed_requests requests;
    struct elapsed_wait *waits; /* most time first */
    size_t wait_count;
};

/* Whether the time is that of its requests: a service that was recorded for a while has no end that its work leads to. */
static inline bool elapsed_is_of_requests(const struct elapsed *elapsed)
{
    return !elapsed->from_start && elapsed->requests.account.time > 0;
}

/* Rows of one program with one reason, for a summary. */
struct elapsed_group {
    const struct elapsed_row *largest;
    uint64_t time;
    uint64_t count;
    size_t processes;
    const struct elapsed_row *leader; /* a row of the process with most of it ... */
    uint64_t leader_time;             /* ... and its part */
};

/* The script that a label (process_label) names: "obj.py" of "python3 obj.py a.c". Returns its length; 0: none. */
size_t elapsed_script(const char *label, const char **ret_script);

/* The groups, most time first; the caller frees them. Returns 0 or -ENOMEM. */
int elapsed_groups(const struct elapsed_account *account, struct elapsed_group **ret_groups,
                   size_t *ret_count);

/* Threads of one name. */
struct elapsed_threads {
    const struct elapsed_row *row; /* one of theirs, whose thread is their name */
    uint64_t time;
    bool several;
};

/* The threads of a group's leader whose name has most of its time. */
struct elapsed_threads elapsed_group_threads(const struct elapsed_account *account,
                                             const struct elapsed_group *group);

struct elapsed_analysis;

/* Errors: -ENOMEM; those of a file without a name in `directory` (NULL: $TMPDIR, or /var/tmp), with a line in
 * `problem`. Call it before anything is read from the history. */
int elapsed_new(struct history *history, const char *directory,
                struct elapsed_analysis **ret_analysis, struct problem *problem);
/* The time shall end with the last event of the processes with such streams. Call it before the first event. */
void elapsed_end_with(struct elapsed_analysis *analysis,
                      bool (*chosen)(void *context, uint32_t origin,
                                     const struct stream_record *stream),
                      void *context);
void elapsed_analysis_free(struct elapsed_analysis *analysis);

/* ---- when it was: for charts of time ---- */

/* What a thread did, or waited for: `time` ns somewhere from `begin` to `end`, evenly spread as far as is known. By the first
 * origin's clock. Names stay valid as long as the analysis. */
struct elapsed_piece {
    enum elapsed_kind kind;
    uint64_t begin, end, time;
    uint32_t origin, process; /* number of its first stream; 0: not known, as the next two */
    uint32_t pid;
    uint32_t tid;
    const char *name, *label; /* of the process, as in struct elapsed_row */
    uint32_t detail;          /* elapsed_profile's */
};

typedef int elapsed_take_piece(void *context, const struct elapsed_piece *piece);

/* During elapsed_finish, `take` gets the pieces of the account that `dpm why` shows (the run, or else all requests that are
 * followed), from the end backwards: their times add up to it. Its errors become those of elapsed_finish. */
void elapsed_watch(struct elapsed_analysis *analysis, elapsed_take_piece *take, void *context);

/* The time of the first event, and of the last. */
void elapsed_span(const struct elapsed_analysis *analysis, uint64_t *ret_begin, uint64_t *ret_end);

/* After elapsed_finish: everything that all threads did, or waited for, from the end backwards. A thread has no pieces before
 * its first event, nor after its last. Returns 0 or what `take` returned. */
int elapsed_each_piece(const struct elapsed_analysis *analysis, elapsed_take_piece *take,
                       void *context);

/* The same as rows, most time first; only `time`, `rows` and `by_kind` are filled. Free its rows. Returns 0 or -ENOMEM. */
int elapsed_profile(const struct elapsed_analysis *analysis, struct elapsed_account *ret_account);

/* ---- requests, each by itself: for models ---- */

/* A part of a request. */
struct elapsed_step {
    uint64_t begin, end; /* by the first origin's clock */
    enum elapsed_kind kind;
    uint32_t detail; /* what, by whom: elapsed_step_row */
};

struct elapsed_followed {
    uint64_t begin, end;
    uint32_t client;                  /* a detail of the thread that asks; 0: it is not metered */
    const struct elapsed_step *steps; /* in order of time, without gaps */
    size_t step_count;
};

typedef int elapsed_take_request(void *context, const struct elapsed_followed *request);

/* After elapsed_finish: the first `most` requests, by their beginning. *ret_count: how many there are. Returns 0, -ENOMEM or
 * what `take` returned. */
int elapsed_each_request(struct elapsed_analysis *analysis, size_t most, elapsed_take_request *take,
                         void *context, uint64_t *ret_count);

/* The process and thread of a step's detail, and what it waits for. */
struct elapsed_row elapsed_step_row(const struct elapsed_analysis *analysis, uint32_t detail);

/* The peer's address of the connection that a step's detail is of; NULL: of none, or not known. */
const char *elapsed_step_address(const struct elapsed_analysis *analysis, uint32_t detail);

/* How many requests that thread received, and how many of them while it had not answered an earlier one. */
void elapsed_step_received(const struct elapsed_analysis *analysis, uint32_t detail,
                           uint32_t *ret_received, uint32_t *ret_beside);

/* Processes the next event. Returns 0 or -ENOMEM, -ENOSPC, -EFBIG. */
int elapsed_add(struct elapsed_analysis *analysis, const struct history_event *event);
struct analysis elapsed_analysis(struct elapsed_analysis *analysis);

/* After the last event. Free the result with elapsed_free. Returns 0 or -ENOMEM. */
int elapsed_finish(struct elapsed_analysis *analysis, struct elapsed **ret_elapsed);
void elapsed_free(struct elapsed *elapsed);

#endif
