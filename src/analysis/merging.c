/* SPDX-License-Identifier: MIT */
/*
 * merging.c: adds the rows of one result to another.
 *
 *      into:   process 0  redis [7]        from:   process 0  client [9]  --> becomes 1
 *              process 1  client [9]               process 1  client [12] --> becomes 2, new
 *
 *      parties of `from` are translated by that map; pairs of the same parties become one
 *
 * Processes are the same if their trace and number are; rows that stand for several, if these are
 * of one kind (fold_key).
 */
#include "analysis/statistics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- parties ---- */

/* Writes what the processes of a party are mapped to, each once, ascending; returns how many. */
static uint32_t map_processes(const uint32_t *map, const struct party *party, uint32_t *mapped)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < party->count; i++)
        mapped[i] = map[party->processes[i]];
    sort_numbers(mapped, party->count);
    for (uint32_t i = 0; i < party->count; i++)
        if (count == 0 || mapped[count - 1] != mapped[i])
            mapped[count++] = mapped[i];
    return count;
}

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
    to->count = map_processes(map, from, mapped);
    to->processes = communication_keep(result, mapped, to->count * sizeof(*mapped));
    free(mapped);
    return to->processes == NULL ? -ENOMEM : 0;
}

/* ---- pairs and paths ---- */

/* `owned` is `from` where it may be taken over, else NULL; so are those of the functions below. */
static int pass_on(struct histogram *to, const struct histogram *from, struct histogram *owned)
{
    return owned != NULL ? histogram_take(to, owned, HISTOGRAM_MOST)
                         : histogram_merge(to, from, HISTOGRAM_MOST);
}

static int pass_on_times(struct times *to, const struct times *from, struct times *owned)
{
    int result = 0;

    for (unsigned kind = 0; result == 0 && kind < TIME_KINDS; kind++)
        result = pass_on(&to->of[kind], &from->of[kind], owned == NULL ? NULL : &owned->of[kind]);
    return result;
}

static int transfer_pair(struct communication *result, const uint32_t *map,
                         const struct communication_pair *from, struct communication_pair *owned)
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
    int error = pass_on(&pair->sizes, &from->sizes, owned == NULL ? NULL : &owned->sizes);
    return error < 0
               ? error
               : pass_on_times(&pair->times, &from->times, owned == NULL ? NULL : &owned->times);
}

static int transfer_path(struct communication *result, const uint32_t *map,
                         const struct communication_path *from, struct communication_path *owned)
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
    int error = pass_on(&path->sizes, &from->sizes, owned == NULL ? NULL : &owned->sizes);
    return error < 0
               ? error
               : pass_on_times(&path->times, &from->times, owned == NULL ? NULL : &owned->times);
}

static int enlarge(void *array, size_t count, size_t more, size_t size)
{
    void *old;

    memcpy(&old, array, sizeof(old));
    char *grown = realloc(old, (count + more + 1) * size);
    if (grown == NULL)
        return -ENOMEM;
    memset(grown + count * size, 0, (more + 1) * size);
    memcpy(array, &grown, sizeof(grown));
    return 0;
}

static int transfer(struct communication *result, const uint32_t *map,
                    const struct communication *from, struct communication *owned)
{
    if (enlarge(&result->paths, result->path_count, from->path_count, sizeof(*result->paths)) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < from->pair_count; i++)
        if (transfer_pair(result, map, &from->pairs[i], owned == NULL ? NULL : &owned->pairs[i]) <
            0)
            return -ENOMEM;
    for (size_t i = 0; i < from->path_count; i++)
        if (transfer_path(result, map, &from->paths[i], owned == NULL ? NULL : &owned->paths[i]) <
            0)
            return -ENOMEM;
    return 0;
}

int communication_transfer(struct communication *result, const uint32_t *map,
                           const struct communication *from)
{
    return transfer(result, map, from, NULL);
}

/* ---- processes ---- */

int copy_process(struct communication *result, const struct communication_process *from,
                 struct communication_process *to)
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
    int error = histogram_merge(&to->sizes, &from->sizes, HISTOGRAM_MOST);
    return error < 0 ? error : add_times(&to->times, &from->times);
}

static uint64_t process_key(const struct communication_process *process)
{
    return process->group != NULL ? fold_key(process)
                                  : number_key(process->origin, process->stream);
}

/* What is told of a process lately is more than what was. */
static int update_process(struct communication *into, struct communication_process *known,
                          const struct communication_process *now)
{
    struct communication_process sums = *known;
    uint32_t parent = known->parent;

    if (now->group != NULL || now->pid == 0) {
        known->group_size += now->group != NULL ? now->group_size : 0;
        return add_process_sums(known, now);
    }
    int result = copy_process(into, now, known);
    if (result < 0) {
        *known = sums;
        return result;
    }
    known->parent = parent;
    known->ended = known->ended || sums.ended;
    result = add_process_sums(known, &sums);
    times_done(&sums.times);
    histogram_done(&sums.sizes);
    return result;
}

static int merge_processes(struct communication *into, const struct communication *from,
                           uint32_t *map)
{
    struct intern keys = {0};
    int result = enlarge(&into->processes, into->process_count, from->process_count,
                         sizeof(*into->processes));

    for (size_t i = 0; result == 0 && i < into->process_count; i++)
        if (intern_add(&keys, process_key(&into->processes[i])) < 0)
            result = -ENOMEM;
    for (size_t i = 0; result == 0 && i < from->process_count; i++) {
        const struct communication_process *process = &from->processes[i];
        int64_t index = intern_add(&keys, process_key(process));
        if (index < 0) {
            result = -ENOMEM;
        } else if ((size_t)index < into->process_count) {
            result = update_process(into, &into->processes[index], process);
        } else {
            result = copy_process(into, process, &into->processes[into->process_count]);
            into->processes[into->process_count++].parent = NO_PROCESS;
        }
        map[i] = (uint32_t)index;
    }
    /* a parent may be known only to the one of them that does not know the child any more */
    for (size_t i = 0; result == 0 && i < from->process_count; i++) {
        const struct communication_process *process = &from->processes[i];
        struct communication_process *to = &into->processes[map[i]];
        uint64_t key = number_key(process->origin, process->parent_number);
        int64_t parent = process->parent != NO_PROCESS ? (int64_t)map[process->parent]
                         : process->parent_number != 0 ? intern_find(&keys, key)
                                                       : -ENOENT;
        if (to->parent == NO_PROCESS && parent >= 0 && process->group == NULL)
            to->parent = (uint32_t)parent;
    }
    intern_done(&keys);
    return result;
}

static int merge(struct communication *into, const struct communication *from,
                 struct communication *owned)
{
    uint32_t *map = calloc(from->process_count + 1, sizeof(*map));
    int result = map == NULL ? -ENOMEM : merge_processes(into, from, map);

    if (result == 0)
        result = transfer(into, map, from, owned);
    free(map);
    return result;
}

int communication_merge(struct communication *into, const struct communication *from)
{
    return merge(into, from, NULL);
}

int communication_take(struct communication *into, struct communication *from)
{
    return merge(into, from, from);
}
