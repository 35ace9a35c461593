/* SPDX-License-Identifier: MIT */
/*
 * machine_findings.c: where the machine was short of something: processors, a cgroup's share of them, memory, disks. See
 * findings.h.
 *
 * Nothing is found on a quiet machine, nor in traces without SUMMARY, CGROUP and SCHEDULE records.
 */
#include "analysis/findings/findings_private.h"

#include <errno.h>
#include <string.h>

/* A share means little if it is of a few clock ticks or samples. */
#define ELAPSED_LEAST 500000000u /* ns */

/* Whether this part of a time matters. */
static bool matters(uint64_t time, uint64_t elapsed)
{
    return time != NOT_KNOWN && elapsed != NOT_KNOWN && elapsed > 0 &&
           findings_share(time, elapsed) >= FINDING_SMALL_LOAD;
}

/* ---- waits for a CPU ---- */

static bool is_throttled(const struct communication_cgroup *cgroup)
{
    return matters(cgroup->throttled, cgroup->elapsed) &&
           matters(cgroup->throttled_periods, cgroup->periods);
}

bool findings_throttled(const struct communication *communication, uint32_t machine)
{
    for (size_t i = 0; i < communication->cgroup_count; i++)
        if (communication->cgroups[i].machine == machine &&
            is_throttled(&communication->cgroups[i]))
            return true;
    return false;
}

/* Whether the cgroup with this path is below another one. All are below "/", which a container sees as the root. */
static bool is_below(const char *path, const char *above)
{
    if (path == NULL || above == NULL || above[0] != '/' || strcmp(path, above) == 0)
        return false;
    size_t size = above[1] == '\0' ? 0 : strlen(above);
    return strncmp(path, above, size) == 0 && path[size] == '/';
}

static bool is_in(const struct communication_process *process,
                  const struct communication_cgroup *cgroup)
{
    if (process->machine != cgroup->machine || process->cgroup == 0)
        return false;
    return process->cgroup == cgroup->number || is_below(process->cgroup_name, cgroup->name);
}

/* No record says which processes are in a cgroup of v1. */
static bool may_be_in(const struct communication_process *process,
                      const struct communication_cgroup *cgroup)
{
    return process->cgroup == 0 || process->cgroup_name == NULL ||
           (cgroup->number & CGROUP_OF_V1) != 0 || is_in(process, cgroup);
}

bool findings_may_be_throttled(const struct communication *communication,
                               const struct communication_process *process)
{
    for (size_t i = 0; i < communication->cgroup_count; i++) {
        const struct communication_cgroup *cgroup = &communication->cgroups[i];
        if (cgroup->machine == process->machine && is_throttled(cgroup) &&
            may_be_in(process, cgroup))
            return true;
    }
    return false;
}

/* One worker that is never throttled may use all of a limit of one CPU. */
static bool would_exceed(const struct communication_cgroup *cgroup, double growth)
{
    return cgroup->cpu_limit != 0 && cgroup->cpu_limit != NOT_KNOWN && cgroup->cpu != NOT_KNOWN &&
           (double)cgroup->cpu * growth > (double)cgroup->cpu_limit;
}

bool findings_process_limited(const struct communication *communication,
                              const struct communication_process *process, double growth)
{
    for (size_t i = 0; i < communication->cgroup_count; i++) {
        const struct communication_cgroup *cgroup = &communication->cgroups[i];
        if (is_in(process, cgroup) && (is_throttled(cgroup) || would_exceed(cgroup, growth)))
            return true;
    }
    return false;
}

/* The process that waited longest, of those that waited less than `before`, which is 0 or another one. */
static const struct communication_process *next_longest(const struct communication *communication,
                                                        const struct communication_process *before)
{
    const struct communication_process *longest = NULL;

    for (size_t i = 0; i < communication->process_count; i++) {
        const struct communication_process *row = &communication->processes[i];
        uint64_t time = row->scheduled.runnable;
        bool left = before == NULL || time < before->scheduled.runnable ||
                    (time == before->scheduled.runnable && row > before);
        if (left && (longest == NULL || time > longest->scheduled.runnable))
            longest = row;
    }
    return longest;
}

static int find_cpu_waits(const struct findings_from *from, struct findings *findings)
{
    const struct communication *communication = from->communication;
    const struct elapsed_account *account = findings_account(from->elapsed);
    const struct communication_process *row = NULL;

    for (int found = 0; found < FINDINGS_FEW; found++) {
        row = next_longest(communication, row);
        if (row == NULL || communication->duration < ELAPSED_LEAST ||
            !matters(row->scheduled.runnable, communication->duration))
            return 0;
        struct finding *finding =
            findings_add(findings, FINDING_CPU_WAIT,
                         findings_share(row->scheduled.runnable, communication->duration));
        if (finding == NULL)
            return -ENOMEM;
        finding->cpu_wait.process = (uint32_t)(row - communication->processes);
        finding->cpu_wait.first = found == 0;
        finding->cpu_wait.throttled = findings_may_be_throttled(communication, row);
        finding->cpu_wait.is_accounted = findings_account_matters(from);
        if (account != NULL)
            finding->cpu_wait.saves =
                findings_share(account->by_kind[ELAPSED_NO_CPU], account->time);
    }
    return 0;
}

/* ---- cgroups ---- */

static int add_cgroup(const struct communication_cgroup *cgroup, enum finding_kind kind,
                      double weight, struct findings *findings)
{
    struct finding *finding = findings_add(findings, kind, weight);

    if (finding == NULL)
        return -ENOMEM;
    finding->cgroup = cgroup;
    return 0;
}

static uint64_t throttled_of(const struct communication_cgroup *cgroup)
{
    return is_throttled(cgroup) ? cgroup->throttled : 0;
}

