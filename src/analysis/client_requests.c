/* SPDX-License-Identifier: MIT */
/* client_requests.c: requests of clients. See client_requests.h. */
#include "analysis/client_requests.h"

#include "event/system_calls.h"
#include "meter/shared/message.h"

#include <errno.h>
#include <stdlib.h>

#define SECOND      1000000000u
#define SOON        1000000u /* ns: another thread may send the first message so soon after the connect */
#define NAME_SERVER 53       /* port */

/* A thread, as far as it asks. */
struct asker {
    uint32_t origin, stream; /* number */
    uint32_t end;            /* place of the end where it asked last; 0: none, or it was answered */
    uint32_t waits;          /* how often it has waited for messages, or received one */
    bool has_waited;         /* for the answer, since it asked */
    bool is_evident;         /* that it is a question which it waits for */
    bool has_closed;         /* it gave up waiting, and closed the end ... */
    struct question closed;  /* ... where this was asked */
};

uint64_t asking_resent(uint64_t connecting)
{
    return connecting / SECOND * SECOND;
}

void askings_done(struct askings *askings)
{
    free(askings->questions);
    free(askings->askers);
    free(askings->gaps);
    *askings = (struct askings){0};
}

static struct question *question_at(const struct askings *askings, uint32_t place)
{
    return place == 0 || place > askings->question_room ? NULL : &askings->questions[place - 1];
}

static struct asker *asker_at(const struct askings *askings, uint32_t place)
{
    return place == 0 || place > askings->asker_room ? NULL : &askings->askers[place - 1];
}

/* ---- ends and threads ---- */

enum asking_side asking_side_of(const struct path_record *path, const struct record *record)
{
    bool guessed;

    if (path == NULL || kind_is_pipe(path->kind) || kind_is_mq(path->kind) ||
        path->kind == PATH_FILE)
        return ASKING_NO_SIDE;
    switch (path_side(path, &guessed)) {
    case PATH_SIDE_CALLS:
        return ASKING_CALLS;
    case PATH_SIDE_SERVES:
        return ASKING_SERVES;
    default:
        return record->header.id == EVENT_SEND ? ASKING_CALLS : ASKING_SERVES;
    }
}

static bool is_of_pair(const struct path_record *path)
{
    bool guessed;

    return (path->kind == PATH_UNIX_STREAM || path->kind == PATH_UNIX_SEQPACKET) &&
           path_side(path, &guessed) == PATH_SIDE_UNKNOWN;
}

static int note_gap(struct askings *askings, const struct event *event)
{
    if (array_reserve(&askings->gaps, &askings->gap_room, event->origin + 1UL,
                      sizeof(*askings->gaps)) < 0)
        return -ENOMEM;
    message_gap_note(&askings->gaps[event->origin], event->header);
    return 0;
}

uint64_t askings_gap(const struct askings *askings, uint32_t origin)
{
    return origin < askings->gap_room ? askings->gaps[origin].end : 0;
}

/* Its answer may have come while messages were not recorded. */
static bool is_lost(const struct askings *askings, const struct question *question)
{
    return question->sent < askings_gap(askings, question->origin);
}

static void close_lost(const struct askings *askings, struct question *question)
{
    if (is_lost(askings, question))
        question->is_open = false;
}

/* The end of a message or a connect. NULL: out of memory. */
static struct question *question_of(struct askings *askings, const struct identities *identities,
                                    const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    uint32_t place = event->end_place, origin = event->event.origin;

    if (array_reserve(&askings->questions, &askings->question_room, place,
                      sizeof(*askings->questions)) < 0)
        return NULL;
    struct question *question = &askings->questions[place - 1];
    if (question->number != record->message.path || question->origin != origin)
        *question = (struct question){.number = record->message.path, .origin = origin};
    close_lost(askings, question);
    if (question->side != ASKING_SIDE_NOT_KNOWN || record->header.id == EVENT_CONNECT)
        return question;
    const struct path_record *path = identities_path(identities, origin, record->message.path);
    question->side = (uint8_t)asking_side_of(path, record);
    question->is_of_pair = path != NULL && is_of_pair(path);
    question->is_datagram = path != NULL && kind_counts_messages(path->kind);
    question->port = path != NULL && kind_is_internet(path->kind) ? path->remote_port : 0;
    return question;
}

