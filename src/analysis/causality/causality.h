/* SPDX-License-Identifier: MIT */
/*
 * causality.h: paths of causality: how a request to a server passes through its processes.
 *
 *      requestor         A          B          C
 *         | request ---> o                            a request: a tree of receives ...
 *         |              o -------> o
 *         |              |          o -------> o
 *         |              |          o <------- o
 *         |              o <------- o
 *         | <---- reply  o                            ... and its string: ABCBA
 *
 * Each server process has a letter. A string (the papers' causality string) is the sequence of letters from the root of
 * a tree to one of its leaves. Source: B. P. Miller: Performance Characterization of Distributed Programs, 5.2.4.
 *
 * The history knows which RECEIVE took what a SEND sent. Which receive caused a process to send is not recorded; enum
 * attribution names the ways to find it, and the result counts each. The analysis takes one pass. Its memory is bounded
 * by live streams and paths, and by the constants below.
 */
#ifndef DPM_CAUSALITY_H
#define DPM_CAUSALITY_H

#include "analysis/analysis.h"
#include "base/histogram.h"

/* ---- options ---- */

#define CAUSALITY_MOMENTS 64 /* intervals of the whole time */

#define CAUSALITY_LENGTH_MOST  16    /* letters of a substring; a context has at most one less */
#define CAUSALITY_SLOWEST_MOST 1000  /* requests that are shown with their events */
#define CAUSALITY_STRING_MOST  64    /* letters of a whole string; a longer one keeps its last 16 */
#define CAUSALITY_LETTERS_MOST 65000 /* server processes with their own letter; others share '*' */

struct causality_options {
    /* [server_count] names or pids: only these are server processes */
    const char *const *servers;
    size_t server_count; /* 0: roles follow from what processes do */
    bool by_program;     /* processes with the same name share a letter */
    /* every send is a message; else consecutive sends into a byte stream are one message */
    bool each_send;
    bool last; /* a send belongs to what its stream received last, regardless of connections */
    /* of the longest substrings, 2 to CAUSALITY_LENGTH_MOST; 0: CAUSALITY_LENGTH_MOST */
    unsigned length;
    unsigned context; /* letters, 1 to CAUSALITY_LENGTH_MOST - 1; 0: 2 */
    unsigned slowest; /* requests to keep with their events, up to CAUSALITY_SLOWEST_MOST */
    bool moments;     /* transitions and entries also by time */
};

/* How the request of a message between server processes was found. */
enum attribution {
    /* proved: it answers a message of the same connection, which had one open request */
    ATTRIBUTION_PATH,
    /* proved: the process had no other open request */
    ATTRIBUTION_ALONE,
    /* proved: it is the first message of a process that was created for the request */
    ATTRIBUTION_CREATION,
    /* assumed: the thread had no other open request, but the process had */
    ATTRIBUTION_THREAD,
    /* assumed: of several open requests, that of the thread's latest receive */
    ATTRIBUTION_LATEST,
    /* assumed: it answers the latest of several open requests of one connection */
    ATTRIBUTION_OVERLAP,
    /* assumed: what the thread received last is answered, so the call belongs to the open request that has waited longest
     * without a call */
    ATTRIBUTION_WAITING,
    ATTRIBUTION_COUNT,
};

/* "path", "alone", ... */
const char *attribution_name(enum attribution attribution);
bool attribution_is_proved(enum attribution attribution);

/* ---- the result ---- */

enum causality_role {
    ROLE_REQUESTOR, /* only calls other processes */
    ROLE_SERVER,    /* has been called, or is in `servers` */
    ROLE_SYSTEM,    /* only with `servers`: not in that list, but called by a process that is */
};

/* "requestor", "server", "system". */
const char *causality_role_name(enum causality_role role);

#define LETTER_SIZE 16

/* A metered process that has sent or received messages. */
struct causality_process {
    char letter[LETTER_SIZE]; /* "" for other than server processes */
    enum causality_role role;
    uint32_t origin;
    uint32_t pid; /* 0: its identity was lost */
    char name[STREAM_NAME_SIZE + 1];
    bool named_alike;    /* another process has its name, and another command line */
    const char *command; /* line; NULL: not known */
    uint64_t requests;   /* that it made as a requestor */
};

/* The sequence of letters from the root of a request's tree to a leaf. */
struct causality_path {
    /* longer than CAUSALITY_STRING_MOST: "..." and the last letters */
    const char *string;
    uint64_t count;
    /* a process along it has replied to the requestor: it is a path of requests, not of one-way messages (pipes) */
    bool answered;
    /* ns from the receive of the request to the leaf's last event: its last send, or else its receive. Requests without any
     * send, and unanswered ones of a path on which others are answered, have none: nothing shows when they were over. */
    struct histogram latency;
};

struct causality_substring {
    const char *string;
    uint64_t count;
};

/* A process that received along `context` next sends to `next`. */
struct causality_transition {
    /* [length] letters; the first may be "requestor" or "nobody", the last is the sender's */
    const char *const *context;
    unsigned length;
    const char *next; /* letter; NULL: replies to requestors, which have no probability */
    uint64_t count;
    uint64_t of;             /* all messages to server processes in this context */
    const uint32_t *moments; /* [CAUSALITY_MOMENTS] of `count`, by time; NULL: not known */
};

#define TIME_UNKNOWN UINT64_MAX /* no messages relate the clocks of the two machines */

struct causality_step {
    uint64_t when;      /* ns after the request began, or TIME_UNKNOWN */
    uint64_t last;      /* ... its last send; `when` if it has sent nothing */
    const char *letter; /* of the process that received the message ... */
    const char *from;   /* ... and of the one that sent it, or "requestor" */
};

