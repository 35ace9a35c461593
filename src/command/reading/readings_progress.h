/* SPDX-License-Identifier: MIT */
/*
 * readings_progress.h: how far traces are read, on the terminal, as an analysis among the others. Private to command/.
 *
 *      reading: 45%, 3 s left
 */
#ifndef DPM_READINGS_PROGRESS_H
#define DPM_READINGS_PROGRESS_H

#include "analysis/analysis.h"
#include "command/reading/traces.h"
#include "command/shared/progress.h"

struct readings_progress {
    struct progress line;
    const struct traces *traces;
    unsigned passes; /* how often they are read in all ... */
    unsigned passed; /* ... and were read before */
    uint64_t begun;  /* ns */
    uint32_t events; /* since it was last looked at the clock */
};

/* On standard error, if it is a terminal. `traces` must outlive it. */
void readings_progress_init(struct readings_progress *progress, const struct traces *traces,
                            unsigned passes);
struct analysis readings_progress_analysis(struct readings_progress *progress);

/* One reading has ended. Removes the line. */
void readings_progress_pass(struct readings_progress *progress);

#endif
