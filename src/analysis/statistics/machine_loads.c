/* SPDX-License-Identifier: MIT */
/* machine_loads.c: what machines and cgroups did. See machine_loads.h. */
#include "analysis/statistics/machine_loads.h"

#include "analysis/statistics/machines.h"
#include "analysis/statistics/statistics_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- values that may not be known ---- */

/* Some of the kernel's counters go back a little, idle time for one. */
static uint64_t between(uint64_t first, uint64_t last)
{
    if (first == NOT_KNOWN || last == NOT_KNOWN)
        return NOT_KNOWN;
    return last > first ? last - first : 0;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a == NOT_KNOWN || b == NOT_KNOWN || a >= NOT_KNOWN - b ? NOT_KNOWN : a + b;
}

/* 0 if it is not known. */
static uint64_t or_nothing(uint64_t value)
{
    return value == NOT_KNOWN ? 0 : value;
}

/* ---- machines ---- */

void machine_load_note(struct origin_load *load, const struct summary_record *summary)
{
    if (!load->known) {
        load->first = *summary;
        load->memory_available_least = NOT_KNOWN;
    }
    load->known = true;
    load->last = *summary;
    load->memory_available_least = /* NOT_KNOWN is the largest */
        smaller_of(load->memory_available_least, summary->memory_available);
    if (summary->runnable == NOT_KNOWN)
        return;
    uint64_t others =
        summary->runnable > 0 ? summary->runnable - 1 : 0; /* the recorder runs, too */
    load->runnable_sum += others;
    load->runnable_count++;
    if (others > load->runnable_max)
        load->runnable_max = others;
}

/* The loads of all recordings of a machine as one. */
static void merge(struct origin_load *sum, const struct origin_load *more)
{
    if (!more->known)
        return;
    if (!sum->known) {
        *sum = *more;
        return;
    }
    if (more->first.header.time < sum->first.header.time)
        sum->first = more->first;
    if (more->last.header.time > sum->last.header.time)
        sum->last = more->last;
    sum->runnable_sum += more->runnable_sum;
    sum->runnable_count += more->runnable_count;
    if (more->runnable_max > sum->runnable_max)
        sum->runnable_max = more->runnable_max;
    sum->memory_available_least =
        smaller_of(sum->memory_available_least, more->memory_available_least);
}

#define BETWEEN(member) between(load->first.member, load->last.member)

static void fill_cpu(const struct origin_load *load, struct machine_load *result)
{
    result->cpu_user = BETWEEN(cpu_user);
    result->cpu_system = BETWEEN(cpu_system);
    result->cpu_stolen = BETWEEN(cpu_stolen);
    result->cpu_idle = BETWEEN(cpu_idle);
    if (result->cpu_idle != NOT_KNOWN)
        result->cpu_idle += or_nothing(BETWEEN(cpu_disk));
    result->cpu_all = sum_of(sum_of(result->cpu_user, result->cpu_system),
                             sum_of(result->cpu_idle, or_nothing(result->cpu_stolen)));
}

static void fill_load(const struct origin_load *load, uint32_t cpus, struct machine_load *result)
{
    *result = (struct machine_load){
        .elapsed = between(load->first.header.time, load->last.header.time),
        .cpus = cpus == 0 ? NOT_KNOWN : cpus,
        .runnable_sum = load->runnable_count == 0 ? NOT_KNOWN : load->runnable_sum,
        .runnable_count = load->runnable_count,
        .runnable_max = load->runnable_count == 0 ? NOT_KNOWN : load->runnable_max,
        .cpu_waited = BETWEEN(cpu_waited),
        .memory_waited = BETWEEN(memory_waited),
        .memory_waited_all = BETWEEN(memory_waited_all),
        .disk_waited = BETWEEN(disk_waited),
        .disk_waited_all = BETWEEN(disk_waited_all),
        .memory = load->last.memory,
        .memory_available_least = load->memory_available_least,
        .swapped_in = BETWEEN(swapped_in),
        .swapped_out = BETWEEN(swapped_out),
        .major_faults = BETWEEN(major_faults),
        .disk_reads = BETWEEN(disk_reads),
        .disk_writes = BETWEEN(disk_writes),
        .disk_read = BETWEEN(disk_read),
        .disk_written = BETWEEN(disk_written),
        .disk_busy = BETWEEN(disk_busy),
        .network_received = BETWEEN(network_received),
        .network_sent = BETWEEN(network_sent),
        .packets_received = BETWEEN(network_packets_received),
        .packets_sent = BETWEEN(network_packets_sent),
        .packets_dropped = BETWEEN(network_dropped),
        .tcp_retransmitted = BETWEEN(tcp_retransmitted),
    };
    fill_cpu(load, result);
}

