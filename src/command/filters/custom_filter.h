/* SPDX-License-Identifier: MIT */
/* custom_filter.h: --filter COMMAND: a program of the user's gets the packets of traces. Private to command/. */
#ifndef DPM_CUSTOM_FILTER_H
#define DPM_CUSTOM_FILTER_H

#include "filter/feeding.h"

#include <stdio.h>

/* Starts the command, and hands it the packets of the trace, or none yet: NULL. Returns NULL after saying why it cannot. */
struct feeding *custom_filter_begin(const char *command, const char *trace, FILE *messages);

/* The traces have ended: waits for the filter, at most until a signal arrives at `signals` (a signalfd; -1: none), and says what it
 * took and missed. Returns whether it got everything and ended well. `feeding` may be NULL. */
bool custom_filter_end(struct feeding *feeding, int signals, FILE *messages);

/* `dpm filter --filter COMMAND TRACE...`: the operands from argv[optind] on are traces. Returns the exit status. */
int filter_by_command(int argc, char **argv, const char *command);

#endif
