/* SPDX-License-Identifier: MIT */
/*
 * arranging.c: sorts the rows of a result and merges pairs of the same parties.
 *
 *      client > server  300 bytes          client > server  700 of the client's 750 bytes
 *      client > other    50 bytes    -->   client > other    50 of the client's 750 bytes
 *      client > server  400 bytes
 */
#include "analysis/statistics/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_numbers(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

uint32_t sort_numbers(uint32_t *numbers, uint32_t count)
{
    uint32_t kept = 0;

    if (count > 1)
        qsort(numbers, count, sizeof(*numbers), compare_numbers);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || numbers[kept - 1] != numbers[i])
            numbers[kept++] = numbers[i];
    return kept;
}

static int compare_parties(const struct party *a, const struct party *b)
{
    if (a->count == 0 && b->count == 0)
        return strcmp(a->address, b->address);
    for (uint32_t i = 0; i < a->count && i < b->count; i++)
        if (a->processes[i] != b->processes[i])
            return a->processes[i] < b->processes[i] ? -1 : 1;
    return (a->count > b->count) - (a->count < b->count);
}

static int compare_pair_names(const void *left, const void *right)
{
    const struct communication_pair *a = left;
    const struct communication_pair *b = right;
    int difference = compare_parties(&a->from, &b->from);

    return difference != 0 ? difference : compare_parties(&a->to, &b->to);
}

int compare_traffic(const struct traffic *a, const struct traffic *b)
{
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->messages < b->messages) - (a->messages > b->messages);
}

static int compare_both_ways(const struct communication_path *a, const struct communication_path *b)
{
    struct traffic of_a = a->sent, of_b = b->sent;

    add_traffic(&of_a, &a->received);
    add_traffic(&of_b, &b->received);
    return compare_traffic(&of_a, &of_b);
}

static int compare_pairs(const void *left, const void *right)
{
    const struct communication_pair *a = left;
    const struct communication_pair *b = right;
    int difference = compare_traffic(&a->sent, &b->sent);

    return difference != 0 ? difference : compare_pair_names(left, right);
}

static int compare_paths(const void *left, const void *right)
{
    const struct communication_path *a = left;
    const struct communication_path *b = right;
    int difference = compare_both_ways(a, b);

    if (difference == 0)
        difference = (a->number > b->number) - (a->number < b->number);
    return difference != 0 ? difference : strcmp(a->local, b->local);
}

/* ---- pairs by their parties ---- */

const void *party_identity(const struct party *party)
{
    return party->count > 0 ? (const void *)party->processes : party->address;
}

static bool is_between(const struct communication_pair *pair, const struct party *from,
                       const struct party *to)
{
    return party_identity(&pair->from) == party_identity(from) &&
           party_identity(&pair->to) == party_identity(to);
}

/* Index of the pair of these parties; pair_count: there is none yet. In the rare case of a hash collision, the later
 * pair uses the next key. */
static int64_t find_pair(struct communication *communication, const struct party *from,
                         const struct party *to)
{
    const void *parties[] = {party_identity(from), party_identity(to)};

    for (uint64_t key = hash_bytes(0, parties, sizeof(parties));; key++) {
        int64_t index = intern_add(&communication->pair_keys, key);
        if (index < 0 || (size_t)index == communication->pair_count ||
            is_between(&communication->pairs[index], from, to))
            return index;
    }
}

/* Rebuilds pair_keys after the pairs were sorted. */
static int find_all_pairs(struct communication *communication)
{
    size_t count = communication->pair_count;
    int64_t index = 0;

    intern_done(&communication->pair_keys);
    communication->pair_count = 0;
    for (size_t i = 0; index >= 0 && i < count; i++, communication->pair_count++)
        index =
            find_pair(communication, &communication->pairs[i].from, &communication->pairs[i].to);
    communication->pair_count = count;
    return index < 0 ? (int)index : 0;
}

struct communication_pair *communication_pair(struct communication *communication,
                                              const struct party *from, const struct party *to)
{
    if (communication->pair_keys.count != communication->pair_count &&
        find_all_pairs(communication) < 0)
        return NULL;
    if (array_reserve(&communication->pairs, &communication->pair_capacity,
                      communication->pair_count + 1, sizeof(*communication->pairs)) < 0)
        return NULL;
    int64_t index = find_pair(communication, from, to);
    if (index < 0)
        return NULL;
    struct communication_pair *pair = &communication->pairs[index];
    if ((size_t)index == communication->pair_count) {
        communication->pair_count++;
        *pair = (struct communication_pair){
            .from = *from,
            .to = *to,
            .local = true,
            .shared = from->count > 1 || to->count > 1,
        };
    }
    return pair;
}

/* ---- sorting ---- */

static void sort_pairs(struct communication *communication)
{
    if (communication->pair_count > 0)
        qsort(communication->pairs, communication->pair_count, sizeof(*communication->pairs),
              compare_pairs);
    intern_done(&communication->pair_keys);
}

static void sort_paths(struct communication_path *paths, size_t count)
{
    if (count > 0)
        qsort(paths, count, sizeof(*paths), compare_paths);
}

static int sum_senders(struct communication *communication)
{
    struct intern senders = {0};
    struct traffic *sums = calloc(communication->pair_count + 1, sizeof(*sums));
    int64_t index = sums == NULL ? -ENOMEM : 0;

    for (size_t i = 0; index >= 0 && i < 2 * communication->pair_count; i++) {
        struct communication_pair *pair = &communication->pairs[i % communication->pair_count];
        index = intern_add(&senders, (uint64_t)(uintptr_t)party_identity(&pair->from));
        if (index >= 0 && i < communication->pair_count)
            add_traffic(&sums[index], &pair->sent);
        else if (index >= 0)
            pair->from_sent = sums[index];
    }
    intern_done(&senders);
    free(sums);
    return index < 0 ? (int)index : 0;
}

int communication_arrange(struct communication *communication)
{
    sort_pairs(communication);
    sort_paths(communication->paths, communication->path_count);
    return sum_senders(communication);
}
