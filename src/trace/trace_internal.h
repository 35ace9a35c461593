/* SPDX-License-Identifier: MIT */
/*
 * trace_internal.h: shared by the files of this folder only: the format version, the metadata, writing one packet, and
 * where a stream file's whole packets end.
 */
#ifndef DPM_TRACE_INTERNAL_H
#define DPM_TRACE_INTERNAL_H

#include "trace/trace.h"

#define TRACE_FORMAT          4
#define TRACE_FORMAT_PLAIN    3 /* of a trace with one file for each stream */
#define TRACE_FORMAT_NUMBERED 4 /* of one with several, which keeps only the newest records */
#define TRACE_FORMAT_LEAST    2 /* the oldest that we read */
#define TRACE_UUID_SIZE       16
#define TRACE_CONTENT         (sizeof(struct trace_packet_header) + sizeof(struct trace_packet_context))
#define TRACE_METADATA_MOST   (1u << 20) /* bytes of text */
#define TRACE_LAST_PACKET     (1u << 20) /* bytes; the largest packet of any writer that we read */

_Static_assert(TRACE_CONTENT == 88, "records begin at byte 88 of a packet");

/* File names of the streams, by enum ring_id. */
extern const char *const trace_file_names[RING_COUNT];

#define TRACE_NAME_SIZE 200

/* The name of a trace in problems: its path, or the end of a long one, so that the rest of the line fits, too. */
void trace_name(const char *path, char ret_name[TRACE_NAME_SIZE]);

/* ---- metadata.c ---- */

/* The TSDL text of a trace. `clock_offset`: real time - monotonic, ns. `host` need not be NUL-terminated; at most
 * MACHINE_NAME_SIZE bytes of it are used. Returns 0 and a text that the caller frees, or -ENOMEM. */
int trace_metadata_make(const uint8_t uuid[TRACE_UUID_SIZE], const char *host,
                        uint64_t clock_offset, char **ret_text, size_t *ret_length);

/* The text that describes a class of records (classes.h); appended to a trace's metadata. The same errors. */
int trace_metadata_make_class(unsigned number, unsigned type, uint64_t absent, char **ret_text,
                              size_t *ret_length);

/* Checks that the directory has the metadata of a trace that we can read, and returns its UUID and format. `path` is
 * the directory's name in `problem`. */
int trace_metadata_read(int directory, const char *path, uint8_t ret_uuid[TRACE_UUID_SIZE],
                        unsigned *ret_format, struct problem *problem);

/* Reads the metadata, and checks them likewise: a text that the caller frees. */
int trace_metadata_load(int directory, const char *path, char **ret_text, size_t *ret_length,
                        uint8_t ret_uuid[TRACE_UUID_SIZE], unsigned *ret_format,
                        struct problem *problem);

/* Checks a text, which ends with a NUL at `length`. */
int trace_metadata_check(const char *text, size_t length, const char *path,
                         uint8_t ret_uuid[TRACE_UUID_SIZE], unsigned *ret_format,
                         struct problem *problem);

/* Replaces the metadata. At any moment, the file is either the old one, if any, or the new one. */
int trace_metadata_replace(int directory, const char *path, const char *text, size_t length,
                           struct problem *problem);

/* Sets the format in a text from trace_metadata_make. */
void trace_metadata_set_format(char *text, size_t length, unsigned format);

/* ---- rotation.c ---- */

#define TRACE_FILE_NAME_SIZE 32

/* "control" or "data" for the first file, then "control.1" ... */
void trace_file_name(enum ring_id ring, uint32_t number, char ret_name[TRACE_FILE_NAME_SIZE]);

/* ---- writer.c ---- */

/* Writes a packet of `size` bytes at `offset`. If it cannot be written completely, the file is truncated to `offset`.
 * Returns 0 or a negative errno. */
int trace_packet_write(int file, const void *packet, size_t size, uint64_t offset);

/* Fills in the header and context of a packet whose records (at least one) end at byte `content`, and the padding up
 * to `size`. `last_time` is the last record's time. The caller sets the two clocks. */
struct trace_packet_context *trace_packet_finish(void *packet, const uint8_t uuid[TRACE_UUID_SIZE],
                                                 enum ring_id ring, size_t content, size_t size,
                                                 uint64_t last_time);

/* ---- numbers.c ---- */

#define TRACE_NUMBERS_MOST (TRACE_FILES_MOST + 2)

/* Numbers of the pairs of files of a trace, in order. In a copy, some may be missing. */
struct trace_numbers {
    uint32_t count; /* at least 1 */
    uint32_t at[TRACE_NUMBERS_MOST];
};

/* Finds the pairs of files in a trace's directory; there is one with number 0 if there is no control file at all.
 * Returns 0, -EFBIG: too many; or another negative errno; with a line in `problem`. */
int trace_numbers_find(int directory, const char *path, struct trace_numbers *ret_numbers,
                       struct problem *problem);

/* The first number that is larger than `number`, or `number` itself: there is none. */
uint32_t trace_numbers_after(const struct trace_numbers *numbers, uint32_t number);

static inline uint32_t trace_numbers_last(const struct trace_numbers *numbers)
{
    return numbers->at[numbers->count - 1];
}

/* Opens both files of a number to read them. Returns 0, -ENOENT: they have been removed; or another negative errno. */
int trace_pair_open(int directory, const char *path, uint32_t number, int ret_files[RING_COUNT],
                    struct problem *problem);

/* ---- stream_file.c ---- */

/* Opens a regular file in a trace's directory; `flags` as for open(2). Returns a descriptor, and the size in
 * *ret_size, or a negative errno. */
int trace_file_open(int directory, const char *path, const char *name, int flags,
                    uint64_t *ret_size, struct problem *problem);

/* Reads `size` bytes at `offset`. Returns 0, -ENODATA if the file is shorter, or a negative errno. */
int trace_file_read(int file, void *buffer, size_t size, uint64_t offset);

/* ---- reader.c ---- */

/* The end of a stream file; known once the source has ended. */
struct trace_tail {
    uint64_t end;        /* bytes of whole packets */
    uint64_t partial;    /* bytes after them */
    uint64_t packets;    /* number of the next packet */
    uint64_t time;       /* of the last record; 0: none */
    uint64_t discarded;  /* largest events_discarded */
    uint64_t last;       /* offset of the last record */
    int64_t wall_offset; /* of the last packet */
};

/* Records of the recording so far, in removed files, too, but not those that files repeat; and the lost ones. */
void trace_source_counts(const struct source *source, uint32_t origin, uint64_t *ret_records,
                         uint64_t *ret_lost);

struct trace_tail trace_source_tail(const struct source *source, uint32_t origin,
                                    enum ring_id ring);

#endif
