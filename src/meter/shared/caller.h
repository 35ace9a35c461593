/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * caller.h: finds the place in the program that a system call comes from. All meters share this algorithm: the kernel
 * meter compiles it for BPF, the ptrace meter into itself. Each supplies its own way to read a program's memory,
 * caller_read().
 *
 * During a system call the program counter is in the C library. A return address on the user's stack shows which
 * function of the program made the call. Programs keep no frame pointers, but the end of a function shows how large its
 * frame is, and that end follows in the code:
 *
 *      stack pointer --> | frame of the C library's function    add $0x28,%rsp
 *                        |                                      pop %rbp
 *                        | return address into a library        ret
 *                        | frame of that library's function     ...
 *                        | return address into the program      <-- the PC
 *                        | ...
 *
 * The example gives back 0x28 + 8 = 0x30 bytes, so its return address is 0x30 bytes above the stack pointer.
 *
 * So the algorithm walks from frame to frame until it reaches the program's text. Scanning the stack for anything that
 * looks like a return address would find old ones that earlier calls left there. Each step is checked: a call
 * instruction must precede the return address. If that call shows its target (perhaps through the program's table of
 * library functions, or a jump), the target must be the function that the walk came from. If a step fails, because some
 * functions end in other ways, the walk accepts only a return address whose call shows its target, the best one in the
 * nearby stack. If there is none, the PC is the library's own, and is flagged as such (RECORD_LIBRARY).
 *
 * In a static program the library is part of the text, so the first return address is the PC, and nothing on the stack
 * is searched: all of the library's functions would lead there. musl's inner function is passed over:
 *
 *      wr:  call write     write:  call __syscall_cp     __syscall_cp:  jmp __syscall_cp_c     __syscall_cp_c:  ... syscall
 *      ^--- the PC                                                                                               ret
 *
 * It returns what the kernel returned (`syscall`, `ret`), and its caller has reached it through a jump, if need be with
 * one more function in between (__syscall_cp_asm, of programs with threads).
 *
 * Reading code takes time, but most calls come the same way. A walk is therefore recorded (struct pc_memory); a caller
 * that keeps it only has to compare the stack.
 */
#ifndef DPM_CALLER_H
#define DPM_CALLER_H

/* The kernel side declares these in its own header. */
#ifdef DPM_KERNEL_SIDE
#define CALLER_STEP __noinline
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define CALLER_STEP static
#endif

/* Reads the memory of the examined program, all of it or nothing; 0: success. The includer defines it. */
static __always_inline long caller_read(void *to, uint32_t size, uint64_t from);

#define PC_FRAMES 8u      /* most library frames to walk */
#define PC_WINDOW 1024u   /* bytes of stack to search beyond a frame of unknown size */
#define PC_CHUNK  8u      /* words of it that are read at once */
#define PC_REACH  0x4000u /* bytes: largest distance of an address from its function's beginning */
#define PC_CODE   64u     /* bytes of code that are read at once */
#define PC_CODES  6u      /* most such reads from one return address on */

#define PC_ADDRESS ((1ULL << 48) - 1)
#define PC_LIBRARY (1ULL << 63) /* a bit beside the address: RECORD_LIBRARY */

/* Number of steps of a walk that are recorded; the includer may define more. */
#ifndef PC_STEPS
#define PC_STEPS 3
#endif

/* A recorded walk over the stack. While the same return addresses are there, it leads to the same PC. */
struct pc_memory {
    uint64_t ip; /* where the walk began; 0 = none */
    uint64_t pc;
    uint32_t steps;
    uint32_t offsets[PC_STEPS]; /* from the stack pointer */
    uint64_t words[PC_STEPS];
    uint64_t
        state; /* of the walk in progress: enum walk_state, or a return address that may be the PC */
};

enum walk_state {
    WALK_DYNAMIC,
    WALK_STATIC,   /* the next return address is the PC */
    WALK_IN_INNER, /* ... unless the function there was reached through a jump */
    WALK_STATES,
};

/* A frame in one number: bits 0-31 hold the location of its return address (bytes from the stack pointer, or from the
 * frame pointer), bits 32-47 how far below that the caller's frame pointer is saved (0: it is not). */
#define FRAME_KNOWN        (1ULL << 63)
#define FRAME_FROM_POINTER (1ULL << 62)

/* The most bytes of one instruction at a function's end, and of the whole end. */
struct instruction {
    uint8_t bytes[8];
};
struct code {
    uint8_t bytes[32];
};

