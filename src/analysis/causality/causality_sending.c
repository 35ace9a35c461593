/* SPDX-License-Identifier: MIT */
/*
 * causality_sending.c: which step a SEND belongs to, and how that is known.
 *
 *      end that serves    a request is open there    --> it is answered: its latest step here
 *                         the answer is being sent   --> continues it
 *      end that calls     connected, not yet used    --> the step that connected
 *      any other                                     --> the step that the stream is in
 *
 * This is the rule of requests; causality_last.c has the other rule. If a process serves several requests at once, the
 * last row is only likely: see enum attribution.
 */
#include "analysis/causality/causality_private.h"

#include <stdlib.h>

/* ---- how it is known ---- */

/* The end by which the request of a step came to this process, if it is open there; else NULL. */
static struct causality_end *open_end(const struct causality_analysis *analysis,
                                      const struct step *step)
{
    struct causality_end *entry = end_of(analysis, step->entry);
    const struct step *open =
        entry == NULL || !entry->open ? NULL : step_of(analysis, entry->entry);

    return open != NULL && open->request == step->request ? entry : NULL;
}

/* For a step that the stream is in, or was in when so many requests were open. The step's own request does not count as
 * another one. */
static enum attribution attribute(const struct causality_analysis *analysis,
                                  const struct causality_event *at, const struct step *step,
                                  uint32_t process_open, uint32_t stream_open)
{
    if (process_open > 1 && stream_open > 1) /* at least one of them is another request */
        return ATTRIBUTION_LATEST;
    const struct causality_end *entry = open_end(analysis, step);
    bool own = entry != NULL;
    bool own_thread = own && entry->stream.index_and_1 == at->stream->index + 1;

    if (process_open == own)
        return ATTRIBUTION_ALONE;
    return stream_open == own_thread ? ATTRIBUTION_THREAD : ATTRIBUTION_LATEST;
}

enum attribution causality_attribute(const struct causality_analysis *analysis,
                                     const struct causality_event *at, const struct step *step)
{
    return attribute(analysis, at, step, at->process->open, at->stream->open);
}

/* ---- messages ---- */

bool causality_is_same_message(const struct causality_analysis *analysis,
                               const struct causality_event *at, struct reference step)
{
    const struct causality_end *end = at->end;

    if (end->sent == 0)
        return false;
    if (end->in_call == at->stream->index + 1 || at->record->header.flags & RECORD_CONTINUED)
        return true;
    return end->is_bytes && !end->is_pipe && !analysis->options.each_send &&
           end->turn == TURN_SENT && same_reference(end->answer, step);
}

/* A SENDCALL reports a call whose SEND comes later. */
static void note_call(const struct causality_event *at)
{
    at->end->in_call = at->record->header.id == EVENT_SENDCALL ? at->stream->index + 1 : 0;
}

/* Stores with the event what its RECEIVE needs. */
static void tell(struct causality_analysis *analysis, const struct causality_event *at,
                 const struct sent_value *like)
{
    struct causality_end *end = at->end;
    bool same = causality_is_same_message(analysis, at, like->step);

    if (!same)
        end->sent = ++analysis->messages;
    else if (end->in_call == 0 && !(at->record->header.flags & RECORD_CONTINUED))
        analysis->sums.joined++;
    end->answer = like->step;
    end->turn = TURN_SENT;
    end->sent_attribution = same ? end->sent_attribution : like->attribution;
    note_call(at);
    struct sent_value *value = causality_value(analysis, at->event->value);
    if (value == NULL)
        return;
    *value = *like;
    value->message = end->sent;
    value->attribution = end->sent_attribution;
}

/* ---- the step ---- */

/* The latest step of the open request; that of this stream, if it is in one. */
static struct reference answering_step(const struct causality_analysis *analysis,
                                       const struct causality_event *at)
{
    const struct step *current = step_of(analysis, at->stream->current);
    const struct step *entry = step_of(analysis, at->end->entry);

    return current != NULL && entry != NULL && current->request == entry->request
               ? at->stream->current
               : at->end->latest;
}

