/* SPDX-License-Identifier: MIT */
/*
 * matching.c: how quickly the program history ties receives to sends.
 *
 *      matching TRACE...    each a source of its own; prints what was matched
 *
 *      1.23 million records/s, 30000000 records, exact 9000000, ...
 *      anonymous memory 12.3 MiB at most
 */
#include "history/history.h"
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
    fprintf(stderr, "matching: %s\n", problem->text);
    exit(EXIT_FAILURE);
}

static void print_counts(const struct history *history, double seconds, long memory)
{
    struct history_counts counts;

    history_counts(history, &counts);
    printf("%.2f million records/s, %" PRIu64 " records\n", (double)counts.events / seconds / 1e6,
           counts.events);
    printf("exact %" PRIu64 ", ordered %" PRIu64 ", inferred %" PRIu64 ", external %" PRIu64
           ", unselected %" PRIu64 ", unmatched sends %" PRIu64 ", unmatched receives %" PRIu64
           ", lost %" PRIu64 ", stalls %" PRIu64 "\n",
           counts.exact, counts.ordered, counts.inferred, counts.external, counts.unselected,
           counts.unmatched_sends, counts.unmatched_receives, counts.lost, counts.stalls);
    printf("anonymous memory %.1f MiB at most\n", (double)memory / 1024);
}

static void match(struct source *const *sources, size_t count)
{
    uint64_t began = clock_now(CLOCK_MONOTONIC);
    struct problem problem = {""};
    struct history_event event;
    struct history *history;
    uint64_t events = 0;
    long memory = 0;
    int result;

    if (history_new(sources, count, &history, &problem) < 0)
        give_up(&problem);
    while ((result = history_next(history, &event, &problem)) == SOURCE_RECORD)
        if (++events % LOOK_EACH == 0) {
            long now = anonymous_memory();
            memory = now > memory ? now : memory;
        }
    if (result < 0)
        give_up(&problem);
    double seconds = (double)(clock_now(CLOCK_MONOTONIC) - began) / 1e9;
    long now = anonymous_memory();
    print_counts(history, seconds, now > memory ? now : memory);
    history_free(history);
}

int main(int argc, char **argv)
{
    size_t count = (size_t)argc - 1;
    struct source **sources = calloc(count + 1, sizeof(*sources));
    struct problem problem = {""};

    if (sources == NULL)
        return EXIT_FAILURE;
    for (size_t i = 0; i < count; i++) {
        const char *trace = argv[i + 1];
        if (trace_open(&trace, 1, &sources[i], &problem) < 0)
            give_up(&problem);
    }
    match(sources, count);
    for (size_t i = 0; i < count; i++)
        trace_close(sources[i]);
    free(sources);
    return EXIT_SUCCESS;
}
