/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pc.bpf.h: where in its program a stream is when it makes a record: the flag pc.
 *
 * All meters share the algorithm: meter/shared/caller.h. Reading code takes half a microsecond, but most calls come the
 * same way. The walk is therefore remembered, and only the stack is compared.
 *
 * Nothing here can fault: user memory that cannot be read at once counts as missing.
 */
#ifndef DPM_PC_BPF_H
#define DPM_PC_BPF_H

#include "meter/kernel/state.bpf.h"

static __always_inline long caller_read(void *to, uint32_t size, uint64_t from)
{
    return bpf_probe_read_user(to, size, (void *)from);
}

#define USER_CODE_SEGMENT 0x33 /* of 64-bit programs; the stacks of others differ */

/* PC of `task`, which is the current one, with PC_LIBRARY if it is in a library; 0: not known. */
static __always_inline uint64_t user_pc(struct stream *stream, struct task_struct *task)
{
    const struct pt_regs *registers;
    struct mm_struct *memory = plain_task(task)->mm;
    struct pc_memory *known;
    uint64_t pc, ip;

    /* threads that work for a process inside the kernel have meaningless registers */
    if (memory == NULL || (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)))
        return 0;
    registers = registers_of(task);
    if ((registers->cs & 0xffff) != USER_CODE_SEGMENT)
        return 0;
    ip = registers->ip;
    if ((int64_t)registers->orig_ax < 0 && ip >= memory->start_code && ip < memory->end_code)
        return ip & PC_ADDRESS; /* not in a call: interrupted, or a page fault */
    known = &stream->pcs[(ip >> 4 ^ ip >> 8) % PC_MEMORIES];
    pc = remembered(known, ip, registers->sp);
    if (pc == 0) {
        stream->text.begin = memory->start_code;
        stream->text.end = memory->end_code;
        pc = find_return(ip, registers->sp, registers->bp, &stream->text, known);
    }
    return pc != 0 ? pc & PC_ADDRESS : (ip & PC_ADDRESS) | PC_LIBRARY;
}

/* The same if the stream has the flag, else 0. */
static __always_inline uint64_t stream_pc(struct stream *stream, struct task_struct *task)
{
    if ((flags_in_force & METER_FLAG_PC) == 0 || (stream->flags & METER_FLAG_PC) == 0)
        return 0;
    return user_pc(stream, task);
}

static __always_inline void fill_pc(struct record_header *header, uint64_t pc)
{
    header->proc_time_and_pc |= pc << 48;
    header->pc_high = (pc & PC_ADDRESS) >> 16;
    if (pc & PC_LIBRARY)
        header->flags |= RECORD_LIBRARY;
}

#endif
