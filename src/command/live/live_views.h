/* SPDX-License-Identifier: MIT */
/*
 * live_views.h: the views that running monitors (dpm view run) evaluate, for dpm top and dpm live. Private to command/.
 *
 *      MONITORS/4711, a socket of each dpm view run of this user --connect--> {"method": "state", "params": {"since": 17}}
 *      live_views_step <-- a line of JSON --> strips                          twice an interval
 *
 * No monitor is waited for: one that does not answer has views of which nothing is known.
 */
#ifndef DPM_LIVE_VIEWS_H
#define DPM_LIVE_VIEWS_H

#include "strips/strips.h"

struct live_views;

/* `where`: the control socket of a monitor; "none"; NULL: all of this user, also those that begin later. `interval`: ns between
 * pictures. Returns 0, or a negative errno with a line in `problem`: nothing listens there. */
int live_views_new(const char *where, uint64_t interval, struct live_views **ret_views,
                   struct problem *problem);
void live_views_free(struct live_views *views); /* NULL is allowed */

/* Readable when there is an answer. */
int live_views_descriptor(const struct live_views *views);

/* Asks, and takes what was answered. Call it when the descriptor is readable, and several times an interval. */
void live_views_step(struct live_views *views);

/* A picture is made: an interval of all strips has ended. */
void live_views_tick(struct live_views *views);

/* What each monitor says, as the page gets it: an array. NULL: out of memory. */
json_t *live_views_json(struct live_views *views);

/* Row 0, 1 ... of all monitors; false: there is no such row. `ret_details` may be NULL. */
bool live_views_row(const struct live_views *views, size_t row, struct strip_cells *ret_cells,
                    char ret_details[STRIPS_DETAILS_SIZE]);

/* What is wrong with a monitor; "": nothing, or there is none. Returns how many monitors there are. */
size_t live_views_warning(const struct live_views *views, char text[STRIPS_DETAILS_SIZE]);

#endif
