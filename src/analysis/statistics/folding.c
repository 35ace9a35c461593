/* SPDX-License-Identifier: MIT */
/*
 * folding.c: keeps the statistics in bounded memory, however long the recording.
 *
 *      paths of a connection:   live       stay
 *                               have ended, are among the largest      stay, too
 *                               have ended                             counted with their like: alike.c
 *      streams                  have ended                             forgotten
 *      processes                have ended                             their rows stay
 *      rows                     more than there may be                 the small ones share rows with their like
 *
 * It is done whenever enough has ended. A path has ended when both its ends have; one whose other
 * end is not known waits for it for a while: that may be told of later, as its machine's clock says, or because the
 * server is slow to accept. A process has ended when its last stream has and no path that lives was used by it.
 */
#include "analysis/statistics/connections.h"
#include "analysis/statistics/queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- what leaves ---- */

/* ns after its users' end, that a path is told to be closed, and how its network was */
#define TOLD_WITHIN 2000000000

static bool users_have_ended(const struct statistics *statistics,
                             const struct statistics_path *path)
{
    uint64_t now = latest_time_of(&statistics->origins[path->origin]);

    for (const struct statistics_use *use = use_at(statistics, path->first_use); use != NULL;
         use = next_use(statistics, use)) {
        const struct statistics_process *process = &statistics->processes[use->process];
        if (!process->ended || now < process->ended_at + TOLD_WITHIN)
            return false;
    }
    return path->first_use != 0;
}

static bool has_ended(const struct statistics *statistics, uint32_t index)
{
    return joiner_end(&statistics->joiner, index).destroyed ||
           users_have_ended(statistics, path_at(statistics, index));
}

#define ALONE_WITHIN 1000000000 /* ns that an end waits for the other one to be told of ... */
#define ALONE_MOST   4096       /* ... unless so many do */

static bool is_alone(const struct statistics *statistics, const struct statistics_path *path,
                     bool crowded)
{
    uint64_t now = latest_time_of(&statistics->origins[path->origin]);

    return path->aged && (crowded || now >= path->closed + ALONE_WITHIN);
}

/* Whether it has is said in `leaves`. */
static int choose_path(struct statistics *statistics, uint32_t index, bool crowded)
{
    struct statistics_path *path = path_at(statistics, index);
    uint32_t partner = path->partner;

    if (!path->present || path->settled || path->leaves)
        return 0;
    bool ended = has_ended(statistics, index);
    path->leaves = ended && (partner != NO_END ? has_ended(statistics, partner)
                                               : is_alone(statistics, path, crowded));
    path->aged = ended;
    if (path->leaves)
        return indexes_add(&statistics->leaving, index);
    for (const struct statistics_use *use = use_at(statistics, path->first_use); use != NULL;
         use = next_use(statistics, use))
        statistics->processes[use->process].leaves = false;
    return ended && partner == NO_END ? indexes_add(&statistics->ended_paths, index) : 0;
}

/* Processes that have ended have not closed all their paths, and leave only if no path that lives knows them. */
static int choose_among_all(struct statistics *statistics)
{
    bool crowded = statistics->ended_paths.count > ALONE_MOST;
    int result = 0;

    statistics->ended_paths.count = 0;
    for (uint32_t i = 0; i < statistics->rows->process_count; i++)
        statistics->processes[i].leaves =
            statistics->processes[i].ended && !statistics->processes[i].left;
    for (uint32_t i = 0; result == 0 && i < statistics->paths.used; i++)
        result = choose_path(statistics, i, crowded);
    return result;
}

/* No process has ended: paths have only if they were closed. */
static int choose_among_ended(struct statistics *statistics)
{
    uint32_t count = statistics->ended_paths.count;
    bool crowded = count > ALONE_MOST;
    int result = 0;

    statistics->ended_paths.count = 0; /* at most those that were looked at are put back */
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        uint32_t index = statistics->ended_paths.list[i];
        uint32_t partner = path_at(statistics, index)->partner;
        result = choose_path(statistics, index, crowded);
        if (result == 0 && path_at(statistics, index)->leaves && partner != NO_END)
            result = choose_path(statistics, partner, crowded);
    }
    return result;
}

/* ---- paths ---- */

