/* SPDX-License-Identifier: MIT */
/*
 * submit_calls.c: messages sent and received by io_submit(2), the asynchronous input and output of Linux (libaio).
 *
 *      io_submit begins   operations   [write 5] [write 5] [read 7]       tail 3 of the ring in the tracee's memory
 *      io_submit ends     events       ... | 100 | 100 | 60 |             tail 6: their results
 *
 * On sockets and pipes the kernel completes an operation before the call ends, so its result is in the ring by then. What
 * is not there is counted as missing.
 */
#include "ptracemeter/submit_calls.h"

#include "ptracemeter/calls.h"
#include "ptracemeter/descriptors.h"
#include "ptracemeter/message_calls.h"
#include "ptracemeter/objects.h"
#include "ptracemeter/tracees.h"
#include "ptracemeter/tracer.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <stdlib.h>

#define MOST_OPERATIONS 1024u
#define RING_MAGIC      0xa10a10a1u

/* The head of the ring, whose address is the context's number. */
struct ring_head {
    uint32_t id;
    uint32_t events; /* capacity */
    uint32_t head;
    uint32_t tail;
    uint32_t magic;
    uint32_t compatible, incompatible;
    uint32_t size; /* of this head */
};

/* An operation on a socket or pipe. */
struct operation {
    uint64_t address; /* of its struct iocb */
    uint32_t index;   /* in the call */
    bool sends;
    bool counted;    /* the first one of the call in its direction on its object */
    uint32_t others; /* calls begun on the object by then, 0: some were in progress */
    uint64_t size;
    struct object *object;
};

struct submission {
    uint32_t count;
    uint32_t tail;
    struct operation operations[];
};

static bool read_ring(const struct tracee *tracee, struct ring_head *head)
{
    return tracer_read(tracee, tracee->call.arguments[0], head, sizeof(*head)) &&
           head->magic == RING_MAGIC && head->events > 0 && head->tail < head->events;
}

/* ---- beginning ---- */

static bool is_message_operation(const struct iocb *iocb)
{
    return iocb->aio_lio_opcode == IOCB_CMD_PREAD || iocb->aio_lio_opcode == IOCB_CMD_PWRITE ||
           iocb->aio_lio_opcode == IOCB_CMD_PREADV || iocb->aio_lio_opcode == IOCB_CMD_PWRITEV;
}

static void enter(struct submission *submission, struct operation *operation)
{
    struct object *object = operation->object;
    uint32_t *begun = operation->sends ? &object->sent : &object->received;
    uint32_t *now = operation->sends ? &object->sending : &object->receiving;

    for (uint32_t i = 0; i < submission->count; i++) {
        const struct operation *before = &submission->operations[i];
        if (before->object == object && before->sends == operation->sends) {
            operation->others = before->others;
            return;
        }
    }
    ++*begun;
    operation->others = *now > 0 ? 0 : *begun;
    ++*now;
    operation->counted = true;
}

/* Adds an operation, if it is on a socket or pipe. */
static void look_at(struct ptracemeter *meter, struct tracee *tracee, struct submission *submission,
                    uint64_t address, uint32_t index)
{
    struct iocb iocb;

    if (!tracer_read(tracee, address, &iocb, sizeof(iocb)) || !is_message_operation(&iocb))
        return;
    struct object *object = descriptor_object(meter, tracee, (int)iocb.aio_fildes);
    if (!is_object(object))
        return;
    struct operation operation = {
        .address = address,
        .index = index,
        .sends = iocb.aio_lio_opcode == IOCB_CMD_PWRITE || iocb.aio_lio_opcode == IOCB_CMD_PWRITEV,
        .size = iocb.aio_nbytes,
        .object = object,
    };
    enter(submission, &operation);
    submission->operations[submission->count++] = operation;
}

bool submit_begins(struct ptracemeter *meter, struct tracee *tracee)
{
    struct call *call = &tracee->call;
    uint32_t count =
        call->arguments[1] < MOST_OPERATIONS ? (uint32_t)call->arguments[1] : MOST_OPERATIONS;
    uint64_t addresses[MOST_OPERATIONS];
    struct ring_head ring;

    if ((int64_t)call->arguments[1] <= 0)
        return false;
    if (call->arguments[1] > MOST_OPERATIONS)
        calls_missed(meter, tracee, &meter->shortfalls.submitted);
    struct submission *submission =
        read_ring(tracee, &ring) &&
                tracer_read(tracee, call->arguments[2], addresses, count * sizeof(addresses[0]))
            ? calloc(1, sizeof(*submission) + count * sizeof(submission->operations[0]))
            : NULL;
    if (submission == NULL) {
        calls_missed(meter, tracee, &meter->shortfalls.submitted);
        return false;
    }
    submission->tail = ring.tail;
    call->submission = submission;
    for (uint32_t i = 0; i < count; i++)
        look_at(meter, tracee, submission, addresses[i], i);
    if (submission->count == 0)
        submit_dropped(tracee);
    return call->submission != NULL;
}

/* ---- ending ---- */

static void leave(struct submission *submission)
{
    for (uint32_t i = 0; i < submission->count; i++) {
        struct operation *operation = &submission->operations[i];
        if (operation->counted && operation->sends)
            operation->object->sending--;
        else if (operation->counted)
            operation->object->receiving--;
        operation->counted = false;
    }
}

void submit_dropped(struct tracee *tracee)
{
    if (tracee->call.submission == NULL)
        return;
    leave(tracee->call.submission);
    free(tracee->call.submission);
    tracee->call.submission = NULL;
}

/* Finds the result of an operation among the events that were added since the call began. */
static bool find_result(const struct tracee *tracee, const struct submission *submission,
                        const struct ring_head *ring, uint64_t address, int64_t *ret_result)
{
    uint64_t events = tracee->call.arguments[0] + ring->size;
    struct io_event event;

    for (uint32_t i = submission->tail % ring->events; i != ring->tail; i = (i + 1) % ring->events)
        if (!tracer_read(tracee, events + i * sizeof(event), &event, sizeof(event)))
            return false;
        else if (event.obj == address) {
            *ret_result = event.res;
            return true;
        }
    return false;
}

static void operation_ends(struct ptracemeter *meter, struct tracee *tracee,
                           const struct operation *operation, int64_t result)
{
    if (operation->sends && result < 0)
        tracee->failed_sends += result != -EAGAIN;
    else if (result < 0)
        tracee->failed_receives += result != -EAGAIN;
    else if (operation->sends)
        send_submitted(meter, tracee, operation->object, operation->others, (uint32_t)result);
    else if (operation->size > 0)
        receive_submitted(meter, tracee, operation->object, operation->others, (uint32_t)result);
}

void submit_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    struct submission *submission = tracee->call.submission;
    struct ring_head ring;
    int64_t found;

    leave(submission);
    bool readable = read_ring(tracee, &ring);
    for (uint32_t i = 0; i < submission->count; i++) {
        const struct operation *operation = &submission->operations[i];
        if (operation->index >= result)
            break;
        if (readable && find_result(tracee, submission, &ring, operation->address, &found)) {
            operation_ends(meter, tracee, operation, found);
            continue;
        }
        tracee_falls_short(tracee, &meter->shortfalls.submitted);
        object_doubt(meter, operation->object);
    }
}
