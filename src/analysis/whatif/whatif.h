/* SPDX-License-Identifier: MIT */
/*
 * whatif.h: what requests would take after a change, by simulating them.
 *
 *      recorded   client |--flight--|queued: 5 of 5 workers busy|==computes==|..timer..|--flight--|    think    |next ...
 *      program    client  delay      ENTER php-fpm                CPU          delay     LEAVE delay
 *      --replicas php-fpm=20: the same programs, but ENTER finds a free worker
 *
 * A request becomes a program: what it waited for keeps its length (delay), computing takes a CPU of its machine, and each
 * process that it enters is a worker of a pool. Of what ran in parallel, only what ended last is part of it. Time in a queue is
 * not kept: it comes out of the simulation. Clients are closed loops, as many as had requests in progress: each asks again as long
 * after its answer as it did. Processes of one program that ask one after the other are one client.
 *
 *      a pool    threads of one name, in processes of one name and command line
 *      blocking  they have one request at a time: a worker is held from its first to its last step for it
 *      a loop    they have several: a worker is held only while it computes, or waits for what is no message
 *
 * The requests without a change are simulated first, and must come out as recorded: `base`. How much of the time without a CPU
 * is due to the program itself is chosen so that they do, or how much of the time in queues is due to work that is part of no
 * request. What changes predict is scaled by recorded / base.
 *
 * The idea of asking a model of a recorded run is Miller's (what-ifs, 1984); closed queueing networks with recorded demands
 * are those of Lazowska et al., Quantitative System Performance (1984), simulated instead of solved.
 */
#ifndef DPM_WHATIF_H
#define DPM_WHATIF_H

#include "analysis/elapsed/elapsed.h"
#include "analysis/parallelism/critical_path.h"
#include "analysis/statistics/statistics.h"

/* ---- the model ---- */

#define WHATIF_REQUESTS_MOST 50000u /* the first ones */
#define WHATIF_REQUESTS_FEW  5000u  /* for a report, which has other things to say */
#define WHATIF_HARDLY_ANY    40u    /* fewer say little about a median */

struct whatif_party {
    uint32_t origin, pid;
    char name[STREAM_NAME_SIZE + 1];
    char label[PROCESS_LABEL_SIZE]; /* as in struct elapsed_row */
    char asked[PROCESS_LABEL_SIZE]; /* a name for changes: that of its script, or `name` */
};

struct whatif_pool {
    uint32_t party; /* one of its processes */
    char kind[STREAM_NAME_SIZE +
              1];     /* of its threads: "worker"; "": they have no name of their own */
    uint32_t workers; /* threads that had requests; if they replace each other, at a time ... */
    uint32_t all;     /* ... of so many */
    bool blocking;    /* each had one request at a time */
    uint64_t visits;
    /* ns of all requests that its workers had in hand: all of it, computing, and waiting for locks, which one of them may hold */
    uint64_t time, computing, locked;
};

struct whatif_model;

/* After elapsed_finish, of the first `most` requests: WHATIF_REQUESTS_MOST at most, fewer if they have more than a hundred
 * steps each. `attached`: others may have been in progress when the recording began; those that waited for them are left out.
 * It needs the analysis no longer. Returns 0 or -ENOMEM. */
int whatif_model_new(struct elapsed_analysis *analysis, uint32_t most, bool attached,
                     struct whatif_model **ret_model);
/* How much of their CPU time the machines used, which bounds how many more requests they can answer. */
void whatif_model_note_load(struct whatif_model *model, const struct communication *communication);
void whatif_model_free(struct whatif_model *model); /* NULL is allowed */

/* ---- changes ---- */

enum whatif_kind {
    WHATIF_REPLICAS, /* a pool has `amount` workers */
    WHATIF_WAIT,     /* waits of one kind, in processes of this name, take `amount` of their time */
    WHATIF_SPEED,    /* processes of this name compute `amount` times as fast */
    WHATIF_NO_HOLDBACK, /* no message waits for an acknowledgement (Nagle's algorithm) */
    WHATIF_KEEP,        /* processes of this name connect no more to those of the second one */
    WHATIF_MERGE, /* of the questions of one to the other in a request, only the first takes a round trip; `amount` > 1: of so many
                     requests of the first one itself, which is a client */
    WHATIF_DELAY, /* messages between processes of these two names take `amount` ns */
    WHATIF_PLACE, /* processes of this name have a machine of their own */
    WHATIF_BUFFER, /* of a run: processes of this name send `amount` bytes at once to those of the second one */
};

