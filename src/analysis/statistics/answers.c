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
    return usage->asked != 0 && !usage->checks.are_made;
}

int answers_cover(struct statistics *statistics, const struct usage *usage)
{
    return is_open(usage) ? cover(statistics, usage, usage->asked, usage->last_time) : 0;
}

int answers_close(struct usage *to, const struct usage *from)
{
    return is_open(from)
               ? usage_values_add(to, VALUE_ANSWER_WHOLE, time_since(from->asked, from->last_time))
               : 0;
}

int answers_add_open(const struct usage *usage, struct histogram *histogram, unsigned most)
{
    return is_open(usage)
               ? histogram_add(histogram, time_since(usage->asked, usage->last_time), most)
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

/* ---- turns ---- */

/* The next request has come: the answer before it is whole. */
static int end_answer(struct statistics *statistics, struct usage *usage)
{
    struct answer_checks *checks = &usage->checks;
    uint64_t asked = usage->asked;

    usage->asked = 0;
    if (checks->are_made) {
        checks->held.asked = checks->gap ? 0 : asked;
        checks->held.began = checks->began;
        checks->held.ended = usage->last_time;
        return 0;
    }
    int result = usage_values_add(usage, VALUE_ANSWER_WHOLE, time_since(asked, usage->last_time));
    return result < 0 ? result : cover(statistics, usage, asked, usage->last_time);
}

static int begin_answer(struct usage *usage, uint64_t when)
{
    usage->asked = usage->last_time;
    usage->checks.began = when;
    return usage->checks.are_made ? 0
                                  : usage_values_add(usage, VALUE_ANSWER, when - usage->last_time);
}

/* The role is that of the path; if unknown, a process that receives first is the server. */
int answers_note(struct statistics *statistics, struct endpoint *endpoint, struct usage *usage,
                 const struct record *record, uint64_t when)
{
    uint8_t before = usage->last, id = record->header.id;
    int result = 0;

    if (kind_is_pipe(endpoint->kind))
        return 0; /* of messages one way none is an answer */
    if (before == 0)
        usage->serves = endpoint->role == PATH_ROLE_ACCEPTED ||
                        (endpoint->role == PATH_ROLE_UNKNOWN && id == EVENT_RECEIVE);
    uint8_t asks = usage->serves ? EVENT_RECEIVE : EVENT_SEND;
    bool checks = check_gaps(statistics, endpoint, usage, record);
    if (checks && id != asks)
        result = count_held(statistics, usage);
    if (result == 0 && id == asks && usage->asked != 0)
        result = end_answer(statistics, usage);
    else if (result == 0 && id != asks && before == asks && when >= usage->last_time)
        result = begin_answer(usage, when);
    if (id == asks)
        usage->checks.gap = false;
    usage->last = id;
    usage->last_time = when;
    return result;
}
