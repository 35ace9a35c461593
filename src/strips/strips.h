/* SPDX-License-Identifier: MIT */
/*
 * strips.h: the views of a running monitor, over time, as displays draw them: each row of a view is a strip.
 *
 *      `state` of a monitor, a line of JSON --strips_take--> the state now, changes --+--strips_json--> for a page
 *                                                                                    '--strips_row---> cells of text
 *
 *      VIEW                 STATE       FOR  TIMES  NOTIFIED  VALUES        LAST INTERVALS
 *      Long                 active   2.1 s      4    4 of 4  size: 17      ....##!###...!##
 *
 * A monitor's answer comes from elsewhere: only what has the form of dpm-view(1), "State of views", is taken.
 */
#ifndef DPM_STRIPS_H
#define DPM_STRIPS_H

#include "base/base.h"

#include <jansson.h>

#define STRIPS_LINE_MOST (8u << 20) /* bytes of an answer */
#define STRIPS_PAST      60         /* intervals */

struct strips;

/* `name`: of the monitor, if there are several. NULL: out of memory. */
struct strips *strips_new(const char *name);
void strips_free(struct strips *strips); /* NULL is allowed */

/* An answer: {"id": ..., "result": {...}}. Returns 0, 1 if more changes wait to be asked for, or a negative errno: -EPROTO, it is not
 * understood, and nothing has changed. */
int strips_take(struct strips *strips, const char *line, size_t size);

/* The monitor does not answer: nothing is known of its views from now on. `why`: in words. */
void strips_lose(struct strips *strips, const char *why);

/* Number of the latest change that is known. */
uint64_t strips_last(const struct strips *strips);

/* An interval has ended. */
void strips_tick(struct strips *strips);

/* The state, and the changes since the call before, as the page gets them: without views, if the monitor was lost before it
 * answered. NULL: out of memory, or nothing is known yet. */
json_t *strips_json(struct strips *strips);

/* ---- as text, safe to print ---- */

#define STRIPS_NAME_SIZE   256
#define STRIPS_VALUES_SIZE 256

struct strip_cells {
    char name[STRIPS_NAME_SIZE];     /* "Busy[redis-server 811]" */
    char state[16];                  /* "active" */
    char since[32];                  /* "2.10 s": for how long */
    char times[32];                  /* how often it became active */
    char notified[32];               /* "4 of 5": in time, of its view's, in the first row; "" */
    char values[STRIPS_VALUES_SIZE]; /* "size: 17"; why it is unknown */
    /* a character for each interval, the latest last: . inactive, # active, + both, ! notified, ? unknown */
    char past[STRIPS_PAST + 1];
    bool is_active, is_unknown;
};

/* Row 0, 1 ...; false: there is no such row. */
bool strips_row(const struct strips *strips, size_t row, struct strip_cells *ret_cells);

#define STRIPS_DETAILS_SIZE 512

/* CORRECT, WITHIN and the plan of the row's view. */
void strips_details(const struct strips *strips, size_t row, char text[STRIPS_DETAILS_SIZE]);

/* What is wrong with the monitor: machines that are late, records that were lost. "": nothing. */
void strips_warning(const struct strips *strips, char text[STRIPS_DETAILS_SIZE]);

#endif
