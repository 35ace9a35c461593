/* SPDX-License-Identifier: MIT */
/* streams.h: streams: their creation; when a call began. See history_types.h. */
#ifndef DPM_STREAMS_H
#define DPM_STREAMS_H

#include "history/history_types.h"

/* NULL: out of memory. */
struct stream *streams_find_or_add(struct history *history, uint32_t origin, uint32_t number);
/* NULL: it is not known. */
struct stream *streams_find(const struct history *history, uint32_t origin, uint32_t number);
bool streams_is_known(const struct history *history, uint32_t origin, uint32_t number);
struct stream *stream_who(const struct history *history, struct who who);
static inline struct who who_is(const struct stream *stream)
{
    return (struct who){stream->index, stream->life};
}

/* Note what a record of a stream says of it; a STREAM record. Return 0 or -ENOMEM. */
int streams_note(struct history *history, struct stream *stream, const struct record *record);
/* SCHEDULE is no event of its stream. */
void streams_note_schedule(struct history *history, uint32_t origin, const struct record *record);
int streams_note_identity(struct history *history, uint32_t origin,
                          const struct stream_record *record);

/* The call that this record ends began no earlier than this. To be called before streams_note. */
uint64_t stream_call_began(const struct history *history, const struct stream *stream,
                           const struct record *record);

/* Whether the stream's first event must wait for its CREATEPROCESS. */
bool streams_wait_for_creation(const struct stream *stream);

/* Hands out an event: adds the edges of creation and termination, updates the stream's CPU time, and notes the stream
 * that it creates or terminates. Returns 0 or -ENOMEM. */
int streams_hand_out(struct history *history, struct stream *stream, const struct record *record,
                     struct history_event *event);

/* The stream has ended and nothing of it is held. */
void streams_forget(struct history *history, struct stream *stream);

#endif
