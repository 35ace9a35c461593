/* SPDX-License-Identifier: MIT */
/* calibrate_costs.h: `dpm calibrate --costs`: a file of costs for views. Private to command/. */
#ifndef DPM_CALIBRATE_COSTS_H
#define DPM_CALIBRATE_COSTS_H

#include "calibrate/calibrate.h"

#include <stdio.h>

/* Measures, and writes a file of costs (dpm-view(5)); what cannot be measured here is a comment in it. `time`: ns for each
 * length of messages. Returns 0 or a negative errno with a line in `problem`. */
int calibrate_write_costs(FILE *file, const struct calibrate_host *hosts, size_t count,
                          uint64_t time, struct problem *problem);

#endif
