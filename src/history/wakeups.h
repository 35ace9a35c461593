/* SPDX-License-Identifier: MIT */
/* wakeups.h: which WAKEUP ended a sleep. See history_types.h. */
#ifndef DPM_WAKEUPS_H
#define DPM_WAKEUPS_H

#include "history/history_types.h"

/* Notes a WAKEUP of this origin. Returns 0 or -ENOMEM. */
int wakeups_note(struct history *history, uint32_t origin, const struct record *record);

/* Whether a stream's record must wait for the WAKEUP that led to it. *ret_waker: the stream whose termination is
 * awaited; NULL: none. */
bool wakeups_wait(struct history *history, struct stream *stream, const struct record *record,
                  struct stream **ret_waker);

/* The last event of the stream that ended this sleep after its own TERMINATION. NULL: none did, or it is no longer
 * known. */
const struct beginning *wakeups_by_end(struct history *history, struct stream *stream,
                                       const struct record *record);

/* Hand out a record, adding the edge from what ended its stream's sleep; or a WAKEUP. Return 0 or -ENOMEM. */
int wakeups_end_sleep(struct history *history, struct stream *stream, const struct record *record);
int wakeups_hand_out(struct history *history, const struct stream *stream,
                     const struct record *record, struct history_event *event);

/* The WAKEUP that this record waits for is ignored. */
void wakeups_give_up(struct history *history, struct stream *stream, const struct record *record);

/* The stream is forgotten. */
void wakeups_forget(struct history *history, struct stream *stream);

#endif
