/* SPDX-License-Identifier: MIT */
/*
 * result_file.h: a file of results that is whole, or not there: it is written beside the name and renamed when it is complete.
 *
 *      x.html                    .x.html.4711.part --> written --> renamed to x.html
 *      a link to pages/x.html    pages/.x.html.4711.part --> pages/x.html; the link stays
 *      /dev/stdout, a FIFO ...   written in place
 *
 * An older file stays as it is until then, and keeps its mode and owner. A file is written in place, too, if no other can
 * take its place: its folder may not be written, it is a mount point, or its owner could not be kept.
 */
#ifndef DPM_RESULT_FILE_H
#define DPM_RESULT_FILE_H

#include "base/base.h"

struct result_file {
    char *path;   /* to be opened for writing; it exists already if `target` is set */
    char *target; /* what becomes of it; NULL: written in place */
};

/* Creates the file to be written. Returns 0, or a negative errno: then there is nothing to end. */
int result_file_begin(struct result_file *file, const char *name);

/* After it was written and closed. `result` < 0: that failed, and what was written is removed, unless it is in place. Else it
 * gets its name. Returns `result`, or a negative errno. */
int result_file_end(struct result_file *file, int result);

/* Whether a file could be written now. Nothing is changed. Returns 0 or a negative errno. */
int result_file_check(const char *name);

#endif
