/* SPDX-License-Identifier: MIT */
/* statistics_order.c: rows of the statistics in the order that was asked for. See statistics_face.h. */
#include "show/statistics/statistics_face.h"

#include <stdlib.h>
#include <string.h>

/* What a row is compared by: the greater first, then by name, then as the result has them. */
struct sort_key {
    const void *row;
    uint64_t amount;
    const char *name;
};

static int compare_keys(const void *left, const void *right)
{
    const struct sort_key *a = left;
    const struct sort_key *b = right;

    if (a->amount != b->amount)
        return a->amount > b->amount ? -1 : 1;
    int names = strcmp(a->name, b->name);
    return names != 0 ? names : ((a->row > b->row) - (a->row < b->row));
}

static const void **sorted(struct sort_key *keys, size_t count)
{
    const void **rows = calloc(count + 1, sizeof(*rows));

    if (rows != NULL && keys != NULL) {
        qsort(keys, count, sizeof(*keys), compare_keys);
        for (size_t i = 0; i < count; i++)
            rows[i] = keys[i].row;
    }
    return rows;
}

static uint64_t amount_of(enum show_order order, const struct traffic *sent,
                          const struct traffic *received, uint64_t cpu,
                          const struct histogram *times)
{
    switch (order) {
    case ORDER_MESSAGES:
        return sent->messages + received->messages;
    case ORDER_CPU:
        return cpu;
    case ORDER_RESPONSE:
        return histogram_quantile(times, 0.99);
    case ORDER_NAME:
        return 0;
    default:
        return sent->bytes + received->bytes;
    }
}

static const struct histogram *answers_of(const struct times *times)
{
    return histogram_bars(&times->of[TIME_RESPONSE]) > 0 ? &times->of[TIME_RESPONSE]
                                                         : &times->of[TIME_REQUEST];
}

const struct communication_process **ordered_processes(const struct communication *communication,
                                                       enum show_order order)
{
    size_t count = communication->process_count;
    struct sort_key *keys = calloc(count + 1, sizeof(*keys));

    if (keys == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const struct communication_process *row = &communication->processes[i];
        const char *name = row->group != NULL ? row->group : row->name;
        keys[i] = (struct sort_key){
            row, amount_of(order, &row->sent, &row->received, row->cpu, answers_of(&row->times)),
            order == ORDER_NAME ? name : ""};
    }
    const void **rows = sorted(keys, count);
    free(keys);
    return (const struct communication_process **)rows;
}

/* What a party is called by, for sorting. */
static const char *party_name(const struct communication *communication, const struct party *party)
{
    if (party->count == 0)
        return party->address == NULL ? "" : party->address;
    const struct communication_process *process = &communication->processes[party->processes[0]];
    return process->group != NULL ? process->group : process->name;
}

const struct communication_pair **ordered_pairs(const struct communication *communication,
                                                enum show_order order)
{
    size_t count = communication->pair_count;
    struct sort_key *keys = calloc(count + 1, sizeof(*keys));
    const struct traffic nothing = {0};

    if (keys == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const struct communication_pair *row = &communication->pairs[i];
        keys[i] =
            (struct sort_key){row, amount_of(order, &row->sent, &nothing, 0, &row->sizes),
                              order == ORDER_NAME ? party_name(communication, &row->from) : ""};
    }
    const void **rows = sorted(keys, count);
    free(keys);
    return (const struct communication_pair **)rows;
}

const struct communication_path **ordered_paths(const struct communication *communication,
                                                enum show_order order)
{
    size_t count = communication->path_count;
    struct sort_key *keys = calloc(count + 1, sizeof(*keys));

    if (keys == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const struct communication_path *row = &communication->paths[i];
        keys[i] = (struct sort_key){
            row, amount_of(order, &row->sent, &row->received, 0, answers_of(&row->times)),
            order == ORDER_NAME ? row->local : ""};
    }
    const void **rows = sorted(keys, count);
    free(keys);
    return (const struct communication_path **)rows;
}
