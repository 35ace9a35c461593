/* SPDX-License-Identifier: MIT */
/*
 * following.c: how quickly paths of causality are found, and in how much memory.
 *
 *      following TRACE...    each a source of its own; prints what was found
 *
 *      1.23 million records/s, 30000000 records, 1000000 requests, ...
 *      anonymous memory 12.3 MiB at most while reading, 23.4 MiB with the result
 */
#include "analysis/causality.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_EACH 1000000 /* events: so often memory is looked at */

/* Anonymous memory in KiB, now. */
static long anonymous_memory(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    char line[128];
    long size = 0;

    while (status != NULL && fgets(line, sizeof(line), status) != NULL)
        if (sscanf(line, "RssAnon: %ld", &size) == 1)
            break;
    if (status != NULL)
        fclose(status);
    return size;
}

static void give_up(const struct problem *problem)
{
    fprintf(stderr, "following: %s\n", problem->text);
    exit(EXIT_FAILURE);
}

static void print_result(const struct causality *causality, uint64_t records, double seconds)
{
    printf("%.2f million records/s, %" PRIu64 " records\n", (double)records / seconds / 1e6,
           records);
    printf("%" PRIu64 " requests, %" PRIu64 " messages between server processes, %zu strings, %zu "
           "substrings, %" PRIu64 " messages without room\n",
           causality->requests, causality->arcs, causality->path_count, causality->substring_count,
           causality->other_strings);
}

static void analyse(struct source *const *sources, uint32_t count)
{
    const struct causality_options options = {0};
    uint64_t began = clock_now(CLOCK_MONOTONIC);
    struct causality_analysis *analysis;
    struct causality *causality;
    struct problem problem = {"out of memory"};
    struct history_event event;
    struct history *history;
    uint64_t events = 0;
    long memory = 0;
    int result;

    if (history_new(sources, count, &history, &problem) < 0 ||
        causality_new(&options, history, &analysis) < 0)
        give_up(&problem);
    while ((result = history_next(history, &event, &problem)) == SOURCE_RECORD) {
        if (causality_add(analysis, &event) < 0)
            give_up(&problem);
        if (++events % LOOK_EACH == 0) {
            long now = anonymous_memory();
            memory = now > memory ? now : memory;
        }
    }
    double seconds = (double)(clock_now(CLOCK_MONOTONIC) - began) / 1e9;
    if (result < 0 || causality_finish(analysis, count, &causality) < 0)
        give_up(&problem);
    print_result(causality, events, seconds);
    printf("anonymous memory %.1f MiB at most while reading, %.1f MiB with the result\n",
           (double)memory / 1024, (double)anonymous_memory() / 1024);
    causality_free(causality);
    causality_analysis_free(analysis);
    history_free(history);
}

int main(int argc, char **argv)
{
    uint32_t count = (uint32_t)argc - 1;
    struct source **sources = calloc(count + 1UL, sizeof(*sources));
    struct problem problem = {""};

    if (sources == NULL)
        return EXIT_FAILURE;
    for (uint32_t i = 0; i < count; i++) {
        const char *trace = argv[i + 1];
        if (trace_open(&trace, 1, &sources[i], &problem) < 0)
            give_up(&problem);
    }
    analyse(sources, count);
    for (uint32_t i = 0; i < count; i++)
        trace_close(sources[i]);
    free(sources);
    return EXIT_SUCCESS;
}
