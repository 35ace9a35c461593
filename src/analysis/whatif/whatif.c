/* SPDX-License-Identifier: MIT */
/* whatif.c: chooses what the model of a recording leaves open, and asks the simulation. See whatif.h. */
#include "analysis/whatif/whatif_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- as recorded ---- */

int whatif_by_time(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return (a > b) - (a < b);
}

#define ENOUGH 20 /* requests */

double whatif_rate(uint64_t *ends, size_t count, size_t clients)
{
    size_t first = count < ENOUGH ? 0 : count / 10, last = count - 1 - first;

    if (count < 2 || count < 2 * clients)
        return 0;
    qsort(ends, count, sizeof(*ends), whatif_by_time);
    return ends[last] > ends[first]
               ? (double)(last - first) * 1e9 / (double)(ends[last] - ends[first])
               : 0;
}

void whatif_ranks(uint64_t *latencies, size_t count, struct whatif_figures *figures)
{
    if (count == 0)
        return;
    qsort(latencies, count, sizeof(*latencies), whatif_by_time);
    figures->median = latencies[(count - 1) / 2];
    figures->p99 = latencies[(count * 99 + 99) / 100 - 1];
}

static void describe_recorded(const struct whatif_model *model, uint64_t *latencies,
                              struct whatif_figures *figures)
{
    double all = 0;

    *figures = (struct whatif_figures){.requests = model->request_count};
    for (size_t i = 0; i < model->request_count; i++)
        latencies[i] = model->requests[i].end;
    figures->per_second = whatif_rate(latencies, model->request_count, model->slot_count);
    for (size_t i = 0; i < model->request_count; i++) {
        latencies[i] = model->requests[i].end - model->requests[i].begin;
        all += (double)latencies[i];
    }
    whatif_ranks(latencies, model->request_count, figures);
    figures->mean = all / (double)model->request_count;
}

#define HALVINGS 7

/* Chooses one of the run's two parts between 0 and 1, so that the mean latency comes out as recorded. */
static int choose(struct whatif_simulated *run, double *part, uint64_t *latencies, double recorded,
                  struct whatif_figures *base)
{
    double low = 0, high = 1;
    int result = 0;

    for (int i = 0; i < HALVINGS && result == 0; i++) {
        *part = (low + high) / 2;
        result = whatif_simulate(run, latencies, base);
        if (fabs(base->mean / recorded - 1) < 0.005)
            break;
        if (base->mean > recorded)
            high = *part;
        else
            low = *part;
    }
    return result;
}

#define SHORT 0.1

/* Whether most of the time that was recorded in queues is time in queues of the simulation. */
static bool makes_queues(const struct whatif_model *model, const struct whatif_figures *base)
{
    double recorded = 0;

    for (size_t i = 0; i < model->op_count; i++)
        recorded += model->ops[i].type == OP_QUEUED ? (double)model->ops[i].time : 0;
    return base->waiting * base->mean * (double)base->requests * 2 > recorded;
}

/* If requests take too long in the model, some of the time without a CPU was their own doing, which the simulation makes anew.
 * If they are more than a tenth too short, and hardly wait for workers, the time in queues was due to work for no request. (Where
 * they do wait for them, time in queues that stayed would only take the place of this, and hide what more workers gain.) */
static int calibrate(struct whatif_simulated *run, uint64_t *latencies, double recorded,
                     struct whatif_figures *base)
{
    run->no_cpu = 1;
    run->queued = 0;
    int result = whatif_simulate(run, latencies, base);
    double mean = result == 0 ? base->mean : recorded;

    if (mean > recorded * 1.005)
        result = choose(run, &run->no_cpu, latencies, recorded, base);
    else if (mean < recorded * (1 - SHORT) && !makes_queues(run->model, base))
        result = choose(run, &run->queued, latencies, recorded, base);
    if (result == 0)
        whatif_ranks(latencies, run->model->request_count, base);
    return result;
}

/* ---- what changes predict ---- */

static double off_by(double a, double b)
{
    return a > 0 && b > 0 ? fabs(a / b - 1) : a > 0 || b > 0;
}

/* Answers state the median and the rate. */
static double off_of(const struct whatif_figures *recorded, const struct whatif_figures *base)
{
    double median = off_by((double)base->median, (double)recorded->median);

    return fmax(median, off_by(base->per_second, recorded->per_second));
}

void whatif_scale(const struct whatif_answer *answer, struct whatif_figures *then)
{
    const struct whatif_figures *recorded = &answer->recorded, *base = &answer->base;

    if (base->median > 0)
        then->median =
            (uint64_t)((double)then->median * (double)recorded->median / (double)base->median);
    if (base->p99 > 0)
        then->p99 = (uint64_t)((double)then->p99 * (double)recorded->p99 / (double)base->p99);
    if (base->per_second > 0)
        then->per_second *= recorded->per_second / base->per_second;
    if (base->mean > 0)
        then->mean *= recorded->mean / base->mean;
}

