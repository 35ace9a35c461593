/* SPDX-License-Identifier: MIT */
/*
 * causality.h: paths of causality: what a request to a server sets going among its processes.
 *
 *      requestor         A          B          C
 *         | request ---> o                            a request: a tree of receives ...
 *         |              o -------> o
 *         |              |          o -------> o
 *         |              |          o <------- o
 *         |              o <------- o
 *         | <---- reply  o                            ... and its string: ABCBA
 *
 * Each server process has a letter. A string is the way from the root of a tree to one of its
 * leaves. (B. P. Miller: Performance Characterization of Distributed Programs, 5.2.4.)
 *
 * The history knows for certain who received what a SEND sent. Which receive made a process send is
 * not recorded; enum attribution says how it was found, and the result how often each. One pass;
 * memory is bounded by what lives, and by constants below.
 */
#ifndef DPM_CAUSALITY_H
#define DPM_CAUSALITY_H

#include "analysis/analysis.h"
#include "base/histogram.h"

/* ---- what is asked for ---- */

#define CAUSALITY_LENGTH_MOST  16   /* letters of a substring; a context has one less at most */
#define CAUSALITY_SLOWEST_MOST 1000 /* requests shown with their events */
#define CAUSALITY_STRING_MOST                                                                      \
    64 /* letters of a whole string; of a longer one the last 16 are kept */
#define CAUSALITY_LETTERS_MOST                                                                     \
    65000 /* server processes with a letter of their own; others share '*' */

struct causality_options {
    const char *const
        *servers; /* [server_count] names or pids: these are the server processes, and no others */
    size_t server_count; /* 0: by what they do */
    bool by_program;     /* processes of one name share a letter */
    bool each_send; /* every send is a message; else consecutive ones into a byte stream are one */
    bool last; /* a send belongs to what its stream has received last, whatever connections tell */
    unsigned length;  /* the longest substrings, 2 to CAUSALITY_LENGTH_MOST; 0: that */
    unsigned context; /* letters, 1 to CAUSALITY_LENGTH_MOST - 1; 0: 2 */
    unsigned slowest; /* requests to be kept with their events, up to CAUSALITY_SLOWEST_MOST */
};

/* How it is known to which request a message between server processes belongs. */
enum attribution {
    /* proved: it answers what came by the same connection, which had one request open */
    ATTRIBUTION_PATH,
    /* proved: no other request was open in the process */
    ATTRIBUTION_ALONE,
    /* proved: it is the first of a process that was created for the request */
    ATTRIBUTION_CREATION,
    /* assumed: no other request was open in the thread, but there was in the process */
    ATTRIBUTION_THREAD,
    /* assumed: that of what the thread received last, of several open ones */
    ATTRIBUTION_LATEST,
    /* assumed: it answers the latest of several open requests of one connection */
    ATTRIBUTION_OVERLAP,
    ATTRIBUTION_COUNT,
};

/* "path", "alone", ... */
const char *attribution_name(enum attribution attribution);
bool attribution_is_proved(enum attribution attribution);

/* ---- the result ---- */

enum causality_role {
    ROLE_REQUESTOR, /* only calls others */
    ROLE_SERVER,    /* has been called, or was named */
    ROLE_SYSTEM,    /* only with `servers`: not named, and called by those that are */
};

/* "requestor", "server", "system". */
const char *causality_role_name(enum causality_role role);

#define LETTER_SIZE 16

/* A metered process that has sent or received messages. */
struct causality_process {
    char letter[LETTER_SIZE]; /* "" of what is no server process */
    enum causality_role role;
    uint32_t origin;
    uint32_t pid; /* 0: its identity was lost */
    char name[STREAM_NAME_SIZE + 1];
    uint64_t requests; /* that it made as a requestor */
};

/* A way from the root of a request's tree to a leaf. */
struct causality_path {
    const char
        *string; /* of one that is longer than CAUSALITY_STRING_MOST "..." and its last letters */
    uint64_t count;
    /* ns from the receive of the request to the last that the leaf did: its last send, else its
     * receive */
    struct histogram latency;
};

struct causality_substring {
    const char *string;
    uint64_t count;
};

/* A process, having received along `context`, next sends to `next`. */
struct causality_transition {
    const char *const *
        context; /* [length], letters; the first may be "requestor" or "nobody", the last is of who sends */
    unsigned length;
    const char *next; /* letter; NULL: replies to requestors, which have no probability */
    uint64_t count;
    uint64_t of; /* all that was sent to server processes in this context */
};

#define TIME_UNKNOWN UINT64_MAX /* no messages tell how far the clocks of two machines are apart */

struct causality_step {
    uint64_t when;      /* ns after the request began, or TIME_UNKNOWN */
    uint64_t last;      /* ... the last that it sent, or `when` */
    const char *letter; /* who received it ... */
    const char *from;   /* ... from whom; "requestor" */
};

