/* SPDX-License-Identifier: MIT */
/*
 * elapsed_pieces.c: when threads did what, for charts of time. See elapsed.h.
 *
 *      interval of a thread that was awake     |~~~~~~~ cpu, no CPU, mixed ~~~~~~~|
 *      ... that blocked                        |~~~ cpu, no CPU ~~~|  wait  |no CPU|
 *      ... that had fallen asleep              |  wait  |no CPU|~~~~~~~~ cpu ~~~~~~~|
 */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <stdlib.h>

void elapsed_watch(struct elapsed_analysis *analysis, elapsed_take_piece *take, void *context)
{
    analysis->take = take;
    analysis->taker = context;
}

void elapsed_span(const struct elapsed_analysis *analysis, uint64_t *ret_begin, uint64_t *ret_end)
{
    *ret_begin = analysis->first;
    *ret_end = analysis->last_time > analysis->first ? analysis->last_time : analysis->first;
}

struct telling {
    const struct elapsed_analysis *analysis;
    elapsed_take_piece *take;
    void *context;
    int result; /* the first error */
};

static void tell(struct telling *telling, uint32_t detail, struct elapsed_piece piece)
{
    static const char nothing[] = "";

    if (piece.time == 0 || telling->result < 0)
        return;
    piece.name = piece.label = nothing;
    piece.detail = detail;
    if (detail != 0) {
        const struct detail *of = &telling->analysis->details[detail - 1];
        piece.origin = of->origin;
        piece.process = of->process_number;
        piece.pid = of->pid;
        piece.tid = of->tid;
        piece.name = of->process;
        piece.label = of->label;
    }
    telling->result = telling->take(telling->context, &piece);
}

int elapsed_tell_piece(const struct elapsed_analysis *analysis, const struct part *part,
                       uint64_t begin)
{
    struct telling telling = {analysis, analysis->take, analysis->taker, 0};

    if (analysis->take != NULL)
        tell(
            &telling, part->detail,
            (struct elapsed_piece){
                .kind = part->kind, .begin = begin, .end = begin + part->time, .time = part->time});
    return telling.result;
}

/* The time that its thread was awake: for its CPU time it computed, and the rest it had no CPU, as far as the kernel's
 * figures allow. When which was, no record shows. */
static void tell_awake(struct telling *telling, const struct interval *interval, uint64_t begin,
                       uint64_t end)
{
    uint64_t length = end > begin ? end - begin : 0;
    uint64_t cpu = interval->cpu < length ? interval->cpu : length;
    uint64_t no_cpu = elapsed_take_no_cpu(telling->analysis, interval, length - cpu);
    struct elapsed_piece piece = {.begin = begin, .end = end};

    piece.kind = ELAPSED_COMPUTES;
    piece.time = cpu;
    tell(telling, interval->computes, piece);
    piece.kind = ELAPSED_NO_CPU;
    piece.time = no_cpu;
    tell(telling, interval->computes, piece);
    piece.kind = ELAPSED_UNKNOWN;
    piece.time = length - cpu - no_cpu;
    tell(telling, interval->computes, piece);
}

static void tell_wait(struct telling *telling, const struct interval *interval, uint64_t begin,
                      uint64_t end)
{
    uint64_t length = end > begin ? end - begin : 0;
    uint64_t no_cpu = elapsed_take_no_cpu(telling->analysis, interval,
                                          interval->queued < length ? interval->queued : length);
    struct elapsed_piece piece = {
        .kind = ELAPSED_NO_CPU, .begin = end - no_cpu, .end = end, .time = no_cpu};

    tell(telling, interval->computes, piece);
    piece.kind =
        elapsed_is_wait_for_interpreter(telling->analysis, interval)
            ? ELAPSED_INTERPRETER
            : elapsed_kind_in_runtime(telling->analysis, (enum elapsed_kind)interval->waited_for,
                                      interval->waits);
    piece.begin = begin;
    piece.end = end - no_cpu;
    piece.time = length - no_cpu;
    tell(telling, interval->waits, piece);
}

static uint64_t begin_of(const struct elapsed_analysis *analysis, const struct interval *interval)
{
    uint32_t before = interval->previous != 0 ? interval->previous : interval->source;

    return before == 0 ? interval->end : interval_at(analysis, before)->end;
}

static void tell_interval(struct telling *telling, const struct interval *interval)
{
    uint64_t begin = begin_of(telling->analysis, interval), end = interval->end;

    if (begin >= end)
        return;
    uint64_t wait = interval->wait < end - begin ? interval->wait : end - begin;
    if (wait == 0) {
        tell_awake(telling, interval, begin, end);
    } else if (interval->asleep) {
        tell_awake(telling, interval, begin + wait, end);
        tell_wait(telling, interval, begin, begin + wait);
    } else {
        tell_wait(telling, interval, end - wait, end);
        tell_awake(telling, interval, begin, end - wait);
    }
}

int elapsed_each_piece(const struct elapsed_analysis *analysis, elapsed_take_piece *take,
                       void *context)
{
    struct telling telling = {analysis, take, context, 0};

    elapsed_begin_delays(analysis); /* they are taken from the end backwards, as by a walk */
    for (uint32_t i = analysis->intervals.count; i > 0 && telling.result == 0; i--)
        if (!interval_at(analysis, i)->within)
            tell_interval(&telling, interval_at(analysis, i));
    return telling.result;
}

/* ---- sums ---- */

struct profile {
    struct intern keys; /* of detail and kind */
    struct part *parts;
    size_t room;
    struct elapsed_account *account;
};

static int add_to_profile(void *context, const struct elapsed_piece *piece)
{
    struct profile *profile = context;
    int64_t index = intern_add(&profile->keys, (uint64_t)piece->kind << 32 | piece->detail);

    if (index < 0 || array_reserve(&profile->parts, &profile->room, (size_t)index + 1,
                                   sizeof(*profile->parts)) < 0)
        return -ENOMEM;
    struct part *part = &profile->parts[index];
    part->detail = piece->detail;
    part->kind = piece->kind;
    part->time += piece->time;
    part->count++;
    profile->account->time += piece->time;
    profile->account->by_kind[piece->kind] += piece->time;
    return 0;
}

int elapsed_profile(const struct elapsed_analysis *analysis, struct elapsed_account *ret_account)
{
    struct elapsed_account account = {0};
    struct profile profile = {.account = &account};
    int result = elapsed_each_piece(analysis, add_to_profile, &profile);

    if (result == 0)
        result = elapsed_make_rows(analysis, profile.parts, profile.keys.count, &account);
    intern_done(&profile.keys);
    free(profile.parts);
    if (result == 0)
        *ret_account = account;
    else
        free(account.rows);
    return result;
}
