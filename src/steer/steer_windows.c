/* SPDX-License-Identifier: MIT */
/* steer_windows.c: slices that are measured together, and how much their goal varies by itself. See steer_private.h. */
#include "steer/steer_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_figures(struct steer_figures *sum, const struct steer_figures *more)
{
    double *to = (double *)sum;
    const double *from = (const double *)more;

    for (size_t i = 0; i < sizeof(*sum) / sizeof(double); i++)
        to[i] += from[i];
    sum->processes = more->processes;
    sum->threads = more->threads;
    sum->memory = more->memory;
}

void window_add(const struct steer_policy *policy, struct window *window,
                const struct steer_slice *slice)
{
    struct steer_slice *sum = &window->sum;
    double value = steer_goal(policy, slice);
    double length = sum->length + slice->length;

    for (size_t i = 0; i < STEER_GROUPS_MOST; i++) {
        add_figures(&sum->groups[i], &slice->groups[i]);
        for (size_t j = 0; j < STEER_GROUPS_MOST; j++) {
            sum->talk[i][j].messages += slice->talk[i][j].messages;
            sum->talk[i][j].time += slice->talk[i][j].time;
        }
    }
    sum->busy = (sum->busy * sum->length + slice->busy * slice->length) / length;
    sum->cpus = slice->cpus;
    sum->length = length;
    window->slices++;
    if (isnan(value))
        return;
    window->values++;
    window->total += value;
    window->squares += value * value;
}

double window_events(const struct steer_policy *policy, const struct window *window)
{
    const struct steer_figures *goal = &window->sum.groups[policy->goal];

    return policy->measure == STEER_RECEIVED ? goal->received
           : goal->requests > 0              ? goal->requests
                                             : goal->asked;
}

bool window_is_long(const struct steer_policy *policy, const struct window *window)
{
    return window->sum.length >= 0.95 * (double)policy->window && window->slices >= 3;
}

bool window_is_full(const struct steer_policy *policy, const struct window *window)
{
    return window_is_long(policy, window) && window->values >= 3 &&
           window_events(policy, window) >= WINDOW_EVENTS;
}

/* The squared standard error of its value, as part of the value. */
static double error_of(const struct window *window)
{
    double count = window->values, mean = window->total / count;
    double variance = (window->squares - count * mean * mean) / (count - 1);

    return variance > 0 && mean > 0 ? variance / count / (mean * mean) : 0;
}

static int by_value(const void *a, const void *b)
{
    const double *one = a, *other = b;

    return *one < *other ? -1 : *one > *other;
}

/* How windows differ in which nothing was changed, in the same unit: the lower quartile of the steps (of logarithms) from one to the
 * next, since a load that has changed is one or two large steps, and no noise. Of two, both may be that. */
static double drift_of(const struct means *means)
{
    double steps[MEANS_MOST];
    unsigned count = 0;

    for (unsigned i = 1; i < means->count; i++)
        if (means->at[i] > 0 && means->at[i - 1] > 0)
            steps[count++] = fabs(log(means->at[i] / means->at[i - 1]));
    if (count < 3)
        return 0;
    qsort(steps, count, sizeof(*steps), by_value);
    double step = steps[(count - 1) / 4];
    return 4.93 * step * step; /* of a normal distribution, it is 0.45 standard deviations */
}

/* So many standard errors are exceeded once in 40 times, as these are estimated from so many slices, too: Student's distribution, by its
 * first terms (Cornish and Fisher). A trial is looked at twice: so an act that changes nothing is kept once in 20 times at most. */
static double errors_of(const struct window *before, const struct window *after)
{
    double freedom = fmax(2, (double)before->values + after->values - 2);

    return 1.96 + 2.37 / freedom + 2.82 / (freedom * freedom);
}

/* As a gain. Errors are parts of the value, so they are those of its logarithm: 20 % more and a sixth less are as far. */
double window_noise(const struct means *means, const struct window *before,
                    const struct window *after)
{
    double drift = drift_of(means);

    return expm1(errors_of(before, after) *
                 sqrt(fmax(error_of(before), drift) + fmax(error_of(after), drift)));
}

/* What the model says of one window does not depend on how others differ: a load that has changed is acted on at once. */
double window_noise_within(const struct window *window)
{
    return expm1(errors_of(window, window) * sqrt(2 * error_of(window)));
}

void means_note(struct means *means, double value)
{
    memmove(means->at + 1, means->at, (MEANS_MOST - 1) * sizeof(*means->at));
    means->at[0] = value;
    if (means->count < MEANS_MOST)
        means->count++;
}
