/* SPDX-License-Identifier: MIT */
/*
 * whatif_programs.c: pools of workers, and what each request does with them. See whatif.h.
 *
 *      steps     in flight to php | queued at php | php computes | in flight to db | db: disk | in flight to php | php computes
 *      program   delay              -               ENTER php, CPU  delay            ENTER db,  delay              CPU, LEAVE php
 *                                                                                    delay, LEAVE db
 */
#include "analysis/whatif/whatif_private.h"
#include "base/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- pools ---- */

static uint64_t key_of(const struct whatif_party *party, const char *kind)
{
    uint64_t hash = hash_bytes(0, &party->origin, sizeof(party->origin));

    hash = hash_bytes(hash, party->name, strlen(party->name) + 1);
    hash = hash_bytes(hash, party->label, strlen(party->label) + 1);
    return hash_bytes(hash, kind, strlen(kind));
}

static int64_t pool_of(struct whatif_model *model, const struct whatif_thread *thread,
                       struct lookup *pools)
{
    uint64_t key = key_of(&model->parties[thread->party], thread->kind);
    uint32_t found = lookup_find(pools, key);

    if (found != LOOKUP_NONE)
        return found;
    if (array_reserve(&model->pools, &model->pool_room, model->pool_count + 1,
                      sizeof(*model->pools)) < 0 ||
        lookup_set(pools, key, (uint32_t)model->pool_count) < 0)
        return -ENOMEM;
    struct whatif_pool *pool = &model->pools[model->pool_count];
    *pool = (struct whatif_pool){.party = thread->party, .blocking = true};
    memcpy(pool->kind, thread->kind, sizeof(pool->kind));
    return (int64_t)model->pool_count++;
}

static int assign_pools(struct whatif_model *model)
{
    struct lookup pools = {0};
    int result = 0;

    for (size_t i = 0; i < model->thread_count && result == 0; i++) {
        struct whatif_thread *thread = &model->threads[i];
        if (!thread->works)
            continue;
        int64_t index = pool_of(model, thread, &pools);
        if (index < 0)
            result = -ENOMEM;
        else
            thread->pool = (uint32_t)index;
    }
    lookup_done(&pools);
    return result;
}

#define BRIEF_LEAST  10u /* of a pool have had one request, ... */
#define BRIEF_OTHERS 5u  /* ... so many times as many as have had several */

/* Beside workers that have request after request, threads that have one each are no workers: a CGI program's process has its
 * server's name until it executes the program. (Where each thread has one, a request never waits for another's.) */
static int find_brief(struct whatif_model *model)
{
    uint32_t(*counts)[2] = calloc(model->pool_count + 1, sizeof(*counts));

    if (counts == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < model->thread_count; i++)
        if (model->threads[i].works)
            counts[model->threads[i].pool][model->threads[i].requests > 1]++;
    for (size_t i = 0; i < model->thread_count; i++) {
        struct whatif_thread *thread = &model->threads[i];
        const uint32_t *count = counts[thread->pool];
        thread->is_brief = thread->works && thread->requests == 1 && count[1] > 0 &&
                           count[0] >= BRIEF_LEAST && count[0] >= BRIEF_OTHERS * count[1];
    }
    free(counts);
    return 0;
}

/* A thread comes with its first request, or goes with its last one. */
struct move {
    uint64_t time;
    uint32_t pool;
    bool comes, lasts;
};

static int by_pool(const void *one, const void *other)
{
    const struct move *a = one, *b = other;

    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (int)a->comes - (int)b->comes;
}

/* Threads: of all, and of those that had many requests. */
struct counts {
    int64_t all, lasting;
};

static void note_move(struct counts *now, const struct move *move, struct counts *most)
{
    int one = move->comes ? 1 : -1;

    now->all += one;
    now->lasting += move->lasts ? one : 0;
    most->all = now->all > most->all ? now->all : most->all;
    most->lasting = now->lasting > most->lasting ? now->lasting : most->lasting;
}

/* Workers that end after so many requests are replaced by others:
 *
 *      first     =========o                      at most two at a time: two workers
 *      second    ============o
 *      third               =========o
 *
 * Where all that had many requests were there at the same time, none was replaced; one with few was there before and after
 * these, too. */
static void count_workers(struct whatif_model *model, const struct move *moves, size_t move_count)
{
    for (size_t i = 0, end; i < move_count; i = end) {
        struct counts now = {0, 0}, most = {0, 0}, sum = {0, 0};
        for (end = i; end < move_count && moves[end].pool == moves[i].pool; end++) {
            note_move(&now, &moves[end], &most);
            sum.all += moves[end].comes;
            sum.lasting += moves[end].comes && moves[end].lasts;
        }
        struct whatif_pool *pool = &model->pools[moves[i].pool];
        pool->all = (uint32_t)sum.all;
        pool->workers = (uint32_t)(most.lasting < sum.lasting ? most.all : sum.all);
    }
}

#define MANY 10u /* requests of a worker */

static int find_workers(struct whatif_model *model)
{
    struct move *moves = calloc(2 * model->thread_count + 1, sizeof(*moves));
    size_t count = 0;

    if (moves == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < model->thread_count; i++) {
        const struct whatif_thread *thread = &model->threads[i];
        bool lasts = thread->requests >= MANY;
        if (!thread->works || thread->is_brief)
            continue;
        moves[count++] = (struct move){thread->begin, thread->pool, true, lasts};
        moves[count++] = (struct move){thread->end, thread->pool, false, lasts};
    }
    qsort(moves, count, sizeof(*moves), by_pool);
    count_workers(model, moves, count);
    free(moves);
    return 0;
}

