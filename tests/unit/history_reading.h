/* SPDX-License-Identifier: MIT */
/*
 * history_reading.h: a parsed case of history_text.h: records on tapes, and the expected results.
 *
 *      struct reading
 *       |-- tapes[A, B]   records, as a history reads them
 *       |-- lines         a statement with its record, and the causes behind its "<-"
 *       |-- orders        "order": references to lines
 *       '-- counts        "then"
 */
#ifndef DPM_HISTORY_READING_H
#define DPM_HISTORY_READING_H

#include "tapes.h"

#define SECOND   1000000000ull
#define START    (100 * SECOND) /* time 0 of machine A */
#define MACHINES 2
#define NOWHERE  SIZE_MAX
#define NEVER    UINT64_MAX

/* s1#2, B.s1#2: record 2 of a stream; kernel@20: the record of no stream made at 20. */
struct reference {
    uint32_t origin;
    bool of_kernel;
    uint32_t stream;
    uint32_t sequence;
    uint64_t time; /* since its machine's start */
};

struct cause {
    enum edge_kind kind;
    struct reference from;
    uint32_t bytes;
    bool earlier;
    const char *where;
};

/* The text after "<-". */
struct causes {
    struct cause *of;
    size_t count;
    size_t capacity;
    enum history_rest rest;
    uint32_t rest_bytes;
};

/* A statement that makes a record. */
struct line {
    uint32_t origin;
    const char *text;
    int length; /* up to "<-" */
    struct record_header *record;
    bool has_name;
    struct reference name;
    struct causes expected;
    struct causes found;
    bool is_out;
    uint64_t number; /* in the causal stream */
    uint64_t when;
    uint64_t proc_time;
};

struct order {
    const char *where;
    struct reference *of;
    size_t count;
    size_t capacity;
};

struct reading {
    const char *text;
    const char *at;
    char *problem; /* the first one */
    struct tape tapes[MACHINES];
    uint64_t ahead[MACHINES]; /* of machine A's clock, ns */
    struct intern paths;      /* announced paths, and */
    struct intern streams;    /* streams with a STREAM record: number_key */
    struct line *lines;
    size_t line_count;
    size_t line_capacity;
    struct order *orders;
    size_t order_count;
    size_t order_capacity;
    struct history_counts counts;
    bool without_rooms;
    bool not_live;
    uint64_t clock_within; /* NEVER: not checked */
};

/* Reads the text. `problem` has the first error, with line and column. */
void reading_begin(struct reading *ret_reading, const char *text);
void reading_done(struct reading *reading);

/* The index of the line that is meant, which was checked to exist. */
size_t reading_find(struct reading *reading, const struct reference *reference, const char *where);

void reading_add_cause(struct causes *causes, const struct cause *cause);

static inline uint64_t reading_start(const struct reading *reading, uint32_t origin)
{
    return START + reading->ahead[origin];
}

static inline bool is_same_reference(const struct reference *a, const struct reference *b)
{
    return a->origin == b->origin && a->of_kernel == b->of_kernel && a->stream == b->stream &&
           a->sequence == b->sequence && (!a->of_kernel || a->time == b->time);
}

static inline bool is_of_room(enum edge_kind kind)
{
    return kind == EDGE_ROOM || kind == EDGE_CONNECTION;
}

/* The counts that a case can name, by name; NULL after the last. */
const char *reading_count(size_t index, struct history_counts *counts, uint64_t **ret_value);

#endif
