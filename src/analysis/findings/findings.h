/* SPDX-License-Identifier: MIT */
/*
 * findings.h: what the analyses of a recording show that matters, as figures. show/ makes sentences of them.
 *
 *      struct communication --+
 *      struct parallelism   --+--> findings_find --> a list of struct finding, by topic: work, parallelism, critical
 *      struct critical_path --+                      path, late, queues, answers, requests, network, waits
 *      struct causality     --+
 *      struct elapsed, pauses, patterns +
 *
 * Findings below FINDING_SMALL of the elapsed time are left out. All times are ns.
 */
#ifndef DPM_FINDINGS_H
#define DPM_FINDINGS_H

#include "analysis/causality/causality.h"
#include "analysis/elapsed/elapsed.h"
#include "analysis/parallelism/critical_path.h"
#include "analysis/patterns/patterns.h"
#include "analysis/pauses/pauses.h"
#include "analysis/statistics/statistics.h"
#include "analysis/whatif/whatif.h"

#define FINDING_SMALL 0.01

/* The same for the machine: its figures are coarse, and it always has something else to do. */
#define FINDING_SMALL_LOAD 0.05

enum finding_kind {
    FINDING_ELAPSED, /* what much of the elapsed time was spent on: .elapsed */

    FINDING_CHANGE, /* what would make requests faster, and by how much: .change */

    FINDING_WORK_OF_FEW, /* few processes did most of the work: .work */
    FINDING_WORK_SHARED, /* many did: .work, of the busiest alone */
    FINDING_IDLE,    /* processes did almost nothing, while others of their name did much: .idle */
    FINDING_CREATED, /* a process created many: .created */
    FINDING_SILENT,  /* processes sent and received no message: .silent */
    FINDING_ASLEEP,  /* no thread of any process ran at all: .asleep */

    FINDING_ONE_STREAM,   /* a single stream, so nothing could run in parallel */
    FINDING_FACTOR,       /* P: .factor */
    FINDING_ARCS_MISSING, /* the true P may be smaller, as events were not metered: .missing */
    FINDING_UNEVEN_LOAD,  /* .load_balance, 1: even */

    FINDING_ITEM, /* one of the processes that a process created for a piece of work each takes longest: .item */

    FINDING_CRITICAL,     /* processes that carry the critical path: .critical */
    FINDING_PATH_FLIGHTS, /* messages on it were in flight for much of the elapsed time: .flights */

    FINDING_LATE_SENDER,    /* its receiver waited for messages: .wait */
    FINDING_BLOCKED_SENDER, /* its sends were blocked (buffer full): .wait */
    FINDING_LATE_RECEIVER,  /* messages waited in its queue: .wait */
    FINDING_QUEUE,          /* where most messages wait: .queue */

    FINDING_ANSWERS,    /* a server's service times, to the last byte: .answers */
    FINDING_ANSWER_LAG, /* a client's request latencies, likewise: .answers */
    FINDING_REQUESTS,   /* a common request path: .requests */
    FINDING_UNANSWERED, /* questions to an address had no answer: .asked */

    FINDING_NAGLE,           /* small sends wait for delayed acknowledgements: .nagle */
    FINDING_OWN_CONNECTIONS, /* nearly each request makes a connection of its own: .own_connections */
    FINDING_POOL,            /* requests queue for connections to a back end: .pool */
    FINDING_RETRANSMITS,     /* .retransmits */
    FINDING_DROPPED,         /* .dropped: datagrams that found the receive queue full */

