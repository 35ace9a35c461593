/* SPDX-License-Identifier: MIT */
/*
 * change_findings.c: the change that would make requests fastest, as the model of them predicts it. See findings.h and
 * whatif.h.
 *
 * It is said only if the model comes out as recorded, and only for what a setting or a small change can do: workers,
 * connections, questions, waits for the disk. Twice the speed is not among them.
 */
#include "analysis/findings/findings_private.h"

#include <errno.h>

#define OFF_MOST   0.1 /* of the model */
#define GAIN_LEAST 0.1

/* The sentence states the median, so a gain of the slowest requests alone does not count. */
static double gain_of(const struct whatif_trial *trial)
{
    const struct whatif_figures *now = &trial->answer.recorded, *then = &trial->answer.then;
    double median = now->median == 0 ? 0 : 1 - (double)then->median / (double)now->median;
    double mean = whatif_gain(trial);

    return median < mean ? median : mean;
}

#define NO_CPU_MOST 0.3 /* of the requests' latency */

/* How many times as many requests are answered each second. If that is not known, clients do not think between them. */
static double growth_of(const struct whatif_answer *answer)
{
    double recorded = answer->recorded.per_second, then = answer->then.per_second;

    return recorded > 0 && then > 0 ? then / recorded : answer->recorded.mean / answer->then.mean;
}

/* The model knows no CPU limit: its requests get the CPU time of more workers. Where no limit was recorded, long waits for a CPU
 * may have one as their reason. */
static bool may_be_limited(const struct findings_from *from, const struct whatif_trial *trial)
{
    double growth = growth_of(&trial->answer);

    for (uint32_t i = 0; i < from->communication->process_count; i++) {
        const struct communication_process *process = &from->communication->processes[i];
        if (process_is_named(trial->change.name, process->pid, process->name, process->command) &&
            findings_process_limited(from->communication, process, growth))
            return true;
    }
    return trial->answer.lacked > NO_CPU_MOST;
}

/* It has to be a single pool, whose threads had one request at a time, and did not wait for each other. If it is not known how many
 * CPUs there are, any number of workers would compute at once. */
static bool gain_by_more(const struct findings_from *from, const struct whatif_trial *trial)
{
    return from->changes->cpus != 0 && trial->answer.pools == 1 && trial->in_turn &&
           !trial->share_lock && !may_be_limited(from, trial);
}

/* Waits come last: they are in the account already, and seldom end altogether. Only those for the disk are chosen by settings; one for a
 * lock has to do with what its holder does, which may have no CPU. */
static unsigned rank_of(const struct findings_from *from, const struct whatif_trial *trial,
                        const struct findings *findings)
{
    if (trial->answer.used_up > 0)
        return 0; /* the CPUs may not have as much */
    switch (trial->change.kind) {
    case WHATIF_REPLICAS:
        return gain_by_more(from, trial) ? 2 : 0;
    case WHATIF_KEEP: /* where SYNs were resent, connecting took long because of the listener's queue */
        return findings_have(findings, FINDING_RESENT) ? 0 : 2;
    case WHATIF_MERGE:
        return 2;
    case WHATIF_NO_HOLDBACK:
        return findings_have(findings, FINDING_NAGLE) ? 2 : 0;
    case WHATIF_WAIT:
        return trial->change.wait == ELAPSED_DISK ? 1 : 0;
    case WHATIF_BUFFER:
    case WHATIF_SPEED:
    case WHATIF_DELAY:
    case WHATIF_PLACE:
        break;
    }
    return 0;
}

/* The part of the account's time in which requests were in progress. */
static double share_of_requests(const struct findings_from *from)
{
    const struct whatif_found *changes = from->changes;
    const struct whatif_figures *recorded = &changes->now.recorded;

    if (!from->elapsed->from_start || recorded->requests == 0)
        return 1;
    double all = (double)(recorded->requests + changes->now.left_out) / (double)recorded->requests;
    double share = (double)changes->covered * all / (double)from->elapsed->run.time;
    return share > 1 ? 1 : share;
}

/* A pool of connections: each is a worker of the back end. */
static const struct causality_pool *pool_of(const struct whatif_trial *trial,
                                            const struct findings *findings)
{
    const struct causality_pool *pool = NULL;

    for (size_t i = 0; trial->change.kind == WHATIF_REPLICAS && i < findings->count; i++) {
        if (findings->list[i].kind != FINDING_POOL)
            continue;
        if (pool != NULL || findings->list[i].pool->connections != trial->from)
            return NULL;
        pool = findings->list[i].pool;
    }
    return pool;
}

int findings_of_changes(const struct findings_from *from, struct findings *findings)
{
    const struct whatif_found *changes = from->changes;
    const struct whatif_trial *best = NULL;
    unsigned best_rank = 0;

    if (changes == NULL || !findings_account_matters(from) || changes->now.off > OFF_MOST ||
        changes->now.early_stay)
        return 0;
    double share = share_of_requests(from);
    for (size_t i = 0; i < changes->count; i++) {
        const struct whatif_trial *trial = &changes->trials[i];
        unsigned rank = rank_of(from, trial, findings);
        if (rank > best_rank && gain_of(trial) * share >= GAIN_LEAST) {
            best = trial;
            best_rank = rank;
        }
    }
    if (best == NULL)
        return 0;
    struct finding *finding = findings_add(findings, FINDING_CHANGE, gain_of(best) * share);
    if (finding == NULL)
        return -ENOMEM;
    finding->change.trial = best;
    finding->change.pool = pool_of(best, findings);
    return 0;
}
