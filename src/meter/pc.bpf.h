/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pc.bpf.h: where in the program a stream is when it makes a record: the flag pc.
 *
 * In a system call the program counter stands in the C library; which of the program's functions
 * made the call tells the return address on the user's stack. Programs keep no frame pointers, so
 * it is looked for:
 *
 *      stack pointer --> | the library function's own frame |   its size is read from the code
 *                        | return address                   |   <-- the first place to look
 *                        | frames of more of the library    |   then upwards, word by word:
 *                        | return address into the program  |   <-- the first one counts
 *                        | ...                              |       within PC_WINDOW bytes
 *
 * A return address is a word that lies in the program's text and that a call instruction stands
 * before. The library's own frame is left out because it may hold old words that look like one.
 * Where nothing is found the PC is the library's own and is said to be (RECORD_LIBRARY).
 *
 * Nothing here can fault: what cannot be read from user memory at once counts as not there.
 */
#ifndef DPM_PC_BPF_H
#define DPM_PC_BPF_H

#include "meter/state.bpf.h"

#define PC_WINDOW  512u /* bytes of stack */
#define PC_CHUNK   8u   /* words of it that are read at once */
#define PC_CODE    96u  /* bytes of code behind a system call in which its function ends */
#define PC_ADDRESS ((1ULL << 48) - 1)
#define PC_LIBRARY (1ULL << 63) /* beside the address: RECORD_LIBRARY */

/* Registers that `pop` takes, and how long the instruction is; 0: it is another one. */
static __always_inline uint32_t pop_length(const uint8_t *code)
{
    if ((code[0] & 0xf8) == 0x58)
        return 1;
    return code[0] == 0x41 && (code[1] & 0xf8) == 0x58 ? 2 : 0;
}

/* Bytes that the end of a function takes from the stack before it returns, if `code` is one (add
 * to the stack pointer, pops, return); -1: it is not. */
static __always_inline int64_t end_of_function(const uint8_t *code)
{
    bool adds = code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4 && code[3] < 0x80;
    int64_t bytes = adds ? code[3] : 0;
    uint32_t at = adds ? 4 : 0;

    for (uint32_t pops = 0; pops < 6; pops++) {
        uint32_t length = pop_length(code + at);

        if (length == 0)
            break;
        at += length;
        bytes += 8;
    }
    return at != 0 && code[at] == 0xc3 ? bytes : -1;
}

/* Whether the function returns just behind its system call: ret, or a comparison of the result
 * with the largest error, a jump, and ret. It has no frame then. */
static __always_inline bool is_plain_call(const uint8_t *code)
{
    if (code[0] == 0xc3)
        return true;
    if (code[0] != 0x48 || code[1] != 0x3d)
        return false;
    return ((code[6] & 0xf0) == 0x70 && code[8] == 0xc3) ||
           (code[6] == 0x0f && (code[7] & 0xf0) == 0x80 && code[12] == 0xc3);
}

/* Bytes of stack below the return address of the function whose system call ended at `ip`; 0 also
 * where its code does not tell. Global, so that the kernel verifies it once and by itself. */
__noinline uint32_t library_frame(uint64_t ip)
{
    uint8_t code[PC_CODE + 16];

    if (bpf_probe_read_user(code, sizeof(code), (void *)ip) != 0 || is_plain_call(code))
        return 0;
    for (uint32_t i = 0; i < PC_CODE; i++) {
        int64_t bytes = end_of_function(code + i);

        if (bytes >= 0)
            return bytes;
    }
    return 0;
}

/* Whether a call instruction stands in the 8 bytes before a return address: call near (E8), or
 * FF /2 in each of its lengths. */
static __always_inline bool ends_call(const uint8_t *code, uint64_t address, uint64_t begin,
                                      uint64_t end)
{
    if (code[3] == 0xe8) {
        uint64_t target = address + *(const int32_t *)(code + 4);

        if (target >= begin && target < end)
            return true;
    }
    return (code[6] == 0xff && (code[7] & 0x38) == 0x10) ||
           (code[5] == 0xff && (code[6] & 0x38) == 0x10) ||
           (code[4] == 0xff && (code[5] & 0x3f) == 0x14) ||
           (code[2] == 0xff && (code[3] & 0x38) == 0x10) ||
           (code[1] == 0xff && (code[2] & 0x3f) == 0x14);
}

/* The first return address into the text [begin, end) in the window above `stack`; 0: there is
 * none. */
__noinline uint64_t find_return(uint64_t stack, uint64_t begin, uint64_t end)
{
    for (uint32_t at = 0; at < PC_WINDOW; at += PC_CHUNK * 8) {
        uint64_t words[PC_CHUNK];

        if (bpf_probe_read_user(words, sizeof(words), (void *)(stack + at)) != 0)
            return 0;
        for (uint32_t i = 0; i < PC_CHUNK; i++) {
            uint64_t word = words[i];
            uint8_t code[8] __attribute__((aligned(8)));

            if (word <= begin || word >= end)
                continue;
            if (bpf_probe_read_user(code, sizeof(code), (void *)(word - 8)) == 0 &&
                ends_call(code, word, begin, end))
                return word;
        }
    }
    return 0;
}

#define USER_CODE_SEGMENT 0x33 /* of 64-bit programs; others keep other stacks */

/* Where `task` is in its program, with PC_LIBRARY if that is in a library; 0: not known. */
static __noinline uint64_t user_pc(struct task_struct *task)
{
    const struct pt_regs *registers;
    struct mm_struct *memory = task->mm;
    uint64_t begin, end, pc, ip;

    /* what works for a process inside the kernel has registers that mean nothing */
    if (memory == NULL || (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) ||
        task != (void *)bpf_get_current_task_btf())
        return 0;
    registers = (struct pt_regs *)bpf_task_pt_regs(task);
    if ((registers->cs & 0xffff) != USER_CODE_SEGMENT)
        return 0;
    begin = memory->start_code;
    end = memory->end_code;
    ip = registers->ip;
    if ((int64_t)registers->orig_ax < 0 && ip >= begin && ip < end)
        return ip & PC_ADDRESS; /* no call: interrupted, or a page of memory was missing */
    pc = find_return(registers->sp + library_frame(ip), begin, end);
    return pc != 0 ? pc & PC_ADDRESS : (ip & PC_ADDRESS) | PC_LIBRARY;
}

/* The same if the stream wants it, else 0. */
static __always_inline uint64_t stream_pc(const struct stream *stream, struct task_struct *task)
{
    if ((flags_in_force & METER_FLAG_PC) == 0 || (stream->flags & METER_FLAG_PC) == 0)
        return 0;
    return user_pc(task);
}

static __always_inline void fill_pc(struct record_header *header, uint64_t pc)
{
    header->proc_time_and_pc |= pc << 48;
    header->pc_high = (pc & PC_ADDRESS) >> 16;
    if (pc & PC_LIBRARY)
        header->flags |= RECORD_LIBRARY;
}

#endif
