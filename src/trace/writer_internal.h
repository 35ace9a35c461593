/* SPDX-License-Identifier: MIT */
/* writer_internal.h: a trace that is being written: shared by writer.c and rotation.c only. */
#ifndef DPM_WRITER_INTERNAL_H
#define DPM_WRITER_INTERNAL_H

#include "trace/classes.h"
#include "trace/trace_internal.h"

struct stream_buffer {
    unsigned char *packet; /* page-aligned */
    size_t used;           /* bytes, headers included; TRACE_CONTENT: no record */
    size_t room;
    uint64_t records;   /* in the buffer */
    uint64_t last_time; /* of the stream */
    uint64_t packets;   /* written */
    uint64_t file_size;
    uint64_t discarded;
    int file;
};

struct rotation;

struct trace_writer {
    struct stream_buffer streams[RING_COUNT];
    uint8_t uuid[TRACE_UUID_SIZE];
    uint64_t max_size;
    uint64_t committed;
    uint64_t metadata_size;
    uint64_t accepted;       /* records appended */
    uint64_t written;        /* records in whole packets */
    uint64_t dropped;        /* records appended whose packet could not be written */
    enum end_reason stopped; /* END_SIZE or END_DISK: nothing more is accepted; else 0 */
    struct record last;      /* written just before END; its ID is 0: none */
    int directory;
    char name[TRACE_NAME_SIZE];
    char *metadata;            /* [metadata_size] the text as written */
    struct rotation *rotation; /* NULL: everything is kept */
    uint64_t least_time;       /* when the current files began; 0: they are the first */
    uint64_t repeated;         /* of `accepted`: records that were in earlier files, too */
    struct classes classes[RING_COUNT];
    bool said[RING_COUNT][CLASSES_MOST]; /* which classes have their CLASS in the current file */
    bool is_past;        /* a copy of what was recorded before: its clocks are not those of now */
    int64_t wall_offset; /* ... but differ by this */
};

/* ---- writer.c ---- */

/* Writes the buffers that contain records, each as one packet, and empties them, even on error. Control comes first:
 * whoever reads a packet of data finds what it refers to, after a kill, too. */
int writer_write_buffers(struct trace_writer *writer, struct problem *problem);

/* Appends `size` bytes to a ring, without rotation. */
int writer_put(struct trace_writer *writer, enum ring_id ring, const struct record_header *record,
               size_t size, struct problem *problem);

/* Creates a file in the trace's directory. Returns a descriptor or a negative errno. */
int writer_make_file(struct trace_writer *writer, const char *name, struct problem *problem);

/* Replaces the metadata. At any moment, the file is either the old one or the new one. */
int writer_replace_metadata(struct trace_writer *writer, struct problem *problem);

/* Nothing more is accepted, because of this error, or because of the size. Return the error. */
int writer_stop_for_disk(struct trace_writer *writer, enum ring_id ring, int error,
                         struct problem *problem);
int writer_stop_for_size(struct trace_writer *writer, struct problem *problem);

/* ---- rotation.c ---- */

/* Notes a record that has been appended. Returns 0 or -ENOMEM. */
int rotation_note(struct trace_writer *writer, const struct record_header *record);

/* Before a record of that time: begins new files if it is time to, removes the oldest, and makes sure that a page is
 * left. Errors: -EFBIG; those of the file system. */
int rotation_advance(struct trace_writer *writer, uint64_t time, struct problem *problem);

/* Whether a record of that time needs rotation_advance although it fits its packet. */
bool rotation_is_due(const struct trace_writer *writer, uint64_t time);

/* Removes what is too old at that time, which is the trace's last. */
void rotation_end(struct trace_writer *writer, uint64_t time);

void rotation_free(struct rotation *rotation);

#endif
