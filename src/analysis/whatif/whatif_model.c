/* SPDX-License-Identifier: MIT */
/*
 * whatif_model.c: makes programs of recorded requests. See whatif.h.
 *
 *      steps     in flight to php | queued at php | php computes | in flight to db | db: disk | in flight to php | php computes
 *      program   delay              -               ENTER php, CPU  delay            ENTER db,  delay              CPU, LEAVE php
 *                                                                                    delay, LEAVE db
 *
 * A thread does one thing at a time. So a step of a thread that stands in two requests is work for the one that leaves the
 * thread first, and for the other one it is the queue: the account of a request leads through the work that came before.
 *
 *      worker     |== request 1 ==|== request 2 ==|            recorded for request 2: both; its own: the second half
 *
 * A thread is held from its first to its last step in a request if it never had two requests at a time. Otherwise it is a
 * loop, and held while it computes, or waits for what is no message.
 */
#include "analysis/whatif/whatif_private.h"

#include "base/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct building {
    struct whatif_model *model;
    struct elapsed_analysis *analysis;
    struct lookup of_detail; /* detail -> party */
    struct lookup of_process;
    struct lookup thread_of_detail; /* detail -> thread + 1 */
    struct lookup of_thread;
};

/* ---- who ---- */

static bool is_same(const struct whatif_party *a, const struct whatif_party *b)
{
    return a->origin == b->origin && strcmp(a->name, b->name) == 0 &&
           strcmp(a->label, b->label) == 0;
}

static int64_t add_party(struct building *building, const struct elapsed_row *row)
{
    struct whatif_model *model = building->model;

    if (array_reserve(&model->parties, &model->party_room, model->party_count + 1,
                      sizeof(*model->parties)) < 0)
        return -ENOMEM;
    struct whatif_party *party = &model->parties[model->party_count];
    *party = (struct whatif_party){.origin = row->origin, .pid = row->pid};
    memcpy(party->name, row->process, sizeof(party->name));
    memcpy(party->label, row->label, sizeof(party->label));
    if (row->origin >= model->machines)
        model->machines = row->origin + 1;
    return (int64_t)model->party_count++;
}

/* Index of the process that the detail is of; 0: nobody. */
static int64_t party_of(struct building *building, uint32_t detail)
{
    uint32_t found = lookup_find(&building->of_detail, detail);

    if (found != LOOKUP_NONE)
        return found;
    const struct elapsed_row row = elapsed_step_row(building->analysis, detail);
    uint64_t key = (uint64_t)row.origin << 32 | row.pid;
    found = lookup_find(&building->of_process, key);
    int64_t party = found != LOOKUP_NONE ? found : add_party(building, &row);
    if (party < 0 || lookup_set(&building->of_process, key, (uint32_t)party) < 0 ||
        lookup_set(&building->of_detail, detail, (uint32_t)party) < 0)
        return -ENOMEM;
    return party;
}

/* "worker" for "worker-12": threads of one kind share a queue. The first thread of a process does other things than those
 * that have its name from it. */
static void kind_of_thread(const struct elapsed_row *row, char kind[STREAM_NAME_SIZE + 1])
{
    size_t length = strlen(row->thread);

    while (length > 0 && strchr("0123456789-#*:", row->thread[length - 1]) != NULL)
        length--;
    memcpy(kind, row->thread, length);
    kind[length] = '\0';
    if (length == 0 && row->tid != row->pid)
        memcpy(kind, "threads", sizeof("threads"));
}

#define OVERLAPS 0.05 /* of the requests: fewer are some that nobody waits for any more */

static int add_thread(struct building *building, const struct elapsed_row *row, uint32_t party,
                      uint32_t detail)
{
    struct whatif_model *model = building->model;
    uint32_t received, beside;

    if (array_reserve(&model->threads, &model->thread_room, model->thread_count + 1,
                      sizeof(*model->threads)) < 0)
        return -ENOMEM;
    struct whatif_thread *thread = &model->threads[model->thread_count++];
    *thread = (struct whatif_thread){.party = party};
    kind_of_thread(row, thread->kind);
    elapsed_step_received(building->analysis, detail, &received, &beside);
    thread->is_loop = (double)beside > OVERLAPS * (double)received;
    return 0;
}

