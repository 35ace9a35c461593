/* SPDX-License-Identifier: MIT */
/*
 * messages.h: counts messages: how many, how large, how long answers take. Private to statistics/.
 *
 *      SEND 1000 (stream 1)   SEND 10 (stream 2)   SEND 2000 continued (stream 1)   SEND 7 (stream 1)
 *           open: 1000             open: 10             open: 3000                       a message of 3000
 *
 * Pieces of one call are one message, whose size is known when its stream begins the next one.
 */
#ifndef DPM_MESSAGES_H
#define DPM_MESSAGES_H

#include "analysis/statistics/usage_values.h"

struct endpoint;
struct statistics;
struct usage;

/* A message of which pieces may still come. */
struct open_message {
    uint64_t size;   /* bytes so far */
    uint32_t stream; /* its number: threads of one process use an endpoint at the same time */
    uint8_t kind;    /* VALUE_SENT or VALUE_RECEIVED */
    bool any;        /* there is one */
};

#define OPEN_MOST 16

/* Of a usage. */
struct open_messages {
    struct open_message latest[VALUE_ANSWER]; /* of each kind */
    struct open_aside {                       /* those of streams before the latest */
        uint32_t count;
        uint32_t next; /* once the list is full: which is taken for complete next */
        struct open_message list[OPEN_MOST];
    } * aside; /* NULL: one stream at a time has used it so far */
};

/* These return 0 or -ENOMEM. */

/* Counts a SEND or RECEIVE of a usage of this endpoint; `when`: it happened, by its origin's clock. */
int messages_count(struct statistics *statistics, struct endpoint *endpoint, struct usage *usage,
                   const struct record *record, uint64_t when);

/* Adds the sizes of messages of `from` that are open, as if they were complete, to the values of `to`; to a histogram,
 * those of a kind. */
int messages_close(struct usage *to, const struct usage *from);
int messages_add_open(const struct usage *usage, enum value_kind kind, struct histogram *histogram,
                      unsigned most);

/* A piece of a call counts as bytes of the same message. */
static inline void count_message(struct traffic *traffic, const struct record *record)
{
    traffic->bytes += record->message.bytes;
    traffic->messages += (record->header.flags & RECORD_CONTINUED) == 0;
}

#endif
