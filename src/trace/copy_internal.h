/* SPDX-License-Identifier: MIT */
/*
 * copy_internal.h: a copy of a trace that is being written: shared by copy.c and copy_open.c only.
 *
 *      control  data  control.1  data.1  .control.2  data.2       what control.2 repeats is not complete yet
 */
#ifndef DPM_COPY_INTERNAL_H
#define DPM_COPY_INTERNAL_H

#include "trace/packet_check.h"
#include "trace/packets.h"

struct copy_file {
    int file;
    uint64_t size; /* bytes of whole packets */
    bool torn;     /* more is behind them, which could not be cut off */
    struct trace_position last;
};

/* A pair of files before the last one. */
struct copy_pair {
    uint32_t number;
    uint64_t bytes;
    uint64_t begin; /* time of its first record; 0: not known */
};

struct trace_copy {
    struct copy_file files[RING_COUNT];
    uint32_t here;         /* number of their pair */
    uint32_t pairs;        /* with it; 0: none so far, `here` means nothing */
    bool has_first;        /* the copy begins with the recording */
    bool hidden;           /* control has its hidden name */
    uint64_t repeats_left; /* records that its beginning still lacks, if it is hidden */
    uint64_t packets_here; /* of this pair */
    uint64_t begin_here;   /* when its first record was made; 0: not known */
    int named; /* while it is hidden: the last control file with a name, which keeps its lock; else -1 */
    int directory;            /* locked against other writers of the copy */
    int reserved[RING_COUNT]; /* descriptors for the first pair, until it is opened; else -1 */
    uint8_t uuid[TRACE_UUID_SIZE];
    char *metadata;
    size_t metadata_size;
    unsigned format;
    struct trace_copy_limits limits;
    /* with limits.newest: all pairs but the last one, oldest first */
    struct copy_pair *earlier;
    size_t earlier_count, earlier_capacity;
    bool ended;
    bool full; /* a packet did not fit: only END is stored */
    struct trace_copy_counts counts;
    char name[TRACE_NAME_SIZE];
};

#define COPY_NAME_SIZE (TRACE_FILE_NAME_SIZE + 1)

/* The hidden name of a control file. */
void copy_hidden_name(uint32_t number, char ret_name[COPY_NAME_SIZE]);

/* ---- copy.c ---- */

/* Whether an aligned whole packet of control begins a pair: with MACHINE and, if `file` is not 0, BEGIN. Then
 * *ret_repeated is how many records the beginning has, these included; 0 in the first file. */
bool copy_begins_pair(const void *packet, uint32_t file, uint64_t *ret_repeated);

/* Records in an aligned whole packet that has no classes; 0: unknown. */
uint64_t copy_count_records(const void *packet);

/* Others may be opened in place of those that are reserved. */
void copy_release_reserved(struct trace_copy *copy);

/* If what the hidden control file repeats is complete, it gets its name. */
int copy_give_name(struct trace_copy *copy, struct problem *problem);

/* ---- copy_newest.c: copies that keep only the newest ---- */

/* The last pair is followed by another one. Returns 0 or -ENOMEM. */
int copy_newest_note(struct trace_copy *copy, const struct copy_pair *pair);

/* Notes the earlier pairs of a copy that is opened again. */
int copy_newest_find(struct trace_copy *copy, const struct trace_numbers *numbers,
                     struct problem *problem);

/* Before `size` bytes are added, of records up to `time`: removes the oldest pairs as the limits say. */
void copy_newest_make_space(struct trace_copy *copy, uint64_t size, uint64_t time);

/* ---- copy_open.c ---- */

/* Finds out what the directory, which is open and locked, has of the copy, cuts off partial packets, and opens its last
 * pair of files. */
int copy_recover(struct trace_copy *copy, struct problem *problem);

#endif
