/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sensor_code.h: what expressions and conditions are compiled to, and the machine that runs it: in the kernel for
 * sensors, in dpm for probes. Both compile this file.
 *
 *      list->count + 1     CONSTANT 0  0x55d0c0104010   register 0: the address of list
 *                          LOAD     0  8 bytes          what is there: a pointer
 *                          LOAD     0  4 bytes at + 16  the member
 *                          CONSTANT 1  1
 *                          ADD      0                   register 0 + register 1 -> register 0
 *                          KEEP     0  value 0
 *
 * There are no jumps: both sides of ?: && || are evaluated, and what cannot be (a null pointer, a division by 0) is
 * unknown, which spreads to what depends on it. FALSE AND unknown is FALSE, as in views (Kleene).
 */
#ifndef DPM_SENSOR_CODE_H
#define DPM_SENSOR_CODE_H

#ifdef DPM_KERNEL_SIDE
#include <linux/types.h>
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
#else
#include <stdbool.h>
#include <stdint.h>
#endif

#define SENSOR_STEPS 128
#define SENSOR_DEPTH 8 /* registers of the machine */
#define SENSOR_REGISTERS                                                                           \
    17 /* of the processor, in DWARF's order: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip */
#define SENSOR_THREAD     SENSOR_REGISTERS /* as a register's number: the thread's own memory, fsbase */
#define SENSOR_VALUE_MOST 8
#define SENSOR_TEXTS_MOST 4   /* of these */
#define SENSOR_TEXT_BYTES 128 /* of a text, with its 0 */

enum sensor_operation {
    STEP_CONSTANT, /* to = constant; in a condition it may be large */
    STEP_REGISTER, /* to = the processor's register number `constant` */
    STEP_LOAD,     /* to = `size` bytes of memory at to + constant */
    STEP_ADD,      /* from here: to = to, operation, to + 1 */
    STEP_SUBTRACT,
    STEP_MULTIPLY,
    STEP_DIVIDE,
    STEP_REMAINDER,
    STEP_SHIFT_LEFT,
    STEP_SHIFT_RIGHT,
    STEP_BIT_AND,
    STEP_BIT_OR,
    STEP_BIT_EXCLUSIVE,
    STEP_EQUAL,
    STEP_NOT_EQUAL,
    STEP_LESS,
    STEP_LESS_EQUAL,
    STEP_AND, /* of truths: 0 or 1 */
    STEP_OR,
    STEP_ADD_CONSTANT, /* to = to + constant */
    STEP_NEGATE,       /* of to alone, again */
    STEP_COMPLEMENT,
    STEP_NOT,
    STEP_TRUTH,  /* to = to != 0 */
    STEP_EXTEND, /* to = the lowest `size` bytes of to */
    STEP_BITS,   /* to = `size` bits of to from bit `constant` on */
    STEP_SELECT, /* to = to ? to + 1 : to + 2 */
    STEP_KEEP,   /* value number `constant` = to */
    STEP_VALUE,  /* to = value number `constant`, as conditions of views see it */
    STEP_REAL, /* dpm only: on doubles, as the enum c_kind `constant` says; C_CAST: from float to double */
    STEP_TO_REAL,    /* dpm only: integer to double */
    STEP_TO_INTEGER, /* dpm only: double to integer */
};

struct sensor_step {
    uint8_t operation;
    uint8_t to;
    uint8_t size;
    uint8_t is_signed;
    uint32_t is_address; /* STEP_CONSTANT: of the program, so it moves with it */
    int64_t constant;
};

/* What a condition passes on, as struct view_filter does. */
enum sensor_conditional {
    SENSOR_ALL,       /* there is none */
    SENSOR_TRUE,      /* what is true, and the first one after that */
    SENSOR_CROSSINGS, /* what is true if the last one was not, and the other way round */
};

/* What a sensor does at one place in the code. */
struct sensor_code {
    uint32_t sensor; /* number */
    uint32_t count;
    uint32_t values;
    uint32_t texts; /* set of values that are addresses of texts, or of structs ... */
    uint32_t structs;
    uint8_t sizes[SENSOR_VALUE_MOST]; /* ... of so many bytes and one more */
    uint32_t
        conditional; /* enum sensor_conditional: register 0 is at the end the truth of the condition */
    struct sensor_step steps[SENSOR_STEPS];
};