    FINDING_ROUND_TRIPS, /* each request makes many, one after the other: .exchanges */
    FINDING_ONE_BY_ONE,  /* a client does, for whatever: .exchanges */
    FINDING_WORKERS,     /* requests wait for a thread of a pool: .workers */
    FINDING_RESENT,      /* connections are made only after a SYN was sent again: .exchanges */
    FINDING_INTERPRETER, /* threads wait for Python's interpreter lock: .runtime */
    FINDING_JVM_STOP,    /* a JVM stops threads, to collect garbage or otherwise: .runtime */
    FINDING_COLLECTIONS, /* the same by its own probes, if the account above does not show it: .pause */
    FINDING_POLLING,     /* a process sleeps again and again instead of waiting: .naps */
    FINDING_LOCK,        /* threads or processes wait one after the other for a lock: .lock */

    FINDING_BLOCKED, /* a call blocked an event loop while messages waited for it: .pause */
    FINDING_BUSY,    /* a process computed at a stretch while messages waited for it: .pause */
    FINDING_STOPPED, /* a signal stopped a process: .pause */

    FINDING_FAILED, /* a process failed to connect to an address: .failed */
    FINDING_FILES,  /* a process spent much time in reads and writes of files: .files */

    FINDING_CPU_WAIT,        /* a process waited for a CPU: .cpu_wait */
    FINDING_THROTTLED,       /* a cgroup used up its CPU limit: .cgroup */
    FINDING_STOLEN,          /* other virtual machines took CPU time: .load */
    FINDING_MEMORY_PRESSURE, /* tasks waited for memory, or it was swapped: .load */
    FINDING_DISK_PRESSURE,   /* tasks waited for disks: .load */
    FINDING_OOM,             /* processes of a cgroup were killed for lack of memory: .cgroup */

    FINDING_STEERED, /* an act of dpm steer was kept, or undone: .decision */

    FINDING_WAITS_OUTSIDE,     /* for answers from unmonitored peers: .waits */
    FINDING_WAITS_UNEXPLAINED, /* that no message explains, such as timers and disks: .waits */
    FINDING_WAITS_LOCKS,       /* of threads for each other: .waits */
    FINDING_KIND_COUNT,
};

/* Indexes into communication.processes. */
struct finding_processes {
    const uint32_t *at;
    size_t count;
};

struct file_figures {
    uint64_t bytes;
    uint64_t time; /* ns in which at least one thread was in such a call */
};

/* How many processors a computation can keep busy. */
enum factor_verdict {
    FACTOR_PATH_WAITS, /* most of the critical path is no CPU time of metered processes */
    FACTOR_IN_TURN,
    FACTOR_HARDLY_PARALLEL,
    FACTOR_NEARLY_ALL,
    FACTOR_ON_AVERAGE, /* P */
};

