/* SPDX-License-Identifier: MIT */
/*
 * live_rows.c: all rows of a snapshot, made of the statistics and the waits, and what is new in them. See live_private.h.
 *
 *      communication.processes[3] --key--> row, 1,700 messages so far --less the row before, 1,000--> 700 in the interval
 */
#include "live/live_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables ---- */

struct live_row *live_all_add(struct live_all *all, uint64_t key, uint32_t source)
{
    uint32_t before = all->keys.count;
    int64_t index = intern_add(&all->keys, key);

    if (index < 0 || array_reserve(&all->at, &all->room, (size_t)index + 1, sizeof(*all->at)) < 0 ||
        array_reserve(&all->sources, &all->source_room, (size_t)index + 1, sizeof(*all->sources)) <
            0)
        return NULL;
    if (index == before) {
        all->at[index] = (struct live_row){
            .key = key, .process = {NO_PROCESS, NO_PROCESS}, .wait = {.kind = ELAPSED_UNKNOWN}};
        all->sources[index] = source;
        all->count++;
    }
    return &all->at[index];
}

const struct live_row *live_all_find(const struct live_all *all, uint64_t key)
{
    int64_t index = intern_find(&all->keys, key);

    return index < 0 ? NULL : &all->at[index];
}

void live_all_clear(struct live_all *all)
{
    intern_done(&all->keys);
    all->keys = (struct intern){0};
    all->count = 0;
}

void live_all_done(struct live_all *all)
{
    intern_done(&all->keys);
    free(all->at);
    free(all->sources);
    *all = (struct live_all){0};
}

uint64_t live_unknown(const struct communication *all, bool queue_unknown)
{
    uint64_t unknown = 0;

    if (queue_unknown)
        unknown |= 1ull << LIVE_QUEUE | 1ull << LIVE_QUEUE_BYTES;
    if (all->cpu_unknown)
        unknown |= 1ull << LIVE_CPU | 1ull << LIVE_CPU_EARLIER;
    if (all->sizes_unknown)
        unknown |= 1ull << LIVE_SENT_BYTES | 1ull << LIVE_RECEIVED_BYTES | 1ull << LIVE_QUEUE_BYTES;
    return unknown;
}

void live_row_add(struct live_row *sum, const struct live_row *row)
{
    sum->rows += row->rows;
    sum->unknown |= row->unknown;
    for (unsigned i = 0; i < LIVE_VALUES; i++) {
        if (i == LIVE_MEDIAN || i == LIVE_P99) /* no sum */
            continue;
        sum->so_far[i] += row->so_far[i];
        sum->interval[i] += row->interval[i];
    }
}

uint64_t live_row_value(const struct live_row *row, unsigned value, bool so_far)
{
    uint64_t amount = so_far ? row->so_far[value] : row->interval[value];
    uint64_t earlier = row->interval[LIVE_CPU_EARLIER];

    if (value != LIVE_CPU || so_far)
        return amount;
    return amount > earlier ? amount - earlier : 0;
}

/* ---- names, keys ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return text == NULL ? hash_bytes(hash, "", 1) : hash_bytes(hash, text, strlen(text) + 1);
}

static uint64_t key_of_process(const struct communication *all,
                               const struct communication_process *process)
{
    if (process->stream != 0)
        return hash_bytes(process->origin + 1, &process->stream, sizeof(process->stream)) | 1;
    uint64_t hash = live_machine_key(all, process->machine);
    hash = hash_bytes(hash, &process->cgroup, sizeof(process->cgroup));
    hash = hash_bytes(hash, &process->user, sizeof(process->user));
    hash = hash_bytes(hash, &process->pid_namespace, sizeof(process->pid_namespace));
    hash = hash_text(hash, process->program);
    hash = hash_bytes(hash, process->name, sizeof(process->name));
    return hash_text(hash, process->group) | 1;
}

static uint32_t first_of(const struct party *party)
{
    return party->count == 0 ? NO_PROCESS : party->processes[0];
}

/* Of several processes, by the first: others may come to use the end, too. An address is that of one connection until another
 * one shares the row, which is the same row then: "10.0.0.7:41234", "10.0.0.7:*"; "socket#4711", "*". */
static uint64_t hash_party(const struct communication *all, const struct party *party,
                           uint64_t hash)
{
    if (party->count == 0)
        return hash_text(hash, party->common);
    uint64_t key = key_of_process(all, &all->processes[party->processes[0]]);
    hash = hash_bytes(hash, &key, sizeof(key));
    return hash_bytes(hash, "", 1);
}

/* The key of a process, as its row has it; of several, or of an address, one of their own. What writes into pipes, and what reads
 * from them, are two peers, although all pipes have one address. */
