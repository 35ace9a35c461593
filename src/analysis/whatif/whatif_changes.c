/* SPDX-License-Identifier: MIT */
/* whatif_changes.c: changes of the programs of requests, and of pools. See whatif.h. */
#include "analysis/whatif/whatif_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- names ---- */

static bool is_named(const struct whatif_party *party, const char *name)
{
    return party->name[0] != '\0' && process_is_named(name, party->pid, party->name, party->label);
}

/* ---- changes of programs ---- */

static int nothing(const struct whatif_changed *changed, const char *format, const char *name)
{
    return problem_set(changed->problem, -EINVAL, format, name);
}

static int nothing_of_two(const struct whatif_changed *changed, const struct whatif_change *change,
                          const char *format)
{
    return problem_set(changed->problem, -EINVAL, format, change->name, change->to);
}

/* The ptrace meter sees no message arrive: to its recordings, messages take no time. */
#define IN_FLIGHT "in flight for a recorded time (the ptrace meter records no arrivals)"

/* Part of the requests: what a thread does for fewer is not its main work, such as accepting connections. */
#define RARE 0.05

static int change_replicas(struct whatif_changed *changed, const struct whatif_change *change)
{
    const struct whatif_model *model = changed->model;
    uint32_t most = 0;

    for (size_t i = 0; i < model->pool_count; i++) {
        if (!changed->is_one[model->pools[i].party])
            continue;
        changed->workers[i] = (uint32_t)change->amount;
        if (model->pools[i].workers > most) {
            most = model->pools[i].workers;
            changed->pool = (uint32_t)i + 1;
        }
        changed->pools += (double)model->pools[i].visits > RARE * (double)model->request_count;
    }
    return most > 0 ? 0
                    : nothing(changed, "no process named %s answered a request in this recording",
                              change->name);
}

#define TIME_MOST 1e18 /* ns: of a trace that makes no sense */

static uint64_t scaled(uint64_t time, double factor)
{
    return (uint64_t)fmin((double)time * factor, TIME_MOST);
}

/* Whether a worker is taken or released, as the thread of a loop is around each wait. */
static bool is_of_worker(const struct whatif_op *op)
{
    return op->type == OP_ENTER || op->type == OP_LEAVE;
}

/* The op after this one that takes time; op_count: none. */
static uint32_t op_after(const struct whatif_changed *changed, const struct whatif_request *request,
                         uint32_t at)
{
    const struct whatif_op *ops = &changed->ops[request->first_op];

    for (at++; at < request->op_count && is_of_worker(&ops[at]);)
        at++;
    return at;
}

/* Who does not sleep needs no CPU to wake up. */
static void drop_awakening(struct whatif_changed *changed, const struct whatif_request *request,
                           uint32_t at)
{
    struct whatif_op *ops = &changed->ops[request->first_op];
    uint32_t next = op_after(changed, request, at);

    if (next < request->op_count && ops[next].type == OP_NO_CPU && ops[next].of == ops[at].of)
        ops[next].time = 0;
}

/* Its own CPU time is somewhere in what the thread computed just before and after it. */
static void drop_call(struct whatif_changed *changed, const struct whatif_request *request,
                      uint32_t at)
{
    struct whatif_op *ops = &changed->ops[request->first_op];
    uint32_t before = at, next = op_after(changed, request, at), of = ops[at].of;

    if (!changed->calls_go)
        return;
    while (before > 0 && is_of_worker(&ops[before - 1]))
        before--;
    if (before > 0 && ops[before - 1].type == OP_CPU && ops[before - 1].of == of)
        ops[before - 1].time = 0;
    if (next < request->op_count && ops[next].type == OP_NO_CPU && ops[next].of == of)
        next = op_after(changed, request, next);
    if (next < request->op_count && ops[next].type == OP_CPU && ops[next].of == of)
        ops[next].time = 0;
}

static void shorten(struct whatif_changed *changed, const struct whatif_change *change,
                    const struct whatif_request *request, uint32_t at)
{
    struct whatif_op *op = &changed->ops[request->first_op + at];

    op->time = scaled(op->time, change->amount);
    if (change->amount > 0 || op->type != OP_DELAY)
        return;
    drop_awakening(changed, request, at);
    drop_call(changed, request, at);
}