struct finding {
    enum finding_kind kind;
    /* share of the elapsed time that it concerns, 0 to 1; 0: not about time */
    double weight;
    bool aside; /* it explains nothing, or repeats another one: shown only with all */
    union {
        struct {
            struct elapsed_group group; /* its row belongs to the result */
            uint64_t of;                /* ns: the elapsed time, or that of all requests */
            bool of_requests;           /* which of the two */
            bool first;                 /* the largest */
            bool small;                 /* of requests that took next to none of the recording */
            bool throttled;             /* as cpu_wait.throttled, of its leader */
        } elapsed;
        struct {
            struct finding_processes who; /* busiest first */
            size_t of;                    /* number of all processes */
            uint64_t cpu;                 /* of these processes ... */
            uint64_t total_cpu;           /* ... and of all */
        } work;
        struct {
            struct finding_processes who;
            size_t of; /* processes with this name */
            uint64_t cpu;
            uint64_t messages; /* sent and received */
            uint32_t busiest;  /* busiest process with this name */
            uint64_t busiest_cpu, busiest_messages;
        } idle;
        struct {
            uint32_t parent;
            struct finding_processes who;
        } created;
        struct {
            struct finding_processes who;
            size_t of;
            /* METER_TCP ...: only paths of these kinds were metered; 0: all kinds */
            uint32_t kinds;
        } silent;
        struct {
            struct finding_processes who;
            uint64_t threads;
        } asleep;
        struct {
            double factor;
            uint32_t streams;
            uint64_t total, longest; /* T, t_max */
            enum factor_verdict verdict;
        } factor;
        struct {
            uint64_t flags;     /* of METER_EVENT_FLAGS */
            uint32_t kinds;     /* METER_TCP ... */
            uint32_t unmetered; /* 1 << enum unmetered_kind */
        } missing;
        double load_balance;
        struct {
            uint32_t process; /* with most of it: index into path->parallelism->processes ... */
            uint32_t row;     /* ... and into communication.processes; NO_PROCESS: none */
            bool tree;        /* with the processes that it created ... */
            size_t
                on_it; /* ... or with so many of its name, itself among them, that are on the path ... */
            size_t named;     /* ... of so many */
            uint64_t cpu;     /* of all these on the path ... */
            uint64_t most;    /* ... and of `process` alone */
            uint64_t longest; /* the path's length ... */
            uint64_t less;    /* ... and by how much it shrinks if they are twice as fast */
            uint64_t elapsed; /* ns until the end of the path */
            /* ns of it in which one of their name, or of the tree any, could have run, but had no CPU */
            uint64_t no_cpu;
        } critical;
        struct {
            uint64_t time;    /* of waits on the path, or in flight */
            uint64_t longest; /* its length ... */
            uint64_t elapsed; /* ... and the time that elapsed until its end */
        } flights;
        struct {
            const struct communication_pair *pair;
            uint64_t time; /* ns in which at least one of the waits was in progress */
            uint64_t sum;  /* of all waits: more than `time` if several were at once */
            uint64_t median;
        } wait;
        struct {
            uint32_t process;
            double mean; /* messages, averaged over the elapsed time */
            uint64_t most;
        } queue;
        struct {
            uint32_t process;
            uint64_t count, median, p99, most;
            uint64_t first_median; /* of the times to the first byte */
            const struct request_parts *parts;
            uint64_t sum; /* of the times to the last byte */
        } answers;
        struct {
            const struct communication_path *path;
            int asks;         /* which of its ends is the client's */
            uint32_t process; /* the client; NO_PROCESS: several, or unknown */
        } asked;
        struct {
            const struct causality_path *path;
            uint64_t of; /* all paths that requests took */
            /* messages between server processes, and how many of these are only assumed to belong to their requests */
            uint64_t messages, assumed;
            uint64_t median, p99;
        } requests;
        struct {
            uint32_t process; /* NO_PROCESS: it has no row of its own */
            const struct pause_row *row;
        } pause;
        struct {
            uint64_t segments;
            const struct communication_path *worst;
        } retransmits;
        struct {
            const struct communication_path *path;
            int from;          /* which of its ends sends: 0 or 1 */
            uint32_t process;  /* the sender; NO_PROCESS: several, or unknown */
            uint64_t messages; /* that were held back ... */
            uint64_t of;       /* ... of so many that this end sent */
            uint64_t mean;     /* ns that one is held back */
            uint64_t time;     /* ns in which at least one was held back */
        } nagle;
        struct {
            const struct communication_path
                *path; /* of those to that address, the one with most connections */
            uint64_t connections, requests;
            double per_second;  /* connections */
            uint64_t exchanges; /* of each, rounded; 0: not known */
            uint64_t setup;     /* ns in which at least one was being made, added up over ... */
            uint32_t callers;   /* ... the processes that made them; 0: none is known */
        } own_connections;
        struct {
            uint32_t process; /* that calls; NO_PROCESS: it has no row of its own */
            const struct exchange_row *row;
            uint64_t time; /* ns in which at least one was in progress */
        } exchanges;
        struct {
            uint32_t process;
            const struct pool_row *row;
        } workers;
        struct {
            uint32_t process;
            const struct nap_row *row;
            uint64_t time; /* of the elapsed time, ns */
            uint64_t less; /* ns that it would take less, at most */
        } naps;
        struct {
            const struct whatif_trial *trial;
            const struct causality_pool *pool; /* whose connections its workers are; NULL: none */
        } change;
        const struct decision_record *decision;
        const struct elapsed_lock *lock;
        const struct elapsed_item *item;
        struct {
            const struct elapsed_row *row; /* one of its process's */
            uint64_t time;                 /* ns ... */
            uint64_t of;      /* ... of so many: the elapsed time, or that of all requests */
            bool of_requests; /* which of the two */
            /* INTERPRETER, of requests: the thread that released it most of the time that is known; NULL: none ... */
            const struct elapsed_row *releaser;
            uint64_t released;      /* ... for how much of it, ns ... */
            uint64_t known_release; /* ... and all threads */
            /* JVM_STOP, in a run: of it, ns of CPU time; and in threads that collect garbage */
            uint64_t computed, collected;
            bool has_collectors; /* it has such threads; otherwise the VM Thread collects, too */
            const struct pause_row
                *probed; /* what its own probes show; NULL: they were not recorded */
        } runtime;
        const struct causality_pool *pool;
        uint64_t dropped;
        struct {
            const struct communication_failure *row;
            uint64_t
                trying; /* ns from its first try to its last, if none succeeded; 0: few tries, or one did */
        } failed;
        struct {
            uint32_t process;
            uint64_t count; /* files */
            struct file_figures reads, writes;
        } files;
        struct {
            uint32_t process;
            bool first;     /* of these findings: the longest wait */
            bool throttled; /* a cgroup that it may be in was throttled, so that may be why */
            /* what is saved without any wait for a CPU, at most: of the account that the findings begin with, 0 to 1 */
            double saves;
            bool is_accounted; /* there is such an account */
        } cpu_wait;
        const struct communication_cgroup *cgroup;
        struct {
            uint32_t machine;
            uint64_t time;    /* ns that tasks waited, or that were stolen; NOT_KNOWN */
            uint64_t elapsed; /* ns that `time` is of */
        } load;
        struct waits waits;
    };
};

