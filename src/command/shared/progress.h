/* SPDX-License-Identifier: MIT */
/*
 * progress.h: a line on the terminal that is written over while something takes longer than a second. Private to command/.
 *
 *      3 hosts, 14 processes, 224,538 records, 10.3 MiB here
 *      reading: 45%, 3 s left
 */
#ifndef DPM_PROGRESS_H
#define DPM_PROGRESS_H

#include "base/base.h"

#include <stdio.h>

struct progress {
    FILE *file; /* NULL: no terminal */
    bool shown;
    uint64_t last;
};

void progress_init(struct progress *progress, FILE *file);

/* Whether it is time for another line. */
bool progress_due(struct progress *progress);

void progress_show(struct progress *progress, const char *line);

/* Removes the line: call it before anything else is printed. */
void progress_clear(struct progress *progress);

#endif
