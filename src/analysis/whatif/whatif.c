/* SPDX-License-Identifier: MIT */
/* whatif.c: changes the programs of requests, and asks the simulation. See whatif.h. */
#include "analysis/whatif/whatif_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static bool is_named(const struct whatif_party *party, const char *name)
{
    return party->name[0] != '\0' && process_is_named(name, party->pid, party->name, party->label);
}

/* ---- changes of programs ---- */

struct changing {
    const struct whatif_model *model;
    bool *is_one, *is_other; /* [party]: whether the change names it; the second name of two */
    struct whatif_op *ops;
    uint32_t *workers;
    struct problem *problem;
    struct whatif_answer *answer;
};

static int nothing(const struct changing *changing, const char *format, const char *name)
{
    return problem_set(changing->problem, -EINVAL, format, name);
}

static int change_replicas(struct changing *changing, const struct whatif_change *change)
{
    const struct whatif_model *model = changing->model;
    bool found = false;

    for (size_t i = 0; i < model->pool_count; i++) {
        if (!changing->is_one[model->pools[i].party])
            continue;
        changing->workers[i] = (uint32_t)change->amount;
        if (!found)
            changing->answer->pool = (uint32_t)i + 1;
        found = true;
    }
    return found ? 0
                 : nothing(changing, "no process named %s answered a request in this recording",
                           change->name);
}

/* Who does not sleep needs no CPU to wake up. */
static void drop_awakening(struct changing *changing, size_t at)
{
    size_t next = at + 1;

    if (next < changing->model->op_count && changing->ops[next].type == OP_NO_CPU &&
        changing->ops[next].of == changing->ops[at].of)
        changing->ops[next].time = 0;
}

static int change_wait(struct changing *changing, const struct whatif_change *change)
{
    const struct whatif_model *model = changing->model;
    bool found = false, named = false;

    for (size_t i = 0; i < model->op_count; i++) {
        struct whatif_op *op = &changing->ops[i];
        if (op->type != OP_DELAY || !changing->is_one[op->of])
            continue;
        named = true;
        if (op->kind != change->wait)
            continue;
        found = true;
        op->time = (uint64_t)((double)op->time * change->amount);
        if (change->amount == 0)
            drop_awakening(changing, i);
    }
    if (found)
        return 0;
    return nothing(changing,
                   named ? "no request waited for that in a process named %s"
                         : "no process named %s had a part in a request of this recording",
                   change->name);
}

static int change_speed(struct changing *changing, const struct whatif_change *change)
{
    const struct whatif_model *model = changing->model;
    bool found = false;

    for (size_t i = 0; i < model->op_count; i++) {
        struct whatif_op *op = &changing->ops[i];
        if (op->type != OP_CPU || !changing->is_one[op->of])
            continue;
        found = true;
        op->time = (uint64_t)((double)op->time / change->amount);
    }
    return found ? 0
                 : nothing(changing, "no process named %s computed for a request of this recording",
                           change->name);
}

static int by_time(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return (a > b) - (a < b);
}

/* The median time of messages in flight that nothing held back; 0: there are none. */
static int usual_flight(const struct changing *changing, uint64_t *ret_time)
{
    const struct whatif_model *model = changing->model;
    uint64_t *times = calloc(model->op_count + 1, sizeof(*times));
    size_t count = 0;

    if (times == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < model->op_count; i++)
        if (model->ops[i].kind == ELAPSED_IN_FLIGHT && !model->ops[i].is_held)
            times[count++] = model->ops[i].time;
    qsort(times, count, sizeof(*times), by_time);
    *ret_time = count == 0 ? 0 : times[count / 2];
    free(times);
    return 0;
}

static int change_holdback(struct changing *changing)
{
    uint64_t usual;
    bool found = false;

    if (usual_flight(changing, &usual) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < changing->model->op_count; i++) {
        struct whatif_op *op = &changing->ops[i];
        if (!op->is_held)
            continue;
        found = true;
        op->time = usual;
    }
    return found ? 0
                 : nothing(changing,
                           "no message of a request was in flight for as long as an "
                           "acknowledgement is delayed (40 ms)%s",
                           "");
}

static bool is_connecting(const struct whatif_op *op)
{
    return op->kind == ELAPSED_CONNECT || op->kind == ELAPSED_RESENT_SYN;
}

/* Whether the pool that is entered next in the request is one that the change names. */
static bool enters_other(const struct changing *changing, const struct whatif_request *request,
                         uint32_t at)
{
    const struct whatif_model *model = changing->model;

    for (; at < request->op_count; at++)
        if (model->ops[request->first_op + at].type == OP_ENTER)
            return changing->is_other[model->pools[model->ops[request->first_op + at].of].party];
    return false;
}

