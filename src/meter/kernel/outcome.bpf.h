/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * outcome.bpf.h: how a connect() ended: CONNECT or CONNECTFAILED, in the sequence of the stream that called it.
 *
 *      connect() [ SYN_SENT ... ESTABLISHED or CLOSE ]     on this machine: the packets pass in the caller's own call,
 *                                                          and the record is made there
 *
 *      connect() [ SYN_SENT ... sleeps ... ] next hook     else the outcome is found in an interrupt, in any task, while
 *                       ESTABLISHED or CLOSE ^             the stream sleeps or does something else. It is noted in
 *                              '-- outcomes -'             `outcomes`, and recorded in the stream's next hook
 *
 * So the time of the record is when its stream heard of the outcome or did something else after it, and time - span is
 * when connect() was called.
 */
#ifndef DPM_OUTCOME_BPF_H
#define DPM_OUTCOME_BPF_H

#include "meter/kernel/write.bpf.h"

/* One record of an outcome, by the current task's stream: CREATEPATH, CONNECT or CONNECTFAILED. */
__noinline int write_outcome(struct stream *stream, uint32_t id, const struct outcome *outcome)
{
    struct record *record;
    uint32_t error;

    if (stream == NULL || outcome == NULL || !tells_on(stream, id & 63, outcome->path))
        return 0;
    record = begin_any_record(stream, NULL, NULL, RING_CONTROL, sizeof(*record), id, 0, false);
    if (record == NULL)
        return 0;
    fill_pc(&record->header, outcome->pc);
    error = outcome->error != 0 ? outcome->error : stream->connect_error;
    /* CONNECTFAILED has its error where the others have an offset, and the rest at the same places */
    record->message.path = outcome->path;
    record->message.offset = outcome->failed ? error : 0;
    record->message.bytes = 0;
    set_span(record, outcome->begin);
    submit(record);
    return 0;
}

_Static_assert(__builtin_offsetof(struct record, message.offset) ==
                       __builtin_offsetof(struct record, failed.error) &&
                   __builtin_offsetof(struct record, message.span) ==
                       __builtin_offsetof(struct record, failed.span),
               "one function fills both");

/* A path whose connection failed ends with that. */
static __always_inline void end_failed(uint32_t path)
{
    if (is_told_now(EVENT_DESTROYPATH))
        write_unowned(EVENT_DESTROYPATH, path, 0);
}

/* Records an outcome of the current task's stream. */
static __always_inline void tell_outcome(struct stream *stream, const struct outcome *outcome)
{
    if (stream->connects > 0 && --stream->connects == 0)
        stream->away &= ~AWAY_CONNECTS;
    if (silent(stream) || outcome->path == 0)
        return;
    if (!outcome->failed && !outcome->created)
        write_outcome(stream, EVENT_CREATEPATH, outcome);
    write_outcome(stream, outcome->failed ? EVENT_CONNECTFAILED : EVENT_CONNECT, outcome);
    if (outcome->failed)
        end_failed(outcome->path);
}

/* The same for a stream that has ended. */
static __always_inline void tell_outcome_of_ended(uint32_t connector, const struct outcome *outcome)
{
    uint32_t id = outcome->failed ? EVENT_CONNECTFAILED : EVENT_CONNECT;
    struct record *record;

    if (outcome->path == 0)
        return;
    record = is_told_now_on(id, outcome->path) ? begin_unowned(RING_CONTROL, id) : NULL;
    if (record != NULL) {
        record->header.stream = connector;
        record->failed.path = outcome->path;
        record->failed.error = outcome->error;
        set_span(record, outcome->begin);
        submit(record);
    }
    if (outcome->failed)
        end_failed(outcome->path);
}

/* ---- outcomes that were noted ---- */

#define MOST_OUTCOMES 1024 /* in one hook; the next one goes on */

struct telling {
    struct stream *stream;
};

static long tell_next_outcome(uint32_t index, struct telling *telling)
{
    struct stream *stream = telling->stream;
    struct outcome_key key = {.stream = stream->number, .index = stream->outcomes};
    struct outcome *noted = bpf_map_lookup_elem(&outcomes, &key), outcome;

    if (noted == NULL)
        return 1; /* there is none, or an interrupt is just noting it */
    outcome = *noted;
    bpf_map_delete_elem(&outcomes, &key);
    stream->outcomes++;
    tell_outcome(stream, &outcome);
    return 0;
}

static __noinline int tell_outcomes(struct stream *stream)
{
    struct telling telling = {.stream = stream};
    uint32_t number = stream->number, *noted;

    stream->connecting = 0; /* whatever hook this is, it may make records from now on */
    noted = bpf_map_lookup_elem(&connectors, &number);
    if (noted == NULL || *(volatile uint32_t *)noted != stream->outcomes)
        bpf_loop(MOST_OUTCOMES, tell_next_outcome, &telling, 0);
    return 0;
}

/* Notes an outcome for `connector`. False: that has ended, or there is no memory (counted). */
static __always_inline bool note_outcome(uint32_t connector, const struct outcome *outcome)
{
    struct outcome_key key = {.stream = connector};
    uint32_t *noted = bpf_map_lookup_elem(&connectors, &connector);

    if (noted == NULL)
        return false;
    key.index = __sync_fetch_and_add(noted, 1);
    if (bpf_map_update_elem(&outcomes, &key, outcome, BPF_ANY) == 0)
        return true;
    /* an index without an outcome would hold up all others: the next connect() begins a new count */
    bpf_map_delete_elem(&connectors, &connector);
    __sync_fetch_and_add(&lost_paths, 1);
    return false;
}

/* The stream calls connect() and may have outcomes from now on. False: no memory (counted). */
static __always_inline bool may_have_outcomes(struct stream *stream)
{
    uint32_t number = stream->number, none = 0;

    if (bpf_map_lookup_elem(&connectors, &number) != NULL)
        return true;
    stream->outcomes = 0;
    if (bpf_map_update_elem(&connectors, &number, &none, BPF_NOEXIST) == 0)
        return true;
    __sync_fetch_and_add(&lost_paths, 1);
    return false;
}

/* The stream ends: it records what was noted so far, and what comes later is recorded for it. */
static __always_inline void expect_no_outcomes(struct stream *stream)
{
    uint32_t number = stream->number;

    if (kinds_in_force & METER_TCP)
        bpf_map_delete_elem(&connectors, &number);
}

#endif
