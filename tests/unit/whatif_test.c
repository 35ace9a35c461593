/* SPDX-License-Identifier: MIT */
/*
 * whatif_test.c: the simulation behind what-ifs, against queueing theory and against a naive evaluator.
 *
 *      machine repairman   clients that think, one queue, workers, exponential times: mean value analysis has the exact answer
 *      any programs        random ones, held against one that looks at all clients at each step
 */
#include "analysis/whatif/whatif_private.h"

#include "seeded.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS 1000000u

/* ---- models ---- */

struct world {
    struct whatif_model model;
    uint32_t workers[4];
    uint64_t *latencies;
    struct whatif_figures figures;
};

/* Clients that each send `requests`; their programs come later. */
static void make_world(struct world *world, uint32_t clients, uint32_t requests, uint32_t pools)
{
    struct whatif_model *model = &world->model;

    *world = (struct world){.latencies = calloc((size_t)clients * requests, sizeof(uint64_t))};
    model->parties = calloc(1, sizeof(*model->parties));
    model->party_count = 1;
    model->machines = 1;
    model->pools = calloc(pools, sizeof(*model->pools));
    model->pool_count = pools;
    model->slots = calloc(clients, sizeof(*model->slots));
    model->slot_count = clients;
    model->requests = calloc((size_t)clients * requests, sizeof(*model->requests));
    for (uint32_t i = 0; i < clients; i++) {
        model->slots[i].first = (uint32_t)model->request_count + 1;
        for (uint32_t k = 0; k < requests; k++) {
            struct whatif_request *request = &model->requests[model->request_count++];
            request->begin = 1;
            request->next = k + 1 < requests ? (uint32_t)model->request_count + 1 : 0;
        }
    }
    for (size_t i = 0; i < 4; i++)
        world->workers[i] = 1;
}

static void free_world(struct world *world)
{
    free(world->model.parties);
    free(world->model.pools);
    free(world->model.slots);
    free(world->model.requests);
    free(world->model.ops);
    free(world->latencies);
}

static void add_op(struct world *world, uint32_t request, enum whatif_op_type type, uint32_t of,
                   uint64_t time)
{
    struct whatif_model *model = &world->model;

    assert_int_equal(
        array_reserve(&model->ops, &model->op_room, model->op_count + 1, sizeof(*model->ops)), 0);
    if (model->requests[request].op_count++ == 0)
        model->requests[request].first_op = (uint32_t)model->op_count;
    model->ops[model->op_count++] =
        (struct whatif_op){.type = (uint8_t)type, .of = of, .time = time};
}

static int simulate(struct world *world, uint32_t cpus)
{
    const struct whatif_simulated run = {.model = &world->model,
                                         .ops = world->model.ops,
                                         .workers = world->workers,
                                         .cpus = cpus,
                                         .no_cpu = 1};
    int result = whatif_simulate(&run, world->latencies, &world->figures);

    if (result == 0)
        whatif_ranks(world->latencies, world->model.request_count, &world->figures);
    return result;
}

static double mean_latency(const struct world *world)
{
    double all = 0;

    for (size_t i = 0; i < world->model.request_count; i++)
        all += (double)world->latencies[i];
    return all / (double)world->model.request_count;
}

/* ---- theory ---- */

static void workers_that_take_equally_long(void **state)
{
    struct world world;

    (void)state;
    make_world(&world, 20, 50, 1);
    for (uint32_t i = 0; i < world.model.request_count; i++) {
        add_op(&world, i, OP_ENTER, 0, 0);
        add_op(&world, i, OP_DELAY, 0, 50 * MS);
        add_op(&world, i, OP_LEAVE, 0, 0);
    }
    world.workers[0] = 5;
    assert_int_equal(simulate(&world, 2), 0);
    assert_int_equal(world.figures.median, 200 * MS);
    assert_true(fabs(world.figures.per_second - 100) < 1); /* five end together */
    assert_true(world.figures.busy > 0.999 && world.figures.busiest == 1);
    world.workers[0] = 20;
    assert_int_equal(simulate(&world, 2), 0);
    assert_int_equal(world.figures.p99, 50 * MS);
    assert_true(world.figures.waiting == 0);
    free_world(&world);
}

