/* SPDX-License-Identifier: MIT */
/*
 * live_counters.c: counters under few names. See live.h.
 *
 *      rows of nginx[12], nginx[13] --sum--> "nginx", "web1" --never less--> 1,812,003 messages
 */
#include "live/live_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

const uint64_t live_bounds[LIVE_BOUNDS] = {
    MS / 10, MS / 4,   MS / 2,   MS,       5 * MS / 2, 5 * MS,    10 * MS,   25 * MS,
    50 * MS, 100 * MS, 250 * MS, 500 * MS, 1000 * MS,  2500 * MS, 5000 * MS, 10000 * MS,
};

void live_count(struct live *live, live_label *label)
{
    live->label = label;
}

const struct live_counter *live_counters(const struct live *live, enum live_counted set,
                                         size_t *ret_count)
{
    *ret_count = live->sets[set].keys.count;
    return live->sets[set].at;
}

void live_counters_done(struct live *live)
{
    for (unsigned i = 0; i < LIVE_COUNTED_SETS; i++) {
        intern_done(&live->sets[i].keys);
        free(live->sets[i].at);
        free(live->sets[i].sum);
    }
    intern_done(&live->counted_keys);
    free(live->counted);
}

static uint64_t key_of(const char *name, const char *other)
{
    return hash_bytes(hash_bytes(0, name, strlen(name) + 1), other, strlen(other));
}

/* The sum of these labels; NULL: out of memory. */
static struct live_counter *sum_of_labels(struct live_set *set, const char *name, const char *other)
{
    uint64_t key = key_of(name, other);
    uint32_t before = set->keys.count;
    int64_t index = intern_add(&set->keys, key);

    if (index < 0 || array_reserve(&set->at, &set->room, (size_t)index + 1, sizeof(*set->at)) < 0 ||
        array_reserve(&set->sum, &set->sum_room, (size_t)index + 1, sizeof(*set->sum)) < 0)
        return NULL;
    if (index == before) {
        snprintf(set->at[index].name, LIVE_NAME_SIZE, "%s", name);
        snprintf(set->at[index].other, LIVE_NAME_SIZE, "%s", other);
    }
    return &set->sum[index];
}

/* The sum of these names, which are different only if their labels are; NULL: out of memory. */
static struct live_counter *sum_of(struct live *live, enum live_counted counted, const char *name,
                                   const char *other)
{
    struct live_set *set = &live->sets[counted];
    char labels[2][LIVE_NAME_SIZE];

    live->label(name, LIVE_NAME_SIZE - 1, labels[0]);
    live->label(other, LIVE_NAME_SIZE - 1, labels[1]);
    if (set->keys.count >= LIVE_COUNTED_MOST &&
        intern_find(&set->keys, key_of(labels[0], labels[1])) < 0)
        return sum_of_labels(set, "others", other[0] == '\0' ? "" : "others");
    return sum_of_labels(set, labels[0], labels[1]);
}

/* ---- names ---- */

static void name_program(const struct communication_process *process, char name[NAME_SIZE])
{
    communication_group_name(process, BY_PROGRAM, name);
}

/* A program, or the address of a peer that is not monitored: a client's port says nothing. */
static void name_party(const struct communication *all, const struct party *party, bool is_client,
                       char name[NAME_SIZE])
{
    if (party->count > 0)
        name_program(&all->processes[party->processes[0]], name);
    else if (is_client)
        strcpy(name, "unmonitored");
    else
        snprintf(name, NAME_SIZE, "%.*s", NAME_SIZE - 1,
                 party->address == NULL ? "unmonitored" : party->address);
}

/* ---- sums ---- */

static const struct {
    enum live_table table;
    enum live_counted to;
} groups[] = {
    {LIVE_PROGRAMS, LIVE_COUNTED_PROGRAMS},
    {LIVE_CONTAINERS, LIVE_COUNTED_CONTAINERS},
    {LIVE_MACHINES, LIVE_COUNTED_MACHINES},
};

/* What groups have at this moment. */
static int add_rows(struct live *live, enum live_table table, enum live_counted to)
{
    for (size_t i = 0; i < live->all[table].count; i++) {
        const struct live_row *row = &live->all[table].at[i];
        char name[NAME_SIZE], machine[NAME_SIZE] = "";
        live_group_names(live, table, live->all[table].sources[i], name,
                         table == LIVE_MACHINES ? NULL : machine);
        struct live_counter *sum = sum_of(live, to, name, machine);
        if (sum == NULL)
            return -ENOMEM;
        sum->unknown |= row->unknown;
        for (unsigned value = 0; value < LIVE_WAITS; value++)
            if (live_value_kind(value)->is_moment)
                sum->so_far[value] += row->so_far[value];
    }
    return 0;
}