/* Whether two requests that the stream has received differ only in their calls, and came in this order. */
static bool may_be_exchanged(const struct causality_analysis *analysis,
                             const struct causality_event *at, const struct causality_end *end,
                             const struct causality_end *later)
{
    const struct step *root = step_of(analysis, end->entry),
                      *later_root = step_of(analysis, later->entry);

    return end->from_requestor && later->from_requestor &&
           same_reference(end->stream, later->stream) &&
           end->stream.index_and_1 == at->stream->index + 1 && root != NULL && later_root != NULL &&
           root->string == later_root->string && root->when <= later_root->when;
}

/* Requests 1 and 2 have come before a call, which was taken for one of request 2, the latest. But with its answer, the
 * stream replies to request 1 at once: so the call was that one's.
 *
 *      client 1     request 1                                    reply 1
 *      client 2        request 2
 *      back end                    call ............. answer             call of request 2     */
static void correct_guess(struct causality_analysis *analysis, const struct causality_event *at)
{
    const struct step *current = step_of(analysis, at->stream->current);
    struct causality_end *later = current == NULL ? NULL : open_end(analysis, current);

    if (later == NULL || later == at->end || !later->guessed || at->end->has_called ||
        same_reference(at->stream->current, later->entry) ||
        !may_be_exchanged(analysis, at, at->end, later))
        return;
    requests_exchange(analysis, at->end, later);
    parties_undo_call(analysis, later);
    parties_call(analysis, at->end);
    later->guessed = false;
}

static void count_reply(struct causality_analysis *analysis, const struct causality_event *at,
                        uint32_t string)
{
    analysis->strings.at[string].replies++;
    moments_count(analysis, at->event->event.origin, at->event->when, string, true);
}

/* Answers the request that is open at this end. */
static struct sent_value answer(struct causality_analysis *analysis,
                                const struct causality_event *at)
{
    correct_guess(analysis, at);
    struct sent_value value = {.kind = SENT_STEP, .step = answering_step(analysis, at)};
    const struct step *step = step_of(analysis, value.step);
    value.attribution = at->end->overlap > 0 ? ATTRIBUTION_OVERLAP : ATTRIBUTION_PATH;
    if (at->end->from_requestor) {
        analysis->sums.replies++;
        requests_note_answer(analysis, step);
        if (step != NULL)
            count_reply(analysis, at, step->string);
    }
    parties_close(analysis, at->end);
    return value;
}

/* Whether it continues an answer, or what a call has begun. */
static bool goes_on(const struct causality_analysis *analysis, const struct causality_event *at)
{
    const struct causality_end *end = at->end;

    if (end->sent == 0)
        return false;
    if (end->in_call == at->stream->index + 1 || at->record->header.flags & RECORD_CONTINUED)
        return true;
    return end->side == SIDE_SERVES && end->is_bytes && !analysis->options.each_send &&
           end->turn == TURN_SENT;
}

/* Whether it may answer something from before the recording: nothing was received here yet. */
static bool is_of_the_past(const struct causality_end *end)
{
    return end->older && end->side == SIDE_SERVES && end->turn == TURN_NONE;
}

/* A call for a request that is answered, while another request is open, is taken for a call of that one: it has waited
 * for a connection, say.
 *
 *      connection to the back end   call 1 ......... answer 1  call 2 ......... answer 2
 *      client 1                  request 1                reply 1
 *      client 2                           request 2                            reply 2      */
static void pass_on_call(const struct causality_analysis *analysis,
                         const struct causality_event *at, struct sent_value *value)
{
    const struct step *step = step_of(analysis, value->step);

    if (step == NULL || step->entry.index_and_1 == 0 || open_end(analysis, step) != NULL)
        return;
    const struct causality_end *open = parties_longest_open(analysis, at);
    if (open == NULL || step_of(analysis, open->latest) == NULL)
        return;
    value->step = open->latest;
    value->attribution = ATTRIBUTION_WAITING;
}

