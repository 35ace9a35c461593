/* SPDX-License-Identifier: MIT */
/*
 * causality_requests.c: the trees of requests, while they may grow.
 *
 *      request --first--> step --next--> step --next--> step      in the order of receiving
 *         |
 *         '-- over, when the connection that it came by has another one or is closed: it goes to
 *             the end of a queue, as its processes may still work on it; the oldest of the queue
 *             are counted and forgotten
 *
 * So memory is bounded by paths and the constants in causality_private.h. A reference to a step includes its life, and
 * finds nothing when the step is gone.
 */
#include "analysis/causality/causality_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct request *request_at(const struct causality_analysis *analysis, uint32_t index)
{
    return pool_at(&analysis->requests, index);
}

/* ---- the slowest ---- */

/* ns since the request began. 0 if imprecise clocks place it before that; TIME_UNKNOWN if no messages relate the
 * clocks. */
static uint64_t since_begin(const struct causality_analysis *analysis,
                            const struct request *request, const struct step *step, uint64_t time)
{
    uint64_t error;
    int64_t offset;

    if (!history_clock_between(analysis->history, step->origin, time, request->origin, &offset,
                               &error))
        return TIME_UNKNOWN;
    uint64_t at = time + (uint64_t)offset;
    return (int64_t)(at - request->begun) < 0 ? 0 : at - request->begun;
}

static struct slow_request *place_among_slowest(struct causality_analysis *analysis,
                                                uint64_t duration)
{
    struct slow_request *quickest = analysis->slow;

    if (analysis->slow_count < analysis->options.slowest)
        return &analysis->slow[analysis->slow_count++];
    for (uint32_t i = 1; i < analysis->slow_count; i++)
        if (analysis->slow[i].request.duration < quickest->request.duration)
            quickest = &analysis->slow[i];
    if (analysis->slow_count == 0 || quickest->request.duration >= duration)
        return NULL;
    free(quickest->steps);
    free(quickest->letters);
    return quickest;
}

static void keep_steps(const struct causality_analysis *analysis, const struct request *request,
                       struct slow_request *slow, uint32_t count)
{
    uint32_t next = request->first_and_1;

    for (uint32_t i = 0; i < count; i++) {
        const struct step *step = pool_at(&analysis->steps, next - 1);
        const struct string *string = &analysis->strings.at[step->string];
        const struct string *parent = &analysis->strings.at[string->parent];
        slow->steps[i].when = since_begin(analysis, request, step, step->when);
        slow->steps[i].last = since_begin(analysis, request, step, step->last);
        slow->letters[2 * i] = string->letter;
        slow->letters[2 * i + 1] = parent->depth > 0 ? parent->letter
                                   : parent->cut     ? LETTER_OTHERS
                                                     : LETTER_REQUESTOR;
        next = step->next_and_1;
    }
}

static void describe_requestor(const struct causality_analysis *analysis,
                               const struct request *request, struct slow_request *slow)
{
    const struct path_record *path = NULL;

    slow->requestor = request->requestor;
    if (request->requestor == 0)
        path =
            identities_path(history_identities(analysis->history), request->origin, request->path);
    if (path != NULL)
        endpoint_remote(path, slow->address);
}

static int note_slow(struct causality_analysis *analysis, const struct request *request,
                     uint64_t duration, uint32_t string)
{
    uint32_t count =
        request->step_count < CAUSALITY_STEPS_MOST ? request->step_count : CAUSALITY_STEPS_MOST;
    struct slow_request *slow =
        analysis->options.slowest == 0 ? NULL : place_among_slowest(analysis, duration);

    if (slow == NULL)
        return 0;
    *slow = (struct slow_request){
        .request = {.begun = request->begun,
                    .origin = request->origin,
                    .duration = duration,
                    .step_count = count,
                    .more = request->cut || count < request->step_count},
        .string = string,
        .steps = calloc(count + 1UL, sizeof(*slow->steps)),
        .letters = calloc(2 * (count + 1UL), sizeof(*slow->letters)),
    };
    if (slow->steps == NULL || slow->letters == NULL)
        return -ENOMEM;
    keep_steps(analysis, request, slow, count);
    describe_requestor(analysis, request, slow);
    return 0;
}

