/* SPDX-License-Identifier: MIT */
/*
 * carried.h: what a later file of a trace must say again, because earlier files are removed. Private to trace/.
 *
 *      records of file 0          still valid at its end              first records of file 1
 *      STREAM 1  PATH 5           STREAM 1: CPU time used so far      NAME, STREAM 1
 *      SEND on PATH 5             PATH 5: its next positions          PATH 5
 *      STREAM 2, TERMINATION 2
 *
 * A process that has executed nothing has its creator's command line. It gets a NAME of its own here, since its creator
 * may be gone. Memory: what lives at one time, and what was named since the last file but one.
 */
#ifndef DPM_CARRIED_H
#define DPM_CARRIED_H

#include "event/event.h"

struct carried;

/* Returns 0 or -ENOMEM. Free with carried_free, which accepts NULL. */
int carried_new(struct carried **ret_carried);
void carried_free(struct carried *carried);

/* Notes a record of the trace. Call it for all, in their order. Returns 0 or -ENOMEM. */
int carried_note(struct carried *carried, const struct record_header *header);

/* Bytes and number of the records that carried_each would give now, at most. */
uint64_t carried_bytes(const struct carried *carried);

/* Before a file: forgets names and images that nothing has used since the file before the last. */
void carried_forget(struct carried *carried);

/* Gives all records that are still valid, each with this time, in an order in which names come first. Ends when `give`
 * returns an error, and returns that. */
int carried_each(struct carried *carried, uint64_t time,
                 int (*give)(void *context, const struct record_header *record), void *context);

#endif
