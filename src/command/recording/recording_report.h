/* SPDX-License-Identifier: MIT */
/* recording_report.h: the report after a recording has ended. Private to command/. */
#ifndef DPM_RECORDING_REPORT_H
#define DPM_RECORDING_REPORT_H

#include "command/recording/recording_command.h"

/* Reads the trace, and prints the report and how the recording ended. Returns 0, or a negative errno with a line in
 * `problem`. */
int recording_report(struct recording_command *command, struct problem *problem);

/* Prints the report that was read, before the lines that say how the recording ended; writes the page with drawings,
 * after them. Both return 0, or a negative errno with a line in `problem`. */
int recording_report_show(const struct recording_command *command, const struct whole_report *whole,
                          struct problem *problem);
int recording_report_finish(const struct recording_command *command,
                            const struct whole_report *whole, struct problem *problem);

/* The parts that are asked for; else what takes no longer than the user may want to wait, for so many records. */
unsigned recording_report_parts(const struct recording_command_options *options, uint64_t records);

#endif
