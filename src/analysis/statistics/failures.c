/* SPDX-License-Identifier: MIT */
/* failures.c: connections that failed. See failures.h. */
#include "analysis/statistics/failures.h"

#include "analysis/statistics/statistics_state.h"
#include "meter/shared/message.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

static void add(struct communication_failure *row, enum failure_reason reason, uint64_t count)
{
    row->count += count;
    row->of[reason] += count;
}

/* Key of a row. Negative: out of memory. */
static int64_t key_of(struct failures *failures, uint32_t process, const char *address,
                      uint64_t *ret_key)
{
    int64_t number = intern_add(&failures->addresses, (uint64_t)(uintptr_t)address);

    *ret_key = number_key(process, (uint32_t)number);
    return number;
}

/* The row of a process and an address that `texts` keeps; NULL: out of memory. */
static struct communication_failure *row_of(struct failures *failures, struct communication *texts,
                                            uint32_t process, const char *text)
{
    const char *any = communication_keep_text(texts, "*");
    bool full = failures->keys.count >= MOST_FAILURES;
    const char *address = full ? communication_find(texts, text, strlen(text) + 1)
                               : communication_keep_text(texts, text);
    uint64_t key;

    if (address == NULL && !full)
        return NULL;
    address = address == NULL ? any : address;
    if (address == NULL || key_of(failures, process, address, &key) < 0)
        return NULL;
    if (full && intern_find(&failures->keys, key) < 0 &&
        key_of(failures, process, address = any, &key) < 0)
        return NULL;
    if (array_reserve(&failures->rows, &failures->capacity, failures->keys.count + 1UL,
                      sizeof(*failures->rows)) < 0)
        return NULL;
    uint32_t known = failures->keys.count;
    int64_t index = intern_add(&failures->keys, key);
    if (index < 0)
        return NULL;
    if ((uint32_t)index == known)
        failures->rows[index] =
            (struct communication_failure){.process = process, .address = address};
    return &failures->rows[index];
}

static int merge(struct communication_failure *row, const struct communication_failure *more,
                 uint64_t in_progress)
{
    for (enum failure_reason reason = 0; reason < FAILURE_REASONS; reason++)
        add(row, reason, more->of[reason]);
    row->in_progress += in_progress;
    if (row->last == 0 || more->last - more->first > row->last - row->first) {
        row->first = more->first;
        row->last = more->last;
    }
    return histogram_merge(&row->times, &more->times, HISTOGRAM_MOST);
}

/* ---- counting ---- */

static enum failure_reason reason_of(uint32_t error)
{
    switch (error) {
    case ECONNREFUSED:
        return FAILURE_REFUSED;
    case ETIMEDOUT:
        return FAILURE_TIMED_OUT;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
        return FAILURE_UNREACHABLE;
    case ECANCELED:
        return FAILURE_GIVEN_UP;
    default:
        return FAILURE_OTHER;
    }
}

int failures_count(struct statistics *statistics, uint32_t process,
                   const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    const struct path_record *path =
        identities_path(statistics->identities, event->event.origin, record->failed.path);
    char address[ENDPOINT_SIZE] = "unknown";

    if (path != NULL)
        endpoint_remote(path, address);
    struct communication_failure *row =
        row_of(&statistics->failures, statistics->rows, process, address);
    if (row == NULL)
        return -ENOMEM;
    add(row, reason_of(record->failed.error), 1);
    uint64_t begun = record->header.time - message_span(record);
    covered_add(&row->covered, begun, record->header.time);
    if (row->count == 1 || begun < row->first)
        row->first = begun;
    row->last = record->header.time;
    return histogram_add(&row->times, message_span(record), HISTOGRAM_MOST);
}

/* ---- results ---- */

static int compare_failures(const void *left, const void *right)
{
    const struct communication_failure *a = left;
    const struct communication_failure *b = right;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return strcmp(a->address, b->address);
}

/* Takes over the rows, whose addresses the result keeps. */
static void take_rows(struct failures *failures, struct communication *result)
{
    result->failures = failures->rows;
    result->failure_count = failures->keys.count;
    failures->rows = NULL;
    failures->keys.count = 0;
    result->failed = 0;
    if (result->failure_count > 0)
        qsort(result->failures, result->failure_count, sizeof(*result->failures), compare_failures);
    for (size_t i = 0; i < result->failure_count; i++)
        result->failed += result->failures[i].count;
}

/* `map`: NULL, each process stays itself. */
static int copy_rows(struct communication *result, const uint32_t *map,
                     const struct communication_failure *rows, size_t count)
{
    struct failures copies = {0};
    int error = 0;

    for (size_t i = 0; error == 0 && i < count; i++) {
        uint32_t process =
            map == NULL || rows[i].process == NO_PROCESS ? rows[i].process : map[rows[i].process];
        struct communication_failure *copy = row_of(&copies, result, process, rows[i].address);
        uint64_t in_progress = map == NULL ? covered_time(&rows[i].covered) : rows[i].in_progress;
        error = copy == NULL ? -ENOMEM : merge(copy, &rows[i], in_progress);
    }
    if (error == 0)
        take_rows(&copies, result);
    failures_done(&copies);
    return error;
}

int failures_build(const struct failures *failures, struct communication *result)
{
    return copy_rows(result, NULL, failures->rows, failures->keys.count);
}

int failures_transfer(struct communication *result, const uint32_t *map,
                      const struct communication *from)
{
    int error = copy_rows(result, map, from->failures, from->failure_count);

    for (size_t i = 0; error == 0 && i < result->failure_count; i++)
        if (result->failures[i].in_progress > result->duration)
            result->failures[i].in_progress = result->duration;
    return error;
}

void failures_done(struct failures *failures)
{
    for (size_t i = 0; failures->rows != NULL && i < failures->keys.count; i++)
        histogram_done(&failures->rows[i].times);
    free(failures->rows);
    intern_done(&failures->keys);
    intern_done(&failures->addresses);
}