/* A condition of a view calculates with doubles, which are exact for integers up to 2^53. Here a result beyond
 * 2^52 is `inexact`, and a comparison of it counts as true: the view decides. A value of the program that large
 * is replaced by 2^52 + 1 of its sign (`large`), which compares exactly with all that are not. */
#define SENSOR_EXACT_MOST ((int64_t)1 << 52)
#define SENSOR_EXACT_SIZE 53 /* `size` of a step of a condition */
#define SENSOR_DOUBTFUL   31 /* in the set `inexact`: the truth of a comparison is not known */

struct sensor_machine {
    uint64_t to[SENSOR_DEPTH + 2];
    uint64_t values[SENSOR_VALUE_MOST];
    /* sets of machine registers */
    uint32_t unknown;
    uint32_t large;
    uint32_t inexact;
    uint32_t known; /* set of values */
};

/* ---- the ring ---- */

struct sensor_event_record {
    uint32_t sensor;
    uint32_t spare;
    uint64_t time;
    uint32_t pid, tid;
    uint32_t known;
    uint32_t generation; /* of the sensor's number */
    uint64_t values[SENSOR_VALUE_MOST];
};

/* Instead of a sensor's number: a process has begun, or a program in it; the values are its name, and from this one on
 * inode and device of the file that it executes. */
#define SENSOR_BEGINS      0xffffffffu
#define SENSOR_BEGINS_FILE 2

/* With texts: those of the set, in order. */
struct sensor_text_record {
    struct sensor_event_record record;
    char texts[SENSOR_TEXTS_MOST][SENSOR_TEXT_BYTES];
};

#define SENSOR_UNTOLD 2

/* What a sensor has seen last: of its process, or of each that executes its file. */
struct sensor_memory {
    uint32_t
        was_true; /* struct view_filter; SENSOR_UNTOLD: the reader does not know, so the next one passes */
    uint32_t has_last; /* changes_only */
    uint64_t last_known;
    uint64_t last[SENSOR_VALUE_MOST];
    uint32_t turn; /* of the state, for which this holds */
    uint32_t muted;
};

/* An execution of a program by a process. */
struct sensor_process {
    uint32_t sensor;
    uint32_t pid;
    uint64_t start; /* ns since boot */
    uint64_t stack; /* where the stack begins */
};

#define SENSOR_ANY_DEVICE 0xffffffffu

/* What the kernel knows of a sensor. dpm maps it, and both write to it. */
struct sensor_state {
    uint32_t on;
    uint32_t changes_only;
    uint32_t notify;
    uint32_t generation;
    struct sensor_memory memory; /* by_file: of no process */
    uint64_t
        stack; /* where the stack of the program begins: another one belongs to another program */
    uint32_t by_file; /* instead: each process that executes this file ... */
    uint32_t family;  /* ... if it is in the set of these, too */
    uint64_t inode;
    uint32_t device; /* as in the kernel; SENSOR_ANY_DEVICE: files of this system have several */
    uint32_t turn;   /* memories of others are void */
    uint64_t code;   /* where the code of the file begins, as it was compiled */
    uint64_t hits, passed, refused, unchanged, lost, foreign;
};

/* Where hardware watchpoints are: threads that the program creates have copies of them without a cookie. */
struct sensor_watch {
    uint64_t address;
    uint64_t stack;
    uint32_t code;
    uint32_t used;
};

/* ---- the machine ---- */

#ifdef DPM_KERNEL_SIDE
#define SENSOR_INLINE static __attribute__((always_inline))
#else
#define SENSOR_INLINE static inline
#endif

SENSOR_INLINE uint64_t sensor_extend(uint64_t value, uint32_t bits, uint32_t is_signed)
{
    if (bits == 0 || bits >= 64)
        return value;
    value <<= 64 - bits;
    return is_signed ? (uint64_t)((int64_t)value >> (64 - bits)) : value >> (64 - bits);
}

SENSOR_INLINE uint64_t sensor_magnitude(uint64_t value)
{
    return (int64_t)value < 0 ? 0 - value : value;
}

/* BPF divides without sign only. */
SENSOR_INLINE uint64_t sensor_divide(uint64_t left, uint64_t right, uint32_t is_signed,
                                     uint32_t remainder)
{
    if (!is_signed)
        return remainder ? left % right : left / right;
    uint64_t one = sensor_magnitude(left), other = sensor_magnitude(right);
    uint64_t result = remainder ? one % other : one / other;
    int negative = remainder ? (int64_t)left < 0 : ((int64_t)left < 0) != ((int64_t)right < 0);
    return negative ? 0 - result : result;
}

