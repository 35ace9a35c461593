/* SPDX-License-Identifier: MIT */
/* calibrate_listen.h: `dpm calibrate --listen`: the side that echoes. Private to command/. */
#ifndef DPM_CALIBRATE_LISTEN_H
#define DPM_CALIBRATE_LISTEN_H

#include "base/base.h"

/* Answers one peer at a time, until SIGINT or SIGTERM. Returns 0 or a negative errno with a line in `problem`. */
int calibrate_answer(const char *address, struct problem *problem);

#endif
