/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mq_call.bpf.h: messages sent to message queues, and received.
 *
 *      msgsnd, mq_timedsend ....... sys_exit  --> out += 1: SEND
 *      msgrcv, mq_timedreceive .... sys_exit  --> in += 1: RECEIVE
 *
 * The type of a System V message is read from the beginning of the program's buffer: it is the message's address, not a
 * part of its text.
 */
#ifndef DPM_MQ_CALL_BPF_H
#define DPM_MQ_CALL_BPF_H

#include "meter/kernel/mq.bpf.h"

#define MSG_COPY 040000 /* msgrcv leaves the message in the queue */

static __always_inline bool is_queue_call(uint32_t call)
{
    return (call >= CALL_MSGGET && call <= CALL_MSGRCV) ||
           (call >= CALL_MQ_OPEN && call <= CALL_MQ_TIMEDRECEIVE);
}

static __always_inline bool receives_from_queue(uint32_t call)
{
    return (kinds_in_force & METER_MQ) && (call == CALL_MSGRCV || call == CALL_MQ_TIMEDRECEIVE);
}

/* ---- priorities ---- */

/* Remembers a priority that was sent to a queue; of more than PRIORITIES_MOST none is certain to be the highest. */
static __always_inline void note_priority(struct message_queue *whole, uint32_t priority)
{
    for (int i = 0; i < PRIORITIES_MOST; i++) {
        uint32_t found = __sync_val_compare_and_swap(&whole->priorities[i], 0, priority + 1);

        if (found == 0 || found == priority + 1)
            return;
    }
    whole->in_doubt = true;
}

/* A receiver did not ask for the priority. The queue has given it the highest: the only one that was sent so far, or
 * else probably the highest with messages left, as far as calls are counted by now. This guess keeps counts from
 * drifting apart, but the RECEIVE has no path, and no later count is certain. (Not static: the verifier takes long for
 * it.) */
__noinline int guess_priority(struct queue_use *use, struct message_queue *whole)
{
    uint32_t best = 0, several = 0;
    struct queue_key key; /* before Linux 6.2 helpers do not take one behind an argument */

    if (use == NULL || whole == NULL)
        return 0;
    key = use->key;
    for (int i = 0; i < PRIORITIES_MOST; i++) {
        uint32_t priority = whole->priorities[i];
        struct message_queue *queue;

        if (priority == 0)
            break;
        several = i;
        key.type = priority - 1;
        queue = bpf_map_lookup_elem(&queues, &key);
        if (queue != NULL && (int32_t)(queue->out - queue->in) > 0 && priority > best)
            best = priority;
    }
    use->unsure = several != 0;
    /* a message that is in the queue already, but not counted yet, may be the first of another priority */
    whole->in_doubt = true;
    if (best == 0)
        best = whole->priorities[0];
    use->key.type = best == 0 ? 0 : best - 1;
    return 0;
}

/* ---- several threads ---- */

/* A thread is in a call that sends or receives, or has ended one. Calls of several threads may overlap: a message that
 * one has taken out of the queue is counted only when its call ends, and a receiver that was asleep is handed it long
 * before that. RECEIVEs say so, and wait for the records of the others. */
static __always_inline void note_user(struct message_queue *whole, bool sends)
{
    uint32_t thread = bpf_get_current_pid_tgid();
    uint32_t *user = &whole->users[sends ? PIPE_WRITTEN : PIPE_READ];
    uint32_t before = *user == 0 ? __sync_val_compare_and_swap(user, 0, thread) : *user;

    if (before != 0 && before != thread)
        whole->several = 1;
}

static __always_inline bool is_message_call(uint32_t call)
{
    return call == CALL_MSGSND || call == CALL_MSGRCV || call == CALL_MQ_TIMEDSEND ||
           call == CALL_MQ_TIMEDRECEIVE;
}

/* ---- messages ---- */

static __always_inline uint32_t doubt_of_queue(const struct message_queue *whole)
{
    return whole->older || whole->in_doubt || uncounted_queues ? RECORD_OLDER : 0;
}

static __always_inline void tell_queue_message(struct stream *stream, uint32_t id,
                                               const struct message *message)
{
    if (message->path != 0)
        write_message(stream, id, message);
    else
        lose_message(stream, id, METER_MQ);
}

/* `stream` NULL: it is not metered. */
static __always_inline void miss_queue_message(const struct stream *stream, bool sent)
{
    if (stream != NULL)
        miss_messages(stream, sent ? EVENT_SEND : EVENT_RECEIVE, METER_MQ, 1);
}

/* Counts a message, and records it if the stream is metered. */
static __always_inline int queue_message_sent(struct stream *stream, struct message_queue *queue,
                                              const struct queue_use *use, uint32_t bytes,
                                              uint32_t doubt)
{
    /* taken before counting: a receiver that finds the message counted takes a later time */
    uint64_t begin = bpf_ktime_get_ns();
    uint32_t number = __sync_fetch_and_add(&queue->out, 1);
    struct message *message;

    begin = visible_since(&queue->early, number, begin);
    pass_early(&queue->early, number, 1);
    if (stream == NULL || silent(stream))
        return 0;
    message = &stream->scratch.message;
    *message = (struct message){.offset = number, .bytes = bytes, .flags = doubt, .begin = begin};
    message->path = queue_path(stream, queue, use, PIPE_WRITTEN, number);
    tell_queue_message(stream, EVENT_SEND, message);
    return 0;
}

