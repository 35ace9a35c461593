/* SPDX-License-Identifier: MIT */
/*
 * messages.h: counts messages and their sizes. Private to statistics/.
 *
 *      SEND 1000 (stream 1)   SEND 10 (stream 2)   SEND 2000 continued (stream 1)   SEND 7 (stream 1)
 *           open: 1000             open: 10             open: 3000                       a message of 3000
 *
 * The pieces of one call are one message. Its size is known once its stream begins the next one.
 */
#ifndef DPM_MESSAGES_H
#define DPM_MESSAGES_H

#include "analysis/statistics/usage_values.h"

struct endpoint;
struct statistics;
struct usage;

/* A message that may get further pieces. */
struct open_message {
    uint64_t size;   /* bytes so far */
    uint32_t stream; /* its number: several threads of a process may use an endpoint at once */
    uint8_t kind;    /* VALUE_SENT or VALUE_RECEIVED */
    bool any;        /* false: no message is open here */
};

#define OPEN_MOST 16

/* The open messages of a usage. */
struct open_messages {
    struct open_message latest[VALUE_ANSWER]; /* of each kind */
    struct open_aside {                       /* open messages of other streams than the latest */
        uint32_t count;
        uint32_t next; /* once the list is full: the next one to be treated as complete */
        struct open_message list[OPEN_MOST];
    } * aside; /* NULL: only one stream at a time so far */
};

/* These return 0 or -ENOMEM. */

/* Counts a SEND or RECEIVE of a usage of this endpoint. */
int messages_count(struct statistics *statistics, struct endpoint *endpoint, struct usage *usage,
                   const struct history_event *event);

/* Treat open messages, and an answer in progress, as complete: add the sizes and times of those of `from` to the values
 * of `to`; of those of one kind to a histogram. */
int messages_close(struct usage *to, const struct usage *from);
int messages_add_open(const struct usage *usage, enum value_kind kind, struct histogram *histogram,
                      unsigned most);

/* A further piece of a call (RECORD_CONTINUED) only adds bytes to its message. */
static inline void count_message(struct traffic *traffic, const struct record *record)
{
    traffic->bytes += record->message.bytes;
    traffic->messages += (record->header.flags & RECORD_CONTINUED) == 0;
}

#endif
