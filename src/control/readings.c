/* SPDX-License-Identifier: MIT */
/* readings.c: analyses that read the same traces more than once. See readings.h. */
#include "control/readings.h"
#include "control/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* They are read to their end: how much was recorded in all of them; which are not whole is said. */
static struct recorded report_losses(const struct trace_names *names, const struct traces *traces)
{
    struct recorded recorded = {.complete = true};

    if (!names->quiet)
        traces_report_losses(traces);
    for (size_t i = 0; i < traces->count; i++) {
        const struct source_state *state = &traces->sources[i]->states[0];
        recorded.lost += state->lost;
        recorded.complete = recorded.complete && source_is_whole(state);
    }
    return recorded;
}

/* ---- parallelism ---- */

int read_parallelism(const struct trace_names *names, struct parallelism_options *options,
                     enum streams streams, struct parallelism_run *run, struct problem *problem)
{
    struct traces traces;
    int result = traces_open(names->at, names->count, &traces, problem);

    run->name = names->at[0];
    options->threads = streams != STREAMS_PROCESSES;
    if (result == 0)
        result = parallelism_read_history(traces.history, options, &run->threads, problem);
    if (result == 0)
        run->recorded = report_losses(names, &traces);
    options->threads = false;
    if (result == 0 && streams == STREAMS_BOTH && parallelism_has_threads(run->threads) &&
        (result = traces_rewind(&traces, problem)) == 0)
        result = parallelism_read_history(traces.history, options, &run->processes, problem);
    traces_close(&traces);
    return result;
}

/* ---- the longest path ---- */

static int take_time(const char *command, const char *option, int64_t *ret_time)
{
    uint64_t time = (uint64_t)*ret_time;
    int status = option_time(command, option, &time);

    *ret_time = (int64_t)time;
    return status;
}

int picture_from(const char *command, struct graph_choice *choice)
{
    return take_time(command, "from", &choice->from);
}

int picture_to(const char *command, struct graph_choice *choice)
{
    return take_time(command, "to", &choice->to);
}

int picture_most(const char *command, struct graph_choice *choice)
{
    uint64_t most = choice->most;
    int status = option_number(command, "most", 1, 1000000, &most);

    choice->most = (size_t)most;
    return status;
}

bool picture_format(const char *file, enum graph_format *ret_format)
{
    static const struct {
        const char *ending;
        enum graph_format format;
    } endings[] = {{".svg", GRAPH_SVG}, {".dot", GRAPH_DOT}, {".gv", GRAPH_DOT}};
    const char *dot = strrchr(file, '.');

    for (size_t i = 0; dot != NULL && i < ARRAY_SIZE(endings); i++)
        if (strcmp(dot, endings[i].ending) == 0) {
            *ret_format = endings[i].format;
            return true;
        }
    return false;
}

int picture_file(const char *command, const char *option, enum graph_format *ret_format)
{
    return picture_format(optarg, ret_format)
               ? -1
               : command_usage_error(command,
                                     "--%s %s: use a file name with the suffix .svg, .dot or .gv",
                                     option, optarg);
}

int path_picture_want(struct path_picture *picture, struct problem *problem)
{
    return identities_new(&picture->identities) < 0 ||
                   history_graph_new(&picture->choice, picture->identities, &picture->graph) < 0
               ? problem_set(problem, -ENOMEM, "out of memory")
               : 0;
}

void path_picture_done(struct path_picture *picture)
{
    history_graph_free(picture->graph);
    identities_free(picture->identities);
}

static int draw_event(void *context, const struct history_event *event, bool critical,
                      uint32_t edge)
{
    struct path_picture *picture = context;
    struct history_event shown = *event;

    if (identities_add(picture->identities, &event->event) < 0)
        return -ENOMEM;
    shown.event.wall_offset = traces_wall_offset(picture->traces, &event->event);
    return critical ? history_graph_add_critical(picture->graph, &shown, edge)
                    : history_graph_add(picture->graph, &shown);
}

int read_path(const struct trace_names *names, struct critical_path_options *options,
              struct path_picture *picture, struct critical_path **ret_path,
              struct recorded *ret_recorded, struct problem *problem)
{
    struct critical_path_reading *reading = NULL;
    struct traces traces;
    int result = traces_open(names->at, names->count, &traces, problem);

    if (picture->graph != NULL) {
        options->sees = draw_event;
        options->context = picture;
    }
    if (result == 0)
        result = critical_path_find(traces.history, options, &reading, problem);
    picture->traces = &traces;
    if (result == 0 && (result = traces_rewind(&traces, problem)) == 0)
        result = critical_path_attribute(reading, traces.history, ret_path, problem);
    if (result == 0)
        *ret_recorded = report_losses(names, &traces);
    critical_path_reading_free(reading);
    traces_close(&traces);
    return result;
}

#define OFFERED 5 /* what-ifs */

int read_longest_path(const struct trace_names *names, struct path_picture *picture,
                      struct critical_path **ret_path, struct problem *problem)
{
    const struct assignment one_each = {.name = "one-each", .kind = ONE_EACH};
    struct critical_path_options options = {
        .parallelism = {.assignments = &one_each, .assignment_count = 1, .threads = true},
        .offered = OFFERED,
    };
    struct recorded recorded;

    return read_path(names, &options, picture, ret_path, &recorded, problem);
}

/* ---- requests ---- */

int read_requests(const struct trace_names *names, struct causality **ret_causality,
                  struct problem *problem)
{
    const struct causality_options options = {0};
    struct traces traces;
    int result = traces_open(names->at, names->count, &traces, problem);

    if (result == 0)
        result = causality_read_history(traces.history, (uint32_t)names->count, &options,
                                        ret_causality, problem);
    traces_close(&traces);
    return result;
}