/* The range of the program's text, and a read buffer, because a kernel program has little stack. */
struct text {
    uint64_t begin;
    uint64_t end;
    union {
        uint8_t code[PC_CODE + sizeof(struct code)];
        uint64_t words[PC_CHUNK];
    };
};

/* ---- instructions; the decoders are global functions, so that the kernel verifies each only once ---- */

#define IS_POP         16u
#define IS_POP_POINTER 32u /* of the frame pointer */

/* Length of a `pop`, with IS_POP; 0: another instruction. */
static __always_inline uint32_t pop_length(const uint8_t *code)
{
    if ((code[0] & 0xf8) == 0x58)
        return IS_POP | (code[0] == 0x5d ? IS_POP_POINTER : 0) | 1;
    return code[0] == 0x41 && (code[1] & 0xf8) == 0x58 ? IS_POP | 2 : 0;
}

/* Length of an instruction between registers, or one that loads a constant into one, such as compilers put among the
 * pops; 0: another instruction, or one that changes the stack pointer. */
static __always_inline uint32_t plain_length(const uint8_t *code)
{
    bool prefix = (code[0] & 0xf0) == 0x40;
    uint8_t operation = prefix ? code[1] : code[0];
    uint8_t registers = prefix ? code[2] : code[1];
    uint8_t third = prefix ? code[3] : code[2];

    if ((operation & 0xf8) == 0xb8 && operation != 0xbc && code[0] != 0x48)
        return prefix + 5;
    if (operation == 0x98)
        return prefix + 1;
    if (operation == 0x0f && third >= 0xc0 &&
        ((registers & 0xf6) == 0xb6 || (registers & 0xf0) == 0x90))
        return prefix + 3;
    if (registers < 0xc0 || (registers & 7) == 4 || (registers >> 3 & 7) == 4)
        return 0;
    if (operation == 0x83 || operation == 0xc1) /* with a constant of one byte */
        return prefix + 3;
    return (operation & 0xc4) == 0 || operation == 0x63 || operation == 0x84 || operation == 0x85 ||
                   (operation & 0xfc) == 0x88 ||
                   (operation == 0xf7 && registers >= 0xd0 && registers < 0xe0)
               ? prefix + 2
               : 0;
}

/* Length of an instruction at a function's end, and whether it is a pop; 0: neither kind. */
CALLER_STEP uint32_t instruction_at(const struct instruction *instruction)
{
    const uint8_t *code = (const uint8_t *)instruction;
    uint32_t pop;

    if (code == NULL)
        return 0;
    pop = pop_length(code);
    return pop != 0 ? pop : plain_length(code);
}

/* How a function's end releases the frame, if one begins here: FRAME_ bits, bytes, and from bit 32 on the length of the
 * instruction. 0: none begins here. */
CALLER_STEP uint64_t frame_given_back(const struct code *end)
{
    const uint8_t *code = (const uint8_t *)end;

    if (code == NULL)
        return 0;
    if (pop_length(code) != 0)
        return FRAME_KNOWN;
    if (code[0] != 0x48)
        return 0;
    if (code[1] == 0x83 && code[2] == 0xc4)
        return FRAME_KNOWN | 4ULL << 32 | (uint32_t)(signed char)code[3];
    if (code[1] == 0x81 && code[2] == 0xc4)
        return FRAME_KNOWN | 7ULL << 32 |
               (code[3] | code[4] << 8 | code[5] << 16 | (uint32_t)code[6] << 24);
    if (code[1] == 0x8d && code[2] == 0x65)
        return FRAME_KNOWN | FRAME_FROM_POINTER | 4ULL << 32 | (uint32_t)(signed char)code[3];
    return 0;
}

/* The frame of the function that ends here; 0: none does. An end releases the frame (add to the stack pointer, lea from
 * the frame pointer), restores registers, and returns or jumps on. The sums avoid branches, because the verifier would
 * follow every combination of them. */