static struct asker *asker_of(struct askings *askings, const struct history_event *event)
{
    uint32_t place = event->stream_place;

    if (array_reserve(&askings->askers, &askings->asker_room, place, sizeof(*askings->askers)) < 0)
        return NULL;
    struct asker *asker = &askings->askers[place - 1];
    if (asker->stream != event->event.header->stream || asker->origin != event->event.origin)
        *asker =
            (struct asker){.origin = event->event.origin, .stream = event->event.header->stream};
    return asker;
}

/* ---- waits for an answer ---- */

static void note_wait(const struct askings *askings, struct asker *asker,
                      const struct record *record)
{
    struct question *question = question_at(askings, asker->end);
    uint32_t path = record->message.path != 0 ? record->message.path : record->any.only_path;

    asker->waits++;
    if (question == NULL || question->is_answered || (path != 0 && path != question->number))
        return;
    asker->has_waited = true;
    question->left = 0;
    asker->is_evident = asker->is_evident || question->was_answered ||
                        (!question->is_of_pair && (path != 0 || question->port == NAME_SERVER ||
                                                   call_is_poll(record->any.system_call)));
}

static bool waits_for(const struct asker *asker, const struct question *question, uint32_t place)
{
    return asker != NULL && asker->end == place && asker->has_waited && question->is_open &&
           !question->is_answered;
}

/* The thread waits no longer for this question, since then or earlier. */
static void leave(struct question *question, const struct asker *asker, uint64_t when)
{
    if (question->left != 0)
        return;
    question->left = when;
    question->is_evident = asker->is_evident;
}

/* A question has no answer, and was waited for until then. */
static void note_vain(struct question *question, uint32_t place, uint64_t until,
                      struct asking_step *step)
{
    uint64_t time = until > question->sent ? until - question->sent : 0;

    question->vain_count++;
    question->vain_time = time;
    step->vain_time = time;
    step->vain_end = place;
}

/* An answer has come after all, to a question that was asked again. */
static void take_back_vain(struct question *question, struct asking_step *step)
{
    if (question->vain_count == 0)
        return;
    question->vain_count--;
    step->is_late = true;
    step->late_time = question->vain_time;
}

/* ---- sends ---- */

/* Whether the connection was made for the request that is sent over it now. */
static bool is_made_for_it(const struct question *question, const struct asker *asker,
                           const struct history_event *event)
{
    if (!question->is_connecting || question->was_used || event->when < question->connect_end)
        return false;
    return event->when - question->connect_end <= SOON ||
           (question->connector == event->stream_place &&
            question->connector_waits == asker->waits);
}

static void begin(struct question *question, const struct asker *asker,
                  const struct history_event *event)
{
    bool made = is_made_for_it(question, asker, event);

    question->begin = made ? question->connect_begin : event->when;
    question->connected = made ? question->connect_end : 0;
    question->was_made = question->was_made || made;
    question->first_sent = event->when;
    question->tries = 1;
    question->is_open = true;
    question->is_answered = question->is_superseded = false;
    question->from = question->to = 0;
    question->answers = question->vain_count = 0;
    question->left = 0;
}

static void note_try(struct question *question, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    question->sent = event->when;
    question->left = 0;
    question->size = record->message.bytes;
    question->parts = 1;
    question->asker = event->stream_place;
}

/* Whether what is sent now is what the thread asked for in vain before, at the end `other`. */
static bool is_same_again(const struct question *other, const struct question *question,
                          const struct record *record)
{
    return other->is_datagram && question->is_datagram && other->size == record->message.bytes &&
           other->port == question->port;
}

/* What the thread last asked in vain; NULL: its last question was answered, or it did not wait for the answer. */
static struct question *asked_in_vain(const struct askings *askings, struct asker *asker)
{
    struct question *question = question_at(askings, asker->end);

    if (asker->has_closed)
        return is_lost(askings, &asker->closed) ? NULL : &asker->closed;
    return question != NULL && waits_for(asker, question, asker->end) ? question : NULL;
}