/* ---- ending ---- */

static void free_step(struct causality_analysis *analysis, uint32_t index)
{
    struct step *step = pool_at(&analysis->steps, index);
    uint32_t life = step->life + 1;

    pool_give(&analysis->steps, index);
    step->life = life;
}

/* Whether the request has caused no send: this leaf is its root, and has sent nothing. Requests that were exchanged have
 * also exchanged when they were received, so the latest send may seem to be before that. */
static bool is_without_send(const struct causality_analysis *analysis,
                            const struct request *request, const struct step *leaf)
{
    return !request->cut && leaf == pool_at(&analysis->steps, request->first_and_1 - 1) &&
           leaf->last <= leaf->when;
}

/* Whether the request was not answered, as others like it were: its latest send is not its end. A long one may lose steps before
 * its answer. */
static bool is_unanswered(const struct causality_analysis *analysis, const struct request *request,
                          const struct step *leaf)
{
    return !analysis->options.last && !request->answered && !request->cut &&
           request->step_count <= STEPS_FEW &&
           strings_is_answered(&analysis->strings, leaf->string);
}

/* Counts a step that is a leaf. Returns 0 or -ENOMEM. */
static int count_leaf(struct causality_analysis *analysis, const struct request *request,
                      const struct step *step, uint64_t *ret_latency)
{
    if (request->is_chain)
        return 0;
    *ret_latency = TIME_UNKNOWN;
    if (is_without_send(analysis, request, step)) {
        analysis->sums.without_send++;
    } else if (is_unanswered(analysis, request, step)) {
        analysis->sums.unanswered++;
    } else {
        *ret_latency = since_begin(analysis, request, step, step->last);
        analysis->sums.unknown_clocks += *ret_latency == TIME_UNKNOWN;
    }
    return strings_add_leaf(&analysis->strings, step->string, *ret_latency);
}

/* The first step of a long request has not been used for long. Prefetches it and its successor before the request gets
 * its next message. */
static void look_ahead(const struct causality_analysis *analysis, const struct request *request)
{
    const struct step *first = pool_at(&analysis->steps, request->first_and_1 - 1);

    __builtin_prefetch(&analysis->strings.at[first->string]);
    if (first->next_and_1 != 0)
        __builtin_prefetch(pool_at(&analysis->steps, first->next_and_1 - 1));
}

/* Drops the first step of a request that has too many. */
static int free_first_step(struct causality_analysis *analysis, struct request *request)
{
    uint32_t first = request->first_and_1 - 1;
    const struct step *step = pool_at(&analysis->steps, first);
    uint64_t latency;
    int result = step->has_children ? 0 : count_leaf(analysis, request, step, &latency);

    request->first_and_1 = step->next_and_1;
    analysis->steps_above -= request->step_count-- > STEPS_FEW;
    analysis->sums.cut_requests += !request->cut;
    request->cut = true;
    free_step(analysis, first);
    look_ahead(analysis, request);
    return result;
}

static int end_request(struct causality_analysis *analysis, uint32_t index)
{
    struct request *request = request_at(analysis, index);
    uint64_t longest = 0;
    uint32_t string = STRING_WHOLE;
    int result = 0;

    for (uint32_t next = request->first_and_1; next != 0 && result == 0;) {
        const struct step *step = pool_at(&analysis->steps, next - 1);
        uint64_t latency = 0;
        next = step->next_and_1;
        if (step->has_children)
            continue;
        result = count_leaf(analysis, request, step, &latency);
        if (latency >= longest && latency != TIME_UNKNOWN) {
            longest = latency;
            string = step->string;
        }
    }
    if (request->step_count > STEPS_FEW)
        analysis->steps_above -= request->step_count - STEPS_FEW;
    if (result == 0 && !request->is_chain && string != STRING_WHOLE)
        result = note_slow(analysis, request, longest, string);
    for (uint32_t next = request->first_and_1; next != 0;) {
        uint32_t step = next - 1;
        next = ((const struct step *)pool_at(&analysis->steps, step))->next_and_1;
        free_step(analysis, step);
    }
    pool_give(&analysis->requests, index);
    return result;
}