struct whatif_change {
    enum whatif_kind kind;
    const char *name; /* of a process, a script, or a part of a command line with a blank in it */
    const char *to;   /* KEEP, MERGE, DELAY */
    double amount;
    enum elapsed_kind wait;
};

/* ---- the answer ---- */

struct whatif_figures {
    uint64_t requests;
    double per_second;
    double mean;          /* ns */
    uint64_t median, p99; /* ns */
    /* The pool or the CPUs that were busy for the largest share of the time; pool 0: CPUs. */
    uint32_t busiest; /* index + 1 */
    uint32_t busiest_workers;
    double busy;    /* 0 to 1 */
    double waiting; /* part of all requests' time that they waited for workers of pools, 0 to 1 */
};

struct whatif_answer {
    struct whatif_figures recorded, base,
        then;   /* `then` is scaled; what is busy and waits is not known of `recorded` */
    double off; /* by how much `base` differs from what was recorded, at most: 0.1 is 10 % */
    double
        no_cpu; /* part of the requests' time without a CPU that other programs caused, and that stays */
    double
        lacked; /* part of the requests' recorded time without a CPU, in queues, too, whatever caused it */
    double
        kept; /* part of the time in queues that work for no recorded request caused, and that stays */
    uint64_t left_out; /* later requests that are not simulated */
    uint64_t early;    /* the first ones, which waited for some that were not recorded ... */
    bool early_stay;   /* ... but most are of that kind, so they are simulated, too */
    uint32_t pool;     /* REPLICAS: index + 1 of the largest one that was changed ... */
    uint32_t pools;    /* ... of so many */
    /* Calls go, with their waits or connections. Their CPU time is not known, and stays in `then`. In `at_best` all that was
     * computed just before and after them goes, too. */
    bool calls_stay;
    struct whatif_figures at_best;
    /* Requests are sent together, and wait for each other's answers: their latencies are not known. They are 0 after whatif_ask. */
    bool together;
    /* Requests each second at which the machine has no CPU time left, if all that it used grows with them; 0: `then` is below that,
     * or it is not known (whatif_model_note_load). */
    double used_up;
    /* What bounds the rate, the median and the 99th percentile, smallest and largest of each; only whatif_ask fills them in. */
    struct whatif_figures low, high;
    bool is_range; /* the rate or the median may be more than a tenth off ... */
    unsigned why;  /* ... because of these: bits of enum whatif_why */
};

enum whatif_why {
    WHY_REQUESTS, /* they are few, or differ */
    WHY_MODEL,    /* what it is off stays, or changes with the rest */
    WHY_CALLS,    /* see calls_stay */
    WHY_NO_CPU,   /* other programs' use of the CPUs stays, or not */
    WHY_QUEUES,   /* behind work for no recorded request: they stay, or not */
    WHY_LOAD,     /* see used_up */
    WHY_COLD, /* nearly all was waited for: what remains was computed after it, with cold caches */
    WHY_COUNT,
};

/* `cpus`: of each machine; 0: enough. Errors: -ENOMEM; -EINVAL, with a line in `problem`: the trace cannot judge the change. */
int whatif_ask(const struct whatif_model *model, const struct whatif_change *changes, size_t count,
               uint32_t cpus, struct whatif_answer *ret_answer, struct problem *problem);

/* ---- all changes ---- */

struct whatif_trial {
    struct whatif_change change; /* its names belong to the model */
    double concerns;             /* part of the requests' time that it is about, 0 to 1 */
    uint32_t from;               /* REPLICAS: the workers that there are ... */
    bool in_turn;                /* ... each of which had one request at a time */
    bool share_lock; /* ... and that wait for locks: more of them may only wait longer */
    struct whatif_answer answer;
};

struct whatif_found {
    struct whatif_answer now;    /* without `then` */
    struct whatif_trial *trials; /* that make requests faster by 1 % or more; best first */
    size_t count;
    size_t tried, left; /* changes, and those that were not tried */
    uint32_t cpus;
    uint64_t covered; /* ns in which at least one request was in progress */
};

