/* SPDX-License-Identifier: MIT */
/* flows.h: what is in flight: the SENDs of one direction. See history_types.h. */
#ifndef DPM_FLOWS_H
#define DPM_FLOWS_H

#include "history/history_types.h"

/* Note a SEND, a SENDCALL or a RECEIVE that was read. Return 0 or -ENOMEM. */
int flows_note_send(struct history *history, struct end *end, struct stream *stream,
                    const struct record *record);
int flows_note_sendcall(struct history *history, struct end *end, struct stream *stream,
                        const struct record *record);
int flows_note_receive(struct history *history, struct end *end, struct stream *stream,
                       const struct record *record);
/* The call has ended, with or without a SEND. */
void flows_close_call(struct history *history, struct stream *stream);

/* Keeps a SEND that another end keeps, too (copies.h). Returns 0 or -ENOMEM. */
int flows_keep_copy(struct history *history, struct end *end, const struct sent *sent);
/* The noted SEND of this record; NULL: it is not kept. */
struct sent *flows_find_noted(const struct end *end, const struct record *record);

/* Hand out a SEND or SENDCALL: RECEIVEs may now refer to it. Return 0 or -ENOMEM. */
int flows_hand_out_send(struct history *history, struct end *end, const struct record *record,
                        struct history_event *event);
int flows_hand_out_sendcall(struct history *history, struct end *end, struct stream *stream,
                            const struct record *record, struct history_event *event);

/* A MESSAGEQUEUED of `end` is handed out: its partner's SENDs that have come whole with it. Returns 0 or -ENOMEM. */
int flows_arrive(struct history *history, struct end *end, const struct record *record);

/* Nothing of a SEND is left to be received, or to come. Returns 0 or -ENOMEM. */
int flows_note_whole(struct history *history, const struct sent *sent);

/* The bytes [from, to) that `end` sends have been received. Returns 0 or -ENOMEM. */
int flows_take(struct history *history, struct end *end, uint64_t from, uint64_t to);

/* The datagram of at least so many bytes that is received next, if several have its number: the first one sent after
 * the one received last, or else the first of all. NULL: none. Taking it is up to the caller. */
struct sent *flows_next_datagram(const struct end *end, uint64_t position, uint32_t bytes);
/* A RECEIVE of `end`, an end of a pipe, has been handed out. */
void flows_took(struct end *end, uint64_t position, uint32_t sequence);

/* Frees the RECEIVEs of a pipe's end that no longer count for the order of others, given that all bytes below `up_to`
 * (in its partner's terms) are received. Returns where the first remaining one begins or may begin, `up_to` at most. */
uint64_t flows_release_takes(struct history *history, struct end *end, uint64_t up_to);

/* flows_release frees received SENDs; the others free SENDs that will not be received any more. */
void flows_release(struct history *history, struct end *end);
void flows_drop_old(struct history *history, struct end *end);
void flows_drop_all(struct history *history, struct end *end);
void flows_drop_first(struct history *history, struct end *end);

void end_done(struct end *end);

#endif
