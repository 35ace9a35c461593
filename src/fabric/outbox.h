/* SPDX-License-Identifier: MIT */
/*
 * outbox.h: messages that are to be stored in a stream, kept until the server has acknowledged them. Private to fabric/.
 *
 *      first                             first + count
 *        | STORED  SENT  STORED  SENT  WAITING |            a ring of `window` entries, in the order they were handed over
 *
 * JetStream's acknowledgement is the reply to a message: {"stream": ..., "seq": 17}, or {"error": ...}. Lost ones are those
 * of a connection that broke: then all that is SENT waits again, and the server drops what it has (Nats-Msg-Id). libnats
 * 3.4.1 has an asynchronous publisher, too, which never gives up such a message and does not say which ones are stored.
 *
 * Each entry belongs to a lane. Within a lane that is not open only the oldest entry is sent, so a lane that is never opened
 * keeps the order strictly, and one that is opened by its first acknowledgement begins with its first entry. If lanes open,
 * entries of other lanes do not overtake one that waits for that.
 */
#ifndef DPM_OUTBOX_H
#define DPM_OUTBOX_H

#include "fabric/fabric_internal.h"

#define OUTBOX_LANES 16u

struct outbox;

/* `stream`: for problems. `opens`: whether lanes open. */
int outbox_new(struct fabric *fabric, const char *stream, unsigned window, bool opens,
               struct outbox **ret_outbox);
void outbox_free(struct outbox *outbox);

/* Makes the message, with its reply subject. The caller adds headers, then calls outbox_push, or natsMsg_Destroy. NULL: no
 * memory. */
natsMsg *outbox_message(struct outbox *outbox, const char *subject, const void *bytes, size_t size);

/* Whether there is space for one more. */
bool outbox_has_space(const struct outbox *outbox);

/* Takes over the message that outbox_message made last, and sends it if it may be sent. `place` is copied; may be NULL. */
void outbox_push(struct outbox *outbox, natsMsg *message, unsigned lane,
                 const struct fabric_place *place);

/* Closes a lane, which then begins with the next entry alone. Returns false if entries of it are not stored yet. */
bool outbox_begin_lane(struct outbox *outbox, unsigned lane);

/* Says that what was before this lane's entries is stored up to `place`. */
void outbox_set_stored(struct outbox *outbox, unsigned lane, const struct fabric_place *place);

/* The last place of a lane that is stored together with all before it; NULL: none. */
const struct fabric_place *outbox_stored(const struct outbox *outbox, unsigned lane);

/* How many entries of a lane are not stored yet. */
unsigned outbox_pending(const struct outbox *outbox, unsigned lane);

void outbox_look(const struct outbox *outbox, struct fabric_publisher_state *ret_state);

/* ---- for fabric_next ---- */

/* Handles the reply to entry `number`. Returns 1 if `text` is to be reported: why it was not stored, once for each reason. */
int outbox_reply(struct outbox *outbox, uint64_t number, natsMsg *reply, char text[512]);

/* After a reconnection. */
void outbox_go_back(struct outbox *outbox);

/* Sends what may be sent now. */
void outbox_pump(struct outbox *outbox, uint64_t now);

/* When outbox_pump is to be called at the latest; UINT64_MAX: nothing is due. */
uint64_t outbox_due(const struct outbox *outbox);

struct outbox *outbox_find(struct fabric *fabric, uint64_t id);
struct outbox *outbox_next(const struct outbox *outbox);

#endif
