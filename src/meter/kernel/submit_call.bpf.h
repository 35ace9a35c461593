/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * submit_call.bpf.h: io_submit(2) on pipes. The kernel completes such an operation before the call ends, and adds its
 * result to a ring in the process's memory. The ring's address is the context's number.
 *
 *      io_submit(ring, 3, {[write 5] [write 5] [read 7]}) ... sys_exit     ring: ... | 100 | 100 | 60 | tail
 *
 * (What is done on sockets, their hooks see.)
 */
#ifndef DPM_SUBMIT_CALL_BPF_H
#define DPM_SUBMIT_CALL_BPF_H

#include "meter/kernel/pipe_call.bpf.h"

#define MOST_SUBMITTED 16 /* of more in one call, the first ones are recorded */

/* The kernel's (linux/aio_abi.h; the ring: fs/aio.c). */
enum {
    SUBMIT_READ = 0,
    SUBMIT_WRITE = 1,
    SUBMIT_READV = 7,
    SUBMIT_WRITEV = 8,
};

struct completion {
    uint64_t data, submitted;
    int64_t result, result2;
};

struct completion_ring {
    uint32_t id, places, head, tail;
    uint32_t magic, features[2], header;
    struct completion completions[];
};

/* The result of an operation, the newest one at this address; -EAGAIN, which is no failure: not completed yet. */
__noinline int64_t result_of_submitted(uint64_t ring, uint64_t submitted)
{
    struct completion completion;
    uint32_t tail = 0, places = 0;

    bpf_probe_read_user(&places, sizeof(places), &((struct completion_ring *)ring)->places);
    bpf_probe_read_user(&tail, sizeof(tail), &((struct completion_ring *)ring)->tail);
    for (uint32_t i = 0; i < MOST_SUBMITTED; i++) {
        tail = (tail == 0 ? places : tail) - 1;
        if (bpf_probe_read_user(&completion, sizeof(completion),
                                &((struct completion_ring *)ring)->completions[tail]) != 0)
            break;
        if (completion.submitted == submitted)
            return completion.result;
    }
    return -EAGAIN;
}

/* An operation that was submitted: does nothing unless it is on a pipe. */
static __always_inline void tell_submitted(struct stream *stream, uint64_t ring)
{
    struct submitted *submitted = &stream->scratch.submitted;
    uint32_t operation;
    int64_t result;
    bool writes;

    if (bpf_probe_read_user(&submitted->operation, sizeof(*submitted) - sizeof(submitted->address),
                            (void *)submitted->address + SUBMITTED_OPERATION) != 0)
        return;
    operation = submitted->operation;
    writes = operation == SUBMIT_WRITE || operation == SUBMIT_WRITEV;
    if ((!writes && operation != SUBMIT_READ && operation != SUBMIT_READV) ||
        !wants(stream, writes ? FLAGS_OF_SEND : FLAGS_OF_RECEIVE))
        return;
    result = result_of_submitted(ring, submitted->address);
    pipe_used(stream, submitted->descriptor, writes ? PIPE_WRITTEN : PIPE_READ, result,
              !writes && result == 0 && submitted->size != 0);
}

/* The current task's io_submit has ended. */
static __always_inline int submission_ended(struct stream *stream, int64_t result)
{
    uint64_t *address = &stream->scratch.submitted.address;

    for (uint32_t i = 0; i < MOST_SUBMITTED && i < result; i++) {
        /* asked for again: one value less to keep on the stack */
        const struct pt_regs *registers = registers_of(bpf_get_current_task_btf());

        if (bpf_probe_read_user(address, sizeof(*address), (uint64_t *)registers->dx + i) != 0)
            break;
        tell_submitted(stream, registers->di);
    }
    return 0;
}

#endif
