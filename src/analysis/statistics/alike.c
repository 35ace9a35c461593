/* SPDX-License-Identifier: MIT */
/*
 * alike.c: rows of connections that have ended and are not among the largest: those between the same parties
 * share one. See folding.c, connections.h.
 *
 *      client [7]  127.0.0.1:40001 > 127.0.0.1:80  server [5]  \    client [7] 127.0.0.1:* > 127.0.0.1:80 server [5]
 *      client [7]  127.0.0.1:40002 > 127.0.0.1:80  server [5]  /    uses: client [7] ...; server [5] ...
 *
 *      what they have in common --keys--> found[] --> rows->paths[i], alike[i]
 *
 * What their uses have counted is added to the uses of the row, each value once; pairs, processes and the row
 * itself get it at the end. If there are too many rows, the smaller ones get it at once, and share one for each
 * kind of path.
 */
#include "analysis/statistics/connections.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what rows have in common ---- */

static bool same_ends(const struct communication_path *a, const struct communication_path *b)
{
    return a->kind == b->kind && a->local == b->local && a->remote == b->remote &&
           party_identity(&a->ends[0]) == party_identity(&b->ends[0]) &&
           party_identity(&a->ends[1]) == party_identity(&b->ends[1]);
}

static bool counted_alike(const struct alike *a, const struct alike *b)
{
    return a->by_sends[0] == b->by_sends[0] && a->by_sends[1] == b->by_sends[1] &&
           a->local == b->local && a->to_itself == b->to_itself && a->of_kind == b->of_kind;
}

static uint64_t key_of(const struct communication_path *path)
{
    const void *common[] = {path->local, path->remote, party_identity(&path->ends[0]),
                            party_identity(&path->ends[1])};

    return hash_bytes(path->kind, common, sizeof(common));
}

#define NO_ROW UINT32_MAX

/* Where the index of the row of its like is kept: NO_ROW if there is none yet. Of different rows with the same
 * hash, the later ones ask for the next key. Returns 0 or -ENOMEM. */
static int find_row(struct statistics *statistics, const struct communication_path *path,
                    const struct alike *alike, uint32_t **ret_row)
{
    struct alike_rows *all = &statistics->alike_rows;

    for (uint64_t key = key_of(path);; key++) {
        uint32_t count = all->keys.count;
        if (array_reserve(&all->found, &all->found_capacity, (size_t)count + 1,
                          sizeof(*all->found)) < 0)
            return -ENOMEM;
        int64_t index = intern_add(&all->keys, key);
        if (index < 0)
            return (int)index;
        uint32_t *row = &all->found[index];
        if (index == count)
            *row = NO_ROW;
        *ret_row = row;
        if (*row == NO_ROW || (same_ends(&statistics->rows->paths[*row], path) &&
                               counted_alike(&all->alike[*row], alike)))
            return 0;
    }
}

/* Adds its sums to the row of its like, a new one if there is none; its index, or -ENOMEM. */
static int64_t add_to_row(struct statistics *statistics, const struct communication_path *path,
                          const struct alike *alike)
{
    struct communication *rows = statistics->rows;
    struct alike_rows *all = &statistics->alike_rows;
    uint32_t *row;

    if (array_reserve(&rows->paths, &all->capacity, rows->path_count + 1, sizeof(*rows->paths)) <
            0 ||
        array_reserve(&all->alike, &all->alike_capacity, rows->path_count + 1,
                      sizeof(*all->alike)) < 0 ||
        find_row(statistics, path, alike, &row) < 0)
        return -ENOMEM;
    if (*row != NO_ROW) {
        add_path_sums(&rows->paths[*row], path);
        return *row;
    }
    *row = (uint32_t)rows->path_count++;
    rows->paths[*row] = *path;
    all->alike[*row] = *alike;
    return *row;
}

/* ---- uses ---- */

