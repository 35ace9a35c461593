/* SPDX-License-Identifier: MIT */
/*
 * callers_fuzz.c: the input is the memory and registers of a program: the search for the frame in its own text
 * (meter/shared/caller.h) runs on meaningless bytes.
 *
 *      [ip][stack][frame pointer][text begins][text ends][memory, from BASE on ...]     8 bytes each
 *
 * For any input, the search terminates; the result is in the text and follows a call; and a recorded way leads to the
 * same address again.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/cdefs.h>

#include "meter/shared/caller.h"

#define BASE 0x10000u

static const uint8_t *memory_bytes;
static size_t memory_size;

static __always_inline long caller_read(void *to, uint32_t size, uint64_t from)
{
    uint64_t at = from - BASE;

    if (at >= memory_size || size > memory_size - at)
        return -1;
    memcpy(to, memory_bytes + at, size);
    return 0;
}

struct input {
    uint64_t ip;
    uint64_t stack;
    uint64_t pointer;
    struct text text;
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct pc_memory way;
    struct input input;

    if (size < sizeof(input))
        return 0;
    memcpy(&input, bytes, sizeof(input));
    memory_bytes = bytes + sizeof(input);
    memory_size = size - sizeof(input);
    uint64_t pc = find_return(input.ip, input.stack, input.pointer, &input.text, &way);
    if (pc != 0)
        PROMISE(in_text(pc, &input.text));
    if (pc != 0 && way.pc == pc && way.ip != 0) {
        PROMISE(follows_call(pc));
        PROMISE(way.steps >= 1 && way.steps <= PC_STEPS);
        PROMISE(remembered(&way, input.ip, input.stack) == pc);
        /* the last return address is the result */
        PROMISE(way.words[way.steps - 1] == pc);
    }
    return 0;
}

/* ---- the example: a program calls a library, which makes a system call ---- */

static void put(uint8_t *memory, uint64_t at, const char *code, size_t size)
{
    memcpy(memory + (at - BASE), code, size);
}

static void put_word(uint8_t *memory, uint64_t at, uint64_t word)
{
    memcpy(memory + (at - BASE), &word, sizeof(word));
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    const struct input input = {
        BASE + 0x102, BASE + 0x300, BASE + 0x340, {BASE + 0x180, BASE + 0x300}};
    const size_t size = sizeof(input) + 0x480;
    uint8_t *memory = bytes + sizeof(input);

    if (room < size)
        return 0;
    memset(bytes, 0, size);
    memcpy(bytes, &input, sizeof(input));
    /* library: syscall; add $0x18,%rsp; pop %rbp; ret */
    put(memory, BASE + 0x100, "\x0f\x05\x48\x83\xc4\x18\x5d\xc3", 8);
    put_word(memory, BASE + 0x300 + 0x20, BASE + 0x149);
    /* another one: call *%rax; add $0x8,%rsp; ret */
    put(memory, BASE + 0x140, "\x90\x90\x90\x90\x90\x90\x90\xff\xd0\x48\x83\xc4\x08\xc3", 14);
    put_word(memory, BASE + 0x300 + 0x30, BASE + 0x205);
    /* the program: call (the stub of) the second */
    put(memory, BASE + 0x200, "\xe8\x3b\xff\xff\xff", 5);
    return size;
}
