/* SPDX-License-Identifier: MIT */
/*
 * top_views.h: views of running monitors as lines of dpm top, as top_table.h has those of processes. Private to command/.
 *
 *      VIEW                 STATE        FOR TIMES  IN TIME LAST       VALUES
 *      Long                 active    2.10 s     4   4 of 4 ....##!### size: 17
 */
#ifndef DPM_TOP_VIEWS_H
#define DPM_TOP_VIEWS_H

#include "command/live/live_views.h"
#include "command/live/top_table.h"

void top_views_heading(size_t width, char line[TOP_LINE_SIZE]);
void top_views_line(const struct strip_cells *cells, size_t width, char line[TOP_LINE_SIZE]);

#endif
