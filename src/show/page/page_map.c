/* SPDX-License-Identifier: MIT */
/*
 * page_map.c: which groups of processes talk to which, from clients to servers. See page.h.
 *
 *      10.0.0.1 (outside) --> nginx x2 --120/s, p50 8 ms--> app --> postgres x9
 *
 * A group is the processes of one machine with one name and one script, as in the chart. Connections between the same groups are one arc,
 * from the side that calls, or that sends. Groups without traffic are left out.
 */
#include "show/page/page_private.h"
#include "show/statistics/statistics_words.h"
#include "show/text/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MOST 40 /* without the one for all others */
#define ARCS_MOST  300

struct node {
    char name[ENDPOINT_SIZE + 1];
    uint32_t machine;
    bool outside;                              /* not metered; its name is an address */
    const struct communication_process *first; /* of it; NULL: outside */
    uint32_t processes;
    uint64_t messages; /* sent and received */
    uint32_t shown;    /* index in the result */
};

struct arc {
    uint32_t from, to; /* nodes */
    unsigned kind;     /* enum path_kind, of its first connection */
    uint64_t connections;
    struct traffic there, back;
    struct histogram requests; /* latencies, as the client saw them; or else service times */
    struct histogram waits;    /* one-way: of receivers */
};

struct map {
    const struct communication *communication;
    struct intern node_keys, arc_keys;
    struct node *nodes;
    size_t node_room;
    struct arc *arcs;
    size_t arc_room;
    uint32_t *node_of; /* [process_count], + 1 */
    bool failed;
};

/* ---- nodes ---- */

static uint32_t node_with(struct map *map, uint64_t key, const struct node *like)
{
    uint32_t before = map->node_keys.count;
    int64_t index = intern_add(&map->node_keys, key);

    if (index < 0 ||
        array_reserve(&map->nodes, &map->node_room, (size_t)index + 1, sizeof(*map->nodes)) < 0) {
        map->failed = true;
        return 0;
    }
    if (index == before)
        map->nodes[index] = *like;
    return (uint32_t)index;
}

/* "nginx", "python3 obj.py". */
static void group_text(const struct communication_process *process, char text[ENDPOINT_SIZE + 1])
{
    char name[STREAM_NAME_SIZE + 1], label[PROCESS_LABEL_SIZE], script[PROCESS_LABEL_SIZE];
    const char *at;

    page_label(process, label);
    size_t length = elapsed_script(label, &at);
    memcpy(script, at, length);
    script[length] = '\0';
    show_text(process->name, STREAM_NAME_SIZE, name);
    int used = snprintf(text, ENDPOINT_SIZE + 1, "%s%s", name, length > 0 ? " " : "");
    show_text(script, length, text + used);
}

static uint32_t node_of_process(struct map *map, uint32_t index)
{
    const struct communication_process *process = &map->communication->processes[index];
    struct node node = {.machine = process->machine, .first = process};

    if (map->node_of[index] != 0)
        return map->node_of[index] - 1;
    group_text(process, node.name);
    uint64_t machine = process->machine + 1;
    uint32_t found = node_with(
        map, hash_bytes(hash_bytes(0, &machine, sizeof(machine)), node.name, strlen(node.name)),
        &node);
    if (map->failed)
        return 0;
    map->nodes[found].processes++;
    map->node_of[index] = found + 1;
    return found;
}

/* A client's port says nothing. */
static void cut_port(unsigned kind, char *address)
{
    char *port = kind_is_internet(kind) ? strrchr(address, ':') : NULL;

    if (port != NULL)
        *port = '\0';
}

static uint32_t node_of_party(struct map *map, const struct communication_path *path, int end)
{
    const struct party *party = &path->ends[end];
    struct node node = {.outside = true};

    if (party->count > 0) {
        for (uint32_t i = 1; i < party->count; i++)
            node_of_process(map, party->processes[i]); /* counts it */
        return node_of_process(map, party->processes[0]);
    }
    const char *address = party->address != NULL ? party->address
                          : end == 0             ? path->local
                                                 : path->remote;
    show_text(address == NULL ? "unknown" : address, ENDPOINT_SIZE, node.name);
    if (end == 0)
        cut_port(path->kind, node.name);
    return node_with(map, hash_bytes(0, node.name, strlen(node.name)), &node);
}