/* `question` continues the request of `other`, at another end. */
static void continue_from(const struct question *other, struct question *question)
{
    question->begin = other->begin;
    question->connected = other->connected;
    question->first_sent = other->first_sent;
    question->tries = other->tries + 1;
}

/* The thread asks this end, and no longer `other`; NULL: it asked none in vain. */
static void note_next(struct asker *asker, const struct history_event *event,
                      struct question *question, struct question *other, struct asking_step *step)
{
    const struct record *record = (const struct record *)event->event.header;
    bool again = other != NULL && is_same_again(other, question, record);
    bool in_progress = question->is_open && !question->is_answered && !question->is_superseded;

    bool is_other = other == question && question->is_datagram; /* it asks for something else now */

    if (other != NULL && !asker->has_closed && (again || is_other) && asker->is_evident)
        note_vain(other, asker->end, event->when, step);
    if (again) {
        step->from = asker->has_closed ? 0 : asker->end;
        step->from_sent = other->sent;
        step->from_closed = asker->has_closed;
    }
    if (in_progress && again && other == question) {
        step->what = ASKING_REPEATS;
        question->tries++;
        return;
    }
    if (in_progress && !again && !is_other) {
        step->what = ASKING_GOES_ON;
        question->parts++;
        return;
    }
    step->what = ASKING_BEGINS;
    begin(question, asker, event);
    if (!again)
        return;
    continue_from(other, question);
    question->from = step->from;
    other->is_superseded = true;
    other->to = event->end_place;
}

static void note_send(struct askings *askings, const struct history_event *event,
                      struct question *question, struct asker *asker, struct asking_step *step)
{
    note_next(asker, event, question, asked_in_vain(askings, asker), step);
    question->was_used = true;
    if (step->what != ASKING_GOES_ON)
        note_try(question, event);
    asker->end = event->end_place;
    asker->has_waited = asker->is_evident = asker->has_closed = false;
}

/* ---- receives ---- */

/* The end that was asked first has answered: what was asked next is a request of its own, as far as is known. */
static void take_back(struct askings *askings, struct question *question, uint32_t place,
                      struct asking_step *step)
{
    struct question *next = question_at(askings, question->to);

    question->is_superseded = false;
    take_back_vain(question, step);
    if (next == NULL || next->from != place || !next->is_open || next->is_answered)
        return;
    next->begin = next->first_sent = next->sent;
    next->tries = 1;
    next->connected = 0;
    next->from = 0;
    step->instead = question->to;
}

static void note_receive(struct askings *askings, const struct history_event *event,
                         struct question *question, struct asker *asker, struct asking_step *step)
{
    const struct record *record = (const struct record *)event->event.header;
    bool was_answered = question->is_answered;

    asker->waits++;
    asker->has_closed = false;
    if (asker->end == event->end_place)
        asker->end = 0;
    else
        asker->has_waited = false; /* for other things, too */
    question->was_used = true;
    if (record->header.flags & RECORD_END_OF_FILE || !question->is_open)
        return;
    question->answers++;
    if (question->tries > 1 && question->answers > question->parts) {
        take_back_vain(question, step);
        return;
    }
    if (question->is_superseded)
        take_back(askings, question, event->end_place, step);
    question->is_answered = question->was_answered = true;
    step->what = was_answered ? ASKING_MORE : ASKING_ANSWERED;
}

/* ---- events ---- */

static void note_connect(const struct history_event *event, struct question *question,
                         const struct asker *asker)
{
    const struct record *record = (const struct record *)event->event.header;
    uint64_t span = message_span(record);

    if (span == 0 || question->was_used)
        return;
    question->is_connecting = true;
    question->connect_begin = record->header.time - span;
    question->connect_end = record->header.time;
    question->connector = event->stream_place;
    question->connector_waits = asker->waits;
}

static struct question *question_that_ends(const struct askings *askings,
                                           const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct question *question = question_at(askings, event->end_place);

    return question == NULL || question->origin != event->event.origin ||
                   question->number != record->message.path
               ? NULL
               : question;
}

/* A TCP socket ends some time after its thread has closed it, which makes no record. */
static void note_end(const struct askings *askings, const struct history_event *event,
                     struct asking_step *step)
{
    struct question *question = question_that_ends(askings, event);

