/* SPDX-License-Identifier: MIT */
/*
 * arranging.c: puts the rows of a result in order; pairs of the same parties become one.
 *
 *      client > server  300 bytes          client > server  700 bytes, of client's 750
 *      client > other    50 bytes    -->   client > other    50 bytes, of client's 750
 *      client > server  400 bytes
 */
#include "analysis/statistics.h"

#include <stdlib.h>
#include <string.h>

static int compare_numbers(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

void sort_numbers(uint32_t *numbers, size_t count)
{
    qsort(numbers, count, sizeof(*numbers), compare_numbers);
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

static int compare_traffic(uint64_t a_bytes, uint64_t a_messages, uint64_t b_bytes,
                           uint64_t b_messages)
{
    if (a_bytes != b_bytes)
        return a_bytes > b_bytes ? -1 : 1;
    return (a_messages < b_messages) - (a_messages > b_messages);
}

static int compare_pairs(const void *left, const void *right)
{
    const struct communication_pair *a = left;
    const struct communication_pair *b = right;
    int difference =
        compare_traffic(a->sent.bytes, a->sent.messages, b->sent.bytes, b->sent.messages);

    return difference != 0 ? difference : compare_pair_names(left, right);
}

static int compare_paths(const void *left, const void *right)
{
    const struct communication_path *a = left;
    const struct communication_path *b = right;
    int difference =
        compare_traffic(a->sent.bytes + a->received.bytes, a->sent.messages + a->received.messages,
                        b->sent.bytes + b->received.bytes, b->sent.messages + b->received.messages);

    if (difference == 0)
        difference = (a->number > b->number) - (a->number < b->number);
    return difference != 0 ? difference : strcmp(a->local, b->local);
}

/* Of pairs in the order of their names, those of one sender stand side by side. */
static void sum_senders(struct communication *result)
{
    for (size_t i = 0, end; i < result->pair_count; i = end) {
        uint64_t bytes = 0;
        for (end = i; end < result->pair_count &&
                      compare_parties(&result->pairs[i].from, &result->pairs[end].from) == 0;)
            bytes += result->pairs[end++].sent.bytes;
        for (size_t at = i; at < end; at++)
            result->pairs[at].from_bytes = bytes;
    }
}

/* One row for each pair of parties. */
static int merge_pairs(struct communication *result)
{
    size_t merged = 0;
    int error = 0;

    qsort(result->pairs, result->pair_count, sizeof(*result->pairs), compare_pair_names);
    for (size_t i = 0; i < result->pair_count; i++) {
        struct communication_pair *next = &result->pairs[i];
        struct communication_pair *row = merged == 0 ? NULL : &result->pairs[merged - 1];
        if (row == NULL || compare_pair_names(row, next) != 0) {
            result->pairs[merged++] = *next;
        } else {
            add_traffic(&row->sent, &next->sent);
            row->local = row->local && next->local;
            if (error == 0)
                error = histogram_merge(&row->sizes, &next->sizes, HISTOGRAM_MOST);
            histogram_done(&next->sizes);
        }
    }
    result->pair_count = merged;
    sum_senders(result);
    qsort(result->pairs, result->pair_count, sizeof(*result->pairs), compare_pairs);
    return error;
}

int communication_arrange(struct communication *communication)
{
    int result = communication->pair_count > 0 ? merge_pairs(communication) : 0;

    if (communication->path_count > 0)
        qsort(communication->paths, communication->path_count, sizeof(*communication->paths),
              compare_paths);
    return result;
}
