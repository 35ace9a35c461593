/* SPDX-License-Identifier: MIT */
/* room.h: a wait that no message ends: for room, for a connection. See history_types.h. */
#ifndef DPM_ROOM_H
#define DPM_ROOM_H

#include "history/history_types.h"

/* An event of a stream at one end is handed out: notes what may end a wait at the other end, and adds the edge to
 * the end of this one's. Returns 0 or -ENOMEM. */
int room_hand_out(struct history *history, struct end *end, struct stream *stream,
                  const struct record *record, struct history_event *event);
void room_forget(struct history *history, struct end *end);

/* The RECEIVE of an end of file is at the head of its stream: adds the edge from what ended the file. 0: it must wait,
 * for the TERMINATION of a process below *ret_process; 1, or -ENOMEM. */
int room_look_at_end(struct history *history, const struct end *end, const struct stream *stream,
                     const struct record *record, bool forced, struct process **ret_process);

#endif
