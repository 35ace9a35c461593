/* SPDX-License-Identifier: MIT */
/*
 * whatif_search.c: which single change makes requests fastest. See whatif.h.
 *
 *      ops          CPU db 3 ms | disk db 8 ms | queued at php 60 ms | in flight to db (second question of php)
 *      candidates   --speed db=2  --wait db,disk=0  --replicas php=...      --merge php>db
 *      concern      3 ms          8 ms              60 ms                   what the ways take
 */
#include "analysis/whatif/whatif_private.h"
#include "base/covered.h"
#include "base/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct candidate {
    enum whatif_kind kind;
    enum elapsed_kind wait;
    uint32_t one, other; /* names */
    uint64_t time;       /* of all requests, ns */
};

/* Two programs that ask each other in a request. */
struct pair {
    uint32_t one, other; /* names; `one` asked first */
    uint32_t questions;
    uint64_t time; /* on the way, after the first question's answer */
};

#define PAIRS_MOST 32 /* in a request; further ones are not merged */

/* Who has asked whom in a request. */
struct way {
    uint32_t client, first, last; /* names; first: where it begins if the client is not metered */
    struct pair pairs[PAIRS_MOST];
    size_t count;
};

struct searching {
    const struct whatif_model *model;
    uint32_t *names; /* [party]: the first party that a change names with it */
    struct candidate *candidates;
    size_t count, room;
    struct lookup of_key;
    bool failed;
};

/* ---- what there is to change ---- */

static int name_parties(struct searching *searching)
{
    const struct whatif_model *model = searching->model;
    struct lookup of_name = {0};
    int result = 0;

    searching->names = calloc(model->party_count + 1, sizeof(*searching->names));
    if (searching->names == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < model->party_count && result == 0; i++) {
        const char *asked = model->parties[i].asked;
        uint64_t key = hash_bytes(0, asked, strlen(asked));
        uint32_t first = lookup_find(&of_name, key);
        bool is_same = first != LOOKUP_NONE && strcmp(model->parties[first].asked, asked) == 0;
        searching->names[i] = is_same ? first : i;
        if (first == LOOKUP_NONE)
            result = lookup_set(&of_name, key, i);
    }
    lookup_done(&of_name);
    return result;
}

static void concern(struct searching *searching, struct candidate candidate)
{
    uint64_t key = (uint64_t)candidate.kind << 56 | (uint64_t)candidate.wait << 48 |
                   (uint64_t)(candidate.one & 0xffffff) << 24 | (candidate.other & 0xffffff);
    uint32_t found = lookup_find(&searching->of_key, key);

    if (candidate.time == 0 || searching->failed)
        return;
    if (found != LOOKUP_NONE) {
        searching->candidates[found].time += candidate.time;
        return;
    }
    if (array_reserve(&searching->candidates, &searching->room, searching->count + 1,
                      sizeof(*searching->candidates)) < 0 ||
        lookup_set(&searching->of_key, key, (uint32_t)searching->count) < 0)
        searching->failed = true;
    else
        searching->candidates[searching->count++] = candidate;
}

bool whatif_is_own_wait(enum elapsed_kind kind)
{
    switch (kind) {
    case ELAPSED_DISK:
    case ELAPSED_LOCK:
    case ELAPSED_FILE_LOCK:
    case ELAPSED_INTERPRETER:
    case ELAPSED_VM_STOP:
    case ELAPSED_TIMER:
    case ELAPSED_LIMIT:
    case ELAPSED_NO_ANSWER:
    case ELAPSED_OUTSIDE:
    case ELAPSED_NOT_FOUND:
    case ELAPSED_OPEN:
    case ELAPSED_INPUT:
    case ELAPSED_SPACE:
        return true;
    default:
        return false;
    }
}

/* The client, or who has been asked. */
static bool may_ask(const struct way *way, uint32_t name)
{
    for (size_t i = 0; i < way->count; i++)
        if (way->pairs[i].other == name)
            return true;
    return name == way->client || name == way->first;
}

/* NULL: it is no question. Who was at work on another request before this one does not ask for it. */
static struct pair *pair_of(struct way *way, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < way->count; i++)
        if ((way->pairs[i].one == from && way->pairs[i].other == to) ||
            (way->pairs[i].one == to && way->pairs[i].other == from))
            return &way->pairs[i];
    if (way->count == PAIRS_MOST || !may_ask(way, from) || may_ask(way, to))
        return NULL;
    way->pairs[way->count] = (struct pair){.one = from, .other = to};
    return &way->pairs[way->count++];
}

static void take_flight(struct way *way, uint32_t to, uint64_t time)
{
    struct pair *pair = way->last == to ? NULL : pair_of(way, way->last, to);

    if (pair == NULL)
        return;
    pair->questions += pair->one == way->last;
    if (pair->questions > 1)
        pair->time += time;
}

