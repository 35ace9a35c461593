/* SPDX-License-Identifier: MIT */
/*
 * causality_receiving.c: what a RECEIVE of a server process means for the request that it belongs to.
 *
 *      from                          a new step                  the stream is then in
 *      requestor                     root of a new request       it
 *      server process                child of the step of the    it
 *                                    sender
 *      system process                none                        the step that had called it
 *      server process, no request    none                        none; if it was called: the step
 *                                                                that had called it
 *
 * Further parts of a message return the stream to the step that the message began.
 */
#include "analysis/causality/causality_private.h"

/* Parts of one RECEIVE that come from requestors, which make one request. */
struct receiving {
    bool request_begun;
    struct reference last_from; /* step of the sender of the last part */
};

/* ---- what it begins ---- */

static int begin_request(struct causality_analysis *analysis, struct causality_event *at,
                         uint32_t requestor)
{
    struct causality_end *end = at->end;
    struct reference step;
    int result = end->from_requestor ? requests_pass(analysis, end->entry) : 0;

    if (result == 0)
        result = requests_begin(analysis, at, requestor, &step);
    if (result < 0)
        return result;
    end->from_requestor = true;
    parties_open(analysis, at, step);
    end->in = step;
    causality_enter(analysis, at, step);
    return 0;
}

static int continue_request(struct causality_analysis *analysis, struct causality_event *at,
                            const struct sent_value *value)
{
    struct reference step;

    if (requests_has_request(analysis, step_of(analysis, value->step))) {
        analysis->sums.arcs++;
        analysis->sums.attributed[value->attribution]++;
    } else {
        analysis->sums.without_request++;
    }
    if (requests_continue(analysis, at, value->step, &step) < 0)
        return -1;
    if (at->end->side == SIDE_SERVES) {
        at->end->from_requestor = false;
        parties_open(analysis, at, step);
    }
    at->end->in = step;
    causality_enter(analysis, at, step);
    return 0;
}

/* An answer that belongs to no known request: the step that asked on this end continues. */
static void resume(struct causality_analysis *analysis, struct causality_event *at)
{
    struct causality_end *end = at->end;

    if (analysis->options.last)
        return; /* the previous receive still counts */
    if (end->side == SIDE_CALLS && step_of(analysis, end->forwarded) != NULL)
        causality_enter(analysis, at, end->forwarded);
    else if (end->side == SIDE_SERVES)
        causality_enter(analysis, at, (struct reference){0});
    end->in = at->stream->current;
}

/* Something with an unknown cause was received. */
static int from_unknown(struct causality_analysis *analysis, struct causality_event *at)
{
    if (analysis->options.last)
        return causality_last_unknown(analysis, at);
    resume(analysis, at);
    return 0;
}

/* ---- by sender ---- */

static int from_requestor(struct causality_analysis *analysis, struct causality_event *at,
                          uint32_t requestor, struct receiving *receiving)
{
    if (at->end->side != SIDE_SERVES) {
        analysis->sums.system_receives++;
        resume(analysis, at);
        return 0;
    }
    if (receiving->request_begun && !analysis->options.each_send && at->end->is_bytes) {
        analysis->sums.joined++;
        return 0;
    }
    receiving->request_begun = true;
    return begin_request(analysis, at, requestor);
}

static int from_server(struct causality_analysis *analysis, struct causality_event *at,
                       const struct sent_value *value, struct receiving *receiving)
{
    if (step_of(analysis, value->step) == NULL) {
        if (value->step.index_and_1 != 0)
            analysis->sums.late++;
        else
            analysis->sums.without_request++;
        return from_unknown(analysis, at);
    }
    if (receiving->last_from.index_and_1 != 0 && !analysis->options.each_send &&
        at->end->is_bytes && same_reference(receiving->last_from, value->step)) {
        analysis->sums.joined++;
        return 0;
    }
    receiving->last_from = value->step;
    return continue_request(analysis, at, value);
}