/* They take the next request only 10 ms after each answer. */
static void workers_rest(void **state)
{
    struct world world;

    (void)state;
    make_world(&world, 20, 50, 1);
    for (uint32_t i = 0; i < world.model.request_count; i++) {
        add_op(&world, i, OP_ENTER, 0, 0);
        add_op(&world, i, OP_DELAY, 0, 40 * MS);
        add_op(&world, i, OP_LEAVE, 0, 10 * MS);
    }
    world.workers[0] = 5;
    assert_int_equal(simulate(&world, 2), 0);
    assert_int_equal(world.figures.median, 200 * MS);
    assert_true(fabs(world.figures.per_second - 100) < 1);
    world.workers[0] = 20;
    assert_int_equal(simulate(&world, 2), 0);
    assert_int_equal(world.figures.median,
                     50 * MS); /* each client finds the worker that rests after its last answer */
    free_world(&world);
}

/* Two programs that compute at the same time on one CPU, and then on two machines. */
static void a_program_gets_a_machine(void **state)
{
    const struct whatif_change change = {.kind = WHATIF_PLACE, .name = "back"};
    const struct whatif_change nobody = {.kind = WHATIF_PLACE, .name = "nobody"};
    struct whatif_answer answer;
    struct problem problem;
    struct world world;

    (void)state;
    make_world(&world, 2, 5, 1);
    free(world.model.parties);
    world.model.parties = calloc(2, sizeof(*world.model.parties));
    world.model.party_count = 2;
    strcpy(world.model.parties[0].name, "front");
    strcpy(world.model.parties[1].name, "back");
    for (uint32_t i = 0; i < world.model.request_count; i++) {
        struct whatif_request *request = &world.model.requests[i];
        add_op(&world, i, OP_CPU, i / 5, 10 * MS);
        request->begin = 1 + i % 5 * 20 * MS;
        request->end = request->begin + 20 * MS;
    }
    assert_int_equal(whatif_ask(&world.model, &change, 1, 1, &answer, &problem), 0);
    assert_true(answer.off < 0.001);
    assert_int_equal(answer.then.median, 10 * MS);
    assert_int_equal(whatif_ask(&world.model, &nobody, 1, 1, &answer, &problem), -EINVAL);
    assert_non_null(
        strstr(problem.text, "no process named nobody had a part in what requests waited for"));
    free_world(&world);
}

static void a_cpu_is_shared_evenly(void **state)
{
    struct world world;

    (void)state;
    make_world(&world, 3, 1, 1);
    add_op(&world, 0, OP_CPU, 0, 10 * MS);
    add_op(&world, 1, OP_CPU, 0, 20 * MS);
    add_op(&world, 2, OP_CPU, 0, 30 * MS);
    assert_int_equal(simulate(&world, 1), 0);
    /* three have a third each for 30 ms; then two a half each for 20 ms; then one has all of it */
    assert_int_equal(world.latencies[0], 30 * MS); /* sorted */
    assert_int_equal(world.latencies[1], 50 * MS);
    assert_int_equal(world.latencies[2], 60 * MS);
    assert_int_equal(simulate(&world, 3), 0);
    assert_int_equal(world.latencies[2], 30 * MS);
    free_world(&world);
}

static uint64_t exponential(uint64_t *seed, double mean)
{
    double even = ((double)random_below(seed, 1u << 30) + 0.5) / (1u << 30);

    return (uint64_t)(-mean * log(even));
}

/* Mean time of a visit by mean value analysis: `n` clients that think, one queue with `c` workers. (Lazowska et al., 1984,
 * chapters 6 and 8; the load-dependent form.) */
static double by_theory(unsigned n, double think, double service, unsigned c)
{
    double chances[64] = {1}, response = 0;

    for (unsigned k = 1; k <= n; k++) {
        double before[64], sum = 0;
        memcpy(before, chances, sizeof(before));
        response = 0;
        for (unsigned j = 1; j <= k; j++)
            response += j * service / (j < c ? j : c) * before[j - 1];
        double rate = k / (response + think);
        for (unsigned j = 1; j <= k; j++) {
            chances[j] = rate * service / (j < c ? j : c) * before[j - 1];
            sum += chances[j];
        }
        chances[0] = 1 - sum;
    }
    return response;
}