static int change_wait(struct whatif_changed *changed, const struct whatif_change *change)
{
    const struct whatif_model *model = changed->model;
    bool found = false, named = false;

    for (size_t i = 0; i < model->request_count; i++) {
        const struct whatif_request *request = &model->requests[i];
        for (uint32_t k = 0; k < request->op_count; k++) {
            const struct whatif_op *op = &changed->ops[request->first_op + k];
            if ((op->type != OP_DELAY && op->type != OP_NO_CPU) || !changed->is_one[op->of])
                continue;
            named = true;
            if (op->kind != change->wait)
                continue;
            found = true;
            shorten(changed, change, request, k);
        }
    }
    if (found)
        return 0;
    return nothing(changed,
                   named ? "no request waited for that in a process named %s"
                         : "no process named %s had a part in what requests waited for",
                   change->name);
}

static int change_speed(struct whatif_changed *changed, const struct whatif_change *change)
{
    const struct whatif_model *model = changed->model;
    bool found = false;

    for (size_t i = 0; i < model->op_count; i++) {
        struct whatif_op *op = &changed->ops[i];
        if (op->type != OP_CPU || !changed->is_one[op->of])
            continue;
        found = true;
        op->time = scaled(op->time, 1 / change->amount);
    }
    return found
               ? 0
               : nothing(changed,
                         "no process named %s computed in what requests waited for; --run predicts "
                         "the elapsed time instead",
                         change->name);
}

/* The median time of messages in flight that nothing held back; 0: there are none. */
static int usual_flight(const struct whatif_changed *changed, uint64_t *ret_time)
{
    const struct whatif_model *model = changed->model;
    uint64_t *times = calloc(model->op_count + 1, sizeof(*times));
    size_t count = 0;

    if (times == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < model->op_count; i++)
        if (model->ops[i].kind == ELAPSED_IN_FLIGHT && !model->ops[i].is_held)
            times[count++] = model->ops[i].time;
    qsort(times, count, sizeof(*times), whatif_by_time);
    *ret_time = count == 0 ? 0 : times[count / 2];
    free(times);
    return 0;
}

static int change_holdback(struct whatif_changed *changed)
{
    uint64_t usual;
    bool found = false;

    if (usual_flight(changed, &usual) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < changed->model->op_count; i++) {
        struct whatif_op *op = &changed->ops[i];
        if (!op->is_held)
            continue;
        found = true;
        op->time = usual;
    }
    return found ? 0
                 : nothing(changed,
                           "no message of a request was in flight for as long as an "
                           "acknowledgement is delayed (40 ms)%s",
                           "");
}

bool whatif_is_connecting(const struct whatif_op *op)
{
    return op->kind == ELAPSED_CONNECT || op->kind == ELAPSED_RESENT_SYN;
}

/* The step that became this op. Each does that takes time of its own. */
static uint32_t step_of(const struct whatif_model *model, const struct whatif_request *request,
                        uint32_t at)
{
    const struct whatif_step *steps = &model->steps[request->first_step];
    uint32_t before = 0, step = 0;

    for (uint32_t i = 0; i < at; i++) {
        const struct whatif_op *op = &model->ops[request->first_op + i];
        before += !is_of_worker(op) && op->type != OP_QUEUED;
    }
    for (; step < request->step_count; step++)
        if (steps[step].queued < steps[step].time && before-- == 0)
            break;
    return step;
}

uint32_t whatif_connected_to(const struct whatif_model *model, const struct whatif_request *request,
                             uint32_t at)
{
    const struct whatif_step *steps = &model->steps[request->first_step];
    uint32_t first = step_of(model, request, at);

    for (uint32_t i = first + 1; i < request->step_count; i++)
        if (steps[i].kind == ELAPSED_IN_FLIGHT && steps[i].party == steps[first].party &&
            steps[i - 1].party != steps[first].party &&
            (steps[i].address == 0 || steps[first].address == 0 ||
             steps[i].address == steps[first].address))
            return steps[i - 1].party; /* which sent the answer */
    return 0;
}

