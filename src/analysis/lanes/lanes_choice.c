/* SPDX-License-Identifier: MIT */
/* lanes_choice.c: which processes share a lane, and which lanes come first. See lanes.h. */
#include "analysis/lanes/lanes_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What all lanes have together. */
struct totals {
    double account, work;
};

static double account_of(const struct lane *lane)
{
    double sum = 0;

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
        sum += (double)lane->account[kind];
    return sum;
}

/* Its threads did, or were ready to do. */
static double work_of(const struct lane *lane)
{
    return (double)(lane->time[ELAPSED_COMPUTES] + lane->time[ELAPSED_NO_CPU]);
}

/* What a lane matters: its share of the account, and its share of the work. */
static double weight_of(const struct lane *lane, const struct totals *totals)
{
    return (totals->account > 0 ? account_of(lane) / totals->account : 0) +
           (totals->work > 0 ? work_of(lane) / totals->work : 0);
}

static void add_sums(struct lane *to, const struct lane *from)
{
    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++) {
        to->time[kind] += from->time[kind];
        to->account[kind] += from->account[kind];
    }
    to->processes += from->processes;
    to->passing += from->passing;
}

/* An index, and what it is ordered by. */
struct ranked {
    double weight;
    uint32_t index;
};

static int by_weight(const void *one, const void *other)
{
    const struct ranked *a = one, *b = other;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* ---- groups ---- */

struct groups {
    struct intern keys;
    struct lane *at; /* sums */
    size_t room;
    struct totals totals;
};

static int find_groups(struct lanes_analysis *analysis, struct groups *groups)
{
    for (uint32_t i = 0; i < analysis->keys.count; i++) {
        struct actor *actor = &analysis->actors[i];
        const struct lane *sums = &actor->sums;
        uint32_t before = groups->keys.count;
        uint64_t key = lanes_key(lanes_key(sums->machine, sums->name), sums->script);
        int64_t index = intern_add(&groups->keys, key);
        if (index < 0 ||
            array_reserve(&groups->at, &groups->room, (size_t)index + 1, sizeof(*groups->at)) < 0)
            return -ENOMEM;
        struct lane *group = &groups->at[index];
        if (index == before) {
            memcpy(group->name, sums->name, sizeof(group->name));
            memcpy(group->script, sums->script, sizeof(group->script));
            group->origin = sums->origin;
            group->machine = sums->machine;
        }
        add_sums(group, sums);
        groups->totals.account += account_of(sums);
        groups->totals.work += work_of(sums);
        actor->group = (uint32_t)index;
    }
    return 0;
}

/* The ones that have lanes stand by what they have of the account; the others of them, by their work. */
static void order_shown(const struct groups *groups, struct ranked *order)
{
    uint32_t count = groups->keys.count < LANES_MOST ? groups->keys.count : LANES_MOST;

    for (uint32_t i = 0; i < count; i++) {
        const struct lane *group = &groups->at[order[i].index];
        order[i].weight = account_of(group) > 0 ? account_of(group) : -1 / (1 + work_of(group));
    }
    qsort(order, count, sizeof(*order), by_weight);
}

static struct ranked *rank_groups(const struct groups *groups)
{
    struct ranked *order = calloc(groups->keys.count + 1, sizeof(*order));

    for (uint32_t i = 0; order != NULL && i < groups->keys.count; i++)
        order[i] = (struct ranked){weight_of(&groups->at[i], &groups->totals), i};
    if (order != NULL)
        qsort(order, groups->keys.count, sizeof(*order), by_weight);
    if (order != NULL)
        order_shown(groups, order);
    return order;
}

/* ---- members ---- */

/* The busiest actors of each lane become its members. `order`: of all actors. */
static void choose_members(struct lanes_analysis *analysis, struct lanes *lanes,
                           const struct ranked *order)
{
    for (uint32_t i = 0; i < analysis->keys.count; i++) {
        struct actor *actor = &analysis->actors[order[i].index];
        struct lane *lane = actor->lane == NO_LANE ? NULL : &lanes->list[actor->lane];
        if (lane == NULL || lane->members == NULL || lane->member_count == LANES_MEMBERS)
            continue;
        actor->member = (uint32_t)lane->member_count;
        lane->members[lane->member_count++] = actor->sums;
    }
}

static int make_members(struct lanes_analysis *analysis, const struct totals *totals,
                        struct lanes *lanes)
{
    struct ranked *order = calloc(analysis->keys.count + 1, sizeof(*order));
    int result = order == NULL ? -ENOMEM : 0;

    for (size_t i = 0; i < lanes->count && result == 0; i++)
        if (lanes->list[i].processes > 1) {
            lanes->list[i].members = calloc(LANES_MEMBERS, sizeof(struct lane));
            result = lanes->list[i].members == NULL ? -ENOMEM : 0;
        }
    for (uint32_t i = 0; i < analysis->keys.count && result == 0; i++)
        order[i] = (struct ranked){weight_of(&analysis->actors[i].sums, totals), i};
    if (result == 0) {
        qsort(order, analysis->keys.count, sizeof(*order), by_weight);
        choose_members(analysis, lanes, order);
    }
    free(order);
    return result;
}

/* ---- both ---- */

static void assign(struct lanes_analysis *analysis, const uint32_t *lane_of)
{
    for (uint32_t i = 0; i < analysis->keys.count; i++)
        analysis->actors[i].lane = lane_of[analysis->actors[i].group];
}

/* A lane of one process has its pid and label. */
static void name_single(const struct lanes_analysis *analysis, struct lanes *lanes)
{
    for (uint32_t i = 0; i < analysis->keys.count; i++) {
        const struct actor *actor = &analysis->actors[i];
        struct lane *lane = actor->lane == NO_LANE ? NULL : &lanes->list[actor->lane];
        if (lane == NULL || lane->processes != 1)
            continue;
        lane->pid = actor->sums.pid;
        memcpy(lane->label, actor->sums.label, sizeof(lane->label));
    }
}

static int take_groups(struct lanes_analysis *analysis, const struct groups *groups,
                       struct lanes *lanes)
{
    struct ranked *order = rank_groups(groups);
    uint32_t *lane_of = calloc(groups->keys.count + 1, sizeof(*lane_of));
    bool failed = order == NULL || lane_of == NULL;

    lanes->list = calloc(LANES_MOST + 1, sizeof(*lanes->list));
    if (failed || lanes->list == NULL) {
        free(order);
        free(lane_of);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < groups->keys.count; i++) {
        const struct lane *group = &groups->at[order[i].index];
        bool fits = lanes->count < LANES_MOST;
        lane_of[order[i].index] = fits ? (uint32_t)lanes->count : NO_LANE;
        if (fits)
            lanes->list[lanes->count++] = *group;
        else
            add_sums(&lanes->others, group);
    }
    assign(analysis, lane_of);
    free(order);
    free(lane_of);
    return 0;
}

int lanes_choose(struct lanes_analysis *analysis, struct lanes *lanes)
{
    struct groups groups = {0};
    int result = find_groups(analysis, &groups);

    if (result == 0)
        result = take_groups(analysis, &groups, lanes);
    if (result == 0)
        result = make_members(analysis, &groups.totals, lanes);
    if (result == 0)
        name_single(analysis, lanes);
    intern_done(&groups.keys);
    free(groups.at);
    return result;
}
