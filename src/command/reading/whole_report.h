/* SPDX-License-Identifier: MIT */
/*
 * whole_report.h: the report of all analyses, or of some, in one reading: for `dpm report` and at the end of a
 * recording. Private to command/.
 *
 *      TRACE... --+--> statistics ------------------------> the busiest interval
 *                 +--> parallelism                                   |
 *                 +--> critical path: found --> TRACE... --+--> critical path: what it consists of
 *                 +--> where the elapsed time went         '--> picture of that interval
 *                 '--> causality
 */
#ifndef DPM_WHOLE_REPORT_H
#define DPM_WHOLE_REPORT_H

#include "command/reading/readings.h"
#include "command/shared/command.h"
#include "command/shared/placement_options.h"
#include "show/show.h"

/* Bits. The statistics are part of every report. */
enum report_part {
    PART_STATS = 1,
    PART_WHY = 2,
    PART_PATH = 4,
    PART_PARALLELISM = 8,
    PART_CAUSALITY = 16,
    PARTS_ALL = 31,
};

/* The words of --analyses: "stats", ...; NULL after the last. */
const char *report_part_word(size_t index);

/* Parses the argument of --analyses (`optarg`). Returns as option_number does. */
int report_parts_take(const char *command, unsigned *ret_parts);

struct whole_report {
    /* set by the caller: */
    struct trace_names names;
    struct selection *selection; /* or NULL */
    unsigned parts;
    bool draws;          /* also what a page with drawings needs */
    bool json;           /* everything */
    bool shows_secrets;  /* else passwords in command lines are hidden */
    bool goes_on;        /* as in analyses_wanted, as is the next one */
    bool ends_recording; /* it is the report at the end of a recording, which Ctrl-C may skip */
    unsigned threads;
    /* results: */
    struct analyses_found found;
    struct whatif_found changes;
    struct report report; /* points into this struct */
    /* ours: */
    struct placements placements;
    struct parallelism_options options;
    struct parallelism_runs runs;
    struct picture picture;
    char *traces;   /* names, quoted; NULL: there is no trace */
    char times[64]; /* as options */
    char *interrupted;
    struct analyses_wanted wanted;
    struct readings *readings; /* of a recording that runs */
};

/* Reads the traces. Returns 0 or a negative errno with a line in `problem`. Call whole_report_done in any case. */
int whole_report_read(struct whole_report *whole, struct problem *problem);

/* The same of a recording while it runs, without a trace (readings.h): begin before the first event, feed
 * whole->readings, end after the last event, of so many origins. A critical path needs a second reading: there is none. */
int whole_report_begin(struct whole_report *whole, struct history *history,
                       struct problem *problem);
int whole_report_end(struct whole_report *whole, uint32_t origins, struct problem *problem);

/* Writes the report as a page with drawings; "-" is standard output. */
int whole_report_write_html(const struct whole_report *whole, const char *file,
                            struct problem *problem);
void whole_report_done(struct whole_report *whole);

#endif