    if (question == NULL)
        return;
    struct asker *asker = asker_at(askings, question->asker);
    close_lost(askings, question);
    step->question = question;
    step->side = question->side;
    if (question->is_superseded)
        return;
    if (waits_for(asker, question, event->end_place)) {
        leave(question, asker, event->when);
        step->may_ask_again = asker->has_closed = true;
        asker->closed = *question; /* another end may get its place */
        asker->end = 0;
    }
    if (!question->is_open || question->is_answered || question->left == 0 || !question->is_evident)
        return;
    step->what = ASKING_GIVES_UP;
    note_vain(question, event->end_place, question->left, step);
}

/* The network's figures come when a connection ends, or the recording does. */
static void note_network(const struct askings *askings, const struct history_event *event,
                         struct asking_step *step)
{
    const struct record *record = (const struct record *)event->event.header;
    struct question *question = question_that_ends(askings, event);

    if (question == NULL || !question->was_made || record->network.retransmitted == 0)
        return;
    step->question = question;
    step->connecting = question->connect_end - question->connect_begin;
    step->is_resent = asking_resent(step->connecting) > 0;
    question->was_made = false; /* they may come twice */
}

static int note_message(struct askings *askings, const struct identities *identities,
                        const struct history_event *event, struct asking_step *step)
{
    uint16_t id = event->event.header->id;
    struct asker *asker = asker_of(askings, event);
    struct question *question =
        event->end_place == 0 ? NULL : question_of(askings, identities, event);

    if (asker == NULL || (event->end_place != 0 && question == NULL))
        return -ENOMEM;
    if (question == NULL)
        return 0;
    step->question = question;
    step->side = question->side;
    if (id == EVENT_CONNECT) {
        note_connect(event, question, asker);
    } else if (question->side == ASKING_CALLS) {
        if (id == EVENT_SEND)
            note_send(askings, event, question, asker, step);
        else
            note_receive(askings, event, question, asker, step);
    } else if (id == EVENT_RECEIVE) {
        asker->waits++;
    }
    return 0;
}

/* The first thing that a thread does after a wait for an answer. Perhaps it will wait again. */
static void note_move(const struct askings *askings, const struct history_event *event)
{
    const struct record_header *header = event->event.header;
    const struct asker *asker = asker_at(askings, event->stream_place);
    struct question *question = asker == NULL ? NULL : question_at(askings, asker->end);

    if (question != NULL)
        close_lost(askings, question);
    if (question != NULL && waits_for(asker, question, asker->end) &&
        header->id != EVENT_SCHEDULE && header->id != EVENT_STREAM &&
        asker->stream == header->stream && asker->origin == event->event.origin)
        leave(question, asker, event->when);
}

int askings_see(struct askings *askings, const struct identities *identities,
                const struct history_event *event, struct asking_step *ret_step)
{
    const struct record *record = (const struct record *)event->event.header;

    *ret_step = (struct asking_step){0};
    if (record->header.id == EVENT_FLAGS)
        return note_gap(askings, &event->event);
    if (record->header.id == EVENT_DESTROYPATH && event->end_place != 0)
        note_end(askings, event, ret_step);
    if (record->header.id == EVENT_NETWORK && event->end_place != 0)
        note_network(askings, event, ret_step);
    if (record->header.flags & RECORD_NO_STREAM || event->stream_place == 0)
        return 0;
    note_move(askings, event);
    switch (record->header.id) {
    case EVENT_SEND:
    case EVENT_RECEIVE:
    case EVENT_CONNECT:
        return note_message(askings, identities, event, ret_step);
    case EVENT_RECEIVECALL: {
        struct asker *asker = asker_of(askings, event);
        if (asker == NULL)
            return -ENOMEM;
        note_wait(askings, asker, record);
        return 0;
    }
    default:
        return 0;
    }
}

bool askings_waits(const struct askings *askings, uint32_t end_place)
{
    const struct question *question = question_at(askings, end_place);

    return question != NULL && !question->is_superseded && question->side == ASKING_CALLS &&
           waits_for(asker_at(askings, question->asker), question, end_place);
}
