/* SPDX-License-Identifier: MIT */
/* whatif_private.h: the programs of requests. Private to whatif/. */
#ifndef DPM_WHATIF_PRIVATE_H
#define DPM_WHATIF_PRIVATE_H

#include "analysis/whatif/whatif.h"

/* A part of a request, as recorded. */
struct whatif_step {
    uint64_t time;
    uint64_t queued;  /* of `time`: in a queue, which the simulation makes anew */
    uint64_t rest;    /* so long after it the thread took the next request, which was waiting */
    uint32_t party;   /* who computes or waits; in flight, queued: the receiver */
    uint32_t thread;  /* ... in which thread: index + 1; 0: not known, or on the way */
    uint8_t kind;     /* enum elapsed_kind */
    bool polls;       /* a time limit of poll, epoll_wait ... */
    uint32_t address; /* in flight, connecting: a hash of the peer's address; 0: not known */
};

enum whatif_op_type {
    OP_DELAY,
    OP_CPU,
    OP_NO_CPU,
    OP_QUEUED, /* as recorded: mostly replaced by what the simulation makes of ENTER */
    OP_ENTER,
    OP_LEAVE,
};

struct whatif_op {
    uint64_t time; /* LEAVE: of the worker alone */
    uint32_t of;   /* DELAY, CPU, NO_CPU, QUEUED: party; ENTER, LEAVE: pool */
    uint8_t type, kind;
    uint8_t is_held; /* a message that waited for an acknowledgement, as it seems */
};

struct whatif_request {
    uint64_t begin, end;
    uint64_t think;  /* between the answer before, of the same slot, and this question */
    uint32_t client; /* party */
    uint32_t next;   /* of the slot: index + 1 */
    uint32_t first_op, op_count, first_step, step_count;
};

/* One of as many as asked at the same time. */
struct whatif_slot {
    uint32_t client;      /* party */
    uint32_t first, last; /* request: index + 1 */
};

#define WHATIF_OVERLAPS 0.05 /* of the requests: fewer are some that no client waits for any more */

struct whatif_thread {
    uint32_t party;
    char kind[STREAM_NAME_SIZE +
              1]; /* its name without a number at its end; "": that of the process */
    bool is_loop; /* it had several requests at a time */
    bool
        in_turn; /* it received requests, one at a time: whatever it waits for is for one of them */
    bool works;  /* it did something for a request ... */
    uint32_t requests;   /* ... for so many ... */
    uint64_t begin, end; /* ... between these times */
    bool
        is_brief; /* made for its request, as a program that a server starts is: no worker that others wait for */
    uint32_t pool;
};

struct whatif_model {
    struct whatif_party *parties;
    size_t party_count, party_room;
    struct whatif_pool *pools;
    size_t pool_count, pool_room;
    struct whatif_thread *threads;
    size_t thread_count, thread_room;
    struct whatif_step *steps;
    size_t step_count, step_room;
    struct whatif_op *ops;
    size_t op_count, op_room;
    struct whatif_request *requests;
    size_t request_count, request_room;
    struct whatif_slot *slots;
    size_t slot_count, slot_room;
    uint64_t left_out, early;
    bool early_stay;
    uint32_t machines; /* highest origin + 1 */
    /* Part of its CPU time that the machine used while there were requests, 0 to 1; 0: not known, or there are several machines. */
    double used;
};

/* From the first to the last step of a thread in a request. */
struct whatif_extent {
    uint32_t first, last; /* steps of the request: index + 1; 0: it has none */
    uint64_t since;       /* the request is in the queue; `begin`: it never was */
    uint64_t begin, end;
};

/* whatif_requests.c: fills parties, threads, steps, requests and slots. Returns 0 or -ENOMEM, as all of these. */
int whatif_take_requests(struct whatif_model *model, struct elapsed_analysis *analysis,
                         uint32_t most);

/* Leaves out those that began before the first one ended: they may have waited for others that were in progress when the
 * recording began, whose work would count as theirs. */
void whatif_drop_early(struct whatif_model *model);

/* whatif_queues.c: what of each step was a queue; which threads are loops. `extents`: [thread], to work with. `attached`: the
 * early requests only say whose work is whose. */
int whatif_find_queues(struct whatif_model *model, bool attached, struct whatif_extent *extents);

/* Whether a thread can do this for one request only at a time. */
bool whatif_is_exclusive(const struct whatif_model *model, const struct whatif_step *step);

/* Whether a worker did it for this request: a thread that is no client's, and not brief. */
bool whatif_is_own(const struct whatif_model *model, const struct whatif_request *request,
                   const struct whatif_step *step);

/* Fills those of the request's threads; the others stay. */
void whatif_extents(const struct whatif_model *model, const struct whatif_request *request,
                    struct whatif_extent *extents);

/* whatif_programs.c: pools and ops. */
int whatif_make_programs(struct whatif_model *model, struct whatif_extent *extents);

/* ---- whatif_changes.c ---- */

/* Copies of what changes change, and what they say. */
struct whatif_changed {
    const struct whatif_model *model;
    struct whatif_op *ops;
    uint32_t *workers;       /* [pool] */
    uint32_t *machines;      /* [party] */
    uint32_t placed;         /* machines that there are not in the recording */
    bool *is_one, *is_other; /* [party]: whether the change names it; the second name of two */
    uint32_t pool;           /* REPLICAS: index + 1 of the largest one that was changed ... */
    uint32_t pools;          /* ... of so many that are visited often */
    bool calls_go;           /* with a wait goes what was computed just before and after it */
    struct problem *problem;
};