/* ---- arcs ---- */

static void add_traffic(struct traffic *to, const struct traffic *from)
{
    to->messages += from->messages;
    to->bytes += from->bytes;
}

static void merge(struct map *map, struct histogram *to, const struct histogram *from)
{
    if (histogram_bars(from) > 0 && histogram_merge(to, from, HISTOGRAM_MOST) < 0)
        map->failed = true;
}

static struct arc *arc_between(struct map *map, uint32_t from, uint32_t to)
{
    uint32_t before = map->arc_keys.count;
    int64_t index = intern_add(&map->arc_keys, (uint64_t)from << 32 | to);

    if (index < 0 ||
        array_reserve(&map->arcs, &map->arc_room, (size_t)index + 1, sizeof(*map->arcs)) < 0) {
        map->failed = true;
        return NULL;
    }
    if (index == before)
        map->arcs[index] = (struct arc){.from = from, .to = to};
    return &map->arcs[index];
}

static void add_path(struct map *map, const struct communication_path *path)
{
    bool turned =
        path->sent.messages == 0 && !kind_is_internet(path->kind); /* only the other sends */
    uint32_t ends[] = {node_of_party(map, path, 0), node_of_party(map, path, 1)};
    struct arc *arc = map->failed ? NULL : arc_between(map, ends[turned], ends[!turned]);

    if (arc == NULL)
        return;
    arc->kind = arc->kind == 0 ? path->kind : arc->kind;
    arc->connections += path->connections;
    add_traffic(&arc->there, turned ? &path->received : &path->sent);
    add_traffic(&arc->back, turned ? &path->sent : &path->received);
    const struct histogram *latencies = &path->times.of[TIME_REQUEST_WHOLE];
    if (histogram_bars(latencies) == 0)
        latencies = &path->times.of[TIME_RESPONSE_WHOLE];
    merge(map, &arc->requests, latencies);
    merge(map, &arc->waits, &path->times.of[TIME_RECEIVER_WAIT]);
    uint64_t messages = path->sent.messages + path->received.messages;
    map->nodes[arc->from].messages += messages;
    map->nodes[arc->to].messages += messages;
}

/* ---- arcs of what is not shown ---- */

/* All groups that are not shown are one node: so are their arcs with the same group. */
static void join_arcs(struct map *map)
{
    struct intern pairs = {0};
    uint32_t *first = calloc(map->arc_keys.count + 1, sizeof(*first));

    map->failed = map->failed || first == NULL;
    for (uint32_t i = 0; i < map->arc_keys.count && !map->failed; i++) {
        struct arc *arc = &map->arcs[i];
        uint32_t before = pairs.count;
        int64_t at = intern_add(&pairs, (uint64_t)map->nodes[arc->from].shown << 32 |
                                            map->nodes[arc->to].shown);
        map->failed = at < 0;
        if (at == before)
            first[at] = i;
        if (at < 0 || at == before)
            continue;
        struct arc *sum = &map->arcs[first[at]];
        sum->connections += arc->connections;
        add_traffic(&sum->there, &arc->there);
        add_traffic(&sum->back, &arc->back);
        merge(map, &sum->requests, &arc->requests);
        merge(map, &sum->waits, &arc->waits);
        arc->there = arc->back = (struct traffic){0}; /* arcs_json leaves it out */
    }
    intern_done(&pairs);
    free(first);
}

/* ---- the result ---- */

struct heavy {
    uint64_t messages;
    uint32_t index;
};

