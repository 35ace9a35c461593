/* SPDX-License-Identifier: MIT */
/* statistics_figures.c: figures derived from rows of the communication statistics. See statistics_figures.h. */
#include "analysis/statistics/statistics_figures.h"

#include <stdlib.h>
#include <string.h>

/* ---- lives, queues ---- */

uint64_t process_life(const struct communication_process *process)
{
    return process->end - process->begin;
}

uint64_t pair_life(const struct communication *communication, const struct communication_pair *pair)
{
    const struct party *party = pair->from.count > 0 ? &pair->from : &pair->to;
    uint64_t begin = UINT64_MAX, end = 0;

    for (uint32_t i = 0; i < party->count; i++) {
        const struct communication_process *process =
            &communication->processes[party->processes[i]];
        begin = process->begin < begin ? process->begin : begin;
        end = process->end > end ? process->end : end;
    }
    return end > begin ? end - begin : 0;
}

double queue_mean(const struct communication_process *process)
{
    uint64_t life = process_life(process);

    return life == 0 ? 0 : (double)process->queue.wait / (double)life;
}

/* ---- waits of pairs ---- */

/* What is covered; the sum where that is not known, as of some ends that several processes share. */
static uint64_t covered_or_sum(uint64_t covered, const struct histogram *times)
{
    return covered != 0 ? covered : histogram_sum(times);
}

/* How long at least one of these waits was in progress: 100 messages that lie in the queue together for a second are one second,
 * not 100. */
static struct covered_waits waits_of(const struct communication_pair *pair)
{
    const struct histogram *of = pair->times.of;

    return (struct covered_waits){
        .receiver = covered_or_sum(pair->covered.receiver, &of[TIME_RECEIVER_WAIT]),
        .message = covered_or_sum(pair->covered.message, &of[TIME_MESSAGE_WAIT]),
        .sender = covered_or_sum(pair->covered.sender, &of[TIME_SENDER_BLOCKED]),
    };
}

bool sender_is_blocked(const struct communication_pair *pair)
{
    struct covered_waits waits = waits_of(pair);

    return waits.sender > waits.message;
}

/* The longer wait, not the sum: a blocked sender and its messages in the queue wait at the same time. */
static uint64_t waited_for_receiver(const struct communication_pair *pair)
{
    struct covered_waits waits = waits_of(pair);

    return waits.sender > waits.message ? waits.sender : waits.message;
}

uint64_t pair_waited(const struct communication_pair *pair)
{
    return waits_of(pair).receiver + waited_for_receiver(pair);
}

bool knows_unused(const struct communication *communication)
{
    return !communication->chosen && !communication->has_rules &&
           (communication->flags_left_out & (EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_RECEIVE))) ==
               0;
}

bool knows_ended(const struct communication *communication)
{
    return !communication->has_rules;
}

bool pair_is_to_itself(const struct communication_pair *pair)
{
    return pair->from.count == 1 && pair->to.count == 1 &&
           pair->from.processes[0] == pair->to.processes[0];
}

static bool have_one_in_common(const struct party *one, const struct party *other)
{
    for (uint32_t i = 0; i < one->count; i++)
        for (uint32_t k = 0; k < other->count; k++)
            if (one->processes[i] == other->processes[k])
                return true;
    return false;
}

static bool answers(const struct communication *communication, const struct party *party)
{
    for (uint32_t i = 0; i < party->count; i++)
        if (histogram_count(
                &communication->processes[party->processes[i]].times.of[TIME_RESPONSE_WHOLE]) > 0)
            return true;
    return false;
}

/* Whether the receiver answers an unmonitored sender at one end of a path: that one is its client. */
static bool serves_at(const struct communication_path *path, int end,
                      const struct communication_pair *pair)
{
    const char *peer = end == 0 ? path->remote : path->local;

    return have_one_in_common(&path->ends[end], &pair->to) && path->ends[1 - end].count == 0 &&
           strcmp(peer, pair->from.address) == 0 &&
           histogram_count(&path->times.of[TIME_RESPONSE_WHOLE]) > 0;
}

