/* SPDX-License-Identifier: MIT */
/* flows.h: what is under way: the SENDs of one direction. See history_types.h. */
#ifndef DPM_FLOWS_H
#define DPM_FLOWS_H

#include "history/history_types.h"

/* Notes a SEND, a SENDCALL, a RECEIVE that was read. Return 0 or -ENOMEM. */
int flows_note_send(struct history *history, struct end *end, struct stream *stream,
                    const struct record *record);
int flows_note_sendcall(struct history *history, struct end *end, struct stream *stream,
                        const struct record *record);
int flows_note_receive(struct history *history, struct end *end, struct stream *stream,
                       const struct record *record);
/* The call has ended, with or without a SEND. */
void flows_close_call(struct history *history, struct stream *stream);

/* It is handed out: RECEIVEs may come. Return 0 or -ENOMEM. */
int flows_hand_out_send(struct history *history, struct end *end, const struct record *record,
                        struct history_event *event);
int flows_hand_out_sendcall(struct history *history, struct end *end, struct stream *stream,
                            const struct record *record, struct history_event *event);

/* The bytes [from, to) that `end` sends have been received. Returns 0 or -ENOMEM. */
int flows_take(struct history *history, struct end *end, uint64_t from, uint64_t to);

/* The datagram of at least so many bytes that is received next, where several have its number: the first that was sent
 * after the one received last, or else the first. NULL: there is none. It may be taken. */
struct sent *flows_next_datagram(const struct end *end, uint64_t position, uint32_t bytes);
/* The RECEIVE of `end`, which is one of a pipe, has been handed out. */
void flows_took(struct end *end, uint64_t position, uint32_t sequence);

/* Frees the RECEIVEs of a pipe's end that count for no other any more, all bytes below `up_to` (in its partner's
 * terms) being received. Returns where the first begins that is left, or may, if that is less. */
uint64_t flows_release_takes(struct history *history, struct end *end, uint64_t up_to);

/* Frees SENDs that are received; those that will not be any more. */
void flows_release(struct history *history, struct end *end);
void flows_drop_old(struct history *history, struct end *end);
void flows_drop_all(struct history *history, struct end *end);
void flows_drop_first(struct history *history, struct end *end);

void end_done(struct end *end);

#endif
