/* SPDX-License-Identifier: MIT */
/* parallelism_face.h: tables and JSON of the parallelism of a computation. Private to show/. */
#ifndef DPM_PARALLELISM_FACE_H
#define DPM_PARALLELISM_FACE_H

#include "show/show.h"

int show_parallelism_tables(const struct parallelism_runs *runs, FILE *file,
                            const struct show_options *options);
int show_parallelism_json(const struct parallelism_runs *runs, FILE *file);

/* The run with the median P of a row. `processes`: each process is one stream. */
const struct parallelism *parallelism_median(const struct parallelism_runs *runs, size_t row,
                                             bool processes);

/* Least, median and greatest P of all runs. */
struct spread {
    double least, median, greatest;
};
struct spread parallelism_spread(const struct parallelism_runs *runs, size_t row, bool processes);

/* For print_selection. */
#define PARALLELISM_WITHOUT_EVENTS                                                                 \
    "a wait for a message that they removed counts as one for something outside, so P and the "    \
    "critical path are not those of the whole run."

#endif
