/* SPDX-License-Identifier: MIT */
/*
 * shared.c: which processes share memory that they may write to. See shared.h.
 *
 *      NAME 1 of postgres[12]   NAME 1 of postgres[13]   --> "/dev/zero (deleted)": postgres[12], postgres[13]
 *
 * What passes there leaves no record. Memory of processes that all exchange messages with each other, too, is left out.
 */
#include "analysis/statistics/shared.h"

#include "analysis/statistics/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_USERS 4096u
#define MOST_ROWS  64u

int shared_count(struct shared_memories *shared, struct communication *rows, uint32_t origin,
                 uint32_t process, const struct name_record *name)
{
    if (shared->count >= MOST_USERS)
        return 0;
    char text[NAME_SIZE + 1];
    snprintf(text, sizeof(text), "%.*s", NAME_SIZE, name->name);
    const char *kept = communication_keep_text(rows, text);
    if (kept == NULL || array_reserve(&shared->users, &shared->capacity, shared->count + 1,
                                      sizeof(*shared->users)) < 0)
        return -ENOMEM;
    shared->users[shared->count++] =
        (struct shared_user){origin, (uint32_t)(name->number >> 32), process, kept};
    return 0;
}

void shared_done(struct shared_memories *shared)
{
    free(shared->users);
    memset(shared, 0, sizeof(*shared));
}

/* ---- results ---- */

static int compare_users(const void *left, const void *right)
{
    const struct shared_user *a = left, *b = right;

    if (a->origin != b->origin)
        return a->origin < b->origin ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->process > b->process) - (a->process < b->process);
}

static bool is_among(const uint32_t *processes, uint32_t count, uint32_t process)
{
    for (uint32_t i = 0; i < count; i++)
        if (processes[i] == process)
            return true;
    return false;
}

static bool exchange(const struct communication *communication, uint32_t one, uint32_t other)
{
    for (size_t i = 0; i < communication->pair_count; i++) {
        const struct party *from = &communication->pairs[i].from, *to = &communication->pairs[i].to;
        if ((is_among(from->processes, from->count, one) &&
             is_among(to->processes, to->count, other)) ||
            (is_among(from->processes, from->count, other) &&
             is_among(to->processes, to->count, one)))
            return true;
    }
    return false;
}

#define FEW_PROCESSES 16 /* of more, some do not exchange messages with each other, in practice */

static bool all_exchange(const struct communication *communication, const uint32_t *processes,
                         uint32_t count)
{
    if (count > FEW_PROCESSES)
        return false;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++)
            if (!exchange(communication, processes[i], processes[j]))
                return false;
    return true;
}

/* Adds the memory of these users. Several memories of the same processes are one row. */
static int add_row(struct communication *result, const struct shared_user *users, uint32_t *numbers,
                   uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = users[i].process;
    count = sort_numbers(numbers, count);
    if (count < 2 || all_exchange(result, numbers, count))
        return 0;
    const uint32_t *processes = communication_keep(result, numbers, count * sizeof(*numbers));
    const char *name = communication_keep_text(result, users[0].name);
    if (processes == NULL || name == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < result->shared_count; i++)
        if (result->shared[i].processes == processes && result->shared[i].count == count) {
            result->shared[i].objects++;
            return 0;
        }
    result->shared[result->shared_count++] =
        (struct communication_shared){name, processes, count, 1};
    return 0;
}

int shared_build(const struct shared_memories *shared, struct communication *result)
{
    size_t size = shared->count + 1;
    struct shared_user *users = malloc(size * sizeof(*users));
    uint32_t *numbers = malloc(size * sizeof(*numbers));
    int error = 0;

    result->shared = calloc(size, sizeof(*result->shared));
    if (users == NULL || numbers == NULL || result->shared == NULL)
        error = -ENOMEM;
    if (error == 0 && shared->count > 0) {
        memcpy(users, shared->users, shared->count * sizeof(*users));
        qsort(users, shared->count, sizeof(*users), compare_users);
    }
    for (size_t i = 0, end; error == 0 && i < shared->count && result->shared_count < MOST_ROWS;
         i = end) {
        for (end = i; end < shared->count && users[end].origin == users[i].origin &&
                      users[end].number == users[i].number;)
            end++;
        error = add_row(result, &users[i], numbers, (uint32_t)(end - i));
    }
    free(users);
    free(numbers);
    return error;
}