static int note_caller(struct causality_analysis *analysis, const struct causality_event *at,
                       struct reference caller, enum attribution attribution)
{
    const struct step *step = step_of(analysis, caller);
    struct causality_end *open = step == NULL ? NULL : open_end(analysis, step);

    int result = at->end->is_pipe ? 0 : pools_note_call(analysis, at, open);
    if (open != NULL) {
        open->guessed = !open->has_called && attribution == ATTRIBUTION_LATEST;
        parties_call(analysis, open);
    }
    at->end->forwarded = caller;
    return result;
}

static int go_on(struct causality_analysis *analysis, const struct causality_event *at,
                 struct sent_value *ret_value)
{
    struct sent_value value = {.kind = SENT_STEP, .step = at->stream->current};
    struct causality_end *end = at->end;

    if (end->connecting) {
        value.step = end->forwarded;
        value.attribution = end->attribution;
    } else {
        const struct step *step = step_of(analysis, value.step);
        if (step != NULL)
            value.attribution = (uint8_t)causality_attribute(analysis, at, step);
    }
    end->connecting = false;
    if (is_of_the_past(end))
        value.step = (struct reference){0};
    if (end->side == SIDE_CALLS && !end->is_pipe) /* a pipe gets no answers: logs, say */
        pass_on_call(analysis, at, &value);
    *ret_value = value;
    return end->side == SIDE_CALLS ? note_caller(analysis, at, value.step, value.attribution) : 0;
}

static int enter_inherited(struct causality_analysis *analysis, const struct causality_event *at,
                           struct reference from)
{
    struct reference step;
    int result = requests_continue(analysis, at, from, &step);

    if (result == 0)
        causality_enter(analysis, at, step);
    return result;
}

/* The first send of a process that was created for a request: the process gets a step of its own, as if it had been
 * called. */
static int inherit(struct causality_analysis *analysis, const struct causality_event *at)
{
    struct reference from = at->stream->inherited;

    at->stream->inherited = (struct reference){0};
    if (step_of(analysis, from) == NULL || step_of(analysis, at->stream->current) != NULL)
        return 0;
    if (parties_become_server(analysis, at->process) < 0)
        return -1;
    analysis->sums.arcs++;
    analysis->sums.attributed[ATTRIBUTION_CREATION]++;
    struct causality_event without_end = *at;
    without_end.end = NULL;
    return enter_inherited(analysis, &without_end, from);
}

static bool says_something(const struct causality_event *at)
{
    const struct record *record = at->record;

    if (record->header.id == EVENT_SENDCALL)
        return record->message.bytes > 0;
    return record->message.bytes > 0 || !at->end->is_bytes;
}

/* For the send of a process that is not a server process. */
static struct sent_value outside(const struct causality_event *at)
{
    return (struct sent_value){
        .kind = at->end->side == SIDE_SERVES ? SENT_SYSTEM : SENT_REQUEST,
        .member = at->process->member,
    };
}

int causality_sent(struct causality_analysis *analysis, struct causality_event *at)
{
    struct sent_value value;

    if (at->end == NULL) {
        analysis->sums.unknown_paths++;
        return 0;
    }
    if (!says_something(at))
        return 0;
    if (parties_take_part(analysis, at) < 0)
        return -1;
    if (at->stream->inherited.index_and_1 != 0 && analysis->options.server_count == 0 &&
        inherit(analysis, at) < 0)
        return -1;
    if (at->process->role != ROLE_SERVER) {
        value = outside(at);
    } else if (analysis->options.last) {
        if (causality_last_sent(analysis, at, &value) < 0)
            return -1;
    } else if (at->end->open && at->end->side == SIDE_SERVES && at->end->in_call == 0) {
        value = answer(analysis, at);
    } else if (goes_on(analysis, at)) {
        value = (struct sent_value){
            .kind = SENT_STEP, .step = at->end->answer, .attribution = at->end->sent_attribution};
    } else if (go_on(analysis, at, &value) < 0) {
        return -1;
    }
    struct step *step = step_of(analysis, value.step);
    if (step != NULL && step->last < at->event->when)
        step->last = at->event->when;
    tell(analysis, at, &value);
    return 0;
}