#define CAUSALITY_STEPS_MOST 200 /* of one request */

/* A server process that receives requests. */
struct causality_entry {
    const char *const *context; /* [2]: "requestor" and its letter */
    uint64_t requests;
    const uint32_t *moments; /* as of a transition */
};

/* A request with its steps. */
struct causality_request {
    uint64_t begun; /* ns, clock of its origin */
    uint32_t origin;
    uint64_t duration;                  /* ns, longest latency of its paths */
    const char *string;                 /* of that path */
    const char *requestor;              /* "name[pid]", or an address; "": no longer known */
    const struct causality_step *steps; /* [step_count], in causal order */
    uint32_t step_count;
    bool more; /* it had more steps than are kept */
};

/* The connections of a server process to one address, and the requests that waited while they were busy. */
struct causality_pool {
    uint32_t origin;
    uint32_t pid;
    char name[STREAM_NAME_SIZE + 1];
    const char *address;    /* of the back end */
    uint64_t connections;   /* that were used */
    uint64_t requests;      /* that called it */
    struct histogram waits; /* ns from the receive of a request that waited to its call */
    uint64_t waited;        /* ns in which at least one request waited */
};

struct causality {
    /* server processes in the order of letters, then the others */
    struct causality_process *processes;
    size_t process_count;
    struct causality_path *paths; /* in lexicographic order */
    size_t path_count;
    struct causality_substring *substrings; /* of 2 or more letters, in lexicographic order */
    size_t substring_count;
    struct causality_transition *transitions; /* by context, then by next; replies last */
    size_t transition_count;
    struct causality_entry *entries; /* by letter */
    size_t entry_count;
    struct causality_request *slowest; /* the slowest first */
    size_t slowest_count;
    struct causality_pool *pools; /* for which requests waited, the longest waits first */
    size_t pool_count;
    uint64_t moments_begin, moment_width; /* ns by the first origin's clock; 0: no moments */
    unsigned length, context;
    bool by_program, each_send, last;

    uint64_t requests;
    /* of these, from processes that later became server processes */
    uint64_t requests_of_later_servers;
    uint64_t requests_of_strangers; /* of these, from unmonitored requestors */
    uint64_t replies;               /* to requestors */
    uint64_t arcs;                  /* messages between server processes that belong to a request */
    uint64_t attributed[ATTRIBUTION_COUNT]; /* sums up to arcs */
    uint64_t without_request; /* messages between server processes that belong to no request */
    uint64_t late; /* ... since the one that they belonged to is forgotten: it was too long ago */
    uint64_t unmatched;    /* receives of server processes with an unknown sender */
    uint64_t unselected;   /* the same, whose SENDs a selection has removed */
    uint64_t contradicted; /* `last`: answers to another request than that of the latest receive */
    uint64_t ambiguous;    /* further possible senders of a receive's bytes: the first was taken */
    uint64_t system_receives;     /* receives of server processes from system processes */
    uint64_t joined;              /* sends and receives that continued a message */
    uint64_t assumed_sides;       /* ends of paths whose side (calls or serves) is a guess */
    uint64_t unknown_connections; /* the request for which they were made is no longer known */
    uint64_t unknown_paths;       /* messages on paths whose identity record is missing */
    /* steps whose string did not fit into the table: only their last two letters are counted */
    uint64_t other_strings;
    uint64_t other_substrings; /* occurrences of substrings that did not fit */
    /* transitions and replies whose context is unknown or did not fit */
    uint64_t other_transitions;
    uint64_t long_strings; /* paths that kept only their last letters */
    /* ends of paths without latency, since no messages relate the clocks */
    uint64_t unknown_clocks;
    uint64_t without_send; /* requests that caused no send: still open, or one-way messages */
    /* other ends of paths, of requests that were not answered, while others of the path were */
    uint64_t unanswered;
    uint64_t cut_requests; /* requests with so many steps that the first ones were dropped */

    uint32_t traces;
    uint64_t events;   /* records of events: SEND to TERMINATION, WAKEUP */
    uint64_t lost;     /* records that could not be written */
    uint64_t duration; /* ns from first to last record of the longest trace */
    bool complete;     /* every recording ended properly */
    struct history_counts matching;

    struct arena memory; /* holds what the above points to */
};

void causality_free(struct causality *causality);

/* The paths of requests that were answered, the most common first. The caller frees the array. NULL: out of memory. */
const struct causality_path **causality_answered(const struct causality *causality,
                                                 size_t *ret_count);

/* ---- making the result ---- */

struct causality_analysis;

/* For a history from which nothing has been read. Names and pids in the options stay the caller's, and must outlive the
 * analysis. Returns 0 or -ENOMEM. */
int causality_new(struct history *history, const struct causality_options *options,
                  struct causality_analysis **ret_analysis);
void causality_analysis_free(struct causality_analysis *analysis);
struct analysis causality_analysis(struct causality_analysis *analysis);

/* Processes the next event. Returns 0 or -ENOMEM; after an error only causality_analysis_free is allowed. */
int causality_add(struct causality_analysis *analysis, const struct history_event *event);

/* Makes the result; afterwards only causality_analysis_free is allowed. `origins` of the history are counted in
 * `traces`. Returns 0 or -ENOMEM. The result needs neither history nor analysis; free it with causality_free. */
int causality_finish(struct causality_analysis *analysis, uint32_t origins,
                     struct causality **ret_causality);

/* Does all of the above: reads a history with so many origins to its end. Returns 0; errors of the history; -EAGAIN if
 * its sources have not ended; -ENOMEM; each with a line in `problem`. */
int causality_read_history(struct history *history, uint32_t origins,
                           const struct causality_options *options,
                           struct causality **ret_causality, struct problem *problem);

#endif
