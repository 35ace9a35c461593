/* SPDX-License-Identifier: MIT */
/*
 * symbols.h: names for the program counters of a recording.
 *
 *      record --note--> image --> its file, opened while the process lives
 *                       PC -----> a place (a position in that file), noted once
 *      end of the recording: files, places --next--> MODULE and PROCEDURE records
 *
 * The files are kept open, so that names survive if a program is replaced or removed while it is recorded. They may
 * contain anything. Therefore they are read only at the end, each by a process of its own with limits; a failure there
 * costs only that file's names.
 */
#ifndef DPM_SYMBOLS_H
#define DPM_SYMBOLS_H

#include "event/event.h"

struct symbols;

/* Returns 0 or -ENOMEM. Free with symbols_free, which accepts NULL. */
int symbols_new(struct symbols **ret_symbols);
void symbols_free(struct symbols *symbols);

/* Notes a record of the recording. The address of a lock that a BLOCK is for (NAME_OBJECT, WAIT_ON_LOCK) is noted like a PC:
 * its PROCEDURE has the name of the variable, and there is none if the lock is not in the data of the program. Call it for all records, in their order and soon, while the processes that they
 * refer to are alive. If memory is short, PCs are counted as unnamed. With NULL it does nothing. */
void symbols_note(struct symbols *symbols, const struct record_header *record);

/* Returns the next MODULE or PROCEDURE record to append to the recording, valid until the next call; NULL after the
 * last. Call it after the last record has been noted; the records get that record's time. A MODULE comes before its
 * PROCEDUREs. Takes at most a few seconds per file. */
const struct record_header *symbols_next(struct symbols *symbols);

/* The number of distinct PCs in programs that got no PROCEDURE; *ret_noted is the number that were noted. Reasons: the
 * process and its file were gone, the file could not be read, or there were too many PCs. Final when symbols_next has
 * returned NULL. With NULL both are 0. PCs in libraries are not counted: when a process ends, the addresses of its
 * libraries are lost. */
uint64_t symbols_unnamed(const struct symbols *symbols, uint64_t *ret_noted);

#endif