static uint64_t key_of_party(const struct live *live, const struct party *party, bool receives)
{
    bool is_pipe =
        party->count == 0 && party->common != NULL && strcmp(party->common, "pipe:*") == 0;

    return party->count == 1 ? live->all[LIVE_PROCESSES].at[party->processes[0]].key
                             : hash_party(live->now, party, is_pipe && receives ? 6 : 5) | 1;
}

static void set_ends(const struct live *live, const struct party *from, const struct party *to,
                     struct live_row *row)
{
    live_name_party(live->now, from, row->name);
    live_name_party(live->now, to, row->other);
    row->process[0] = first_of(from);
    row->process[1] = first_of(to);
    row->ends[0] = key_of_party(live, from, false);
    row->ends[1] = key_of_party(live, to, true);
}

/* ---- what is new ---- */

static void subtract(struct live_row *row, const struct live_row *before)
{
    for (unsigned i = 0; i < LIVE_WAITS; i++) {
        uint64_t was = before == NULL ? 0 : before->so_far[i];
        if (i == LIVE_CORRECTION || i == LIVE_SILENT || i == LIVE_CPU_EARLIER ||
            i == LIVE_WAITED_FOR) /* live_waits.c has made them */
            continue;
        if (live_value_kind(i)->is_moment)
            row->interval[i] = row->so_far[i];
        else
            row->interval[i] = row->so_far[i] > was ? row->so_far[i] - was : 0;
    }
}

/* Quantiles of what came since. */
static int subtract_times(const struct histogram *now, const struct histogram *before,
                          struct live_row *row)
{
    struct histogram since = {0};
    int result = histogram_merge(&since, now, HISTOGRAM_MOST);

    if (result == 0 && before != NULL)
        histogram_subtract(&since, before);
    row->so_far[LIVE_MEDIAN] = histogram_quantile(now, 0.5);
    row->so_far[LIVE_P99] = histogram_quantile(now, 0.99);
    row->interval[LIVE_MEDIAN] = histogram_quantile(&since, 0.5);
    row->interval[LIVE_P99] = histogram_quantile(&since, 0.99);
    histogram_done(&since);
    return result;
}

/* Of a process, those that it answered; of one that only asks, its own. */
static enum time_kind kind_of_times(const struct times *times)
{
    return histogram_count(&times->of[TIME_RESPONSE_WHOLE]) > 0 ? TIME_RESPONSE_WHOLE
                                                                : TIME_REQUEST_WHOLE;
}

/* The row before, and its times. */
static const struct live_row *find_before(const struct live *live, enum live_table table,
                                          const struct live_row *row, uint32_t *ret_source)
{
    const struct live_all *earlier = &live->earlier[table];
    const struct live_row *before = live_all_find(earlier, row->key);

    if (before != NULL)
        *ret_source = earlier->sources[before - earlier->at];
    return before;
}

/* ---- processes ---- */

/* What it waited for mostly. */
static struct live_wait wait_of(const struct live *live, const struct live_process *waits)
{
    struct live_wait wait = {.kind = ELAPSED_UNKNOWN};
    unsigned most = ELAPSED_UNKNOWN;

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
        if (waits->now[kind] > waits->now[most])
            most = kind;
    wait.kind = (enum elapsed_kind)most;
    wait.time = waits->now[most];
    wait.since = waits->since[most];
    wait.call = waits->about[most].call;
    wait.is_silent = waits->threads == 1 && waits->silent > wait.time;
    if (wait.time > 0)
        live_name_wait(live, wait.kind, &waits->about[most], wait.what);
    return wait;
}

static void add_waits(const struct live *live, const struct live_process *waits,
                      struct live_row *row)
{
    const struct live_wait wait = wait_of(live, waits);

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++) {
        row->so_far[LIVE_WAITS + kind] += waits->ended_waits[kind] + waits->open[kind];
        row->interval[LIVE_WAITS + kind] += waits->now[kind];
    }
    row->so_far[LIVE_SILENT] += waits->silent;
    row->interval[LIVE_SILENT] += waits->silent;
    row->interval[LIVE_CORRECTION] += (uint64_t)waits->correction;
    row->interval[LIVE_CPU_EARLIER] += waits->cpu_earlier;
    row->interval[LIVE_WAITED_FOR] += waits->waited_now;
    row->so_far[LIVE_WAITED_FOR] += waits->waited_ended + waits->waited_open;
    row->so_far[LIVE_THREADS] += waits->threads;
    if (wait.time >= row->wait.time)
        row->wait = wait;
}