/* Part of the recorded time of the requests in which they have no CPU in these ops, beside time in queues, and not by their own
 * doing. */
static double no_cpu_of(const struct whatif_asking *asking, const struct whatif_op *ops)
{
    const struct whatif_model *model = asking->model;
    double all = 0;

    for (size_t i = 0; i < model->op_count; i++)
        all += ops[i].type == OP_NO_CPU ? (double)ops[i].time : 0;
    return asking->run.no_cpu * all / (asking->answer.recorded.mean * (double)model->request_count);
}

/* The same of all that was recorded, also while a request was in a queue: its worker may have had no CPU. */
static double lacked_of(const struct whatif_asking *asking)
{
    const struct whatif_model *model = asking->model;
    double all = 0;

    for (size_t i = 0; i < model->step_count; i++)
        all += model->steps[i].kind == ELAPSED_NO_CPU ? (double)model->steps[i].time : 0;
    return all / (asking->answer.recorded.mean * (double)model->request_count);
}

/* ---- asking ---- */

#define ENOUGH_CPUS 1000000u

static bool allocate(struct whatif_asking *asking)
{
    const struct whatif_model *model = asking->model;
    struct whatif_changed *changed = &asking->changed;

    asking->latencies = calloc(model->request_count + 1, sizeof(*asking->latencies));
    asking->workers = calloc(model->pool_count + 1, sizeof(*asking->workers));
    *changed = (struct whatif_changed){
        .model = model,
        .ops = calloc(model->op_count + 1, sizeof(*changed->ops)),
        .workers = calloc(model->pool_count + 1, sizeof(*changed->workers)),
        .machines = calloc(model->party_count + 1, sizeof(*changed->machines)),
        .is_one = calloc(model->party_count + 1, sizeof(*changed->is_one)),
        .is_other = calloc(model->party_count + 1, sizeof(*changed->is_other)),
    };
    return asking->latencies != NULL && asking->workers != NULL && changed->ops != NULL &&
           changed->workers != NULL && changed->machines != NULL && changed->is_one != NULL &&
           changed->is_other != NULL;
}

void whatif_asking_end(struct whatif_asking *asking)
{
    free(asking->latencies);
    free(asking->workers);
    free(asking->changed.ops);
    free(asking->changed.workers);
    free(asking->changed.machines);
    free(asking->changed.is_one);
    free(asking->changed.is_other);
}

static int explain(int result, struct problem *problem)
{
    if (result == -EDEADLK)
        return problem_set(problem, -EINVAL,
                           "workers wait for each other: requests come back to a pool that has "
                           "too few of them");
    return result == -ENOMEM ? problem_set(problem, -ENOMEM, "out of memory") : result;
}

int whatif_asking_begin(struct whatif_asking *asking, const struct whatif_model *model,
                        uint32_t cpus, struct problem *problem)
{
    *asking = (struct whatif_asking){.model = model,
                                     .answer = {.left_out = model->left_out,
                                                .early = model->early,
                                                .early_stay = model->early_stay}};
    if (model->request_count == 0)
        return problem_set(problem, -EINVAL, "no request with an answer is in this recording");
    if (!allocate(asking))
        return problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; i < model->pool_count; i++)
        asking->workers[i] = model->pools[i].workers;
    asking->run = (struct whatif_simulated){.model = model,
                                            .ops = model->ops,
                                            .workers = asking->workers,
                                            .cpus = cpus == 0 ? ENOUGH_CPUS : cpus};

    struct whatif_answer *answer = &asking->answer;
    describe_recorded(model, asking->latencies, &answer->recorded);
    if (answer->recorded.mean <= 0)
        return problem_set(problem, -EINVAL, "the requests of this recording took no time");
    int result = calibrate(&asking->run, asking->latencies, answer->recorded.mean, &answer->base);
    answer->off = off_of(&answer->recorded, &answer->base);
    answer->kept = asking->run.queued;
    answer->no_cpu = no_cpu_of(asking, model->ops);
    answer->lacked = lacked_of(asking);
    return explain(result, problem);
}

static bool has_calls(const struct whatif_change *change)
{
    return change->kind == WHATIF_KEEP || change->kind == WHATIF_MERGE ||
           (change->kind == WHATIF_WAIT && change->wait != ELAPSED_NO_CPU && change->amount == 0);
}

static bool sends_together(const struct whatif_change *change)
{
    return change->kind == WHATIF_MERGE && change->amount > 1;
}

