/* SPDX-License-Identifier: MIT */
/* answers.c: request latencies and service times. See answers.h. */
#include "analysis/statistics/answers.h"

#include "analysis/statistics/endpoints.h"
#include "analysis/statistics/statistics_state.h"

static int cover(struct statistics *statistics, const struct usage *usage, uint64_t asked,
                 uint64_t ended)
{
    return coverings_add(&statistics->coverings,
                         usage->serves ? COVERING_RESPONSE : COVERING_REQUEST, usage->process,
                         NO_PROCESS, asked, ended);
}

/* Whether an answer is in progress that counts when it ends. */
static bool is_open(const struct usage *usage)
{
    return usage->request != 0 && !usage->checks.are_made;
}

int answers_cover(struct statistics *statistics, const struct usage *usage)
{
    return is_open(usage) ? cover(statistics, usage, usage->request, usage->answered) : 0;
}

int answers_close(struct usage *to, const struct usage *from)
{
    return is_open(from)
               ? usage_values_add(to, VALUE_ANSWER_WHOLE, time_since(from->request, from->answered))
               : 0;
}

int answers_add_open(const struct usage *usage, struct histogram *histogram, unsigned most)
{
    return is_open(usage)
               ? histogram_add(histogram, time_since(usage->request, usage->answered), most)
               : 0;
}

/* ---- after selection rules ---- */

/* Whether a message is missing before this one in its direction. The numbers of UDP's datagrams are the network's. */
static bool follows_gap(struct endpoint *endpoint, const struct record *record)
{
    bool is_sent = record->header.id == EVENT_SEND;
    uint32_t next = record->message.offset + (endpoint->numbered ? 1 : record->message.bytes);
    bool gap = endpoint->kind == PATH_UDP ||
               (endpoint->has_next[is_sent] && endpoint->next[is_sent] != record->message.offset);

    endpoint->next[is_sent] = next;
    endpoint->has_next[is_sent] = true;
    return gap;
}

/* What is missing may be a request or an answer of any process that uses this end. */
static void note_gap(struct endpoint *endpoint)
{
    for (struct usage *usage = endpoint->usages; usage != NULL; usage = usage->next) {
        usage->checks.gap = true;
        usage->checks.held.asked = 0;
    }
}

/* The next answer has come without a gap. */
static int count_held(struct statistics *statistics, struct usage *usage)
{
    struct answer_checks *checks = &usage->checks;
    uint64_t asked = checks->held.asked;

    if (asked == 0)
        return 0;
    checks->held.asked = 0;
    int result = usage_values_add(usage, VALUE_ANSWER, time_since(asked, checks->held.began));
    if (result == 0)
        result = usage_values_add(usage, VALUE_ANSWER_WHOLE, time_since(asked, checks->held.ended));
    return result < 0 ? result : cover(statistics, usage, asked, checks->held.ended);
}

static bool check_gaps(const struct statistics *statistics, struct endpoint *endpoint,
                       struct usage *usage, const struct record *record)
{
    if (statistics->origins[endpoint->origin].recorded.rules == 0)
        return false;
    usage->checks.are_made = true;
    if (follows_gap(endpoint, record))
        note_gap(endpoint);
    return true;
}

/* What was open when messages were not recorded for a time has no end that is known. */
static void forget_before_gap(const struct statistics *statistics, const struct endpoint *endpoint,
                              struct usage *usage)
{
    if (usage->last_time >= statistics->origins[endpoint->origin].gap.end)
        return;
    usage->asks = usage->request = 0;
    usage->last = 0;
}

/* ---- turns ---- */

/* The next request has come: the answer before it is whole. */
static int end_answer(struct statistics *statistics, struct usage *usage)
{
    struct answer_checks *checks = &usage->checks;
    uint64_t request = usage->request;

    usage->request = 0;
    if (checks->are_made) {
        checks->held.asked = checks->gap ? 0 : request;
        checks->held.began = checks->began;
        checks->held.ended = usage->answered;
        return 0;
    }
    int result = usage_values_add(usage, VALUE_ANSWER_WHOLE, time_since(request, usage->answered));
    return result < 0 ? result : cover(statistics, usage, request, usage->answered);
}

static int begin_answer(struct usage *usage, uint64_t request, uint64_t when)
{
    usage->request = request;
    usage->answered = usage->checks.began = when;
    return usage->checks.are_made
               ? 0
               : usage_values_add(usage, VALUE_ANSWER, time_since(request, when));
}

/* ---- as a server ---- */

static int note_served(struct statistics *statistics, struct usage *usage,
                       const struct record *record, uint64_t when)
{
    uint8_t before = usage->last, id = record->header.id;
    int result = 0;

    if (id == EVENT_RECEIVE && usage->request != 0)
        result = end_answer(statistics, usage);
    else if (id == EVENT_SEND && before == EVENT_RECEIVE && when >= usage->last_time)
        result = begin_answer(usage, usage->last_time, when);
    else if (id == EVENT_SEND && usage->request != 0)
        usage->answered = when;
    return result;
}

