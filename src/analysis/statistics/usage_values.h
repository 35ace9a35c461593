/* SPDX-License-Identifier: MIT */
/*
 * usage_values.h: what there is a histogram of, for one process at one endpoint. Private to statistics/.
 *
 *      message --> usage: | 31 | 120 | 77 | ... the latest values --full--> sorted --> histograms
 *
 * A message brings up to five values, each for another histogram; to add them one by one would fetch all of these for each
 * message.
 */
#ifndef DPM_USAGE_VALUES_H
#define DPM_USAGE_VALUES_H

#include "analysis/statistics/statistics.h"

struct usage;

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

_Static_assert(VALUE_KINDS - VALUE_WAITS == TIME_KINDS - TIME_MESSAGE_WAIT, "both in one order");

#define LATEST_MOST 28

/* The latest values, each with its kind in its highest bits, so that they sort by kind. */
struct latest_values {
    uint32_t count;
    uint32_t list[LATEST_MOST];
};

struct value_histograms {
    struct histogram of[VALUE_KINDS];
};

/* To which times the values of a usage belong, by their kind: an answer is a server's or a client's. */
enum time_kind time_kind_of(const struct usage *usage, enum value_kind kind);

/* These return 0 or -ENOMEM. */
int usage_values_add(struct usage *usage, enum value_kind kind, uint64_t value);

/* Adds all that `from` has to `to`. */
int usage_values_merge(struct usage *to, const struct usage *from);

/* Of usages, and of rows of which there are many: with six kinds of values that is 4 KiB at most. */
#define USAGE_BUCKETS 80

/* Adds all values of a kind that a usage has to a row's histogram, of at most so many buckets. */
int usage_values_add_to(const struct usage *usage, enum value_kind kind,
                        struct histogram *histogram, unsigned most);

#endif
