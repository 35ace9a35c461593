/* SPDX-License-Identifier: MIT */
/*
 * steer_model.c: what an act promises, from the last window. See steer.h.
 *
 * The operational laws (Denning and Buzen, 1978; Lazowska et al., 1984): by Little's law, times added up over a window and divided by
 * its length are mean numbers. So a pool has `busy` requests in service, and `waiting` ones in its queue, of which more workers take some:
 *
 *      2 workers, busy 1.98, waiting 12.1     --8 workers--> busy min(8, 14.08): 4.0 times as many requests, as far as there are CPUs
 *
 * Where only a wait is known that would shrink, by an unknown part, `is_rough` says so: the trial decides.
 */
#include "steer/steer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ENOUGH 0.9 /* of what the most workers would give is worth no more workers */
#define LEAST                                                                                      \
    5 /* per cent of the requests that each server gets: or nothing would be known of it */
#define PART_MOST 0.9  /* of the goal's time, that is believed to be a wait */
#define FULL      0.9  /* of the CPUs busy: others have them */
#define FAIR      0.25 /* of the CPUs the groups get in any case: the scheduler is fair */
#define ROOM      1.25 /* CPUs that a set needs, for what was used */
#define QUEUED    0.1  /* of the requests' time: what a share then gains is not known well */

/* How many times as much the groups can compute with the CPUs that there are. What others use stays theirs, but for what a
 * fair scheduler gives the groups anyway: workers that mostly wait need little. */
static double cpu_limit(const struct steer_slice *window)
{
    double own = 0;

    for (size_t i = 0; i < STEER_GROUPS_MOST; i++)
        own += window->groups[i].cpu / window->length;
    if (window->cpus <= 0 || own <= 0)
        return INFINITY;
    double left = window->cpus - fmax(0, window->busy - own);
    return fmax(1, fmax(left, FAIR * window->cpus) / own);
}

/* What the goal's requests take, all together, in ns; of messages, the whole time of their receivers. */
static double time_of_goal(const struct steer_policy *policy, const struct steer_slice *window)
{
    const struct steer_figures *goal = &window->groups[policy->goal];
    double time = goal->requests > 0 ? goal->request_time : goal->asked_time;

    if (policy->measure == STEER_RECEIVED || time <= 0)
        time = fmax(1, goal->threads) * window->length;
    return time;
}

/* Times of single requests, such as those of their messages in flight, as a part of all that the goal's requests take; but of the window,
 * if that is longer, for a client that pauses, since it gets done only so much more, and for a group that answers, since its requests
 * begin when they have come. Of messages, too, which is an upper bound: several wait at once. */
static double part_of_goal(const struct steer_policy *policy, const struct steer_slice *window,
                           double time)
{
    double all = policy->measure == STEER_RECEIVED ? 0 : time_of_goal(policy, window);

    if (!steer_is_latency(policy->measure) || window->groups[policy->goal].requests > 0)
        all = fmax(all, window->length);
    return time / all;
}

/* If `part` of the goal's time became `times` as long: the gain. */
static double gain_of(double part, double times)
{
    part = fmin(part, PART_MOST);
    return 1 / (1 - part + part * times) - 1;
}

/* ---- workers ---- */

struct workers {
    double busy, waiting;
};

static struct workers look_at_pool(const struct steer_figures *group,
                                   const struct steer_slice *window, double workers)
{
    struct workers pool = {.waiting = (group->queue_delay + group->blocked) / window->length};

    if (group->requests > 0)
        pool.busy = group->request_time / window->length;
    else /* a stage of a pipeline answers nothing: it works while it does not wait for messages */
        pool.busy = fmax(group->threads, workers) - group->waits_for_messages / window->length;
    pool.busy = fmin(pool.busy, workers);
    return pool;
}

/* How many times as many requests `workers` of them would answer. */
static double times_with(const struct workers *pool, double workers, double limit)
{
    return fmin(fmin(workers, pool->busy + pool->waiting) / pool->busy, limit);
}

static bool model_workers(const struct steer_act *act, const struct steer_setting *now,
                          const struct steer_slice *window, struct steer_candidate *candidate)
{
    const struct steer_figures *group = &window->groups[act->groups[0]];
    uint32_t workers = now->numbers[0], wanted = workers + 1;
    const struct workers pool = look_at_pool(group, window, workers);
    double limit = cpu_limit(window);

    if (workers >= act->to || pool.busy <= 0)
        return false;
    double most = times_with(&pool, act->to, limit) - 1;
    while (wanted < act->to && times_with(&pool, wanted, limit) - 1 < ENOUGH * most)
        wanted++;
    candidate->to.numbers[0] = wanted;
    candidate->gain = times_with(&pool, wanted, limit) - 1;
    int length =
        snprintf(candidate->reason, sizeof(candidate->reason),
                 "%.1f of %u workers busy, %.1f messages wait", pool.busy, workers, pool.waiting);
    if (window->cpus > 0)
        snprintf(candidate->reason + length, sizeof(candidate->reason) - (size_t)length,
                 ", %.1f of %.0f CPUs busy", window->busy, window->cpus);
    return true;
}

