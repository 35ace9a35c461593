/* SPDX-License-Identifier: MIT */
/*
 * inputs.c: what processes read from files that other processes had written. See inputs.h.
 *
 *      edge as[12] --> ld[40] of path 7 --> row: as[12], ld[40], device, inode --at the end--> communication_input
 *
 * A row of the result is for two processes, with all files that one has written and the other has read.
 */
#include "analysis/statistics/inputs.h"

#include "analysis/statistics/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting ---- */

static const char *name_of(struct communication *rows, const struct path_record *path)
{
    char text[ENDPOINT_SIZE];

    endpoint_local(path, text);
    return communication_keep_text(rows, text);
}

static bool is_of(const struct input_row *row, const struct input_row *like)
{
    return row->from == like->from && row->to == like->to && row->origin == like->origin &&
           row->inode == like->inode && row->device == like->device;
}

/* Index of a row; MOST_INPUTS: there are too many; or -ENOMEM. In the rare case of a hash collision, the later one uses the
 * next key. */
static int64_t find_row(struct inputs *inputs, struct communication *rows,
                        const struct input_row *like, const struct path_record *path)
{
    const uint64_t parts[] = {number_key(like->from, like->to),
                              number_key(like->origin, like->device), like->inode};

    for (uint64_t key = hash_bytes(0, parts, sizeof(parts));; key++) {
        uint32_t count = inputs->keys.count;
        int64_t index =
            count >= MOST_INPUTS ? intern_find(&inputs->keys, key) : intern_add(&inputs->keys, key);
        if (index < 0)
            return count >= MOST_INPUTS ? MOST_INPUTS : -ENOMEM;
        if (array_reserve(&inputs->rows, &inputs->capacity, (size_t)index + 1,
                          sizeof(*inputs->rows)) < 0)
            return -ENOMEM;
        struct input_row *row = &inputs->rows[index];
        if (index == count) {
            *row = *like;
            row->sums = (struct communication_input){
                .from = like->from, .to = like->to, .files = 1, .name = name_of(rows, path)};
            if (row->sums.name == NULL)
                return -ENOMEM;
        }
        if (is_of(row, like))
            return index;
    }
}

int inputs_count(struct inputs *inputs, const struct identities *identities,
                 struct communication *rows, uint32_t from, uint32_t to,
                 const struct history_event *event, const struct history_edge *edge)
{
    const struct record *record = (const struct record *)event->event.header;
    const struct path_record *path =
        identities_path(identities, event->event.origin, record->message.path);

    if (path == NULL)
        return 0;
    const struct input_row like = {.from = from,
                                   .to = to,
                                   .origin = event->event.origin,
                                   .device = path->network,
                                   .inode = path->inode};
    int64_t index = find_row(inputs, rows, &like, path);
    if (index < 0)
        return (int)index;
    struct communication_input *sums =
        index == MOST_INPUTS ? &inputs->others : &inputs->rows[index].sums;
    sums->reads++;
    sums->bytes += edge->bytes;
    sums->doubtful += edge->doubtful;
    return 0;
}

void inputs_done(struct inputs *inputs)
{
    intern_done(&inputs->keys);
    free(inputs->rows);
    memset(inputs, 0, sizeof(*inputs));
}

/* ---- results ---- */

static int compare_processes(const struct communication_input *a,
                             const struct communication_input *b)
{
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return (a->from > b->from) - (a->from < b->from);
}

/* Rows of two processes follow each other, the file with most bytes first. */
static int compare_rows(const void *left, const void *right)
{
    const struct communication_input *a = left, *b = right;
    int processes = compare_processes(a, b);

    if (processes != 0)
        return processes;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Most bytes first. */
static int compare_inputs(const void *left, const void *right)
{
    const struct communication_input *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return compare_rows(left, right);
}

static void add_sums(struct communication_input *sum, const struct communication_input *more)
{
    sum->files += more->files;
    sum->reads += more->reads;
    sum->bytes += more->bytes;
    sum->doubtful += more->doubtful;
}

/* Makes one row of those of the same two processes, or groups. */
static void unite(struct communication *result)
{
    struct communication_input *rows = result->inputs;
    size_t united = 0;

    if (result->input_count == 0)
        return;
    qsort(rows, result->input_count, sizeof(*rows), compare_rows);
    for (size_t i = 0; i < result->input_count; i++)
        if (united > 0 && compare_processes(&rows[united - 1], &rows[i]) == 0)
            add_sums(&rows[united - 1], &rows[i]);
        else
            rows[united++] = rows[i];
    result->input_count = united;
    qsort(rows, united, sizeof(*rows), compare_inputs);
}

static int add_row(struct communication *result, const struct communication_input *from)
{
    struct communication_input *row = &result->inputs[result->input_count++];

    *row = *from;
    row->name = communication_keep_text(result, from->name);
    return row->name == NULL ? -ENOMEM : 0;
}

int inputs_build(const struct inputs *inputs, struct communication *result)
{
    int error = 0;

    result->inputs = calloc((size_t)inputs->keys.count + 1, sizeof(*result->inputs));
    if (result->inputs == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < inputs->keys.count && error == 0; i++)
        error = add_row(result, &inputs->rows[i].sums);
    if (error == 0 && inputs->others.reads > 0) {
        struct communication_input others = inputs->others;
        others.from = others.to = NO_PROCESS;
        others.name = "*";
        error = add_row(result, &others);
    }
    if (error == 0)
        unite(result);
    return error;
}

int inputs_group(const struct communication *from, const uint32_t *group_of,
                 struct communication *result)
{
    int error = 0;

    result->inputs = calloc(from->input_count + 1, sizeof(*result->inputs));
    result->input_count = 0;
    if (result->inputs == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < from->input_count && error == 0; i++) {
        struct communication_input row = from->inputs[i];
        row.from = row.from == NO_PROCESS ? NO_PROCESS : group_of[row.from];
        row.to = row.to == NO_PROCESS ? NO_PROCESS : group_of[row.to];
        error = add_row(result, &row);
    }
    if (error == 0)
        unite(result);
    return error;
}