static void queues_are_as_theory_says(void **state)
{
    static const struct {
        unsigned clients, workers;
        double think, service; /* ms */
    } cases[] = {{4, 1, 40, 10}, {10, 1, 50, 10}, {10, 3, 20, 15}, {16, 8, 5, 20}, {2, 1, 0, 5}};
    uint64_t seed = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world world;
        make_world(&world, cases[i].clients, 60000 / cases[i].clients, 1);
        for (uint32_t k = 0; k < world.model.request_count; k++) {
            world.model.requests[k].think = exponential(&seed, cases[i].think * MS);
            add_op(&world, k, OP_ENTER, 0, 0);
            add_op(&world, k, OP_DELAY, 0, exponential(&seed, cases[i].service * MS));
            add_op(&world, k, OP_LEAVE, 0, 0);
        }
        world.workers[0] = cases[i].workers;
        assert_int_equal(simulate(&world, 1), 0);
        double expected =
            by_theory(cases[i].clients, cases[i].think, cases[i].service, cases[i].workers) * MS;
        double off = mean_latency(&world) / expected - 1;
        if (fabs(off) > 0.03)
            fail_msg("case %zu: %g ns, by theory %g", i, mean_latency(&world), expected);
        free_world(&world);
    }
}

/* A worker is held while another one is waited for. */
static void workers_of_two_pools(void **state)
{
    struct world world;

    (void)state;
    make_world(&world, 4, 10, 2);
    for (uint32_t i = 0; i < world.model.request_count; i++) {
        add_op(&world, i, OP_ENTER, 0, 0);
        add_op(&world, i, OP_DELAY, 0, 5 * MS);
        add_op(&world, i, OP_ENTER, 1, 0);
        add_op(&world, i, OP_DELAY, 0, 20 * MS);
        add_op(&world, i, OP_LEAVE, 1, 0);
        add_op(&world, i, OP_LEAVE, 0, 0);
    }
    world.workers[0] = 4;
    world.workers[1] = 1;
    assert_int_equal(simulate(&world, 1), 0);
    assert_int_equal(world.figures.median, 80 * MS); /* the others' 20 ms each, and its own */
    assert_int_equal(world.figures.busiest, 2);
    free_world(&world);
}

static void workers_that_wait_for_each_other(void **state)
{
    struct world world;

    (void)state;
    make_world(&world, 1, 1, 1);
    add_op(&world, 0, OP_ENTER, 0, 0);
    add_op(&world, 0, OP_ENTER, 0, 0);
    assert_int_equal(simulate(&world, 1), -EDEADLK);
    free_world(&world);
}

/* A loop releases its thread while it waits: without the wait there is no wakeup; at best, no call either. */
static void a_loop_does_not_wait(void **state)
{
    const struct whatif_change change = {
        .kind = WHATIF_WAIT, .name = "srv", .wait = ELAPSED_OUTSIDE};
    struct whatif_answer answer;
    struct problem problem;
    struct world world;

    (void)state;
    make_world(&world, 1, 50, 1);
    strcpy(world.model.parties[0].name, "srv");
    world.model.pools[0] = (struct whatif_pool){.workers = 1, .visits = 100};
    for (uint32_t i = 0; i < world.model.request_count; i++) {
        struct whatif_request *request = &world.model.requests[i];
        add_op(&world, i, OP_ENTER, 0, 0);
        add_op(&world, i, OP_CPU, 0, 7 * MS);
        add_op(&world, i, OP_DELAY, 0, 3 * MS);
        world.model.ops[world.model.op_count - 1].kind = ELAPSED_TIMER;
        add_op(&world, i, OP_CPU, 0, 10 * MS);
        add_op(&world, i, OP_LEAVE, 0, 0);
        add_op(&world, i, OP_DELAY, 0, 20 * MS);
        world.model.ops[world.model.op_count - 1].kind = ELAPSED_OUTSIDE;
        add_op(&world, i, OP_ENTER, 0, 0);
        add_op(&world, i, OP_NO_CPU, 0, 5 * MS);
        add_op(&world, i, OP_CPU, 0, 10 * MS);
        add_op(&world, i, OP_LEAVE, 0, 0);
        request->begin = 1 + i * (uint64_t)55 * MS;
        request->end = request->begin + 55 * MS;
    }
    assert_int_equal(whatif_ask(&world.model, &change, 1, 1, &answer, &problem), 0);
    assert_true(answer.off < 0.001);
    assert_int_equal(answer.then.median, 30 * MS);
    assert_int_equal(answer.at_best.median, 10 * MS);
    free_world(&world);
}