/* ---- shares ---- */

/* Those that are `few` get LEAST, the others their part of the rest. Returns whether another one got less than LEAST. */
static bool share_out(const double *parts, size_t count, bool *few, double *ret_shares)
{
    double sum = 0, left = 100;
    bool again = false;

    for (size_t i = 0; i < count; i++) {
        sum += few[i] ? 0 : parts[i];
        left -= few[i] ? LEAST : 0;
    }
    for (size_t i = 0; i < count; i++) {
        ret_shares[i] = few[i] ? LEAST : left * parts[i] / sum;
        again |= ret_shares[i] < LEAST;
        few[i] |= ret_shares[i] < LEAST;
    }
    return again;
}

/* Whole per cent, at least LEAST each, 100 in all: 33 1/3, 33 1/3, 33 1/3 --> 34 33 33. A larger part never gets less. */
static void make_shares(const double *parts, size_t count, struct steer_setting *ret_setting)
{
    double shares[STEER_NUMBERS_MOST];
    bool few[STEER_NUMBERS_MOST] = {false};
    uint32_t given = 0;

    while (share_out(parts, count, few, shares))
        continue;
    for (size_t i = 0; i < count; i++) {
        ret_setting->numbers[i] = (uint32_t)shares[i];
        shares[i] -= ret_setting->numbers[i];
        given += ret_setting->numbers[i];
    }
    for (; given < 100; given++) { /* to that which lost most by rounding down */
        size_t most = 0;
        for (size_t i = 1; i < count; i++)
            if (shares[i] > shares[most])
                most = i;
        ret_setting->numbers[most]++;
        shares[most] = 0;
    }
}

/* A server that takes twice as long gets half as much: then as many requests are in progress at each. But how long they wait at one
 * follows from its share, and shrinks with that: so the mean counts of what they take without and with that, the geometric one. */
static bool model_shares(const struct steer_policy *policy, const struct steer_act *act,
                         const struct steer_slice *window, struct steer_candidate *candidate)
{
    double times[STEER_NUMBERS_MOST], parts[STEER_NUMBERS_MOST], sum = 0, count = 0, is = 0,
                                                                 then = 0, queued = 0;
    size_t length = 0;

    for (size_t i = 0; i < act->group_count; i++) {
        const struct steer_figures *group = &window->groups[act->groups[i]];
        double time = group->request_time + group->queue_delay;
        if (group->requests <= 0 || group->request_time <= 0)
            return false;
        times[i] = time / group->requests;
        parts[i] = group->requests / sqrt(group->request_time * time);
        sum += time;
        queued += group->queue_delay;
        count += group->requests;
        is += time;
    }
    is /= count;
    make_shares(parts, act->group_count, &candidate->to);
    for (size_t i = 0; i < act->group_count; i++)
        then += candidate->to.numbers[i] / 100.0 * times[i];
    candidate->gain = gain_of(sum / fmax(sum, time_of_goal(policy, window)), then / is);
    candidate->is_rough = queued > QUEUED * sum;
    length = (size_t)snprintf(candidate->reason, sizeof(candidate->reason), "a request takes");
    for (size_t i = 0; i < act->group_count && length < sizeof(candidate->reason); i++)
        length += (size_t)snprintf(candidate->reason + length, sizeof(candidate->reason) - length,
                                   "%s %.2f ms at %.31s", i > 0 ? "," : "", times[i] / 1e6,
                                   policy->groups[act->groups[i]].name);
    return true;
}

/* ---- weight ---- */

/* Which part of their waits for a CPU the groups may owe to others. It is not known who had the CPU each time, so the CPUs that a waiting
 * thread does not use itself count, by what others use of them. The other waits are for a CPU to wake, and for each other. */
static double due_to_others(const struct steer_slice *window, double cpu, double no_cpu)
{
    double own = cpu / window->length, threads = fmax(1, (cpu + no_cpu) / window->length);
    double others = fmax(0, window->busy - own);

    if (window->cpus <= 0)
        return 1;
    return others <= 0 ? 0 : others / fmax(others, window->cpus - own / threads);
}

