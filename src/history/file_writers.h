/* SPDX-License-Identifier: MIT */
/* file_writers.h: which WRITEs of other processes a READ finds in its file. See history_types.h. */
#ifndef DPM_FILE_WRITERS_H
#define DPM_FILE_WRITERS_H

#include "history/history_types.h"

static inline bool is_of_file(const struct record *record)
{
    return record->header.id == EVENT_READ || record->header.id == EVENT_WRITE ||
           record->header.id == EVENT_CREATEPATH;
}

/* Notes a READ, a WRITE, or a CREATEPATH that has emptied its file, in the order of the origin's clock. Does nothing if the
 * path is no file. Returns 0 or -ENOMEM. */
int file_writers_note(struct history *history, const struct stream *stream,
                      const struct record *record);

/* Whether a READ must wait for a WRITE that is held: the stream then joins *ret_waiters. */
bool file_writers_wait(struct history *history, const struct stream *stream,
                       const struct record *record, struct stream ***ret_waiters);

/* The READ no longer waits for what is held. Returns whether it did. */
bool file_writers_give_up(struct history *history, const struct stream *stream,
                          const struct record *record);

/* Hand out a WRITE, at which edges may begin from now on; or a READ, adding its edges. Return 0 or -ENOMEM. */
int file_writers_hand_out_write(struct history *history, const struct stream *stream,
                                const struct record *record, struct history_event *event);
int file_writers_hand_out_read(struct history *history, const struct stream *stream,
                               const struct record *record);

void file_writers_free(struct file_writers *writers);

#endif
