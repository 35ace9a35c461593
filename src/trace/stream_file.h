/* SPDX-License-Identifier: MIT */
/*
 * stream_file.h: reads one file of a trace, record by record. Private to trace/.
 *
 *      stream_file_open, _begin --> file->record --> stream_file_next --> file->record ... --> NULL
 */
#ifndef DPM_STREAM_FILE_H
#define DPM_STREAM_FILE_H

#include "trace/classes.h"
#include "trace/trace_internal.h"

#define RECORD_TYPES 256

struct stream_file {
    const unsigned char *record;  /* the next record; NULL: none is left */
    const unsigned char *content; /* end of the records in the packet */
    size_t record_size;
    uint64_t time; /* of the next record, or of the last one if none is left */
    int64_t wall_offset;
    const uint16_t
        *sizes; /* [RECORD_TYPES] sizes of this file's records; 0: not in it, or in a class */
    struct classes *classes; /* NULL: none so far */
    uint64_t absent;         /* fields that the next record lacks (struct event) */

    unsigned char *window;
    size_t capacity;
    size_t filled;
    uint64_t window_offset; /* its offset in the file */

    uint64_t size;    /* of the file, when it was opened */
    uint64_t next;    /* offset of the next packet */
    uint64_t packets; /* entered so far; also the number of the next one */
    uint64_t discarded;
    uint64_t partial;
    uint64_t last;                     /* offset of the record before the next one */
    struct trace_packet_header header; /* expected in each packet */
    int file;
    char name[TRACE_NAME_SIZE + 16];
};

/* Opens `trace`/control or `trace`/data. Before, the struct must be all zero, except `sizes`, and `file` < 0. Returns
 * 0, or a negative errno with a line in `problem`. */
int stream_file_open(struct stream_file *file, int directory, const char *trace, enum ring_id ring,
                     const uint8_t uuid[TRACE_UUID_SIZE], struct problem *problem);
void stream_file_close(struct stream_file *file);

/* Returns to the state after stream_file_open. */
void stream_file_rewind(struct stream_file *file);

/* stream_file_begin goes to the first record of the next packet that has one; stream_file_next goes to the next
 * record. After the last one, file->record is NULL. Both return 0, -EBADMSG (the file is damaged) or another negative
 * errno, with a line in `problem`. */
int stream_file_begin(struct stream_file *file, struct problem *problem);
int stream_file_next(struct stream_file *file, struct problem *problem);

/* The offset of the next record in the file. */
uint64_t stream_file_offset(const struct stream_file *file);

/* Returns -EBADMSG, with a line in `problem`: `what` is wrong at this byte. */
int stream_file_damaged(const struct stream_file *file, uint64_t offset, const char *what,
                        struct problem *problem);

#endif