/* ---- a naive evaluator: one step of 1 ns x 1000 at a time is too slow, so: from one event to the next, by looking at all ---- */

struct naive_client {
    uint32_t request, op; /* index + 1; 0: done */
    double left;          /* of what it does; computing: work */
    double began, ready;
    bool computes, thinks;
    int queue; /* pool; -1: none */
    double since;
};

struct naive {
    struct world *world;
    struct naive_client clients[16];
    uint32_t free[4];
    double now, cpus;
    uint64_t latencies[512];
};

static void naive_go_on(struct naive *naive, uint32_t at);

static void naive_leave(struct naive *naive, uint32_t pool)
{
    int first = -1;

    for (int i = 0; i < (int)naive->world->model.slot_count; i++)
        if (naive->clients[i].queue == (int)pool &&
            (first < 0 || naive->clients[i].since < naive->clients[first].since))
            first = i;
    if (first < 0) {
        naive->free[pool]++;
        return;
    }
    naive->clients[first].queue = -1;
    naive->clients[first].left = 0; /* goes on at once */
}

static void naive_end(struct naive *naive, uint32_t at)
{
    struct naive_client *client = &naive->clients[at];
    const struct whatif_request *request = &naive->world->model.requests[client->request - 1];

    naive->latencies[client->request - 1] = (uint64_t)llround(naive->now - client->began);
    client->request = request->next;
    client->op = 0;
    if (request->next != 0) {
        client->thinks = true;
        client->left = (double)naive->world->model.requests[request->next - 1].think;
    }
}

static void naive_go_on(struct naive *naive, uint32_t at)
{
    const struct whatif_model *model = &naive->world->model;
    struct naive_client *client = &naive->clients[at];
    const struct whatif_request *request = &model->requests[client->request - 1];

    client->computes = false;
    if (client->op == 0) {
        client->began = naive->now;
        client->thinks = false;
    }
    while (client->op < request->op_count) {
        const struct whatif_op *op = &model->ops[request->first_op + client->op++];
        if (op->type == OP_LEAVE) {
            naive_leave(naive, op->of);
        } else if (op->type == OP_ENTER) {
            if (naive->free[op->of] > 0) {
                naive->free[op->of]--;
                continue;
            }
            client->queue = (int)op->of;
            client->since = naive->now;
            return;
        } else if (op->time > 0) {
            client->left = (double)op->time;
            client->computes = op->type == OP_CPU;
            return;
        }
    }
    naive_end(naive, at);
}

static double naive_rate(const struct naive *naive, const struct naive_client *client)
{
    double computing = 0;

    for (uint32_t i = 0; i < naive->world->model.slot_count; i++)
        computing += naive->clients[i].request != 0 && naive->clients[i].computes;
    return !client->computes || computing <= naive->cpus ? 1 : naive->cpus / computing;
}

/* The client whose event comes next; -1: none. */
static int naive_next(const struct naive *naive, double *ret_in)
{
    int next = -1;

    for (int i = 0; i < (int)naive->world->model.slot_count; i++) {
        const struct naive_client *client = &naive->clients[i];
        if (client->request == 0 || client->queue >= 0)
            continue;
        double in = client->left / naive_rate(naive, client);
        if (next < 0 || in < *ret_in) {
            next = i;
            *ret_in = in;
        }
    }
    return next;
}

