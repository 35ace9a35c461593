/* SPDX-License-Identifier: MIT */
/* stats_follow.c: see stats_follow.h. */
#include "control/stats_follow.h"

#include "control/report_so_far.h"
#include "show/show.h"

#include <poll.h>

#define FOLLOW_INTERVAL 100 /* ms, where no change is noticed */

struct following {
    struct statistics *statistics;
    struct communication *before;
    uint64_t interval;
    uint64_t next; /* time of the next report */
    uint64_t overtaken;
};

/* A trace that keeps only the newest may have removed records before they were read. */
static void say_overtaken(struct following *following, const struct source *source)
{
    uint64_t overtaken = source->states[0].overtaken;
    char text[COUNTED_SIZE];

    if (overtaken == following->overtaken)
        return;
    show_counted(overtaken - following->overtaken, "record", text);
    fflush(stdout);
    command_say("%s removed before they were read: the trace keeps only the newest", text);
    following->overtaken = overtaken;
}

static int report_if_due(struct following *following, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (following->interval == 0 || now < following->next)
        return 0;
    following->next = now + following->interval;
    int result = report_so_far(following->statistics, 1, &following->before, stdout, problem);
    return result < 0 ? result : command_flush_output(problem);
}

static int wait_for_more(const struct following *following, struct source *source)
{
    struct pollfd file = {.fd = source_descriptor(source), .events = POLLIN};
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    int until = following->interval == 0 ? FOLLOW_INTERVAL : poll_timeout(following->next, now);

    return poll(&file, 1, until < FOLLOW_INTERVAL ? until : FOLLOW_INTERVAL);
}

int stats_follow(const struct traces *traces, struct statistics *statistics, uint64_t interval,
                 struct problem *problem)
{
    const struct analysis analysis = statistics_analysis(statistics);
    struct following following = {.statistics = statistics,
                                  .interval = interval,
                                  .next = clock_now(CLOCK_MONOTONIC) + interval};
    int result;

    while ((result = analyses_read(traces->history, &analysis, 1, problem)) == SOURCE_NONE_YET) {
        say_overtaken(&following, traces->opened[0]);
        result = report_if_due(&following, problem);
        if (result < 0)
            break;
        (void)wait_for_more(&following, traces->opened[0]);
    }
    say_overtaken(&following, traces->opened[0]);
    communication_free(following.before);
    return result < 0 ? result : 0;
}