static int make_pools(struct whatif_model *model)
{
    int result = assign_pools(model);

    if (result == 0)
        result = find_brief(model);
    if (result == 0)
        result = find_workers(model);
    for (size_t i = 0; i < model->thread_count && result == 0; i++) {
        const struct whatif_thread *thread = &model->threads[i];
        if (thread->works && !thread->is_brief && thread->is_loop)
            model->pools[thread->pool].blocking = false;
    }
    return result;
}

/* ---- programs ---- */

struct programming {
    struct whatif_model *model;
    struct whatif_extent *extents;
    uint32_t origin; /* machine on which the request was before the step */
    uint32_t loop;   /* thread of the loop that is at work: index + 1; 0: none */
    bool failed;
};

static void add_op(struct programming *programming, struct whatif_op op)
{
    struct whatif_model *model = programming->model;

    if (array_reserve(&model->ops, &model->op_room, model->op_count + 1, sizeof(*model->ops)) < 0)
        programming->failed = true;
    else
        model->ops[model->op_count++] = op;
}

static void enter(struct programming *programming, uint32_t thread)
{
    uint32_t pool = programming->model->threads[thread - 1].pool;

    programming->model->pools[pool].visits++;
    add_op(programming, (struct whatif_op){.type = OP_ENTER, .of = pool});
}

static void leave(struct programming *programming, uint32_t thread, uint64_t rest)
{
    add_op(programming, (struct whatif_op){.type = OP_LEAVE,
                                           .time = rest,
                                           .of = programming->model->threads[thread - 1].pool});
}

static void end_loop(struct programming *programming, uint32_t thread)
{
    if (programming->loop != 0 && programming->loop != thread) {
        leave(programming, programming->loop, 0);
        programming->loop = 0;
    }
}

static uint32_t origin_of(const struct whatif_model *model, uint32_t party)
{
    return model->parties[party].origin;
}

static void add_time(struct programming *programming, const struct whatif_step *step)
{
    const struct whatif_model *model = programming->model;
    struct whatif_op op = {
        .time = step->time - step->queued, .of = step->party, .kind = step->kind};

    op.type = step->kind == ELAPSED_COMPUTES ? OP_CPU
              : step->kind == ELAPSED_NO_CPU ? OP_NO_CPU
                                             : OP_DELAY;
    op.is_held = step->kind == ELAPSED_IN_FLIGHT && op.time >= HELD_LEAST && op.time <= HELD_MOST &&
                 origin_of(model, step->party) == programming->origin;
    programming->origin = origin_of(model, step->party);
    add_op(programming, op);
}

static bool is_for_lock(const struct whatif_step *step)
{
    return step->kind == ELAPSED_LOCK || step->kind == ELAPSED_FILE_LOCK ||
           step->kind == ELAPSED_INTERPRETER;
}

/* A step of the worker that handles the request. */
static void add_time_of_worker(struct programming *programming, const struct whatif_step *step)
{
    struct whatif_model *model = programming->model;
    struct whatif_pool *pool = &model->pools[model->threads[step->thread - 1].pool];
    uint64_t time = step->time - step->queued;

    pool->time += time;
    pool->computing += step->kind == ELAPSED_COMPUTES ? time : 0;
    pool->locked += is_for_lock(step) ? time : 0;
    add_time(programming, step);
}

static void add_queue(struct programming *programming, const struct whatif_step *step)
{
    end_loop(programming, 0);
    add_op(programming,
           (struct whatif_op){
               .type = OP_QUEUED, .time = step->queued, .of = step->party, .kind = ELAPSED_QUEUED});
}

/* What the thread of the loop does for this request; before it, whatever it does for others comes to its end. */
static void add_loop_step(struct programming *programming, const struct whatif_step *step)
{
    bool holds = whatif_is_exclusive(programming->model, step);

    end_loop(programming, holds ? step->thread : 0);
    if (holds && programming->loop == 0) {
        enter(programming, step->thread);
        programming->loop = step->thread;
    }
    add_time_of_worker(programming, step);
}

static void add_own_step(struct programming *programming, const struct whatif_step *step,
                         uint32_t number)
{
    const struct whatif_extent *extent = &programming->extents[step->thread - 1];

    end_loop(programming, 0);
    if (extent->first == number)
        enter(programming, step->thread);
    add_time_of_worker(programming, step);
    if (extent->last == number)
        leave(programming, step->thread, step->rest);
}

static void make_program(struct programming *programming, struct whatif_request *request)
{
    struct whatif_model *model = programming->model;

    request->first_op = (uint32_t)model->op_count;
    programming->origin = origin_of(model, request->client);
    programming->loop = 0;
    whatif_extents(model, request, programming->extents);
    for (uint32_t i = 0; i < request->step_count && !programming->failed; i++) {
        const struct whatif_step *step = &model->steps[request->first_step + i];
        if (step->queued > 0)
            add_queue(programming, step);
        if (step->queued == step->time)
            continue;
        if (!whatif_is_own(model, request, step)) {
            end_loop(programming, 0);
            add_time(programming, step);
        } else if (model->threads[step->thread - 1].is_loop) {
            add_loop_step(programming, step);
        } else {
            add_own_step(programming, step, i + 1);
        }
    }
    end_loop(programming, 0);
    request->op_count = (uint32_t)model->op_count - request->first_op;
}

int whatif_make_programs(struct whatif_model *model, struct whatif_extent *extents)
{
    struct programming programming = {.model = model, .extents = extents};
    int result = make_pools(model);

    if (result < 0)
        return result;
    for (size_t i = 0; i < model->request_count; i++)
        make_program(&programming, &model->requests[i]);
    return programming.failed ? -ENOMEM : 0;
}
