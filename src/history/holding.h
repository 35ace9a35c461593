/* SPDX-License-Identifier: MIT */
/* holding.h: records that must wait, behind the RECEIVE that holds back their stream. See history_types.h. */
#ifndef DPM_HOLDING_H
#define DPM_HOLDING_H

#include "history/history_types.h"

struct wait; /* receiving.h */

int holding_add(struct history *history, struct stream *stream, const struct event *event);
/* A record with an end but no stream waits until the older held records of the end are handed out. It is queued with
 * the stream that holds these or, if several streams do, with the end. */
int holding_keep(struct history *history, struct end *end, const struct event *event);
/* A held record of `end` is to be handed out: releases older kept ones. Returns whether there were any. */
bool holding_release_older(struct history *history, struct end *end, const struct record *record);
/* A released record, or NULL. It stays in memory until the next one is removed. */
const struct held *holding_take_released(struct history *history);
/* A record that was kept has been handed out. */
void holding_forget_kept(struct history *history, struct end *end);
const struct held *holding_first(const struct history *history, const struct stream *stream);
void holding_remove_first(struct history *history, struct stream *stream);

/* For bytes of an end; NULL: for other records of that origin. */
int holding_wait_bytes(struct history *history, struct stream *stream, struct end *end,
                       const struct wait *wait);
/* For a held WAKEUP. `waker`: the stream to wait for, which may also terminate; or NULL. */
void holding_wait_wakeup(struct history *history, struct stream *stream, struct stream *waker);
/* For a held WRITE, among whose waiters it then is. */
void holding_wait_write(struct history *history, struct stream *stream, struct stream **waiters);
void holding_wait(struct stream *stream, enum waiting what, struct stream **waiters);
/* The stream is to be looked at again. */
void holding_wake(struct history *history, struct stream *stream);
void holding_ready(struct history *history, struct stream *stream);
void holding_wake_origin(struct history *history, struct origin *origin);
void holding_wake_all(struct history *history, struct stream **waiters);
void holding_wake_impatient(struct history *history);
/* Wakes streams whose deadline has passed. */
void holding_progress(struct history *history, struct origin *origin);
struct stream *holding_take_ready(struct history *history);

#endif