static uint64_t kills_of(const struct communication_cgroup *cgroup)
{
    return cgroup->oom_kills == NOT_KNOWN ? 0 : cgroup->oom_kills;
}

/* The cgroup with most, of those with less than `before`, which is 0 or another one. */
static const struct communication_cgroup *
next_most(const struct communication *communication, const struct communication_cgroup *before,
          uint64_t (*figure)(const struct communication_cgroup *cgroup))
{
    const struct communication_cgroup *most = NULL;

    for (size_t i = 0; i < communication->cgroup_count; i++) {
        const struct communication_cgroup *row = &communication->cgroups[i];
        bool left = before == NULL || figure(row) < figure(before) ||
                    (figure(row) == figure(before) && row > before);
        if (left && figure(row) > 0 && (most == NULL || figure(row) > figure(most)))
            most = row;
    }
    return most;
}

static int find_cgroups(const struct communication *communication, enum finding_kind kind,
                        uint64_t (*figure)(const struct communication_cgroup *cgroup),
                        struct findings *findings)
{
    const struct communication_cgroup *row = NULL;
    int result = 0;

    for (int found = 0; result == 0 && found < FINDINGS_FEW; found++) {
        row = next_most(communication, row, figure);
        if (row == NULL)
            break;
        result = add_cgroup(
            row, kind, kind == FINDING_THROTTLED ? findings_share(row->throttled, row->elapsed) : 0,
            findings);
    }
    return result;
}

/* Processes count for the cgroup that they are in, limits for all below them. */
const struct communication_cgroup *findings_reached_above(const struct communication *communication,
                                                          const struct communication_cgroup *cgroup)
{
    const struct communication_cgroup *nearest = NULL;

    for (size_t i = 0; i < communication->cgroup_count; i++) {
        const struct communication_cgroup *above = &communication->cgroups[i];
        bool reached = above->memory_most != 0 && above->memory_most != NOT_KNOWN &&
                       above->memory_reclaims != 0 && above->memory_reclaims != NOT_KNOWN;
        if (reached && above->machine == cgroup->machine && is_below(cgroup->name, above->name) &&
            (nearest == NULL || strlen(above->name) > strlen(nearest->name)))
            nearest = above;
    }
    return nearest;
}

/* ---- machines ---- */

static int add_load(uint32_t machine, enum finding_kind kind, uint64_t time, uint64_t elapsed,
                    struct findings *findings)
{
    double weight = time == NOT_KNOWN ? 0 : findings_share(time, elapsed);
    struct finding *finding = findings_add(findings, kind, weight);

    if (finding == NULL)
        return -ENOMEM;
    finding->load.machine = machine;
    finding->load.time = time;
    finding->load.elapsed = elapsed;
    return 0;
}

/* Pages that were swapped out long ago and are read now and then do not matter; more than a 64th of the memory does. */
static bool swaps(const struct machine_load *load)
{
    uint64_t in = load->swapped_in, out = load->swapped_out;

    return in != NOT_KNOWN && out != NOT_KNOWN && load->memory != NOT_KNOWN && in + out > 0 &&
           in + out >= load->memory / 64;
}

/* Faster disks help no program that does not wait for them, however much others do. */
static bool waits_for_disk(const struct findings_from *from)
{
    const struct elapsed_account *account = findings_account(from->elapsed);

    return !findings_account_matters(from) /* not known */ ||
           account->by_kind[ELAPSED_DISK] >= account->time / 100;
}

static int find_loads(const struct findings_from *from, uint32_t machine, struct findings *findings)
{
    const struct machine_load *load = &from->communication->machines[machine].load;
    int result = 0;

    if (load->elapsed < ELAPSED_LEAST)
        return 0;
    if (matters(load->cpu_stolen, load->cpu_all))
        result = add_load(machine, FINDING_STOLEN, load->cpu_stolen, load->cpu_all, findings);
    if (result == 0 && (matters(load->memory_waited, load->elapsed) || swaps(load)))
        result = add_load(machine, FINDING_MEMORY_PRESSURE, load->memory_waited, load->elapsed,
                          findings);
    if (result == 0 && matters(load->disk_waited, load->elapsed) && waits_for_disk(from))
        result =
            add_load(machine, FINDING_DISK_PRESSURE, load->disk_waited, load->elapsed, findings);
    return result;
}

/* The latest acts that were tried. */
static int find_steered(const struct communication *communication, struct findings *findings)
{
    size_t at = communication->decision_count;
    unsigned left = FINDINGS_FEW;

    while (at > 0 && left > 0) {
        const struct decision_record *decision = &communication->decisions[--at].record;
        left -= decision->outcome == DECISION_KEPT || decision->outcome == DECISION_UNDONE;
    }
    for (; at < communication->decision_count; at++) {
        const struct decision_record *decision = &communication->decisions[at].record;
        if (decision->outcome != DECISION_KEPT && decision->outcome != DECISION_UNDONE)
            continue;
        struct finding *finding = findings_add(findings, FINDING_STEERED, 0);
        if (finding == NULL)
            return -ENOMEM;
        finding->decision = decision;
    }
    return 0;
}

int findings_of_machines(const struct findings_from *from, struct findings *findings)
{
    const struct communication *communication = from->communication;
    int result = find_cpu_waits(from, findings);

    if (result == 0)
        result = find_cgroups(communication, FINDING_THROTTLED, throttled_of, findings);
    for (uint32_t i = 0; result == 0 && i < communication->machine_count; i++)
        result = find_loads(from, i, findings);
    if (result == 0)
        result = find_steered(communication, findings);
    return result == 0 ? find_cgroups(communication, FINDING_OOM, kills_of, findings) : result;
}