/* What is in their queues is nobody's any more. */
static void close_queues(struct statistics *statistics, const uint32_t paths[2])
{
    for (int i = 0; i < 2; i++)
        if (paths[i] != NO_END) {
            queue_leaves(statistics, queue_at(statistics, path_at(statistics, paths[i])->outgoing));
            queue_leaves(statistics, queue_at(statistics, path_at(statistics, paths[i])->incoming));
        }
}

static void remove_connection(struct statistics *statistics, const uint32_t paths[2])
{
    for (int i = 0; i < 2; i++)
        if (paths[i] != NO_END && (i == 0 || paths[1] != paths[0]))
            statistics_remove_path(statistics, paths[i]);
}

/* It stays, until there are larger ones. */
static void settle(struct statistics *statistics, const uint32_t paths[2])
{
    statistics->settled++;
    for (int i = 0; i < 2; i++)
        if (paths[i] != NO_END) {
            statistics_hide_uses(statistics, paths[i]);
            path_at(statistics, paths[i])->leaves = false;
            path_at(statistics, paths[i])->settled = true;
        }
}

static int leave(struct statistics *statistics, uint32_t path)
{
    uint32_t paths[2] = {path, NO_END};
    int result;

    switch (connection_of(statistics, path, paths)) {
    case PART_OTHER:
        return 0;
    case PART_NONE:
        paths[0] = path;
        paths[1] = NO_END;
        close_queues(statistics, paths);
        result = add_path_alone(statistics, statistics->rows, path);
        remove_connection(statistics, paths);
        return result;
    case PART_FIRST:
        close_queues(statistics, paths);
        break;
    }
    if (path_at(statistics, path)->partner == NO_END) {
        result = halves_left(statistics, identities_path(statistics->identities,
                                                         path_at(statistics, path)->origin,
                                                         path_at(statistics, path)->number));
        if (result < 0)
            return result;
    }
    struct traffic traffic = connection_traffic(statistics, paths);
    if (compare_traffic(&traffic, &statistics->least) <= 0) { /* no smaller */
        settle(statistics, paths);
        return 0;
    }
    result = alike_add(statistics, paths);
    remove_connection(statistics, paths);
    return result;
}

static int paths_leave(struct statistics *statistics)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < statistics->leaving.count; i++)
        if (path_at(statistics, statistics->leaving.list[i])->leaves)
            result = leave(statistics, statistics->leaving.list[i]);
    statistics->leaving.count = 0;
    return result;
}

/* ---- the largest ---- */

struct settled {
    struct traffic traffic;
    uint32_t paths[2];
};

static int compare_settled(const void *left, const void *right)
{
    const struct settled *a = left;
    const struct settled *b = right;

    return compare_traffic(&a->traffic, &b->traffic);
}

/* Returns how many there are, at most `most`. */
static uint32_t list_settled(const struct statistics *statistics, struct settled *list,
                             uint32_t most)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < statistics->paths.used && count < most; i++) {
        struct settled *settled = &list[count];
        if (!path_at(statistics, i)->settled ||
            connection_of(statistics, i, settled->paths) != PART_FIRST)
            continue;
        settled->traffic = connection_traffic(statistics, settled->paths);
        count++;
    }
    return count;
}

/* Those that are not among the largest any more are counted with their like. */
static int unsettle(struct statistics *statistics)
{
    uint32_t count = statistics->settled, most = statistics->limits.largest;
    struct settled *list = calloc(count + 1UL, sizeof(*list));
    int result = list == NULL ? -ENOMEM : 0;

    if (result == 0) {
        count = list_settled(statistics, list, count);
        qsort(list, count, sizeof(*list), compare_settled);
    }
    for (uint32_t i = most; result == 0 && i < count; i++) {
        result = alike_add(statistics, list[i].paths);
        remove_connection(statistics, list[i].paths);
        statistics->settled--;
    }
    if (result == 0 && most > 0 && count >= most)
        statistics->least = list[most - 1].traffic;
    free(list);
    return result;
}

/* ---- streams and processes ---- */

static void streams_leave(struct statistics *statistics)
{
    for (uint32_t i = 0; i < statistics->streams.used; i++) {
        const struct statistics_stream *stream = stream_at(statistics, i);
        if (stream->present && (stream->ended || statistics->processes[stream->process].leaves))
            statistics_remove_stream(statistics, i);
    }
}

