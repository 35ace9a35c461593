/* SPDX-License-Identifier: MIT */
/* recording_report.h: the report after a recording has ended. Private to control/. */
#ifndef DPM_RECORDING_REPORT_H
#define DPM_RECORDING_REPORT_H

#include "control/recording_command.h"

/* Reads the trace, and prints the report and how the recording ended. Returns 0, or a negative errno with a line in
 * `problem`. */
int recording_report(struct recording_command *command, struct problem *problem);

#endif
