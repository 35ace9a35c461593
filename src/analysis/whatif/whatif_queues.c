/* SPDX-License-Identifier: MIT */
/*
 * whatif_queues.c: which part of a recorded request was a queue, and which threads had several requests at a time. See whatif.h.
 *
 * A thread does one thing at a time. So a step of a thread that stands in two requests is work for the one that leaves the
 * thread first, and for the other one it is the queue: the account of a request leads through the work that came before.
 *
 *      worker     |== request 1 ==|== request 2 ==|            recorded for request 2: both; its own: the second half
 *
 *      worker     |== request 1 ==|..rest..|== request 2 ==|   the rest: it ends what it did, or has no CPU
 *
 * A thread is held from its first to its last step in a request if it never had two requests at a time, and for the rest. Otherwise it is a
 * loop, and held while it computes, or waits for what is no message.
 */
#include "analysis/whatif/whatif_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BIT(kind) (1u << (kind))

/* ---- threads that have several requests at a time ---- */

struct span {
    uint32_t thread;            /* index */
    uint32_t last;              /* step */
    uint64_t since, begin, end; /* as in struct whatif_extent */
};

struct spans {
    struct span *at;
    size_t count, room;
};

static int add_span(struct spans *spans, uint32_t thread, const struct whatif_extent *extent,
                    uint32_t first_step)
{
    if (array_reserve(&spans->at, &spans->room, spans->count + 1, sizeof(*spans->at)) < 0)
        return -ENOMEM;
    spans->at[spans->count++] = (struct span){thread, first_step + extent->last - 1, extent->since,
                                              extent->begin, extent->end};
    return 0;
}

static int by_thread(const void *one, const void *other)
{
    const struct span *a = one, *b = other;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* The account of a request leads through earlier ones, too: the same span again is none of its own. */
static void find_loops(struct whatif_model *model, struct spans *spans)
{
    if (spans->count > 0)
        qsort(spans->at, spans->count, sizeof(*spans->at), by_thread);
    for (size_t i = 0, end; i < spans->count; i = end) {
        const struct span *first = &spans->at[i];
        size_t overlaps = 0, all = 1;
        uint64_t until = first->end;
        for (end = i + 1; end < spans->count && spans->at[end].thread == first->thread; end++) {
            const struct span *span = &spans->at[end];
            if (span->begin == span[-1].begin && span->end == span[-1].end)
                continue;
            all++;
            overlaps += span->begin < until;
            if (span->begin > until && span->since < until)
                model->steps[span[-1].last].rest = span->begin - until;
            until = span->end > until ? span->end : until;
        }
        if ((double)overlaps > WHATIF_OVERLAPS * (double)all)
            model->threads[first->thread].is_loop = true;
    }
}

/* ---- whose work a step is ---- */

struct claim {
    uint32_t thread, step;
    uint64_t begin, end; /* of the step ... */
    uint64_t over;       /* ... and of the request */
};

static int by_end(const void *one, const void *other)
{
    const struct claim *a = one, *b = other;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->over != b->over)
        return a->over < b->over ? -1 : 1;
    return (a->step > b->step) - (a->step < b->step);
}

bool whatif_is_exclusive(const struct whatif_model *model, const struct whatif_step *step)
{
    const uint32_t kinds = BIT(ELAPSED_COMPUTES) | BIT(ELAPSED_NO_CPU) | BIT(ELAPSED_DISK) |
                           BIT(ELAPSED_LOCK) | BIT(ELAPSED_FILE_LOCK) | BIT(ELAPSED_INTERPRETER) |
                           BIT(ELAPSED_VM_STOP) | BIT(ELAPSED_TIMER) | BIT(ELAPSED_LIMIT) |
                           BIT(ELAPSED_CHILD) | BIT(ELAPSED_INPUT);

    if (step->thread == 0)
        return false;
    const struct whatif_thread *thread = &model->threads[step->thread - 1];
    return thread->in_turn || ((kinds >> step->kind & 1) != 0 && !(step->polls && thread->is_loop));
}

/* Threads of a metered client are no workers. */
static bool is_of_client(const struct whatif_request *request, const struct whatif_step *step)
{
    return request->client != 0 && step->party == request->client;
}

static size_t add_claims(const struct whatif_model *model, const struct whatif_request *request,
                         struct claim *claims)
{
    uint64_t time = request->begin;
    size_t count = 0;

    for (uint32_t i = 0; i < request->step_count; i++) {
        const struct whatif_step *step = &model->steps[request->first_step + i];
        if (whatif_is_exclusive(model, step) && !is_of_client(request, step))
            claims[count++] = (struct claim){step->thread, request->first_step + i, time,
                                             time + step->time, request->end};
        time += step->time;
    }
    return count;
}

/* In the order in which the claims of a thread end: this request waited for what another one has had already. */
static void settle(struct whatif_model *model, struct claim *claims, size_t count)
{
    uint64_t had = 0;

    qsort(claims, count, sizeof(*claims), by_end);
    for (size_t i = 0; i < count; i++) {
        struct claim *claim = &claims[i];
        if (i == 0 || claim->thread != claim[-1].thread)
            had = 0;
        if (claim->begin < had)
            model->steps[claim->step].queued = (claim->end < had ? claim->end : had) - claim->begin;
        had = claim->end > had ? claim->end : had;
    }
}