/* Only waits for a CPU that others have can be saved. While one thread waits, all requests may have to. */
static bool model_weight(const struct steer_act *act, const struct steer_setting *now,
                         const struct steer_slice *window, struct steer_candidate *candidate)
{
    double no_cpu = 0, cpu = 0;

    for (size_t i = 0; i < act->group_count; i++) {
        no_cpu += window->groups[act->groups[i]].no_cpu;
        cpu += window->groups[act->groups[i]].cpu;
    }
    if (now->numbers[0] >= act->to || no_cpu <= 0)
        return false;
    double saved = no_cpu * due_to_others(window, cpu, no_cpu);
    uint32_t wanted = now->numbers[0] * 4;
    candidate->to.numbers[0] = wanted < act->to ? wanted : act->to;
    candidate->gain = fmin(gain_of(saved / window->length, 0), saved / fmax(1, cpu));
    candidate->is_rough = true;
    int length = snprintf(candidate->reason, sizeof(candidate->reason),
                          "%.2f of its threads wait for a CPU, %.2f run", no_cpu / window->length,
                          cpu / window->length);
    if (window->cpus > 0)
        snprintf(candidate->reason + length, sizeof(candidate->reason) - (size_t)length,
                 ", others use %.2f of %.0f CPUs", fmax(0, window->busy - cpu / window->length),
                 window->cpus);
    return true;
}

/* ---- CPUs ---- */

/* Messages between its groups, and within each. */
static struct steer_talk talk_of(const struct steer_act *act, const struct steer_slice *window)
{
    struct steer_talk sum = {0};

    for (size_t i = 0; i < act->group_count; i++)
        for (size_t j = 0; j < act->group_count; j++) {
            const struct steer_talk *talk = &window->talk[act->groups[i]][act->groups[j]];
            sum.messages += talk->messages;
            sum.time += talk->time;
        }
    return sum;
}

/* They have these CPUs, which are no longer enough: all that can be gained is that they run whenever they wait for one now. */
static bool model_all_cpus(const struct steer_cpus *set, double used, double no_cpu,
                           const struct steer_slice *window, struct steer_candidate *candidate)
{
    if (set->count >= used || no_cpu <= 0)
        return false;
    candidate->gain = gain_of(no_cpu / window->length, 0);
    candidate->is_rough = true;
    snprintf(candidate->reason, sizeof(candidate->reason),
             "%.2f of their threads wait for a CPU; they use %.2f of %u CPUs",
             no_cpu / window->length, used / ROOM, set->count);
    return true;
}

/* The largest set of CPUs that share a cache, if it is enough. Where all CPUs are busy, threads wait for others to give way, which
 * fewer CPUs do not change; else for a CPU that sleeps to wake. */
static bool model_cpus(const struct steer_policy *policy, const struct steer_machine *machine,
                       const struct steer_act *act, const struct steer_setting *now,
                       const struct steer_slice *window, struct steer_candidate *candidate)
{
    const struct steer_talk talk = talk_of(act, window);
    double used = 0, no_cpu = 0;

    for (size_t i = 0; i < act->group_count; i++) {
        used += window->groups[act->groups[i]].cpu;
        no_cpu += window->groups[act->groups[i]].no_cpu;
    }
    used = used / window->length * ROOM;
    if (window->busy > FULL * window->cpus)
        no_cpu = 0;
    if (now->numbers[0] != 0)
        return model_all_cpus(&machine->sets[now->numbers[0] - 1], used, no_cpu, window, candidate);
    if (talk.messages <= 0 || machine->set_count == 0 || machine->sets[0].count < used)
        return false;
    candidate->to.numbers[0] = 1; /* the largest stands first */
    candidate->gain = gain_of(part_of_goal(policy, window, talk.time + no_cpu), 0);
    candidate->is_rough = true;
    snprintf(candidate->reason, sizeof(candidate->reason),
             "%.0f messages/s, each %.1f us in flight; they use %.2f CPUs",
             talk.messages / window->length * 1e9, talk.time / talk.messages / 1e3, used / ROOM);
    return true;
}

/* ---- all ---- */

bool steer_model(const struct steer_policy *policy, const struct steer_machine *machine,
                 const struct steer_act *act, const struct steer_setting *now,
                 const struct steer_slice *window, struct steer_candidate *ret_candidate)
{
    struct steer_candidate candidate = {.to = {{0}}};
    bool any = false;

    if (window->length <= 0)
        return false;
    switch (act->kind) {
    case STEER_CPUS:
        any = model_cpus(policy, machine, act, now, window, &candidate);
        break;
    case STEER_WEIGHT:
        any = model_weight(act, now, window, &candidate);
        break;
    case STEER_WORKERS:
        any = model_workers(act, now, window, &candidate);
        break;
    case STEER_SHARES:
        any = model_shares(policy, act, window, &candidate);
        break;
    default:
        break;
    }
    if (!any || memcmp(&candidate.to, now, sizeof(candidate.to)) == 0)
        return false;
    *ret_candidate = candidate;
    return true;
}
