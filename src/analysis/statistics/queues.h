/* SPDX-License-Identifier: MIT */
/*
 * queues.h: messages that have come to an endpoint and are not received. Private to statistics/.
 *
 *      SEND ------ in flight ------> MESSAGEQUEUED ------ in the queue ------> RECEIVE
 *      message.sent, its sender's clock   message.queued, the receiver's           wait = now - queued
 *
 * What has come with a MESSAGEQUEUED and is received whole with a RECEIVE the history says: its event's `whole` brings the
 * struct queued_message that is kept with the SEND; and so do its edges, of which part was received. Where nothing shows what has come (pipes, or without the receiver's flag), a
 * message is in the queue when it is sent, and how long it was in flight is not known.
 */
#ifndef DPM_QUEUES_H
#define DPM_QUEUES_H

#include "analysis/statistics/statistics.h"

struct endpoint;
struct usage;

/* Kept by the history with each SEND. Pieces of one call are one message, which the latest of them stands for. */
struct queued_message {
    uint64_t number; /* of its SEND */
    uint64_t sent;   /* when the call began, by its sender's clock */
    uint64_t queued; /* when it came into the queue, by the receiver's clock; 0: not yet */
    uint32_t left;   /* bytes that are not received */
    uint32_t serial; /* in its queue, from 1 on; 0: it is in none */
    bool in_queue;   /* it is among the queue's messages */
    bool told;       /* MESSAGEQUEUED shows when it came */
    bool goes_on;    /* its call has sent another piece */
};

/* What one end sends to the other. */
struct queue {
    struct queue_length length; /* unreceived: nothing, see queue_result */
    uint64_t queued_sum;        /* of `queued` of all messages in it, modulo 2^64 */
    uint64_t last_queued;       /* when the latest came */
    uint64_t sent;              /* messages */
    uint64_t taken;
    uint32_t owner;              /* row of the process that received last, or NO_PROCESS */
    uint32_t serial;             /* of the latest message */
    bool begun;                  /* something was sent */
    bool numbered;               /* positions are numbers of messages */
    bool closed;                 /* its receiver's end is: it is in its owner's length no more */
    bool is_taken;               /* something was received */
    struct queued_message *last; /* the latest SEND's, if it is not received whole ... */
    uint64_t last_number;        /* ... and the number that it has then */
    uint32_t last_end;           /* position behind it */
    uint32_t highest;            /* serial of the latest message that was received ... */
    uint64_t overtaken;          /* ... bit i: the one with the serial highest - 1 - i is not */
};

/* These return 0 or -ENOMEM. A SEND at this endpoint; a MESSAGEQUEUED; a RECEIVE of a usage. */
int queues_sent(struct statistics *statistics, struct endpoint *endpoint,
                const struct history_event *event);
int queues_arrived(struct statistics *statistics, struct endpoint *endpoint,
                   const struct history_event *event);
int queues_received(struct statistics *statistics, struct endpoint *endpoint, struct usage *usage,
                    const struct history_event *event);

/* No process receives from this endpoint any more. */
void queues_close(struct statistics *statistics, struct endpoint *endpoint);

/* ---- queue_lengths.c: one queue, and with it all of its owner's ---- */

/* `time`: by the receiver's clock; of so many bytes. */
void queue_put_in(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                  uint64_t time);

/* As if it had not been put in: what has come is not all of it. Its bytes stay. */
void queue_undo_put_in(struct statistics *statistics, struct queue *queue, uint64_t queued);

/* A message that came at `queued` was taken after `wait` ns, with the rest of its bytes. */
void queue_take_out(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                    uint64_t queued, uint64_t wait);

/* Bytes of messages that are not complete. */
void queue_add_bytes(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                     uint64_t time);
void queue_take_bytes(struct statistics *statistics, struct queue *queue, uint64_t bytes);

/* So many of the oldest messages are received by nobody. */
void queue_give_up(struct statistics *statistics, struct queue *queue, uint32_t messages);

/* The kernel has said how many bytes there are: it counts those of messages that are not complete, too. */
void queue_note_told_length(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                            uint64_t time);

/* The process that receives here: what is in the queue is its own from then on. */
void queue_set_owner(struct statistics *statistics, struct queue *queue, uint32_t process,
                     uint64_t time);

/* What is in it is its owner's no more. */
void queue_leave(struct statistics *statistics, struct queue *queue);

/* What it comes to. `closed`: no process receives from it since `now`; else it is the latest time. Adds what is left
 * over to its owner's row in `rows`. */
void queue_result(const struct queue *queue, uint64_t now, bool closed, struct communication *rows,
                  struct queue_length *ret_length);

#endif
