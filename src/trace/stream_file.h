/* SPDX-License-Identifier: MIT */
/*
 * stream_file.h: reads one stream of a trace, record by record: its file, or its numbered files one after the other as if
 * they were one. Private to trace/.
 *
 *      control.3 |MACHINE BEGIN identities again ... | control.4 |MACHINE BEGIN identities again ...
 *                 ^first record                                  ^---- skipped --------------'
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

    int *
        files; /* [count] descriptors; all are open, so that the writer may remove files meanwhile */
    uint64_t *sizes_of_files; /* [count] when they were opened */
    uint32_t *numbers;        /* [count] of the files; numbers may be missing in a copy */
    uint32_t count;
    uint32_t at;      /* index of the file being read */
    uint32_t here;    /* its number */
    bool repeats;     /* the file being read begins with records that are to be skipped */
    uint64_t written; /* when the packet that was entered last was written */
    bool hole;        /* something before it is missing: these records are needed */
    uint64_t missing; /* packets that the numbers skip */
    uint64_t least;   /* sleeps begin no earlier: the trace was still kept then; 0: any time */

    uint64_t size;    /* of the file being read */
    uint64_t next;    /* offset of the next packet */
    uint64_t packets; /* number of the next one */
    bool
        numbered; /* `packets` is known: a packet was entered, or the stream has all of its files */
    uint64_t discarded;
    uint64_t partial;
    uint64_t last;                     /* offset of the record before the next one */
    struct trace_packet_header header; /* expected in each packet */
    int file;                          /* being read */
    enum ring_id ring;
    char trace[TRACE_NAME_SIZE];
    char name[TRACE_NAME_SIZE + TRACE_FILE_NAME_SIZE];
};

/* Opens the files of `trace`/control or `trace`/data with these numbers. Before, the struct must be all zero, except
 * `sizes`, and `file` < 0. Returns 0, or a negative errno with a line in `problem`. */
int stream_file_open(struct stream_file *file, int directory, const char *trace, enum ring_id ring,
                     const struct trace_numbers *numbers, const uint8_t uuid[TRACE_UUID_SIZE],
                     struct problem *problem);
void stream_file_close(struct stream_file *file);

/* While the trace grows, after the last record: looks for more in the last file; or goes to a later file, which is opened
 * already and becomes the file's own. `gap`: files before it are missing. stream_file_begin continues then. */
int stream_file_look_again(struct stream_file *file, struct problem *problem);
int stream_file_go_on(struct stream_file *file, int descriptor, uint32_t number, bool gap,
                      struct problem *problem);

/* Whether the stream has its first file. */
static inline bool stream_file_has_all(const struct stream_file *file)
{
    return file->numbers[0] == 0;
}

/* Returns to the state after stream_file_open. */
void stream_file_rewind(struct stream_file *file);

/* stream_file_begin goes to the first record of the next packet that has one; stream_file_next goes to the next
 * record. After the last one, file->record is NULL. Both return 0, -EBADMSG (the file is damaged) or another negative
 * errno, with a line in `problem`. */
int stream_file_begin(struct stream_file *file, struct problem *problem);
int stream_file_next(struct stream_file *file, struct problem *problem);

/* The offset of the next record in the file being read. */
uint64_t stream_file_offset(const struct stream_file *file);

/* Returns -EBADMSG, with a line in `problem`: `what` is wrong at this byte. */
int stream_file_damaged(const struct stream_file *file, uint64_t offset, const char *what,
                        struct problem *problem);

#endif
