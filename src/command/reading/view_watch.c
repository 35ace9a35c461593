/* SPDX-License-Identifier: MIT */
/* view_watch.c: `dpm view watch`: views over the intervals of traces, or of a command that runs. */
#include "command/reading/view_watch.h"

#include "command/reading/traces.h"
#include "command/reading/view_display.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct watching {
    const struct view_watch_options *options;
    struct view_display *display;
    struct traces traces;
    struct statistics *statistics;
    bool begun, ticked;
    uint64_t last; /* wall clock, ns, of the latest event */
};

/* ---- traces ---- */

static int tick(struct watching *watching, uint64_t time, struct problem *problem)
{
    struct communication *communication = NULL;
    int result =
        statistics_finish(watching->statistics, (uint32_t)watching->traces.count, &communication);

    if (result < 0)
        return problem_set(problem, result, "out of memory");
    result = view_display_tick(watching->display, communication, time, problem);
    communication_free(communication);
    watching->ticked = true;
    return result;
}

/* Figures per second of the rest of an interval, which may be 2 ms, do not compare with those of whole ones. */
static int tick_last(struct watching *watching, struct problem *problem)
{
    uint64_t rest = watching->last - view_display_time(watching->display);

    return watching->ticked && rest < watching->options->every / 2
               ? 0
               : tick(watching, watching->last, problem);
}

/* What came before the event's interval ends with its interval; intervals without events are one. */
static int tick_until(struct watching *watching, uint64_t time, struct problem *problem)
{
    uint64_t every = watching->options->every;
    uint64_t stored = view_display_time(watching->display);
    uint64_t passed = (time - stored) / every;
    int result = 0;

    if (passed > 0)
        result = tick(watching, stored + every, problem);
    if (result == 0 && passed > 1)
        result = tick(watching, stored + passed * every, problem);
    return result;
}

static int add(void *self, const struct history_event *event, struct problem *problem)
{
    struct watching *watching = self;
    const struct event *record = &event->event;
    uint64_t time = record->header->time + (uint64_t)traces_wall_offset(&watching->traces, record);
    int result = 0;

    if (!watching->begun) {
        watching->begun = true;
        watching->last = time;
        view_display_begin(watching->display, time);
    } else if (time > watching->last) {
        watching->last = time;
        result = tick_until(watching, time, problem);
    }
    if (result < 0)
        return result;
    result = statistics_add(watching->statistics, event);
    return result < 0 ? problem_set(problem, result, "out of memory") : 0;
}

static int read_traces(struct watching *watching, const char *const *names, size_t count,
                       struct problem *problem)
{
    const struct analysis analysis = {"views", watching, add};
    int result = traces_open(names, count, NULL, &watching->traces, problem);

    if (result == 0)
        result = traces_learn_clocks(&watching->traces, problem);
    if (result < 0)
        return result;
    result = statistics_new(watching->traces.history, 0, &watching->statistics);
    if (result < 0)
        return problem_set(problem, result, "out of memory");
    result = analyses_read_all(watching->traces.history, &analysis, 1, problem);
    if (result == 0 && watching->begun)
        result = tick_last(watching, problem);
    if (result == 0 && watching->options->save != NULL)
        result = view_model_save(view_display_model(watching->display), watching->options->save,
                                 problem);
    return result;
}

int view_watch_traces(const char *file, const char *const *traces, size_t count,
                      const struct view_watch_options *options)
{
    struct watching watching = {.options = options};
    struct problem problem = {""};
    /* if the reader of the text goes away, the model is saved nevertheless */
    sighandler_t before = options->save == NULL ? SIG_DFL : signal(SIGPIPE, SIG_IGN);
    int result = view_display_new(file, stdout, options->json, &watching.display, &problem);

    if (result == 0)
        result = read_traces(&watching, traces, count, &problem);
    if (options->save != NULL)
        signal(SIGPIPE, before);
    if (result == 0)
        result = command_flush_output(&problem);
    if (result == 0)
        traces_report_losses(&watching.traces);
    statistics_free(watching.statistics);
    traces_close(&watching.traces);
    view_display_free(watching.display);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- a command ---- */

int view_watch_command(const char *file, char *const *words, size_t count,
                       const struct view_watch_options *options)
{
    char every[64];
    const char *before[] = {"run", "--store", "none", "--views", file, "--interval", every, "--"};
    char **arguments = calloc(ARRAY_SIZE(before) + count + 1, sizeof(*arguments));

    if (arguments == NULL)
        return command_error("out of memory");
    snprintf(every, sizeof(every), "%.9fs", (double)options->every / 1e9);
    memcpy(arguments, before, sizeof(before));
    memcpy(arguments + ARRAY_SIZE(before), words, count * sizeof(*words));
    optind = 0; /* getopt begins anew */
    int status = run_command.function((int)(ARRAY_SIZE(before) + count), arguments);
    free(arguments);
    return status;
}