static int end_oldest(struct causality_analysis *analysis)
{
    uint32_t oldest = analysis->passed_first_and_1 - 1;

    analysis->passed_first_and_1 = request_at(analysis, oldest)->next_and_1;
    analysis->passed_count--;
    return end_request(analysis, oldest);
}

void requests_note_answer(struct causality_analysis *analysis, const struct step *step)
{
    if (step != NULL)
        request_at(analysis, step->request)->answered = true;
}

int requests_pass(struct causality_analysis *analysis, struct reference reference)
{
    const struct step *step = step_of(analysis, reference);
    struct request *request = step == NULL ? NULL : request_at(analysis, step->request);

    if (request == NULL || request->over)
        return 0;
    request->over = true;
    request->next_and_1 = 0;
    if (analysis->passed_count == 0)
        analysis->passed_first_and_1 = step->request + 1;
    else
        request_at(analysis, analysis->passed_last_and_1 - 1)->next_and_1 = step->request + 1;
    analysis->passed_last_and_1 = step->request + 1;
    return ++analysis->passed_count > PASSED_MOST ? end_oldest(analysis) : 0;
}

int requests_finish(struct causality_analysis *analysis)
{
    int result = 0;

    while (result == 0 && analysis->passed_count > 0)
        result = end_oldest(analysis);
    for (uint32_t i = 0; result == 0 && i < analysis->requests.used; i++)
        if (request_at(analysis, i)->first_and_1 != 0)
            result = end_request(analysis, i);
    return result;
}

/* ---- growing ---- */

static struct reference entry_of(const struct causality_analysis *analysis,
                                 const struct causality_event *at, uint32_t request)
{
    struct causality_end *end = at->end;

    if (end == NULL)
        return (struct reference){0};
    if (end->side == SIDE_SERVES)
        return (struct reference){end->index + 1, end->life};
    const struct step *forwarded = step_of(analysis, end->forwarded);
    return forwarded != NULL && forwarded->request == request ? forwarded->entry
                                                              : (struct reference){0};
}

static bool has_too_many(const struct causality_analysis *analysis, const struct request *request)
{
    return request->step_count > STEPS_MOST ||
           (request->step_count > STEPS_FEW && analysis->steps_above > STEPS_ABOVE);
}

/* Whether the process at this end still answers this request there: it may have answered already, and got another
 * request, before the last of its own calls returned. */
static bool is_open_for(const struct causality_analysis *analysis,
                        const struct causality_end *entry, uint32_t request)
{
    const struct step *opened = step_of(analysis, entry->entry);

    return opened == NULL || opened->request == request;
}

/* Adds a step to a request. Returns 0 or -ENOMEM. */
static int add_step(struct causality_analysis *analysis, const struct causality_event *at,
                    uint32_t request_index, uint32_t string, struct reference *ret_step)
{
    int64_t index = pool_take(&analysis->steps);

    if (index < 0)
        return -ENOMEM;
    struct request *request = request_at(analysis, request_index);
    struct step *step = pool_at(&analysis->steps, (uint32_t)index);
    step->string = string;
    step->request = request_index;
    step->origin = at->event->event.origin;
    step->when = step->last = at->event->when;
    step->entry = entry_of(analysis, at, request_index);
    analysis->strings.at[string].arrivals++;
    moments_count(analysis, step->origin, step->when, string, false);
    if (request->last_and_1 != 0)
        ((struct step *)pool_at(&analysis->steps, request->last_and_1 - 1))->next_and_1 =
            (uint32_t)index + 1;
    else
        request->first_and_1 = (uint32_t)index + 1;
    request->last_and_1 = (uint32_t)index + 1;
    *ret_step = (struct reference){(uint32_t)index + 1, step->life};
    struct causality_end *entry = end_of(analysis, step->entry);
    if (entry != NULL && entry != at->end && is_open_for(analysis, entry, request_index))
        entry->latest = *ret_step;
    analysis->steps_above += request->step_count++ >= STEPS_FEW;
    int result = 0;
    while (result == 0 && has_too_many(analysis, request))
        result = free_first_step(analysis, request);
    return result;
}

