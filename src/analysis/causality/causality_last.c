/* SPDX-License-Identifier: MIT */
/*
 * causality_last.c: the rule of the latest receive: "where will that process next send a message?" (B. P. Miller:
 * Performance Characterization of Distributed Programs, 5.2.4, figure 5.18)
 *
 *      stream   RECEIVE from X   SEND to Y   SEND to Z   RECEIVE from Y   SEND ...
 *               |<----- interval: a step ---------->|    |<---- the next
 *
 * Whatever the stream sends until it receives again belongs to this step, on any connection. The end of a connection
 * also ends an interval; receives from system processes do not. A send outside of all intervals begins a chain that
 * belongs to no request.
 */
#include "analysis/causality/causality_private.h"

/* The connection shows what a send answers, which may differ from the stream's latest receive. */
static enum attribution attribute(struct causality_analysis *analysis,
                                  const struct causality_event *at, const struct step *step)
{
    const struct causality_end *end = at->end;
    const struct step *entry = !end->open || end->side != SIDE_SERVES || end->in_call != 0
                                   ? NULL
                                   : step_of(analysis, end->entry);

    if (entry == NULL)
        return causality_attribute(analysis, at, step);
    if (entry->request == step->request)
        return end->overlap > 0 ? ATTRIBUTION_OVERLAP : ATTRIBUTION_PATH;
    analysis->sums.contradicted++;
    return ATTRIBUTION_LATEST;
}

static void count_reply(struct causality_analysis *analysis, const struct causality_event *at,
                        const struct step *step)
{
    if (!at->end->from_requestor || at->end->side != SIDE_SERVES)
        return;
    analysis->sums.replies++;
    analysis->strings.at[step->string].replies++;
    moments_count(analysis, at->event->event.origin, at->event->when, step->string, true);
}

/* Nothing was received before, or its step is forgotten. */
static int begin_chain(struct causality_analysis *analysis, const struct causality_event *at)
{
    bool forgotten = at->stream->current.index_and_1 != 0;
    struct causality_event without_end = *at;

    without_end.end = NULL;
    analysis->sums.late += forgotten;
    return requests_begin_chain(analysis, &without_end, forgotten ? STRING_CUT : STRING_NOBODY,
                                &at->stream->current);
}

int causality_last_sent(struct causality_analysis *analysis, const struct causality_event *at,
                        struct sent_value *ret_value)
{
    struct causality_end *end = at->end;
    bool in_call = end->sent != 0 && (end->in_call == at->stream->index + 1 ||
                                      at->record->header.flags & RECORD_CONTINUED);

    *ret_value = (struct sent_value){
        .kind = SENT_STEP, .step = end->answer, .attribution = end->sent_attribution};
    if (in_call)
        return 0;
    if (step_of(analysis, at->stream->current) == NULL && begin_chain(analysis, at) < 0)
        return -1;
    const struct step *step = step_of(analysis, at->stream->current);
    ret_value->step = at->stream->current;
    ret_value->attribution = (uint8_t)attribute(analysis, at, step);
    if (!causality_is_same_message(analysis, at, ret_value->step))
        count_reply(analysis, at, step);
    if (end->side == SIDE_SERVES)
        parties_close(analysis, end);
    else
        end->forwarded = ret_value->step;
    return 0;
}

int causality_last_unknown(struct causality_analysis *analysis, struct causality_event *at)
{
    int result = requests_begin_chain(analysis, at, STRING_CUT, &at->end->in);

    at->stream->current = at->end->in;
    return result;
}

void causality_last_ended(struct causality_event *at)
{
    if (at->end->side == SIDE_SERVES || at->end->in.index_and_1 != 0)
        at->stream->current = (struct reference){0};
}
