/* SPDX-License-Identifier: MIT */
/*
 * selecting.h: selection rules between a trace, finished or growing, and the trace of what they accept. Private to
 * filter/.
 *
 *      source --> rules_stage --> trace writer --> output
 */
#ifndef DPM_SELECTING_H
#define DPM_SELECTING_H

#include "filter/filter.h"
#include "trace/trace.h"

/* All zero is one that is closed. */
struct selecting {
    const char *output; /* the trace that is written; owned by the caller */
    struct source *source;
    struct rules_stage *stage;
    struct trace_writer *writer; /* NULL: the source's MACHINE has not come yet */
    uint64_t
        lost_control; /* of the lost records: those of the control ring, as LOST records report */
    uint64_t latest;  /* time of the latest record of the source */
    bool ended;       /* the source, and what the rules removed is counted */
};

/* Selects from `source`, which it then owns, also after an error. The output is created with the first record. Returns 0,
 * or -ENOMEM with a line in `problem`. */
int selecting_open(struct selecting *selecting, struct source *source, const struct rules *rules,
                   const char *output, struct problem *problem);

/* Selects what the source has now. Returns SOURCE_NONE_YET, SOURCE_END, or a negative errno of the source or the writer
 * with a line in `problem`. */
int selecting_step(struct selecting *selecting, struct problem *problem);

/* Selects by other rules from now on; the old ones are not needed any more. Returns 0, or an error with a line in `problem`:
 * out of memory, or of the writer. */
int selecting_change(struct selecting *selecting, const struct rules *rules,
                     struct problem *problem);

/* What has been selected becomes readable. */
int selecting_flush(struct selecting *selecting, struct problem *problem);

/* Ends the output: with the source's END, or, if that has not come, as one that was cut. Returns 0 or the writer's
 * error. */
int selecting_close(struct selecting *selecting, struct problem *problem);

/* The same, but removes the output. */
void selecting_discard(struct selecting *selecting);

#endif
