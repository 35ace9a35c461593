/* SPDX-License-Identifier: MIT */
/* view_display.c: views over intervals, printed as they change. See view_display.h. */
#include "command/reading/view_display.h"

#include "command/reading/view_line.h"
#include "command/shared/command.h"
#include "view/figures.h"
#include "view/watching.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct view_display {
    FILE *out;
    bool json;
    struct view_file *file;
    struct view_model *model;
    struct view_figures *figures;
    struct view_watch *watch;
    uint64_t begin;
    uint64_t stored; /* up to when the model has figures */
    bool failed;     /* out of memory for a line */
};

static void changed(void *context, const struct view_change *change)
{
    struct view_display *display = context;

    if (view_line_print(display->out, display->json, display->begin, change) < 0)
        display->failed = true;
}

static void note(void *context, const char *line)
{
    (void)context;
    command_say("note: %s", line);
}

/* ---- intervals ---- */

static int prepare(struct view_display *display, const char *file, struct problem *problem)
{
    const struct view_watch_calls calls = {display, changed, note};
    int result = view_read(file, &display->file, problem);

    if (result == 0)
        result = view_model_new(&display->model, problem);
    if (result == 0 && (display->figures = view_figures_new(display->model)) == NULL)
        result = problem_set(problem, -ENOMEM, "out of memory for views");
    return result < 0
               ? result
               : view_watch_new(display->file, display->model, &calls, &display->watch, problem);
}

int view_display_new(const char *file, FILE *out, bool json, struct view_display **ret_display,
                     struct problem *problem)
{
    struct view_display *display = calloc(1, sizeof(*display));

    if (display == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for views");
    display->out = out;
    display->json = json;
    int result = prepare(display, file, problem);
    if (result < 0) {
        view_display_free(display);
        return result;
    }
    *ret_display = display;
    return 0;
}

void view_display_free(struct view_display *display)
{
    if (display == NULL)
        return;
    view_watch_free(display->watch);
    view_figures_free(display->figures);
    view_model_free(display->model);
    view_file_free(display->file);
    free(display);
}

void view_display_begin(struct view_display *display, uint64_t time)
{
    display->begin = display->stored = time;
}

uint64_t view_display_time(const struct view_display *display)
{
    return display->stored;
}

int view_display_tick(struct view_display *display, const struct communication *communication,
                      uint64_t time, struct problem *problem)
{
    if (time <= display->stored)
        return 0;
    int result =
        view_figures_store(display->figures, communication, time, time - display->stored, problem);
    display->stored = time;
    if (result == 0)
        result = view_watch_evaluate(display->watch, time, problem);
    return result == 0 && display->failed ? problem_set(problem, -ENOMEM, "out of memory for views")
                                          : result;
}

struct view_model *view_display_model(struct view_display *display)
{
    return display->model;
}
