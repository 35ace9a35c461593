/* SPDX-License-Identifier: MIT */
/*
 * hosts_session.h: what a later controller has to know of a session: `--attach`. Private to control/.
 *
 *      SESSION'S FOLDER/hosts.json    the hosts, how they are reached, where the copies are; no secret
 */
#ifndef DPM_HOSTS_SESSION_H
#define DPM_HOSTS_SESSION_H

#include "control/hosts_options.h"

struct hosts;

/* Writes it. `command`: "acquire" or "run"; `until`: ns since 1970, 0: no end. Errors have a line in `problem`. */
int hosts_session_store(const struct hosts *hosts, const char *command, uint64_t until,
                        struct problem *problem);

/* Reads what options->attach names: sets the options for several machines, the folder of copies, and *ret_until. Returns
 * -1, or the exit status after an error. */
int hosts_session_load(const char *command, struct hosts_options *options,
                       struct recording_command_options *recorder, uint64_t *ret_until);

#endif
