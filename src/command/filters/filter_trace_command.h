/* SPDX-License-Identifier: MIT */
/* filter_trace_command.h: `dpm filter --rules FILE TRACE... -o TRACE2`. Private to command/. */
#ifndef DPM_FILTER_TRACE_COMMAND_H
#define DPM_FILTER_TRACE_COMMAND_H

/* The operands from argv[optind] on are traces. Returns the exit status. */
int filter_traces(int argc, char **argv, const char *rules_file, const char *output);

#endif
