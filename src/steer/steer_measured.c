/* SPDX-License-Identifier: MIT */
/* steer_measured.c: the interval of a snapshot, by the groups of a policy. See steer.h. */
#include "base/process.h"
#include "steer/steer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_GROUP UINT32_MAX

static int by_pid(const void *key, const void *member)
{
    const pid_t *pid = key;
    const struct steer_member *at = member;

    return *pid < at->pid ? -1 : *pid > at->pid;
}

static uint32_t group_of_pid(const struct steer_members *members, uint32_t pid)
{
    const pid_t key = (pid_t)pid;
    const struct steer_member *found =
        members->count == 0 || pid == 0
            ? NULL
            : bsearch(&key, members->at, members->count, sizeof(*members->at), by_pid);

    return found == NULL ? NO_GROUP : found->group;
}

/* "web1" of "web1", and of "web1 (2)". */
static bool is_on(const char *machine, const char *name)
{
    size_t length = strlen(machine);

    return strncmp(machine, name, length) == 0 && (name[length] == '\0' || name[length] == ' ');
}

/* The first group that has the process of a session. */
static uint32_t group_of_name(const struct steer_policy *policy, const struct communication *all,
                              const struct communication_process *process)
{
    for (uint32_t i = 0; i < policy->group_count; i++)
        for (size_t j = 0; j < policy->groups[i].word_count; j++) {
            const struct steer_word *word = &policy->groups[i].words[j];
            if (process_is_named(word->text, process->pid, process->name, process->command) &&
                (word->machine == NULL ||
                 is_on(word->machine, all->machines[process->machine].name)))
                return i;
        }
    return NO_GROUP;
}

static uint32_t group_of(const struct steer_members *members, const struct live_snapshot *snapshot,
                         uint32_t index)
{
    const struct communication *all = snapshot->communication;

    if (all == NULL || index >= all->process_count)
        return NO_GROUP;
    return members->policy == NULL ? group_of_pid(members, all->processes[index].pid)
                                   : group_of_name(members->policy, all, &all->processes[index]);
}

/* A row has quantiles of one of both: of what it answers, or else of its own requests. */
static void add_quantiles(struct steer_figures *sum, const uint64_t *in)
{
    if (in[LIVE_REQUESTS] > 0) {
        sum->median += (double)in[LIVE_REQUESTS] * (double)in[LIVE_MEDIAN];
        sum->p99 += (double)in[LIVE_REQUESTS] * (double)in[LIVE_P99];
    } else {
        sum->asked_median += (double)in[LIVE_ASKED] * (double)in[LIVE_MEDIAN];
        sum->asked_p99 += (double)in[LIVE_ASKED] * (double)in[LIVE_P99];
    }
}

static void add_process(struct steer_figures *sum, const struct live_row *row)
{
    const uint64_t *in = row->interval;

    sum->processes += row->ended ? 0 : 1;
    sum->threads += (double)row->so_far[LIVE_THREADS];
    sum->cpu += (double)live_row_value(row, LIVE_CPU, false);
    sum->no_cpu += (double)in[LIVE_WAITS + ELAPSED_NO_CPU];
    sum->requests += (double)in[LIVE_REQUESTS];
    sum->request_time += (double)in[LIVE_REQUEST_TIME];
    sum->asked += (double)in[LIVE_ASKED];
    sum->asked_time += (double)in[LIVE_ASKED_TIME];
    sum->received += (double)in[LIVE_RECEIVED];
    sum->waits_for_messages +=
        (double)(in[LIVE_WAITS + ELAPSED_IN_FLIGHT] + in[LIVE_WAITS + ELAPSED_OUTSIDE]);
    sum->queue_delay += (double)in[LIVE_QUEUE_DELAY];
    add_quantiles(sum, in);
}

/* Of a session: of all machines, if that is known of each. */
static void add_machines(const struct live_snapshot *snapshot, struct steer_slice *slice)
{
    for (size_t i = 0; i < snapshot->machine_count; i++) {
        const struct live_machine *machine = &snapshot->machines[i];
        if (machine->cpus == 0 || machine->cpu == NOT_KNOWN || machine->elapsed == 0) {
            slice->cpus = slice->busy = 0;
            return;
        }
        slice->cpus += (double)machine->cpus;
        slice->busy += (double)machine->cpu / (double)machine->elapsed;
    }
}

