/* SPDX-License-Identifier: MIT */
/* waits.h: waits of streams: receivers for messages, blocked senders for buffer space. Private to statistics/. */
#ifndef DPM_STATISTICS_WAITS_H
#define DPM_STATISTICS_WAITS_H

#include "analysis/statistics/statistics.h"

struct endpoint;
struct statistics;
struct stream;
struct usage;

struct stream_wait {
    uint64_t since; /* by the stream's own clock; 0: it does not wait */
    uint64_t proc_time;
    uint32_t path; /* number; 0: waits for any of several */
    uint32_t out;  /* bytes that a blocked send had written by its latest SENDCALL */
};

/* When the first byte of a SEND entered the queue, ns, by its stream's clock: time - span, unless the call waited for
 * buffer space before it wrote anything into a pipe. To be asked before the SEND is noted. */
uint64_t waits_first_byte(const struct stream *stream, const struct record *record);

/* Notes any record of a stream, which may begin or end a wait. `endpoint`, `usage`: of the path in the record, or NULL. Returns 0
 * or -ENOMEM. */
int waits_note(struct statistics *statistics, struct stream *stream,
               const struct endpoint *endpoint, struct usage *usage, const struct record *record);

#endif
