/* SPDX-License-Identifier: MIT */
/*
 * whatif_range.c: how far off a prediction may be. Its ends are those of what the model assumes, each tried on its own:
 *
 *      then        |----------x-----|          what calls cost stays | goes; other programs' CPU time stays | goes ...
 *      and wider  |<            >|             by how much ten parts of the simulated requests differ from each other
 *
 * The parts are batches of successive requests, as simulations are judged by (Law and Kelton, Simulation Modeling and Analysis:
 * batch means): from their standard deviation comes the interval that holds nine tenths of further runs of the same length.
 */
#include "analysis/whatif/whatif_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- how much requests differ ---- */

#define BATCHES     10u
#define STUDENT     1.833 /* t, nine degrees of freedom: nine tenths are between -t and t */
#define SPREAD_FEW  0.5
#define SPREAD_MOST 0.9

/* Around the mean of the batches, as parts of it. */
struct spread {
    double median, mean;
};

static double spread_of(const double *values)
{
    double sum = 0, squares = 0;

    for (unsigned i = 0; i < BATCHES; i++)
        sum += values[i];
    double mean = sum / BATCHES;
    for (unsigned i = 0; i < BATCHES; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    if (mean <= 0)
        return 0;
    /* a further run differs from the true mean as much as this one does: twice the variance */
    double error = sqrt(squares / (BATCHES - 1) * 2 / BATCHES);
    return fmin(SPREAD_MOST, STUDENT * error / mean);
}

/* Of the latencies in the order of the requests. `think`: of each, for the rate. Sorts them by batches. */
static struct spread find_spread(const struct whatif_model *model, uint64_t *latencies)
{
    double medians[BATCHES], means[BATCHES];
    size_t count = model->request_count;

    if (count < WHATIF_HARDLY_ANY) /* less than four a batch */
        return (struct spread){SPREAD_FEW, SPREAD_FEW};
    for (unsigned i = 0; i < BATCHES; i++) {
        size_t from = count * i / BATCHES, to = count * (i + 1) / BATCHES;
        double sum = 0;
        for (size_t k = from; k < to; k++)
            sum += (double)latencies[k] + (double)model->requests[k].think;
        qsort(latencies + from, to - from, sizeof(*latencies), whatif_by_time);
        medians[i] = (double)latencies[from + (to - from - 1) / 2];
        means[i] = sum / (double)(to - from);
    }
    return (struct spread){.median = spread_of(medians), .mean = spread_of(means)};
}

/* The 99th percentile of a further run: ranks that are as far away as its own number of requests above it varies. Of sorted
 * latencies; beyond the last one, it is not known how far. */
static void find_tail(const uint64_t *latencies, size_t count, double *ret_low, double *ret_high)
{
    double rank = 0.99 * (double)count, off = 1.645 * sqrt(2 * 0.99 * 0.01 * (double)count);
    size_t low = (size_t)fmax(0, rank - off), high = (size_t)(rank + off);

    *ret_low = (double)latencies[low < count ? low : count - 1];
    *ret_high = (double)latencies[high < count ? high : count - 1];
}

/* ---- the ends ---- */

#define VISIBLE 0.01

/* Extends the range to these figures. */
static void include(struct whatif_answer *answer, const struct whatif_figures *figures,
                    enum whatif_why why)
{
    struct whatif_figures *low = &answer->low, *high = &answer->high;
    double median = (double)figures->median, rate = figures->per_second;

    if (median < (1 - VISIBLE) * (double)low->median ||
        median > (1 + VISIBLE) * (double)high->median || rate < (1 - VISIBLE) * low->per_second ||
        rate > (1 + VISIBLE) * high->per_second)
        answer->why |= 1u << why;
    low->median = figures->median < low->median ? figures->median : low->median;
    high->median = figures->median > high->median ? figures->median : high->median;
    low->p99 = figures->p99 < low->p99 ? figures->p99 : low->p99;
    high->p99 = figures->p99 > high->p99 ? figures->p99 : high->p99;
    low->per_second = fmin(low->per_second, rate);
    high->per_second = fmax(high->per_second, rate);
}

/* If less remains than the model is too long, that cannot be off what remains: it is as the model says. */
static uint64_t moved(uint64_t time, uint64_t from, uint64_t to)
{
    return time + to > from ? time + to - from : time;
}

/* What the model is off is scaled in `then`; it may also be gone, or stay as long as it was. */
static void include_model(struct whatif_answer *answer, const struct whatif_figures *raw)
{
    struct whatif_figures stays = *raw;

    stays.median = moved(raw->median, answer->base.median, answer->recorded.median);
    stays.p99 = moved(raw->p99, answer->base.p99, answer->recorded.p99);
    include(answer, raw, WHY_MODEL);
    include(answer, &stays, WHY_MODEL);
}

#define NEARLY_ALL 0.2 /* of the latency remains, or less */
#define WARM       0.4 /* of that, at least, as measured where caches are warm then */

static bool removes_waits(const struct whatif_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (changes[i].kind == WHATIF_WAIT || changes[i].kind == WHATIF_NO_HOLDBACK ||
            changes[i].kind == WHATIF_KEEP || changes[i].kind == WHATIF_DELAY)
            return true;
    return false;
}

/* Programs that wait for most of the time compute slowly in between: processors clock down, caches grow cold. No request is
 * answered faster than the clients then ask. */
static void include_warm(const struct whatif_asking *asking, const struct whatif_change *changes,
                         size_t count, struct whatif_answer *answer)
{
    struct whatif_figures warm = answer->low;

    if (!removes_waits(changes, count) || answer->then.mean > NEARLY_ALL * answer->recorded.mean)
        return;
    warm.median = (uint64_t)(WARM * (double)warm.median);
    warm.p99 = (uint64_t)(WARM * (double)warm.p99);
    warm.per_second = answer->high.per_second;
    if (warm.median > 0 && answer->then.per_second > 0)
        warm.per_second =
            fmax(warm.per_second, (double)asking->model->slot_count * 1e9 / (double)warm.median);
    include(answer, &warm, WHY_COLD);
}

/* Where there is no CPU time left, each client's next answer takes longer. */
static void include_load(const struct whatif_model *model, struct whatif_answer *answer)
{
    struct whatif_figures slow = answer->then;

    if (answer->used_up <= 0)
        return;
    double longer = (double)model->slot_count * (1e9 / answer->used_up - 1e9 / slow.per_second);
    slow.per_second = answer->used_up;
    slow.median += (uint64_t)longer;
    slow.p99 += (uint64_t)longer;
    include(answer, &slow, WHY_LOAD);
}

#define UNKNOWN 0.05 /* what the model does not know at all, as measured (docs/predictions.md) */

static void widen(struct whatif_answer *answer, const struct spread *spread, double tail_low,
                  double tail_high)
{
    struct whatif_figures *low = &answer->low, *high = &answer->high;
    double median = spread->median + UNKNOWN, mean = spread->mean + UNKNOWN;

    if (spread->median > UNKNOWN || spread->mean > UNKNOWN)
        answer->why |= 1u << WHY_REQUESTS;
    low->median = (uint64_t)((double)low->median * (1 - median));
    high->median = (uint64_t)((double)high->median * (1 + median));
    low->per_second *= 1 - mean;
    high->per_second *= 1 + mean;
    low->p99 = (uint64_t)(fmin((double)low->p99, tail_low) * (1 - UNKNOWN));
    high->p99 = (uint64_t)(fmax((double)high->p99, tail_high) * (1 + UNKNOWN));
}

/* ---- all of it ---- */

/* The same with one assumption changed. */
static int try_other(struct whatif_asking *asking, const struct whatif_change *changes,
                     size_t count, struct whatif_how how, struct whatif_answer *answer,
                     enum whatif_why why, struct problem *problem)
{
    struct whatif_figures other;
    int result = whatif_asking_simulate(asking, changes, count, how, &other, problem);

    if (result < 0)
        return result;
    whatif_ranks(asking->latencies, asking->model->request_count, &other);
    whatif_scale(answer, &other);
    include(answer, &other, why);
    return 0;
}

int whatif_find_range(struct whatif_asking *asking, const struct whatif_change *changes,
                      size_t count, struct whatif_answer *answer, struct problem *problem)
{
    struct whatif_how how = whatif_as_found(asking);
    size_t requests = asking->model->request_count;
    struct whatif_figures raw;
    double tail_low, tail_high;
    int result = whatif_asking_simulate(asking, changes, count, how, &raw, problem);

    if (result < 0)
        return result;
    struct spread spread = find_spread(asking->model, asking->latencies);
    whatif_ranks(asking->latencies, requests, &raw);
    find_tail(asking->latencies, requests, &tail_low, &tail_high);
    answer->low = answer->high = answer->then;
    include_model(answer, &raw);
    if (answer->calls_stay)
        include(answer, &answer->at_best, WHY_CALLS);
    how.no_cpu = 0;
    if (answer->no_cpu > VISIBLE)
        result = try_other(asking, changes, count, how, answer, WHY_NO_CPU, problem);
    how = whatif_as_found(asking);
    how.queued = 0;
    if (result == 0 && answer->kept > VISIBLE)
        result = try_other(asking, changes, count, how, answer, WHY_QUEUES, problem);
    include_load(asking->model, answer);
    include_warm(asking, changes, count, answer);
    widen(answer, &spread, tail_low, tail_high);
    answer->is_range = (answer->then.per_second > 0 &&
                        whatif_is_range(answer->then.per_second, answer->low.per_second,
                                        answer->high.per_second)) ||
                       (!answer->together &&
                        whatif_is_range((double)answer->then.median, (double)answer->low.median,
                                        (double)answer->high.median));
    return result;
}
