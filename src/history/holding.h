/* SPDX-License-Identifier: MIT */
/* holding.h: records that must wait, behind the RECEIVE that holds back their stream. See history_types.h. */
#ifndef DPM_HOLDING_H
#define DPM_HOLDING_H

#include "history/history_types.h"

struct wait; /* receiving.h */

int holding_add(struct history *history, struct stream *stream, const struct event *event);
/* A record of an end and no stream waits until what is held of the end from before is handed out: among the records of the
 * stream whose these are, or, if they are several streams', with the end. */
int holding_keep(struct history *history, struct end *end, const struct event *event);
/* The held record of `end` is to be handed out: kept ones that are older are released. Whether there were any. */
bool holding_release_older(struct history *history, struct end *end, const struct record *record);
/* A released one, or NULL. It stays where it is until the next one is removed. */
const struct held *holding_take_released(struct history *history);
const struct held *holding_first(const struct history *history, const struct stream *stream);
void holding_remove_first(struct history *history, struct stream *stream);

int holding_wait_bytes(struct history *history, struct stream *stream, struct end *end,
                       const struct wait *wait);
/* For a WAKEUP that is held; `waker`: or for his end, else NULL. */
void holding_wait_wakeup(struct history *history, struct stream *stream, struct stream *waker);
void holding_wait(struct stream *stream, enum waiting what, struct stream **waiters);
/* To be looked at again. */
void holding_wake(struct history *history, struct stream *stream);
void holding_ready(struct history *history, struct stream *stream);
void holding_wake_origin(struct history *history, struct origin *origin);
void holding_wake_all(struct history *history, struct stream **waiters);
void holding_wake_impatient(struct history *history);
/* Streams whose deadline has passed. */
void holding_progress(struct history *history, struct origin *origin);
struct stream *holding_take_ready(struct history *history);

#endif
