/* SPDX-License-Identifier: MIT */
/* wakeups.h: which WAKEUP ended a sleep. See history_types.h. */
#ifndef DPM_WAKEUPS_H
#define DPM_WAKEUPS_H

#include "history/history_types.h"

/* Notes a WAKEUP of this origin. Returns 0 or -ENOMEM. */
int wakeups_note(struct history *history, uint32_t origin, const struct record *record);

/* Whether a stream's record must wait for a WAKEUP that led to it. *ret_waker: the stream whose termination is
 * awaited; NULL: none. */
bool wakeups_wait(struct history *history, struct stream *stream, const struct record *record,
                  struct stream **ret_waker);

/* Whether a WAKEUP shows which stream ended the sleep before this record. *ret_by_end: that stream's last event, if it did
 * so after its own TERMINATION; NULL: it did not, or its events are no longer known. */
bool wakeups_show_end(struct history *history, struct stream *stream, const struct record *record,
                      const struct beginning **ret_by_end);

/* Hand out a record, adding the edges from what ended its stream's sleeps; or a WAKEUP. Return 0 or -ENOMEM. */
int wakeups_end_sleep(struct history *history, struct stream *stream, const struct record *record);
int wakeups_hand_out(struct history *history, const struct stream *stream,
                     const struct record *record, struct history_event *event);

/* The first awaited WAKEUP of those that led to this record is ignored, so that it does not wait for that. */
void wakeups_give_up(struct history *history, struct stream *stream, const struct record *record);

/* The stream is forgotten. */
void wakeups_forget(struct history *history, struct stream *stream);

#endif
