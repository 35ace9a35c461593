/* SPDX-License-Identifier: MIT */
/*
 * report_so_far.h: statistics that are shown while their history grows: the whole so far, then the last interval. Private
 * to command/.
 */
#ifndef DPM_REPORT_SO_FAR_H
#define DPM_REPORT_SO_FAR_H

#include "analysis/statistics/statistics.h"

#include <stdio.h>

/* Prints both. `before`: what the last report said, NULL at first; the caller frees it in the end. Returns 0, or a negative
 * errno with a line in `problem`. */
int report_so_far(struct statistics *statistics, uint32_t origins, struct communication **before,
                  FILE *file, struct problem *problem);

#endif
