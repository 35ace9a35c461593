/* SPDX-License-Identifier: MIT */
/*
 * tables.c: where the statistics of a process, a stream, a path or a use are found by their numbers.
 * See statistics_private.h.
 *
 *      (origin, number) --recent--> index                  asked for lately
 *                       --lookup--> index, new or known    --> process, stream, path
 *      (path, process)  --last_used, lookup--> index       --> use
 *
 * What is in a table stays where it is until it is removed; then its place is used again.
 */
#include "analysis/statistics/queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static int number_table_new(struct number_table *table)
{
    table->recent = calloc(RECENT_NUMBERS, sizeof(*table->recent));
    return table->recent == NULL ? -ENOMEM : 0;
}

static void number_table_done(struct number_table *table)
{
    lookup_done(&table->numbers);
    free(table->recent);
    table->recent = NULL;
}

static struct recent_number *recent_number(const struct number_table *table, uint32_t origin,
                                           uint32_t number)
{
    /* Numbers of an origin that live are near each other: those of the next one stand elsewhere. */
    return &table->recent[(number + origin * (RECENT_NUMBERS / 8 * 3 + 1)) % RECENT_NUMBERS];
}

uint32_t number_table_find(const struct number_table *table, uint32_t origin, uint32_t number)
{
    uint64_t key = number_key(origin, number);
    struct recent_number *recent = recent_number(table, origin, number);

    if (recent->key == key && recent->index_and_1 != 0)
        return recent->index_and_1 - 1;
    uint32_t index = lookup_find(&table->numbers, key);
    if (index != LOOKUP_NONE)
        *recent = (struct recent_number){key, index + 1};
    return index;
}

int number_table_set(struct number_table *table, uint32_t origin, uint32_t number, uint32_t index)
{
    return lookup_set(&table->numbers, number_key(origin, number), index);
}

void number_table_remove(struct number_table *table, uint32_t origin, uint32_t number)
{
    struct recent_number *recent = recent_number(table, origin, number);

    if (recent->key == number_key(origin, number))
        recent->index_and_1 = 0;
    lookup_remove(&table->numbers, number_key(origin, number));
}

void number_table_clear(struct number_table *table)
{
    lookup_done(&table->numbers);
    memset(table->recent, 0, RECENT_NUMBERS * sizeof(*table->recent));
}

/* A place in a pool for a number that has none: its index, or -ENOMEM. */
static int64_t add_numbered(struct number_table *table, struct pool *pool, uint32_t origin,
                            uint32_t number)
{
    int64_t index = pool_take(pool);

    if (index >= 0 && number_table_set(table, origin, number, (uint32_t)index) < 0) {
        pool_give(pool, (uint32_t)index);
        return -ENOMEM;
    }
    return index;
}

/* ---- processes, streams, paths ---- */

static int64_t add_process(struct statistics *statistics, uint32_t origin, uint32_t number)
{
    struct communication *rows = statistics->rows;
    size_t index = rows->process_count;

    if (array_reserve(&rows->processes, &statistics->process_capacity, index + 1,
                      sizeof(*rows->processes)) < 0 ||
        array_reserve(&statistics->processes, &statistics->process_state_capacity, index + 1,
                      sizeof(*statistics->processes)) < 0 ||
        number_table_set(&statistics->process_numbers, origin, number, (uint32_t)index) < 0)
        return -ENOMEM;
    statistics->processes[index] = (struct statistics_process){0};
    rows->processes[index] = (struct communication_process){
        .origin = origin,
        .machine = statistics->origins[origin].machine,
        .stream = number,
        .parent = NO_PROCESS,
        .group_size = 1,
    };
    rows->process_count++;
    return (int64_t)index;
}

int64_t statistics_process_index(struct statistics *statistics, uint32_t origin, uint32_t number)
{
    uint32_t index = number_table_find(&statistics->process_numbers, origin, number);

    if (index == LOOKUP_NONE)
        return add_process(statistics, origin, number);
    statistics->lingering += statistics->processes[index].left;
    statistics->processes[index].left = false; /* there is more to tell */
    return index;
}

int64_t statistics_stream_index(struct statistics *statistics, uint32_t origin, uint32_t number,
                                uint32_t process_number)
{
    uint32_t known = number_table_find(&statistics->stream_numbers, origin, number);

    if (known != LOOKUP_NONE)
        return known;
    int64_t process = statistics_process_index(statistics, origin, process_number);
    if (process < 0)
        return process;
    int64_t index = add_numbered(&statistics->stream_numbers, &statistics->streams, origin, number);
    if (index >= 0)
        *stream_at(statistics, (uint32_t)index) = (struct statistics_stream){
            .process = (uint32_t)process, .origin = origin, .number = number, .present = true};
    return index;
}

