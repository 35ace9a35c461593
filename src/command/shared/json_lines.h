/* SPDX-License-Identifier: MIT */
/*
 * json_lines.h: lines for a reader that may be slow: it is never waited for. Private to command/.
 *
 *      snapshot --> line --json_lines_add--> queue of at most 4 MiB --> file, pipe
 *                              '--> full: the line is dropped, and counted in the next one
 */
#ifndef DPM_JSON_LINES_H
#define DPM_JSON_LINES_H

#include "command/shared/command.h"

#include "live/live.h"

struct json_lines {
    int file;
    bool regular; /* a file on a disk takes all at once */
    bool gone;    /* the reader has closed it, or it cannot be written: */
    int error;    /* errno, but not that of a reader that has gone; 0: none */
    const char *name;
    char *queue;
    size_t begin, end, room;
    uint64_t dropped; /* lines */
};

/* To a file of this name, which must last, or, if it is NULL, to standard output. Returns 0, or a negative errno with a line in `problem`.
 * Call json_lines_close in any case. */
int json_lines_open(struct json_lines *lines, const char *name, struct problem *problem);

/* Adds a line, unless its reader is too slow. Returns 0 or -ENOMEM. */
int json_lines_put(struct json_lines *lines, const char *text, size_t size);

/* Whether the reader has taken all lines; and whether it has gone. */
bool json_lines_taken(const struct json_lines *lines);
bool json_lines_abandoned(struct json_lines *lines);

/* Adds the latest snapshot. Returns 0 or -ENOMEM. */
int json_lines_add(struct json_lines *lines, const struct live_snapshot *snapshot);

/* Writes what the reader takes now. */
void json_lines_flush(struct json_lines *lines);

/* Writes all that waits, however long the reader takes: where nothing else goes on meanwhile. */
void json_lines_wait(struct json_lines *lines);

/* Writes the rest, but waits at most so many ns for the reader, and says how many lines it has missed. Returns 0, also if the
 * reader has gone; or, if something could not be written, a negative errno with a line in `problem`. */
int json_lines_close(struct json_lines *lines, uint64_t patience, struct problem *problem);

#endif
