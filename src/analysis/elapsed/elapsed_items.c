/* SPDX-License-Identifier: MIT */
/*
 * elapsed_items.c: of the processes of one name that a process created (xargs -P, make -j, a pool), the one that the run
 * waited for most, with all that it created. See elapsed.h.
 *
 *      xargs --+-- work.sh 1 -- gzip          4%  of the elapsed time
 *              +-- work.sh 7 -- gzip, wc     79%  the item
 *              '-- work.sh 8 -- gzip          3%
 */
#include "analysis/elapsed/elapsed_private.h"
#include "base/covered.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST  1000 /* processes that create each other */
#define ITEMS_LEAST 3    /* two may be anything */
#define TIMES_NEXT  2 /* an item takes so many times as long as the next one, or it is not special */
#define ALONE_PART                                                                                 \
    4 /* one in so many parts of its time none of the others was there: else they may wait for each other */

struct node {
    uint32_t detail; /* one of the process's, of its latest program if there is one */
    uint32_t parent; /* index + 1; 0: none, or not known */
    const char *name;
    uint64_t time;       /* of the account, with what it created */
    uint64_t begin, end; /* of its records */
};

struct tree {
    struct intern keys; /* origin, number of the process */
    struct node *nodes;
    size_t room;
};

static uint32_t parent_of(const struct identities *identities, const struct detail *detail)
{
    const struct stream_record *process =
        identities_stream(identities, detail->origin, detail->process_number);
    const struct stream_record *creator =
        process == NULL || process->parent == 0
            ? NULL
            : identities_stream(identities, detail->origin, process->parent);

    return creator == NULL ? 0 : creator->process;
}

/* All processes that have done something. */
static int plant(const struct elapsed_analysis *analysis, struct tree *tree)
{
    const struct identities *identities = history_identities(analysis->history);

    for (uint32_t i = 0; i < analysis->detail_keys.count; i++) {
        const struct detail *detail = &analysis->details[i];
        const struct stream_record *process =
            identities_stream(identities, detail->origin, detail->process_number);
        uint32_t before = tree->keys.count;
        int64_t index = intern_add(&tree->keys, number_key(detail->origin, detail->process_number));
        if (index < 0 ||
            array_reserve(&tree->nodes, &tree->room, (size_t)index + 1, sizeof(*tree->nodes)) < 0)
            return -ENOMEM;
        struct node *node = &tree->nodes[index];
        if (index == before)
            *node = (struct node){.name = process == NULL ? detail->process : process->name};
        if (node->detail == 0 || strncmp(detail->process, node->name, STREAM_NAME_SIZE) == 0)
            node->detail = i + 1;
    }
    for (uint32_t i = 0; i < tree->keys.count; i++) {
        const struct detail *detail = &analysis->details[tree->nodes[i].detail - 1];
        uint32_t parent = parent_of(identities, detail);
        int64_t index =
            parent == 0 ? -1 : intern_find(&tree->keys, number_key(detail->origin, parent));
        tree->nodes[i].parent = index < 0 ? 0 : (uint32_t)index + 1;
    }
    return 0;
}

static void add_time(const struct elapsed_analysis *analysis, struct tree *tree,
                     const struct part *part)
{
    const struct detail *detail = part->detail == 0 ? NULL : &analysis->details[part->detail - 1];
    int64_t index =
        detail == NULL
            ? -1
            : intern_find(&tree->keys, number_key(detail->origin, detail->process_number));

    for (unsigned depth = 0; index >= 0 && depth < DEPTH_MOST; depth++) {
        tree->nodes[index].time += part->time;
        index = (int64_t)tree->nodes[index].parent - 1;
    }
}

static void find_lives(const struct elapsed_analysis *analysis, struct tree *tree)
{
    for (uint32_t i = 1; i <= analysis->intervals.count; i++) {
        const struct interval *interval = interval_at(analysis, i);
        const struct detail *detail = &analysis->details[interval->computes - 1];
        int64_t index =
            intern_find(&tree->keys, number_key(detail->origin, detail->process_number));
        if (index < 0)
            continue;
        struct node *node = &tree->nodes[index];
        node->begin = node->end == 0 || interval->end < node->begin ? interval->end : node->begin;
        node->end = interval->end > node->end ? interval->end : node->end;
    }
}

static bool is_beside(const struct node *node, const struct node *other)
{
    return other != node && other->parent == node->parent &&
           strncmp(other->name, node->name, STREAM_NAME_SIZE) == 0;
}

/* For how long it was there, and none of the others of its name and parent. */
static uint64_t time_alone(const struct tree *tree, const struct node *node)
{
    struct covered others = {0};

    for (uint32_t i = 0; i < tree->keys.count; i++) {
        const struct node *other = &tree->nodes[i];
        uint64_t begin = other->begin > node->begin ? other->begin : node->begin;
        uint64_t end = other->end < node->end ? other->end : node->end;
        if (is_beside(node, other) && begin < end)
            covered_add(&others, begin, end);
    }
    return node->end - node->begin - covered_time(&others);
}

/* What a process has among the others of its name and parent. */
static struct elapsed_item item_of(const struct tree *tree, uint32_t at)
{
    const struct node *node = &tree->nodes[at];
    struct elapsed_item item = {.time = node->time, .of = 1};

    for (uint32_t i = 0; i < tree->keys.count; i++) {
        const struct node *other = &tree->nodes[i];
        if (!is_beside(node, other))
            continue;
        item.of++;
        item.next = other->time > item.next ? other->time : item.next;
    }
    return item;
}

/* The item with most time that takes much more than those beside it: that closest to the root, if one contains another. */
static void find_item(const struct elapsed_analysis *analysis, struct tree *tree,
                      struct elapsed *elapsed)
{
    for (uint32_t i = 0; i < tree->keys.count; i++) {
        const struct node *node = &tree->nodes[i];
        if (node->parent == 0 || node->time <= elapsed->item.time ||
            node->time < elapsed->run.time / 10)
            continue;
        struct elapsed_item item = item_of(tree, i);
        if (item.of < ITEMS_LEAST || item.time < TIMES_NEXT * item.next)
            continue;
        if (tree->nodes[0].end == 0)
            find_lives(analysis, tree);
        if (time_alone(tree, node) < item.time / ALONE_PART)
            continue;
        item.process = elapsed_row_of(analysis, &(struct part){node->detail, ELAPSED_NO_CPU, 0, 0});
        item.parent = elapsed_row_of(
            analysis, &(struct part){tree->nodes[node->parent - 1].detail, ELAPSED_NO_CPU, 0, 0});
        elapsed->item = item;
    }
}

int elapsed_find_item(const struct elapsed_analysis *analysis, const struct part *parts,
                      size_t count, struct elapsed *elapsed)
{
    struct tree tree = {0};
    int result = plant(analysis, &tree);

    for (size_t i = 0; i < count && result == 0; i++)
        add_time(analysis, &tree, &parts[i]);
    if (result == 0)
        find_item(analysis, &tree, elapsed);
    intern_done(&tree.keys);
    free(tree.nodes);
    return result;
}
