/* SPDX-License-Identifier: MIT */
/*
 * queues.h: messages that have arrived at an endpoint and are not yet received. Private to statistics/.
 *
 *      SEND ------ in flight ------> MESSAGEQUEUED ------ in the queue ------> RECEIVE
 *      message.sent, its sender's clock   message.queued, the receiver's           wait = now - queued
 *
 * The history keeps a struct queued_message with each SEND. The `whole` of an event has those of the messages that have
 * arrived whole with a MESSAGEQUEUED, or are received whole with a RECEIVE. The edges of a RECEIVE have those of which
 * it took a part. If nothing records arrivals (pipes, or without the receiver's flag), a message enters the queue when
 * it is sent, and its delivery latency is unknown.
 */
#ifndef DPM_QUEUES_H
#define DPM_QUEUES_H

#include "analysis/statistics/nagle.h"
#include "analysis/statistics/statistics.h"

struct endpoint;
struct usage;

/* Kept by the history with each SEND. The pieces of one call are one message, which the latest piece represents. */
struct queued_message {
    uint64_t number; /* of its SEND */
    uint64_t sent;   /* when the call began, by its sender's clock */
    uint64_t queued; /* when it entered the queue, by the receiver's clock; 0: not yet */
    uint32_t left;   /* bytes not yet received */
    uint32_t serial; /* number in its queue, from 1 on; 0: it belongs to none */
    bool in_queue;   /* it counts among the queue's messages */
    bool told;       /* `queued` is from a MESSAGEQUEUED */
    bool goes_on;    /* its call has sent a further piece */
};

/* The messages that one end sends to the other. */
struct queue {
    struct queue_length length; /* without `unreceived`, see queue_result */
    uint64_t queued_sum;        /* sum of `queued` of all messages in it, modulo 2^64 */
    uint64_t last_queued;       /* when the latest message entered it */
    uint64_t last_taken;        /* when the latest one left it */
    uint64_t latest_sent;       /* when the latest SEND began, by the sender's clock */
    struct nagle_state nagle;
    uint64_t sent;               /* messages */
    uint64_t taken;              /* messages received whole */
    uint32_t owner;              /* row of the latest receiver, or NO_PROCESS */
    uint32_t serial;             /* of the latest message */
    bool begun;                  /* anything was sent */
    bool numbered;               /* positions count messages */
    bool closed;                 /* by its receiver: no longer counted in its owner's length */
    bool is_taken;               /* anything was received */
    struct queued_message *last; /* the latest SEND's, if not received whole ... */
    uint64_t last_number;        /* ... which is so if it still has this number */
    uint32_t last_end;           /* position after it */
    uint32_t highest;            /* greatest serial of a received message ... */
    uint64_t overtaken;          /* ... bit i: serial highest - 1 - i is not received */
};

/* Count a SEND or a MESSAGEQUEUED of this endpoint, or a RECEIVE of one of its usages. `first_byte`: when that of a
 * SEND entered the queue, by the sender's clock. Return 0 or -ENOMEM. */
int queues_sent(struct statistics *statistics, struct endpoint *endpoint, uint64_t first_byte,
                const struct history_event *event);
int queues_arrived(struct statistics *statistics, struct endpoint *endpoint,
                   const struct history_event *event);
int queues_received(struct statistics *statistics, struct endpoint *endpoint, struct usage *usage,
                    const struct history_event *event);

/* No process will receive from this endpoint any more. */
void queues_close(struct statistics *statistics, struct endpoint *endpoint);

/* ---- queue_lengths.c: one queue, and the sum of all queues of its owner ---- */

/* Adds a message of so many bytes. `time`: by the receiver's clock. */
void queue_put_in(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                  uint64_t time);

/* Takes back that a message was added: it has not arrived whole after all. Its bytes stay. */
void queue_undo_put_in(struct statistics *statistics, struct queue *queue, uint64_t queued);

/* The message that is taken out now has been in the queue since `queued`, but was not counted there. Returns 0 or -ENOMEM. */
int queue_count_late(struct statistics *statistics, const struct queue *queue, uint64_t bytes,
                     uint64_t queued, uint64_t now);

/* Removes a message and its remaining bytes. It entered at `queued` and waited `wait` ns. */
void queue_take_out(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                    uint64_t queued, uint64_t wait);

/* Add and remove bytes of incomplete messages. */
void queue_add_bytes(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                     uint64_t time);
void queue_take_bytes(struct statistics *statistics, struct queue *queue, uint64_t bytes);

/* Removes one message, of which so many bytes were left and which arrived at `queued`: it will not be received. */
void queue_forget(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                  uint64_t queued);

/* Removes so many of the oldest messages: they will not be received. */
void queue_give_up(struct statistics *statistics, struct queue *queue, uint32_t messages);

/* So many of the oldest messages were received before anything else is known of the queue: nor are its maxima. */
void queue_begin_with(struct statistics *statistics, struct queue *queue, uint32_t messages);

/* Notes the number of bytes in the queue as the kernel reports it, incomplete messages included. */
void queue_note_told_length(struct statistics *statistics, struct queue *queue, uint64_t bytes,
                            uint64_t time);

/* Makes a process the receiver: the queue counts in that process's length from now on. Returns 0 or -ENOMEM. */
int queue_set_owner(struct statistics *statistics, struct queue *queue, uint32_t process,
                    uint64_t time);

/* The queue no longer counts in its owner's length. */
void queue_leave(struct statistics *statistics, struct queue *queue);

/* The final figures of a queue. `closed`: no process receives from it since `now`; otherwise `now` is the latest time.
 * Adds the messages left in it to its owner's row in `rows`; there they have waited until the owner ended, at most. */
void queue_result(const struct statistics *statistics, const struct queue *queue, uint64_t now,
                  bool closed, struct communication *rows, struct queue_length *ret_length);

#endif