uint32_t whatif_asked_next(const struct whatif_model *model, const struct whatif_request *request,
                           uint32_t at)
{
    for (; at < request->op_count; at++) {
        const struct whatif_op *op = &model->ops[request->first_op + at];
        if (op->kind == ELAPSED_IN_FLIGHT)
            return op->of;
    }
    return 0;
}

static int change_connections(struct whatif_changed *changed, const struct whatif_change *change)
{
    const struct whatif_model *model = changed->model;
    bool found = false;

    for (size_t i = 0; i < model->request_count; i++) {
        const struct whatif_request *request = &model->requests[i];
        for (uint32_t k = 0; k < request->op_count; k++) {
            struct whatif_op *op = &changed->ops[request->first_op + k];
            if (!whatif_is_connecting(op) || !changed->is_one[op->of] ||
                !changed->is_other[whatif_connected_to(model, request, k)])
                continue;
            op->time = 0;
            drop_call(changed, request, k);
            found = true;
        }
    }
    return found ? 0
                 : nothing_of_two(changed, change,
                                  "no request waited while %s connected to %s; the CPU time of "
                                  "connecting cannot be told from other CPU time");
}

/* ---- messages between two programs ---- */

/* Walks through a request: who did what, and to whom it goes. */
struct walking {
    const struct whatif_changed *changed;
    uint32_t last;   /* party that computed, waited, or got a message, before this op */
    bool was_flight; /* the op before was a message between the two */
    bool is_flight;  /* this one is */
    bool asks;       /* ... from the first one to the second */
};

static void walk_to(struct walking *walking, const struct whatif_op *op)
{
    const struct whatif_changed *changed = walking->changed;
    bool back = changed->is_other[walking->last] && changed->is_one[op->of];

    if (is_of_worker(op))
        return;
    walking->was_flight = walking->is_flight;
    walking->asks = op->kind == ELAPSED_IN_FLIGHT && changed->is_one[walking->last] &&
                    changed->is_other[op->of];
    walking->is_flight = walking->asks || (op->kind == ELAPSED_IN_FLIGHT && back);
    walking->last = op->of;
}

/* Whether the op is a message between the two, or its receiver's waiting for a CPU after it. */
static bool is_of_trip(const struct walking *walking, const struct whatif_op *op)
{
    return !is_of_worker(op) &&
           (walking->is_flight || (op->type == OP_NO_CPU && walking->was_flight));
}

/* What was computed for a message that is none any more, by its sender and its receiver, goes with its calls. */
static void drop_message(struct whatif_changed *changed, const struct whatif_request *request,
                         uint32_t at)
{
    struct whatif_op *ops = &changed->ops[request->first_op];
    uint32_t before = at, after = at + 1;

    if (!changed->calls_go)
        return;
    while (before > 0 && is_of_worker(&ops[before - 1]))
        before--;
    if (before > 0 && ops[before - 1].type == OP_CPU)
        ops[before - 1].time = 0;
    while (after < request->op_count && ops[after].type != OP_CPU && ops[after].type != OP_DELAY)
        after++;
    if (after < request->op_count && ops[after].type == OP_CPU)
        ops[after].time = 0;
}

/* Only the first `trips` questions take their way. */
static bool merge_trips(struct whatif_changed *changed, const struct whatif_request *request,
                        unsigned trips)
{
    struct walking walking = {.changed = changed, .last = request->client};
    unsigned asked = 0;
    bool found = false;

    for (uint32_t k = 0; k < request->op_count; k++) {
        struct whatif_op *op = &changed->ops[request->first_op + k];
        walk_to(&walking, op);
        bool is_there = is_of_trip(&walking, op);
        asked += is_there && walking.asks;
        if (!is_there || asked <= trips)
            continue;
        op->time = 0;
        if (op->kind == ELAPSED_IN_FLIGHT)
            drop_message(changed, request, k);
        found = true;
    }
    return found;
}

