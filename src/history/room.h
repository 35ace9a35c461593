/* SPDX-License-Identifier: MIT */
/* room.h: waits that no message ends: for buffer space, for a connection. See history_types.h. */
#ifndef DPM_ROOM_H
#define DPM_ROOM_H

#include "history/history_types.h"

/* Hands out an event of a stream at an end: notes what may end a wait at the other end, and adds the edge to the end of
 * this stream's own wait. Returns 0 or -ENOMEM. */
int room_hand_out(struct history *history, struct end *end, struct stream *stream,
                  const struct record *record, struct history_event *event);
void room_forget(struct history *history, struct end *end);

/* Looks at a RECEIVE of an end of file at the head of its stream, and adds the edge from what ended the file. Returns
 * 1; 0: it must wait for the TERMINATION of a process below *ret_process; or -ENOMEM. */
int room_look_at_end(struct history *history, const struct end *end, struct stream *stream,
                     const struct record *record, bool forced, struct process **ret_process);

#endif
