/* SPDX-License-Identifier: MIT */
/*
 * hosts_kept.h: what is kept of a recording on several machines, for `--attach` and for `dpm job --attach`, which sees a job called
 * main. See conduct/session_kept.h. Private to command/.
 */
#ifndef DPM_HOSTS_KEPT_H
#define DPM_HOSTS_KEPT_H

#include "command/hosts/hosts_options.h"

#include "conduct/session_kept.h"

struct hosts;

/* Stores it. Errors have a line in `problem`. */
int hosts_keep(struct hosts *hosts, struct problem *problem);

/* Stores what has changed, now and then. */
void hosts_keep_step(struct hosts *hosts);

/* Reads what options->attach names: sets the options for several machines, the folder of copies, and *ret_until. Returns
 * -1, or the exit status after an error. */
int hosts_kept_load(const char *command, struct hosts_options *options,
                    struct recording_command_options *recorder, uint64_t *ret_until);

/* Then, when the hosts are there: which notes were said, and the filter of the earlier controller. */
void hosts_kept_take(struct hosts *hosts);

#endif
