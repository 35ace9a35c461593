/* SPDX-License-Identifier: MIT */
/*
 * raw_records.h: the raw records of another system in memory, told apart by descriptions, in order of time. Private to
 * filter/.
 *
 *      RAW --> | header | body | header | body | ... --> machine 3: records by time, machine 5: ...
 *
 * Messages to a filter may overtake each other (thesis, 3.2.1: "no constraint on message ordering"), so records of a machine
 * are sorted by their times. Counters of 4 bytes that overflow go on.
 */
#ifndef DPM_RAW_RECORDS_H
#define DPM_RAW_RECORDS_H

#include "rules/descriptions.h"

#define RAW_BYTES_MOST    (1ull << 30) /* so there are fewer than 2^32 records */
#define RAW_MACHINES_MOST 1024u

struct raw_record {
    uint64_t time; /* ns */
    size_t at;     /* of its header in `bytes` */
    const struct description *type;
    uint32_t machine; /* index */
};

struct raw_records {
    const struct descriptions *descriptions;
    struct described_system system;
    unsigned char *bytes;
    size_t size;
    struct raw_record *list; /* by machine and time; equal times as they stand in the file */
    size_t count, capacity;
    uint64_t machines[RAW_MACHINES_MOST]; /* their numbers; 0 if records do not say */
    uint32_t machine_count;
    uint64_t unknown;      /* records of types without a description */
    uint64_t some_unknown; /* one of these types */
    size_t cut;            /* bytes of a record at the end that is not whole */
};

/* Reads a file; "-": standard input. `descriptions` must outlive the records. Errors, with a line in `problem` that names
 * the byte: -EINVAL: these are not such records; -EFBIG; of reading; -ENOMEM. Free with raw_records_done. */
int raw_records_read(struct raw_records *records, const struct descriptions *descriptions,
                     const char *path, struct problem *problem);

/* The same from memory, which the records own from now on. */
int raw_records_take(struct raw_records *records, const struct descriptions *descriptions,
                     const char *name, unsigned char *bytes, size_t size, struct problem *problem);
void raw_records_done(struct raw_records *records);

/* The number with this meaning in a record. Returns false if it has none. `ret_field` may be NULL. */
bool raw_number(const struct raw_records *records, const struct raw_record *record,
                enum meaning meaning, uint64_t *ret_number,
                const struct description_field **ret_field);

/* The bytes of a field of the record. */
const unsigned char *raw_part(const struct raw_records *records, const struct raw_record *record,
                              const struct description_field *field);

/* All its numbers, by the index of their names. */
void raw_record_values(const struct raw_records *records, const struct raw_record *record,
                       struct raw_values *ret_values);

/* A counter of `length` bytes, continued from `near` over its overflows. */
uint64_t raw_unwrap(uint64_t near, uint64_t counter, unsigned length);

#endif
