/* SPDX-License-Identifier: MIT */
/* readings_progress.c: how far traces are read. See readings_progress.h. */
#include "command/reading/readings_progress.h"

#include "command/shared/interrupt.h"
#include "show/show.h"
#include "trace/trace.h"

#define EVENTS 16384 /* are read in a few milliseconds */

void readings_progress_init(struct readings_progress *progress, const struct traces *traces,
                            unsigned passes)
{
    *progress = (struct readings_progress){
        .traces = traces, .passes = passes, .begun = clock_now(CLOCK_MONOTONIC)};
    progress_init(&progress->line, stderr);
}

/* Between 0 and 1. */
static double part_read(const struct readings_progress *progress)
{
    uint64_t read = 0, size = 0;

    for (size_t i = 0; i < progress->traces->count; i++) {
        uint64_t own_read, own_size;
        trace_position(progress->traces->opened[i], &own_read, &own_size);
        read += own_read;
        size += own_size;
    }
    double pass = size == 0 ? 1 : (double)read / (double)size;
    return (progress->passed + pass) / progress->passes;
}

static void show_line(struct readings_progress *progress)
{
    double part = part_read(progress);
    double taken = (double)(clock_now(CLOCK_MONOTONIC) - progress->begun);
    char left[UNIT_SIZE], line[80];

    if (part <= 0 || part > 1)
        return;
    show_duration((uint64_t)(taken / part - taken), left);
    snprintf(line, sizeof(line), "reading: %.0f%%, %s left", part * 100, left);
    interrupt_note_progress(true);
    progress_show(&progress->line, line);
}

static int add(void *self, const struct history_event *event, struct problem *problem)
{
    struct readings_progress *progress = self;

    (void)event;
    (void)problem;
    if (++progress->events < EVENTS)
        return 0;
    progress->events = 0;
    if (progress_due(&progress->line))
        show_line(progress);
    return 0;
}

struct analysis readings_progress_analysis(struct readings_progress *progress)
{
    return (struct analysis){"the progress", progress, add};
}

void readings_progress_pass(struct readings_progress *progress)
{
    progress_clear(&progress->line);
    interrupt_note_progress(false);
    progress->passed++;
}
