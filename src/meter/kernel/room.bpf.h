/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* room.bpf.h: buffer size of the receive call in progress, or of a read that has ended. */
#ifndef DPM_ROOM_BPF_H
#define DPM_ROOM_BPF_H

#include "meter/kernel/call.bpf.h"

struct user_vector {
    uint64_t base;
    uint64_t length;
};

struct user_message {
    uint64_t name;
    uint64_t name_length;
    uint64_t vectors;
    uint64_t vector_count;
    uint64_t control;
    uint64_t control_length;
    uint64_t flags;
    uint64_t length; /* recvmmsg only */
};

#define VECTOR_LIMIT 64

/* A size that never limits anything, for calls whose size is unknown. */
#define MUCH_ROOM 0xffffffff

static __noinline uint64_t room_in_vectors(uint64_t vectors, uint64_t count)
{
    struct user_vector vector = {};
    uint64_t room = 0;

    if (count > VECTOR_LIMIT)
        return MUCH_ROOM;
    for (uint32_t i = 0; i < VECTOR_LIMIT && i < count; i++) {
        if (bpf_probe_read_user(&vector, sizeof(vector), (void *)(vectors + i * sizeof(vector))) !=
            0)
            return MUCH_ROOM;
        room += vector.length;
    }
    return room;
}

/* Buffer size of the receive call in progress for one message. */
static __noinline uint64_t room_of_call(struct task_struct *task, uint32_t message_number)
{
    struct pt_regs *registers = registers_of(task);
    uint32_t call = call_of(task, registers);
    struct user_message message = {};

    if (call == CALL_RECVFROM)
        return registers->dx;
    if (call != CALL_RECVMSG && call != CALL_RECVMMSG)
        return MUCH_ROOM;
    /* the two structs begin alike; recvmsg gets the shorter one */
    if (bpf_probe_read_user(
            &message, sizeof(message) - sizeof(message.length),
            (void *)(registers->si +
                     (call == CALL_RECVMMSG ? message_number * sizeof(message) : 0))) != 0)
        return MUCH_ROOM;
    return room_in_vectors(message.vectors, message.vector_count);
}

#endif
