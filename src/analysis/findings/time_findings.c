/* SPDX-License-Identifier: MIT */
/*
 * time_findings.c: parallelism, what the critical path consists of, and waits that no message explains. See findings.h.
 */
#include "analysis/findings/findings_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Events without which the program history lacks arcs, or explanations of waits. */
#define TELL_OF_ARCS                                                                               \
    (METER_EVENT_FLAGS & ~(EVENT_FLAG(EVENT_MESSAGEQUEUED) | EVENT_FLAG(EVENT_CREATEPATH) |        \
                           EVENT_FLAG(EVENT_DESTROYPATH)))

#define UNEVEN     0.5 /* load balance */
#define MANY_WAITS 5   /* a fifth of the critical path */

/* ---- parallelism ---- */

static enum factor_verdict verdict_of(double factor, uint32_t streams,
                                      const struct critical_path *path)
{
    if (path != NULL && path->outside > path->longest / 2)
        return FACTOR_PATH_WAITS;
    if (factor < 1.1)
        return FACTOR_IN_TURN;
    if (factor < 1.5)
        return FACTOR_HARDLY_PARALLEL;
    return factor > 0.8 * streams ? FACTOR_NEARLY_ALL : FACTOR_ON_AVERAGE;
}

/* t_max of step max, with a machine for each stream. */
static uint64_t longest_of(const struct findings_from *from)
{
    return from->path != NULL                 ? from->path->longest
           : from->parallelism->row_count > 0 ? from->parallelism->rows[0].longest
                                              : 0;
}

/* Events that were not metered leave no arcs, so the critical path is too short. */
static int find_missing(const struct communication *communication, struct findings *findings)
{
    uint64_t flags = communication->flags_left_out & TELL_OF_ARCS;
    uint32_t kinds = communication->kinds_left_out;

    if (flags == 0 && kinds == 0)
        return 0;
    struct finding *finding = findings_add(findings, FINDING_ARCS_MISSING, 0);
    if (finding == NULL)
        return -ENOMEM;
    finding->missing.flags = flags;
    finding->missing.kinds = kinds;
    return 0;
}

static int find_balance(const struct parallelism *parallelism, struct findings *findings)
{
    struct parallelism_efficiency efficiency;

    parallelism_efficiency(parallelism, 0, &efficiency);
    if (efficiency.load_balance >= UNEVEN)
        return 0;
    struct finding *finding = findings_add(findings, FINDING_UNEVEN_LOAD, 0);
    if (finding == NULL)
        return -ENOMEM;
    finding->load_balance = efficiency.load_balance;
    return 0;
}

static int find_factor(const struct findings_from *from, struct findings *findings)
{
    const struct parallelism *of = from->parallelism;
    const struct parallelism_row row = {.longest = longest_of(from)};

    if (row.longest == 0 || of->total == 0)
        return 0;
    struct finding *finding =
        findings_add(findings, of->streams < 2 ? FINDING_ONE_STREAM : FINDING_FACTOR, 1);
    if (finding == NULL)
        return -ENOMEM;
    if (of->streams < 2)
        return 0;
    double factor = parallelism_factor(of, &row);
    finding->factor.factor = factor;
    finding->factor.streams = of->streams;
    finding->factor.total = of->total;
    finding->factor.longest = row.longest;
    finding->factor.verdict = verdict_of(factor, of->streams, from->path);
    int result = find_missing(from->communication, findings);
    return result < 0 ? result : find_balance(of, findings);
}

/* ---- the critical path ---- */

/* CPU time on the path of all processes with the name of this one. */
static uint64_t cpu_of_name(const struct critical_path *path, uint32_t process, size_t *ret_count)
{
    const struct parallelism_process *processes = path->parallelism->processes;
    uint64_t cpu = 0;

    *ret_count = 0;
    for (size_t i = 0; i < path->parallelism->process_count; i++)
        if (strcmp(processes[i].name, processes[process].name) == 0) {
            cpu += path->processes[i].cpu;
            ++*ret_count;
        }
    return cpu;
}