/* The use of the same process in the same role, a new one if there is none: its index, or -ENOMEM. */
static int64_t use_of(struct statistics *statistics, uint32_t *first,
                      const struct statistics_use *like)
{
    for (uint32_t at = *first; at != 0; at = use_at(statistics, at)->next) {
        const struct statistics_use *use = use_at(statistics, at);
        if (use->process == like->process && use->serves == like->serves)
            return at - 1;
    }
    int64_t index = pool_take(&statistics->uses);
    if (index < 0)
        return index;
    struct statistics_use *use = pool_at(&statistics->uses, (uint32_t)index);
    use->process = like->process;
    use->serves = like->serves;
    use->next = *first;
    *first = (uint32_t)index + 1;
    return index;
}

/* Adds what these uses have counted to those of a row. */
static int add_uses(struct statistics *statistics, uint32_t row, const uint32_t first_use[2])
{
    struct alike *alike = &statistics->alike_rows.alike[row];
    int result = 0;

    for (int i = 0; i < (alike->to_itself ? 1 : 2); i++)
        for (struct statistics_use *use = use_at(statistics, first_use[i]);
             result == 0 && use != NULL; use = next_use(statistics, use)) {
            int64_t to = use_of(statistics, &alike->first_use[i], use);
            result = to < 0 ? (int)to : statistics_add_to_alike(statistics, use, (uint32_t)to);
        }
    return result;
}

static void free_uses(struct statistics *statistics, struct alike *alike)
{
    for (int i = 0; i < 2; i++)
        statistics_free_uses(statistics, &alike->first_use[i]);
}

/* ---- one more ---- */

/* What the kernel has chosen is not common: the port of who connects, the number of a socket or a pipe without a
 * name. */
static void keep_common(unsigned kind, char local[ADDRESS_SIZE], char remote[ADDRESS_SIZE])
{
    char *colon = strrchr(local, ':');

    if (kind == PATH_FIFO)
        return;
    if (kind == PATH_PIPE) {
        strcpy(local, "pipe:*");
        strcpy(remote, "pipe:*");
        return;
    }
    strcpy(kind_is_internet(kind) && colon != NULL ? colon + 1 : local, "*");
    if (strncmp(remote, "socket#", strlen("socket#")) == 0)
        strcpy(remote, "*");
}

int alike_add(struct statistics *statistics, const uint32_t paths[2])
{
    char addresses[2][ADDRESS_SIZE];
    struct connection connection;

    if (describe_connection(statistics, statistics->rows, paths, &connection, addresses) < 0)
        return -ENOMEM;
    keep_common(connection.sums.kind, addresses[0], addresses[1]);
    if (name_connection(statistics->rows, &connection, addresses[0], addresses[1]) < 0)
        return -ENOMEM;
    const struct alike alike = {
        .by_sends = {connection.by_sends[0], connection.by_sends[1]},
        .local = connection.local,
        .to_itself = connection.to_itself,
    };
    connection.sums.number = 0;
    memcpy(connection.sums.ends, connection.parties, sizeof(connection.parties));
    int64_t row = add_to_row(statistics, &connection.sums, &alike);
    return row < 0 ? (int)row : add_uses(statistics, (uint32_t)row, connection.first_use);
}

/* ---- rows that become one ---- */

int alike_find(struct statistics *statistics)
{
    struct communication *rows = statistics->rows;
    struct alike_rows *all = &statistics->alike_rows;
    size_t count = rows->path_count;
    int result = 0;

    intern_clear(&all->keys);
    rows->path_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct communication_path path = rows->paths[i];
        struct alike alike = all->alike[i];
        size_t before = rows->path_count;
        int64_t row = result < 0 ? result : add_to_row(statistics, &path, &alike);
        if (row == (int64_t)before && rows->path_count > before)
            continue; /* its uses are with it */
        if (row >= 0)
            result = add_uses(statistics, (uint32_t)row, alike.first_use);
        else
            result = (int)row;
        free_uses(statistics, &alike);
    }
    return result;
}