/* ---- as a client ---- */

/* What was before its answer was waited for. */
static void add_parts(struct request_parts *asked, const struct question *question)
{
    uint64_t connecting = time_since(question->begin, question->connected);

    if (question->connected != 0) {
        asked->connects++;
        asked->connect_time += connecting;
    }
    if (question->tries > 1) {
        asked->retried++;
        asked->retry_time += time_since(question->first_sent, question->sent);
    }
}

/* Several processes may ask at one end: an answer is to the one that receives it, if that has asked. */
static int note_answer(struct statistics *statistics, struct usage *usage, uint64_t when,
                       const struct asking_step *step)
{
    uint64_t begin = usage->asks;
    int result = 0;

    if (begin == 0 || usage->last != EVENT_SEND) {
        if (usage->request != 0)
            usage->answered = when;
        return 0;
    }
    usage->asks = 0;
    if (usage->request != 0)
        result = end_answer(statistics, usage);
    if (step->what == ASKING_ANSWERED && step->question->begin > begin)
        begin = step->question->begin; /* another end has answered what was asked before */
    if (step->what == ASKING_ANSWERED && !usage->checks.are_made)
        add_parts(&usage->asked, step->question);
    return result < 0 ? result : begin_answer(usage, begin, when);
}

static int note_asked(struct statistics *statistics, struct usage *usage, uint64_t when,
                      const struct asking_step *step)
{
    switch (step->what) {
    case ASKING_BEGINS:
        usage->asks = step->question->begin;
        break;
    case ASKING_GOES_ON:
        if (usage->last != EVENT_SEND)
            usage->asks = when;
        break;
    case ASKING_REPEATS:
        break;
    case ASKING_ANSWERED:
    case ASKING_MORE:
        return note_answer(statistics, usage, when, step);
    default:
        return 0;
    }
    return usage->request != 0 ? end_answer(statistics, usage) : 0;
}

static struct usage *usage_at(struct statistics *statistics, uint32_t end_place)
{
    struct endpoint *endpoint =
        end_place == 0 ? NULL : places_find(&statistics->endpoints, end_place - 1);

    return endpoint == NULL || !endpoint->present ? NULL : endpoint->last_used;
}

void answers_note_network(struct usage *usage, const struct asking_step *step)
{
    if (usage == NULL || !step->is_resent || usage->checks.are_made)
        return;
    usage->asked.resent++;
    usage->asked.resent_time += asking_resent(step->connecting);
}

void answers_note_vain(struct statistics *statistics, const struct history_event *event)
{
    const struct asking_step *step = &statistics->asking;
    struct usage *in_vain = usage_at(statistics, step->vain_end);
    struct usage *late = step->is_late ? usage_at(statistics, event->end_place) : NULL;

    if (statistics->origins[event->event.origin].recorded.rules > 0)
        return; /* the answer may be among what they removed */
    if (in_vain != NULL) {
        in_vain->asked.unanswered++;
        in_vain->asked.unanswered_time += step->vain_time;
        if (step->vain_time > in_vain->asked.unanswered_most)
            in_vain->asked.unanswered_most = step->vain_time;
    }
    if (late != NULL && late->asked.unanswered > 0) {
        late->asked.unanswered--;
        late->asked.unanswered_time = time_since(step->late_time, late->asked.unanswered_time);
        /* the longest may be the one that has its answer now: the others took no longer than their sum */
        if (late->asked.unanswered == 0)
            late->asked.unanswered_most = 0;
        else if (late->asked.unanswered_most > late->asked.unanswered_time)
            late->asked.unanswered_most = late->asked.unanswered_time;
    }
}

/* ---- messages ---- */

int answers_note(struct statistics *statistics, struct endpoint *endpoint, struct usage *usage,
                 const struct record *record, uint64_t when, const struct asking_step *step)
{
    uint8_t id = record->header.id;
    int result = 0;

    if (step->side == ASKING_NO_SIDE || step->side == ASKING_SIDE_NOT_KNOWN)
        return 0; /* of messages one way none is an answer */
    forget_before_gap(statistics, endpoint, usage);
    usage->serves = step->side == ASKING_SERVES;
    uint8_t asks = usage->serves ? EVENT_RECEIVE : EVENT_SEND;
    bool checks = check_gaps(statistics, endpoint, usage, record);
    if (checks && id != asks)
        result = count_held(statistics, usage);
    if (result == 0)
        result = usage->serves ? note_served(statistics, usage, record, when)
                               : note_asked(statistics, usage, when, step);
    if (id == asks)
        usage->checks.gap = false;
    usage->last = id;
    usage->last_time = when;
    return result;
}
