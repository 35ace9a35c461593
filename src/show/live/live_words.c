/* SPDX-License-Identifier: MIT */
/* live_words.c: what a row says, in words and figures that fit a screen. See live_face.h. */
#include "show/elapsed/elapsed_face.h"
#include "show/live/live_face.h"
#include "show/text/system_call.h"
#include "show/text/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* "message of app[12]"; else "unmonitored peer: 10.0.0.7:5432": it is that peer. */
static bool is_of_peer(enum elapsed_kind kind)
{
    return kind == ELAPSED_IN_FLIGHT || kind == ELAPSED_SPACE;
}

#define LEAST_WAIT 1000000u /* ns */

void show_live_wait(const struct live_wait *wait, char text[LIVE_WAIT_SIZE])
{
    char what[LIVE_WHAT_SIZE + 1], call[UNIT_SIZE] = "";

    if (wait->is_silent || wait->time < LEAST_WAIT) {
        strcpy(text, wait->is_silent ? "(silent)" : "-");
        return;
    }
    show_text(wait->what, strnlen(wait->what, LIVE_WHAT_SIZE), what);
    if (wait->kind == ELAPSED_EVENT && wait->call != NO_SYSTEM_CALL)
        system_call_text(wait->call, call);
    const char *name = wait->kind == ELAPSED_NO_CPU ? "no CPU" : elapsed_wait_name(wait->kind);
    if (what[0] != '\0' && is_of_peer(wait->kind))
        snprintf(text, LIVE_WAIT_SIZE, "%s %s %s", name, wait->kind == ELAPSED_SPACE ? "at" : "of",
                 what);
    else if (what[0] != '\0')
        snprintf(text, LIVE_WAIT_SIZE, "%s: %s", name, what);
    else if (call[0] != '\0')
        snprintf(text, LIVE_WAIT_SIZE, "%s (%s)", name, call);
    else
        snprintf(text, LIVE_WAIT_SIZE, "%s", name);
}

/* "0", "0.3", "12", "1,234", "56.7K", "1.23M" */
static void short_number(double value, double step, char text[LIVE_CELL_SIZE])
{
    static const char units[] = " KMGTPE";
    size_t unit = 0;

    if (value > 0 && value < 9.95 && value != floor(value)) {
        snprintf(text, LIVE_CELL_SIZE, value < 0.05 ? "<0.1" : "%.1f", value);
        return;
    }
    while (value >= (step > 1000 ? step : 10000) && units[unit + 1] != '\0') {
        value /= step;
        unit++;
    }
    if (unit == 0)
        snprintf(text, LIVE_CELL_SIZE, "%.0f", value);
    else
        snprintf(text, LIVE_CELL_SIZE,
                 value < 9.995   ? "%.2f%c"
                 : value < 99.95 ? "%.1f%c"
                                 : "%.0f%c",
                 value, units[unit]);
}

/* With so many digits behind the point, at most: 2, or 1 for what has a sign. */
static void short_time(double ns, int digits, char text[LIVE_CELL_SIZE])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;

    while (ns >= 1000 && unit + 1 < ARRAY_SIZE(units)) {
        ns /= 1000;
        unit++;
    }
    if (ns == 0)
        strcpy(text, "0");
    else if (unit == 3 && ns >= 600)
        snprintf(text, LIVE_CELL_SIZE, "%.0fmin", ns / 60);
    else
        snprintf(text, LIVE_CELL_SIZE, "%.*f%s",
                 ns < 9.995 && digits == 2           ? 2
                 : ns < (digits == 2 ? 99.95 : 9.95) ? 1
                                                     : 0,
                 ns, units[unit]);
}

static void percent(double share, char text[LIVE_CELL_SIZE])
{
    share *= 100;
    snprintf(text, LIVE_CELL_SIZE,
             share == 0     ? "0%%"
             : share < 0.05 ? "<0.1%%"
             : share < 9.95 ? "%.1f%%"
                            : "%.0f%%",
             share);
}

void show_live_value(enum live_value value, uint64_t amount, uint64_t length,
                     char text[LIVE_CELL_SIZE])
{
    const struct live_value_kind *kind = live_value_kind(value);
    double rate = length == 0 ? 0 : (double)amount * 1e9 / (double)length;

    if (kind->unit == LIVE_NS && (kind->is_moment || length == 0) && value != LIVE_SILENT)
        short_time((double)amount, 2, text);
    else if (kind->unit == LIVE_NS)
        percent(length == 0 ? 0 : (double)amount / (double)length, text);
    else
        short_number(kind->is_moment || length == 0 ? (double)amount : rate,
                     kind->unit == LIVE_BYTES ? 1024 : 1000, text);
}

void show_live_change(enum live_value value, double change, char text[LIVE_CELL_SIZE])
{
    const struct live_value_kind *kind = live_value_kind(value);
    char size[LIVE_CELL_SIZE];
    double amount = fabs(change);

    if (kind->unit == LIVE_NS && !kind->is_moment)
        percent(amount / 1e9, size);
    else if (kind->unit == LIVE_NS)
        short_time(amount, 1, size);
    else
        short_number(amount, kind->unit == LIVE_BYTES ? 1024 : 1000, size);
    snprintf(text, LIVE_CELL_SIZE, "%s%.*s",
             change < 0    ? "-"
             : amount == 0 ? ""
                           : "+",
             LIVE_CELL_SIZE - 2, size);
}

static int bytes_of(const char *text, size_t columns)
{
    size_t width;

    return (int)text_fitting(text, columns, &width);
}

void show_live_name(const char *name, size_t width, char text[LIVE_NAME_SIZE])
{
    char safe[LIVE_NAME_SIZE + 1];

    memset(safe, 0, sizeof(safe));
    show_text(name, strnlen(name, LIVE_NAME_SIZE - 1), safe);
    size_t count = text_width(safe);
    const char *end = strrchr(safe, '[');
    size_t tail = end == NULL ? 0 : text_width(end);
    if (count <= width) {
        memcpy(text, safe, LIVE_NAME_SIZE); /* which ends before */
    } else if (end != NULL && tail + 4 <= width) {
        snprintf(text, LIVE_NAME_SIZE, "%.*s..%s", bytes_of(safe, width - tail - 2), safe, end);
    } else {
        snprintf(text, LIVE_NAME_SIZE, "%.*s%s", bytes_of(safe, width > 2 ? width - 2 : width),
                 safe, width > 2 ? ".." : "");
    }
}