static struct connection connection_of_row(const struct statistics *statistics, uint32_t index,
                                           const struct communication_path *path)
{
    const struct alike *alike = &statistics->alike_rows.alike[index];

    return (struct connection){
        .parties = {path->ends[0], path->ends[1]},
        .first_use = {alike->first_use[0], alike->first_use[1]},
        .by_sends = {alike->by_sends[0], alike->by_sends[1]},
        .local = alike->local,
        .to_itself = alike->to_itself,
    };
}

int alike_build(const struct statistics *statistics, struct communication *rows, uint32_t index)
{
    struct connection connection = connection_of_row(statistics, index, &rows->paths[index]);

    return add_connection(statistics, rows, &connection, &rows->paths[index]);
}

void alike_forget(struct statistics *statistics, uint32_t index)
{
    free_uses(statistics, &statistics->alike_rows.alike[index]);
}

/* Adds a row to that of its kind. */
static int share_with_kind(struct statistics *statistics, uint32_t index)
{
    struct communication *rows = statistics->rows;
    struct connection connection = connection_of_row(statistics, index, &rows->paths[index]);
    const char *any = communication_keep_text(rows, "*");
    const struct party anybody = {.address = any};
    const struct alike kind = {.of_kind = true};
    struct communication_path sums = rows->paths[index];

    if (any == NULL)
        return -ENOMEM;
    sums.local = sums.remote = any;
    sums.ends[0] = sums.ends[1] = anybody;
    int64_t row = add_to_row(statistics, &sums, &kind);
    int result =
        row < 0 ? (int)row : add_connection(statistics, rows, &connection, &rows->paths[row]);
    free_uses(statistics, &statistics->alike_rows.alike[index]);
    rows->paths[index].connections = 0;
    return result;
}

static int compare_rows(const void *left, const void *right)
{
    const struct communication_path *a = *(const struct communication_path *const *)left;
    const struct communication_path *b = *(const struct communication_path *const *)right;
    int difference = compare_both_ways(a, b);

    return difference != 0 ? difference : (a > b) - (a < b);
}

/* Rows that were added to others are gone. */
static int drop_empty(struct statistics *statistics)
{
    struct communication *rows = statistics->rows;
    size_t kept = 0;

    for (size_t i = 0; i < rows->path_count; i++)
        if (rows->paths[i].connections > 0) {
            statistics->alike_rows.alike[kept] = statistics->alike_rows.alike[i];
            rows->paths[kept++] = rows->paths[i];
        }
    rows->path_count = kept;
    return alike_find(statistics);
}

int alike_fold(struct statistics *statistics)
{
    struct communication *rows = statistics->rows;
    size_t count = rows->path_count;
    const struct communication_path **order = calloc(count + 1, sizeof(*order));
    uint32_t *indexes = calloc(count + 1, sizeof(*indexes));
    /* what waits is added more quickly together than by share_with_kind() */
    int result = order == NULL || indexes == NULL ? -ENOMEM : value_runs_count(statistics);

    for (size_t i = 0; result == 0 && i < count; i++)
        order[i] = &rows->paths[i];
    if (result == 0)
        qsort(order, count, sizeof(*order), compare_rows);
    for (size_t i = 0; result == 0 && i < count; i++) /* rows will move */
        indexes[i] = (uint32_t)(order[i] - rows->paths);
    for (size_t i = statistics->limits.paths / 2; result == 0 && i < count; i++)
        if (!statistics->alike_rows.alike[indexes[i]].of_kind)
            result = share_with_kind(statistics, indexes[i]);
    free(order);
    free(indexes);
    return result < 0 ? result : drop_empty(statistics);
}

void alike_done(struct statistics *statistics)
{
    struct alike_rows *all = &statistics->alike_rows;

    for (size_t i = 0; statistics->rows != NULL && i < statistics->rows->path_count; i++)
        free_uses(statistics, &all->alike[i]);
    free(all->alike);
    free(all->found);
    intern_done(&all->keys);
}
