/* SPDX-License-Identifier: MIT */
/*
 * patterns.h: ways to use processes that cost time, and that programs have in common.
 *
 *      exchanges   one row per (process, address it calls)
 *
 *          web.py    ==o SEND        o==o SEND        o==o SEND ...        one round trip after the other, by one thread
 *          postgres     \=o==o======/    \=o==o======/
 *
 *      pools       one row per process whose threads answer requests
 *
 *          request   received o - - - - - - - - - - o===========o answer
 *          worker    ==answers another request =====o                      it waited until its worker was free
 *
 *      naps        one row per process that sleeps again and again, with nothing in between
 *
 *          script    ==o sleep 0.5 o=o sleep 0.5 o=o sleep 0.5 o==========
 *
 * All of it follows from what one thread did in the order of its own records, so no clocks are compared. What is not
 * certain is left out: of several requests of one thread at a time nothing is said. Memory is bounded by live threads
 * and ends, and by PATTERN_ROWS rows of each kind.
 */
#ifndef DPM_PATTERNS_H
#define DPM_PATTERNS_H

#include "analysis/analysis.h"
#include "base/covered.h"
#include "base/histogram.h"

#define PATTERN_ROWS 1024u /* later ones are left out */

/* Fewer round trips in a request are what many programs need: a session, a few tables, a commit. */
#define TRIPS_MANY 10u

/* A connection for a single question has no more exchanges: greeting, encryption, authentication, settings. */
#define OWN_EXCHANGES 8u

struct exchange_row {
    uint32_t origin;
    uint32_t stream;     /* number of the first stream of the process that calls */
    const char *address; /* that it calls, as endpoint_remote() writes it */
    bool serves;         /* the process has also received requests itself */
    uint32_t threads;    /* that made round trips; 2: two or more */
    /* Round trips that a thread made, without other messages from its send to the answer. */
    struct histogram trips; /* ns */
    uint64_t
        trips_covered; /* ns in which at least one was in progress, or what its thread did before it */
    uint64_t
        transfers; /* the same, but of much data or many sends: that is no question; not in `trips` */
    /* Requests to the process in which one thread made at least TRIPS_MANY of them. */
    uint64_t requests;
    uint64_t asking;       /* requests in which one made any */
    struct histogram each; /* round trips of such a request */
    uint64_t request_time; /* ns, sum, from the receive of the request to its answer ... */
    uint64_t trip_time;    /* ... of it, round trips alone ... */
    uint64_t series_time;  /* ... or with what the thread did between them ... */
    uint64_t surplus;      /* ... and of that, all but an average one of each request */
    uint64_t
        many_covered; /* ns in which at least one of them was in progress, or what its thread did before it */
    uint64_t connects; /* connections that it made ... */
    /* ... and of these, the ones that it used, and that have ended */
    uint64_t connections;
    uint64_t exchanges; /* questions and answers over these */
    uint64_t
        setup; /* ns, sum: connect(), and the first OWN_EXCHANGES exchanges but the last one ... */
    uint64_t setup_covered;   /* ... in which at least one connection was in that state ... */
    uint64_t connect_covered; /* ... or had not been used yet */
    /* TCP connections that were made only after their SYN was sent again. */
    uint64_t resent;
    struct histogram resent_times; /* ns that connecting took */
    uint64_t resent_covered;       /* ns in which at least one was being made */
};

struct pool_row {
    uint32_t origin;
    uint32_t stream;   /* number of its first stream, and thus of the process */
    uint32_t workers;  /* threads that have answered more than one request */
    uint64_t requests; /* answered by these */
    uint64_t time;     /* ns, sum: from the arrival of a request to its answer */
    struct histogram
        waits;       /* ns, of those that waited until their worker had answered another one */
    uint64_t waited; /* ns in which at least one waited */
    uint64_t busy;   /* ns, sum over workers: they had a request ... */
    uint64_t span;   /* ... from their first request to their last answer */
    uint64_t cpu;    /* ns of `busy` in which they ran, or had no CPU */
};

struct nap_row {
    uint32_t origin;
    uint32_t
        stream; /* number of the first stream of the process that sleeps, or whose children do */
    bool by_children; /* it has made a process for each */
    uint64_t naps;    /* in series of two or more */
    uint64_t series;  /* consecutive naps of one length */
    uint64_t time;    /* ns, sum of the naps */
    uint64_t length;  /* ns of the longest nap */
    uint64_t
        lost_most; /* ns, one nap of each series: what it waited for had ended during the last one */
};

struct patterns {
    struct exchange_row *exchanges;
    size_t exchange_count;
    struct pool_row *pools;
    size_t pool_count;
    struct nap_row *naps;
    size_t nap_count;
    struct arena memory; /* of texts */
};

struct patterns_analysis;

/* Returns 0 or -ENOMEM, as the other functions. Call it before anything is read from the history. */
int patterns_new(struct history *history, struct patterns_analysis **ret_analysis);
void patterns_analysis_free(struct patterns_analysis *analysis);
struct analysis patterns_analysis(struct patterns_analysis *analysis);

/* After the last event. Free the result with patterns_free. */
int patterns_finish(struct patterns_analysis *analysis, struct patterns **ret_patterns);
void patterns_free(struct patterns *patterns);

#endif
