/* SPDX-License-Identifier: MIT */
/*
 * compare.h: shared by the parts of truth-compare. compare.c describes the program.
 *
 *      DUMP -- compare_dump.c --> struct dump --\
 *                                                >-- compare.c, compare_*.c --> differences
 *      LOG --- compare_log.c ---> struct side --/
 *
 *      side: streams [tid, start] --> operations, in the stream's own order
 *      dump: a side, and paths --> ranges of each direction
 */
#ifndef DPM_COMPARE_H
#define DPM_COMPARE_H

#include "base/base.h"

#include <stdio.h>

enum operation_kind {
    OPERATION_SEND,
    OPERATION_RECEIVE,
    OPERATION_CREATEPROCESS,
    OPERATION_EXEC,
    OPERATION_STOPPROCESS,
    OPERATION_STARTPROCESS,
    OPERATION_TERMINATION,
    OPERATION_KIND_COUNT,
};

extern const char *const operation_names[OPERATION_KIND_COUNT];

/* The kind of object that an inode number belongs to; each kind has its own numbering. */
enum object {
    OBJECT_SOCKET,
    OBJECT_PIPE,
    OBJECT_FIFO,
    OBJECT_COUNT,
};

/* A part of a RECEIVE, from the log: `bytes` consecutive bytes of one sender. */
struct part {
    uint32_t writer; /* tid; 0: unknown */
    bool placed;     /* `place` is known */
    /* position of its first byte among all bytes the sender sent through its socket or pipe */
    uint64_t place;
    uint64_t bytes;
};

/* What a program did in one call; a dump may have several records of it. */
struct operation {
    enum operation_kind kind;
    bool end_of_file; /* RECEIVE: no more data will come (from the log) */
    bool blocked;     /* RECEIVE, dump only: it has a RECEIVECALL */
    bool doubtful;    /* dump only: as of its first entry */
    bool partial;     /* dump only: it began before metering; `bytes` comes from the log */
    /* RECEIVE (from the log): bytes that other readers took may be missing between its bytes */
    bool jumps;
    bool packet;        /* RECEIVE (from the log): from a packet, whose rest was discarded */
    bool thread;        /* CREATEPROCESS */
    uint32_t number;    /* CREATEPROCESS: tid of the child; TERMINATION: status */
    enum object object; /* kind of object of `inode` */
    uint64_t inode;
    uint64_t bytes;
    uint64_t cpu_first; /* ns: before the call; in a dump, the least of its records */
    uint64_t cpu_last;
    uint64_t line;    /* line number in its file */
    uint32_t records; /* dump only */
    uint32_t path;    /* dump only: index */
    uint32_t offset;  /* dump only: of the first record */
    uint64_t time;    /* dump only: ns, when it happened: time - span */
    uint32_t writer;  /* RECEIVE of a message: tid of its sender (from the log); 0: unknown */
    /* position in the bytes its sender sent through one socket or pipe (from the log). SEND: set by places_find;
     * RECEIVE: of a message */
    uint64_t place;
    char *name;         /* EXEC: file; SEND and RECEIVE in the log: the call */
    struct part *parts; /* log only: RECEIVE */
    size_t part_count;
    const struct operation *logged; /* dump only: the logged operation that it equals, or NULL */
};

/* Classes of records in a dump. */
enum entry_kind {
    ENTRY_OPERATION, /* one of the operations that are compared */
    ENTRY_OTHER,     /* an event of the stream that is not compared */
    ENTRY_IDENTITY,  /* an identity; need not have a sequence number of its own */
    ENTRY_MISSING,   /* says how many records before this number are missing */
};

enum edge_kind {
    EDGE_EXACT,
    EDGE_ORDERED,
    EDGE_INFERRED,
    EDGE_KIND_COUNT,
};

/* Why bytes of a RECEIVE have no edge. */
enum rest {
    REST_NONE,
    REST_EXTERNAL,
    REST_UNSELECTED,
    REST_UNMATCHED,
    REST_COUNT,
};

/* An edge: some bytes of a RECEIVE came from the record with this number of that stream. */
struct edge {
    enum edge_kind kind;
    bool send_call; /* a SENDCALL, not a SEND */
    uint64_t stream;
    uint32_t sequence;
    uint64_t bytes;
};

struct entry {
    enum entry_kind kind;
    enum operation_kind operation;
    bool send_call; /* a SENDCALL, which is not an operation */
    uint64_t line;
    uint64_t time;
    int64_t sequence; /* unwrapped */
    uint64_t cpu;
    uint64_t span;
    uint32_t path; /* index */
    uint32_t offset;
    uint64_t inode;
    uint64_t bytes;
    uint64_t missing;
    bool continued;
    bool implied;  /* RECEIVE: its call did not block */
    bool doubtful; /* on a pipe or UNIX stream older than metering: its position may be wrong */
    bool thread;
    uint32_t number;
    uint64_t failed_sends;
    uint64_t failed_receives;
    char *name;
    size_t index; /* SEND, RECEIVE: index of its operation in the stream */
    struct edge *edges;
    size_t edge_count;
    uint64_t rest_bytes;
    enum rest rest;
};

struct stream {
    uint32_t tid;
    uint64_t start; /* ns */
    char *label;    /* for people */
    struct operation *operations;
    size_t count;
    size_t capacity;
    uint64_t failed_sends;
    uint64_t failed_receives;
    uint64_t failed_pipe_sends; /* log only: those of `failed_sends` on pipes */
    uint64_t failed_pipe_receives;
    uint64_t ended; /* log only: ns, when its file was written */
    /* of a dump: */
    uint64_t number;
    uint32_t parent; /* 0: the creator was not metered */
    uint64_t born;   /* ns, creation time from the kernel; 0: unknown */
    struct entry *entries;
    size_t entry_count;
    size_t entry_capacity;
};

