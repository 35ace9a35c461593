/* SPDX-License-Identifier: MIT */
/*
 * steer_lines.h: decisions of dpm steer, as text, as lines of JSON, and as records. Private to command/.
 *
 *      18.0 s  kept 1: workers of app 2 -> 8
 *              requests/s of load 198 -> 391, +97% (noise 3%)
 */
#ifndef DPM_STEER_LINES_H
#define DPM_STEER_LINES_H

#include "steer/steer.h"

#include <stdio.h>

/* Prints it. Write errors stay in the file. */
void steer_print(const struct steer_policy *policy, const struct steer_machine *machine,
                 const struct steer_decision *decision, bool json, FILE *file);

/* What the loop has done, for its picture. */
struct steer_tally {
    uint64_t records, lost; /* that the meters made, since it began */
    uint64_t slices;        /* that these were reduced to ... */
    uint64_t incomplete;    /* ... of which so many are not measured, as records were lost */
    uint64_t length;        /* ns that they cover */
    uint64_t cpu, real;     /* ns: of CPU time of this program, and that passed */
    uint64_t rested;        /* ns: of these, while the meter rested */
    double goal;            /* its value in the latest slice; NAN: not known */
    size_t machines;
    uint64_t decided[DECISION_OUTCOMES];
};

/* Prints the loop as a picture (thesis, figure 5.9), with these figures. */
void steer_print_loop(const struct steer_policy *policy, const struct steer_tally *tally,
                      FILE *file);

/* As a record, whose time is now. */
void steer_record(const struct steer_policy *policy, const struct steer_machine *machine,
                  const struct steer_decision *decision, struct decision_record *ret_record);

#endif