static __always_inline int queue_message_received(struct stream *stream,
                                                  struct message_queue *queue,
                                                  const struct queue_use *use, uint32_t bytes,
                                                  uint32_t doubt)
{
    uint32_t number = __sync_fetch_and_add(&queue->in, 1);
    struct message *message;

    note_early(&queue->early, number + 1, queue->out);
    if (stream == NULL || silent(stream))
        return 0;
    message = &stream->scratch.message;
    *message = (struct message){.offset = number, .bytes = bytes, .flags = doubt};
    if (!stream->receivecall && wants(stream, EVENT_FLAG(EVENT_RECEIVECALL)))
        message->flags |= RECORD_CALL_IMPLIED;
    if (use->unsure) {
        message->offset = 0;
        if (!kinds_change || (stream->kinds & METER_MQ))
            write_message(stream, EVENT_RECEIVE, message);
        return 0;
    }
    message->path = queue_path(stream, queue, use, PIPE_READ, number);
    tell_queue_message(stream, EVENT_RECEIVE, message);
    return 0;
}

/* The entry of a message's type. `more`: how many messages, in addition to those in the queue now, belong to it when an
 * older queue's is made: 1 that has just left it; or -1 that has just come. */
static __noinline struct message_queue *
queue_of_type(struct stream *stream, const struct queue_use *use, bool older, int32_t more)
{
    struct message_queue *queue = known_queue(use);
    uint32_t left = 0;

    if (queue != NULL)
        return queue;
    if (older) {
        left = messages_in_queue(stream, use);
        if (left > 0 || more > 0)
            left += more;
    }
    return make_queue(stream, use, older, left);
}

/* A message of `use` has gone through its queue. `type` ALL_TYPES: it is not known. */
static __always_inline int queue_used(struct stream *stream, struct queue_use *use, int64_t type,
                                      uint32_t bytes, bool sent)
{
    struct message_queue *whole, *queue;
    uint32_t doubt;

    use->key.type = ALL_TYPES;
    whole = known_queue(use);
    if (whole == NULL && (stream == NULL || silent(stream)))
        return 0;
    if (whole == NULL)
        whole = make_queue(stream, use, true, 0);
    if (whole == NULL) {
        miss_queue_message(stream, sent);
        return 0;
    }
    if (stream != NULL && silent(stream))
        whole->in_doubt = true; /* others may be in progress, and silent */
    use->key.type = type;
    if (sent && use->key.kind == PATH_MQ_POSIX)
        note_priority(whole, type);
    note_user(whole, sent);
    if (type == ALL_TYPES)
        guess_priority(use, whole);
    queue = queue_of_type(stream, use, whole->older, sent ? -1 : 1);
    if (queue == NULL) {
        miss_queue_message(stream, sent);
        return 0;
    }
    if (stream == NULL)
        whole->in_doubt = true; /* no record shows when its calls overlap with others */
    doubt = doubt_of_queue(whole);
    if (!sent && whole->several)
        doubt |= RECORD_CONCURRENT;
    return sent ? queue_message_sent(stream, queue, use, bytes, doubt)
                : queue_message_received(stream, queue, use, bytes, doubt);
}

/* ---- calls ---- */

/* A metered stream has opened a queue, or made it. */
static __always_inline void queue_opened(struct stream *stream, struct queue_use *use,
                                         uint32_t call, uint32_t result)
{
    if (call == CALL_MSGGET ? !look_at_sysv(result, use) : !look_at_posix(result, use))
        return;
    use->key.type = ALL_TYPES;
    if (known_queue(use) == NULL)
        make_queue(stream, use, !is_unused(use), 0);
}

/* The type or priority of the message that a call has sent or received. */
static __always_inline int64_t type_of_message(uint32_t call, const struct pt_regs *registers)
{
    uint32_t priority = 0;
    int64_t type = 0;

    switch (call) {
    case CALL_MSGSND:
    case CALL_MSGRCV:
        bpf_probe_read_user(&type, sizeof(type), (const void *)registers->si);
        return type;
    case CALL_MQ_TIMEDSEND:
        return (uint32_t)registers->r10;
    default:
        if (registers->r10 == 0 ||
            bpf_probe_read_user(&priority, sizeof(priority), (const void *)registers->r10) != 0)
            return ALL_TYPES;
        return priority;
    }
}

static __always_inline void count_failed_on_queue(struct stream *stream, uint32_t call, int result)
{
    if (is_failure(result))
        count_failed(stream, call == CALL_MSGRCV || call == CALL_MQ_TIMEDRECEIVE
                                 ? &stream->failed_receives
                                 : &stream->failed_sends);
}