/* The thread that the detail is of: index + 1; 0: not known. */
static int64_t thread_of(struct building *building, uint32_t detail)
{
    uint32_t found = lookup_find(&building->thread_of_detail, detail);

    if (detail == 0 || found != LOOKUP_NONE)
        return detail == 0 ? 0 : found;
    const struct elapsed_row row = elapsed_step_row(building->analysis, detail);
    uint64_t key = (uint64_t)row.origin << 32 | row.tid;
    int64_t party = party_of(building, detail);
    found = lookup_find(&building->of_thread, key);
    if (party >= 0 && found == LOOKUP_NONE && row.tid != 0) {
        if (add_thread(building, &row, (uint32_t)party, detail) < 0)
            return -ENOMEM;
        found = (uint32_t)building->model->thread_count;
    }
    if (found == LOOKUP_NONE)
        found = 0;
    if (party < 0 || lookup_set(&building->of_thread, key, found) < 0 ||
        lookup_set(&building->thread_of_detail, detail, found) < 0)
        return -ENOMEM;
    return found;
}

/* ---- requests, as recorded ---- */

#define BIT(kind) (1u << (kind))

/* On the way to a thread, which does something else, or nothing. */
static bool is_on_the_way(unsigned kind)
{
    return kind == ELAPSED_IN_FLIGHT || kind == ELAPSED_QUEUED;
}

static bool is_poll(uint32_t call)
{
    switch (call) {
    case 7:   /* poll */
    case 23:  /* select */
    case 232: /* epoll_wait */
    case 270: /* pselect6 */
    case 271: /* ppoll */
    case 281: /* epoll_pwait */
    case 441: /* epoll_pwait2 */
        return true;
    default:
        return false;
    }
}

static int add_step(struct building *building, const struct elapsed_step *step)
{
    struct whatif_model *model = building->model;
    int64_t party = party_of(building, step->detail);
    int64_t thread = is_on_the_way(step->kind) ? 0 : thread_of(building, step->detail);

    if (party < 0 || thread < 0)
        return -ENOMEM;
    model->steps[model->step_count++] = (struct whatif_step){
        .time = step->end - step->begin,
        .party = (uint32_t)party,
        .thread = (uint32_t)thread,
        .kind = (uint8_t)step->kind,
        .polls = step->kind == ELAPSED_TIMER &&
                 is_poll(elapsed_step_row(building->analysis, step->detail).call),
    };
    return 0;
}

static int add_steps(struct building *building, const struct elapsed_followed *followed)
{
    struct whatif_model *model = building->model;
    size_t count = followed->step_count;
    int result = 0;

    if (array_reserve(&model->steps, &model->step_room, model->step_count + count,
                      sizeof(*model->steps)) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count && result == 0; i++)
        result = add_step(building, &followed->steps[i]);
    return result;
}

/* ---- clients ---- */

/* The slot of this client that has been free for the shortest time. A new one, if all have a request in progress. */
static int64_t slot_for(struct whatif_model *model, uint32_t client, uint64_t begin)
{
    int64_t best = -1;
    uint64_t latest = 0;

    for (size_t i = 0; i < model->slot_count; i++) {
        const struct whatif_slot *slot = &model->slots[i];
        uint64_t free = model->requests[slot->last - 1].end;
        if (slot->client == client && free <= begin && (best < 0 || free > latest)) {
            best = (int64_t)i;
            latest = free;
        }
    }
    if (best >= 0)
        return best;
    if (array_reserve(&model->slots, &model->slot_room, model->slot_count + 1,
                      sizeof(*model->slots)) < 0)
        return -ENOMEM;
    model->slots[model->slot_count] = (struct whatif_slot){.client = client};
    return (int64_t)model->slot_count++;
}

