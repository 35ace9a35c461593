/* SPDX-License-Identifier: MIT */
/* elapsed_causes.c: what a thread waited for, and what ended the wait. See elapsed_private.h. */
#include "analysis/elapsed/elapsed_private.h"

#include "meter/shared/message.h"

/* ns: what has ended a wait may be noted this much before the wait began. */
#define SOON 1000000u

uint32_t elapsed_source_of(const struct elapsed_analysis *analysis, const struct history_edge *edge)
{
    const uint32_t *value = history_value_at(edge->value, analysis->value);

    if (value != NULL)
        return *value;
    const struct elapsed_thread *thread = elapsed_find_thread(analysis, edge->origin, edge->stream);
    return thread == NULL ? 0 : thread->latest;
}

/* What may have ended a wait, the better the later in this list. */
enum rank {
    RANK_NONE,
    RANK_OTHER, /* no message: of several the latest */
    RANK_LATE, /* perhaps a message of these, sent after it was received: clocks are uncertain. The earliest */
    RANK_PERHAPS, /* perhaps one of these: the latest, as earlier ones were probably received before */
    RANK_CERTAIN, /* all of these messages: the first one */
};

struct cause {
    enum rank rank;
    uint32_t source; /* interval */
    uint64_t arrival, sent;
    bool is_likely, by_ending; /* as in struct interval */
};

static enum rank rank_of(const struct history_edge *edge, uint64_t sent, uint64_t received)
{
    if (!edge_is_message(edge))
        return RANK_OTHER;
    if (edge->kind == EDGE_EXACT)
        return RANK_CERTAIN;
    return sent > received ? RANK_LATE : RANK_PERHAPS;
}

static bool is_better(const struct cause *cause, const struct cause *than)
{
    if (cause->rank != than->rank)
        return cause->rank > than->rank;
    switch (cause->rank) {
    case RANK_CERTAIN:
        return cause->arrival < than->arrival;
    case RANK_PERHAPS:
        return cause->sent > than->sent;
    case RANK_LATE:
        return cause->sent < than->sent;
    default:
        return cause->arrival > than->arrival;
    }
}

/* The end of a file comes when a process that ends closes it, some time after its last record: perhaps the wait began in
 * between. */
static bool is_of_ending(const struct elapsed_analysis *analysis, const struct history_edge *edge,
                         const struct cause *cause, uint64_t received)
{
    return edge->kind == EDGE_END && !cause->is_likely &&
           interval_at(analysis, cause->source)->terminates &&
           received <= cause->arrival + history_closing_most(edge->proc_time);
}

/* `received`: when the event happened, or its message arrived. */
static struct cause cause_of(const struct elapsed_analysis *analysis,
                             const struct history_event *event, const struct history_edge *edge,
                             uint64_t arrived, uint64_t received)
{
    bool ends_wait = edge->kind != EDGE_CREATION && edge->kind != EDGE_FILE;
    struct cause cause = {.source = ends_wait ? elapsed_source_of(analysis, edge) : 0};

    if (cause.source == 0)
        return cause;
    cause.is_likely = edge->kind == EDGE_END && edge->path == 0;
    cause.arrival = cause.sent = begun_at(interval_at(analysis, cause.source));
    if (edge_is_message(edge) && arrived > cause.sent)
        cause.arrival = arrived;
    else if (edge_is_message(edge) && event->came < event->event.header->time)
        cause.arrival = history_common_time(analysis->history, event->event.origin, event->came);
    cause.by_ending = is_of_ending(analysis, edge, &cause, received);
    cause.rank = rank_of(edge, cause.sent, received);
    return cause;
}

