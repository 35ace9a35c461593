/* SPDX-License-Identifier: MIT */
/*
 * copying.c: copies the rows of one result into another that has fewer processes.
 *
 *      from:   process 0  redis [7]   --map-->   to:   process 1  server
 *              process 1  client [9]                   process 0  client
 *
 *      parties of `from` are translated by that map; pairs of the same parties are merged
 */
#include "analysis/statistics/copying.h"

#include "analysis/statistics/rows.h"

#include <errno.h>
#include <stdlib.h>

static int map_party(struct communication *result, const uint32_t *map, const struct party *from,
                     struct party *to)
{
    *to = (struct party){.count = from->count};
    if (from->address != NULL) {
        to->address = communication_keep_text(result, from->address);
        if (to->address == NULL)
            return -ENOMEM;
    }
    if (from->common != NULL) {
        to->common = communication_keep_text(result, from->common);
        if (to->common == NULL)
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

static int transfer_pair(struct communication *result, const uint32_t *map,
                         const struct communication_pair *from)
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
    pair->covered.receiver += from->covered.receiver;
    pair->covered.message += from->covered.message;
    pair->covered.sender += from->covered.sender;
    int error = histogram_merge(&pair->sizes, &from->sizes, HISTOGRAM_MOST);
    return error < 0 ? error : add_times(&pair->times, &from->times);
}

static int transfer_path(struct communication *result, const uint32_t *map,
                         const struct communication_path *from)
{
    struct communication_path *path = &result->paths[result->path_count++];

    *path = *from;
    path->times = (struct times){0};
    path->sizes = path->open_responses = path->open_requests = (struct histogram){0};
    path->local = communication_keep_text(result, from->local);
    path->remote = communication_keep_text(result, from->remote);
    if (path->local == NULL || path->remote == NULL ||
        map_party(result, map, &from->ends[0], &path->ends[0]) < 0 ||
        map_party(result, map, &from->ends[1], &path->ends[1]) < 0)
        return -ENOMEM;
    int error = histogram_merge(&path->sizes, &from->sizes, HISTOGRAM_MOST);
    if (error == 0)
        error = histogram_merge(&path->open_responses, &from->open_responses, HISTOGRAM_MOST);
    if (error == 0)
        error = histogram_merge(&path->open_requests, &from->open_requests, HISTOGRAM_MOST);
    return error < 0 ? error : add_times(&path->times, &from->times);
}

int communication_transfer(struct communication *result, const uint32_t *map,
                           const struct communication *from)
{
    size_t capacity = result->path_count;
    int error = 0;

    for (size_t i = 0; error == 0 && i < from->pair_count; i++)
        error = transfer_pair(result, map, &from->pairs[i]);
    if (error == 0)
        error = array_reserve(&result->paths, &capacity, result->path_count + from->path_count + 1,
                              sizeof(*result->paths));
    for (size_t i = 0; error == 0 && i < from->path_count; i++)
        error = transfer_path(result, map, &from->paths[i]);
    return error;
}