static int change_trips(struct whatif_changed *changed, const struct whatif_change *change)
{
    bool found = false;

    for (size_t i = 0; i < changed->model->request_count; i++)
        found = merge_trips(changed, &changed->model->requests[i], 1) || found;
    return found ? 0
                 : nothing_of_two(changed, change,
                                  "no request had two questions of %s to %s, one after the other, "
                                  "that were " IN_FLIGHT);
}

/* Of `amount` requests of a client, one after the other, only the first takes its way; the client computes for all. */
static bool merge_requests(struct whatif_changed *changed, const struct whatif_slot *slot,
                           uint32_t amount)
{
    const struct whatif_model *model = changed->model;
    uint32_t number = 0;
    bool found = false;

    for (uint32_t at = slot->first; at != 0; at = model->requests[at - 1].next) {
        const struct whatif_request *request = &model->requests[at - 1];
        if (changed->is_other[whatif_asked_next(model, request, 0)] && number++ % amount != 0)
            found = merge_trips(changed, request, 0) || found;
    }
    return found;
}

static int change_questions(struct whatif_changed *changed, const struct whatif_change *change)
{
    const struct whatif_model *model = changed->model;
    bool found = false;

    for (size_t i = 0; i < model->slot_count; i++)
        if (changed->is_one[model->slots[i].client])
            found = merge_requests(changed, &model->slots[i], (uint32_t)change->amount) || found;
    return found ? 0
                 : nothing_of_two(changed, change,
                                  "%s is not a client with several requests to %s that "
                                  "were " IN_FLIGHT);
}

/* ---- the way, and machines ---- */

/* Each message from one of the two to the other takes so long. */
static int change_delay(struct whatif_changed *changed, const struct whatif_change *change)
{
    const struct whatif_model *model = changed->model;
    bool found = false;

    for (size_t i = 0; i < model->request_count; i++) {
        const struct whatif_request *request = &model->requests[i];
        struct walking walking = {.changed = changed, .last = request->client};
        for (uint32_t k = 0; k < request->op_count; k++) {
            struct whatif_op *op = &changed->ops[request->first_op + k];
            walk_to(&walking, op);
            if (is_of_worker(op) || !walking.is_flight)
                continue;
            op->time = (uint64_t)change->amount;
            found = true;
        }
    }
    return found ? 0
                 : nothing_of_two(changed, change,
                                  "no message of a request between %s and %s was " IN_FLIGHT);
}

/* All processes of the name get a machine of their own, which has as many CPUs. */
static int change_place(struct whatif_changed *changed, const struct whatif_change *change)
{
    uint32_t machine = changed->model->machines + changed->placed++;
    bool found = false;

    for (size_t i = 0; i < changed->model->party_count; i++)
        if (changed->is_one[i]) {
            changed->machines[i] = machine;
            found = true;
        }
    return found ? 0
                 : nothing(changed, "no process named %s had a part in what requests waited for",
                           change->name);
}

int whatif_apply(struct whatif_changed *changed, const struct whatif_change *change)
{
    for (size_t i = 0; i < changed->model->party_count; i++) {
        const struct whatif_party *party = &changed->model->parties[i];
        changed->is_one[i] = change->name != NULL && is_named(party, change->name);
        changed->is_other[i] = change->to != NULL && is_named(party, change->to);
    }
    switch (change->kind) {
    case WHATIF_REPLICAS:
        return change_replicas(changed, change);
    case WHATIF_WAIT:
        return change_wait(changed, change);
    case WHATIF_SPEED:
        return change_speed(changed, change);
    case WHATIF_NO_HOLDBACK:
        return change_holdback(changed);
    case WHATIF_KEEP:
        return change_connections(changed, change);
    case WHATIF_MERGE:
        return change->amount > 1 ? change_questions(changed, change)
                                  : change_trips(changed, change);
    case WHATIF_DELAY:
        return change_delay(changed, change);
    case WHATIF_PLACE:
        return change_place(changed, change);
    case WHATIF_BUFFER:
        return nothing(changed,
                       "how many messages an answer takes is not part of the model of requests: "
                       "ask for the elapsed time with --buffer alone%s",
                       "");
    }
    return 0;
}