static int from_edge(struct causality_analysis *analysis, struct causality_event *at,
                     const struct sent_value *value, struct receiving *receiving)
{
    static const struct sent_value unknown = {.kind = SENT_UNKNOWN};

    if (value == NULL)
        value = &unknown;
    if (value->message != 0 && value->message == at->end->received) {
        if (step_of(analysis, at->end->in) != NULL &&
            !same_reference(at->end->in, at->stream->current))
            causality_enter(analysis, at, at->end->in);
        return 0;
    }
    at->end->received = value->message;
    switch ((enum sent_kind)value->kind) {
    case SENT_REQUEST:
        return from_requestor(analysis, at, value->member + 1, receiving);
    case SENT_STEP:
        return from_server(analysis, at, value, receiving);
    case SENT_SYSTEM:
        analysis->sums.system_receives++;
        break;
    case SENT_UNKNOWN:
        analysis->sums.unmatched++;
        return from_unknown(analysis, at);
    }
    resume(analysis, at);
    return 0;
}

/* From an unmonitored peer: its sends are unknown, except that they follow each other. */
static int from_stranger(struct causality_analysis *analysis, struct causality_event *at,
                         struct receiving *receiving)
{
    struct causality_end *end = at->end;
    bool more = at->record->header.flags & RECORD_CONTINUED ||
                (end->is_bytes && !end->is_pipe && !analysis->options.each_send &&
                 end->turn == TURN_RECEIVED);

    if (end->side == SIDE_SERVES && more && step_of(analysis, end->in) != NULL) {
        analysis->sums.joined++;
        if (!same_reference(end->in, at->stream->current))
            causality_enter(analysis, at, end->in);
        return 0;
    }
    return from_requestor(analysis, at, 0, receiving);
}

static int from_rest(struct causality_analysis *analysis, struct causality_event *at,
                     struct receiving *receiving)
{
    if (at->event->rest == REST_EXTERNAL || at->event->rest == REST_NOT_FOUND)
        return from_stranger(analysis, at, receiving);
    if (at->event->rest == REST_UNSELECTED)
        analysis->sums.unselected++;
    else
        analysis->sums.unmatched++;
    return from_unknown(analysis, at);
}

static bool says_something(const struct causality_event *at)
{
    return at->record->message.bytes > 0 ||
           (!at->end->is_bytes && !(at->record->header.flags & RECORD_END_OF_FILE));
}

/* If several streams may have sent the same bytes, the first ones are taken. */
static int from_edges(struct causality_analysis *analysis, struct causality_event *at,
                      struct receiving *receiving)
{
    uint64_t known = 0;
    int result = 0;

    for (uint32_t i = 0; i < at->event->edge_count && result == 0; i++) {
        const struct history_edge *edge = &at->event->edges[i];
        if (!edge_is_message(edge))
            continue;
        if (known > 0 && known >= at->record->message.bytes) {
            analysis->sums.ambiguous++;
            continue;
        }
        known += edge->bytes;
        result = from_edge(analysis, at, causality_value(analysis, edge->value), receiving);
    }
    return result;
}

int causality_received(struct causality_analysis *analysis, struct causality_event *at)
{
    struct receiving receiving = {0};
    int result = 0;

    if (at->end == NULL) {
        analysis->sums.unknown_paths++;
        return 0;
    }
    if (!says_something(at)) {
        if (analysis->options.last)
            causality_last_ended(at);
        return 0;
    }
    if (parties_take_part(analysis, at) < 0)
        return -1;
    at->stream->inherited = (struct reference){0};
    if (at->process->role == ROLE_SERVER) {
        result = from_edges(analysis, at, &receiving);
        if (result == 0 && at->event->rest != REST_NONE)
            result = from_rest(analysis, at, &receiving);
    }
    pools_note_answer(at);
    at->end->turn = TURN_RECEIVED;
    at->end->in_call = 0;
    return result;
}