static bool serves_unmonitored(const struct communication *communication,
                               const struct communication_pair *pair)
{
    for (size_t i = 0; i < communication->path_count; i++)
        if (serves_at(&communication->paths[i], 0, pair) ||
            serves_at(&communication->paths[i], 1, pair))
            return true;
    return false;
}

bool receiver_is_idle(const struct communication *communication,
                      const struct communication_pair *pair)
{
    if (pair->to.count > 1 || pair_is_to_itself(pair))
        return true;
    if (pair->from.count == 0 && pair->from.address != NULL)
        return serves_unmonitored(communication, pair);
    if (!answers(communication, &pair->to))
        return false;
    for (size_t i = 0; i < communication->path_count; i++) {
        const struct communication_path *path = &communication->paths[i];
        if (have_one_in_common(&path->ends[0], &pair->from) &&
            have_one_in_common(&path->ends[1], &pair->to))
            return true;
    }
    return false;
}

#define WAITED_LITTLE 0.01 /* of the recording: an idle receiver does not receive in no time */

/* A receiver may be idle for longer than messages wait, because these come in bursts. */
bool sender_is_late(const struct communication *communication,
                    const struct communication_pair *pair)
{
    uint64_t waited = waited_for_receiver(pair);

    if (waits_of(pair).receiver <= waited)
        return false;
    return (double)waited <= WAITED_LITTLE * (double)communication->duration ||
           !receiver_is_idle(communication, pair);
}

bool neither_is_late(const struct communication *communication,
                     const struct communication_pair *pair)
{
    if (pair_waited(pair) == 0)
        return true;
    return sender_is_late(communication, pair) ? receiver_is_idle(communication, pair)
                                               : pair_is_to_itself(pair);
}

/* Caches pair_waited for sorting. */
struct waiting {
    const struct communication_pair *pair;
    uint64_t time;
};

static int by_time(const void *left, const void *right)
{
    const struct waiting *a = left, *b = right;

    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return (a->pair > b->pair) - (a->pair < b->pair);
}

const struct communication_pair **pairs_by_wait(const struct communication *communication)
{
    size_t count = communication->pair_count;
    const struct communication_pair **rows = calloc(count + 1, sizeof(*rows));
    struct waiting *waiting = calloc(count + 1, sizeof(*waiting));

    if (rows != NULL && waiting != NULL) {
        for (size_t i = 0; i < count; i++)
            waiting[i] =
                (struct waiting){&communication->pairs[i], pair_waited(&communication->pairs[i])};
        qsort(waiting, count, sizeof(*waiting), by_time);
        for (size_t i = 0; i < count; i++)
            rows[i] = waiting[i].pair;
    } else {
        free(rows);
        rows = NULL;
    }
    free(waiting);
    return rows;
}

uint64_t messages_below_mpi(const struct communication *communication)
{
    bool *is_rank = calloc(communication->process_count + 1, sizeof(*is_rank));
    uint64_t messages = 0;

    for (size_t i = 0; is_rank != NULL && i < communication->path_count; i++) {
        const struct communication_path *path = &communication->paths[i];
        for (int end = 0; path->kind == PATH_MPI && end < 2; end++)
            for (uint32_t k = 0; k < path->ends[end].count; k++)
                is_rank[path->ends[end].processes[k]] = true;
    }
    for (size_t i = 0; is_rank != NULL && i < communication->path_count; i++) {
        const struct communication_path *path = &communication->paths[i];
        if (path->kind == PATH_TCP && path->ends[0].count == 1 && path->ends[1].count == 1 &&
            is_rank[path->ends[0].processes[0]] && is_rank[path->ends[1].processes[0]])
            messages += path->sent.messages + path->received.messages;
    }
    free(is_rank);
    return messages;
}
