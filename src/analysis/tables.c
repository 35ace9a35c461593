/* SPDX-License-Identifier: MIT */
/*
 * tables.c: where the statistics of a process, a stream, a path or a use are found by their numbers.
 * See statistics.h.
 *
 *      (origin, number) --recent--> index                  asked for lately
 *                       --intern--> index, new or known    --> processes[], streams[], paths[]
 *      (path, process)  --last_used, intern--> index       --> uses[]
 */
#include "analysis/statistics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t number_key(uint32_t origin, uint32_t number)
{
    return (uint64_t)origin << 32 | number;
}

int number_table_new(struct number_table *table)
{
    *table = (struct number_table){.recent = calloc(RECENT_NUMBERS, sizeof(*table->recent))};
    return table->recent == NULL ? -ENOMEM : 0;
}

void number_table_clear(struct number_table *table)
{
    intern_clear(&table->numbers);
    memset(table->recent, 0, RECENT_NUMBERS * sizeof(*table->recent));
}

void number_table_done(struct number_table *table)
{
    intern_done(&table->numbers);
    free(table->recent);
    table->recent = NULL;
}

static uint32_t recent_place(uint32_t origin, uint32_t number)
{
    return (number + origin * 61) % RECENT_NUMBERS;
}

/* Index of a number that was asked for lately; -1: not known here. */
static int64_t recent_index(const struct number_table *table, uint32_t origin, uint32_t number)
{
    uint32_t recent = recent_place(origin, number);

    return table->recent[recent].key == number_key(origin, number)
               ? (int64_t)table->recent[recent].index_and_1 - 1
               : -1;
}

/* Index of a number of an origin. One that is new has the index that was the table's count. */
static int64_t number_index(struct number_table *table, uint32_t origin, uint32_t number)
{
    uint64_t key = number_key(origin, number);
    uint32_t recent = recent_place(origin, number);
    int64_t index = intern_add(&table->numbers, key);

    if (index < 0)
        return index;
    table->recent[recent].key = key;
    table->recent[recent].index_and_1 = (uint32_t)index + 1;
    return index;
}

int64_t statistics_process_index(struct statistics *statistics, uint32_t origin, uint32_t number)
{
    uint32_t count = statistics->process_numbers.numbers.count;
    int64_t known = recent_index(&statistics->process_numbers, origin, number);

    if (known >= 0)
        return known;
    if (array_reserve(&statistics->processes, &statistics->process_capacity, (size_t)count + 1,
                      sizeof(*statistics->processes)) < 0)
        return -ENOMEM;
    int64_t index = number_index(&statistics->process_numbers, origin, number);
    if (index == count)
        statistics->processes[index] =
            (struct statistics_process){.origin = origin, .number = number};
    return index;
}

int64_t statistics_stream_index(struct statistics *statistics, uint32_t origin, uint32_t number,
                                uint32_t process_number)
{
    uint32_t count = statistics->stream_numbers.numbers.count;
    int64_t known = recent_index(&statistics->stream_numbers, origin, number);

    if (known >= 0)
        return known;
    if (array_reserve(&statistics->streams, &statistics->stream_capacity, (size_t)count + 1,
                      sizeof(*statistics->streams)) < 0)
        return -ENOMEM;
    int64_t index = number_index(&statistics->stream_numbers, origin, number);
    if (index == count) {
        int64_t process = statistics_process_index(statistics, origin, process_number);
        if (process < 0)
            return process;
        statistics->streams[index] = (struct statistics_stream){.process = (uint32_t)process};
    }
    return index;
}

int64_t statistics_path_index(struct statistics *statistics, uint32_t origin, uint32_t number)
{
    uint32_t count = statistics->path_numbers.numbers.count;
    int64_t known = recent_index(&statistics->path_numbers, origin, number);

    if (known >= 0)
        return known;
    if (array_reserve(&statistics->paths, &statistics->path_capacity, (size_t)count + 1,
                      sizeof(*statistics->paths)) < 0)
        return -ENOMEM;
    int64_t index = number_index(&statistics->path_numbers, origin, number);
    if (index == count)
        statistics->paths[index] = (struct statistics_path){.origin = origin, .number = number};
    return index;
}

void statistics_note_used(struct statistics *statistics, uint32_t path)
{
    uint32_t partner = joiner_end(&statistics->joiner, path).partner;

    if (partner != NO_END && partner != path && statistics->paths[path].first_use != 0)
        statistics->paths[partner].partner_used = true;
}

struct statistics_use *statistics_find_use(struct statistics *statistics, uint32_t path_number,
                                           uint32_t process)
{
    struct statistics_path *path = &statistics->paths[path_number];

    if (path->last_used != 0 && statistics->uses[path->last_used - 1].process == process)
        return &statistics->uses[path->last_used - 1];
    uint32_t count = statistics->use_keys.count;
    if (array_reserve(&statistics->uses, &statistics->use_capacity, (size_t)count + 1,
                      sizeof(*statistics->uses)) < 0)
        return NULL;
    int64_t index = intern_add(&statistics->use_keys, (uint64_t)path_number << 32 | process);
    if (index < 0)
        return NULL;
    if (index == count) {
        statistics->uses[index] = (struct statistics_use){
            .path = path_number,
            .process = process,
            .next = path->first_use,
        };
        path->first_use = (uint32_t)index + 1;
        statistics_note_used(statistics, path_number);
    }
    path->last_used = (uint32_t)index + 1;
    return &statistics->uses[index];
}