static int add_all_waits(struct live *live)
{
    const struct live_waits *waits = &live->waits;
    struct live_all *all = &live->all[LIVE_PROCESSES];
    int error = 0;

    for (uint32_t i = 0; error == 0 && i < waits->processes.used; i++) {
        uint32_t row;
        const struct live_process *process = live_waits_at(live, i, &row, &error);
        if (process == NULL || row >= live->now->process_count)
            continue;
        add_waits(live, process, &all->at[row]);
        if (live->now->processes[row].group != NULL) /* the statistics do not count them */
            all->at[row].so_far[LIVE_LIVING] += process->number != 0 && !process->ended;
    }
    for (size_t i = 0; i < live->now->process_count; i++)
        if (live->now->processes[i].group != NULL) {
            all->at[i].wait.is_silent = false;
            live_choose_wait(&all->at[i]);
        }
    return error;
}

/* Rows stand in the order of the statistics, whose indexes parties have. */
static struct live_row *row_for(struct live_all *all, uint64_t key, uint32_t index)
{
    if (intern_find(&all->keys, key) >= 0)
        key = hash_bytes(key, &index, sizeof(index)) | 1;
    return live_all_add(all, key, index);
}

static int make_process(struct live *live, uint32_t index)
{
    const struct communication_process *process = &live->now->processes[index];
    struct live_row *row =
        row_for(&live->all[LIVE_PROCESSES], key_of_process(live->now, process), index);
    enum time_kind kind = kind_of_times(&process->times);
    const struct histogram *of = process->times.of;
    uint32_t source = 0;

    if (row == NULL)
        return -ENOMEM;
    row->rows = 1;
    row->machine = process->machine;
    row->pid = process->group != NULL ? 0 : process->pid;
    row->process[0] = index;
    row->ended = process->ended;
    row->unknown = live_unknown(live->now, process->queue.unknown);
    live_name_process(live->now, process, row->name);
    row->so_far[LIVE_CPU] = process->cpu;
    row->so_far[LIVE_SENT] = process->sent.messages;
    row->so_far[LIVE_SENT_BYTES] = process->sent.bytes;
    row->so_far[LIVE_RECEIVED] = process->received.messages;
    row->so_far[LIVE_RECEIVED_BYTES] = process->received.bytes;
    row->so_far[LIVE_REQUESTS] = histogram_count(&of[TIME_RESPONSE_WHOLE]);
    row->so_far[LIVE_REQUEST_TIME] = histogram_sum(&of[TIME_RESPONSE_WHOLE]);
    row->so_far[LIVE_ASKED] = histogram_count(&of[TIME_REQUEST_WHOLE]);
    row->so_far[LIVE_ASKED_TIME] = histogram_sum(&of[TIME_REQUEST_WHOLE]);
    row->so_far[LIVE_UNANSWERED] = process->asked.unanswered;
    row->so_far[LIVE_FAILED] = process->failed_sends + process->failed_receives;
    row->so_far[LIVE_QUEUE_DELAY] = histogram_sum(&of[TIME_MESSAGE_WAIT]);
    row->so_far[LIVE_QUEUE] = process->queue.messages;
    row->so_far[LIVE_QUEUE_BYTES] = process->queue.bytes;
    row->so_far[LIVE_PROCESS_COUNT] = process->group != NULL ? process->group_size : 1;
    row->so_far[LIVE_LIVING] = process->group == NULL && !process->ended;
    const struct live_row *before = find_before(live, LIVE_PROCESSES, row, &source);
    return subtract_times(
        &of[kind], before == NULL ? NULL : &live->before->processes[source].times.of[kind], row);
}

/* ---- pairs ---- */

static int make_pair(struct live *live, uint32_t index)
{
    const struct communication_pair *pair = &live->now->pairs[index];
    const struct histogram *of = pair->times.of;
    uint64_t key = hash_party(live->now, &pair->to, hash_party(live->now, &pair->from, 2)) | 1;
    struct live_row *row = live_all_add(&live->all[LIVE_PAIRS], key, index);

    if (row == NULL)
        return -ENOMEM;
    row->rows = 1;
    row->machine = NO_MACHINE;
    row->unknown = live_unknown(live->now, false);
    set_ends(live, &pair->from, &pair->to, row);
    row->so_far[LIVE_SENT] += pair->sent.messages;
    row->so_far[LIVE_SENT_BYTES] += pair->sent.bytes;
    row->so_far[LIVE_RECEIVER_WAIT] += histogram_sum(&of[TIME_RECEIVER_WAIT]);
    row->so_far[LIVE_QUEUE_DELAY] += histogram_sum(&of[TIME_MESSAGE_WAIT]);
    row->so_far[LIVE_SEND_BLOCKED] += histogram_sum(&of[TIME_SENDER_BLOCKED]);
    row->so_far[LIVE_DELIVERY] += histogram_sum(&of[TIME_DELIVERY]);
    row->so_far[LIVE_DELIVERED] += histogram_count(&of[TIME_DELIVERY]);
    return 0;
}

