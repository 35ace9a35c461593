/* SPDX-License-Identifier: MIT */
/*
 * traffic_graph_test.c: the traffic graph (who sends to whom) against a naive model: random pairs of processes and
 * addresses, and the traffic between them.
 *
 *      pairs --> traffic_graph_make --> nodes, a matrix, "others"
 *        '-----> by number -----------> the same?
 */
#include "analysis/findings/traffic_graph.h"
#include "show/report/report_face.h"

#include "seeded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PROCESSES 30
#define ADDRESSES 30
#define PAIRS     200
#define NAMES     (PROCESSES + ADDRESSES)

struct world {
    struct communication communication;
    struct communication_machine machine;
    struct communication_process processes[PROCESSES];
    struct communication_pair pairs[PAIRS];
    uint32_t numbers[PROCESSES];
    char addresses[ADDRESSES][16];
    struct traffic sent[NAMES][NAMES]; /* the naive model, by number of the party */
    struct traffic total[NAMES];
};

static void begin_world(struct world *world, uint32_t processes)
{
    *world = (struct world){0};
    world->communication = (struct communication){
        .processes = world->processes,
        .process_count = processes,
        .pairs = world->pairs,
        .machines = &world->machine,
        .machine_count = 1,
    };
    for (uint32_t i = 0; i < PROCESSES; i++) {
        world->numbers[i] = i;
        world->processes[i] = (struct communication_process){.pid = i + 1, .name = "p"};
    }
    for (uint32_t i = 0; i < ADDRESSES; i++)
        snprintf(world->addresses[i], sizeof(world->addresses[i]), "10.0.0.%u", i);
}

/* Party `number`: a process, or from PROCESSES on an address. */
static struct party party_at(struct world *world, uint32_t number)
{
    if (number >= PROCESSES)
        return (struct party){.address = world->addresses[number - PROCESSES]};
    return (struct party){.processes = &world->numbers[number], .count = 1};
}

static void add(struct traffic *sum, const struct traffic *more)
{
    sum->messages += more->messages;
    sum->bytes += more->bytes;
}

static void add_pair(struct world *world, uint32_t from, uint32_t to, struct traffic sent)
{
    world->pairs[world->communication.pair_count++] = (struct communication_pair){
        .from = party_at(world, from), .to = party_at(world, to), .sent = sent};
    add(&world->sent[from][to], &sent);
    add(&world->total[from], &sent);
    if (from != to)
        add(&world->total[to], &sent);
}

static bool is_party(const struct world *world, const struct party *party, uint32_t number)
{
    if (number >= PROCESSES)
        return party->count == 0 && party->address == world->addresses[number - PROCESSES];
    return party->count == 1 && party->processes[0] == number;
}

/* The node of this party; graph->count: none. */
static size_t node_of(const struct world *world, const struct traffic_graph *graph, uint32_t number)
{
    size_t node = 0;

    while (node < graph->count && !is_party(world, &graph->nodes[node].party, number))
        node++;
    return node;
}

static void assert_traffic(const struct traffic *expected, const struct traffic *found)
{
    assert_int_equal(expected->messages, found->messages);
    assert_int_equal(expected->bytes, found->bytes);
}

/* ---- properties ---- */

static void check_nodes(const struct world *world, const struct traffic_graph *graph,
                        const bool *exists)
{
    uint64_t least = UINT64_MAX;
    size_t own = 0;

    for (uint32_t i = 0; i < NAMES; i++) {
        size_t node = node_of(world, graph, i);
        if (node == graph->count)
            continue;
        assert_true(exists[i]);
        assert_traffic(&world->total[i], &graph->nodes[node].traffic);
        least = world->total[i].bytes < least ? world->total[i].bytes : least;
        own++;
    }
    assert_int_equal(own, graph->count - (graph->others > 0));
    size_t others = 0;
    for (uint32_t i = 0; i < NAMES; i++)
        if (exists[i] && node_of(world, graph, i) == graph->count) {
            assert_true(world->total[i].bytes <= least);
            others++;
        }
    assert_int_equal(others, graph->others);
}