static void add_ages(const struct steer_members *members, struct steer_slice *slice)
{
    for (size_t i = 0; i < members->count; i++) {
        const struct steer_member *member = &members->at[i];
        struct steer_ages *ages = &slice->ages[member->group];
        if (ages->count == 0 || member->start < ages->oldest)
            ages->oldest = member->start;
        if (member->start > ages->youngest)
            ages->youngest = member->start;
        ages->count++;
    }
    /* one that does nothing makes no record */
    for (size_t i = 0; members->policy == NULL && i < STEER_GROUPS_MOST; i++)
        slice->groups[i].processes = (double)slice->ages[i].count;
}

void steer_slice_make(const struct live_snapshot *snapshot, const struct steer_members *members,
                      struct steer_slice *ret_slice)
{
    const struct live_rows *processes = &snapshot->tables[LIVE_PROCESSES],
                           *pairs = &snapshot->tables[LIVE_PAIRS];

    /* what has not come yet comes later, with its time */
    *ret_slice = (struct steer_slice){.length = snapshot->stands ? 0 : (double)snapshot->length,
                                      .real = (double)snapshot->real,
                                      .lost = (double)snapshot->new_lost};
    if (members->policy != NULL)
        add_machines(snapshot, ret_slice);
    for (size_t i = 0; i < processes->count; i++) {
        uint32_t group = group_of(members, snapshot, processes->at[i].process[0]);
        if (group != NO_GROUP)
            add_process(&ret_slice->groups[group], &processes->at[i]);
    }
    add_ages(members, ret_slice);
    for (size_t i = 0; i < pairs->count; i++) {
        const struct live_row *row = &pairs->at[i];
        uint32_t from = group_of(members, snapshot, row->process[0]),
                 to = group_of(members, snapshot, row->process[1]);
        if (to == NO_GROUP)
            continue;
        ret_slice->groups[to].blocked += (double)row->interval[LIVE_SEND_BLOCKED];
        if (from == NO_GROUP)
            continue;
        struct steer_talk *talk = &ret_slice->talk[from][to];
        talk->messages += (double)row->interval[LIVE_SENT];
        talk->time += (double)row->interval[LIVE_DELIVERY];
    }
}

double steer_value(enum steer_measure measure, const struct steer_figures *group, double length)
{
    bool answers = group->requests > 0;
    double requests = answers ? group->requests : group->asked;
    double time = answers ? group->request_time : group->asked_time;

    switch (measure) {
    case STEER_REQUESTS:
        return length > 0 ? requests / length * 1e9 : NAN;
    case STEER_RECEIVED:
        return length > 0 ? group->received / length * 1e9 : NAN;
    case STEER_LATENCY_P50:
        time = answers ? group->median : group->asked_median;
        break;
    case STEER_LATENCY_P99:
        time = answers ? group->p99 : group->asked_p99;
        break;
    default:
        break;
    }
    return requests > 0 && time > 0 ? time / requests : NAN;
}

double steer_goal(const struct steer_policy *policy, const struct steer_slice *slice)
{
    return steer_value(policy->measure, &slice->groups[policy->goal], slice->length);
}

/* ---- memory ---- */

static bool looks_at_memory(const struct steer_policy *policy)
{
    for (size_t i = 0; i < policy->rule_count; i++)
        if (policy->rules[i].figure == STEER_MEMORY || policy->rules[i].figure == STEER_PAGING)
            return true;
    return false;
}

void steer_slice_add_memory(const struct steer_policy *policy, struct steer_members *members,
                            struct steer_slice *slice)
{
    if (!looks_at_memory(policy))
        return;
    for (size_t i = 0; i < members->count; i++) {
        struct steer_member *member = &members->at[i];
        struct steer_figures *group = &slice->groups[member->group];
        uint64_t faults = process_stat_number(member->pid, PROCESS_MAJOR_FAULTS);
        group->memory += (double)process_stat_number(member->pid, PROCESS_RESIDENT) *
                         (double)sysconf(_SC_PAGESIZE);
        if (member->faults != NOT_KNOWN && faults > member->faults)
            group->major_faults += (double)(faults - member->faults);
        member->faults = faults;
    }
}
