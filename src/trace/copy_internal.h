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

struct trace_copy {
    struct copy_file files[RING_COUNT];
    uint32_t here;         /* number of their pair */
    uint32_t pairs;        /* with it; 0: none so far, `here` means nothing */
    bool has_first;        /* the copy begins with the recording */
    bool hidden;           /* control has its hidden name */
    uint64_t repeats_left; /* records that its beginning still lacks, if it is hidden */
    uint64_t packets_here; /* of this pair */
    int named; /* while it is hidden: the last control file with a name, which keeps its lock; else -1 */
    int directory; /* locked against other writers of the copy */
    uint8_t uuid[TRACE_UUID_SIZE];
    char *metadata;
    size_t metadata_size;
    unsigned format;
    uint64_t max_bytes;
    bool ended;
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

/* If what the hidden control file repeats is complete, it gets its name. */
int copy_give_name(struct trace_copy *copy, struct problem *problem);

/* ---- copy_open.c ---- */

/* Finds out what the directory, which is open and locked, has of the copy, cuts off partial packets, and opens its last
 * pair of files. */
int copy_recover(struct trace_copy *copy, struct problem *problem);

#endif
