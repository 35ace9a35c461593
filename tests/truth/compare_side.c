/* SPDX-License-Identifier: MIT */
/* compare_side.c: streams, operations and findings, shared by all comparisons. */
#include "compare.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define DIFFERENCES_PRINTED 30

const char *const operation_names[OPERATION_KIND_COUNT] = {
    "SEND", "RECEIVE", "CREATEPROCESS", "EXEC", "STOPPROCESS", "STARTPROCESS", "TERMINATION"};

/* ---- used by the readers ---- */

void reserve(void *array, size_t *capacity, size_t count, size_t size)
{
    if (array_reserve(array, capacity, count, size) < 0) {
        fprintf(stderr, "truth-compare: no memory\n");
        exit(2);
    }
}

char *text_copy(const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL) {
        fprintf(stderr, "truth-compare: no memory\n");
        exit(2);
    }
    return copy;
}

struct operation *stream_add(struct stream *stream, enum operation_kind kind)
{
    reserve(&stream->operations, &stream->capacity, stream->count + 1, sizeof(*stream->operations));
    stream->operations[stream->count].kind = kind;
    return &stream->operations[stream->count++];
}

struct stream *side_add(struct side *side)
{
    reserve(&side->streams, &side->capacity, side->count + 1, sizeof(*side->streams));
    return &side->streams[side->count++];
}

static int order_streams(const void *left, const void *right)
{
    const struct stream *a = left;
    const struct stream *b = right;

    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

void side_sort(struct side *side)
{
    if (side->count > 0)
        qsort(side->streams, side->count, sizeof(*side->streams), order_streams);
}

void side_done(struct side *side)
{
    for (size_t i = 0; i < side->count; i++) {
        for (size_t k = 0; k < side->streams[i].count; k++) {
            free(side->streams[i].operations[k].name);
            free(side->streams[i].operations[k].parts);
        }
        free(side->streams[i].operations);
        free(side->streams[i].label);
    }
    free(side->streams);
}

void differ(struct findings *findings, const char *format, ...)
{
    va_list arguments;

    findings->differences++;
    if (findings->printed_of_part == DIFFERENCES_PRINTED)
        return;
    findings->printed_of_part++;
    findings->printed++;
    printf("difference: ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}
