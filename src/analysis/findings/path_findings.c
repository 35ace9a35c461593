/* SPDX-License-Identifier: MIT */
/*
 * path_findings.c: which processes carry the critical path, and how much less of the elapsed time the run would take if
 * they were faster. See findings.h.
 *
 *      the part of the tree of processes that carries most of the path     work.sh[7] and what it created: 95%
 *      of the processes of one name, those that are on it                  41 of 51 gzip: 62%
 *         or the one that has most of their part                           python3[12]: 76%
 */
#include "analysis/findings/findings_private.h"
#include "analysis/statistics/statistics_figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OF                                                                                    \
    0.5 /* of what the processes of one name have on the path: then that one is named alone */

/* The elapsed time of the run: until the path ends. */
static uint64_t elapsed_of(const struct findings_from *from)
{
    return from->path->elapsed > 0 ? from->path->elapsed : from->communication->duration;
}

/* Index into communication.processes; NO_PROCESS: it has no row of its own. */
static uint32_t row_of(const struct findings_from *from, uint32_t process)
{
    const struct parallelism_process *is = &from->path->parallelism->processes[process];
    const struct communication *communication = from->communication;

    for (uint32_t i = 0; i < communication->process_count; i++)
        if (communication->processes[i].origin == is->origin &&
            communication->processes[i].stream == is->number)
            return i;
    return NO_PROCESS;
}

/* The time of the account in which such a process could have run, but had no CPU: work that takes half the CPU time also
 * waits less for it. */
static uint64_t time_without_cpu(const struct findings_from *from, uint32_t process)
{
    const char *name = from->path->parallelism->processes[process].name;
    const struct elapsed_account *run = from->elapsed == NULL ? NULL : &from->elapsed->run;
    uint64_t time = 0;

    for (size_t i = 0; run != NULL && i < run->row_count; i++)
        if (run->rows[i].kind == ELAPSED_NO_CPU &&
            strncmp(run->rows[i].process, name, STREAM_NAME_SIZE) == 0)
            time += run->rows[i].time;
    return time;
}

static struct finding *add_critical(const struct findings_from *from, uint32_t process,
                                    uint64_t cpu, uint64_t longest, struct findings *findings)
{
    const struct critical_path *path = from->path;
    uint64_t less = path->longest > longest ? path->longest - longest : 0;
    struct finding *finding =
        findings_add(findings, FINDING_CRITICAL, findings_share(cpu, elapsed_of(from)));

    if (finding == NULL)
        return NULL;
    finding->critical.process = process;
    finding->critical.row = row_of(from, process);
    finding->critical.on_it = finding->critical.named = 1;
    finding->critical.cpu = finding->critical.most = cpu;
    finding->critical.longest = path->longest;
    finding->critical.less = less;
    finding->critical.elapsed = elapsed_of(from);
    finding->critical.no_cpu = time_without_cpu(from, process);
    return finding;
}

static bool matters(const struct findings_from *from, uint64_t longest)
{
    uint64_t length = from->path->longest;

    return longest < length &&
           (double)(length - longest) > FINDING_SMALL * (double)elapsed_of(from);
}

/* The part of the tree of processes that carries the path, if it is not all of it. */
static int find_carrier(const struct findings_from *from, struct findings *findings, int *ret_found)
{
    const struct critical_path *path = from->path;
    const struct critical_carrier *carrier = &path->carrier;

    if (carrier->process == NO_PARENT || !matters(from, carrier->longest) ||
        (!carrier->alone && path->parallelism->processes[carrier->process].parent == NO_PARENT))
        return 0;
    struct finding *finding =
        add_critical(from, carrier->process, carrier->cpu, carrier->longest, findings);
    if (finding == NULL)
        return -ENOMEM;
    finding->critical.tree = !carrier->alone;
    if (!carrier->alone && from->elapsed != NULL)
        finding->critical.no_cpu = from->elapsed->run.by_kind[ELAPSED_NO_CPU];
    ++*ret_found;
    return 0;
}

/* Those of the name of a process that are on the path. */
struct namesakes {
    size_t named; /* all with the name */
    size_t on_it;
    uint64_t cpu; /* ns on the path */
};