static int processes_leave(struct statistics *statistics)
{
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < statistics->rows->process_count; i++) {
        struct statistics_process *process = &statistics->processes[i];
        if (!process->leaves)
            continue;
        process->leaves = false;
        process->left = true;
        statistics->lingering--;
        result = describe_process(statistics, statistics->rows, i);
    }
    return result;
}

/* Parents are found as long as their streams are there. */
static void find_parents(const struct statistics *statistics)
{
    for (uint32_t i = 0; i < statistics->rows->process_count; i++)
        find_parent(statistics, statistics->rows, i);
}

/* ---- rows ---- */

static int compare_sizes(const void *left, const void *right)
{
    const struct communication_process *a = *(struct communication_process *const *)left;
    const struct communication_process *b = *(struct communication_process *const *)right;
    uint64_t a_bytes = a->sent.bytes + a->received.bytes;
    uint64_t b_bytes = b->sent.bytes + b->received.bytes;

    if (a_bytes != b_bytes)
        return a_bytes > b_bytes ? -1 : 1;
    return (a->cpu < b->cpu) - (a->cpu > b->cpu);
}

/* Takes other rows in place of those that are; what stands beside them is the same. */
static void replace_rows(struct statistics *statistics, struct communication *rows)
{
    communication_free(statistics->rows);
    statistics->rows = rows;
    statistics->process_capacity = rows->process_count;
    statistics->alike_rows.capacity = rows->path_count;
}

static void map_uses(struct statistics *statistics, uint32_t first_use, const uint32_t *map)
{
    for (struct statistics_use *use = use_at(statistics, first_use); use != NULL;
         use = next_use(statistics, use))
        use->process = map[use->process];
}

static void map_owner(struct queue *queue, const uint32_t *map)
{
    if (queue != NULL && queue->owner != NO_PROCESS)
        queue->owner = map[queue->owner];
}

/* Uses that are found by their process are those of paths that live. */
static int map_path(struct statistics *statistics, uint32_t index, const uint32_t *map)
{
    struct statistics_path *path = path_at(statistics, index);

    map_uses(statistics, path->first_use, map);
    map_owner(queue_at(statistics, path->outgoing), map);
    map_owner(queue_at(statistics, path->incoming), map);
    return path->settled ? 0 : statistics_find_uses(statistics, index);
}

/* Whatever knows process i knows it as map[i] from now on. */
static int map_processes(struct statistics *statistics, const uint32_t *map)
{
    int result = 0;

    for (uint32_t i = 0; i < statistics->streams.used; i++)
        if (stream_at(statistics, i)->present)
            stream_at(statistics, i)->process = map[stream_at(statistics, i)->process];
    lookup_done(&statistics->use_numbers);
    for (uint32_t i = 0; result == 0 && i < statistics->paths.used; i++)
        if (path_at(statistics, i)->present)
            result = map_path(statistics, i, map);
    for (uint32_t i = 0; i < statistics->rows->path_count; i++)
        for (int end = 0; end < 2; end++)
            map_uses(statistics, statistics->alike_rows.alike[i].first_use[end], map);
    return result;
}

/* Processes that share a row are not found by number any more. */
static int find_processes(struct statistics *statistics)
{
    const struct communication *rows = statistics->rows;
    int result = 0;

    number_table_clear(&statistics->process_numbers);
    for (uint32_t i = 0; result == 0 && i < rows->process_count; i++)
        if (rows->processes[i].group == NULL)
            result = number_table_set(&statistics->process_numbers, rows->processes[i].origin,
                                      rows->processes[i].stream, i);
    return result;
}

/* All that have left share rows with their like, but for the largest. */
static void choose_processes(const struct statistics *statistics,
                             struct communication_process **order, bool *folds)
{
    const struct communication *rows = statistics->rows;
    size_t left = 0;

    for (size_t i = 0; i < rows->process_count; i++)
        if (statistics->processes[i].left)
            order[left++] = &rows->processes[i];
    qsort(order, left, sizeof(struct communication_process *), compare_sizes);
    for (size_t i = statistics->limits.processes / 2; i < left; i++)
        folds[order[i] - rows->processes] = true;
}

