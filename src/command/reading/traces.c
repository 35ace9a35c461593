/* SPDX-License-Identifier: MIT */
/* traces.c: traces whose history is read. See traces.h. */
#include "command/reading/traces.h"

#include "analysis/analysis.h"
#include "command/reading/lacking.h"
#include "command/shared/command.h"
#include "show/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Two names may lead to the same trace; its records would count twice. */
static int refuse_same(const char *const *names, size_t count, struct problem *problem)
{
    struct intern folders = {0};
    int result = 0;

    for (size_t i = 0; result == 0 && i < count; i++) {
        struct stat status;
        if (stat(names[i], &status) < 0)
            continue; /* trace_open reports why */
        const uint64_t place[] = {status.st_dev, status.st_ino};
        uint32_t others = folders.count;
        int64_t index = intern_add(&folders, hash_bytes(0, place, sizeof(place)));
        if (index < 0)
            result = problem_set(problem, -ENOMEM, "out of memory");
        else if (index < others)
            result = problem_set(problem, -EINVAL, "%s: this trace is given twice; give it once",
                                 names[i]);
    }
    intern_done(&folders);
    return result;
}

/* Times count from the first record of all. */
static int find_begin(const struct traces *traces, int64_t *ret_begin, struct problem *problem)
{
    int64_t begin;

    *ret_begin = INT64_MAX;
    for (size_t i = 0; i < traces->count; i++) {
        int result = selected_source_begin(traces->opened[i], &begin, problem);
        if (result == 0)
            result = trace_rewind(traces->opened[i], problem);
        if (result < 0)
            return result;
        *ret_begin = begin < *ret_begin ? begin : *ret_begin;
    }
    return 0;
}

static int select_parts(struct traces *traces, struct problem *problem)
{
    int64_t begin;
    int result = find_begin(traces, &begin, problem);

    for (size_t i = 0; result == 0 && i < traces->count; i++) {
        result =
            selected_source_new(traces->opened[i], traces->selection, begin, &traces->sources[i]);
        if (result < 0)
            problem_set(problem, result, "out of memory");
    }
    return result;
}

int traces_open(const char *const *names, size_t count, struct selection *selection,
                struct traces *traces, struct problem *problem)
{
    *traces = (struct traces){.names = names, .count = count, .selection = selection};
    traces->opened = calloc(count + 1, sizeof(struct source *));
    traces->sources = calloc(count + 1, sizeof(struct source *));
    if (traces->sources == NULL || traces->opened == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    int refused = refuse_same(names, count, problem);
    if (refused < 0)
        return refused;
    for (size_t i = 0; i < count; i++) {
        int result = trace_open(&names[i], 1, &traces->opened[i], problem);
        if (result < 0)
            return result;
    }
    if (!selection_restricts(selection))
        memcpy(traces->sources, traces->opened, count * sizeof(*traces->sources));
    int selected = selection_restricts(selection) ? select_parts(traces, problem) : 0;
    if (selected < 0)
        return selected;
    return history_new(traces->sources, count, &traces->history, problem);
}

int traces_follow(const char *const *name, struct traces *traces, struct problem *problem)
{
    *traces = (struct traces){.names = name, .count = 1};
    traces->opened = calloc(1, sizeof(struct source *));
    traces->sources = calloc(1, sizeof(struct source *));
    if (traces->sources == NULL || traces->opened == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    int result = trace_follow(*name, &traces->opened[0], problem);
    if (result < 0)
        return result;
    traces->sources[0] = traces->opened[0];
    return history_new(traces->sources, 1, &traces->history, problem);
}

int traces_rewind(struct traces *traces, struct problem *problem)
{
    history_free(traces->count > 1 ? traces->before : traces->history);
    traces->before = traces->count > 1 ? traces->history : NULL;
    traces->history = NULL;
    for (size_t i = 0; i < traces->count; i++) {
        int result = trace_rewind(traces->opened[i], problem);
        if (result < 0)
            return result;
        if (traces->sources[i] != traces->opened[i])
            selected_source_rewind(traces->sources[i]);
    }
    return history_new(traces->sources, traces->count, &traces->history, problem);
}

bool traces_may_have_threads(const struct traces *traces)
{
    struct source *control = NULL;
    struct problem problem;
    struct event event;
    uint64_t complete;
    bool found = false;
    int result = trace_open_control(traces->names, traces->count, &control, &problem);

    while (result >= 0 && !found &&
           (result = control->next(control, &event, &complete, &problem)) == SOURCE_RECORD)
        found = event.header->id == EVENT_STREAM &&
                ((const struct stream_record *)event.header)->process != event.header->stream;
    trace_close(control);
    return found || result < 0;
}

int traces_learn_clocks(struct traces *traces, struct problem *problem)
{
    if (traces->count < 2)
        return 0;
    int result = analyses_read_all(traces->history, NULL, 0, problem);
    return result < 0 ? result : traces_rewind(traces, problem);
}

void traces_close(struct traces *traces)
{
    history_free(traces->history);
    history_free(traces->before);
    for (size_t i = 0; traces->sources != NULL && i < traces->count; i++)
        if (traces->opened == NULL || traces->sources[i] != traces->opened[i])
            selected_source_free(traces->sources[i]);
    for (size_t i = 0; traces->opened != NULL && i < traces->count; i++)
        trace_close(traces->opened[i]);
    free(traces->sources);
    free(traces->opened);
    *traces = (struct traces){0};
}

static void report_count(uint64_t count, const char *one, const char *many, const char *what)
{
    char text[UNIT_SIZE];

    if (count == 0)
        return;
    show_count(count, text);
    command_say("%s %s %s", text, count == 1 ? one : many, what);
}

void traces_report_losses(const struct traces *traces)
{
    for (size_t i = 0; i < traces->count; i++) {
        command_report_state(traces->sources[i], &traces->names[i]);
        report_lacking(traces->history, (uint32_t)i, traces->names[i]);
    }
}

void traces_report_state(const struct traces *traces)
{
    struct history_counts counts;

    traces_report_losses(traces);
    history_counts(traces->history, &counts);
    report_count(counts.unmatched_receives, "receive has", "receives have",
                 "bytes whose send is missing");
    report_count(counts.unmatched_sends, "send was", "sends were",
                 "not received before the recording ended");
}

int64_t traces_wall_offset(const struct traces *traces, const struct event *event)
{
    const struct history *known = traces->before != NULL ? traces->before : traces->history;
    int64_t offset;
    uint64_t error;

    if (event->origin == 0)
        return event->wall_offset;
    history_clock(known, event->origin, event->header->time, &offset, &error);
    if (error == UINT64_MAX)
        return event->wall_offset;
    return (int64_t)((uint64_t)history_wall_offset(traces->history, 0) + (uint64_t)offset);
}

/* ---- their names ---- */

char *trace_names_quoted(const struct trace_names *names)
{
    size_t size = 1;

    for (size_t i = 0; i < names->count; i++)
        size += 4 * strlen(names->at[i]) + 3;
    char *text = malloc(size), *safe = text == NULL ? NULL : malloc(size), *to = text;
    for (size_t i = 0; safe != NULL && i < names->count; i++)
        to = shell_quote(names->at[i], i == 0 ? to : stpcpy(to, " "));
    if (safe != NULL)
        show_text(text, size - 1, safe);
    free(text);
    return safe;
}