static void take_delay(struct searching *searching, const struct whatif_request *request,
                       uint32_t at)
{
    const struct whatif_op *op = &searching->model->ops[request->first_op + at];
    uint32_t name = searching->names[op->of];

    if (op->is_held) {
        concern(searching, (struct candidate){.kind = WHATIF_NO_HOLDBACK, .time = op->time});
    } else if (whatif_is_connecting(op)) {
        uint32_t other = searching->names[whatif_connected_to(searching->model, request, at)];
        concern(searching, (struct candidate){
                               .kind = WHATIF_KEEP, .one = name, .other = other, .time = op->time});
    } else if (whatif_is_own_wait((enum elapsed_kind)op->kind)) {
        concern(searching, (struct candidate){.kind = WHATIF_WAIT,
                                              .wait = (enum elapsed_kind)op->kind,
                                              .one = name,
                                              .time = op->time});
    }
}

static void take_op(struct searching *searching, const struct whatif_request *request, uint32_t at,
                    struct way *way)
{
    const struct whatif_op *op = &searching->model->ops[request->first_op + at];
    uint32_t name = searching->names[op->of];

    if (op->type == OP_QUEUED)
        concern(searching,
                (struct candidate){.kind = WHATIF_REPLICAS, .one = name, .time = op->time});
    else if (op->type == OP_CPU)
        concern(searching, (struct candidate){.kind = WHATIF_SPEED, .one = name, .time = op->time});
    else if (op->type == OP_NO_CPU)
        concern(searching,
                (struct candidate){
                    .kind = WHATIF_WAIT, .wait = ELAPSED_NO_CPU, .one = name, .time = op->time});
    else if (op->type == OP_DELAY)
        take_delay(searching, request, at);
    if (op->kind == ELAPSED_IN_FLIGHT)
        take_flight(way, name, op->time);
    way->last = name;
}

static void take_request(struct searching *searching, const struct whatif_request *request)
{
    const struct whatif_model *model = searching->model;
    uint32_t client = searching->names[request->client];
    struct way way = {.client = client, .first = client, .last = client};

    for (uint32_t k = 0; k < request->op_count; k++) {
        const struct whatif_op *op = &model->ops[request->first_op + k];
        if (op->type == OP_ENTER || op->type == OP_LEAVE)
            continue;
        if (request->client == 0 && way.first == client)
            way.first = searching->names[op->of];
        take_op(searching, request, k, &way);
    }
    for (size_t i = 0; i < way.count; i++)
        concern(searching, (struct candidate){.kind = WHATIF_MERGE,
                                              .one = way.pairs[i].one,
                                              .other = way.pairs[i].other,
                                              .time = way.pairs[i].time});
}

static int by_concern(const void *one, const void *other)
{
    const struct candidate *a = one, *b = other;

    return (a->time < b->time) - (a->time > b->time);
}

static int find_candidates(struct searching *searching)
{
    int result = name_parties(searching);

    for (size_t i = 0; i < searching->model->request_count && result == 0; i++) {
        take_request(searching, &searching->model->requests[i]);
        result = searching->failed ? -ENOMEM : 0;
    }
    if (result == 0 && searching->count > 0)
        qsort(searching->candidates, searching->count, sizeof(*searching->candidates), by_concern);
    return result;
}

/* ---- what they gain ---- */

#define SMALL        0.01
#define NEXT_TO_NONE 0.001 /* of the requests' time: not tried */
#define MOST_OF_ALL  0.9

double whatif_gain(const struct whatif_trial *trial)
{
    return 1 - trial->answer.then.mean / trial->answer.recorded.mean;
}

/* 0: the trial's answer is set; 1: that change cannot be made. */
static int try_one(struct whatif_asking *asking, struct whatif_trial *trial)
{
    struct problem ignored;

    asking->tried_ops += asking->model->op_count;
    int result = whatif_asking_try(asking, &trial->change, 1, &trial->answer, &ignored);

    return result == -EINVAL ? 1 : result;
}

#define LOCKED_LITTLE 0.1  /* of what they compute ... */
#define LOCKED_NEVER  0.01 /* ... and of all their time */

bool whatif_shares_lock(const struct whatif_pool *pool)
{
    return (double)pool->locked > LOCKED_LITTLE * (double)pool->computing &&
           (double)pool->locked > LOCKED_NEVER * (double)pool->time;
}

/* The largest pool of this name. */
static void find_workers(const struct whatif_model *model, struct whatif_trial *trial)
{
    for (size_t i = 0; i < model->pool_count; i++) {
        const struct whatif_pool *pool = &model->pools[i];
        if (strcmp(model->parties[pool->party].asked, trial->change.name) != 0 ||
            pool->workers <= trial->from)
            continue;
        trial->from = pool->workers;
        trial->in_turn = pool->blocking;
        trial->share_lock = whatif_shares_lock(pool);
    }
}

