/* SPDX-License-Identifier: MIT */
/* wakeups.h: whose WAKEUP has ended a sleep. See history_types.h. */
#ifndef DPM_WAKEUPS_H
#define DPM_WAKEUPS_H

#include "history/history_types.h"

/* Notes a WAKEUP of this origin. Returns 0 or -ENOMEM. */
int wakeups_note(struct history *history, uint32_t origin, const struct record *record);

/* Whether a stream's record must wait for the WAKEUP that has led to it; *ret_waker is NULL then, or whose end it is. */
bool wakeups_wait(struct history *history, struct stream *stream, const struct record *record,
                  struct stream **ret_waker);

/* A record is handed out: adds the edge from what has ended its stream's sleep; a WAKEUP. Return 0 or -ENOMEM. */
int wakeups_end_sleep(struct history *history, struct stream *stream, const struct record *record);
int wakeups_hand_out(struct history *history, const struct stream *stream,
                     const struct record *record, struct history_event *event);

/* The WAKEUP that this record waits for is taken to be none. */
void wakeups_give_up(struct history *history, struct stream *stream, const struct record *record);

/* The stream is forgotten. */
void wakeups_forget(struct history *history, struct stream *stream);

#endif
