/* SPDX-License-Identifier: MIT */
/* progress.c: a line on the terminal that is written over. See progress.h. */
#include "command/shared/progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVERY      500000000ULL /* ns */
#define NOT_BEFORE 1000000000ULL

void progress_init(struct progress *progress, FILE *file)
{
    const char *terminal = getenv("TERM");
    bool dumb = terminal == NULL || strcmp(terminal, "dumb") == 0;

    *progress = (struct progress){
        .file = !dumb && isatty(fileno(file)) ? file : NULL,
        .last = clock_now(CLOCK_MONOTONIC) + NOT_BEFORE - EVERY,
    };
}

bool progress_due(struct progress *progress)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (progress->file == NULL || (int64_t)(now - progress->last) < (int64_t)EVERY)
        return false;
    progress->last = now;
    return true;
}

void progress_show(struct progress *progress, const char *line)
{
    if (progress->file == NULL)
        return;
    fprintf(progress->file, "\r\033[K%s", line);
    fflush(progress->file);
    progress->shown = true;
}

void progress_clear(struct progress *progress)
{
    if (!progress->shown)
        return;
    fputs("\r\033[K", progress->file);
    fflush(progress->file);
    progress->shown = false;
}