static int take_request(void *context, const struct elapsed_followed *followed)
{
    struct building *building = context;
    struct whatif_model *model = building->model;
    struct whatif_request request = {
        .begin = followed->begin, .end = followed->end, .first_step = (uint32_t)model->step_count};

    if (model->request_count == WHATIF_REQUESTS_MOST) {
        model->left_out++;
        return 0;
    }
    int64_t client = party_of(building, followed->client);
    if (client < 0 || add_steps(building, followed) < 0)
        return -ENOMEM;
    int64_t at = slot_for(model, (uint32_t)client, request.begin);
    if (at < 0 || array_reserve(&model->requests, &model->request_room, model->request_count + 1,
                                sizeof(*model->requests)) < 0)
        return -ENOMEM;
    struct whatif_slot *slot = &model->slots[at];
    request.client = (uint32_t)client;
    request.slot = (uint32_t)at;
    request.step_count = (uint32_t)model->step_count - request.first_step;
    uint32_t number = (uint32_t)model->request_count + 1;
    if (slot->last == 0) {
        slot->first = number;
    } else {
        struct whatif_request *before = &model->requests[slot->last - 1];
        request.think = request.begin - before->end;
        before->next = number;
    }
    slot->last = number;
    model->requests[model->request_count++] = request;
    return 0;
}

/* ---- threads that have several requests at a time ---- */

struct span {
    uint32_t thread; /* index */
    uint64_t begin, end;
};

struct spans {
    struct span *at;
    size_t count, room;
};

static int add_span(struct spans *spans, uint32_t thread, uint64_t begin, uint64_t end)
{
    if (array_reserve(&spans->at, &spans->room, spans->count + 1, sizeof(*spans->at)) < 0)
        return -ENOMEM;
    spans->at[spans->count++] = (struct span){thread, begin, end};
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
            until = span->end > until ? span->end : until;
        }
        if ((double)overlaps > OVERLAPS * (double)all)
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

/* Whether a thread can do this for one request only at a time. */
static bool is_exclusive(const struct whatif_model *model, const struct whatif_step *step)
{
    const uint32_t kinds = BIT(ELAPSED_COMPUTES) | BIT(ELAPSED_NO_CPU) | BIT(ELAPSED_DISK) |
                           BIT(ELAPSED_LOCK) | BIT(ELAPSED_FILE_LOCK) | BIT(ELAPSED_INTERPRETER) |
                           BIT(ELAPSED_VM_STOP) | BIT(ELAPSED_TIMER) | BIT(ELAPSED_LIMIT) |
                           BIT(ELAPSED_CHILD) | BIT(ELAPSED_INPUT);

    return step->thread != 0 && (kinds >> step->kind & 1) != 0 &&
           !(step->polls && model->threads[step->thread - 1].is_loop);
}

/* A client that is metered serves nobody: its threads are no workers. */
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
        if (is_exclusive(model, step) && !is_of_client(request, step))
            claims[count++] = (struct claim){step->thread, request->first_step + i, time,
                                             time + step->time, request->end};
        time += step->time;
    }
    return count;
}

/* Of each thread in order of their ends: what another request has had already, this one waited for. */
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

static void drop_queues(struct whatif_model *model)
{
    for (size_t i = 0; i < model->request_count; i++) {
        const struct whatif_request *request = &model->requests[i];
        struct whatif_step *steps = &model->steps[request->first_step];
        for (uint32_t k = 0; k < request->step_count; k++)
            if (steps[k].kind == ELAPSED_QUEUED || is_beside(request, steps, k))
                steps[k].queued = steps[k].time;
        close_gaps(request, steps);
    }
}

/* ---- from the first to the last step of a thread in a request ---- */

struct extent {
    uint32_t first, last; /* steps of the request: index + 1 */
    uint64_t begin, end;
};

static bool is_own(const struct whatif_request *request, const struct whatif_step *step)
{
    return step->thread != 0 && step->queued < step->time && !is_of_client(request, step);
}

