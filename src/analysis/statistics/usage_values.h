/* SPDX-License-Identifier: MIT */
/*
 * usage_values.h: values that go into histograms, for one process at one endpoint. Private to statistics/.
 *
 *      message --> usage: | 31 | 120 | 77 | ... the latest values --when full--> sorted --> histograms
 *
 * A message has up to six values, each for a different histogram. Adding them one by one would load all these
 * histograms into the cache for each message.
 */
#ifndef DPM_USAGE_VALUES_H
#define DPM_USAGE_VALUES_H

#include "analysis/statistics/statistics.h"

struct usage;

enum value_kind {
    VALUE_SENT,         /* bytes of a message */
    VALUE_RECEIVED,     /* the same, only if the sends at the other end are not metered */
    VALUE_ANSWER,       /* ns: response time of a server, request latency of a client */
    VALUE_ANSWER_WHOLE, /* the same, to the last piece of the answer */
    VALUE_WAITS,        /* from here on in ns and in the order of enum time_kind */
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

/* The kind of time of a value. That of an answer depends on who measures: TIME_RESPONSE of a server, TIME_REQUEST of a
 * client. */
enum time_kind time_kind_of(const struct usage *usage, enum value_kind kind);

/* These return 0 or -ENOMEM. */
int usage_values_add(struct usage *usage, enum value_kind kind, uint64_t value);

/* Adds all values of `from` to `to`. */
int usage_values_merge(struct usage *to, const struct usage *from);

/* Most buckets of a histogram of a usage, or of a row of which there are many: 5 KiB at most for seven kinds of
 * values. */
#define USAGE_BUCKETS 80

/* Adds all values of one kind to a row's histogram of at most `most` buckets. */
int usage_values_add_to(const struct usage *usage, enum value_kind kind,
                        struct histogram *histogram, unsigned most);

#endif
