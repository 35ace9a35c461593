/* SPDX-License-Identifier: MIT */
/* reader_internal.h: traces that are being read: shared by reader.c and follow.c only. */
#ifndef DPM_READER_INTERNAL_H
#define DPM_READER_INTERNAL_H

#include "trace/stream_file.h"

#define OPEN_TRIES 100 /* to open files before the writer removes them */

struct origin {
    struct stream_file files[RING_COUNT];
    struct stream_file *head; /* the file whose record is next; NULL: none is left */
    int64_t wall;             /* wall-clock time of that record */
    bool ended;               /* END has been returned */
    /* of a trace that keeps only the newest records: what BEGIN says */
    uint64_t before;   /* records in removed files */
    uint64_t repeated; /* records returned that are among these */
    uint64_t lost;     /* records that were lost before */
    uint64_t missing;  /* records that BEGINs after holes count, and no file has */
    bool overtaken;    /* ... the hole comes from removing files that were not read yet */
    uint64_t cpu;      /* the recorder's before */
    uint32_t wakeups;
    bool has_begun; /* BEGIN has been returned */
    bool selects;   /* a FLAGS has said that selection rules are in force */
    unsigned format;
    struct machine_record machine; /* MACHINE of format 2, in the layout of today */
    char name[TRACE_NAME_SIZE];
    int directory; /* of a trace that is followed; else -1 */
    int changes;   /* inotify, of a trace that is followed, if it can be had; else -1 */
    /* of a trace that is followed, when it was looked at in vain: last and before */
    struct look_at {
        uint64_t written, time;
    } looks[2];
    uint64_t complete; /* all records before this time have been returned */
    bool until_end;    /* while END is missing, more may come */
    bool is_copy;      /* its packets come one by one (trace_follow_copy) */
    uint64_t seen;     /* ... of its control file, when it was looked at last: bytes */
};

struct trace_source {
    struct source source;
    struct origin *origins;
    uint32_t *heap; /* numbers of origins with a head; heap[0] is next */
    uint32_t heap_count;
    const struct origin *second; /* next after heap[0]; NULL: none */
    bool handed;                 /* the head of heap[0] has been returned */
    uint64_t until;              /* data of heap[0] before this time come before all else */
    int failed;                  /* the error that ended the source; see `problem` */
    struct problem problem;
    uint16_t sizes[RING_COUNT][RECORD_TYPES];
    uint16_t sizes_of_2[RING_COUNT][RECORD_TYPES]; /* in format 2 */
};

/* ---- reader.c ---- */

/* Opens the first `rings` files of each trace. A file that is not opened has no records. */
int reader_open(const char *const *paths, size_t count, unsigned rings, struct source **ret_source,
                struct problem *problem);

/* Continues after the last record, if the files have more: 1, 0 or a negative errno. */
int reader_continue(struct trace_source *traces, struct problem *problem);

/* Whether the writer holds its lock on the last file that is open. */
bool reader_is_being_written(const struct origin *origin);

/* ---- follow.c ---- */

/* Nothing more is there: notes the time up to which nothing is missing (origin->complete). */
void follow_note_idle(struct origin *origin);

/* After the last record of a trace that is followed: SOURCE_RECORD: there are more; SOURCE_NONE_YET; SOURCE_END; or a
 * negative errno. */
int follow_next(struct trace_source *traces, struct problem *problem);

#endif
