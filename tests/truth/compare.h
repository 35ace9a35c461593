/* SPDX-License-Identifier: MIT */
/*
 * compare.h: what the parts of truth-compare share. What the program does stands in compare.c.
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

/* What an inode is of; each has numbers of its own. */
enum object {
    OBJECT_SOCKET,
    OBJECT_PIPE,
    OBJECT_FIFO,
    OBJECT_COUNT,
};

/* Whose bytes a RECEIVE has got, as the log tells: `bytes` in a row of one sender. */
struct part {
    uint32_t writer; /* tid; 0: not known */
    bool placed;     /* `place` is known */
    uint64_t
        place; /* of its first byte among what the sender has sent through its socket or pipe */
    uint64_t bytes;
};

/* What a program did with one call; in a dump it may have several records. */
struct operation {
    enum operation_kind kind;
    bool end_of_file; /* RECEIVE: nothing will come any more (told by the log) */
    bool blocked;     /* RECEIVE, dump only: there was a RECEIVECALL */
    bool doubtful;    /* dump only: as of its first entry */
    bool partial;     /* dump only: it began before the metering; `bytes` are those of the log */
    bool jumps;  /* RECEIVE (told by the log): other readers may have got in between its bytes */
    bool packet; /* RECEIVE (told by the log): of a packet, whose rest is gone */
    bool thread; /* CREATEPROCESS */
    uint32_t number;    /* CREATEPROCESS: tid of the child; TERMINATION: status */
    enum object object; /* of the inode */
    uint64_t inode;
    uint64_t bytes;
    uint64_t cpu_first; /* ns: before the call, or of the record where it was least */
    uint64_t cpu_last;
    uint64_t line;    /* in its file */
    uint32_t records; /* dump only */
    uint32_t path;    /* dump only: index */
    uint32_t offset;  /* dump only: of the first record */
    uint64_t time;    /* dump only: ns, when it happened: time - span */
    uint32_t writer;  /* RECEIVE of a message: tid of its sender (told by the log), 0: not known */
    uint64_t place; /* where it stands in what its sender has sent through one socket or pipe (told
                         by the log): a SEND, by places_find; the RECEIVE of a message */
    char *name;     /* EXEC: file; SEND and RECEIVE in the log: the call */
    struct part *parts; /* log only: RECEIVE */
    size_t part_count;
    const struct operation *logged; /* dump only: what it was found equal with; NULL: nothing */
};

/* What a record of a dump is to us. */
enum entry_kind {
    ENTRY_OPERATION, /* one of the operations that are compared */
    ENTRY_OTHER,     /* an event of the stream that is not compared */
    ENTRY_IDENTITY,  /* says who or what; need not have a number of its own */
    ENTRY_MISSING,   /* says how many records are not there before this number */
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

/* From the record with this number of that stream, which sent some of a RECEIVE's bytes. */
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
    bool send_call; /* SENDCALL, which is no operation */
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
    bool doubtful; /* of a pipe or UNIX stream older than the metering: its position may be wrong */
    bool thread;
    uint32_t number;
    uint64_t failed_sends;
    uint64_t failed_receives;
    char *name;
    size_t index; /* SEND, RECEIVE: of its operation in the stream */
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
    uint64_t failed_pipe_sends; /* log only: of those */
    uint64_t failed_pipe_receives;
    uint64_t ended; /* log only: ns, when its file was written */
    /* of a dump: */
    uint64_t number;
    uint32_t parent; /* 0: what made it was not metered */
    uint64_t born;   /* ns, the kernel's time of its creation; 0: not known */
    struct entry *entries;
    size_t entry_count;
    size_t entry_capacity;
};

struct side {
    struct stream *streams; /* sorted by tid and start once they are read */
    size_t count;
    size_t capacity;
};

/* What a SEND or RECEIVE record says of its path's direction. */
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

