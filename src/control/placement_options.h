/* SPDX-License-Identifier: MIT */
/* placement_options.h: placements (analysis/parallelism/placements.h) as options of commands ask for them. Private to
 * control/. */
#ifndef DPM_PLACEMENT_OPTIONS_H
#define DPM_PLACEMENT_OPTIONS_H

#include "analysis/parallelism/placements.h"
#include "control/command.h"
#include "show/show.h"

/* Options that several commands share, and what is to be done if one of them was met, or none that
 * a command knows: as in option_number, with what --help and wrong usage return. */
extern const struct command_option placement_options[];
int placements_take(const char *command, int option, struct placements *placements);

/* Has those left out that --without names; `placements` stays where it is as long as `options` are used. */
void placements_leave_out(struct placements *placements, struct parallelism_options *options);

/* Notes on standard error which processes and machines that files speak of are in none of these runs, and who was to be
 * left out and is not there. */
void placements_note_nobody(const struct placements *placements, const struct parallelism_run *runs,
                            size_t count);

/* Delays as traces tell themselves: medians of SEND to MESSAGEQUEUED, within machines and between them; says on
 * standard error what they are. Errors: those of reading the traces. (seen_delays.c) */
int placements_see_delays(struct placements *placements, const char *const *names, size_t count,
                          struct problem *problem);

#endif