static struct namesakes namesakes_of(const struct critical_path *path, uint32_t process)
{
    const struct parallelism_process *processes = path->parallelism->processes;
    struct namesakes sum = {0};

    for (size_t i = 0; i < path->parallelism->process_count; i++)
        if (strcmp(processes[i].name, processes[process].name) == 0) {
            sum.named++;
            sum.on_it += path->processes[i].cpu > 0;
            sum.cpu += path->processes[i].cpu;
        }
    return sum;
}

static int find_named(const struct findings_from *from, size_t index, struct findings *findings,
                      int *ret_found)
{
    const struct critical_path *path = from->path;
    const struct what_if *what_if = &path->what_ifs[index];
    uint32_t process = what_if->process;
    struct namesakes all = namesakes_of(path, process);
    uint64_t most = path->processes[process].cpu;
    bool alone = (double)most >= MOST_OF * (double)all.cpu;
    uint64_t longest = alone ? path->alone[index].longest : what_if->longest;

    if (what_if->speed != 2 || !matters(from, longest) ||
        (alone && path->carrier.alone && path->carrier.process == process))
        return 0;
    struct finding *finding =
        add_critical(from, process, alone ? most : all.cpu, longest, findings);
    if (finding == NULL)
        return -ENOMEM;
    finding->critical.most = most;
    if (!alone) {
        finding->critical.on_it = all.on_it;
        finding->critical.named = all.named;
    }
    ++*ret_found;
    return 0;
}

static int find_critical(const struct findings_from *from, struct findings *findings)
{
    const struct critical_path *path = from->path;
    int found = 0, result = find_carrier(from, findings, &found);

    /* what was offered comes with most of the path first; what was asked for has no `alone` */
    for (size_t i = 0;
         path->alone != NULL && result == 0 && i < path->what_if_count && found < FINDINGS_FEW; i++)
        result = find_named(from, i, findings, &found);
    return result;
}

#define MUCH_IN_FLIGHT 0.2 /* of the elapsed time */

static int find_flights(const struct findings_from *from, struct findings *findings)
{
    double share = findings_share(from->path->in_flight, elapsed_of(from));

    if (share < MUCH_IN_FLIGHT)
        return 0;
    struct finding *finding = findings_add(findings, FINDING_PATH_FLIGHTS, share);
    if (finding == NULL)
        return -ENOMEM;
    finding->flights.time = from->path->in_flight;
    finding->flights.longest = from->path->longest;
    finding->flights.elapsed = elapsed_of(from);
    return 0;
}

/* ---- waits that have nothing to do with it ---- */

#define PART_OF_PATH 0.01

/* Whether a process has a part of the path: CPU time, or arcs that come to it. */
static bool has_part(const struct findings_from *from, uint32_t row)
{
    const struct critical_path *path = from->path;
    uint64_t arcs = 0, to_it = 0, cpu = 0;

    for (uint32_t i = 0; i < path->parallelism->process_count; i++) {
        const struct parallelism_process *is = &path->parallelism->processes[i];
        const struct communication_process *wanted = &from->communication->processes[row];
        if (is->origin != wanted->origin || is->number != wanted->stream)
            continue;
        cpu += path->processes[i].cpu;
        for (size_t k = 0; k < path->arc_count; k++)
            to_it += path->arcs[k].to == i ? path->arcs[k].count : 0;
    }
    for (size_t k = 0; k < path->arc_count; k++)
        arcs += path->arcs[k].count;
    return (double)cpu >= PART_OF_PATH * (double)path->longest ||
           (to_it > 0 && (double)to_it >= PART_OF_PATH * (double)arcs);
}

static bool have_no_part(const struct findings_from *from, const struct party *party)
{
    for (uint32_t i = 0; from->path != NULL && i < party->count; i++)
        if (has_part(from, party->processes[i]))
            return false;
    return from->path != NULL && party->count > 0;
}

/* ---- what the account of the time says already ---- */