/* Fills those of the request's threads; the others stay. */
static void find_extents(const struct whatif_model *model, const struct whatif_request *request,
                         struct extent *extents)
{
    const struct whatif_step *steps = &model->steps[request->first_step];
    uint64_t time = request->begin;

    for (uint32_t i = 0; i < request->step_count; i++)
        if (steps[i].thread != 0)
            extents[steps[i].thread - 1] = (struct extent){0};
    for (uint32_t i = 0; i < request->step_count; i++) {
        if (is_own(request, &steps[i])) {
            struct extent *extent = &extents[steps[i].thread - 1];
            if (extent->first == 0)
                *extent = (struct extent){.first = i + 1, .begin = time + steps[i].queued};
            extent->last = i + 1;
            extent->end = time + steps[i].time;
        }
        time += steps[i].time;
    }
}

static int add_extents(const struct whatif_model *model, const struct whatif_request *request,
                       const struct extent *extents, struct spans *spans)
{
    const struct whatif_step *steps = &model->steps[request->first_step];
    int result = 0;

    for (uint32_t i = 0; i < request->step_count && result == 0; i++) {
        const struct extent *extent = steps[i].thread == 0 ? NULL : &extents[steps[i].thread - 1];
        if (extent != NULL && extent->first == i + 1)
            result = add_span(spans, steps[i].thread - 1, extent->begin, extent->end);
    }
    return result;
}

static int find_all_loops(struct whatif_model *model, struct extent *extents)
{
    struct spans spans = {0};
    int result = 0;

    for (size_t i = 0; i < model->request_count && result == 0; i++) {
        find_extents(model, &model->requests[i], extents);
        result = add_extents(model, &model->requests[i], extents, &spans);
    }
    if (result == 0)
        find_loops(model, &spans);
    for (size_t i = 0; i < spans.count; i++)
        model->threads[spans.at[i].thread].works = true;
    free(spans.at);
    return result;
}

/* ---- pools ---- */

static int64_t pool_of(struct whatif_model *model, const struct whatif_thread *thread)
{
    for (size_t i = 0; i < model->pool_count; i++)
        if (is_same(&model->parties[model->pools[i].party], &model->parties[thread->party]) &&
            strcmp(model->pools[i].kind, thread->kind) == 0)
            return (int64_t)i;
    if (array_reserve(&model->pools, &model->pool_room, model->pool_count + 1,
                      sizeof(*model->pools)) < 0)
        return -ENOMEM;
    struct whatif_pool *pool = &model->pools[model->pool_count];
    *pool = (struct whatif_pool){.party = thread->party, .blocking = true};
    memcpy(pool->kind, thread->kind, sizeof(pool->kind));
    return (int64_t)model->pool_count++;
}

static int make_pools(struct whatif_model *model)
{
    for (size_t i = 0; i < model->thread_count; i++) {
        struct whatif_thread *thread = &model->threads[i];
        if (!thread->works)
            continue;
        int64_t index = pool_of(model, thread);
        if (index < 0)
            return -ENOMEM;
        struct whatif_pool *pool = &model->pools[index];
        pool->workers++;
        pool->blocking = pool->blocking && !thread->is_loop;
        thread->pool = (uint32_t)index;
    }
    return 0;
}

/* ---- programs ---- */

