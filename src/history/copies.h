/* SPDX-License-Identifier: MIT */
/*
 * copies.h: messages that several sockets receive: multicast and broadcast.
 *
 *      sender  10.0.0.1:4000 > 239.1.2.3:5007  <--joined--> receiver 239.1.2.3:5007 > 10.0.0.1:4000
 *        | copy                                <--joined--> receiver, another socket with the same addresses
 *        | copy, the spare                                  (joins the next one)
 *
 * A copy is an end like any other, with SENDs in flight of its own, so that each receiver takes them independently. Edges
 * from it are edges from the sender's events. What a copy's receiver does not take is not counted: it may have begun
 * to listen later.
 */
#ifndef DPM_COPIES_H
#define DPM_COPIES_H

#include "history/history_types.h"

/* Whether what this end sends goes to several receivers, as far as its address or record says. */
bool copies_may_exist(const struct end *end);

/* A new copy, with all SENDs that are in flight, for a further receiver. NULL: out of memory. */
struct end *copies_add(struct history *history, struct end *end);

/* The end of which it is a copy; NULL: that one has been forgotten. For an end that is no copy: itself. */
struct end *copies_original(struct end *end);

/* The same as of flows.h, for all copies of an end. Return 0 or -ENOMEM. */
int copies_note_send(struct history *history, struct end *end, struct stream *stream,
                     const struct record *record);
/* `value`: where the original's value is kept; 0: nowhere. */
int copies_hand_out_send(struct history *history, struct end *end, const struct record *record,
                         uint32_t value, struct history_event *event);

/* Receivers of copies may go on. */
void copies_wake(struct history *history, struct end *end);

/* The original is closed, or forgotten: the first settles its copies, too. */
void copies_note_destroyed(struct history *history, struct end *end);
void copies_forget(struct end *end);

#endif
