/* SPDX-License-Identifier: MIT */
/* positions.h: where the bytes or messages of a record are, and how certain that is. See history_types.h. */
#ifndef DPM_POSITIONS_H
#define DPM_POSITIONS_H

#include "history/history_types.h"

/* Whether positions of SENDs are counted when the call ends. The ptrace meter sees only calls, so it counts all of
 * them, except for UDP, whose order is in doubt anyway. */
static inline bool is_counted(uint8_t kind, enum meter_kind meter)
{
    return kind != PATH_UDP && (kind != PATH_TCP || meter == METER_PTRACE);
}

/* The same for RECEIVEs. */
static inline bool is_counted_in(uint8_t kind, enum meter_kind meter)
{
    return kind_is_pipe(kind) || kind_is_mq(kind) || (kind != PATH_UDP && meter == METER_PTRACE);
}

/* Whether the position of a SEND or RECEIVE of this end may be wrong. */
static inline bool is_doubtful(const struct end *end, const struct record *record)
{
    return end->may_doubt && (record->header.flags & RECORD_OLDER);
}

static inline uint32_t length_of(uint8_t kind, uint32_t bytes)
{
    return kind_counts_messages(kind) ? 1 : bytes;
}

static inline uint64_t unwrap(uint64_t near, uint32_t offset)
{
    return near + (uint64_t)(int64_t)(int32_t)(offset - (uint32_t)near);
}

/* In bytes, or in messages. */
static inline uint32_t sent_length(const struct end *end, const struct sent *sent)
{
    return length_of(end->kind, sent->bytes);
}

/* Whether everything that these streams began before `time` is known. */
bool streams_are_past(const struct history *history, const struct end *end, const struct who *who,
                      uint32_t count, uint64_t time, bool in_calls);

#endif
