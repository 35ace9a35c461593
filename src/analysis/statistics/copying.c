/* SPDX-License-Identifier: MIT */
/*
 * copying.c: takes the rows of one result over into another.
 *
 *      from:   process 0  redis [7]   --map-->   to:   process 1  server
 *              process 1  client [9]                   process 0  client
 *
 *      parties of `from` are translated by that map; pairs of the same parties become one
 *
 * If `from` is spent, for it is freed next, its histograms are taken rather than copied, and its rows dropped, so that there
 * are not twice as many for a moment.
 */
#include "analysis/statistics/statistics_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- parties ---- */

static int map_party(struct communication *result, const uint32_t *map, const struct party *from,
                     struct party *to)
{
    *to = (struct party){.count = from->count};
    if (from->address != NULL) {
        to->address = communication_keep_text(result, from->address);
        if (to->address == NULL)
            return -ENOMEM;
    }
    if (from->count == 0)
        return 0;
    uint32_t *mapped = calloc(from->count, sizeof(*mapped));
    if (mapped == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < from->count; i++)
        mapped[i] = map[from->processes[i]];
    to->count = sort_numbers(mapped, from->count);
    to->processes = communication_keep(result, mapped, to->count * sizeof(*mapped));
    free(mapped);
    return to->processes == NULL ? -ENOMEM : 0;
}

/* ---- histograms ---- */

static int take_histogram(struct histogram *to, struct histogram *from, bool spent)
{
    return spent ? histogram_move(to, from, HISTOGRAM_MOST)
                 : histogram_merge(to, from, HISTOGRAM_MOST);
}

static int take_times(struct times *to, struct times *from, bool spent)
{
    int result = 0;

    for (unsigned kind = 0; result == 0 && kind < TIME_KINDS; kind++)
        result = take_histogram(&to->of[kind], &from->of[kind], spent);
    return result;
}

/* ---- pairs and paths ---- */

static int transfer_pair(struct communication *result, const uint32_t *map,
                         struct communication_pair *from, bool spent)
{
    struct communication_pair *pair;
    struct party sender, receiver;

    if (map_party(result, map, &from->from, &sender) < 0 ||
        map_party(result, map, &from->to, &receiver) < 0)
        return -ENOMEM;
    pair = communication_pair(result, &sender, &receiver);
    if (pair == NULL)
        return -ENOMEM;
    add_traffic(&pair->sent, &from->sent);
    pair->local = pair->local && from->local;
    int error = take_histogram(&pair->sizes, &from->sizes, spent);
    return error < 0 ? error : take_times(&pair->times, &from->times, spent);
}

static int transfer_path(struct communication *result, const uint32_t *map,
                         struct communication_path *from, bool spent)
{
    struct communication_path *path = &result->paths[result->path_count++];

    *path = *from;
    path->times = (struct times){0};
    path->sizes = (struct histogram){0};
    path->local = communication_keep_text(result, from->local);
    path->remote = communication_keep_text(result, from->remote);
    if (path->local == NULL || path->remote == NULL ||
        map_party(result, map, &from->ends[0], &path->ends[0]) < 0 ||
        map_party(result, map, &from->ends[1], &path->ends[1]) < 0)
        return -ENOMEM;
    int error = take_histogram(&path->sizes, &from->sizes, spent);
    return error < 0 ? error : take_times(&path->times, &from->times, spent);
}

int communication_transfer(struct communication *result, const uint32_t *map,
                           const struct communication *from, struct communication *spent)
{
    size_t capacity = result->path_count;
    int error = 0;

    for (size_t i = 0; error == 0 && i < from->pair_count; i++)
        error = transfer_pair(result, map, &from->pairs[i], spent != NULL);
    if (error == 0 && spent != NULL)
        communication_drop_pairs(spent);
    if (error == 0)
        error = array_reserve(&result->paths, &capacity, result->path_count + from->path_count + 1,
                              sizeof(*result->paths));
    for (size_t i = 0; error == 0 && i < from->path_count; i++)
        error = transfer_path(result, map, &from->paths[i], spent != NULL);
    return error;
}

/* ---- processes ---- */

int copy_process(struct communication *result, struct communication_process *from,
                 struct communication_process *to, bool spent)
{
    const char **texts[] = {&to->user_name, &to->cgroup_name, &to->program, &to->group};

    *to = *from;
    to->times = (struct times){0};
    to->sizes = (struct histogram){0};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        if (*texts[i] == NULL)
            continue;
        *texts[i] = communication_keep_text(result, *texts[i]);
        if (*texts[i] == NULL)
            return -ENOMEM;
    }
    int error = take_histogram(&to->sizes, &from->sizes, spent);
    return error < 0 ? error : take_times(&to->times, &from->times, spent);
}

/* ---- all of it ---- */

static int copy_rows(struct communication *copy, const struct communication *from, uint32_t *map,
                     struct communication *spent)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < from->process_count; i++) {
        map[i] = i;
        copy->process_count = i + 1UL;
        result = copy_process(copy, &from->processes[i], &copy->processes[i], spent != NULL);
    }
    if (result == 0 && spent != NULL)
        communication_drop_processes(spent);
    if (result == 0)
        result = communication_transfer(copy, map, from, spent);
    add_totals(copy, from);
    return result;
}

int communication_copy(const struct communication *from, struct communication *spent,
                       struct communication **ret_copy)
{
    struct communication *copy = calloc(1, sizeof(*copy));
    uint32_t *map = calloc(from->process_count + 1, sizeof(*map));
    int result = -ENOMEM;

    if (copy != NULL)
        copy->processes = calloc(from->process_count + 1, sizeof(*copy->processes));
    if (copy != NULL && copy->processes != NULL && map != NULL)
        result = copy_rows(copy, from, map, spent);
    free(map);
    if (result < 0) {
        communication_free(copy);
        return result;
    }
    *ret_copy = copy;
    return 0;
}