static void evaluate(struct naive *naive)
{
    double in = 0, rates[16];

    for (int next; (next = naive_next(naive, &in)) >= 0;) {
        for (uint32_t i = 0; i < naive->world->model.slot_count; i++)
            rates[i] = naive_rate(naive, &naive->clients[i]);
        for (uint32_t i = 0; i < naive->world->model.slot_count; i++)
            if (naive->clients[i].queue < 0)
                naive->clients[i].left -= in * rates[i];
        naive->now += in;
        naive->clients[next].left = 0;
        naive_go_on(naive, (uint32_t)next);
    }
}

static void add_program(struct world *world, uint32_t request, uint64_t *seed)
{
    uint32_t parts = 1 + (uint32_t)random_below(seed, 5);

    /* no two events at once: then the order is that of the times */
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t pool = (uint32_t)random_below(seed, 3);
        bool enters = random_below(seed, 2) == 0;
        if (enters)
            add_op(world, request, OP_ENTER, pool, 0);
        add_op(world, request, random_below(seed, 2) == 0 ? OP_CPU : OP_DELAY, 0,
               1 + random_below(seed, 1000000007));
        if (enters)
            add_op(world, request, OP_LEAVE, pool, 0);
    }
}

static void random_programs_end_as_naively_evaluated(void **state)
{
    uint64_t seed = seed_of_run("whatif");

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct world world;
        struct naive naive = {.world = &world, .cpus = 1 + (double)random_below(&seed, 3)};
        make_world(&world, 1 + (uint32_t)random_below(&seed, 8),
                   1 + (uint32_t)random_below(&seed, 6), 3);
        for (uint32_t i = 0; i < world.model.request_count; i++) {
            world.model.requests[i].think = random_below(&seed, 1000000007);
            add_program(&world, i, &seed);
        }
        for (uint32_t i = 0; i < world.model.slot_count; i++) {
            struct whatif_request *first = &world.model.requests[world.model.slots[i].first - 1];
            first->begin = i == 0 ? 1 : 1 + random_below(&seed, 1000000007);
            naive.clients[i] = (struct naive_client){.request = world.model.slots[i].first,
                                                     .queue = -1,
                                                     .left = (double)(first->begin - 1)};
        }
        for (int i = 0; i < 3; i++)
            naive.free[i] = world.workers[i] = 1 + (uint32_t)random_below(&seed, 3);
        evaluate(&naive);
        const struct whatif_simulated run = {.model = &world.model,
                                             .ops = world.model.ops,
                                             .workers = world.workers,
                                             .cpus = (uint32_t)naive.cpus,
                                             .no_cpu = 1};
        assert_int_equal(whatif_simulate(&run, world.latencies, &world.figures), 0);
        for (size_t i = 0; i < world.model.request_count; i++)
            if (llabs((long long)world.latencies[i] - (long long)naive.latencies[i]) > 1000)
                fail_msg("round %d, request %zu: %llu ns, naively %llu", round, i,
                         (unsigned long long)world.latencies[i],
                         (unsigned long long)naive.latencies[i]);
        free_world(&world);
    }
}

/* ---- ranges ---- */

enum { CLIENTS = 10, EACH = 300 };

/* A worker of "srv" waits for a timer, and computes; clients think. All times are exponential. */
static void make_service(struct world *world, uint64_t seed, uint32_t workers, double timer)
{
    struct whatif_model *model = &world->model;

    make_world(world, CLIENTS, EACH, 1);
    free(model->parties);
    model->parties = calloc(2, sizeof(*model->parties));
    model->party_count = 2;
    strcpy(model->parties[1].name, "srv");
    model->pools[0] = (struct whatif_pool){
        .party = 1, .workers = workers, .visits = CLIENTS * EACH, .blocking = true};
    world->workers[0] = workers;
    for (uint32_t i = 0; i < CLIENTS; i++)
        model->slots[i].first = i + 1;
    for (uint32_t i = 0; i < model->request_count; i++) {
        /* about in the order of time, as they are recorded */
        model->requests[i].next = i + CLIENTS < model->request_count ? i + CLIENTS + 1 : 0;
        model->requests[i].begin = 1;
        model->requests[i].think = exponential(&seed, 20 * MS);
        add_op(world, i, OP_ENTER, 0, 0);
        add_op(world, i, OP_DELAY, 1, exponential(&seed, timer * MS));
        model->ops[model->op_count - 1].kind = ELAPSED_TIMER;
        add_op(world, i, OP_CPU, 1, exponential(&seed, 1 * MS));
        add_op(world, i, OP_LEAVE, 0, 0);
    }
}

