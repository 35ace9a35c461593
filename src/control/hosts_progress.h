/* SPDX-License-Identifier: MIT */
/*
 * hosts_progress.h: a line on the terminal that is written over while a recording on several machines runs. Private
 * to control/.
 *
 *      3 hosts, 14 processes, 224,538 records, 10.3 MiB here
 */
#ifndef DPM_HOSTS_PROGRESS_H
#define DPM_HOSTS_PROGRESS_H

#include "base/base.h"

#include <stdio.h>

struct hosts_progress {
    FILE *file; /* NULL: no terminal */
    bool shown;
    uint64_t last;
};

void hosts_progress_init(struct hosts_progress *progress, FILE *file);

/* Whether it is time for another line. */
bool hosts_progress_due(struct hosts_progress *progress);

void hosts_progress_show(struct hosts_progress *progress, const char *line);

/* Removes the line: call it before anything else is printed. */
void hosts_progress_clear(struct hosts_progress *progress);

#endif
