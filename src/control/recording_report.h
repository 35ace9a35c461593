/* SPDX-License-Identifier: MIT */
/* recording_report.h: what a recording that has ended says to its user. Private to control/. */
#ifndef DPM_RECORDING_REPORT_H
#define DPM_RECORDING_REPORT_H

#include "control/recording_command.h"

/* Prints what the trace says, and what became of the recording. Returns 0, or a negative errno with a line in
 * `problem`. */
int recording_report(struct recording_command *command, struct problem *problem);

#endif