CALLER_STEP uint64_t end_of_function(const struct code *end)
{
    const uint8_t *code = (const uint8_t *)end;
    uint32_t bytes, pointer = 0;
    uint64_t at; /* 64 bits: verifiers before 6.2 lose the bounds of a 32-bit copy */
    uint64_t frame, saved = 0;

    if (code == NULL)
        return 0;
    /* the most frequent bytes that may_end accepts although no end begins here: saves a call */
    if (code[0] == 0x48 && code[1] != 0x81 && code[1] != 0x83 && code[1] != 0x8d)
        return 0;
    if (code[0] == 0xc9 && code[1] == 0xc3) /* leave, ret */
        return FRAME_KNOWN | FRAME_FROM_POINTER | 8ULL << 32 | 8;
    frame = frame_given_back(end);
    if (frame == 0)
        return 0;
    bytes = frame;
    at = frame >> 32 & 7;
    for (uint32_t i = 0; i < 10 && at < sizeof(*end) - sizeof(struct instruction); i++) {
        uint32_t next = instruction_at((const struct instruction *)(code + at));

        if (next == 0)
            break;
        pointer |= next & IS_POP_POINTER;
        bytes += (next & IS_POP) / IS_POP * 8;
        saved += (next / IS_POP & pointer / IS_POP_POINTER & 1) * 8;
        at += next & 15;
    }
    if (at >= sizeof(*end))
        return 0;
    if (code[at] != 0xc3 && (code[at] != 0xe9 || code[0] != 0x48))
        return 0;
    return (frame & (FRAME_KNOWN | FRAME_FROM_POINTER)) | saved << 32 | bytes;
}

/* Whether the function returns right after its system call: ret; neg and ret; or a comparison of the result with the
 * largest error, a jump, and ret. Such a function has no frame. */
static __always_inline bool is_plain_call(const uint8_t *code)
{
    if (code[0] == 0xc3 || (code[0] == 0xf7 && code[1] == 0xd8 && code[2] == 0xc3))
        return true;
    if (code[0] != 0x48 || code[1] != 0x3d)
        return false;
    return ((code[6] & 0xf0) == 0x70 && code[8] == 0xc3) ||
           (code[6] == 0x0f && (code[7] & 0xf0) == 0x80 && code[12] == 0xc3);
}

/* Whether the end of a function may begin with this byte: 41, 48, 58 to 5F, C9. Also accepts a few others, which
 * end_of_function rejects, so that one branch is enough. */
static __always_inline bool may_end(uint8_t byte)
{
    uint64_t bits = 1ULL << 0x01 | 1ULL << 0x08 | 0xffULL << 0x18 | 1ULL << 0x09;

    return bits >> (byte & 63) & byte >> 6 & 1;
}

#define NO_CODE 1 /* the code cannot be read; FRAME_KNOWN is not set, so it is no frame */

/* The frame of the function that contains `ip`, if it ends in the next PC_CODE bytes; 0: it does not. `called`: `ip`
 * may follow a system call. */
CALLER_STEP uint64_t frame_near(uint64_t ip, bool called, struct text *text)
{
    const uint8_t *code;

    if (text == NULL || caller_read(text->code, sizeof(text->code), ip) != 0)
        return NO_CODE;
    code = text->code;
    if (called && is_plain_call(code))
        return FRAME_KNOWN;
    for (uint32_t i = 0; i < PC_CODE; i++) {
        uint64_t frame;

        if (!may_end(code[i]))
            continue;
        frame = end_of_function((const struct code *)(code + i));
        if (frame != 0)
            return frame;
    }
    return 0;
}

/* The frame of the function that contains `ip`, at `ip`; 0: its code does not show it. */
static __always_inline uint64_t frame_at(uint64_t ip, struct text *text)
{
    for (uint32_t turn = 0; turn < PC_CODES; turn++) {
        uint64_t frame = frame_near(ip + turn * PC_CODE, turn == 0, text);

        if (frame != 0)
            return frame == NO_CODE ? 0 : frame;
    }
    return 0;
}

/* Whether a call instruction precedes an address: near call (E8), or FF /2 in each of its lengths. */
CALLER_STEP bool follows_call(uint64_t address)
{
    uint8_t code[8];

    if (caller_read(code, sizeof(code), address - sizeof(code)) != 0)
        return false;
    return code[3] == 0xe8 || (code[6] == 0xff && (code[7] & 0x38) == 0x10) ||
           (code[5] == 0xff && (code[6] & 0x38) == 0x10) ||
           (code[4] == 0xff && (code[5] & 0x3f) == 0x14) ||
           (code[2] == 0xff && (code[3] & 0x38) == 0x10) ||
           (code[1] == 0xff && (code[2] & 0x3f) == 0x14);
}