void elapsed_find_cause(struct elapsed_analysis *analysis, const struct history_event *event,
                        uint64_t began, uint64_t arrived, bool earlier, struct interval *interval)
{
    uint64_t received =
        arrived != 0 ? arrived
                     : history_common_time(analysis->history, event->event.origin, event->when);
    struct cause best = {0};

    for (uint32_t i = 0; i < event->edge_count; i++) {
        const struct history_edge *edge = &event->edges[i];
        if (!interval->asleep && edge->earlier != earlier)
            continue; /* it ended another wait */
        const struct cause cause = cause_of(analysis, event, edge, arrived, received);
        if (cause.source == 0 || (began == 0 && !edge_is_message(edge)))
            continue;
        if (edge->kind != EDGE_WAKEUP && cause.arrival + SOON < began && !cause.by_ending)
            continue; /* it was there before the wait */
        if (is_better(&cause, &best))
            best = cause;
    }
    if (best.source == 0)
        return;
    interval->source = best.source;
    interval->arrival = best.arrival;
    interval->is_message = best.rank > RANK_OTHER;
    interval->is_likely = best.is_likely;
    interval->by_ending = best.by_ending;
}

/* ---- what it was for ---- */

bool elapsed_is_one_socket(const struct elapsed_analysis *analysis, uint32_t origin, uint32_t path,
                           uint32_t other)
{
    const struct identities *identities = history_identities(analysis->history);
    const struct path_record *one = identities_path(identities, origin, path);
    const struct path_record *second = identities_path(identities, origin, other);

    /* a UDP socket has a path for each peer */
    return path == other || (one != NULL && second != NULL && one->kind == second->kind &&
                             one->cookie != 0 && one->cookie == second->cookie);
}

/* Whether the other end has ended a wait for it: with space, or with its answer to connect. */
static bool is_end_of_wait(const struct history_event *event)
{
    uint16_t id = event->event.header->id;

    return is_send(event) || id == EVENT_CONNECT || id == EVENT_CONNECTFAILED;
}

bool elapsed_is_reply_to_connect(const struct elapsed_analysis *analysis,
                                 const struct elapsed_thread *thread,
                                 const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    uint16_t id = record->header.id;

    if ((id != EVENT_CONNECT && id != EVENT_CONNECTFAILED) || thread->last == 0)
        return false;
    /* else its connect() came after the wait, whose end made no record */
    uint64_t called = record->header.time - message_span(record);
    return history_common_time(analysis->history, event->event.origin, called) <=
           interval_at(analysis, thread->last)->end;
}

/* ns: the limit counts from the beginning of the call, and a RECEIVECALL is made when its thread falls asleep. */
#define CALL_BEFORE_SLEEP 1000000u

/* Whether the time limit of the call has passed. */
static bool has_timed_out(const struct elapsed_thread *thread, const struct interval *interval)
{
    uint64_t limit = thread->limit;

    if (limit == 0 || limit == UINT64_MAX)
        return false;
    limit -= limit / 4 < CALL_BEFORE_SLEEP ? limit / 4 : CALL_BEFORE_SLEEP;
    return interval->wait - interval->queued >= limit;
}

/* ns, beside a part of it: what is that much longer than its time limit has ended before, and the record of that is missing. */
#define LIMIT_LATE 100000000u

static bool is_longer_than_limit(const struct elapsed_thread *thread,
                                 const struct interval *interval)
{
    return interval->wait - interval->queued > thread->limit + thread->limit / 4 + LIMIT_LATE;
}

/* Whether records of the machine were lost during a sleep: one of them may have told what ended it. */
static bool has_lost(const struct elapsed_analysis *analysis, uint32_t origin,
                     const struct interval *interval)
{
    uint64_t lost = origin < analysis->lost_room ? analysis->lost[origin] : 0;

    return lost != 0 && lost >= interval->end - interval->cpu - interval->wait;
}

/* Whether it waited for an answer, and had none at the end. */
static bool had_no_answer(const struct elapsed_analysis *analysis,
                          const struct elapsed_thread *thread, uint32_t origin)
{
    return thread->asked != 0 && thread->awaited != 0 &&
           elapsed_is_one_socket(analysis, origin, thread->awaited, thread->asked);
}

static enum elapsed_kind outside(bool not_found)
{
    return not_found ? ELAPSED_NOT_FOUND : ELAPSED_OUTSIDE;
}

