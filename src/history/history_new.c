/* SPDX-License-Identifier: MIT */
/* history_new.c: makes a history, adds origins that join later, and frees it. See history_types.h. */
#include "history/collectives.h"
#include "history/file_writers.h"
#include "history/flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int allocate(struct history *history, uint32_t count)
{
    history->origins = calloc(count + 1, sizeof(*history->origins));
    history->machines = calloc(count + 1, sizeof(*history->machines));
    history->fading = calloc(FADING_MOST, sizeof(*history->fading));
    return history->origins == NULL || history->machines == NULL || history->fading == NULL ||
                   identities_new(&history->identities) < 0 ||
                   clocks_new(count, &history->clocks) < 0
               ? -ENOMEM
               : 0;
}

static void init_origin(struct history *history, uint32_t number, struct source *source)
{
    history->origins[number].source = source;
    history->origins[number].machine = NO_MACHINE;
}

int history_new(struct source *const *sources, size_t count, struct history **ret_history,
                struct problem *problem)
{
    for (size_t i = 0; i < count; i++)
        if (sources[i]->origins != 1)
            return problem_set(problem, -EINVAL,
                               "source %zu has %u origins; give each origin as a source", i,
                               sources[i]->origins);
    struct history *history = calloc(1, sizeof(*history));
    if (history == NULL || count >= UINT32_MAX || allocate(history, (uint32_t)count) < 0) {
        history_free(history);
        return problem_set(problem, -ENOMEM, "out of memory");
    }
    history->origin_count = history->silent_origins = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++)
        init_origin(history, i, sources[i]);
    history->joiner.closed_too = true;
    history->streams.size = sizeof(struct stream);
    history->processes.size = sizeof(struct process);
    history->ends.size = sizeof(struct end);
    history->rooms.size = sizeof(struct latest_rooms);
    history->held.size = sizeof(struct held);
    history->wakeups.size = sizeof(struct wakeup);
    history->sends.size = sizeof(struct sent);
    *ret_history = history;
    return 0;
}

/* Room for one more origin. The arrays have one element more than there are origins. */
static int grow(struct history *history)
{
    size_t count = history->origin_count + 2UL;
    struct origin *origins = realloc(history->origins, count * sizeof(*origins));

    if (origins == NULL)
        return -ENOMEM;
    history->origins = origins;
    memset(&origins[count - 1], 0, sizeof(*origins));
    struct machine *machines = realloc(history->machines, count * sizeof(*machines));
    if (machines == NULL)
        return -ENOMEM;
    history->machines = machines;
    memset(&machines[count - 1], 0, sizeof(*machines));
    return clocks_grow(history->clocks, history->origin_count + 1);
}

int history_add(struct history *history, struct source *source, struct problem *problem)
{
    if (source->origins != 1)
        return problem_set(problem, -EINVAL, "a source with %u origins cannot join",
                           source->origins);
    if (history->finished)
        return problem_set(problem, -EPIPE, "the history has ended");
    if (history->origin_count >= UINT32_MAX - 2 || grow(history) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    init_origin(history, history->origin_count++, source);
    history->silent_origins++;
    history->turn = 0;
    return 0;
}

void history_expect_more(struct history *history, bool expected)
{
    history->expects = expected;
}

void history_be_patient(struct history *history, uint64_t patience,
                        uint64_t (*now)(clockid_t clock))
{
    history->patience = patience;
    history->now = now;
    history->gone_on = INT64_MIN;
}

void history_finish(struct history *history)
{
    for (uint32_t i = 0; i < history->ends.used; i++)
        end_done(pool_at(&history->ends, i));
    for (uint32_t i = 0; i < history->processes.used; i++)
        free(((struct process *)pool_at(&history->processes, i))->ended);
    for (uint32_t i = 0; i < history->origin_count; i++) {
        free(history->origins[i].orphans);
        free(history->origins[i].heap);
        history->origins[i].orphans = NULL;
        history->origins[i].heap = NULL;
    }
    pool_done(&history->streams);
    pool_done(&history->processes);
    pool_done(&history->ends);
    pool_done(&history->rooms);
    pool_done(&history->held);
    pool_done(&history->wakeups);
    rooms_done(&history->sends);
    pool_done(&history->values);
    free(history->spent);
    history->spent = NULL;
    file_writers_free(history->writers);
    history->writers = NULL;
    collectives_free(history->collectives);
    history->collectives = NULL;
    lookup_done(&history->shared_values);
    lookup_done(&history->faded);
    lookup_done(&history->addresses);
    lookup_done(&history->stream_numbers);
    lookup_done(&history->process_numbers);
    lookup_done(&history->end_numbers);
    joiner_done(&history->joiner);
    free(history->machines);
    free(history->fading);
    free(history->edges);
    free(history->whole);
    history->whole = NULL;
    history->machines = NULL;
    history->fading = NULL;
    history->edges = NULL;
}

void history_free(struct history *history)
{
    if (history == NULL)
        return;
    history_finish(history);
    identities_free(history->identities);
    clocks_free(history->clocks);
    free(history->origins);
    free(history);
}