int64_t statistics_path_index(struct statistics *statistics, uint32_t origin, uint32_t number)
{
    uint32_t known = number_table_find(&statistics->path_numbers, origin, number);

    if (known != LOOKUP_NONE)
        return known;
    int64_t index = add_numbered(&statistics->path_numbers, &statistics->paths, origin, number);
    if (index >= 0)
        *path_at(statistics, (uint32_t)index) = (struct statistics_path){
            .origin = origin, .number = number, .partner = NO_END, .present = true};
    return index;
}

/* ---- uses ---- */

void statistics_note_used(struct statistics *statistics, uint32_t path)
{
    uint32_t partner = path_at(statistics, path)->partner;

    if (partner != NO_END && partner != path && path_at(statistics, path)->first_use != 0)
        path_at(statistics, partner)->partner_tells = sends_are_metered(statistics, path);
}

static uint64_t use_key(uint32_t path, uint32_t process)
{
    return (uint64_t)path << 32 | process;
}

/* NULL: out of memory. */
static struct statistics_use *new_use(struct statistics *statistics, uint32_t path_index,
                                      uint32_t process)
{
    struct statistics_path *path = path_at(statistics, path_index);
    int64_t index = pool_take(&statistics->uses);
    int64_t latest = pool_take(&statistics->latest);

    if (index < 0 || latest < 0)
        return NULL; /* what was taken is lost: nothing but freeing all of it will follow */
    struct statistics_use *use = pool_at(&statistics->uses, (uint32_t)index);
    use->latest = (uint32_t)latest + 1;
    use->path = path_index;
    use->process = process;
    use->next = path->first_use;
    path->first_use = path->last_used = (uint32_t)index + 1;
    statistics_note_used(statistics, path_index);
    return use;
}

#define FEW_USES 4 /* of a path: they are found one after the other; more, by their numbers */

/* The last of the first few; NULL: there are not as many. */
static const struct statistics_use *last_of_few(const struct statistics *statistics, uint32_t path)
{
    const struct statistics_use *use = use_at(statistics, path_at(statistics, path)->first_use);

    for (unsigned i = 1; use != NULL && i < FEW_USES; i++)
        use = next_use(statistics, use);
    return use;
}

int statistics_find_uses(struct statistics *statistics, uint32_t path)
{
    const struct statistics_use *last = last_of_few(statistics, path);
    int result = 0;

    if (last == NULL || last->next == 0)
        return 0;
    for (uint32_t at = path_at(statistics, path)->first_use; result == 0 && at != 0;
         at = use_at(statistics, at)->next)
        result = lookup_set(&statistics->use_numbers,
                            use_key(path, use_at(statistics, at)->process), at - 1);
    return result;
}

/* Index + 1; 0: there is none (which LOOKUP_NONE + 1 is, too). */
static uint32_t find_use(const struct statistics *statistics, uint32_t path, uint32_t process)
{
    uint32_t at = path_at(statistics, path)->first_use;

    for (unsigned i = 0; at != 0 && i < FEW_USES; i++) {
        if (use_at(statistics, at)->process == process)
            return at;
        at = use_at(statistics, at)->next;
    }
    return at == 0 ? 0 : lookup_find(&statistics->use_numbers, use_key(path, process)) + 1;
}

struct statistics_use *statistics_find_use(struct statistics *statistics, uint32_t path_index,
                                           uint32_t process)
{
    struct statistics_path *path = path_at(statistics, path_index);
    struct statistics_use *last = use_at(statistics, path->last_used);

    if (last != NULL && last->process == process)
        return last;
    uint32_t found = find_use(statistics, path_index, process);
    if (found != 0) {
        path->last_used = found;
        return use_at(statistics, found);
    }
    const struct statistics_use *last_few = last_of_few(statistics, path_index);
    bool are_numbered = last_few != NULL && last_few->next != 0;
    struct statistics_use *use = new_use(statistics, path_index, process);
    if (use == NULL || last_few == NULL)
        return use;
    int result = are_numbered ? lookup_set(&statistics->use_numbers, use_key(path_index, process),
                                           path->first_use - 1)
                              : statistics_find_uses(statistics, path_index);
    return result < 0 ? NULL : use;
}