/* A request whose strings begin behind this root, with its first step. NULL: out of memory. */
static struct request *new_request(struct causality_analysis *analysis,
                                   const struct causality_event *at, uint32_t root,
                                   struct reference *ret_step)
{
    int64_t string = strings_extend(&analysis->strings, root, at->process->letter);
    int64_t index = string < 0 ? -ENOMEM : pool_take(&analysis->requests);

    if (index < 0)
        return NULL;
    struct request *request = request_at(analysis, (uint32_t)index);
    request->origin = at->event->event.origin;
    request->begun = at->event->when;
    return add_step(analysis, at, (uint32_t)index, (uint32_t)string, ret_step) < 0 ? NULL : request;
}

int requests_begin(struct causality_analysis *analysis, const struct causality_event *at,
                   uint32_t requestor, struct reference *ret_step)
{
    struct request *request = new_request(analysis, at, STRING_WHOLE, ret_step);

    if (request == NULL)
        return -ENOMEM;
    request->requestor = requestor;
    request->path = at->record->message.path;
    analysis->sums.requests++;
    analysis->sums.requests_of_strangers += requestor == 0;
    if (requestor != 0 && requestor - 1 < analysis->member_count)
        analysis->members[requestor - 1].requests++;
    return 0;
}

int requests_begin_chain(struct causality_analysis *analysis, const struct causality_event *at,
                         uint32_t root, struct reference *ret_step)
{
    struct request *request = new_request(analysis, at, root, ret_step);

    if (request == NULL)
        return -ENOMEM;
    request->is_chain = true;
    return requests_pass(analysis, *ret_step);
}

bool requests_has_request(const struct causality_analysis *analysis, const struct step *step)
{
    return !request_at(analysis, step->request)->is_chain;
}

int requests_continue(struct causality_analysis *analysis, const struct causality_event *at,
                      struct reference from, struct reference *ret_step)
{
    struct step *step = step_of(analysis, from);
    int64_t string = strings_extend(&analysis->strings, step->string, at->process->letter);

    if (string < 0)
        return -ENOMEM;
    step->has_children = true;
    return add_step(analysis, at, step->request, (uint32_t)string, ret_step);
}

/* ---- exchanging ---- */

static void exchange(void *one, void *other, size_t size)
{
    char bytes[16];

    memcpy(bytes, one, size);
    memcpy(one, other, size);
    memcpy(other, bytes, size);
}

#define EXCHANGE(one, other)                                                                       \
    do {                                                                                           \
        _Static_assert(sizeof(one) <= 16, "fits into the buffer");                                 \
        exchange(&(one), &(other), sizeof(one));                                                   \
    } while (0)

/* The steps of a request that entered by one end are taken to have entered by another one. */
static void move_entries(struct causality_analysis *analysis, const struct request *request,
                         struct reference from, struct reference to)
{
    for (uint32_t next = request->first_and_1; next != 0;) {
        struct step *step = pool_at(&analysis->steps, next - 1);
        if (same_reference(step->entry, from))
            step->entry = to;
        next = step->next_and_1;
    }
}

void requests_exchange(struct causality_analysis *analysis, struct causality_end *end,
                       struct causality_end *other)
{
    struct reference here = {end->index + 1, end->life}, there = {other->index + 1, other->life};
    struct step *root = step_of(analysis, end->entry),
                *other_root = step_of(analysis, other->entry);
    struct request *request = request_at(analysis, root->request),
                   *other_request = request_at(analysis, other_root->request);

    move_entries(analysis, request, here, there);
    move_entries(analysis, other_request, there, here);
    EXCHANGE(request->begun, other_request->begun);
    EXCHANGE(request->requestor, other_request->requestor);
    EXCHANGE(request->path, other_request->path);
    EXCHANGE(root->when, other_root->when);
    EXCHANGE(end->entry, other->entry);
    EXCHANGE(end->latest, other->latest);
    EXCHANGE(end->in, other->in);
}