/* `count`: of processes before. */
static int use_folded(struct statistics *statistics, struct communication *folded, size_t count,
                      const uint32_t *map, struct statistics_process *processes)
{
    for (size_t i = 0; i < count; i++)
        processes[map[i]] = statistics->processes[i];
    free(statistics->processes);
    statistics->processes = processes;
    statistics->process_state_capacity = folded->process_count;
    replace_rows(statistics, folded);
    int result = map_processes(statistics, map);
    if (result == 0)
        result = find_processes(statistics);
    return result < 0 ? result : alike_find(statistics);
}

static int fold_processes(struct statistics *statistics)
{
    size_t count = statistics->rows->process_count + 1;
    struct communication_process **order = calloc(count, sizeof(*order));
    bool *folds = calloc(count, sizeof(*folds));
    uint32_t *map = calloc(count, sizeof(*map));
    struct statistics_process *processes = calloc(count, sizeof(*processes));
    struct communication *folded;
    int result = -ENOMEM;

    if (order != NULL && folds != NULL && map != NULL && processes != NULL) {
        choose_processes(statistics, order, folds);
        result = communication_fold_processes(statistics->rows, folds, map, &folded);
    }
    if (result == 0) {
        result = use_folded(statistics, folded, count - 1, map, processes);
        processes = NULL;
    }
    free(order);
    free(folds);
    free(map);
    free(processes);
    return result;
}

/* The smallest pairs become one row. */
static int fold_pairs(struct communication *rows, uint32_t most)
{
    struct party others = {.address = communication_keep_text(rows, "*")};
    struct communication_pair *row;
    size_t count = rows->pair_count;
    int result = 0;

    if (others.address == NULL)
        return -ENOMEM;
    communication_sort_pairs(rows);
    rows->pair_count = most / 2;
    for (size_t i = most / 2; result == 0 && i < count; i++) {
        struct communication_pair small = rows->pairs[i];
        row = communication_pair(rows, &others, &others);
        if (row == NULL)
            return -ENOMEM;
        add_traffic(&row->sent, &small.sent);
        row->local = row->local && small.local;
        result = histogram_merge(&row->sizes, &small.sizes, HISTOGRAM_MOST);
        if (result == 0)
            result = add_times(&row->times, &small.times);
        histogram_done(&small.sizes);
        times_done(&small.times);
    }
    return result;
}

/* Leaves behind the texts and lists that no row points to any more, once they are the greater part. */
static int drop_unused(struct statistics *statistics)
{
    struct communication *rows = statistics->rows;
    struct communication *fresh;

    if (rows->piece_keys.count < 3 * (rows->process_count + rows->path_count + rows->pair_count))
        return 0;
    if (communication_copy(rows, rows, &fresh) < 0)
        return -ENOMEM;
    replace_rows(statistics, fresh);
    return alike_find(statistics);
}

static uint32_t count_left(const struct statistics *statistics)
{
    uint32_t left = 0;

    for (size_t i = 0; i < statistics->rows->process_count; i++)
        left += statistics->processes[i].left;
    return left;
}

static int condense(struct statistics *statistics)
{
    const struct statistics_limits *limits = &statistics->limits;
    int result = 0;

    if (statistics->settled / 2 > limits->largest)
        result = unsettle(statistics);
    if (result == 0 && count_left(statistics) > limits->processes)
        result = fold_processes(statistics);
    if (result == 0 && statistics->rows->path_count > limits->paths)
        result = alike_fold(statistics);
    if (result == 0 && statistics->rows->pair_count > limits->pairs)
        result = fold_pairs(statistics->rows, limits->pairs);
    return result < 0 ? result : drop_unused(statistics);
}

/* ---- all of it ---- */

int statistics_fold(struct statistics *statistics)
{
    int result =
        statistics->lingering > 0 ? choose_among_all(statistics) : choose_among_ended(statistics);

    if (result == 0)
        result = paths_leave(statistics);
    if (result < 0)
        return result;
    find_parents(statistics);
    streams_leave(statistics);
    result = processes_leave(statistics);
    statistics->ended = 0;
    return result < 0 ? result : condense(statistics);
}
