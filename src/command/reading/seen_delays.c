/* SPDX-License-Identifier: MIT */
/* seen_delays.c: message delays measured in the traces. See placement_options.h. */
#include "command/reading/traces.h"
#include "command/shared/placement_options.h"
#include "show/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The median delivery time of a pair of processes, and its number of messages. */
struct pair_median {
    uint64_t time;
    uint64_t count;
};

static int by_time(const void *left, const void *right)
{
    const struct pair_median *a = left, *b = right;

    return a->time < b->time ? -1 : a->time > b->time;
}

/* The median of the medians, weighted by messages: 10 us of 1 message and 20 us of 9 give 20 us. *ret_count: the number
 * of messages, 10. */
static uint64_t median_of(struct pair_median *pairs, size_t count, uint64_t *ret_count)
{
    uint64_t all = 0, below = 0;

    qsort(pairs, count, sizeof(*pairs), by_time);
    for (size_t i = 0; i < count; i++)
        all += pairs[i].count;
    *ret_count = all;
    for (size_t i = 0; i < count; i++) {
        below += pairs[i].count;
        if (2 * below >= all)
            return pairs[i].time;
    }
    return 0;
}

static void say(const char *where, uint64_t time, uint64_t count)
{
    char texts[2][UNIT_SIZE];

    show_duration(time, texts[0]);
    show_count(count, texts[1]);
    command_say("%s messages took %s from SEND to MESSAGEQUEUED (median of %s)", where, texts[0],
                texts[1]);
}

/* Takes the delay within machines (`local`) or between them. Returns 0 or -ENOMEM. */
static int take(const struct communication *communication, bool local, struct delay *delay)
{
    struct pair_median *pairs = calloc(communication->pair_count + 1, sizeof(*pairs));
    size_t count = 0;
    uint64_t messages;

    if (pairs == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < communication->pair_count; i++) {
        const struct communication_pair *pair = &communication->pairs[i];
        const struct histogram *times = &pair->times.of[TIME_DELIVERY];
        if (pair->local == local && histogram_bars(times) > 0)
            pairs[count++] =
                (struct pair_median){histogram_quantile(times, 0.5), histogram_count(times)};
    }
    uint64_t time = median_of(pairs, count, &messages);
    free(pairs);
    if (messages == 0) {
        command_say("no %s message has a measured delay; taking %s", local ? "local" : "remote",
                    delay->count > 0 ? "the delay given" : "0");
        return 0;
    }
    *delay = (struct delay){.count = 1};
    delay->points[0].time = (double)time;
    say(local ? "local" : "remote", time, messages);
    return 0;
}

static void say_clock_error(uint64_t error)
{
    char text[UNIT_SIZE];

    if (error == 0)
        return;
    show_duration(error, text);
    if (error == UINT64_MAX)
        command_say("the offset between the machines' clocks is unknown");
    else
        command_say("the offset between the machines' clocks is known to within %s", text);
}

int placements_see_delays(struct placements *placements, const char *const *names, size_t count,
                          struct problem *problem)
{
    struct communication *communication = NULL;
    struct traces traces;
    int result = traces_open(names, count, NULL, &traces, problem);

    if (result == 0)
        result =
            communication_read_history(traces.history, (uint32_t)count, 0, &communication, problem);
    if (result == 0 && (take(communication, true, &placements->delays.local) < 0 ||
                        take(communication, false, &placements->delays.remote) < 0))
        result = problem_set(problem, -ENOMEM, "out of memory");
    if (result == 0)
        say_clock_error(communication->clock_error);
    communication_free(communication);
    traces_close(&traces);
    return result;
}