/* As if it had been recorded. */
static void record(struct world *world)
{
    struct whatif_model *model = &world->model;
    const struct whatif_simulated run = {
        .model = model, .ops = model->ops, .workers = world->workers, .cpus = 4, .no_cpu = 1};

    assert_int_equal(whatif_simulate(&run, world->latencies, &world->figures), 0);
    for (size_t i = 0; i < model->slot_count; i++) {
        uint64_t time = 1;
        for (uint32_t at = model->slots[i].first; at != 0; at = model->requests[at - 1].next) {
            struct whatif_request *request = &model->requests[at - 1];
            request->begin = at == model->slots[i].first ? 1 : time + request->think;
            request->end = time = request->begin + world->latencies[at - 1];
        }
    }
    whatif_ranks(world->latencies, model->request_count, &world->figures);
}

static bool holds(const struct whatif_answer *answer, const struct whatif_figures *real)
{
    const struct whatif_figures *low = &answer->low, *high = &answer->high;

    return low->per_second <= real->per_second && real->per_second <= high->per_second &&
           low->median <= real->median && real->median <= high->median;
}

static double half_width(double low, double high)
{
    return (high - low) / (high + low);
}

#define RUNS 10

/* Of ten services, each predicted from one sample and then measured with another one, the range holds nine or more. */
static void hold_nine_of_ten(const struct whatif_change *change, uint32_t workers, double timer)
{
    unsigned held = 0;

    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct world before, after;
        struct whatif_answer answer;
        struct problem problem;
        make_service(&before, seed, 2, 15);
        record(&before);
        make_service(&after, seed + 1000, workers, timer);
        record(&after);
        if (whatif_ask(&before.model, change, 1, 4, &answer, &problem) != 0)
            fail_msg("%s", problem.text);
        held += holds(&answer, &after.figures);
        if (half_width(answer.low.per_second, answer.high.per_second) > 0.25 ||
            half_width((double)answer.low.median, (double)answer.high.median) > 0.25)
            fail_msg("seed %d: the range is too wide", (int)seed);
        free_world(&before);
        free_world(&after);
    }
    if (held < RUNS - 1)
        fail_msg("the range holds %u of %d", held, RUNS);
}

static void ranges_hold_what_more_workers_do(void **state)
{
    (void)state;
    hold_nine_of_ten(&(struct whatif_change){.kind = WHATIF_REPLICAS, .name = "srv", .amount = 4},
                     4, 15);
}

static void ranges_hold_what_shorter_waits_do(void **state)
{
    (void)state;
    hold_nine_of_ten(
        &(struct whatif_change){
            .kind = WHATIF_WAIT, .name = "srv", .wait = ELAPSED_TIMER, .amount = 0.5},
        2, 7.5);
}

enum { TRIPS = 5 };

/* "front" asks "back" five times; `ways`: how many of these take their way; `part`: of the CPU time for the others. */
static void make_trips(struct world *world, uint64_t seed, unsigned ways, double part)
{
    make_service(world, seed, CLIENTS, 1);
    struct whatif_model *model = &world->model;
    model->parties = realloc(model->parties, 3 * sizeof(*model->parties));
    model->parties[2] = (struct whatif_party){.name = "back"};
    model->party_count = 3;
    strcpy(model->parties[1].name, "front");
    model->op_count = 0;
    for (uint32_t i = 0; i < model->request_count; i++) {
        model->requests[i].op_count = 0;
        for (unsigned trip = 0; trip < TRIPS; trip++) {
            double cpu = trip < ways ? MS / 4 : part * MS / 4;
            uint64_t way = trip < ways ? 1 * MS : 0;
            add_op(world, i, OP_CPU, 1, exponential(&seed, cpu));
            add_op(world, i, OP_DELAY, 2, way);
            model->ops[model->op_count - 1].kind = ELAPSED_IN_FLIGHT;
            add_op(world, i, OP_CPU, 2, exponential(&seed, cpu));
            add_op(world, i, OP_DELAY, 1, way);
            model->ops[model->op_count - 1].kind = ELAPSED_IN_FLIGHT;
        }
    }
}

