/* SPDX-License-Identifier: MIT */
/*
 * queues.h: messages on their way to an end of a path and in its queue. Private to statistics/.
 *
 *      SEND, MESSAGEQUEUED, RECEIVE --queues.c--> which message comes, is in the queue, is taken
 *                                                    |              waits --messages.c--> values of the receiver's use
 *                                                    '--queue_lengths.c--> how long the queue is, and all of a process
 *      numbers of datagrams  --duplicates.c--> received before?
 */
#ifndef DPM_QUEUES_H
#define DPM_QUEUES_H

#include "analysis/statistics/statistics_private.h"

/* A message on its way to the other end of a path, or in its queue. */
struct queue_message {
    uint64_t sent;        /* 0: by somebody who is not metered */
    uint64_t queued : 63; /* 0: not yet, as far as is known */
    uint64_t told : 1;    /* MESSAGEQUEUED has told when; else it is said to be when it was sent */
    uint32_t end;         /* position after it */
    uint32_t bytes;
};

#define NUMBERS_SEEN 1024

/* Which datagrams were received lately: duplicates.c. */
struct numbers_seen {
    uint64_t bits[NUMBERS_SEEN / 64];
    uint32_t highest;
    uint32_t last; /* received */
    bool any;
};

struct queue_arrival {
    uint64_t time;
    uint32_t end; /* up to this position */
};

/* What few queues need. */
struct queue_rest {
    struct queue_arrival *arrivals; /* of what no SEND has told yet */
    size_t arrival_capacity;
    struct numbers_seen *seen; /* of UDP between machines; else NULL */
    uint32_t
        shift; /* to be subtracted from the receiver's numbers: both ends count identifications of IPv4
                       from 65,536 on by themselves */
};

struct queue {
    struct queue_message *messages; /* [first .. count), in the order of their positions */
    uint32_t capacity;
    uint32_t first;
    uint32_t count;
    uint32_t taken; /* up to this position */
    uint32_t owner; /* index of the process that received last, or NO_PROCESS */
    uint32_t arrival_count;
    uint32_t sent_last; /* position after the latest message */
    bool has_taken : 1;
    bool numbered : 1; /* positions are numbers of messages */
    bool closed : 1;   /* its receiver's end is: it is in its owner's length no more */
    bool travels : 1;  /* it is queued after it was sent: TCP, UDP */
    bool
        repeats : 1; /* some number was a multiple of 65,536 more than the one before: identifications of
                      IPv4 that say nothing */
    struct queue_rest *rest;    /* NULL: nothing */
    struct queue_length length; /* unreceived: those that were given up */
};

/* `index_and_1`: a path's outgoing or incoming. NULL: there is none. */
static inline struct queue *queue_at(const struct statistics *statistics, uint32_t index_and_1)
{
    return index_and_1 == 0 ? NULL : pool_at(&statistics->queues, index_and_1 - 1);
}

/* ---- queues.c; `time` is when it happened, by the first origin's clock; these return 0 or -ENOMEM ---- */

/* A MESSAGEQUEUED of a path; a SEND on it; a RECEIVE by a use. */
int queues_arrived(struct statistics *statistics, uint32_t path, const struct record *record,
                   uint64_t time);
int queues_sent(struct statistics *statistics, uint32_t path, const struct record *record,
                uint64_t time);
int queues_received(struct statistics *statistics, struct statistics_use *use,
                    const struct record *record, uint64_t time);

/* Whether the recording of this end tells what was received; else nobody knows what waits there. */
bool receives_are_told(const struct statistics *statistics, uint32_t path);

/* Frees it, if there is one. */
void queue_free(struct statistics *statistics, uint32_t index_and_1);

/* ---- queue_lengths.c; so is `time` ---- */

/* Bytes of a message that were not received before it was told (of calls that go on). */
uint64_t queue_bytes_left(const struct queue *queue, const struct queue_message *message);

/* A message is in the queue from `time` on; `told`: MESSAGEQUEUED says so. */
void queue_put_in(struct statistics *statistics, struct queue *queue, struct queue_message *message,
                  uint64_t time, bool told);

/* It was somebody else's: as if it had not been put in. */
void queue_undo_put_in(struct statistics *statistics, struct queue *queue,
                       const struct queue_message *message);

/* A call that goes on has sent more of it. */
void queue_lengthen_message(struct statistics *statistics, struct queue *queue,
                            struct queue_message *message, uint32_t more, uint64_t time);

/* The kernel has told how many bytes there are: it knows those of messages that are not complete, too. */
void queue_note_told_length(struct statistics *statistics, struct queue *queue, uint32_t bytes,
                            uint64_t time);

/* A message was taken, after so many ns; bytes were, of messages that are not taken whole, too. */
void queue_take_out(struct statistics *statistics, struct queue *queue, uint64_t wait);
void queue_take_out_bytes(struct statistics *statistics, struct queue *queue, uint64_t bytes);

/* Nobody takes it any more: it is in the queue no longer, without an operation. */
void queue_give_up(struct statistics *statistics, struct queue *queue,
                   const struct queue_message *message);

/* Who receives here: the last who did. What is in the queue is his from then on. */
void queue_set_owner(struct statistics *statistics, struct queue *queue, uint32_t process,
                     uint64_t time);

/* Its path leaves the tables, or nobody can receive from it any more: what is in it is its owner's no
 * more. */
void queue_leaves(struct statistics *statistics, struct queue *queue);

/* In a result nobody can receive from it any more: the same to its owner's row. */
void queue_is_over(const struct queue *queue, struct queue_length *of_owner);

/* What it comes to, `now` being the latest time. */
void queue_result(const struct queue *queue, uint64_t now, struct queue_length *ret_length);

/* ---- duplicates.c ---- */

/* Whether a number is among the latest; and received. */
bool numbers_cover(const struct numbers_seen *seen, uint32_t number);
bool numbers_have(struct numbers_seen *seen, uint32_t number);
void numbers_note(struct numbers_seen *seen, uint32_t number);

#endif