/* The counter of the group of a process, to be added to: what it has stays there when the process executes another program. NULL: out
 * of memory. */
static struct live_counter *counter_of(struct live *live, enum live_table table,
                                       enum live_counted to, uint32_t process)
{
    struct live_set *set = &live->sets[to];
    char name[NAME_SIZE], machine[NAME_SIZE] = "";

    live_group_names(live, table, process, name, table == LIVE_MACHINES ? NULL : machine);
    struct live_counter *sum = sum_of(live, to, name, machine);
    return sum == NULL ? NULL : &set->at[sum - set->sum];
}

/* What the row of a process has got since it was counted. Returns 0: nothing; 1; or -ENOMEM. */
static int take_new(struct live *live, const struct live_row *row, struct live_counted_row *new)
{
    int64_t index = intern_add(&live->counted_keys, row->key);
    int any = 0;

    if (index < 0 || array_reserve(&live->counted, &live->counted_room, (size_t)index + 1,
                                   sizeof(*live->counted)) < 0)
        return -ENOMEM;
    struct live_counted_row *counted = &live->counted[index];
    for (unsigned value = 0; value < LIVE_WAITS; value++) {
        uint64_t now = live_value_kind(value)->is_moment ? 0 : row->so_far[value];
        new->so_far[value] = now > counted->so_far[value] ? now - counted->so_far[value] : 0;
        counted->so_far[value] += new->so_far[value];
        any |= new->so_far[value] > 0;
    }
    return any;
}

static int add_processes(struct live *live)
{
    const struct live_all *all = &live->all[LIVE_PROCESSES];

    for (uint32_t i = 0; i < all->count; i++) {
        struct live_counted_row new;
        int any = take_new(live, &all->at[i], &new);
        if (any < 0)
            return any;
        for (unsigned g = 0; any && g < ARRAY_SIZE(groups); g++) {
            struct live_counter *counter = counter_of(live, groups[g].table, groups[g].to, i);
            if (counter == NULL)
                return -ENOMEM;
            for (unsigned value = 0; value < LIVE_WAITS; value++)
                counter->so_far[value] += new.so_far[value];
        }
    }
    return 0;
}

/* What rows have of waits so far becomes less: a wait for any of several files is one for an event until it ends. */
static int add_waits(struct live *live)
{
    for (uint32_t i = 0; i < live->waits.processes.used; i++) {
        uint32_t row;
        int error;
        if (live_waits_at(live, i, &row, &error) == NULL || row >= live->now->process_count) {
            if (error < 0)
                return error;
            continue;
        }
        struct live_process *process = pool_at(&live->waits.processes, i);
        struct live_counter *counter = counter_of(live, LIVE_PROGRAMS, LIVE_COUNTED_PROGRAMS, row);
        if (counter == NULL)
            return -ENOMEM;
        for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++) {
            counter->so_far[LIVE_WAITS + kind] += process->told[kind] - process->counted[kind];
            process->counted[kind] = process->told[kind];
        }
    }
    return 0;
}

static int add_pairs(struct live *live)
{
    for (size_t i = 0; i < live->now->pair_count; i++) {
        const struct communication_pair *pair = &live->now->pairs[i];
        char from[NAME_SIZE], to[NAME_SIZE];
        name_party(live->now, &pair->from, true, from);
        name_party(live->now, &pair->to, true, to);
        struct live_counter *sum = sum_of(live, LIVE_COUNTED_PAIRS, from, to);
        if (sum == NULL)
            return -ENOMEM;
        sum->unknown |= live_unknown(live->now, false);
        sum->so_far[LIVE_SENT] += pair->sent.messages;
        sum->so_far[LIVE_SENT_BYTES] += pair->sent.bytes;
        sum->so_far[LIVE_RECEIVER_WAIT] += histogram_sum(&pair->times.of[TIME_RECEIVER_WAIT]);
        sum->so_far[LIVE_QUEUE_DELAY] += histogram_sum(&pair->times.of[TIME_MESSAGE_WAIT]);
        sum->so_far[LIVE_SEND_BLOCKED] += histogram_sum(&pair->times.of[TIME_SENDER_BLOCKED]);
    }
    return 0;
}

static void add_times(struct live_times *sum, const struct histogram *times)
{
    sum->count += histogram_count(times);
    sum->sum += histogram_sum(times);
    for (unsigned bar = 0; bar < histogram_bars(times); bar++) {
        struct histogram_bar values = histogram_bar(times, bar);
        for (unsigned i = 0; i < LIVE_BOUNDS; i++)
            if (values.to <= live_bounds[i])
                sum->up_to[i] += values.count;
    }
}