/* Returns 0; -ENOMEM; -EINVAL, with a line in `problem`: there is nothing to change. */
int whatif_apply(struct whatif_changed *changed, const struct whatif_change *change);

/* Whether a request waits in it until there is a connection. */
bool whatif_is_connecting(const struct whatif_op *op);

/* To which party the connection goes that the op waits for: the one that answers on it; 0: none does, or it is not metered. */
uint32_t whatif_connected_to(const struct whatif_model *model, const struct whatif_request *request,
                             uint32_t at);

/* The party to which the next message of the request goes, from this op on; 0: none. */
uint32_t whatif_asked_next(const struct whatif_model *model, const struct whatif_request *request,
                           uint32_t at);

/* ---- the simulation ---- */

/* What is simulated. The ops are as many as the model's, in the same places. */
struct whatif_simulated {
    const struct whatif_model *model;
    const struct whatif_op *ops;
    const uint32_t *workers;  /* of each pool */
    const uint32_t *machines; /* on which each party is; NULL: as recorded */
    uint32_t placed;          /* machines that the model does not have */
    uint32_t cpus;            /* of each machine */
    double no_cpu;            /* how much of the time without a CPU other programs caused, 0 to 1 */
    double queued; /* how much of the time in queues is due to what no request shows, 0 to 1 */
};

/* How many requests ended each second, from the first to the last tenth of them, when as many are in progress as can be. 0: not
 * known, for clients that hardly ask again; with enough workers, such a burst ends at once. Sorts the times, ns. */
double whatif_rate(uint64_t *ends, size_t count, size_t clients);

/* `latencies`: [request]. Returns 0, -ENOMEM, or -EDEADLK: workers wait for each other. */
int whatif_simulate(const struct whatif_simulated *run, uint64_t *latencies,
                    struct whatif_figures *ret_figures);

/* Median and 99th percentile (nearest ranks). Sorts the latencies. */
void whatif_ranks(uint64_t *latencies, size_t count, struct whatif_figures *figures);

/* Compares two uint64_t, for qsort. */
int whatif_by_time(const void *one, const void *other);

/* Waits that a change of the program itself could remove: not for others, nor for messages. */
bool whatif_is_own_wait(enum elapsed_kind kind);

/* Sets `asked` of a party that has a name and a label. */
void whatif_name_for_changes(struct whatif_party *party);

/* ---- whatif_buffer.c ---- */

/* What larger messages change: how much CPU time is left of what both parties use. */
struct whatif_buffers {
    double sender; /* part that is left, at least: what calls cost is what the trace proves */
    double sender_at_best;   /* all of its CPU time is that of calls */
    double receiver_at_best; /* if it receives as much at once, too */
    double collects;         /* ns until so many bytes came to be sent, as recorded */
};

/* Errors: -EINVAL, with a line in `problem`: the trace cannot judge it. */
int whatif_buffer(const struct communication *communication, const struct whatif_change *change,
                  struct whatif_buffers *ret_buffers, struct problem *problem);

/* ---- messages that are held back ---- */

/* ns: Linux delays an acknowledgement by 40 ms, rarely longer. Between machines the way may take as long. */
#define HELD_LEAST 30000000u
#define HELD_MOST  60000000u

/* ---- whatif.c: several questions about one recording ---- */

struct whatif_asking {
    const struct whatif_model *model;
    struct whatif_simulated run; /* as recorded */
    uint32_t *workers;           /* [pool], as recorded */
    uint64_t *latencies;         /* [request] */
    struct whatif_changed changed;
    struct whatif_answer answer; /* without `then` */
    uint64_t tried_ops;          /* in all simulations of whatif_search */
};

/* How changes are simulated. */
struct whatif_how {
    bool calls_go;         /* as in struct whatif_changed */
    double no_cpu, queued; /* as in struct whatif_simulated */
};

/* As the model found the recording to be. */
struct whatif_how whatif_as_found(const struct whatif_asking *asking);

/* Simulates changes: `latencies` are in the order of the requests, and nothing is scaled. */
int whatif_asking_simulate(struct whatif_asking *asking, const struct whatif_change *changes,
                           size_t count, struct whatif_how how, struct whatif_figures *ret_figures,
                           struct problem *problem);

/* By what was recorded. */
void whatif_scale(const struct whatif_answer *answer, struct whatif_figures *figures);

/* whatif_range.c: how far off `then` may be. After whatif_asking_try, and with `at_best`. Errors: those of whatif_ask. */
int whatif_find_range(struct whatif_asking *asking, const struct whatif_change *changes,
                      size_t count, struct whatif_answer *answer, struct problem *problem);

/* Simulates the recording. Call whatif_asking_end in any case. Errors as those of whatif_ask. */
int whatif_asking_begin(struct whatif_asking *asking, const struct whatif_model *model,
                        uint32_t cpus, struct problem *problem);
int whatif_asking_try(struct whatif_asking *asking, const struct whatif_change *changes,
                      size_t count, struct whatif_answer *ret_answer, struct problem *problem);
void whatif_asking_end(struct whatif_asking *asking);

#endif
