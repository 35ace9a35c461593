/* SPDX-License-Identifier: MIT */
/*
 * traffic_graph.c: traffic between parties, as a graph of few nodes. See traffic_graph.h.
 *
 *      pairs --> parties --> the heaviest, and one node of the others --> in an order
 *
 * The order begins with the heaviest. The next one is always that with the most traffic to those already placed, so
 * parties that are active together are close to each other.
 */
#include "analysis/findings/traffic_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All parties, while the graph is made. */
struct parties {
    struct intern keys; /* hash of the party */
    struct traffic_node *nodes;
    size_t capacity;
    uint32_t *place; /* [keys.count]: index of its node in the graph */
};

static uint64_t hash_of(const struct party *party)
{
    if (party->count > 0)
        return hash_bytes(1, party->processes, party->count * sizeof(*party->processes));
    return party->address == NULL ? 0 : hash_bytes(2, party->address, strlen(party->address));
}

static int64_t find_party(struct parties *parties, const struct party *party)
{
    uint32_t count = parties->keys.count;
    int64_t index = intern_add(&parties->keys, hash_of(party));

    if (index < 0 || array_reserve(&parties->nodes, &parties->capacity, (size_t)index + 1,
                                   sizeof(*parties->nodes)) < 0)
        return -ENOMEM;
    if (index == count)
        parties->nodes[index] = (struct traffic_node){.party = *party};
    return index;
}

static void add(struct traffic *sum, const struct traffic *more)
{
    sum->messages += more->messages;
    sum->bytes += more->bytes;
}

/* Indexes of the two parties of a pair. */
static int parties_of(struct parties *parties, const struct communication_pair *pair,
                      int64_t *ret_from, int64_t *ret_to)
{
    *ret_from = find_party(parties, &pair->from);
    *ret_to = find_party(parties, &pair->to);
    return *ret_from < 0 || *ret_to < 0 ? -ENOMEM : 0;
}

static int collect(struct parties *parties, const struct communication *communication,
                   struct traffic_graph *graph)
{
    graph->numbers = calloc(communication->process_count + 1, sizeof(*graph->numbers));
    if (graph->numbers == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < communication->process_count; i++) {
        graph->numbers[i] = i;
        if (find_party(parties, &(struct party){&graph->numbers[i], 1, NULL}) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < communication->pair_count; i++) {
        const struct communication_pair *pair = &communication->pairs[i];
        int64_t from, to;
        if (parties_of(parties, pair, &from, &to) < 0)
            return -ENOMEM;
        add(&parties->nodes[from].traffic, &pair->sent);
        if (from != to)
            add(&parties->nodes[to].traffic, &pair->sent);
    }
    return 0;
}

/* ---- the heaviest ---- */

static int heavier(const void *left, const void *right, void *context)
{
    const struct traffic_node *nodes = context;
    const struct traffic *a = &nodes[*(const uint32_t *)left].traffic;
    const struct traffic *b = &nodes[*(const uint32_t *)right].traffic;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->messages != b->messages)
        return a->messages > b->messages ? -1 : 1;
    return *(const uint32_t *)left < *(const uint32_t *)right ? -1 : 1;
}

static int choose(struct parties *parties, size_t most, struct traffic_graph *graph)
{
    size_t count = parties->keys.count;
    uint32_t *order = calloc(count + 1, sizeof(*order));

    graph->others = count > most ? count - most : 0;
    graph->count = graph->others > 0 ? most + 1 : count;
    graph->nodes = calloc(graph->count + 1, sizeof(*graph->nodes));
    graph->sent = calloc(graph->count * graph->count + 1, sizeof(*graph->sent));
    parties->place = calloc(count + 1, sizeof(*parties->place));
    if (order == NULL || graph->nodes == NULL || graph->sent == NULL || parties->place == NULL) {
        free(order);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof(*order), heavier, parties->nodes);
    for (uint32_t i = 0; i < count; i++) {
        bool own = i < most;
        parties->place[order[i]] = own ? i : (uint32_t)most;
        struct traffic_node *node = &graph->nodes[own ? i : most];
        add(&node->traffic, &parties->nodes[order[i]].traffic);
        if (own)
            node->party = parties->nodes[order[i]].party;
    }
    free(order);
    return 0;
}

