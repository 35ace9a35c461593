/* SPDX-License-Identifier: MIT */
/* stats_follow.c: see stats_follow.h. */
#include "command/stats_follow.h"

#include "command/live/live_feed.h"
#include "command/reading/report_so_far.h"
#include "command/shared/json_lines.h"
#include "show/show.h"

#include <errno.h>
#include <poll.h>

#define FOLLOW_INTERVAL 100  /* ms, where no change is noticed */
#define LOOK_EACH       1024 /* events, between looks at the clock */

struct following {
    struct statistics *statistics;
    struct live *live; /* in its place: for lines of JSON */
    struct json_lines lines;
    struct communication *before;
    uint64_t interval;
    uint64_t next; /* time of the next report */
    uint64_t overtaken;
    unsigned events; /* since the last look at the clock */
};

/* A trace that keeps only the newest may have removed records before they were read. */
static void say_overtaken(struct following *following, struct source *source)
{
    char text[REMOVED_TEXT_SIZE];

    if (!command_overtaken_text(&source, 1, &following->overtaken, text))
        return;
    fflush(stdout);
    command_say("%s", text);
}

static int print_line(struct following *following, bool last, struct problem *problem)
{
    int result = live_take(following->live, 1, 0, last);

    if (result == 0)
        result = json_lines_add(&following->lines, live_snapshot(following->live, 0));
    return result < 0 ? problem_set(problem, result, "out of memory for the lines of JSON") : 0;
}

static int report_if_due(struct following *following, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (following->interval == 0 || now < following->next)
        return 0;
    following->next = now + following->interval;
    if (following->live != NULL)
        return print_line(following, false, problem);
    int result = report_so_far(following->statistics, 1, &following->before, stdout, problem);
    return result < 0 ? result : command_flush_output(problem);
}

/* As an analysis behind the others: reports come also while more is written than is read. */
static int report_between(void *self, const struct history_event *event, struct problem *problem)
{
    struct following *following = self;

    (void)event;
    if (following->events++ < LOOK_EACH)
        return 0;
    following->events = 0;
    return report_if_due(following, problem);
}

static int wait_for_more(const struct following *following, struct source *source)
{
    struct pollfd file = {.fd = source_descriptor(source), .events = POLLIN};
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    int until = following->interval == 0 ? FOLLOW_INTERVAL : poll_timeout(following->next, now);

    return poll(&file, 1, until < FOLLOW_INTERVAL ? until : FOLLOW_INTERVAL);
}

static int follow(struct following *following, const struct traces *traces,
                  const struct analysis *analysis, struct problem *problem)
{
    const struct analysis analyses[] = {*analysis, {"the reports", following, report_between}};
    int result;

    while ((result = analyses_read(traces->history, analyses, ARRAY_SIZE(analyses), problem)) ==
           SOURCE_NONE_YET) {
        say_overtaken(following, traces->opened[0]);
        result = report_if_due(following, problem);
        if (result < 0)
            break;
        json_lines_flush(&following->lines);
        if (following->lines.gone)
            break;
        (void)wait_for_more(following, traces->opened[0]);
    }
    say_overtaken(following, traces->opened[0]);
    return result;
}

int stats_follow(const struct traces *traces, struct statistics *statistics, uint64_t interval,
                 struct problem *problem)
{
    const struct analysis analysis = statistics_analysis(statistics);
    struct following following = {.statistics = statistics,
                                  .interval = interval,
                                  .next = clock_now(CLOCK_MONOTONIC) + interval};
    int result = follow(&following, traces, &analysis, problem);

    communication_free(following.before);
    return result < 0 ? result : 0;
}

#define READER_PATIENCE 2000000000u /* ns */

int stats_follow_lines(const struct traces *traces, uint64_t interval, struct problem *problem)
{
    struct following following = {.interval = interval,
                                  .next = clock_now(CLOCK_MONOTONIC) + interval};
    int result = json_lines_open(&following.lines, NULL, problem);

    if (result == 0 && live_new(traces->history, &following.live) < 0)
        result = problem_set(problem, -ENOMEM, "out of memory for the lines of JSON");
    if (result == 0) {
        const struct analysis analysis = live_analysis(following.live);
        result = follow(&following, traces, &analysis, problem);
    }
    if (result >= 0) {
        history_finish(traces->history);
        result = print_line(&following, true, problem);
    }
    struct problem of_lines;
    int closed = json_lines_close(&following.lines, READER_PATIENCE, &of_lines);
    live_free(following.live);
    if (result >= 0 && closed < 0)
        *problem = of_lines;
    return result < 0 ? result : closed;
}

int stats_lines(const char *const *names, size_t count, uint64_t interval, struct problem *problem)
{
    const struct live_feed_options options = {
        .interval = interval, .traces = names, .trace_count = count, .stop = -1};
    struct live_feed feed;
    struct json_lines lines;
    int result = json_lines_open(&lines, NULL, problem), opened = result;

    if (result == 0)
        opened = result = live_feed_open(&feed, &options, problem);
    while (result >= 0 && !feed.ended && !lines.gone) {
        result = live_feed_step(&feed, problem);
        if (result > 0 && json_lines_add(&lines, live_snapshot(feed.live, 0)) < 0)
            result = problem_set(problem, -ENOMEM, "out of memory for the lines of JSON");
        json_lines_wait(&lines);
    }
    struct problem of_lines;
    int closed = json_lines_close(&lines, 0, &of_lines);
    if (opened == 0)
        live_feed_close(&feed);
    if (result >= 0 && closed < 0)
        *problem = of_lines;
    return result < 0 ? result : closed;
}
