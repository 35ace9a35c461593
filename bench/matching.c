/* SPDX-License-Identifier: MIT */
/*
 * matching.c: how fast the program history matches receives with sends, and how fast request paths are found.
 *
 *      matching TRACE...               each is a separate source; prints what was matched
 *      matching --causality TRACE...   the same, and the request paths
 *
 *      1.23 million records/s, 30000000 records
 *      exact 9000000, ...                                  or: 1000000 requests, ...
 *      anonymous memory 12.3 MiB at most while reading     and: 23.4 MiB with the result
 */
#include "analysis/causality/causality.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_EACH 1000000 /* events between two checks of memory */

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

static void print_counts(const struct history *history)
{
    struct history_counts counts;

    history_counts(history, &counts);
    printf("exact %" PRIu64 ", ordered %" PRIu64 ", inferred %" PRIu64 ", external %" PRIu64
           ", unselected %" PRIu64 ", unmatched sends %" PRIu64 ", unmatched receives %" PRIu64
           ", lost %" PRIu64 ", stalls %" PRIu64 "\n",
           counts.exact, counts.ordered, counts.inferred, counts.external, counts.unselected,
           counts.unmatched_sends, counts.unmatched_receives, counts.lost, counts.stalls);
}

static void print_causality(struct causality_analysis *analysis, uint32_t count)
{
    struct problem problem = {"out of memory"};
    struct causality *causality;

    if (causality_finish(analysis, count, &causality) < 0)
        give_up(&problem);
    printf("%" PRIu64 " requests, %" PRIu64 " messages between server processes, %zu strings, %zu "
           "substrings, %" PRIu64 " messages without room\n",
           causality->requests, causality->arcs, causality->path_count, causality->substring_count,
           causality->other_strings);
    causality_free(causality);
}

struct watch {
    uint64_t events;
    long memory; /* KiB, maximum */
};

static int look(void *self, const struct history_event *event, struct problem *problem)
{
    struct watch *watch = self;
    long now;

    (void)event;
    (void)problem;
    if (++watch->events % LOOK_EACH == 0 && (now = anonymous_memory()) > watch->memory)
        watch->memory = now;
    return 0;
}

/* `analysis` may be NULL. Returns the maximum of anonymous memory while reading, KiB. */
static long read_all(struct history *history, struct causality_analysis *analysis)
{
    uint64_t began = clock_now(CLOCK_MONOTONIC);
    struct watch watch = {0};
    const struct analysis analyses[] = {{"", &watch, look}, causality_analysis(analysis)};
    struct problem problem;

    if (analyses_read_all(history, analyses, analysis == NULL ? 1 : 2, &problem) < 0)
        give_up(&problem);
    double seconds = (double)(clock_now(CLOCK_MONOTONIC) - began) / 1e9;
    printf("%.2f million records/s, %" PRIu64 " records\n", (double)watch.events / seconds / 1e6,
           watch.events);
    long now = anonymous_memory();
    return now > watch.memory ? now : watch.memory;
}

static void match(struct source *const *sources, uint32_t count, bool causality)
{
    const struct causality_options options = {0};
    struct causality_analysis *analysis = NULL;
    struct problem problem = {"out of memory"};
    struct history *history;

    if (history_new(sources, count, &history, &problem) < 0 ||
        (causality && causality_new(history, &options, &analysis) < 0))
        give_up(&problem);
    long memory = read_all(history, analysis);
    if (causality)
        print_causality(analysis, count);
    else
        print_counts(history);
    printf("anonymous memory %.1f MiB at most while reading", (double)memory / 1024);
    if (causality)
        printf(", %.1f MiB with the result", (double)anonymous_memory() / 1024);
    putchar('\n');
    causality_analysis_free(analysis);
    history_free(history);
}

int main(int argc, char **argv)
{
    bool causality = argc > 1 && strcmp(argv[1], "--causality") == 0;
    char **names = argv + 1 + causality;
    uint32_t count = (uint32_t)(argc - 1 - causality);
    struct source **sources = calloc(count + 1UL, sizeof(*sources));
    struct problem problem = {""};

    if (sources == NULL)
        return EXIT_FAILURE;
    for (uint32_t i = 0; i < count; i++) {
        const char *trace = names[i];
        if (trace_open(&trace, 1, &sources[i], &problem) < 0)
            give_up(&problem);
    }
    match(sources, count, causality);
    for (uint32_t i = 0; i < count; i++)
        trace_close(sources[i]);
    free(sources);
    return EXIT_SUCCESS;
}