/* ---- connections ---- */

/* The port of a client says nothing, and changes when connections share a row; so do numbers of pipes and unnamed sockets. */
static uint64_t key_of_path(const struct communication *all, const struct communication_path *path)
{
    bool is_numbered =
        path->kind == PATH_PIPE || strncmp(path->remote, "socket#", strlen("socket#")) == 0;
    uint64_t key = hash_bytes(3, &path->kind, sizeof(path->kind));

    key = hash_party(all, &path->ends[0], key);
    key = hash_party(all, &path->ends[1], key);
    return hash_text(key, is_numbered ? "*" : path->remote) | 1;
}

static int make_connection(struct live *live, uint32_t index)
{
    const struct communication_path *path = &live->now->paths[index];
    struct live_row *row =
        live_all_add(&live->all[LIVE_CONNECTIONS], key_of_path(live->now, path), index);
    enum time_kind kind = kind_of_times(&path->times);
    const struct histogram *of = path->times.of;
    uint32_t source = 0;

    if (row == NULL)
        return -ENOMEM;
    row->rows++;
    row->machine = NO_MACHINE;
    row->kind = (uint8_t)path->kind;
    row->unknown |= live_unknown(live->now, path->queue.unknown);
    set_ends(live, &path->ends[0], &path->ends[1], row);
    snprintf(row->address, sizeof(row->address), "%.*s", LIVE_NAME_SIZE - 1, path->remote);
    row->so_far[LIVE_SENT] += path->sent.messages;
    row->so_far[LIVE_SENT_BYTES] += path->sent.bytes;
    row->so_far[LIVE_RECEIVED] += path->received.messages;
    row->so_far[LIVE_RECEIVED_BYTES] += path->received.bytes;
    row->so_far[LIVE_REQUESTS] += histogram_count(&of[kind]);
    row->so_far[LIVE_REQUEST_TIME] += histogram_sum(&of[kind]);
    row->so_far[LIVE_RECEIVER_WAIT] += histogram_sum(&of[TIME_RECEIVER_WAIT]);
    row->so_far[LIVE_QUEUE_DELAY] += histogram_sum(&of[TIME_MESSAGE_WAIT]);
    row->so_far[LIVE_SEND_BLOCKED] += histogram_sum(&of[TIME_SENDER_BLOCKED]);
    row->so_far[LIVE_DELIVERY] += histogram_sum(&of[TIME_DELIVERY]);
    row->so_far[LIVE_DELIVERED] += histogram_count(&of[TIME_DELIVERY]);
    row->so_far[LIVE_RETRANSMITS] += path->network.known ? path->network.retransmitted : 0;
    row->so_far[LIVE_QUEUE] += path->queue.messages;
    row->so_far[LIVE_QUEUE_BYTES] += path->queue.bytes;
    row->so_far[LIVE_LIVING] += path->connections - path->ended;
    if (row->rows > 1) { /* several have no quantiles together */
        row->so_far[LIVE_MEDIAN] = row->so_far[LIVE_P99] = 0;
        row->interval[LIVE_MEDIAN] = row->interval[LIVE_P99] = 0;
        return 0;
    }
    const struct live_row *before = find_before(live, LIVE_CONNECTIONS, row, &source);
    return subtract_times(&of[kind],
                          before == NULL ? NULL : &live->before->paths[source].times.of[kind], row);
}

/* ---- all of them ---- */

static void add_failures(struct live *live)
{
    for (size_t i = 0; i < live->now->failure_count; i++)
        if (live->now->failures[i].process != NO_PROCESS)
            live->all[LIVE_PROCESSES].at[live->now->failures[i].process].so_far[LIVE_FAILED] +=
                live->now->failures[i].count;
}

static void subtract_all(struct live *live)
{
    for (unsigned table = 0; table <= LIVE_CONNECTIONS; table++)
        for (size_t i = 0; i < live->all[table].count; i++) {
            struct live_row *row = &live->all[table].at[i];
            uint64_t median = row->interval[LIVE_MEDIAN], p99 = row->interval[LIVE_P99];
            subtract(row, live_all_find(&live->earlier[table], row->key));
            row->interval[LIVE_MEDIAN] = median;
            row->interval[LIVE_P99] = p99;
        }
}

int live_rows_make(struct live *live)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < live->now->process_count; i++)
        result = make_process(live, i);
    for (uint32_t i = 0; result == 0 && i < live->now->pair_count; i++)
        result = make_pair(live, i);
    for (uint32_t i = 0; result == 0 && i < live->now->path_count; i++)
        result = make_connection(live, i);
    if (result == 0)
        result = add_all_waits(live);
    if (result < 0)
        return result;
    add_failures(live);
    subtract_all(live);
    return live_groups_make(live);
}
