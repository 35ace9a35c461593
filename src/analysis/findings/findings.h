/* SPDX-License-Identifier: MIT */
/*
 * findings.h: what the analyses of a recording have found that matters, as figures. Sentences are made of them elsewhere.
 *
 *      struct communication --+
 *      struct parallelism   --+--> findings_find --> a list of struct finding, by topic: work, parallelism, critical
 *      struct critical_path --+                      path, late, queues, answers, requests, network, waits
 *      struct causality     --+
 *
 * What is too small to matter (FINDING_SMALL of the elapsed time) is not among them. All times are ns.
 */
#ifndef DPM_FINDINGS_H
#define DPM_FINDINGS_H

#include "analysis/causality/causality.h"
#include "analysis/parallelism/critical_path.h"
#include "analysis/statistics/statistics.h"

#define FINDING_SMALL 0.01

enum finding_kind {
    FINDING_WORK_OF_FEW, /* few processes did most of the work: .work */
    FINDING_WORK_SHARED, /* many did: .work, of the busiest alone */
    FINDING_IDLE,    /* processes did next to nothing, where others of their name did much: .idle */
    FINDING_CREATED, /* a process created many: .created */
    FINDING_SILENT,  /* processes sent and received no message: .silent */

    FINDING_ONE_STREAM,   /* nothing could run beside it */
    FINDING_FACTOR,       /* P: .factor */
    FINDING_ARCS_MISSING, /* P may be less in truth, for events were not metered: .missing */
    FINDING_UNEVEN_LOAD,  /* .load_balance, 1: even */

    FINDING_CRITICAL, /* processes of one name, made faster, would shorten the critical path: .critical */
    FINDING_PATH_WAITS, /* much of the critical path is no processor time: .path_waits */

    FINDING_LATE_SENDER,    /* its receiver waited for messages: .wait */
    FINDING_BLOCKED_SENDER, /* it had no buffer space: .wait */
    FINDING_LATE_RECEIVER,  /* messages waited in its queue: .wait */
    FINDING_QUEUE,          /* where most messages wait: .queue */

    FINDING_ANSWERS,    /* a server's service times: .answers */
    FINDING_ANSWER_LAG, /* a client's request latencies: .answers */
    FINDING_REQUESTS,   /* a request path that many took: .requests */

    FINDING_RETRANSMITS, /* .retransmits */
    FINDING_DROPPED,     /* .dropped: datagrams that found their receiver's queue full */

    FINDING_WAITS_OUTSIDE,     /* for answers from unmonitored peers: .waits */
    FINDING_WAITS_UNEXPLAINED, /* for what no message explains, timers and disks: .waits */
    FINDING_WAITS_LOCKS,       /* of threads for each other: .waits */
    FINDING_KIND_COUNT,
};

/* Indexes into communication.processes. */
struct finding_processes {
    const uint32_t *at;
    size_t count;
};

/* How many processors a computation can keep busy. */
enum factor_verdict {
    FACTOR_PATH_WAITS, /* most of the critical path is nobody's processor time */
    FACTOR_IN_TURN,
    FACTOR_HARDLY_PARALLEL,
    FACTOR_NEARLY_ALL,
    FACTOR_ON_AVERAGE, /* P */
};

struct finding {
    enum finding_kind kind;
    double
        weight; /* how much of the elapsed time it concerns, 0 to 1, more where several wait; 0: it is not about time */
    union {
        struct {
            struct finding_processes who; /* busiest first */
            size_t of;                    /* processes there are */
            uint64_t cpu;                 /* theirs ... */
            uint64_t total_cpu;           /* ... and of all */
        } work;
        struct {
            struct finding_processes who;
            size_t of; /* processes of their name */
            uint64_t cpu;
            uint64_t messages; /* sent and received */
            uint32_t busiest;  /* of their name */
            uint64_t busiest_cpu, busiest_messages;
        } idle;
        struct {
            uint32_t parent;
            struct finding_processes who;
        } created;
        struct {
            struct finding_processes who;
            size_t of;
            uint32_t kinds; /* METER_TCP ...: of paths of these kinds; 0: of all */
        } silent;
        struct {
            double factor;
            uint32_t streams;
            uint64_t total, longest; /* T, t_max */
            enum factor_verdict verdict;
        } factor;
        struct {
            uint32_t flags; /* of METER_EVENT_FLAGS */
            uint32_t kinds; /* METER_TCP ... */
        } missing;
        double load_balance;
        struct {
            uint32_t process; /* index into path->parallelism->processes: one of its name */
            size_t count;     /* processes of its name */
            uint64_t cpu;     /* theirs on the path ... */
            uint64_t longest; /* ... whose length this is, */
            uint64_t less;    /* and so much less it would be if they were twice as fast */
        } critical;
        struct {
            uint64_t time, longest; /* of the path, and its length */
        } path_waits;
        struct {
            const struct communication_pair *pair;
            uint64_t time, median;
        } wait;
        struct {
            uint32_t process;
            double mean; /* messages, over the elapsed time */
            uint64_t most;
        } queue;
        struct {
            uint32_t process;
            uint64_t count, median, p99, most;
        } answers;
        struct {
            const struct causality_path *path;
            uint64_t of; /* ways that requests took, in all */
            uint64_t median, p99;
        } requests;
        struct {
            uint64_t segments;
            const struct communication_path *worst;
        } retransmits;
        uint64_t dropped;
        struct waits waits;
    };
};

/* The results that findings are made of. */
struct findings_from {
    const struct communication *communication; /* always; by process */
    const struct parallelism
        *parallelism; /* each thread a stream; NULL: that of `path`, or nobody has looked */
    const struct critical_path *path;  /* or NULL */
    const struct causality *causality; /* or NULL */
};

struct findings {
    struct finding *list;
    size_t count;
    size_t capacity;
    struct arena memory;
};

/* Fills *findings, which point into the results and live no longer. Returns 0 or -ENOMEM; findings_done either way. */
int findings_find(const struct findings_from *from, struct findings *findings);
void findings_done(struct findings *findings);

#endif
