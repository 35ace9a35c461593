/* SPDX-License-Identifier: MIT */
/*
 * analysis.h: what a recording means. So far: communication statistics, who sent how much to whom.
 *
 *      source --> statistics_add, once per record --> statistics_finish --> struct communication
 *
 *      processes   one row per process            CPU time, what it sent and received
 *      pairs       one row per (from, to)         what from sent to to
 *      paths       one row per connection         what went each way, who used each end
 *
 * One pass, and no file is ever seen: the source may be a finished trace or live rings.
 */
#ifndef DPM_ANALYSIS_H
#define DPM_ANALYSIS_H

#include "event/event.h"

/* ---- the result ---- */

/* A call is one message however many records it has (RECORD_CONTINUED), and the end of file that a
 * receive of 0 bytes on a byte stream means is none. */
struct traffic {
    uint64_t messages;
    uint64_t bytes;
};

/* Who sends or receives: one process, the several that used one end of a path, or nobody that was
 * metered, then the address of that end. Points into its struct communication. */
struct party {
    const uint32_t *processes; /* [count], indexes into communication.processes, ascending */
    uint32_t count;            /* 0: not metered */
    const char *address;       /* of the end of the path; NULL where processes say more */
};

#define NO_PROCESS UINT32_MAX

struct communication_process {
    uint32_t machine; /* index into communication.machines */
    uint32_t pid;     /* 0: its identity was lost */
    uint32_t stream;  /* number of its first stream, which is the number of the process */
    uint32_t parent;  /* index of the process that created it, or NO_PROCESS */
    char name[STREAM_NAME_SIZE]; /* NUL-filled, not always terminated; "" if lost */
    uint64_t cpu;                /* ns */
    struct traffic sent;
    struct traffic received;
};

/* Until sends are matched with receives, what was sent into a path goes to all who used its other
 * end. What an unmetered process sent is counted where it was received. */
struct communication_pair {
    struct party from;
    struct party to;
    struct traffic sent;
    bool local;  /* all of it stayed on one machine */
    bool shared; /* from or to is several processes */
};

/* A connection. `local` is the end that connected; where that is not known, the end whose path
 * number is smaller, or the only one that is known. */
struct communication_path {
    unsigned kind;   /* enum path_kind, unless the trace says nonsense */
    uint32_t number; /* of the local end, else of the remote one */
    char *local;     /* addresses as endpoint_local() writes them */
    char *remote;
    struct party ends[2];    /* who used the local and the remote end */
    uint32_t *holders;       /* what `ends` point into */
    struct traffic sent;     /* from local to remote */
    struct traffic received; /* from remote to local */
};

struct communication_machine {
    char name[MACHINE_NAME_SIZE + 16]; /* distinct from all others; terminated */
};

struct communication {
    struct communication_process *processes; /* in order of their first record */
    size_t process_count;
    struct communication_pair *pairs; /* most bytes first */
    size_t pair_count;
    struct communication_path *paths; /* most bytes first */
    size_t path_count;
    struct communication_machine *machines;
    size_t machine_count;
    uint32_t *process_indexes; /* 0, 1, 2 ...: what parties of one process point into */

    uint32_t traces;          /* origins of the source */
    uint64_t events;          /* records that tell of an event: SEND to TERMINATION */
    uint64_t lost;            /* records that could not be written */
    uint64_t duration;        /* ns from the first record to the last */
    bool complete;            /* every recording ended in order, with END_COMPLETE */
    uint64_t unknown_streams; /* messages of streams whose identity record is missing: they count
                                 for a process of their own */
    uint64_t unseen_bytes;    /* received by a call the kernel does not tell of: they count for no
                                 process */
    uint64_t unknown_paths;   /* messages on paths whose identity record is missing: they count for
                                 their process, but for no pair and no path */
};

void communication_free(struct communication *communication);

/* ---- making it ---- */

struct statistics;

int statistics_new(struct statistics **ret_statistics);
void statistics_free(struct statistics *statistics);

/* Takes one record into account. Returns 0 or -ENOMEM; after that only statistics_free is
 * allowed. */
int statistics_add(struct statistics *statistics, const struct event *event);

/* The result so far; more records may be added afterwards. `states` says what is known of each
 * origin. Returns 0 or -ENOMEM. The result stands alone: free it with communication_free. */
int statistics_finish(const struct statistics *statistics, const struct source_state *states,
                      uint32_t origins, struct communication **ret_communication);

/* All of it: reads a source that has an end to that end.
 * Errors: those of the source; -EAGAIN if it has nothing yet; -ENOMEM; a line in `problem`. */
int communication_read(struct source *source, struct communication **ret_communication,
                       struct problem *problem);

#endif