void statistics_hide_uses(struct statistics *statistics, uint32_t path)
{
    for (const struct statistics_use *use =
             use_at(statistics, path_at(statistics, path)->first_use);
         use != NULL; use = next_use(statistics, use))
        lookup_remove(&statistics->use_numbers, use_key(path, use->process));
    path_at(statistics, path)->last_used = 0;
}

/* ---- what ends ---- */

int indexes_add(struct indexes *indexes, uint32_t index)
{
    if (array_reserve(&indexes->list, &indexes->capacity, indexes->count + 1UL,
                      sizeof(*indexes->list)) < 0)
        return -ENOMEM;
    indexes->list[indexes->count++] = index;
    return 0;
}

static void free_values(struct statistics *statistics, const struct statistics_use *use)
{
    struct use_values *values = values_of(statistics, use);

    if (values == NULL)
        return;
    for (enum value_kind kind = 0; kind < VALUE_KINDS; kind++)
        histogram_done(&values->of[kind]);
    statistics->precise -= use->precise;
    pool_give(&statistics->values, use->values - 1);
}

void statistics_free_uses(struct statistics *statistics, uint32_t *first_use)
{
    while (*first_use != 0) {
        struct statistics_use *use = use_at(statistics, *first_use);
        uint32_t index = *first_use - 1;
        *first_use = use->next;
        free_values(statistics, use);
        if (use->latest != 0) {
            free(latest_of(statistics, use)->aside);
            pool_give(&statistics->latest, use->latest - 1);
        }
        pool_give(&statistics->uses, index);
    }
}

/* What a path owns. */
static void free_path(struct statistics *statistics, struct statistics_path *path)
{
    statistics_free_uses(statistics, &path->first_use);
    queue_free(statistics, path->outgoing);
    queue_free(statistics, path->incoming);
    if (path->told != 0)
        pool_give(&statistics->told, path->told - 1);
}

void statistics_remove_path(struct statistics *statistics, uint32_t index)
{
    struct statistics_path *path = path_at(statistics, index);

    statistics_hide_uses(statistics, index);
    free_path(statistics, path);
    if (path->partner != NO_END)
        path_at(statistics, path->partner)->partner = NO_END;
    joiner_forget(&statistics->joiner, index);
    if (statistics->shares_identities)
        identities_release_path(statistics->identities, path->origin, path->number);
    else
        identities_forget_path(statistics->identities, path->origin, path->number);
    number_table_remove(&statistics->path_numbers, path->origin, path->number);
    pool_give(&statistics->paths, index);
}

void statistics_remove_stream(struct statistics *statistics, uint32_t index)
{
    const struct statistics_stream *stream = stream_at(statistics, index);

    number_table_remove(&statistics->stream_numbers, stream->origin, stream->number);
    pool_give(&statistics->streams, index);
}

int statistics_tables_new(struct statistics *statistics)
{
    statistics->streams.size = sizeof(struct statistics_stream);
    statistics->paths.size = sizeof(struct statistics_path);
    statistics->told.size = sizeof(struct path_told);
    statistics->uses.size = sizeof(struct statistics_use);
    statistics->latest.size = sizeof(struct use_latest);
    statistics->values.size = sizeof(struct use_values);
    statistics->queues.size = sizeof(struct queue);
    statistics->messages.size = sizeof(struct queue_message);
    return number_table_new(&statistics->process_numbers) < 0 ||
                   number_table_new(&statistics->stream_numbers) < 0 ||
                   number_table_new(&statistics->path_numbers) < 0
               ? -ENOMEM
               : 0;
}

void statistics_tables_done(struct statistics *statistics)
{
    for (uint32_t i = 0; i < statistics->paths.used; i++)
        free_path(statistics, path_at(statistics, i));
    number_table_done(&statistics->process_numbers);
    number_table_done(&statistics->stream_numbers);
    number_table_done(&statistics->path_numbers);
    pool_done(&statistics->streams);
    pool_done(&statistics->paths);
    pool_done(&statistics->told);
    pool_done(&statistics->uses);
    pool_done(&statistics->latest);
    pool_done(&statistics->values);
    pool_done(&statistics->queues);
    rooms_done(&statistics->messages);
    lookup_done(&statistics->use_numbers);
    free(statistics->processes);
    free(statistics->ended_paths.list);
    free(statistics->leaving.list);
    joiner_done(&statistics->joiner);
}
