/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kernel_selection.h: selection rules as the kernel meter evaluates them. Shared memory: the recorder writes it
 * (rules_selection.c), the hooks read it before a record gets its number and its place in a ring (write.bpf.h).
 *
 *      a rule is a bit                     type     thread     path      numbers in the record
 *                              SEND        1 1 1      . .       . .         .
 *                              redis       . . .      1 0       . .         .
 *                              bytes>1K    . . .      . .       . .        1 0
 *                                            \          \         \         /
 *                                             '----------'---------'---&---'---> 0: no rule can accept the record: none
 *                                                                                is made
 *
 * A bit that is set says that the rule may accept; the recorder then decides. So what the kernel does not know, or not
 * yet, makes no difference but in time: a field that exists only in a finished record, a thread or path that the recorder
 * has not looked at yet, and rules behind the 63rd, which share a bit.
 */
#ifndef DPM_KERNEL_SELECTION_H
#define DPM_KERNEL_SELECTION_H

#include "event/record.h"

#ifndef DPM_KERNEL_SIDE
#include <stdbool.h>
#endif

#define SELECTION_RULES      64u /* the last bit is that of all others */
#define SELECTION_CONDITIONS 64u /* others are left to the recorder */
#define SELECTION_TYPES      64u
#define SELECTION_STREAMS    2048u /* powers of two */
#define SELECTION_PATHS      8192u
#define SELECTION_COUNTERS   64u

/* Which outcomes of a comparison are right. */
enum selection_relation {
    SELECTION_LESS = 1,
    SELECTION_EQUAL = 2,
    SELECTION_GREATER = 4,
};

/* An unsigned number in the 16 bytes behind the record's header. */
struct selection_number {
    uint64_t mask;
    uint8_t second; /* 1: it is in the second half */
    uint8_t shift;  /* bits in that half */
    uint8_t unused[6];
};

/* If it does not hold, none of its rules accepts the record. */
struct selection_condition {
    uint64_t rules;
    struct selection_number left, right; /* right.mask 0: `value` instead */
    uint64_t value;
    uint64_t relation; /* enum selection_relation */
};

/* The rules that may accept records of a stream, or on a path: a small table by number. */
struct selection_entry {
    uint32_t number;  /* 0: none, or it is being written */
    uint32_t version; /* of the stream's identity: how many STREAM records it has had */
    uint32_t epoch;   /* streams: of the names that rules have been compared with */
    uint32_t unused;
    uint64_t rules;
};

struct selection_counter {
    uint64_t counts[2]; /* by ring (enum ring_id) that the records would have been in */
    uint64_t unused[6]; /* a cache line of its own */
};

struct selection {
    /* Of the rules. 0: there are none, odd: they are being written; nothing is dropped then. */
    uint64_t generation;
    uint32_t epoch; /* entries of streams with another one are not valid any more */
    uint32_t conditions_used;
    uint32_t asks_streams, asks_paths; /* 1: some condition is on streams, on paths */
    uint64_t without_stream;           /* rules that may accept records of no stream */
    uint64_t plain;                    /* rules without a condition on numbers */
    uint64_t by_type[SELECTION_TYPES]; /* rules that may accept the type */
    uint64_t with_path;  /* EVENT_FLAG of types whose first number is that of a path ... */
    uint64_t of_control; /* ... that go to the control ring */
    struct selection_condition conditions[SELECTION_CONDITIONS];
    struct selection_entry streams[SELECTION_STREAMS];
    struct selection_entry paths[SELECTION_PATHS];
    struct selection_counter dropped[SELECTION_COUNTERS]; /* records, by CPU; the kernel counts */
};

/* What the evaluation knows of a record. */
struct selection_record {
    uint64_t first, second; /* the 16 bytes behind its header */
    uint32_t id;
    uint32_t stream; /* its number; 0: it is of no stream */
    uint32_t version;
};

static inline __attribute__((always_inline)) uint64_t
selection_value(const struct selection_number *number, const struct selection_record *record)
{
    return (number->second ? record->second : record->first) >> (number->shift & 63) & number->mask;
}

/* Whether a condition holds. */
static inline __attribute__((always_inline)) bool
selection_holds(const struct selection_condition *condition, const struct selection_record *record)
{
    uint64_t left = selection_value(&condition->left, record);
    uint64_t right =
        condition->right.mask == 0 ? condition->value : selection_value(&condition->right, record);
    uint64_t outcome = left < right    ? SELECTION_LESS
                       : left == right ? SELECTION_EQUAL
                                       : SELECTION_GREATER;

    return (condition->relation & outcome) != 0;
}

/* Where a dropped record is counted. */
static inline __attribute__((always_inline)) uint64_t *
selection_counter(struct selection *selection, uint32_t cpu, uint32_t id)
{
    uint64_t is_of_data = ~(selection->of_control >> (id & 63)) & 1;

    return &selection->dropped[cpu & (SELECTION_COUNTERS - 1)].counts[is_of_data];
}

/* The rules that may accept, as far as is known of this stream or path. The number is read again: another one may have
 * taken the place meanwhile. */
static inline __attribute__((always_inline)) uint64_t
selection_known(const struct selection_entry *entry, uint32_t number, uint32_t version,
                uint32_t epoch)
{
    const volatile struct selection_entry *now = entry;
    uint64_t rules;

    if (number == 0 || now->number != number || now->version != version || now->epoch != epoch)
        return ~0ULL;
    rules = now->rules;
    return now->number == number ? rules : ~0ULL;
}

/* Whether any rule may accept the record. */
static inline __attribute__((always_inline)) bool
selection_may_accept(const struct selection *selection, const struct selection_record *record)
{
    const volatile uint64_t *generation = &selection->generation;
    uint64_t before = *generation;
    uint64_t rules = selection->by_type[record->id & (SELECTION_TYPES - 1)];

    if (before == 0 || (before & 1) != 0)
        return true;
    if (record->stream == 0)
        rules &= selection->without_stream;
    else if (selection->asks_streams && rules != 0)
        rules &= selection_known(&selection->streams[record->stream & (SELECTION_STREAMS - 1)],
                                 record->stream, record->version, selection->epoch);
    if (selection->asks_paths && rules != 0 && (selection->with_path >> (record->id & 63) & 1) != 0)
        rules &= selection_known(&selection->paths[record->first & (SELECTION_PATHS - 1)],
                                 (uint32_t)record->first, 0, 0);
    if (rules != 0 && (rules & selection->plain) == 0)
        for (uint32_t i = 0; i < SELECTION_CONDITIONS; i++) {
            if (i >= selection->conditions_used || rules == 0)
                break;
            if ((rules & selection->conditions[i].rules) != 0 &&
                !selection_holds(&selection->conditions[i], record))
                rules &= ~selection->conditions[i].rules;
        }
    return rules != 0 || *generation != before;
}

#endif