/* Whether an ELAPSED finding, which come first, is mostly about this process and one of these kinds (1 << enum elapsed_kind). */
static bool is_accounted(const struct findings_from *from, const struct findings *findings,
                         uint32_t process, unsigned kinds)
{
    const struct communication_process *row = &from->communication->processes[process];

    for (size_t i = 0; i < findings->count && findings->list[i].kind == FINDING_ELAPSED; i++) {
        const struct elapsed_group *group = &findings->list[i].elapsed.group;
        if ((kinds >> group->largest->kind & 1) != 0 && group->leader->origin == row->origin &&
            group->leader->pid == row->pid && group->leader_time * 5 >= group->time * 3)
            return true;
    }
    return false;
}

#define ANY_KIND   ((1u << ELAPSED_KIND_COUNT) - 1)
#define COMPUTES   (1u << ELAPSED_COMPUTES)
#define HAS_NO_CPU (1u << ELAPSED_NO_CPU)

#define LITTLE_WORK 0.1 /* of the elapsed time: who did it explains nothing */

/* Messages that were in flight so long because their sender held them back: no network did. ns. */
static uint64_t time_held_back(const struct findings *findings)
{
    uint64_t time = 0;

    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].kind == FINDING_NAGLE)
            time += findings->list[i].nagle.time;
    return time;
}

/* P is added before what is said about it, and so is put aside before it, too. */
static bool factor_is_aside(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->list[i].kind == FINDING_FACTOR)
            return findings->list[i].aside;
    return false;
}

/* Whether a finding repeats in other words what the time was spent on, or has nothing to do with that. */
static bool repeats(const struct findings_from *from, const struct findings *findings,
                    const struct finding *finding)
{
    switch (finding->kind) {
    case FINDING_WAITS_UNEXPLAINED:
        return findings->list[0].kind == FINDING_ELAPSED;
    case FINDING_WORK_OF_FEW:
    case FINDING_WORK_SHARED:
        if (findings->list[0].kind == FINDING_ELAPSED &&
            findings_share(finding->work.total_cpu, from->communication->duration) < LITTLE_WORK)
            return true;
        return finding->work.who.count == 1 &&
               is_accounted(from, findings, finding->work.who.at[0], COMPUTES);
    case FINDING_LATE_SENDER:
        return finding->wait.pair->from.count == 1 &&
               is_accounted(from, findings, finding->wait.pair->from.processes[0], ANY_KIND);
    case FINDING_CPU_WAIT:
        if (finding->cpu_wait.is_accounted && finding->cpu_wait.saves < FINDING_SMALL)
            return true;                   /* nothing waited for it */
        return !finding->cpu_wait.first && /* which says what would help */
               is_accounted(from, findings, finding->cpu_wait.process, HAS_NO_CPU);
    case FINDING_PATH_FLIGHTS:
        return time_held_back(findings) >= finding->flights.time / 2;
    case FINDING_FACTOR:
        return findings->list[0].kind == FINDING_ELAPSED &&
               (finding->factor.verdict == FACTOR_PATH_WAITS ||
                finding->factor.verdict == FACTOR_IN_TURN);
    case FINDING_ARCS_MISSING: /* "P may be too high": of which P? */
    case FINDING_UNEVEN_LOAD:
        return factor_is_aside(findings);
    default:
        return false;
    }
}

void findings_put_aside(const struct findings_from *from, struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->list[i];
        if (finding->kind == FINDING_LATE_SENDER)
            finding->aside = have_no_part(from, &finding->wait.pair->to) ||
                             receiver_is_idle(from->communication, finding->wait.pair);
        else if (finding->kind == FINDING_LATE_RECEIVER)
            finding->aside = pair_is_to_itself(finding->wait.pair);
        finding->aside = finding->aside || repeats(from, findings, finding);
    }
}

/* What the requests of a service spent their time on is in their account (FINDING_ELAPSED). The path to what happened last
 * would go through an idle poll, or a client that thinks. But the requests of a program that mostly computes are little of what
 * it does. */
static bool is_of_requests(const struct findings_from *from)
{
    uint64_t half = from->communication->duration / 2;

    return from->elapsed != NULL && elapsed_is_of_requests(from->elapsed) &&
           (from->elapsed->requests.covered >= half || from->path->cpu < half);
}

int findings_of_path(const struct findings_from *from, struct findings *findings)
{
    if (from->path == NULL || is_of_requests(from))
        return 0;
    int result = find_critical(from, findings);
    if (result == 0)
        result = find_flights(from, findings);
    return result;
}
