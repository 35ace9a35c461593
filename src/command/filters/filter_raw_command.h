/* SPDX-License-Identifier: MIT */
/* filter_raw_command.h: `dpm filter --descriptions FILE RAW -o TRACE`. Private to command/. */
#ifndef DPM_FILTER_RAW_COMMAND_H
#define DPM_FILTER_RAW_COMMAND_H

/* The operand argv[optind] is the file of raw records. `rules` and `output` may be NULL: not given. Returns the exit status. */
int filter_raw_file(int argc, char **argv, const char *descriptions, const char *rules,
                    const char *output);

#endif
