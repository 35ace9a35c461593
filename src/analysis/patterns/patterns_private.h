/* SPDX-License-Identifier: MIT */
/*
 * patterns_private.h: what the files of patterns/ share. Private to patterns/.
 *
 *      event --> patterns.c --+--> patterns_trips.c    round trips, connections
 *                             +--> patterns_pools.c    requests that wait for a thread
 *                             '--> patterns_naps.c     sleeps, one after the other
 *
 * Indexes count from 1; 0: none.
 */
#ifndef DPM_PATTERNS_PRIVATE_H
#define DPM_PATTERNS_PRIVATE_H

#include "analysis/client_requests.h"
#include "analysis/patterns/patterns.h"
#include "base/lookup.h"

#define SERIES_MOST 4 /* addresses that one request asks */

/* Round trips to one address during a request. */
struct trip_series {
    uint32_t row;
    uint64_t count;
    uint64_t time, alone; /* ns: with what the thread did between them; the trips alone */
};

/* Sleeps of about one length, with nothing in between. */
struct nap_series {
    uint64_t count;
    uint64_t shortest, longest, time;
    uint64_t cpu; /* CPU time used at the end of the latest */
    bool by_children;
};

struct pattern_thread {
    uint32_t process; /* index */
    uint32_t number;  /* of its stream */
    /* the round trip in progress */
    uint32_t trip_row;
    uint32_t trip_place;
    uint64_t asked, answered; /* answered 0: not yet */
    uint64_t asked_sends, asked_bytes;
    uint64_t before; /* when the round trip before it was answered, if nothing came in between; 0 */
    /* the request that it received and has not left for another one */
    uint32_t request_place;
    bool overlaps; /* it has received another one before the answer: nothing is said of both */
    uint64_t request_began, request_ended; /* ended: by its latest answer; 0: none yet */
    struct trip_series series[SERIES_MOST];
    uint32_t series_count;
    /* as a worker of a pool */
    bool fresh;           /* it has done nothing since its answer ... */
    bool idle;            /* ... but wait for work, until `free_since` */
    uint64_t free_since;  /* 0: it has answered nothing yet */
    uint64_t free_cpu;    /* CPU time that it had used by then */
    uint32_t answered_at; /* the end over which it answered */
    uint64_t answers, first, last, busy, cpu;
    uint64_t
        unknown; /* ns from `first` to `last` in which it answered a request that is not known */
    struct nap_series naps;
    uint32_t parent; /* number of the stream that created it; 0: not known */
    uint32_t child;  /* number of the stream that it created last, if that has not ended */
    uint64_t nap;    /* ns: its only sleep, of a process that does nothing else; 0: none */
    bool works;      /* it has done something else */
};

struct pattern_process {
    uint32_t origin;
    uint32_t number;
    bool serves;
    uint32_t pool; /* its row */
    uint32_t naps;
};

/* An end of a connection. */
struct pattern_place {
    uint8_t side;      /* enum asking_side */
    bool is_open;      /* SERVES: a request was received and is not answered */
    uint32_t row;      /* CALLS: of the exchanges */
    uint64_t received; /* SERVES: when */
    uint64_t sent;     /* SERVES: its latest send */
    uint64_t came; /* SERVES: when the first message arrived since the last receive; 0: not known */
    uint64_t connecting; /* CALLS: when connect() was called; 0: not known */
    uint64_t took;       /* ns that it took */
    uint64_t exchanges;
    uint64_t asked, answered; /* CALLS: the latest exchange; answered 0: not yet */
    uint32_t number;          /* of its PATH */
};

struct exchange_state {
    struct exchange_row row;
    uint32_t thread; /* number of the stream that made the first round trip */
    struct covered trips, many, setup, connecting, resent;
};

struct pool_state {
    struct pool_row row;
    struct covered waited;
};

struct patterns_analysis {
    struct history *history;
    struct lookup thread_numbers;
    struct pool threads; /* struct pattern_thread */
    struct lookup process_numbers;
    struct pool processes;        /* struct pattern_process */
    struct pattern_place *places; /* [end_place - 1] */
    size_t place_room;
    struct intern exchange_keys;
    struct exchange_state *exchanges;
    size_t exchange_room;
    struct pool_state *pools;
    size_t pool_count, pool_room;
    struct nap_row *naps;
    size_t nap_count, nap_room;
    struct arena memory;
};

static inline struct pattern_process *pattern_process_at(const struct patterns_analysis *analysis,
                                                         uint32_t index)
{
    return pool_at(&analysis->processes, index);
}

static inline struct exchange_state *exchange_at(const struct patterns_analysis *analysis,
                                                 uint32_t row)
{
    return row == 0 ? NULL : &analysis->exchanges[row - 1];
}

/* ---- patterns_trips.c ---- */

/* A SEND or RECEIVE of the thread at such an end. Each returns 0 or -ENOMEM. */
int trips_note_message(struct patterns_analysis *analysis, const struct history_event *event,
                       struct pattern_thread *thread, struct pattern_place *place);
int trips_note_connect(struct patterns_analysis *analysis, const struct history_event *event,
                       struct pattern_thread *thread, struct pattern_place *place);
/* The kernel's account of a connection that ends. */
int trips_note_network(struct patterns_analysis *analysis, const struct record *record,
                       struct pattern_place *place);
/* The connection has ended. */
void trips_end_path(struct patterns_analysis *analysis, const struct pattern_place *place);
/* The thread has ended, or the recording. */
int trips_end_thread(struct patterns_analysis *analysis, struct pattern_thread *thread);

/* ---- patterns_pools.c ---- */

int pools_note_message(struct patterns_analysis *analysis, const struct history_event *event,
                       struct pattern_thread *thread, struct pattern_place *place);
/* A wait that was no message's. */
void pools_note_wait(const struct history_event *event, struct pattern_thread *thread);
void pools_end_thread(struct patterns_analysis *analysis, const struct pattern_thread *thread);

/* ---- patterns_naps.c ---- */

int naps_note(struct patterns_analysis *analysis, const struct history_event *event,
              struct pattern_thread *thread);
int naps_end_thread(struct patterns_analysis *analysis, struct pattern_thread *thread);

/* ---- patterns.c ---- */

/* NULL: it is not known. */
struct pattern_thread *pattern_find_thread(const struct patterns_analysis *analysis,
                                           uint32_t origin, uint32_t number);

#endif
