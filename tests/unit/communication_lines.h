/* SPDX-License-Identifier: MIT */
/* communication_lines.h: a result of the communication statistics as sorted lines of text, for tests that compare
 * two. */
#ifndef DPM_COMMUNICATION_LINES_H
#define DPM_COMMUNICATION_LINES_H

#include "analysis/statistics/statistics.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_LINES 1500
#define LINE_SIZE 700

struct lines {
    char text[MAX_LINES][LINE_SIZE];
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void line(struct lines *lines, const char *format, ...)
{
    va_list arguments;

    assert_true(lines->count < MAX_LINES);
    va_start(arguments, format);
    vsnprintf(lines->text[lines->count++], LINE_SIZE, format, arguments);
    va_end(arguments);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void party_text(const struct party *party, char text[300])
{
    size_t length = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < party->count; i++)
        length += (size_t)snprintf(text + length, 300 - length, "%u+", party->processes[i]);
    if (party->count == 0 && party->address != NULL)
        snprintf(text, 300, "%s", party->address);
}

#define TRAFFIC         "%" PRIu64 "/%" PRIu64
#define TRAFFIC_OF(sum) (sum).messages, (sum).bytes

static void result_lines(const struct communication *result, struct lines *lines)
{
    char from[300];
    char to[300];

    lines->count = 0;
    for (uint32_t i = 0; i < result->process_count; i++) {
        const struct communication_process *process = &result->processes[i];
        line(lines, "process %u: %u %s %u parent %u cpu %" PRIu64 " " TRAFFIC " " TRAFFIC, i,
             process->machine, process->name, process->pid, process->parent, process->cpu,
             TRAFFIC_OF(process->sent), TRAFFIC_OF(process->received));
    }
    for (size_t i = 0; i < result->pair_count; i++) {
        const struct communication_pair *pair = &result->pairs[i];
        party_text(&pair->from, from);
        party_text(&pair->to, to);
        line(lines, "pair %s > %s " TRAFFIC " %d %d", from, to, TRAFFIC_OF(pair->sent), pair->local,
             pair->shared);
    }
    for (size_t i = 0; i < result->path_count; i++) {
        const struct communication_path *path = &result->paths[i];
        party_text(&path->ends[0], from);
        party_text(&path->ends[1], to);
        line(lines, "path %u %s > %s (%s > %s) " TRAFFIC " " TRAFFIC, path->kind, path->local,
             path->remote, from, to, TRAFFIC_OF(path->sent), TRAFFIC_OF(path->received));
    }
    line(lines,
         "total %" PRIu64 " events, unknown %" PRIu64 " %" PRIu64 ", unseen %" PRIu64 " %" PRIu64,
         result->events, result->unknown_streams, result->unknown_paths, result->unseen_bytes,
         result->unseen_sent_bytes);
    qsort(lines->text, lines->count, LINE_SIZE, compare_lines);
}

#endif
