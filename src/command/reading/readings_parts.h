/* SPDX-License-Identifier: MIT */
/* readings_parts.h: the analyses of a reading, each made for its history, and finished after the last event. Private to
 * readings.c and readings_parts.c. */
#ifndef DPM_READINGS_PARTS_H
#define DPM_READINGS_PARTS_H

#include "command/reading/readings.h"
#include "command/reading/readings_progress.h"

/* In the order in which they are finished. The path comes last: it needs disk space for more files than its copy of the
 * graph. (If it shares its graph with the analysis of threads, that is done with it.) */
enum {
    STATISTICS,
    REQUESTS,
    ELAPSED,
    LANES,
    PAUSES,
    PATTERNS,
    THREADS,
    PROCESSES,
    PATH,
    PART_COUNT
};

/* One analysis in a reading. */
struct part {
    struct analysis analysis; /* its `self` is NULL: not requested */
    /* If it fails, its error is stored here and the others continue; NULL: it must not fail. */
    struct problem *may_fail;
    bool failed;
};

/* Leaves out processes that are not selected, besides those that the command leaves out itself. */
struct selecting {
    struct readings *readings;
    bool (*leaves_out)(void *context, uint32_t origin, const struct stream_record *stream);
    void *context;
};

struct readings {
    const struct analyses_wanted *wanted;
    struct analyses_found *found;
    struct traces traces;    /* all zero: `history` is the caller's */
    struct history *history; /* that is read now */
    uint32_t origins;
    unsigned its_parts;                 /* bits of the parts that it begins, if they are wanted */
    struct readings_progress *progress; /* NULL: another thread shows it */
    struct part parts[PART_COUNT];
    struct statistics *statistics;
    struct parallelism_analysis *threads;
    struct parallelism_analysis *processes;
    struct critical_path_reading *path;
    struct causality_analysis *causality;
    struct elapsed_analysis *elapsed;
    struct lanes_analysis *lanes;
    struct pauses_analysis *pauses;
    struct patterns_analysis *patterns;
    struct critical_path_options path_options;
    bool path_found;
    struct selecting selecting_parallelism, selecting_path;
};

/* What a part's error means for the whole reading: 0 if the others continue. */
int readings_settle(struct part *part, int result, const struct problem *problem);

bool readings_has(const struct readings *readings, unsigned part);

/* Makes those of readings->its_parts that are wanted, for readings->history, of which nothing has been read. */
int readings_begin_parts(struct readings *readings, struct problem *problem);

/* After the last event: makes the results. The path is only found, and needs a second reading. */
int readings_finish_parts(struct readings *readings, struct problem *problem);

/* In command lines of readings->history, if that is wanted. */
void readings_hide_secrets(struct readings *readings);

/* Frees what the parts still hold. */
void readings_forget_parts(struct readings *readings);

#endif