/* With the messages goes half of the CPU time for them, which the recording does not tell. */
static void ranges_hold_what_fewer_trips_do(void **state)
{
    const struct whatif_change change = {.kind = WHATIF_MERGE, .name = "front", .to = "back"};
    unsigned held = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct world before, after;
        struct whatif_answer answer;
        struct problem problem;
        make_trips(&before, seed, TRIPS, 1);
        record(&before);
        make_trips(&after, seed + 1000, 1, 0.5);
        record(&after);
        if (whatif_ask(&before.model, &change, 1, 4, &answer, &problem) != 0)
            fail_msg("%s", problem.text);
        held += holds(&answer, &after.figures);
        assert_true(answer.is_range && (answer.why >> WHY_CALLS & 1) != 0);
        assert_true(answer.at_best.median < answer.then.median);
        free_world(&before);
        free_world(&after);
    }
    if (held < RUNS - 1)
        fail_msg("the range holds %u of %d", held, RUNS);
}

/* No range is given for requests that are all alike; a wide one, where there are few. */
static void ranges_of_equal_requests_are_narrow(void **state)
{
    const struct whatif_change change = {.kind = WHATIF_REPLICAS, .name = "srv", .amount = 10};
    struct whatif_answer answer;
    struct problem problem;
    struct world world;

    (void)state;
    make_service(&world, 1, 2, 15);
    for (size_t i = 0; i < world.model.op_count; i++)
        world.model.ops[i].time = world.model.ops[i].type == OP_DELAY ? 15 * MS : 0;
    for (size_t i = 0; i < world.model.request_count; i++)
        world.model.requests[i].think = 20 * MS;
    record(&world);
    assert_int_equal(whatif_ask(&world.model, &change, 1, 4, &answer, &problem), 0);
    assert_false(answer.is_range);
    assert_int_equal(answer.then.median, 15 * MS);
    world.model.request_count = 30; /* too few to say */
    for (uint32_t i = 0; i < 30; i++) {
        world.model.requests[i].next = i < 20 ? i + CLIENTS + 1 : 0;
        world.model.requests[i].begin = 1 + i / CLIENTS * 60 * MS;
        world.model.requests[i].end = world.model.requests[i].begin + 40 * MS;
    }
    assert_int_equal(whatif_ask(&world.model, &change, 1, 4, &answer, &problem), 0);
    assert_true(answer.is_range && (answer.why >> WHY_REQUESTS & 1) != 0);
    free_world(&world);
}

/* Either end may be far from the prediction while the other is near it. */
static void a_range_ends_more_than_a_tenth_away(void **state)
{
    (void)state;
    assert_false(whatif_is_range(100, 91, 109));
    assert_true(whatif_is_range(100, 88, 101));
    assert_true(whatif_is_range(100, 99, 112));
    assert_false(whatif_is_range(0, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_that_take_equally_long),
        cmocka_unit_test(workers_rest),
        cmocka_unit_test(a_program_gets_a_machine),
        cmocka_unit_test(a_cpu_is_shared_evenly),
        cmocka_unit_test(queues_are_as_theory_says),
        cmocka_unit_test(workers_of_two_pools),
        cmocka_unit_test(workers_that_wait_for_each_other),
        cmocka_unit_test(a_loop_does_not_wait),
        cmocka_unit_test(random_programs_end_as_naively_evaluated),
        cmocka_unit_test(ranges_hold_what_more_workers_do),
        cmocka_unit_test(ranges_hold_what_shorter_waits_do),
        cmocka_unit_test(ranges_hold_what_fewer_trips_do),
        cmocka_unit_test(ranges_of_equal_requests_are_narrow),
        cmocka_unit_test(a_range_ends_more_than_a_tenth_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