static void know_nothing(struct machine_load *load)
{
    struct origin_load nothing;

    memset(&nothing, 0xff, sizeof(nothing));
    nothing.first.header.time = nothing.last.header.time = 0;
    nothing.runnable_count = 0;
    fill_load(&nothing, 0, load);
    load->elapsed = 0;
}

void machine_loads_build(const struct statistics *statistics, struct communication *result)
{
    for (uint32_t machine = 0; machine < result->machine_count; machine++) {
        struct origin_load sum = {0};
        uint32_t cpus = 0;
        for (uint32_t i = 0; i < statistics->origin_count; i++) {
            const struct machine_record *record = identities_machine(statistics->identities, i);
            if (!statistics->origins[i].seen || machine_index(statistics, i) != machine)
                continue;
            merge(&sum, &statistics->origins[i].load);
            cpus = record != NULL ? record->cpus : cpus;
        }
        if (sum.known && sum.last.header.time > sum.first.header.time)
            fill_load(&sum, cpus, &result->machines[machine].load);
        else
            know_nothing(&result->machines[machine].load);
    }
}

/* ---- cgroups ---- */

int cgroup_note(struct cgroup_states *states, uint32_t origin, const struct cgroup_record *record)
{
    const uint64_t words[2] = {origin, record->cgroup};
    uint64_t key = hash_bytes(0, words, sizeof(words));
    int64_t index = intern_find(&states->keys, key);

    if (index < 0 && states->keys.count >= MOST_CGROUPS) {
        states->left_out++;
        return 0;
    }
    bool first = index < 0;
    if (first) {
        if (array_reserve(&states->list, &states->capacity, states->keys.count + 1UL,
                          sizeof(*states->list)) < 0)
            return -ENOMEM;
        index = intern_add(&states->keys, key);
    }
    if (index < 0)
        return -ENOMEM;
    struct cgroup_state *state = &states->list[index];
    if (first)
        *state = (struct cgroup_state){origin, *record, *record, record->memory};
    state->last = *record;
    if (record->memory != NOT_KNOWN &&
        (state->memory == NOT_KNOWN || record->memory > state->memory))
        state->memory = record->memory;
    return 0;
}

void cgroup_states_done(struct cgroup_states *states)
{
    intern_done(&states->keys);
    free(states->list);
}

/* What the cgroup could use of its CPU limit in this time; NOT_KNOWN as it is. */
static uint64_t limit_within(uint64_t elapsed, uint64_t quota, uint64_t period)
{
    if (quota == NOT_KNOWN || period == NOT_KNOWN)
        return NOT_KNOWN;
    double limit = period == 0 ? 0 : (double)elapsed * ((double)quota / (double)period);
    return limit < 1e18 ? (uint64_t)limit : NOT_KNOWN;
}

static int fill_cgroup(const struct statistics *statistics, const struct cgroup_state *load,
                       struct communication *result, struct communication_cgroup *row)
{
    const char *name =
        identities_cgroup_name(statistics->identities, load->origin, load->last.cgroup);

    *row = (struct communication_cgroup){
        .machine = machine_index(statistics, load->origin),
        .number = load->last.cgroup,
        .elapsed = between(load->first.header.time, load->last.header.time),
        .cpu = BETWEEN(cpu),
        .quota = load->last.quota,
        .period = load->last.period,
        .periods = BETWEEN(periods),
        .throttled_periods = BETWEEN(throttled_periods),
        .throttled = BETWEEN(throttled),
        .memory = load->memory,
        .memory_most = load->last.memory_most,
        .memory_reclaims = BETWEEN(memory_reclaims),
        .oom_kills = BETWEEN(oom_kills),
        .cpu_waited = BETWEEN(cpu_waited),
        .memory_waited = BETWEEN(memory_waited),
        .disk_waited = BETWEEN(disk_waited),
    };
    row->cpu_limit = limit_within(row->elapsed, row->quota, row->period);
    if (name == NULL)
        return 0;
    row->name = communication_keep_text(result, name);
    return row->name == NULL ? -ENOMEM : 0;
}

int cgroups_build(const struct statistics *statistics, struct communication *result)
{
    const struct cgroup_states *states = &statistics->cgroups;
    int error = 0;

    result->cgroups_left_out = states->left_out;
    result->cgroups = calloc(states->keys.count + 1UL, sizeof(*result->cgroups));
    if (result->cgroups == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; error == 0 && i < states->keys.count; i++)
        error = fill_cgroup(statistics, &states->list[i], result,
                            &result->cgroups[result->cgroup_count++]);
    return error;
}
