/* SPDX-License-Identifier: MIT */
/*
 * view_display.h: views over intervals, printed as they change. Private to command/.
 *
 *      statistics --at the end of each interval--> figures --> model --> views --> lines
 */
#ifndef DPM_VIEW_DISPLAY_H
#define DPM_VIEW_DISPLAY_H

#include "analysis/statistics/statistics.h"
#include "view/model.h"

#include <stdio.h>

struct view_display;

/* Reads a file of views. Its lines go to `out`. Returns 0 or a negative errno with a line
 * in `problem`. */
int view_display_new(const char *file, FILE *out, bool json, struct view_display **ret_display,
                     struct problem *problem);
void view_display_free(struct view_display *display);

/* The time, wall clock in ns, at which the first interval begins. */
void view_display_begin(struct view_display *display, uint64_t time);

/* The end of the latest interval. */
uint64_t view_display_time(const struct view_display *display);

/* Ends an interval: evaluates the views with its figures. Does nothing if no time has passed. Returns 0 or a negative
 * errno with a line in `problem`. */
int view_display_tick(struct view_display *display, const struct communication *communication,
                      uint64_t time, struct problem *problem);

/* The entities and values as of the latest interval. */
struct view_model *view_display_model(struct view_display *display);

#endif