/* Added to the offsets of older paths, so that those before its start are no negative numbers. */
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
    bool told;  /* that its identity is wrong */
    bool counts_messages;
    enum object object;
    enum direction only; /* of a pipe: the one it has; else DIRECTION_COUNT */
    bool older;          /* than the metering: its first ranges say where it begins */
    bool has_identities; /* UDP: offsets are the datagrams' own numbers, not their place in a row */
    uint64_t inode;
    uint64_t cookie;
    uint64_t peer;       /* cookie of the other end; 0: not known */
    char end[256];       /* names this end of the path ... */
    char other_end[256]; /* ... and the other, in the same way */
    uint32_t start[DIRECTION_COUNT];
    struct ranges ranges[DIRECTION_COUNT];
};

struct dump {
    struct side side;
    bool has_edges; /* `dpm dump --matched` */
    bool no_pipes;  /* pipes were not metered */
    bool
        traced; /* by the ptrace meter, which counts all positions when calls end, and is sure of no UDP datagram */
    bool acquired;            /* the program was acquired while it ran: the log begins earlier */
    uint64_t order_tolerance; /* ns by which a RECEIVE may be earlier than its SEND */
    uint64_t begun;           /* ns, time of the first event of a stream */
    struct intern stream_numbers; /* index: of side.streams, before they are sorted */
    struct path *paths;
    size_t path_count;
    size_t path_capacity;
    struct intern path_numbers; /* index: of paths */
    uint64_t records;
    uint64_t lost_without_stream;
    uint64_t lost; /* all */
    uint64_t gaps;
};

/* Everything that is different, printed as it is found. */
struct findings {
    uint64_t differences;
    uint64_t printed;
    unsigned printed_of_part; /* of the dump, of the operations, of the offsets: the first ones */
};

void differ(struct findings *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a zero operation of this kind. Ends the program where there is no memory. */
struct operation *stream_add(struct stream *stream, enum operation_kind kind);
struct stream *side_add(struct side *side);
void side_sort(struct side *side);
void side_done(struct side *side);

/* array_reserve, but ends the program where there is no memory. */
void reserve(void *array, size_t *capacity, size_t count, size_t size);
char *text_copy(const char *text);

/* Reads all logs of the folder. Returns 0, or -EINVAL or another error with a line in `problem`. */
int log_read(const char *folder, struct side *side, struct problem *problem);

/* Reads the JSON lines, as log_read does. What is inconsistent in itself (sequence, time, pieces)
 * goes to `findings`. */
int dump_read(const char *name, struct dump *dump, struct findings *findings,
              struct problem *problem);
void dump_done(struct dump *dump);

/* Checks that the ranges of every path and direction tile. To be called after the operations have
 * been compared: only the log can tell an end of file from an empty message. */
void offsets_check(struct dump *dump, struct findings *findings);

bool ranges_have_one_stream(const struct ranges *ranges);

/* Whether two paths can be the two ends of one: where one does not say who its other end is, they can. */
bool path_is_other_end(const struct path *path, const struct path *other);

/* Finds out the places of all SENDs of a log; of which of its sockets keep messages the dump knows. */
void places_find(struct side *log, const struct dump *dump);

/* Of each path of the dump, whether there can be no doubt whose bytes were received from it. To be freed. */
bool *turns_find(const struct dump *dump);

/* What edges_check has looked at. */
struct edge_counts {
    uint64_t receives;
    uint64_t edges[EDGE_KIND_COUNT];
    uint64_t sure; /* exact ones that had to be */
    uint64_t rest_bytes[REST_COUNT];
    uint64_t excused_bytes; /* sent before the metering began */
    uint64_t
        early; /* RECEIVEs of shared pipes that are earlier than a SEND whose bytes they have */
    uint64_t earliest; /* ns */
};

/* Checks every edge of a dump that has them against what the log says whose bytes were received. */
struct edge_counts edges_check(struct dump *dump, struct findings *findings);

/* Checks that no RECEIVE is earlier than a SEND whose bytes it took, where one stream sends. To be
 * called after offsets_check, which sorts the ranges. Returns how many pairs it looked at. */
uint64_t order_check(struct dump *dump, struct findings *findings);

/* Checks that every UDP RECEIVE has the offset of the SEND whose datagram it took, as the log tells
 * them, on the path with the same addresses, and is not earlier. Returns how many it looked at. */
uint64_t identity_check(struct dump *dump, struct findings *findings);

#endif