/* The results from which findings are made. */
struct findings_from {
    const struct communication *communication; /* required; by process */
    /* each thread is a stream; NULL: that of `path`, or not computed */
    const struct parallelism *parallelism;
    const struct critical_path *path;   /* or NULL */
    const struct causality *causality;  /* or NULL */
    const struct elapsed *elapsed;      /* or NULL */
    const struct pauses *pauses;        /* or NULL */
    const struct patterns *patterns;    /* or NULL */
    const struct whatif_found *changes; /* or NULL */
};

struct findings {
    struct finding *list;
    size_t count;
    size_t capacity;
    struct arena memory;
};

/* Fills *findings: where the elapsed time went comes first, then what concerns most of it. They point into the results
 * and must not outlive them. Returns 0 or -ENOMEM; call findings_done in both cases. */
int findings_find(const struct findings_from *from, struct findings *findings);
void findings_done(struct findings *findings);

/* The nearest of the cgroups above it that reached its memory limit; NULL: none is known. */
const struct communication_cgroup *
findings_reached_above(const struct communication *communication,
                       const struct communication_cgroup *cgroup);

/* ---- finding_values.c ---- */

/* Whether it says what a person can act on; not where the time went, nor what only explains. */
bool finding_is_to_act_on(const struct finding *finding);

/* "critical", "late_sender" ...: stable. */
const char *finding_key(enum finding_kind kind);

#define FINDING_PROCESSES 32

struct finding_values {
    double share; /* of the elapsed time, 0 to 1; 0: none */
    bool has_time;
    uint64_t time; /* ns that it is about */
    /* the processes that it names first: indexes into communication.processes */
    uint32_t processes[FINDING_PROCESSES];
    size_t process_count;
};

void finding_values(const struct findings_from *from, const struct finding *finding,
                    struct finding_values *ret_values);

#endif