static void begin_changes(struct whatif_asking *asking, bool calls_go, struct problem *problem)
{
    const struct whatif_model *model = asking->model;
    struct whatif_changed *changed = &asking->changed;

    memcpy(changed->ops, model->ops, model->op_count * sizeof(*changed->ops));
    memcpy(changed->workers, asking->workers, model->pool_count * sizeof(*changed->workers));
    for (size_t i = 0; i < model->party_count; i++)
        changed->machines[i] = model->parties[i].origin;
    changed->placed = 0;
    changed->pool = changed->pools = 0;
    changed->calls_go = calls_go;
    changed->problem = problem;
}

struct whatif_how whatif_as_found(const struct whatif_asking *asking)
{
    return (struct whatif_how){.no_cpu = asking->run.no_cpu, .queued = asking->run.queued};
}

int whatif_asking_simulate(struct whatif_asking *asking, const struct whatif_change *changes,
                           size_t count, struct whatif_how how, struct whatif_figures *ret_figures,
                           struct problem *problem)
{
    struct whatif_changed *changed = &asking->changed;
    struct whatif_simulated run = asking->run;
    int result = 0;

    begin_changes(asking, how.calls_go, problem);
    for (size_t i = 0; i < count && result == 0; i++)
        result = whatif_apply(changed, &changes[i]);
    run.ops = changed->ops;
    run.workers = changed->workers;
    run.machines = changed->machines;
    run.placed = changed->placed;
    run.no_cpu = how.no_cpu;
    run.queued = how.queued;
    if (result == 0)
        result = whatif_simulate(&run, asking->latencies, ret_figures);
    return explain(result, problem);
}

static int simulate_scaled(struct whatif_asking *asking, const struct whatif_change *changes,
                           size_t count, struct whatif_how how, struct whatif_figures *ret_figures,
                           struct problem *problem)
{
    int result = whatif_asking_simulate(asking, changes, count, how, ret_figures, problem);

    if (result < 0)
        return result;
    whatif_ranks(asking->latencies, asking->model->request_count, ret_figures);
    whatif_scale(&asking->answer, ret_figures);
    return 0;
}

#define BEYOND 1.1 /* less is what a prediction may be off */

/* What no request waits for uses CPUs, too: clients between their requests, workers after their answers. */
static double used_up_at(const struct whatif_model *model, const struct whatif_change *changes,
                         size_t count, const struct whatif_answer *answer)
{
    double most = model->used > 0 ? answer->recorded.per_second / model->used : 0;

    for (size_t i = 0; i < count; i++)
        if (changes[i].kind == WHATIF_SPEED || changes[i].kind == WHATIF_PLACE)
            return 0; /* they use less CPU time, or that of another machine */
    return answer->then.per_second > BEYOND * most ? most : 0;
}

int whatif_asking_try(struct whatif_asking *asking, const struct whatif_change *changes,
                      size_t count, struct whatif_answer *ret_answer, struct problem *problem)
{
    struct whatif_figures then;
    int result = simulate_scaled(asking, changes, count, whatif_as_found(asking), &then, problem);

    if (result < 0)
        return result;
    *ret_answer = asking->answer;
    ret_answer->then = then;
    ret_answer->no_cpu = no_cpu_of(asking, asking->changed.ops);
    ret_answer->used_up = used_up_at(asking->model, changes, count, ret_answer);
    ret_answer->pool = asking->changed.pool;
    ret_answer->pools = asking->changed.pools;
    for (size_t i = 0; i < count; i++) {
        ret_answer->calls_stay = ret_answer->calls_stay || has_calls(&changes[i]);
        ret_answer->together = ret_answer->together || sends_together(&changes[i]);
    }
    return 0;
}

/* The other end of the range. */
static int try_at_best(struct whatif_asking *asking, const struct whatif_change *changes,
                       size_t count, struct whatif_answer *answer, struct problem *problem)
{
    struct whatif_how how = whatif_as_found(asking);

    how.calls_go = true;
    return answer->calls_stay
               ? simulate_scaled(asking, changes, count, how, &answer->at_best, problem)
               : 0;
}

static void forget_latencies(struct whatif_answer *answer)
{
    struct whatif_figures *const all[] = {&answer->then, &answer->at_best, &answer->low,
                                          &answer->high};

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        all[i]->median = all[i]->p99 = 0;
}

int whatif_ask(const struct whatif_model *model, const struct whatif_change *changes, size_t count,
               uint32_t cpus, struct whatif_answer *ret_answer, struct problem *problem)
{
    struct whatif_asking asking;
    int result = whatif_asking_begin(&asking, model, cpus, problem);

    if (result == 0)
        result = whatif_asking_try(&asking, changes, count, ret_answer, problem);
    if (result == 0)
        result = try_at_best(&asking, changes, count, ret_answer, problem);
    if (result == 0)
        result = whatif_find_range(&asking, changes, count, ret_answer, problem);
    if (result == 0 && ret_answer->together)
        forget_latencies(ret_answer);
    whatif_asking_end(&asking);
    return result;
}
