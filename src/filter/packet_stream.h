/* SPDX-License-Identifier: MIT */
/*
 * packet_stream.h: the stream of packets that a custom filter gets, as events: what include/dpm/stream.h reads.
 */
#ifndef DPM_PACKET_STREAM_H
#define DPM_PACKET_STREAM_H

#include "event/event.h"

struct packet_stream;

/* Reads from this descriptor, which stays open. Returns 0 or -ENOMEM. */
int packet_stream_new(int file, struct packet_stream **ret_stream);
void packet_stream_free(struct packet_stream *stream);

/* Waits for the next record. Returns 1, 0: the stream has ended; or -EBADMSG with a line in `problem`. Records are checked as to
 * their size, not further; they come as they stand in the files, not merged by time. */
int packet_stream_next(struct packet_stream *stream, struct event *ret_event,
                       struct problem *problem);

/* Packets that never came, so far. */
uint64_t packet_stream_missed(const struct packet_stream *stream);

#endif