static int find_queues(struct whatif_model *model)
{
    struct claim *claims = calloc(model->step_count + 1, sizeof(*claims));
    size_t count = 0;

    if (claims == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < model->request_count; i++)
        count += add_claims(model, &model->requests[i], claims + count);
    settle(model, claims, count);
    free(claims);
    return 0;
}

/* In the queue of a thread that had no CPU, or between two pieces of others' work. */
static bool is_beside(const struct whatif_request *request, const struct whatif_step *steps,
                      uint32_t at)
{
    const struct whatif_step *step = &steps[at];
    const struct whatif_step *next = at + 1 < request->step_count ? step + 1 : NULL;
    const struct whatif_step *before = at > 0 ? step - 1 : NULL;

    return step->kind == ELAPSED_NO_CPU &&
           ((next != NULL && next->kind == ELAPSED_QUEUED && next->party == step->party) ||
            (before != NULL && before->kind == ELAPSED_QUEUED && before->party == step->party));
}

#define SMALL_GAP 0.1 /* of what was waited for before and after it */

/* What comes for a short time between what is work for others is work for others, too: their messages in flight, and what a
 * thread does after its answer. */
static void close_gaps(const struct whatif_request *request, struct whatif_step *steps)
{
    uint32_t last = 0; /* index + 1: the latest step in a queue */
    uint64_t gap = 0;

    for (uint32_t i = 0; i < request->step_count; i++) {
        uint64_t own = steps[i].time - steps[i].queued;
        if (steps[i].queued == 0) {
            gap += own;
            continue;
        }
        uint64_t before = last == 0 ? 0 : steps[last - 1].queued;
        uint64_t least = before < steps[i].queued ? before : steps[i].queued;
        if (last != 0 && (double)gap <= SMALL_GAP * (double)least)
            for (uint32_t k = last - 1; k < i; k++)
                steps[k].queued = steps[k].time;
        last = i + 1;
        gap = own;
    }
}

/* One client that asks again after each answer waits for no other request: where the thread had no CPU to take the request,
 * that is what it waited for. */
static void drop_queues(struct whatif_model *model)
{
    bool alone = model->slot_count == 1;

    for (size_t i = 0; i < model->request_count; i++) {
        const struct whatif_request *request = &model->requests[i];
        struct whatif_step *steps = &model->steps[request->first_step];
        for (uint32_t k = 0; k < request->step_count; k++)
            if (steps[k].kind == ELAPSED_QUEUED || (!alone && is_beside(request, steps, k)))
                steps[k].queued = steps[k].time;
        close_gaps(request, steps);
    }
}

/* ---- from the first to the last step of a thread in a request ---- */

bool whatif_is_own(const struct whatif_model *model, const struct whatif_request *request,
                   const struct whatif_step *step)
{
    return step->thread != 0 && step->queued < step->time && !is_of_client(request, step) &&
           !model->threads[step->thread - 1].is_brief;
}

void whatif_extents(const struct whatif_model *model, const struct whatif_request *request,
                    struct whatif_extent *extents)
{
    const struct whatif_step *steps = &model->steps[request->first_step];
    uint64_t time = request->begin, since = 0;

    for (uint32_t i = 0; i < request->step_count; i++)
        if (steps[i].thread != 0)
            extents[steps[i].thread - 1] = (struct whatif_extent){0};
    for (uint32_t i = 0; i < request->step_count; i++) {
        if (steps[i].queued > 0 && since == 0)
            since = time;
        if (whatif_is_own(model, request, &steps[i])) {
            struct whatif_extent *extent = &extents[steps[i].thread - 1];
            uint64_t begin = time + steps[i].queued;
            if (extent->first == 0)
                *extent = (struct whatif_extent){
                    .first = i + 1, .since = since == 0 ? begin : since, .begin = begin};
            extent->last = i + 1;
            extent->end = time + steps[i].time;
        }
        if (steps[i].queued < steps[i].time)
            since = 0;
        time += steps[i].time;
    }
}

static int add_extents(const struct whatif_model *model, const struct whatif_request *request,
                       const struct whatif_extent *extents, struct spans *spans)
{
    const struct whatif_step *steps = &model->steps[request->first_step];
    int result = 0;

    for (uint32_t i = 0; i < request->step_count && result == 0; i++) {
        const struct whatif_extent *extent =
            steps[i].thread == 0 ? NULL : &extents[steps[i].thread - 1];
        if (extent != NULL && extent->first == i + 1)
            result = add_span(spans, steps[i].thread - 1, extent, request->first_step);
    }
    return result;
}

static int find_all_loops(struct whatif_model *model, struct whatif_extent *extents)
{
    struct spans spans = {0};
    int result = 0;

    for (size_t i = 0; i < model->request_count && result == 0; i++) {
        whatif_extents(model, &model->requests[i], extents);
        result = add_extents(model, &model->requests[i], extents, &spans);
    }
    if (result == 0)
        find_loops(model, &spans);
    for (size_t i = 0; i < spans.count; i++) {
        const struct span *span = &spans.at[i];
        struct whatif_thread *thread = &model->threads[span->thread];
        if (!thread->works || span->begin < thread->begin)
            thread->begin = span->begin;
        thread->end = span->end > thread->end ? span->end : thread->end;
        thread->works = true;
        thread->requests++;
    }
    free(spans.at);
    return result;
}

int whatif_find_queues(struct whatif_model *model, bool attached, struct whatif_extent *extents)
{
    int result = find_queues(model);

    if (result < 0)
        return result;
    drop_queues(model);
    if (attached)
        whatif_drop_early(model);
    return find_all_loops(model, extents);
}