static int change_connections(struct changing *changing, const struct whatif_change *change)
{
    const struct whatif_model *model = changing->model;
    bool found = false;

    for (size_t i = 0; i < model->request_count; i++) {
        const struct whatif_request *request = &model->requests[i];
        for (uint32_t k = 0; k < request->op_count; k++) {
            struct whatif_op *op = &changing->ops[request->first_op + k];
            if (!is_connecting(op) || !changing->is_one[op->of] ||
                !enters_other(changing, request, k))
                continue;
            op->time = 0;
            found = true;
        }
    }
    return found ? 0
                 : nothing(changing, "no request waited while %s connected to that process",
                           change->name);
}

/* Whether the op takes a message from one of the two to the other, or wakes its receiver. */
static bool is_of_trip(const struct whatif_op *op)
{
    return op->kind == ELAPSED_IN_FLIGHT || (op->type == OP_NO_CPU);
}

/* The trips of `name` to `to` in one request: all but the first lose what the way takes. */
static bool merge_trips(struct changing *changing, const struct whatif_request *request)
{
    unsigned trips = 0;
    bool found = false;

    for (uint32_t k = 0; k < request->op_count; k++) {
        struct whatif_op *op = &changing->ops[request->first_op + k];
        bool is_there = op->type != OP_ENTER && op->type != OP_LEAVE && is_of_trip(op);
        if (is_there && op->kind == ELAPSED_IN_FLIGHT && changing->is_other[op->of])
            trips++;
        if (!is_there || trips < 2 || (!changing->is_other[op->of] && !changing->is_one[op->of]))
            continue;
        op->time = 0;
        found = true;
    }
    return found;
}

static int change_trips(struct changing *changing, const struct whatif_change *change)
{
    bool found = false;

    for (size_t i = 0; i < changing->model->request_count; i++)
        found = merge_trips(changing, &changing->model->requests[i]) || found;
    return found ? 0
                 : nothing(changing,
                           "no request had two questions of %s to that process, one after the "
                           "other",
                           change->name);
}

static int apply(struct changing *changing, const struct whatif_change *change)
{
    for (size_t i = 0; i < changing->model->party_count; i++) {
        const struct whatif_party *party = &changing->model->parties[i];
        changing->is_one[i] = change->name != NULL && is_named(party, change->name);
        changing->is_other[i] = change->to != NULL && is_named(party, change->to);
    }
    switch (change->kind) {
    case WHATIF_REPLICAS:
        return change_replicas(changing, change);
    case WHATIF_WAIT:
        return change_wait(changing, change);
    case WHATIF_SPEED:
        return change_speed(changing, change);
    case WHATIF_NO_HOLDBACK:
        return change_holdback(changing);
    case WHATIF_KEEP:
        return change_connections(changing, change);
    case WHATIF_MERGE:
        return change_trips(changing, change);
    }
    return 0;
}

/* ---- as recorded ---- */

void whatif_ranks(uint64_t *latencies, size_t count, struct whatif_figures *figures)
{
    if (count == 0)
        return;
    qsort(latencies, count, sizeof(*latencies), by_time);
    figures->median = latencies[(count - 1) / 2];
    figures->p99 = latencies[(count * 99 + 99) / 100 - 1];
}

/* Returns the mean latency, ns. */
static double describe_recorded(const struct whatif_model *model, uint64_t *latencies,
                                struct whatif_figures *figures)
{
    uint64_t first = model->requests[0].begin, last = first;
    double all = 0;

    for (size_t i = 0; i < model->request_count; i++) {
        latencies[i] = model->requests[i].end - model->requests[i].begin;
        all += (double)latencies[i];
        last = model->requests[i].end > last ? model->requests[i].end : last;
    }
    *figures = (struct whatif_figures){.requests = model->request_count};
    figures->per_second =
        last > first ? (double)model->request_count * 1e9 / (double)(last - first) : 0;
    whatif_ranks(latencies, model->request_count, figures);
    return all / (double)model->request_count;
}

static double mean_of(const uint64_t *latencies, size_t count)
{
    double all = 0;

    for (size_t i = 0; i < count; i++)
        all += (double)latencies[i];
    return all / (double)count;
}

#define HALVINGS 7

/* Chooses one of the run's two parts between 0 and 1, so that the mean latency comes out as recorded. */
static int choose(struct whatif_run *run, double *part, uint64_t *latencies, double recorded,
                  struct whatif_figures *base)
{
    double low = 0, high = 1;
    int result = 0;

    for (int i = 0; i < HALVINGS && result == 0; i++) {
        *part = (low + high) / 2;
        result = whatif_simulate(run, latencies, base);
        double mean = mean_of(latencies, run->model->request_count);
        if (fabs(mean / recorded - 1) < 0.005)
            break;
        if (mean > recorded)
            high = *part;
        else
            low = *part;
    }
    return result;
}

#define SHORT 0.1

/* If requests take too long in the model, some of the time without a CPU was their own doing, which the simulation makes anew.
 * If they are more than a tenth too short, a part of the time in queues was due to work for no request. (Less is left as it is: time
 * in queues that stays hides what more workers would gain.) */