static __always_inline uint64_t user_word(uint64_t address)
{
    uint64_t word = 0;

    return caller_read(&word, sizeof(word), address) == 0 ? word : 0;
}

#define ENDBR64 0xfa1e0ff3u

/* The function that the stub at `address` jumps to: directly (E9), or through a table (optional endbr64 and bnd, then FF
 * 25); without a stub, `address` itself. Inline, because calls must not nest deeper than eight. */
static __always_inline uint64_t target_of_stub(uint64_t address)
{
    uint64_t at = address, code = user_word(address);

    if ((uint32_t)code == ENDBR64) {
        at += 4;
        code = user_word(at);
    }
    if ((code & 0xff) == 0xf2) {
        at += 1;
        code >>= 8;
    }
    if ((code & 0xff) == 0xe9)
        return at + 5 + (int32_t)(code >> 8);
    return (code & 0xffff) == 0x25ff ? user_word(at + 6 + (int32_t)(code >> 16)) : address;
}

/* The target of the call before an address, resolved through a stub; 0: the call does not show it. */
static __always_inline uint64_t target_of_call(uint64_t address)
{
    uint64_t code = user_word(address - 8);
    int32_t distance = code >> 32;

    if ((code >> 16 & 0xffff) == 0x15ff)
        return user_word(address + distance);
    return (code >> 24 & 0xff) == 0xe8 ? target_of_stub(address + distance) : 0;
}

static __always_inline bool in_text(uint64_t address, const struct text *text)
{
    return address > text->begin && address < text->end;
}

#define LEADS_MAYBE     PC_REACH /* the call hides its target, or the target may have jumped on */
#define LEADS_ELSEWHERE (PC_REACH + 1)

/* Whether the call before the return address `word` leads to the function that contains `ip`. Returns the distance of
 * `ip` from the beginning of the target, if it is less than PC_REACH. */
CALLER_STEP uint32_t leads_to(uint64_t word, uint64_t ip, const struct text *text)
{
    uint64_t target = target_of_call(word);

    if (text == NULL || target == 0 || (in_text(target, text) && !in_text(ip, text)))
        return LEADS_MAYBE;
    return ip - target < PC_REACH ? ip - target : LEADS_ELSEWHERE;
}

/* A return address, and in the bits above it the distance of `ip` from the beginning of the call's target. The smaller
 * distance wins: no other function begins between a function's beginning and an address inside it. */
#define FOUND(word, distance) ((word) | (uint64_t)(distance) << 48)
#define FOUND_NONE            FOUND(0, PC_REACH)

/* The best return address among the first `bytes` of a chunk of stack words: one into the program, whose call leads to
 * the function that contains `ip`. */
CALLER_STEP uint64_t search_chunk(uint64_t ip, uint64_t stack, uint32_t bytes, struct text *text)
{
    uint64_t best = FOUND_NONE;

    if (text == NULL || caller_read(text->words, sizeof(text->words), stack) != 0)
        return FOUND_NONE;
    for (uint32_t i = 0; i < PC_CHUNK && i < bytes / 8; i++) {
        uint64_t word = text->words[i];
        uint32_t distance = in_text(word, text) ? leads_to(word, ip, text) : LEADS_ELSEWHERE;

        if (distance < best >> 48)
            best = FOUND(word & PC_ADDRESS, distance);
    }
    return best;
}

/* The same for `bytes` of the stack, at most PC_WINDOW; 0: none. Searches all of them, because a function called
 * earlier may have left its return address nearer to the stack pointer than the wanted one. */
CALLER_STEP uint64_t search_return(uint64_t ip, uint64_t stack, uint32_t bytes, struct text *text)
{
    uint64_t best = FOUND_NONE;

    if (text == NULL)
        return 0;
    for (uint32_t at = 0; at < PC_WINDOW && at < bytes; at += PC_CHUNK * 8) {
        uint64_t found = search_chunk(ip, stack + at, bytes - at, text);

        if (found >> 48 < best >> 48)
            best = found;
    }
    return best & PC_ADDRESS;
}

/* Whether the function at `ip` has popped its return address before its system call and now pushes it back. vfork does,
 * because its child uses the same stack. The code is push %rdi, then a comparison of the result. */
static __always_inline bool has_taken_return(uint64_t ip)
{
    uint64_t code = user_word(ip);

    return (code & 0xffff) == 0x3d57 || (code & 0xffffff) == 0x3d4857;
}

