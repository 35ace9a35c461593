/* SPDX-License-Identifier: MIT */
/*
 * time_findings.c: parallelism, and waits that no message explains. See findings.h; path_findings.c for the critical path.
 */
#include "analysis/findings/findings_private.h"

#include <errno.h>

/* Events without which the program history lacks arcs, or explanations of waits. */
#define TELL_OF_ARCS                                                                               \
    (METER_EVENT_FLAGS & ~(EVENT_FLAG(EVENT_MESSAGEQUEUED) | EVENT_FLAG(EVENT_CREATEPATH) |        \
                           EVENT_FLAG(EVENT_DESTROYPATH)))

#define UNEVEN   0.5 /* load balance */
#define TOGETHER 0.5 /* of the time, a thread lives on average */

/* ---- parallelism ---- */

static enum factor_verdict verdict_of(double factor, uint32_t streams,
                                      const struct critical_path *path)
{
    /* all CPU time together is less than half of the longest path, which may end elsewhere than `path` */
    if (factor < 0.5 || (path != NULL && path->outside > path->longest / 2))
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
    return from->path != NULL                 ? from->path->whole
           : from->parallelism->row_count > 0 ? from->parallelism->rows[0].longest
                                              : 0;
}

/* Events that were not metered leave no arcs, so the critical path is too short. */
static int find_missing(const struct communication *communication, struct findings *findings)
{
    uint64_t flags = communication->flags_left_out & TELL_OF_ARCS;
    uint32_t kinds = communication->kinds_left_out;
    /* the other end of a netlink socket is the kernel, and that of most others (AF_ALG, PF_KEY); memory of others is mostly read by
     * debuggers, and by MPI, whose messages are recorded apart */
    uint32_t unmetered =
        communication->unmetered &
        ~(1u << UNMETERED_NETLINK | 1u << UNMETERED_OTHER | 1u << UNMETERED_PROCESS_VM);

    if (flags == 0 && kinds == 0 && unmetered == 0)
        return 0;
    struct finding *finding = findings_add(findings, FINDING_ARCS_MISSING, 0);
    if (finding == NULL)
        return -ENOMEM;
    finding->missing.flags = flags;
    finding->missing.kinds = kinds;
    finding->missing.unmetered = unmetered;
    return 0;
}

/* Threads that do not live at the same time share no load: that of a server with one for each connection, say. */
static bool live_together(const struct parallelism *parallelism)
{
    return (double)parallelism->lived >=
           TOGETHER * parallelism->streams * (double)parallelism->duration;
}

static int find_balance(const struct parallelism *parallelism, struct findings *findings)
{
    struct parallelism_efficiency efficiency;

    parallelism_efficiency(parallelism, 0, &efficiency);
    if (efficiency.load_balance >= UNEVEN || !live_together(parallelism))
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
    const struct parallelism_row row = {.longest = longest_of(from), .total = of->total};

    if (row.longest == 0 || of->total == 0)
        return 0;
    struct finding *finding =
        findings_add(findings, of->streams < 2 ? FINDING_ONE_STREAM : FINDING_FACTOR, 0);
    if (finding == NULL)
        return -ENOMEM;
    if (of->streams < 2)
        return 0;
    double factor = parallelism_factor(&row);
    finding->factor.factor = factor;
    finding->factor.streams = of->streams;
    finding->factor.total = of->total;
    finding->factor.longest = row.longest;
    finding->factor.verdict = verdict_of(factor, of->streams, from->path);
    int result = find_missing(from->communication, findings);
    return result < 0 ? result : find_balance(of, findings);
}

int findings_of_time(const struct findings_from *from, struct findings *findings)
{
    return from->parallelism == NULL ? 0 : find_factor(from, findings);
}

/* ---- waits that no message explains ---- */

static int add_waits(const struct findings_from *from, const struct waits *waits,
                     enum finding_kind kind, struct findings *findings)
{
    double weight = findings_share(waits->covered, from->communication->duration);

    /* waits of helpers that only sleep explain nothing */
    if (kind == FINDING_WAITS_UNEXPLAINED && from->path != NULL &&
        weight > findings_share(from->path->outside, from->path->elapsed))
        weight = findings_share(from->path->outside, from->path->elapsed);
    if ((double)waits->covered <= FINDING_SMALL * (double)from->communication->duration)
        return 0;
    struct finding *finding = findings_add(findings, kind, weight);
    if (finding == NULL)
        return -ENOMEM;
    finding->waits = *waits;
    finding->aside = weight < FINDING_SMALL;
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
