/* SPDX-License-Identifier: MIT */
/*
 * symbols.h: names for the program counters of a recording.
 *
 *      record --note--> image --> its file, opened while the process lives
 *                       PC -----> a place in that file, noted once
 *      end of the recording: files, places --next--> MODULE and PROCEDURE records
 *
 * The files are kept open, so that names survive a program that is replaced or removed while it is
 * recorded. They may hold anything: they are read at the end only, each by a process of its own
 * with limits, and what goes wrong there costs no more than that file's names.
 */
#ifndef DPM_SYMBOLS_H
#define DPM_SYMBOLS_H

#include "event/event.h"

struct symbols;

/* Returns 0 or -ENOMEM. Free with symbols_free, which accepts NULL. */
int symbols_new(struct symbols **ret_symbols);
void symbols_free(struct symbols *symbols);

/* Shows a record of the recording; all of them must be shown, in their order and soon, while the
 * processes they speak of are alive. What there is no memory for is counted as without a name.
 * NULL: nothing is noted. */
void symbols_note(struct symbols *symbols, const struct record_header *record);

/* The next MODULE or PROCEDURE record to be appended to the recording, valid until the next call;
 * NULL: there are no more. To be called when the last record has been noted, whose time they
 * bear. A MODULE stands before its PROCEDUREs. Takes at most some seconds for each file. */
const struct record_header *symbols_next(struct symbols *symbols);

/* How many different program counters in programs, of how many that were noted, got no PROCEDURE:
 * the process and its file had gone, the file could not be read, or there were too many. Known when
 * symbols_next has returned NULL. Of NULL: none. Those in libraries are not counted: with a process
 * that has ended goes where its libraries were. */
uint64_t symbols_unnamed(const struct symbols *symbols, uint64_t *ret_noted);

#endif