/* The return address of such a function; 0: the child has overwritten it. */
CALLER_STEP uint64_t taken_return(uint64_t ip, uint64_t stack, const struct text *text)
{
    uint64_t word = user_word(stack - 8);

    return text != NULL && in_text(word, text) && leads_to(word, ip, text) < PC_CODE ? word : 0;
}

/* Records a step of the walk. A step through the frame pointer, or too many steps, make the walk unrecordable. */
static __always_inline void note_step(struct pc_memory *memory, uint32_t step, uint64_t frame,
                                      uint64_t offset, uint64_t word)
{
    if (step >= PC_STEPS || (frame & FRAME_FROM_POINTER)) {
        memory->steps = PC_STEPS + 1;
        return;
    }
    memory->offsets[step] = offset;
    memory->words[step] = word;
    if (memory->steps == step)
        memory->steps = step + 1;
}

/* Whether the call before a return address leads to a jump. (In a static program; see above.) */
CALLER_STEP bool calls_jump(uint64_t word)
{
    uint64_t code = user_word(word - 8);

    return (code >> 24 & 0xff) == 0xe8 && (user_word(word + (int32_t)(code >> 32)) & 0xff) == 0xe9;
}

/* Whether the walk ends with this return address into the program's text. */
CALLER_STEP bool ends_walk(struct pc_memory *memory, uint64_t word)
{
    bool jumps;

    if (memory == NULL || memory->state < WALK_IN_INNER)
        return true;
    jumps = calls_jump(word);
    if (memory->state >= WALK_STATES && !jumps)
        return true;
    memory->state = jumps ? WALK_STATIC : word;
    return false;
}

/* The first return address into the program's text on the way out of the function that contains `ip`, with this stack
 * and frame pointer; 0: not found. Records a short walk. */
CALLER_STEP uint64_t find_return(uint64_t ip, uint64_t stack, uint64_t pointer, struct text *text,
                                 struct pc_memory *memory)
{
    uint64_t offset = 0; /* of the current frame, from the stack pointer */

    if (text == NULL || memory == NULL)
        return 0;
    memory->state = !in_text(ip, text)               ? WALK_DYNAMIC
                    : (user_word(ip) & 0xff) == 0xc3 ? WALK_IN_INNER
                                                     : WALK_STATIC;
    memory->ip = 0;
    memory->pc = ip; /* until the PC is known */
    memory->steps = 0;
    if (has_taken_return(ip))
        return taken_return(ip, stack, text);
    for (uint32_t i = 0; i < PC_FRAMES; i++) {
        uint64_t frame = frame_at(ip, text);
        uint64_t at =
            (frame & FRAME_FROM_POINTER ? pointer - stack : offset) + (int64_t)(int32_t)frame;
        uint64_t word = frame == 0 || (int64_t)(at - offset) < 0 ? 0 : user_word(stack + at);

        if (word == 0 || !follows_call(word))
            break;
        note_step(memory, i, frame, at, word);
        if (in_text(word, text)) {
            uint32_t leads = leads_to(word, ip, text);

            if (leads == LEADS_ELSEWHERE)
                break;
            /* a return address inside the frame that does lead there contradicts the frame, or is left from an earlier
             * call */
            if (leads == LEADS_MAYBE && memory->state == WALK_DYNAMIC &&
                search_return(ip, stack + offset, at - offset, text) != 0)
                return 0;
            if (ends_walk(memory, word)) {
                if (memory->steps <= PC_STEPS)
                    memory->ip = memory->pc;
                memory->pc = memory->state >= WALK_STATES ? memory->state : word;
                return memory->pc;
            }
        }
        if ((frame >> 32 & 0xffff) != 0)
            pointer = user_word(stack + at - (frame >> 32 & 0xffff));
        offset = at + 8;
        ip = word;
    }
    if (memory->state != WALK_DYNAMIC)
        return memory->state >= WALK_STATES ? memory->state : 0;
    return search_return(ip, stack + offset, PC_WINDOW, text);
}

/* The PC of the recorded walk, if this one is the same; 0: it is not. */
static __always_inline uint64_t remembered(const struct pc_memory *memory, uint64_t ip,
                                           uint64_t stack)
{
    if (memory->ip != ip)
        return 0;
    for (uint32_t i = 0; i < PC_STEPS; i++) {
        if (i == memory->steps)
            break;
        if (user_word(stack + memory->offsets[i]) != memory->words[i])
            return 0;
    }
    return memory->pc;
}

#endif
