/* SPDX-License-Identifier: MIT */
/*
 * stream_file.h: one file of a trace, record by record. Private to trace/.
 *
 *      stream_file_open, _begin --> file->record --> stream_file_next --> file->record ... --> NULL
 */
#ifndef DPM_STREAM_FILE_H
#define DPM_STREAM_FILE_H

#include "trace/trace_internal.h"

#define RECORD_TYPES 256

struct stream_file {
    const unsigned char *record;  /* the next record, NULL: none is left */
    const unsigned char *content; /* end of the packet's records */
    size_t record_size;
    uint64_t time; /* of the next record, or of the last one */
    int64_t wall_offset;
    const uint16_t *sizes; /* [RECORD_TYPES] of the records of this stream, 0: none of it */

    unsigned char *window;
    size_t capacity;
    size_t filled;
    uint64_t window_offset; /* where the window begins in the file */

    uint64_t size;    /* of the file when it was opened */
    uint64_t next;    /* where the next packet begins */
    uint64_t packets; /* entered so far = number of the next one */
    uint64_t discarded;
    uint64_t partial;
    uint64_t last;                     /* where the last record began that was left behind */
    struct trace_packet_header header; /* as each packet must have it */
    int file;
    char name[TRACE_NAME_SIZE + 16];
};

/* All zero but for `sizes`, and `file` < 0, before it is opened: as `trace`/control or data. Returns 0 or a negative
 * errno with a line in `problem`. */
int stream_file_open(struct stream_file *file, int directory, const char *trace, enum ring_id ring,
                     const uint8_t uuid[TRACE_UUID_SIZE], struct problem *problem);
void stream_file_close(struct stream_file *file);

/* Is as it was when it had been opened. */
void stream_file_rewind(struct stream_file *file);

/* Goes to the first record of the next packet that has one; and from a record to the next one. file->record is
 * then NULL if there is none. Return 0, -EBADMSG (the file is damaged), or another negative errno; a line in
 * `problem`. */
int stream_file_begin(struct stream_file *file, struct problem *problem);
int stream_file_next(struct stream_file *file, struct problem *problem);

/* Where the next record begins in the file. */
uint64_t stream_file_offset(const struct stream_file *file);

/* -EBADMSG: `what` is wrong at this byte. */
int stream_file_damaged(const struct stream_file *file, uint64_t offset, const char *what,
                        struct problem *problem);

#endif