/* A message has gone through a queue. */
static __always_inline void queue_passes(struct stream *stream, struct queue_use *use,
                                         uint32_t call, int64_t result)
{
    const struct pt_regs *registers = registers_of(bpf_get_current_task_btf());
    bool sent = call == CALL_MSGSND || call == CALL_MQ_TIMEDSEND;
    bool found;

    if (result < 0 || (call == CALL_MSGRCV && (registers->r8 & MSG_COPY)))
        return;
    found = call == CALL_MSGSND || call == CALL_MSGRCV ? look_at_sysv(registers->di, use)
                                                       : look_at_posix(registers->di, use);
    if (found)
        queue_used(stream, use, type_of_message(call, registers), sent ? registers->dx : result,
                   sent);
}

/* The same without a record: the stream is not metered, or its records of this direction are not wanted. */
static __noinline int queue_call_counted(uint32_t call, int64_t result)
{
    struct scratch *scratch = scratch_of(NULL);

    if (scratch == NULL)
        return 0;
    scratch->use = (struct queue_use){};
    queue_passes(NULL, &scratch->use, call, result);
    return 0;
}

/* A call of the current task on a message queue has ended. `stream` NULL: it is not metered. */
__noinline int queue_call_ended(struct stream *stream, uint32_t call, int64_t result)
{
    bool sent = call == CALL_MSGSND || call == CALL_MQ_TIMEDSEND;
    bool opens = call == CALL_MSGGET || call == CALL_MQ_OPEN;
    struct scratch *scratch;
    struct queue_use *use;

    if (!opens && !is_message_call(call))
        return 0;
    if (stream == NULL)
        return opens ? 0 : queue_call_counted(call, result);
    scratch = scratch_of(stream);
    if (scratch == NULL)
        return 0;
    use = &scratch->use;
    *use = (struct queue_use){};
    if (opens) {
        if (result >= 0 && !silent(stream))
            queue_opened(stream, use, call, result);
        return 0;
    }
    if (wants(stream, sent ? FLAGS_OF_SEND : FLAGS_OF_RECEIVE)) {
        if (result < 0)
            count_failed_on_queue(stream, call, result);
        queue_passes(stream, use, call, result);
    } else {
        queue_call_counted(call, result); /* the other direction may be recorded */
    }
    if (!sent)
        stream->receivecall = 0;
    stream->queue_full = 0;
    return 0;
}

/* ---- calls in progress ---- */

/* SENDCALL, made once: the queue is full. */
static __always_inline int tell_full_queue(struct stream *stream, struct queue_use *use,
                                           const struct message_queue *whole, int64_t type)
{
    struct message *message = &stream->scratch.leaving;
    struct message_queue *queue;

    use->key.type = type;
    queue =
        stream->queue_full || silent(stream) ? NULL : queue_of_type(stream, use, whole->older, 0);
    if (queue == NULL)
        return 1;
    stream->queue_full = 1;
    *message = (struct message){.offset = queue->out};
    message->path = queue_path(stream, queue, use, PIPE_WRITTEN, queue->out);
    if (message->path != 0)
        write_message(stream, EVENT_SENDCALL, message);
    return 1;
}

/* The current task leaves its CPU in a call on a queue. `sleeps`: not because another is to run. Returns 1 if its wait
 * is recorded as one for a full queue. */
__noinline int leave_queue_call(struct stream *stream, uint32_t call, bool sleeps)
{
    const struct pt_regs *registers = registers_of(bpf_get_current_task_btf());
    bool sysv = call == CALL_MSGSND || call == CALL_MSGRCV;
    bool sends = call == CALL_MSGSND || call == CALL_MQ_TIMEDSEND;
    struct message_queue *whole;
    struct queue_use use = {};

    if (stream == NULL ||
        (sysv ? !look_at_sysv(registers->di, &use) : !look_at_posix(registers->di, &use)))
        return 0;
    use.key.type = ALL_TYPES;
    whole = known_queue(&use);
    if (whole == NULL)
        return 0;
    note_user(whole, sends);
    return sends && sleeps && wants(stream, EVENT_FLAG(EVENT_SENDCALL))
               ? tell_full_queue(stream, &use, whole, type_of_message(call, registers))
               : 0;
}

/* A 32-bit program's call, which is not counted. */
static __always_inline void queue_passed_over(const struct pt_regs *registers)
{
    uint32_t call = registers->orig_ax, of_ipc = registers->bx & 0xffff;

    if (known_queues == 0)
        return;
    if ((call == CALL32_IPC && (of_ipc == IPC_MSGSND || of_ipc == IPC_MSGRCV)) ||
        call == CALL32_MSGSND || call == CALL32_MSGRCV || call == CALL32_MQ_TIMEDSEND ||
        call == CALL32_MQ_TIMEDRECEIVE || call == CALL32_MQ_TIMEDSEND_TIME64 ||
        call == CALL32_MQ_TIMEDRECEIVE_TIME64)
        uncounted_queues = 1;
}

#endif
