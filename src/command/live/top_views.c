/* SPDX-License-Identifier: MIT */
/* top_views.c: see top_views.h. */
#include "command/live/top_views.h"

#include <stdio.h>
#include <string.h>

static size_t past_width(size_t width)
{
    return width < 100 ? 10 : width < 140 ? 20 : STRIPS_PAST;
}

static size_t name_width(size_t width)
{
    return width <= 80 ? 20 : width < 120 ? 20 + (width - 80) / 4 : 30;
}

static void make(const char *name, const char *state, const char *since, const char *times,
                 const char *in_time, const char *past, const char *values, size_t width,
                 char line[TOP_LINE_SIZE])
{
    char named[TOP_LINE_SIZE], made[TOP_LINE_SIZE + 256];

    top_fit(name, name_width(width), true, named);
    snprintf(made, sizeof(made), "%s %-8s %8s %5s %8s %-*s %s", named, state, since, times, in_time,
             (int)past_width(width), past, values);
    top_fit(made, width, false, line);
}

void top_views_heading(size_t width, char line[TOP_LINE_SIZE])
{
    make("VIEW", "STATE", "FOR", "TIMES", "IN TIME", "LAST", "VALUES", width, line);
}

void top_views_line(const struct strip_cells *cells, size_t width, char line[TOP_LINE_SIZE])
{
    size_t kept = strlen(cells->past), most = past_width(width);

    make(cells->name, cells->state, cells->since, cells->times, cells->notified,
         cells->past + (kept > most ? kept - most : 0), cells->values, width, line);
}