/* As few workers as gain most of what any number would. */
static int try_replicas(struct whatif_asking *asking, struct whatif_trial *trial)
{
    uint32_t enough = (uint32_t)asking->model->slot_count;

    find_workers(asking->model, trial);
    if (trial->from == 0 || trial->from >= enough)
        return 1;
    trial->change.amount = enough;
    int result = try_one(asking, trial);
    double best = result == 0 ? whatif_gain(trial) : 0;
    if (result != 0 || best < SMALL)
        return result;
    for (uint64_t n = (uint64_t)trial->from * 2; n < enough; n *= 2) {
        struct whatif_trial fewer = *trial;
        fewer.change.amount = (double)n;
        result = try_one(asking, &fewer);
        if (result < 0)
            return result;
        if (result == 0 && whatif_gain(&fewer) >= MOST_OF_ALL * best) {
            *trial = fewer;
            break;
        }
    }
    return 0;
}

static double concerns(const struct whatif_asking *asking, const struct candidate *candidate)
{
    return (double)candidate->time /
           (asking->answer.recorded.mean * (double)asking->model->request_count);
}

static int try_candidate(struct whatif_asking *asking, const struct candidate *candidate,
                         struct whatif_trial *ret_trial)
{
    const struct whatif_model *model = asking->model;
    bool has_other = candidate->kind == WHATIF_KEEP || candidate->kind == WHATIF_MERGE;

    *ret_trial = (struct whatif_trial){
        .change = {.kind = candidate->kind,
                   .name = candidate->kind == WHATIF_NO_HOLDBACK
                               ? NULL
                               : model->parties[candidate->one].asked,
                   .to = has_other ? model->parties[candidate->other].asked : NULL,
                   .amount = candidate->kind == WHATIF_SPEED ? 2 : 0,
                   .wait = candidate->wait},
        .concerns = concerns(asking, candidate),
    };
    return candidate->kind == WHATIF_REPLICAS ? try_replicas(asking, ret_trial)
                                              : try_one(asking, ret_trial);
}

static int by_gain(const void *one, const void *other)
{
    const struct whatif_trial *a = one, *b = other;
    double x = whatif_gain(a), y = whatif_gain(b);

    return x != y ? (x < y) - (x > y) : (a->concerns < b->concerns) - (a->concerns > b->concerns);
}

static int try_all(struct searching *searching, struct whatif_asking *asking, size_t most,
                   uint64_t ops_most, struct whatif_found *found)
{
    int result = 0;

    found->trials = calloc(most + 1, sizeof(*found->trials));
    if (found->trials == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < searching->count && result >= 0; i++) {
        const struct candidate *candidate = &searching->candidates[i];
        struct whatif_trial *trial = &found->trials[found->count];
        if (searching->model->parties[candidate->one].asked[0] == '\0' &&
            candidate->kind != WHATIF_NO_HOLDBACK)
            continue;
        if (concerns(asking, candidate) < NEXT_TO_NONE)
            break; /* and so are all after it */
        if (found->tried == most || asking->tried_ops >= ops_most) {
            found->left++;
            continue;
        }
        result = try_candidate(asking, candidate, trial);
        found->tried += result == 0;
        found->count += result == 0 && whatif_gain(trial) >= SMALL;
    }
    if (found->count > 1)
        qsort(found->trials, found->count, sizeof(*found->trials), by_gain);
    return result < 0 ? result : 0;
}

/* ---- all of it ---- */

static uint64_t covered_by(const struct whatif_model *model)
{
    struct covered covered = {.count = 0};

    for (size_t i = 0; i < model->request_count; i++)
        covered_add(&covered, model->requests[i].begin, model->requests[i].end);
    return covered_time(&covered);
}

int whatif_search(const struct whatif_model *model, uint32_t cpus, size_t most, uint64_t ops_most,
                  struct whatif_found *ret_found, struct problem *problem)
{
    struct searching searching = {.model = model};
    struct whatif_asking asking;
    int result = whatif_asking_begin(&asking, model, cpus, problem);

    *ret_found = (struct whatif_found){.now = asking.answer, .cpus = cpus};
    if (result == 0) {
        ret_found->covered = covered_by(model);
        result = find_candidates(&searching);
        if (result == 0)
            result = try_all(&searching, &asking, most, ops_most, ret_found);
        if (result == -ENOMEM)
            problem_set(problem, -ENOMEM, "out of memory");
    }
    whatif_asking_end(&asking);
    lookup_done(&searching.of_key);
    free(searching.candidates);
    free(searching.names);
    return result;
}

void whatif_found_done(struct whatif_found *found)
{
    free(found->trials);
    *found = (struct whatif_found){.count = 0};
}