static int add_critical(const struct critical_path *path, const struct what_if *what_if,
                        struct findings *findings)
{
    uint64_t less = path->longest - what_if->longest;
    struct finding *finding =
        findings_add(findings, FINDING_CRITICAL, findings_share(less, path->longest));

    if (finding == NULL)
        return -ENOMEM;
    finding->critical.process = what_if->process;
    finding->critical.cpu = cpu_of_name(path, what_if->process, &finding->critical.count);
    finding->critical.longest = path->longest;
    finding->critical.less = less;
    return 0;
}

static int by_longest(const void *left, const void *right)
{
    const struct what_if *a = left, *b = right;

    return a->longest < b->longest ? -1 : a->longest > b->longest;
}

static bool shortens(const struct critical_path *path, const struct what_if *what_if)
{
    return what_if->speed == 2 && what_if->longest < path->longest &&
           (double)(path->longest - what_if->longest) > FINDING_SMALL * (double)path->longest;
}

static int find_critical(const struct critical_path *path, struct findings *findings)
{
    struct what_if *what_ifs = calloc(path->what_if_count + 1, sizeof(*what_ifs));
    int result = what_ifs == NULL ? -ENOMEM : 0, found = 0;

    if (what_ifs != NULL && path->what_if_count > 0) {
        memcpy(what_ifs, path->what_ifs, path->what_if_count * sizeof(*what_ifs));
        qsort(what_ifs, path->what_if_count, sizeof(*what_ifs), by_longest);
    }
    for (size_t i = 0; result == 0 && i < path->what_if_count && found < FINDINGS_FEW; i++)
        if (shortens(path, &what_ifs[i])) {
            result = add_critical(path, &what_ifs[i], findings);
            found++;
        }
    free(what_ifs);
    return result;
}

static int find_path_waits(const struct critical_path *path, struct findings *findings)
{
    if (path->outside == 0 || path->outside * MANY_WAITS < path->longest)
        return 0;
    struct finding *finding =
        findings_add(findings, FINDING_PATH_WAITS, findings_share(path->outside, path->longest));
    if (finding == NULL)
        return -ENOMEM;
    finding->path_waits.time = path->outside;
    finding->path_waits.longest = path->longest;
    return 0;
}

int findings_of_time(const struct findings_from *from, struct findings *findings)
{
    int result = from->parallelism == NULL ? 0 : find_factor(from, findings);

    if (result == 0 && from->path != NULL)
        result = find_critical(from->path, findings);
    if (result == 0 && from->path != NULL)
        result = find_path_waits(from->path, findings);
    return result;
}

/* ---- waits that no message explains ---- */

static int add_waits(const struct findings_from *from, const struct waits *waits,
                     enum finding_kind kind, struct findings *findings)
{
    double weight = findings_share(waits->covered, from->communication->duration);

    if ((double)waits->covered <= FINDING_SMALL * (double)from->communication->duration)
        return 0;
    struct finding *finding = findings_add(findings, kind, weight);
    if (finding == NULL)
        return -ENOMEM;
    finding->waits = *waits;
    if (waits->covered > from->communication->duration) /* it began before the recording */
        finding->waits.covered = from->communication->duration;
    return 0;
}

int findings_of_waits(const struct findings_from *from, struct findings *findings)
{
    const struct parallelism *of = from->parallelism;

    if (of == NULL)
        return 0;
    int result = add_waits(from, &of->outside, FINDING_WAITS_OUTSIDE, findings);
    if (result == 0)
        result = add_waits(from, &of->asleep, FINDING_WAITS_UNEXPLAINED, findings);
    if (result == 0)
        result = add_waits(from, &of->locks, FINDING_WAITS_LOCKS, findings);
    return result;
}
