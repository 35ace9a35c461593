/* SPDX-License-Identifier: MIT */
/*
 * value_runs.h: values of uses that wait until there are many, and are then distributed. Private to statistics/.
 *
 *      message --messages.c--> latest values of its use --run--> value_runs --by use and kind--> histograms
 */
#ifndef DPM_VALUE_RUNS_H
#define DPM_VALUE_RUNS_H

#include <stddef.h>
#include <stdint.h>

struct statistics;
struct statistics_use;

/* What there is a histogram of. */
enum value_kind {
    VALUE_SENT,     /* bytes of a message */
    VALUE_RECEIVED, /* the same, only where sends are not metered: what the others sent */
    VALUE_ANSWER,   /* ns; of a server or a client */
    VALUE_WAITS,    /* from here on ns, in the order of enum time_kind: */
    VALUE_MESSAGE_WAIT = VALUE_WAITS,
    VALUE_RECEIVER_WAIT,
    VALUE_SENDER_BLOCKED,
    VALUE_DELIVERY,
    VALUE_KINDS,
};

/* A value and its kind in one word. */
#define KIND_BITS  3
#define VALUE_BITS (32 - KIND_BITS)

_Static_assert(VALUE_KINDS <= 1 << KIND_BITS, "each kind has a number");

/* How a value is kept that is not distributed yet. */
static inline uint32_t value_as_kept(enum value_kind kind, uint64_t value)
{
    return (uint32_t)value << KIND_BITS | kind;
}

static inline enum value_kind kept_kind(uint32_t kept)
{
    return kept % (1 << KIND_BITS);
}

static inline uint32_t kept_value(uint32_t kept)
{
    return kept >> KIND_BITS;
}

/* Values that are not distributed yet. */
struct value_runs {
    uint32_t *words;
    size_t capacity;
    uint32_t used;
    struct gathered_values *gathered; /* while they are distributed; NULL: they never were */
};

/* ---- these return 0 or -ENOMEM: then the statistics can only be freed ---- */

/* Values that a use has had one after the other, each with its kind. */
struct value_run {
    uint32_t use;    /* index into uses */
    uint32_t before; /* the run before of the same use + 1; 0: this is the first */
    uint32_t count;
    uint32_t values[];
};

/* The latest run of a use, and the one before it; NULL: there is none. */
const struct value_run *value_run_latest(const struct statistics *statistics,
                                         const struct statistics_use *use);
const struct value_run *value_run_before(const struct statistics *statistics,
                                         const struct value_run *run);

/* One more run of a use: index into uses. */
int value_runs_add(struct statistics *statistics, uint32_t use, const uint32_t *values,
                   uint32_t count);

/* All runs of a use are those of another one from now on: index into uses. */
void value_runs_hand_over(struct statistics *statistics, struct statistics_use *from, uint32_t to);

/* Distributes all, or but for those of uses that live and have had few. */
int value_runs_count(struct statistics *statistics);
int value_runs_count_many(struct statistics *statistics);
void value_runs_done(struct statistics *statistics);

#endif