#define CAUSALITY_STEPS_MOST 200 /* of a request that is shown */

/* A server process that requests come to. */
struct causality_entry {
    const char *const *context; /* [2]: "requestor" and its letter */
    uint64_t requests;
};

/* A request with its events. */
struct causality_request {
    uint64_t begun; /* ns, clock of its origin */
    uint32_t origin;
    uint64_t duration;                  /* ns, the longest latency of its paths */
    const char *string;                 /* of that path */
    const char *requestor;              /* "name[pid]", or an address; "" if it was forgotten */
    const struct causality_step *steps; /* [step_count], in causal order */
    uint32_t step_count;
    bool more; /* it had more steps than are kept */
};

struct causality {
    struct causality_process
        *processes; /* server processes in the order of letters, then the others */
    size_t process_count;
    struct causality_path *paths; /* in lexicographic order */
    size_t path_count;
    struct causality_substring *substrings; /* of 2 letters and longer, in lexicographic order */
    size_t substring_count;
    struct causality_transition *transitions; /* by context, then by next; replies last */
    size_t transition_count;
    struct causality_entry *entries; /* by letter */
    size_t entry_count;
    struct causality_request *slowest; /* the slowest first */
    size_t slowest_count;
    unsigned length, context;
    bool by_program, each_send, last;

    uint64_t requests;
    uint64_t
        requests_of_later_servers;  /* of them, from processes that became server processes later */
    uint64_t requests_of_strangers; /* of them, from requestors that are not metered */
    uint64_t replies;               /* to requestors */
    uint64_t arcs;                  /* messages between server processes that belong to a request */
    uint64_t attributed[ATTRIBUTION_COUNT]; /* the arcs */
    uint64_t without_request; /* messages between server processes that belong to no request */
    uint64_t late;            /* ... to one that was forgotten: too long ago */
    uint64_t unmatched; /* receives of server processes, of which it is not known who sent them */
    uint64_t contradicted; /* `last`: answers to another request than the one received last */
    uint64_t ambiguous;    /* more who may have sent the bytes of a receive: the first was taken */
    uint64_t system_receives; /* receives of server processes from system processes */
    uint64_t joined;          /* sends and receives that were more of the same message */
    uint64_t assumed_sides;   /* ends of paths of which it was guessed who calls and who serves */
    uint64_t unknown_connections; /* it is not known any more for which request they were made */
    uint64_t unknown_paths;       /* messages on paths whose identity record is missing */
    /* steps whose string found no room: only the last two letters are counted */
    uint64_t other_strings;
    uint64_t other_substrings; /* occurrences of substrings that found no room */
    /* transitions and replies whose context is not known or found no room */
    uint64_t other_transitions;
    uint64_t long_strings;   /* paths of which only the last letters are known */
    uint64_t unknown_clocks; /* ends of paths without latency: nobody knows how clocks differ */
    uint64_t cut_requests;   /* requests with so many steps that the first were let go */

    uint32_t traces;
    uint64_t events;   /* records that tell of an event: SEND to TERMINATION, WAKEUP */
    uint64_t lost;     /* records that could not be written */
    uint64_t duration; /* ns from the first record to the last, the longest trace */
    bool complete;     /* every recording ended in order */
    struct history_counts matching;

    struct arena memory; /* of what the above points into */
};

void causality_free(struct causality *causality);

/* All paths, the commonest first, which the caller frees; NULL: out of memory. */
const struct causality_path **causality_commonest(const struct causality *causality);

/* ---- making it ---- */

struct causality_analysis;

/* Of a history that nothing has been read of. Names and pids of the options stay the caller's, and must live as long.
 * Returns 0, or -ENOMEM. */
int causality_new(struct history *history, const struct causality_options *options,
                  struct causality_analysis **ret_analysis);
void causality_analysis_free(struct causality_analysis *analysis);
struct analysis causality_analysis(struct causality_analysis *analysis);

/* Takes the next event into account. Returns 0 or -ENOMEM; after that only causality_analysis_free is allowed. */
int causality_add(struct causality_analysis *analysis, const struct history_event *event);

/* The result; after it only causality_analysis_free is allowed. `origins` of the history are
 * counted in `traces`. Returns 0 or -ENOMEM. The result stands alone: free it with causality_free. */
int causality_finish(struct causality_analysis *analysis, uint32_t origins,
                     struct causality **ret_causality);

/* All of it: reads a history with so many origins to its end. Errors: those of the history; -EAGAIN
 * if it has nothing yet; -ENOMEM; a line in `problem`. */
int causality_read_history(struct history *history, uint32_t origins,
                           const struct causality_options *options,
                           struct causality **ret_causality, struct problem *problem);

#endif