SENSOR_INLINE uint64_t sensor_shift(uint64_t left, uint64_t by, const struct sensor_step *step)
{
    if (by > 63)
        return !step->is_signed || step->operation == STEP_SHIFT_LEFT || (int64_t)left >= 0
                   ? 0
                   : ~(uint64_t)0;
    if (step->operation == STEP_SHIFT_LEFT)
        return left << by;
    return step->is_signed ? (uint64_t)((int64_t)left >> by) : left >> by;
}

/* Both operands are known. */
SENSOR_INLINE uint64_t sensor_binary(const struct sensor_step *step, uint64_t left, uint64_t right)
{
    switch (step->operation) {
    case STEP_ADD:
        return left + right;
    case STEP_SUBTRACT:
        return left - right;
    case STEP_MULTIPLY:
        return left * right;
    case STEP_DIVIDE:
    case STEP_REMAINDER:
        return sensor_divide(left, right, step->is_signed, step->operation == STEP_REMAINDER);
    case STEP_SHIFT_LEFT:
    case STEP_SHIFT_RIGHT:
        return sensor_shift(left, right, step);
    case STEP_BIT_AND:
        return left & right;
    case STEP_BIT_OR:
        return left | right;
    case STEP_BIT_EXCLUSIVE:
        return left ^ right;
    case STEP_EQUAL:
        return left == right;
    case STEP_NOT_EQUAL:
        return left != right;
    case STEP_LESS:
        return step->is_signed ? (int64_t)left < (int64_t)right : left < right;
    default:
        return step->is_signed ? (int64_t)left <= (int64_t)right : left <= right;
    }
}

/* Whether |left * right| exceeds what is exact; both are exact. */
SENSOR_INLINE int sensor_product_inexact(uint64_t left, uint64_t right)
{
    uint64_t one = sensor_magnitude(left), other = sensor_magnitude(right);

    return one != 0 && other > (uint64_t)SENSOR_EXACT_MOST / one;
}

SENSOR_INLINE void sensor_mark(uint32_t *set, uint32_t at, uint32_t yes)
{
    *set = yes ? *set | 1u << at : *set & ~(1u << at);
}

SENSOR_INLINE uint32_t sensor_marked(uint32_t set, uint32_t at)
{
    return set >> at & 1;
}

/* Kleene's AND and OR: an operand that decides alone does so whatever the other is. */
SENSOR_INLINE void sensor_connect(struct sensor_machine *machine, const struct sensor_step *step,
                                  uint32_t to)
{
    uint64_t decides = step->operation == STEP_OR;
    uint32_t one = sensor_marked(machine->unknown, to);
    uint32_t other = sensor_marked(machine->unknown, to + 1);
    uint64_t left = machine->to[to], right = machine->to[to + 1];
    uint32_t decided = (!one && left == decides) || (!other && right == decides);

    machine->to[to] = decided ? decides : !decides;
    sensor_mark(&machine->unknown, to, !decided && (one || other));
}

/* Arithmetic and comparisons of conditions, of known operands. */
SENSOR_INLINE void sensor_exactly(struct sensor_machine *machine, const struct sensor_step *step,
                                  uint32_t to)
{
    uint32_t large = machine->large >> to & 3, inexact = machine->inexact >> to & 3;
    uint64_t left = machine->to[to], right = machine->to[to + 1];
    uint64_t result = sensor_binary(step, left, right);

    sensor_mark(&machine->large, to, 0);
    if (step->operation >= STEP_EQUAL) {
        sensor_mark(&machine->inexact, to, 0);
        machine->to[to] = result;
        if (inexact != 0 || large == 3) {
            machine->to[to] = 1;
            sensor_mark(&machine->inexact, SENSOR_DOUBTFUL, 1);
        }
        return;
    }
    if (step->operation == STEP_MULTIPLY && sensor_product_inexact(left, right))
        inexact = 1;
    machine->to[to] = result;
    sensor_mark(&machine->inexact, to,
                inexact != 0 || large != 0 ||
                    sensor_magnitude(result) > (uint64_t)SENSOR_EXACT_MOST);
}