/* ---- connections ---- */

static void make_past(struct causality_analysis *analysis, struct causality_stream *stream)
{
    uint32_t most =
        analysis->past_steps + PAST_STEPS <= PAST_STEPS_TOTAL ? PAST_STEPS : PAST_STEPS_FEW;

    stream->past = calloc(most, sizeof(*stream->past));
    if (stream->past == NULL)
        return; /* its connections will be unknown, which is counted */
    stream->past_capacity = most;
    analysis->past_steps += most;
}

/* Doubles the capacity after a look far back, since the next one may go further. */
static void extend_past(struct causality_analysis *analysis, struct causality_stream *stream,
                        uint32_t looked_back)
{
    uint32_t capacity = stream->past_capacity;

    if (capacity == 0 || looked_back <= capacity / 2 || capacity >= PAST_STEPS_MOST ||
        analysis->past_steps + capacity > PAST_STEPS_TOTAL)
        return;
    struct past_step *past = calloc(2UL * capacity, sizeof(*past));
    if (past == NULL)
        return;
    for (uint32_t i = stream->past_count - stream->past_kept; i != stream->past_count; i++)
        past[i % (2 * capacity)] = stream->past[i % capacity];
    free(stream->past);
    stream->past = past;
    stream->past_capacity = 2 * capacity;
    analysis->past_steps += capacity;
}

static unsigned few_open(uint32_t open)
{
    return open < PAST_OPEN_MOST ? open : PAST_OPEN_MOST;
}

void causality_enter(struct causality_analysis *analysis, const struct causality_event *at,
                     struct reference step)
{
    struct causality_stream *stream = at->stream;

    stream->current = step;
    if (analysis->options.last)
        return; /* this rule needs no past steps */
    if (stream->past == NULL)
        make_past(analysis, stream);
    if (stream->past == NULL)
        return;
    stream->past_kept += stream->past_kept < stream->past_capacity;
    stream->past[stream->past_count++ % stream->past_capacity] = (struct past_step){
        .since = at->record->header.time,
        .step = step,
        .process_open = few_open(at->process->open),
        .stream_open = few_open(stream->open),
    };
}

/* Finds what the stream was in at `time`. Returns false if that is no longer known. */
static bool find_past(struct causality_analysis *analysis, struct causality_stream *stream,
                      uint64_t time, struct past_step *ret_past)
{
    uint32_t kept = stream->past_kept;
    bool has_more = stream->past_count > kept;
    uint32_t back = 1;

    *ret_past = (struct past_step){0};
    while (back <= kept &&
           stream->past[(stream->past_count - back) % stream->past_capacity].since > time)
        back++;
    if (back <= kept)
        *ret_past = stream->past[(stream->past_count - back) % stream->past_capacity];
    extend_past(analysis, stream, back);
    return back <= kept || !has_more;
}

/* CONNECT is reported when the connection is first used, and other requests may have come since it was made. What it
 * was made for uses it first. */
int causality_connected(struct causality_analysis *analysis, struct causality_event *at)
{
    uint64_t made = at->record->header.time - message_span(at->record);

    if (analysis->options.last || at->end == NULL || at->process->role != ROLE_SERVER ||
        at->end->turn != TURN_NONE)
        return 0;
    struct past_step past;
    if (!find_past(analysis, at->stream, made, &past)) {
        at->end->connecting = true; /* no known step */
        analysis->sums.unknown_connections++;
        return 0;
    }
    const struct step *step = step_of(analysis, past.step);
    if (step == NULL)
        return 0;
    enum attribution then = attribute(analysis, at, step, past.process_open, past.stream_open);
    enum attribution now = causality_attribute(analysis, at, step);
    bool threads = at->process->streams > 1; /* other threads may have got requests since */
    at->end->connecting = true;
    at->end->forwarded = past.step;
    at->end->attribution = (uint8_t)(threads && now > then ? now : then);
    return 0;
}