struct side {
    struct stream *streams; /* sorted by tid and start after reading */
    size_t count;
    size_t capacity;
};

/* The part of a path's direction that one SEND or RECEIVE record covers. */
struct range {
    uint64_t offset; /* unwrapped */
    uint64_t bytes;
    uint64_t line;
    size_t stream;    /* index */
    size_t operation; /* index in the stream */
    uint64_t time;    /* ns, when it happened: time - span */
};

enum direction {
    DIRECTION_OUT,
    DIRECTION_IN,
    DIRECTION_COUNT,
};

/* Added to the offsets of older paths, so that offsets before the path's start are not negative. */
#define BEFORE_START (1ULL << 32)

struct ranges {
    struct range *list;
    size_t count;
    size_t capacity;
};

struct path {
    uint32_t number;
    char kind[24];
    char label[200];
    bool known; /* its PATH record has been read */
    bool told;  /* the wrong identity has been reported */
    bool counts_messages;
    enum object object;
    enum direction only; /* pipe: its only direction; otherwise DIRECTION_COUNT */
    bool older;          /* older than metering: its first ranges say where it begins */
    /* UDP: offsets are the datagrams' own numbers, not consecutive positions */
    bool has_identities;
    uint64_t inode;
    uint64_t cookie;
    uint64_t peer;       /* cookie of the other end; 0: unknown */
    char end[256];       /* names this end of the path ... */
    char other_end[256]; /* ... and the other end, in the same form */
    uint32_t start[DIRECTION_COUNT];
    struct ranges ranges[DIRECTION_COUNT];
};

struct dump {
    struct side side;
    bool has_edges; /* `dpm dump --matched` */
    bool no_pipes;  /* pipes were not metered */
    /* ptrace meter: counts all positions when calls end, and marks no UDP datagram exact */
    bool traced;
    bool acquired;            /* the program was acquired while it ran: its log begins earlier */
    uint64_t order_tolerance; /* ns by which a RECEIVE may precede its SEND */
    uint64_t begun;           /* ns, time of the first event of a stream */
    struct intern stream_numbers; /* index: of side.streams, before they are sorted */
    struct path *paths;
    size_t path_count;
    size_t path_capacity;
    struct intern path_numbers; /* index: of paths */
    uint64_t records;
    uint64_t lost_without_stream;
    uint64_t lost; /* all lost records */
    uint64_t gaps;
};

/* Prints and counts differences. */
struct findings {
    uint64_t differences;
    uint64_t printed;
    /* printed so far of this part (dump, operations or offsets): only the first ones are printed */
    unsigned printed_of_part;
};

void differ(struct findings *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a zeroed operation of this kind. Ends the program if memory runs out. */
struct operation *stream_add(struct stream *stream, enum operation_kind kind);
struct stream *side_add(struct side *side);
void side_sort(struct side *side);
void side_done(struct side *side);

/* array_reserve, but ends the program if memory runs out. */
void reserve(void *array, size_t *capacity, size_t count, size_t size);
char *text_copy(const char *text);

/* Reads all logs of the folder. Returns 0, or -EINVAL or another error with a line in `problem`. */
int log_read(const char *folder, struct side *side, struct problem *problem);

/* Reads the JSON lines; returns as log_read does. Inconsistencies of the dump itself (sequence, time, pieces) go to
 * `findings`. */
int dump_read(const char *name, struct dump *dump, struct findings *findings,
              struct problem *problem);
void dump_done(struct dump *dump);

/* Checks that the ranges of every path and direction tile. Call it after the operations have been compared: only the
 * log distinguishes an end of file from an empty message. */
void offsets_check(struct dump *dump, struct findings *findings);

bool ranges_have_one_stream(const struct ranges *ranges);

/* Whether two paths can be the two ends of one connection. They can if either does not know its other end. */
bool path_is_other_end(const struct path *path, const struct path *other);

/* Sets the positions of all SENDs of a log. The dump says which of the log's sockets keep message boundaries. */
void places_find(struct side *log, const struct dump *dump);

/* For each path of the dump: whether the source of all received bytes is certain. The caller frees the result. */
bool *turns_find(const struct dump *dump);

/* What edges_check has checked. */
struct edge_counts {
    uint64_t receives;
    uint64_t edges[EDGE_KIND_COUNT];
    uint64_t sure; /* edges that had to be exact */
    uint64_t rest_bytes[REST_COUNT];
    uint64_t excused_bytes; /* bytes sent before metering began */
    uint64_t early;         /* RECEIVEs of shared pipes that precede a SEND whose bytes they have */
    uint64_t earliest;      /* ns */
};

/* Checks every edge of a dump that has edges against the sources of the received bytes in the log. */
struct edge_counts edges_check(struct dump *dump, struct findings *findings);

/* Checks that no RECEIVE precedes a SEND whose bytes it took, where only one stream sends. Call it after
 * offsets_check, which sorts the ranges. Returns how many pairs were checked. */
uint64_t order_check(struct dump *dump, struct findings *findings);

/* Checks that every UDP RECEIVE has the offset of the SEND whose datagram it took (from the log), on the path with
 * the same addresses, and is not earlier. Returns how many were checked. */
uint64_t identity_check(struct dump *dump, struct findings *findings);

#endif