static int by_messages(const void *one, const void *other)
{
    const struct heavy *a = one, *b = other;

    if (a->messages != b->messages)
        return a->messages > b->messages ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static json_t *node_json(const struct report *report, const struct node *node)
{
    char lane[PAGE_ID_SIZE];
    bool has_lane = node->first != NULL && page_process_lane_id(report, node->first, lane);

    return json_pack(
        "{s:s, s:i, s:b, s:i, s:o, s:o}", "name", node->name[0] == '\0' ? "unknown" : node->name,
        "machine", (int)node->machine, "outside", node->outside, "processes", (int)node->processes,
        "messages", json_count(node->messages), "lane", has_lane ? json_string(lane) : json_null());
}

/* Groups of all machines, and addresses: as many as its name says. */
static json_t *others_json(uint32_t others)
{
    char name[COUNTED_SIZE];

    show_counted(others, "other", name);
    return json_pack("{s:s, s:i, s:b, s:i, s:i, s:n}", "name", name, "machine", 0, "outside", 1,
                     "processes", 0, "messages", 0, "lane");
}

/* The first ones by traffic; the rest is one node. */
static json_t *nodes_json(const struct report *report, struct map *map)
{
    uint32_t count = map->node_keys.count, others = 0;
    struct heavy *order = calloc(count + 1, sizeof(*order));
    json_t *list = json_array();
    int result = order == NULL || list == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; i < count && result == 0; i++)
        order[i] = (struct heavy){map->nodes[i].messages, i};
    if (result == 0)
        qsort(order, count, sizeof(*order), by_messages);
    for (uint32_t i = 0; i < count && result == 0; i++) {
        struct node *node = &map->nodes[order[i].index];
        node->shown = i < NODES_MOST ? i : NODES_MOST;
        others += i >= NODES_MOST;
        if (i < NODES_MOST)
            result = json_array_append_new(list, node_json(report, node));
    }
    if (result == 0 && others > 0)
        result = json_array_append_new(list, others_json(others));
    free(order);
    if (result == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *arc_json(const struct map *map, const struct arc *arc)
{
    uint64_t count = histogram_count(&arc->requests);
    uint64_t duration = map->communication->duration;
    uint64_t waited = count > 0 ? histogram_sum(&arc->requests) : histogram_sum(&arc->waits);

    return json_pack("{s:i, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:o, s:f}", "from",
                     (int)map->nodes[arc->from].shown, "to", (int)map->nodes[arc->to].shown, "kind",
                     path_kind_name(arc->kind), "connections", json_count(arc->connections),
                     "messages", json_count(arc->there.messages), "bytes",
                     json_count(arc->there.bytes), "back_messages", json_count(arc->back.messages),
                     "back_bytes", json_count(arc->back.bytes), "requests", json_count(count),
                     "per_second", show_rate(count, duration), "p50_ns",
                     json_count(histogram_quantile(&arc->requests, 0.5)), "p99_ns",
                     json_count(histogram_quantile(&arc->requests, 0.99)), "waiting",
                     duration == 0 ? 0 : (double)waited / (double)duration);
}

static json_t *arcs_json(const struct map *map)
{
    uint32_t count = map->arc_keys.count;
    struct heavy *order = calloc(count + 1, sizeof(*order));
    json_t *list = json_array();
    int result = order == NULL || list == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; i < count && result == 0; i++)
        order[i] = (struct heavy){map->arcs[i].there.messages + map->arcs[i].back.messages, i};
    if (result == 0)
        qsort(order, count, sizeof(*order), by_messages);
    for (uint32_t i = 0; i < count && i < ARCS_MOST && result == 0; i++)
        if (order[i].messages > 0)
            result = json_array_append_new(list, arc_json(map, &map->arcs[order[i].index]));
    free(order);
    if (result == 0)
        return list;
    json_decref(list);
    return NULL;
}

json_t *page_map_json(const struct report *report)
{
    const struct communication *communication = report->communication;
    struct map map = {.communication = communication};
    json_t *nodes = NULL, *arcs = NULL;

    map.node_of = calloc(communication->process_count + 1, sizeof(*map.node_of));
    map.failed = map.node_of == NULL;
    for (size_t i = 0; i < communication->path_count && !map.failed; i++)
        if (communication->paths[i].sent.messages + communication->paths[i].received.messages > 0)
            add_path(&map, &communication->paths[i]);
    if (!map.failed) {
        nodes = nodes_json(report, &map);
        join_arcs(&map);
    }
    if (!map.failed)
        arcs = arcs_json(&map);
    for (uint32_t i = 0; i < map.arc_keys.count && map.arcs != NULL; i++) {
        histogram_done(&map.arcs[i].requests);
        histogram_done(&map.arcs[i].waits);
    }
    intern_done(&map.node_keys);
    intern_done(&map.arc_keys);
    free(map.nodes);
    free(map.arcs);
    free(map.node_of);
    return json_pack("{s:o, s:o}", "nodes", nodes, "arcs", arcs);
}