static void check_matrix(const struct world *world, const struct traffic_graph *graph,
                         const bool *exists)
{
    struct traffic *naive = calloc(graph->count * graph->count + 1, sizeof(*naive));

    assert_non_null(naive);
    for (uint32_t from = 0; from < NAMES; from++)
        for (uint32_t to = 0; to < NAMES; to++) {
            if (!exists[from] || !exists[to])
                continue;
            size_t row = node_of(world, graph, from), column = node_of(world, graph, to);
            row -= row == graph->count; /* "others" is the last one */
            column -= column == graph->count;
            add(&naive[row * graph->count + column], &world->sent[from][to]);
        }
    struct traffic most = {0};
    for (size_t i = 0; i < graph->count * graph->count; i++) {
        assert_traffic(&naive[i], &graph->sent[i]);
        size_t last = graph->others > 0 ? graph->count - 1 : graph->count;
        if (i / graph->count == last || i % graph->count == last)
            continue;
        most.bytes = naive[i].bytes > most.bytes ? naive[i].bytes : most.bytes;
        most.messages = naive[i].messages > most.messages ? naive[i].messages : most.messages;
    }
    assert_traffic(&most, &graph->most);
    free(naive);
}

static void test_random(void **state)
{
    uint64_t seed = seed_of_run("traffic graph");
    struct world *world = malloc(sizeof(*world));

    (void)state;
    assert_non_null(world);
    for (int round = 0; round < 300; round++) {
        bool exists[NAMES] = {false};
        uint32_t processes = (uint32_t)random_below(&seed, PROCESSES + 1);
        uint64_t pairs = random_below(&seed, PAIRS + 1);
        begin_world(world, processes);
        for (uint32_t i = 0; i < processes; i++)
            exists[i] = true;
        for (uint64_t i = 0; i < pairs; i++) {
            uint32_t ends[2];
            for (int k = 0; k < 2; k++) {
                uint32_t number = (uint32_t)random_below(&seed, processes + ADDRESSES);
                ends[k] = number < processes ? number : PROCESSES + number - processes;
                exists[ends[k]] = true;
            }
            add_pair(world, ends[0], ends[1],
                     (struct traffic){1 + random_below(&seed, 100), random_below(&seed, 1000)});
        }
        struct traffic_graph graph;
        assert_int_equal(
            traffic_graph_make(&world->communication, 1 + random_below(&seed, NAMES + 5), &graph),
            0);
        check_nodes(world, &graph, exists);
        check_matrix(world, &graph, exists);
        traffic_graph_done(&graph);
    }
    free(world);
}

/* ---- examples ---- */

/* Two independent groups: each is contiguous, the one with more traffic first. */
static void test_order(void **state)
{
    static const uint32_t expected[] = {1, 4, 3, 0, 2};
    struct world *world = malloc(sizeof(*world));
    struct traffic_graph graph;

    (void)state;
    assert_non_null(world);
    begin_world(world, 5);
    add_pair(world, 1, 4, (struct traffic){10, 1000});
    add_pair(world, 0, 3, (struct traffic){10, 500});
    add_pair(world, 3, 2, (struct traffic){10, 10});
    assert_int_equal(traffic_graph_make(&world->communication, 40, &graph), 0);
    assert_int_equal(graph.count, ARRAY_SIZE(expected));
    assert_int_equal(graph.others, 0);
    for (size_t i = 0; i < graph.count; i++)
        assert_true(is_party(world, &graph.nodes[i].party, expected[i]));
    traffic_graph_done(&graph);
    free(world);
}

static void test_empty(void **state)
{
    struct communication nothing = {0};
    struct traffic_graph graph;

    (void)state;
    assert_int_equal(traffic_graph_make(&nothing, 40, &graph), 0);
    assert_int_equal(graph.count, 0);
    assert_int_equal(graph.others, 0);
    traffic_graph_done(&graph);
}

static void test_weight(void **state)
{
    (void)state;
    assert_true(traffic_weight(0, 100) == 0);
    assert_true(traffic_weight(100, 100) == 1);
    assert_true(traffic_weight(25, 100) == 0.5);
    assert_true(traffic_weight(200, 100) == 1);
    assert_true(traffic_weight(1, UINT64_MAX) > 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_weight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