static int calibrate(struct whatif_run *run, uint64_t *latencies, double recorded,
                     struct whatif_figures *base)
{
    run->no_cpu = 1;
    run->queued = 0;
    int result = whatif_simulate(run, latencies, base);
    double mean = result == 0 ? mean_of(latencies, run->model->request_count) : recorded;

    if (mean > recorded * 1.005)
        result = choose(run, &run->no_cpu, latencies, recorded, base);
    else if (mean < recorded * (1 - SHORT))
        result = choose(run, &run->queued, latencies, recorded, base);
    if (result == 0)
        whatif_ranks(latencies, run->model->request_count, base);
    return result;
}

/* ---- the answer ---- */

static double off_by(double a, double b)
{
    return a > 0 && b > 0 ? fabs(a / b - 1) : 0;
}

static void scale(struct whatif_answer *answer)
{
    const struct whatif_figures *recorded = &answer->recorded, *base = &answer->base;
    struct whatif_figures *then = &answer->then;
    double median = off_by((double)base->median, (double)recorded->median);
    double rate = off_by(base->per_second, recorded->per_second);

    answer->off = median > rate ? median : rate;
    if (base->median > 0)
        then->median =
            (uint64_t)((double)then->median * (double)recorded->median / (double)base->median);
    if (base->p99 > 0)
        then->p99 = (uint64_t)((double)then->p99 * (double)recorded->p99 / (double)base->p99);
    if (base->per_second > 0)
        then->per_second *= recorded->per_second / base->per_second;
}

/* ns of all requests in which they had no CPU, beside time in queues. */
static double no_cpu_of(const struct whatif_model *model)
{
    double all = 0;

    for (size_t i = 0; i < model->op_count; i++)
        all += model->ops[i].type == OP_NO_CPU ? (double)model->ops[i].time : 0;
    return all;
}

static int ask(struct changing *changing, struct whatif_run *run, uint64_t *latencies,
               const struct whatif_change *changes, size_t count)
{
    const struct whatif_model *model = run->model;
    struct whatif_answer *answer = changing->answer;
    double mean = describe_recorded(model, latencies, &answer->recorded);
    int result = calibrate(run, latencies, mean, &answer->base);

    answer->kept = run->queued;
    answer->no_cpu = run->no_cpu * no_cpu_of(model) / (mean * (double)model->request_count);

    for (size_t i = 0; i < count && result == 0; i++)
        result = apply(changing, &changes[i]);
    run->ops = changing->ops;
    run->workers = changing->workers;
    if (result == 0)
        result = whatif_simulate(run, latencies, &answer->then);
    if (result == 0)
        whatif_ranks(latencies, model->request_count, &answer->then);
    if (result == 0)
        scale(answer);
    return result;
}

int whatif_ask(const struct whatif_model *model, const struct whatif_change *changes, size_t count,
               uint32_t cpus, struct whatif_answer *ret_answer, struct problem *problem)
{
    uint64_t *latencies = calloc(model->request_count + 1, sizeof(*latencies));
    uint32_t *before = calloc(model->pool_count + 1, sizeof(*before));
    struct changing changing = {
        .model = model,
        .ops = calloc(model->op_count + 1, sizeof(*changing.ops)),
        .workers = calloc(model->pool_count + 1, sizeof(*changing.workers)),
        .is_one = calloc(model->party_count + 1, sizeof(*changing.is_one)),
        .is_other = calloc(model->party_count + 1, sizeof(*changing.is_other)),
        .problem = problem,
        .answer = ret_answer,
    };
    int result = latencies == NULL || before == NULL || changing.ops == NULL ||
                         changing.workers == NULL || changing.is_one == NULL ||
                         changing.is_other == NULL
                     ? -ENOMEM
                     : 0;

    *ret_answer = (struct whatif_answer){.left_out = model->left_out};
    if (result == 0 && model->request_count == 0)
        result = problem_set(problem, -EINVAL, "no request with an answer is in this recording");
    if (result == 0) {
        memcpy(changing.ops, model->ops, model->op_count * sizeof(*changing.ops));
        for (size_t i = 0; i < model->pool_count; i++)
            changing.workers[i] = before[i] = model->pools[i].workers;
        struct whatif_run run = {
            .model = model, .ops = model->ops, .workers = before, .cpus = cpus == 0 ? 1 : cpus};
        result = ask(&changing, &run, latencies, changes, count);
    }
    if (result == -EDEADLK)
        result = problem_set(problem, -EINVAL,
                             "workers wait for each other: requests come back to a pool that has "
                             "too few of them");
    if (result == -ENOMEM)
        problem_set(problem, -ENOMEM, "out of memory");
    free(latencies);
    free(before);
    free(changing.ops);
    free(changing.workers);
    free(changing.is_one);
    free(changing.is_other);
    return result;
}