/* An answer that may go on becomes longer: it would have to leave a bucket for a later one. `last`: none goes on. */
static int add_ended_times(struct live_times *sum, const struct histogram *times,
                           const struct histogram *open, bool last)
{
    struct histogram ended = {0};
    int result = histogram_merge(&ended, times, HISTOGRAM_MOST);

    if (result == 0 && !last)
        histogram_subtract(&ended, open);
    if (result == 0)
        add_times(sum, &ended);
    histogram_done(&ended);
    return result;
}

static bool has_answered(const struct communication *all, const struct party *party)
{
    for (uint32_t i = 0; i < party->count; i++) {
        const struct communication_process *process = &all->processes[party->processes[i]];
        if (histogram_count(&process->times.of[TIME_RESPONSE_WHOLE]) > 0)
            return true;
    }
    return false;
}

/* The end that serves: the one that has accepted the connection. Of UDP no record says which end that would be: it is the one
 * whose processes answer. */
static int serving_end(const struct communication *all, const struct communication_path *path)
{
    return histogram_count(&path->times.of[TIME_RESPONSE_WHOLE]) > 0 &&
                   !has_answered(all, &path->ends[1])
               ? 0
               : 1;
}

static int add_calls(struct live *live, bool last)
{
    for (size_t i = 0; i < live->now->path_count; i++) {
        const struct communication_path *path = &live->now->paths[i];
        const struct histogram *of = path->times.of;
        char client[NAME_SIZE], server[NAME_SIZE];
        int serves = serving_end(live->now, path);
        if (histogram_count(&of[TIME_RESPONSE_WHOLE]) + histogram_count(&of[TIME_REQUEST_WHOLE]) +
                path->asked.unanswered ==
            0)
            continue;
        name_party(live->now, &path->ends[1 - serves], true, client);
        name_party(live->now, &path->ends[serves], false, server);
        struct live_counter *sum = sum_of(live, LIVE_COUNTED_CALLS, client, server);
        if (sum == NULL)
            return -ENOMEM;
        if (add_ended_times(&sum->served, &of[TIME_RESPONSE_WHOLE], &path->open_responses, last) <
                0 ||
            add_ended_times(&sum->asked, &of[TIME_REQUEST_WHOLE], &path->open_requests, last) < 0)
            return -ENOMEM;
        sum->so_far[LIVE_REQUESTS] += histogram_count(&of[TIME_RESPONSE_WHOLE]);
        sum->so_far[LIVE_ASKED] += histogram_count(&of[TIME_REQUEST_WHOLE]);
        sum->so_far[LIVE_UNANSWERED] += path->asked.unanswered;
    }
    return 0;
}

static void raise(uint64_t *value, uint64_t to)
{
    if (to > *value)
        *value = to;
}

static void raise_times(struct live_times *times, const struct live_times *to)
{
    raise(&times->count, to->count);
    raise(&times->sum, to->sum);
    for (unsigned i = 0; i < LIVE_BOUNDS; i++)
        raise(&times->up_to[i], to->up_to[i]);
}

static void raise_counter(struct live_counter *counter, const struct live_counter *sum)
{
    counter->unknown = sum->unknown;
    for (unsigned i = 0; i < LIVE_VALUES; i++)
        if (live_value_kind(i)->is_moment)
            counter->so_far[i] = sum->so_far[i];
        else
            raise(&counter->so_far[i], sum->so_far[i]);
    raise_times(&counter->served, &sum->served);
    raise_times(&counter->asked, &sum->asked);
}

int live_counters_make(struct live *live, bool last)
{
    for (unsigned i = 0; i < LIVE_COUNTED_SETS; i++)
        if (live->sets[i].sum != NULL)
            memset(live->sets[i].sum, 0, live->sets[i].keys.count * sizeof(*live->sets[i].sum));
    for (unsigned g = 0; g < ARRAY_SIZE(groups); g++)
        if (add_rows(live, groups[g].table, groups[g].to) < 0)
            return -ENOMEM;
    if (add_processes(live) < 0 || add_waits(live) < 0 || add_pairs(live) < 0 ||
        add_calls(live, last) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < LIVE_COUNTED_SETS; i++)
        for (uint32_t k = 0; k < live->sets[i].keys.count; k++)
            raise_counter(&live->sets[i].at[k], &live->sets[i].sum[k]);
    return 0;
}