SENSOR_INLINE void sensor_two(struct sensor_machine *machine, const struct sensor_step *step,
                              uint32_t to)
{
    uint32_t unknown = (machine->unknown >> to & 3) != 0;
    uint64_t right = machine->to[to + 1];

    if ((step->operation == STEP_DIVIDE || step->operation == STEP_REMAINDER) && right == 0)
        unknown = 1;
    sensor_mark(&machine->unknown, to, unknown);
    if (unknown)
        return;
    if (step->size == SENSOR_EXACT_SIZE)
        sensor_exactly(machine, step, to);
    else
        machine->to[to] = sensor_binary(step, machine->to[to], right);
}

SENSOR_INLINE void sensor_select(struct sensor_machine *machine, uint32_t to)
{
    uint32_t from = to + (machine->to[to] != 0 ? 1 : 2);

    from &= 15;
    if (from >= SENSOR_DEPTH + 2)
        return;
    uint32_t unknown = sensor_marked(machine->unknown, to) || sensor_marked(machine->unknown, from);
    machine->to[to] = machine->to[from];
    sensor_mark(&machine->unknown, to, unknown);
}

/* A value of the program, as a number of a condition. `is_signed`: of the value. */
SENSOR_INLINE void sensor_value(struct sensor_machine *machine, const struct sensor_step *step,
                                uint32_t to)
{
    uint32_t number = step->constant & (SENSOR_VALUE_MOST - 1);
    uint64_t value = machine->values[number];
    uint32_t negative = step->is_signed && (int64_t)value < 0;
    uint32_t large = (negative ? 0 - value : value) > (uint64_t)SENSOR_EXACT_MOST;

    if (large)
        value = negative ? (uint64_t)(-SENSOR_EXACT_MOST - 1) : (uint64_t)SENSOR_EXACT_MOST + 1;
    machine->to[to] = value;
    sensor_mark(&machine->large, to, large);
    sensor_mark(&machine->inexact, to, 0);
    sensor_mark(&machine->unknown, to, !sensor_marked(machine->known, number));
}

SENSOR_INLINE void sensor_constant(struct sensor_machine *machine, const struct sensor_step *step,
                                   uint32_t to)
{
    machine->to[to] = (uint64_t)step->constant;
    sensor_mark(&machine->unknown, to, 0);
    sensor_mark(&machine->inexact, to, 0);
    sensor_mark(&machine->large, to,
                step->size == SENSOR_EXACT_SIZE &&
                    sensor_magnitude(machine->to[to]) > (uint64_t)SENSOR_EXACT_MOST);
}

SENSOR_INLINE void sensor_keep(struct sensor_machine *machine, const struct sensor_step *step,
                               uint32_t to)
{
    uint32_t number = step->constant & (SENSOR_VALUE_MOST - 1);
    uint32_t unknown = sensor_marked(machine->unknown, to);

    machine->values[number] = unknown ? 0 : machine->to[to];
    sensor_mark(&machine->known, number, !unknown);
}

/* Everything but STEP_REGISTER, STEP_LOAD, and what only dpm can do. */
SENSOR_INLINE void sensor_run(struct sensor_machine *machine, const struct sensor_step *step)
{
    uint32_t to = step->to & (SENSOR_DEPTH - 1);
    uint64_t value = machine->to[to];

    switch (step->operation) {
    case STEP_CONSTANT:
        sensor_constant(machine, step, to);
        break;
    case STEP_VALUE:
        sensor_value(machine, step, to);
        break;
    case STEP_KEEP:
        sensor_keep(machine, step, to);
        break;
    case STEP_AND:
    case STEP_OR:
        sensor_connect(machine, step, to);
        break;
    case STEP_SELECT:
        sensor_select(machine, to);
        break;
    case STEP_NEGATE:
        machine->to[to] = 0 - value;
        if (step->size == SENSOR_EXACT_SIZE && sensor_marked(machine->large, to))
            sensor_mark(&machine->inexact, to, 1);
        break;
    case STEP_ADD_CONSTANT:
        machine->to[to] = value + (uint64_t)step->constant;
        break;
    case STEP_COMPLEMENT:
        machine->to[to] = ~value;
        break;
    case STEP_NOT:
        machine->to[to] = value == 0;
        break;
    case STEP_TRUTH:
        machine->to[to] = value != 0;
        break;
    case STEP_EXTEND:
        machine->to[to] = sensor_extend(value, step->size * 8u, step->is_signed);
        break;
    case STEP_BITS:
        machine->to[to] =
            sensor_extend(value >> (step->constant & 63), step->size, step->is_signed);
        break;
    default:
        sensor_two(machine, step, to);
    }
}
#endif
