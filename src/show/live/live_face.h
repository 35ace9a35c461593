/* SPDX-License-Identifier: MIT */
/*
 * live_face.h: snapshots as lines of JSON, as metrics, and as words and figures for screens.
 *
 *      struct live_snapshot --+--> {"time": {...}, "interval": {...}, "trace": {...}, "processes": [...] ...}
 *                             +--> dpm_program_cpu_seconds_total{program="redis-server",machine="web1"} 12.5
 *                             '--> redis-server[4711]   87%   98,113/s   message of redis-benchmark[4720]
 */
#ifndef DPM_LIVE_FACE_H
#define DPM_LIVE_FACE_H

#include "live/live.h"
#include "show/show.h"

/* Prints one object and a newline: `time`, `interval` and, if it is to be `whole`, the members of `dpm stats --json`, of each
 * list the first LIVE_ROWS_MOST. `dropped`: lines that the reader was too slow for. The snapshot must be the latest. Returns 0
 * or -ENOMEM; write errors stay in the file. */
int show_live_json(const struct live_snapshot *snapshot, uint64_t dropped, bool whole, FILE *file);

/* What a page needs to know before the first snapshot. */
struct show_about {
    const char *subject;      /* what is looked at; any bytes */
    uint64_t interval;        /* ns */
    double speed;             /* 0: it is no finished trace */
    const char *why;          /* "trace", "record": where answers to "why?" are from */
    const char *not_recorded; /* kinds of connections: "pipe,mq"; "": none that are usual */
};

/* Prints it as one object and a newline, with kinds of waits and values, in words. Returns as above. */
int show_live_about(const struct show_about *about, FILE *file);

/* What the server of metrics counts of itself. */
struct live_served {
    uint64_t scrapes;
    uint64_t dropped; /* connections that ended without an answer: too slow, or cut by the reader */
};

/* Prints all metrics of an engine that counts (live_count), as OpenMetrics 1.0 (`open`), or in the text format 0.0.4 of
 * Prometheus, which has the same names. Returns 0 or -ENOMEM; write errors stay in the file. */
int show_live_metrics(const struct live *live, const struct live_served *served, bool open,
                      FILE *file);

#define LIVE_WAIT_SIZE 128

/* "message of redis-benchmark[4720]", "disk: /var/lib/x", "lock or condition", "no CPU"; "-": next to nothing; "(silent)": nothing that is known yet.
 * Safe to print. */
void show_live_wait(const struct live_wait *wait, char text[LIVE_WAIT_SIZE]);

/* A value as a rate or share of so many ns: "98,113", "87%", "1.2M"; `length` 0: as it is. At most 8 characters. */
#define LIVE_CELL_SIZE 24
void show_live_value(enum live_value value, uint64_t amount, uint64_t length,
                     char text[LIVE_CELL_SIZE]);

/* The same for the change of such a rate per second: "+1,200", "-3". */
void show_live_change(enum live_value value, double change, char text[LIVE_CELL_SIZE]);

/* A name, safe to print, of at most `width` columns: what is too long loses its middle, but not "[4711]" at its end. */
void show_live_name(const char *name, size_t width, char text[LIVE_NAME_SIZE]);

#endif