/* Maxima over single parties: the sum of all others would dwarf them. */
static void find_most(struct traffic_graph *graph)
{
    size_t last = graph->count - (graph->others > 0);

    for (size_t i = 0; i < last * last; i++) {
        const struct traffic *sent = &graph->sent[i / last * graph->count + i % last];
        if (sent->bytes > graph->most.bytes)
            graph->most.bytes = sent->bytes;
        if (sent->messages > graph->most.messages)
            graph->most.messages = sent->messages;
    }
}

static int fill(struct parties *parties, const struct communication *communication,
                struct traffic_graph *graph)
{
    for (size_t i = 0; i < communication->pair_count; i++) {
        const struct communication_pair *pair = &communication->pairs[i];
        int64_t from, to;
        if (parties_of(parties, pair, &from, &to) < 0)
            return -ENOMEM;
        add(&graph->sent[parties->place[from] * graph->count + parties->place[to]], &pair->sent);
    }
    find_most(graph);
    return 0;
}

/* ---- the order ---- */

static uint64_t between(const struct traffic_graph *graph, size_t one, size_t other)
{
    return graph->sent[one * graph->count + other].bytes +
           graph->sent[other * graph->count + one].bytes;
}

/* The node from `placed` on with the most traffic to those before it; if equal, the heaviest. */
static size_t next_node(const struct traffic_graph *graph, const uint32_t *order, size_t placed)
{
    size_t best = placed, last = graph->count - (graph->others > 0);
    uint64_t most = 0;

    for (size_t i = placed; i < last; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < placed; k++)
            sum += between(graph, order[i], order[k]);
        if (sum > most) {
            most = sum;
            best = i;
        }
    }
    return best;
}

static int arrange(struct traffic_graph *graph)
{
    size_t count = graph->count, last = count - (graph->others > 0);
    uint32_t *order = calloc(count + 1, sizeof(*order));
    struct traffic_node *nodes = calloc(count + 1, sizeof(*nodes));
    struct traffic *sent = calloc(count * count + 1, sizeof(*sent));
    int result = order == NULL || nodes == NULL || sent == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; result == 0 && i < count; i++)
        order[i] = i;
    for (size_t placed = 1; result == 0 && placed < last; placed++) {
        size_t next = next_node(graph, order, placed);
        uint32_t node = order[next];
        memmove(order + placed + 1, order + placed, (next - placed) * sizeof(*order));
        order[placed] = node;
    }
    for (size_t i = 0; result == 0 && i < count; i++) {
        nodes[i] = graph->nodes[order[i]];
        for (size_t k = 0; k < count; k++)
            sent[i * count + k] = graph->sent[order[i] * count + order[k]];
    }
    free(order);
    if (result < 0) {
        free(nodes);
        free(sent);
        return result;
    }
    free(graph->nodes);
    free(graph->sent);
    graph->nodes = nodes;
    graph->sent = sent;
    return 0;
}

/* ---- all of it ---- */

int traffic_graph_make(const struct communication *communication, size_t most,
                       struct traffic_graph *graph)
{
    struct parties parties = {0};

    *graph = (struct traffic_graph){0};
    int result = collect(&parties, communication, graph);
    if (result == 0)
        result = choose(&parties, most, graph);
    if (result == 0)
        result = fill(&parties, communication, graph);
    if (result == 0)
        result = arrange(graph);
    intern_done(&parties.keys);
    free(parties.nodes);
    free(parties.place);
    return result;
}

void traffic_graph_done(struct traffic_graph *graph)
{
    free(graph->nodes);
    free(graph->sent);
    free(graph->numbers);
    *graph = (struct traffic_graph){0};
}