struct programming {
    struct whatif_model *model;
    struct extent *extents;
    uint32_t loop; /* thread of the loop that is at work: index + 1; 0: none */
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

static void leave(struct programming *programming, uint32_t thread)
{
    add_op(programming, (struct whatif_op){.type = OP_LEAVE,
                                           .of = programming->model->threads[thread - 1].pool});
}

static void end_loop(struct programming *programming, uint32_t thread)
{
    if (programming->loop != 0 && programming->loop != thread) {
        leave(programming, programming->loop);
        programming->loop = 0;
    }
}

#define HELD_LEAST 30000000u /* ns: Linux delays an acknowledgement by 40 ms, rarely longer */
#define HELD_MOST  60000000u

static void add_time(struct programming *programming, const struct whatif_step *step)
{
    struct whatif_op op = {
        .time = step->time - step->queued, .of = step->party, .kind = step->kind};

    op.type = step->kind == ELAPSED_COMPUTES ? OP_CPU
              : step->kind == ELAPSED_NO_CPU ? OP_NO_CPU
                                             : OP_DELAY;
    op.is_held = step->kind == ELAPSED_IN_FLIGHT && op.time >= HELD_LEAST && op.time <= HELD_MOST;
    add_op(programming, op);
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
    bool holds = is_exclusive(programming->model, step);

    end_loop(programming, holds ? step->thread : 0);
    if (holds && programming->loop == 0) {
        enter(programming, step->thread);
        programming->loop = step->thread;
    }
    add_time(programming, step);
}

static void add_own_step(struct programming *programming, const struct whatif_step *step,
                         uint32_t number)
{
    const struct extent *extent = &programming->extents[step->thread - 1];

    end_loop(programming, 0);
    if (extent->first == number)
        enter(programming, step->thread);
    add_time(programming, step);
    if (extent->last == number)
        leave(programming, step->thread);
}

static void make_program(struct programming *programming, struct whatif_request *request)
{
    struct whatif_model *model = programming->model;

    request->first_op = (uint32_t)model->op_count;
    programming->loop = 0;
    find_extents(model, request, programming->extents);
    for (uint32_t i = 0; i < request->step_count && !programming->failed; i++) {
        const struct whatif_step *step = &model->steps[request->first_step + i];
        if (step->queued > 0)
            add_queue(programming, step);
        if (step->queued == step->time)
            continue;
        if (!is_own(request, step)) {
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

static int make_programs(struct whatif_model *model, struct extent *extents)
{
    struct programming programming = {.model = model, .extents = extents};

    for (size_t i = 0; i < model->request_count; i++)
        make_program(&programming, &model->requests[i]);
    return programming.failed ? -ENOMEM : 0;
}

static int make_all(struct whatif_model *model)
{
    struct extent *extents = calloc(model->thread_count + 1, sizeof(*extents));
    int result = extents == NULL ? -ENOMEM : find_queues(model);

    if (result == 0) {
        drop_queues(model);
        result = find_all_loops(model, extents);
    }
    if (result == 0)
        result = make_pools(model);
    if (result == 0)
        result = make_programs(model, extents);
    free(extents);
    return result;
}

/* ---- all of it ---- */

int whatif_model_new(struct elapsed_analysis *analysis, struct whatif_model **ret_model)
{
    struct whatif_model *model = calloc(1, sizeof(*model));
    struct building building = {.model = model, .analysis = analysis};
    const struct elapsed_row nobody = {0};

    *ret_model = model;
    if (model == NULL)
        return -ENOMEM;
    int64_t first = add_party(&building, &nobody);
    int result = first < 0 || lookup_set(&building.of_detail, 0, 0) < 0 ? -ENOMEM : 0;
    if (result == 0)
        result = elapsed_each_request(analysis, UINT32_MAX, take_request, &building);
    lookup_done(&building.of_detail);
    lookup_done(&building.of_process);
    lookup_done(&building.of_thread);
    lookup_done(&building.thread_of_detail);
    if (result == 0)
        result = make_all(model);
    if (result < 0) {
        whatif_model_free(model);
        *ret_model = NULL;
    }
    return result;
}

void whatif_model_free(struct whatif_model *model)
{
    if (model == NULL)
        return;
    free(model->parties);
    free(model->pools);
    free(model->threads);
    free(model->steps);
    free(model->ops);
    free(model->requests);
    free(model->slots);
    free(model);
}

size_t whatif_pools(const struct whatif_model *model, const struct whatif_pool **ret_pools)
{
    *ret_pools = model->pools;
    return model->pool_count;
}

const struct whatif_party *whatif_party(const struct whatif_model *model, uint32_t party)
{
    return &model->parties[party];
}