enum elapsed_kind elapsed_unexplained_of_any(const struct elapsed_analysis *analysis,
                                             const struct elapsed_thread *thread,
                                             const struct history_event *event,
                                             const struct interval *interval)
{
    if (thread->call == MPI_ANY_CALL)
        return ELAPSED_MPI;
    if (thread->connected != 0 || elapsed_is_reply_to_connect(analysis, thread, event))
        return ELAPSED_CONNECT;
    if (thread->accepted != 0)
        return outside(
            history_peer_not_found(analysis->history, event->event.origin, thread->accepted));
    if (has_lost(analysis, event->event.origin, interval))
        return ELAPSED_UNKNOWN;
    if (!has_timed_out(thread, interval))
        return ELAPSED_EVENT; /* or its limit is not known */
    if (is_longer_than_limit(thread, interval))
        return ELAPSED_UNKNOWN;
    return had_no_answer(analysis, thread, event->event.origin) ? ELAPSED_NO_ANSWER : ELAPSED_TIMER;
}

enum elapsed_kind elapsed_unexplained(const struct elapsed_analysis *analysis,
                                      const struct elapsed_thread *thread,
                                      const struct history_event *event,
                                      const struct interval *interval)
{
    const struct record *record = (const struct record *)event->event.header;
    uint16_t id = record->header.id;

    if (thread->stopped)
        return ELAPSED_STOPPED;
    if (id == EVENT_BLOCK && !thread->asleep && (record->header.flags & RECORD_TIME_LIMIT))
        return ELAPSED_LIMIT; /* no other thread has woken it */
    if (id == EVENT_BLOCK && !thread->asleep)
        return kind_of_block(analysis, event);
    if (event->joined && id == EVENT_RECEIVE)
        return ELAPSED_UNKNOWN; /* a metered process has sent, or closed the other end */
    if (id == EVENT_RECEIVE || id == EVENT_ACCEPT)
        return outside(event->not_found);
    if (thread->for_any)
        return elapsed_unexplained_of_any(analysis, thread, event, interval);
    if (thread->receives) /* a time limit of its socket, or a signal */
        return had_no_answer(analysis, thread, event->event.origin) &&
                       !has_lost(analysis, event->event.origin, interval)
                   ? ELAPSED_NO_ANSWER
                   : ELAPSED_UNKNOWN;
    if (event->joined && is_send(event))
        return ELAPSED_SPACE;
    return is_end_of_wait(event) ? outside(event->not_found) : ELAPSED_UNKNOWN;
}

uint32_t elapsed_call_of_wait(const struct elapsed_thread *thread,
                              const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    if (thread->asleep)
        return thread->call;
    return record->header.id == EVENT_BLOCK ? record->block.system_call : NO_SYSTEM_CALL;
}

enum elapsed_kind elapsed_waited_for(const struct elapsed_analysis *analysis,
                                     const struct elapsed_thread *thread,
                                     const struct history_event *event,
                                     const struct interval *interval)
{
    const struct record *record = (const struct record *)event->event.header;

    if (interval->source == 0)
        return elapsed_unexplained(analysis, thread, event, interval);
    if (is_send(event) && thread->asleep && !thread->for_any)
        return ELAPSED_SPACE;
    if (interval->is_message || (thread->asleep && !thread->for_any))
        return ELAPSED_IN_FLIGHT; /* or for an end of file, or for a connection */
    if (thread->asleep)
        return ELAPSED_EVENT;
    return record->header.id == EVENT_BLOCK ? kind_of_block(analysis, event) : ELAPSED_UNKNOWN;
}

uint32_t elapsed_path_of_wait(const struct elapsed_thread *thread,
                              const struct history_event *event, enum elapsed_kind kind)
{
    const struct record *record = (const struct record *)event->event.header;
    const uint64_t with_path =
        EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL) | EVENT_FLAG(EVENT_RECEIVECALL) |
        EVENT_FLAG(EVENT_RECEIVE) | EVENT_FLAG(EVENT_CONNECT) | EVENT_FLAG(EVENT_ACCEPT) |
        EVENT_FLAG(EVENT_CONNECTFAILED); /* the path is its first field, too */

    if (kind == ELAPSED_NO_ANSWER)
        return thread->asked;
    if (kind == ELAPSED_CONNECT && thread->connected != 0)
        return thread->connected;
    if ((kind == ELAPSED_OUTSIDE || kind == ELAPSED_NOT_FOUND) && thread->accepted != 0)
        return thread->accepted;
    return with_path >> record->header.id & 1 ? record->message.path : 0;
}
