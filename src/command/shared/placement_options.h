/* SPDX-License-Identifier: MIT */
/* placement_options.h: command-line options for placements (analysis/parallelism/placements.h). Private to command/. */
#ifndef DPM_PLACEMENT_OPTIONS_H
#define DPM_PLACEMENT_OPTIONS_H

#include "analysis/parallelism/placements.h"
#include "command/shared/command.h"
#include "show/show.h"

/* Options that several commands share, and the function for all options that a command does not handle itself, --help
 * and wrong ones included. Returns as option_number does. */
extern const struct command_option placement_options[];
int placements_take(const char *command, int option, struct placements *placements);

/* Leaves out the processes that --without names. `placements` must stay at its address while `options` is used. */
void placements_leave_out(struct placements *placements, struct parallelism_options *options);

/* Notes on standard error the processes and machines that option files name but no run contains, and the processes of
 * --without that are not there. */
void placements_note_nobody(const struct placements *placements, const struct parallelism_run *runs,
                            size_t count);

/* Takes the delays from the traces: median times from SEND to MESSAGEQUEUED, within machines and between them. Prints
 * them on standard error. Errors: those of reading the traces. (seen_delays.c) */
int placements_see_delays(struct placements *placements, const char *const *names, size_t count,
                          struct problem *problem);

#endif
