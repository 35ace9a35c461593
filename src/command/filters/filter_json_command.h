/* SPDX-License-Identifier: MIT */
/* filter_json_command.h: `dpm filter --to-json`. Private to command/. */
#ifndef DPM_FILTER_JSON_COMMAND_H
#define DPM_FILTER_JSON_COMMAND_H

/* Returns the exit status. */
int filter_to_json(int argc, char **argv);

#endif
