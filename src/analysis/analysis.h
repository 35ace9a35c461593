/* SPDX-License-Identifier: MIT */
/*
 * analysis.h: reads a history once for any number of analyses.
 *
 *      sources --> history --> analyses_read --+--> statistics     add(event)
 *                                              +--> parallelism    add(event)
 *                                              '--> causality      add(event) ...
 *
 * An analysis is made for a history from which nothing has been read, and announces what it needs there
 * (history_keep_values). It gives its result after the last event; statistics can also be read in between. The sources
 * may be finished traces or live ones.
 */
#ifndef DPM_ANALYSIS_H
#define DPM_ANALYSIS_H

#include "history/history.h"

struct analysis {
    const char *name; /* "the communication statistics": for errors */
    void *self;
    /* Processes the next event. Returns 0, -ENOMEM, or another negative errno with a line in `problem`. After an error
     * the analysis can only be freed. */
    int (*add)(void *self, const struct history_event *event, struct problem *problem);
};

/* Hands one event to one analysis. Like its `add`, but with a line in `problem` also for -ENOMEM. */
int analysis_add(const struct analysis *analysis, const struct history_event *event,
                 struct problem *problem);

/* Reads the history as far as it goes now, and hands each event to every analysis, in their order. Returns SOURCE_END;
 * SOURCE_NONE_YET: live sources, call again later; or a negative errno with a line in `problem` (of the history or an
 * analysis). */
int analyses_read(struct history *history, const struct analysis *analyses, size_t count,
                  struct problem *problem);

/* The same for sources that have ended; -EAGAIN, with a line in `problem`, if one has not. Returns 0 or a negative
 * errno. */
int analyses_read_all(struct history *history, const struct analysis *analyses, size_t count,
                      struct problem *problem);

#endif