/* Tries single changes, but only the `most` that concern the largest part of the requests' time, and until about `ops_most` steps
 * have been simulated (some 30 million a second): twice the workers, four
 * times ... of each name, and as few as give nine tenths of what any number would; no wait, of one kind; twice the speed; and
 * those that have no amount. Call whatif_found_done in any case. Errors: as those of whatif_ask. */
int whatif_search(const struct whatif_model *model, uint32_t cpus, size_t most, uint64_t ops_most,
                  struct whatif_found *ret_found, struct problem *problem);
void whatif_found_done(struct whatif_found *found);

/* By how much requests are faster on average: 0.1 is 10 %. */
double whatif_gain(const struct whatif_trial *trial);

/* ---- a run without requests: its elapsed time ---- */

/*
 *      the condensed graph   sh creates tar; tar computes, waits for the disk, sends; gzip receives, computes ...
 *      simulated             threads share the CPUs of their machines; what was waited for takes as long as it did,
 *                            unless a change says otherwise
 */
struct whatif_run;

/* Reads what `reading` and `path` (its result, or NULL: none), and the statistics have, which must outlive it. `cpus`: of each machine; 0: enough.
 * Returns 0 or -ENOMEM. */
int whatif_run_new(struct critical_path_reading *reading, const struct critical_path *path,
                   const struct communication *communication, uint32_t cpus,
                   struct whatif_run **ret_run);
void whatif_run_free(struct whatif_run *run); /* NULL is allowed */

/* For options of the critical path, so that --wait knows what was waited for. */
unsigned whatif_kind_of_wait(const struct history *history, const struct recorded_types *recorded,
                             const struct history_event *event);

struct whatif_part {
    const char *name; /* of a program or script; it belongs to the run */
    enum elapsed_kind kind;
    double time; /* ns */
};

/* An elapsed time, and what most of its critical path is. */
struct whatif_time {
    double time; /* ns */
    struct whatif_part most;
};

struct whatif_run_answer {
    double recorded;
    struct whatif_time base, then; /* `then` is scaled by recorded / base */
    double off;                    /* by how much `base` differs from what was recorded */
    double low, high;              /* ns: what bounds `then`, see whatif_is_range ... */
    unsigned why;                  /* ... because of these: bits of enum whatif_why */
    double at_best;  /* ns: scaled, if all that calls cost goes with them; 0: none go */
    double collects; /* BUFFER: ns in which so many bytes came to be sent, as recorded; 0: none */
};

/* Errors: -ENOMEM, -ENOSPC; -EINVAL, with a line in `problem`: the trace cannot judge the change. */
int whatif_run_ask(struct whatif_run *run, const struct whatif_change *changes, size_t count,
                   struct whatif_run_answer *ret_answer, struct problem *problem);

struct whatif_run_trial {
    struct whatif_change change; /* its names belong to the run */
    double concerns;             /* part of the critical path that it is about, 0 to 1 */
    struct whatif_run_answer answer;
};

struct whatif_run_found {
    struct whatif_run_answer now;    /* without `then` */
    struct whatif_run_trial *trials; /* that save 1 % or more; best first */
    size_t count, tried, left;
};

/* As whatif_search: twice the speed, no waits of one kind, a machine for programs that have no CPU, no held messages, 64 KiB at once.
 * `steps_most`: intervals that are simulated. Call whatif_run_found_done in any case. */
int whatif_run_search(struct whatif_run *run, size_t most, uint64_t steps_most,
                      struct whatif_run_found *ret_found, struct problem *problem);
void whatif_run_found_done(struct whatif_run_found *found);

/* ---- how sure ---- */

/* Whether one of these ends is more than a tenth from the prediction. */
bool whatif_is_range(double then, double low, double high);

/* ---- who ---- */

size_t whatif_pools(const struct whatif_model *model, const struct whatif_pool **ret_pools);

/* Whether its workers wait for locks, so that more of them may only wait longer. */
bool whatif_shares_lock(const struct whatif_pool *pool);
const struct whatif_party *whatif_party(const struct whatif_model *model, uint32_t party);

#endif
