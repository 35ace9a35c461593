/* SPDX-License-Identifier: MIT */
/* elapsed_walk.h: a walk from an end backwards, as elapsed_walk.c and elapsed_walk_requests.c take it. Private to elapsed/. */
#ifndef DPM_ELAPSED_WALK_H
#define DPM_ELAPSED_WALK_H

#include "analysis/elapsed/elapsed_private.h"

/* A part of the request that is followed. */
struct hop {
    uint64_t begin, end;
    enum elapsed_kind kind;
    uint32_t detail;
};

#define DEPTH_MOST 64 /* processes that call each other */

struct walk {
    struct elapsed_analysis *analysis;
    struct elapsed_account *account;
    uint64_t now;   /* everything after this is accounted for */
    uint64_t floor; /* nothing before this counts */
    struct intern keys;
    struct part *parts;
    size_t part_room;
    bool keeps_hops;
    struct hop *hops;
    size_t hop_count, hop_room;
    /* intervals that received the request, in the processes that it is in now: the latest one last */
    uint32_t received[DEPTH_MOST];
    unsigned depth;
    /* intervals that waited for a lock, on the way from the latest message or creation to here: the latest one last */
    uint32_t waiters[DEPTH_MOST];
    uint32_t
        waits[DEPTH_MOST]; /* ... and where each waited at the time that the walk has come to */
    unsigned waiter_count;
    uint32_t
        killed; /* the wait with which the account begins, if its thread did nothing after it; 0: none */
    /* The wait before one for a lock that another thread ended, if its thread did next to nothing in between; 0: none ... */
    uint32_t in_vain;
    uint32_t lock;       /* ... and the detail of that one */
    struct holds *holds; /* NULL: not asked for */
    struct locks *locks; /* likewise */
    bool tells;          /* elapsed_watch gets its pieces */
    /* of requests: an interval that several of them went through counts once for a kind */
    bool counts_once;
    uint32_t at;      /* the interval that is accounted for; 0: none */
    uint32_t without; /* detail of a lock whose holders are not followed; 0: none */
    /* The request that is followed waited for a thread that waited for its own client: the interval that received that
     * client's message; 0: none. */
    uint32_t idle;
    /* A wait of the thread that had the request ended when it received another one, perhaps as the request waited for that:
     * the interval that received it; 0: none. */
    uint32_t other;
    /* The thread that had the request waited for an answer from outside: the interval that received it; 0: none. */
    uint32_t answer;
    /* of requests: detail of the thread that released the interpreter lock; 0: none ... */
    uint32_t releaser;
    struct holds *releasers; /* ... and of all; NULL: not asked for */
    bool failed;
};

/* The thread had no CPU from `from` until now, as far as the kernel's figures allow. Those are of all its time, and the
 * way through one request shares that with others. */
void walk_charge_no_cpu(struct walk *walk, uint64_t from, const struct interval *interval);

/* From `now` back to `begin`: the thread of the interval computed for its CPU time, and had no CPU for the rest. */
void walk_charge_awake(struct walk *walk, uint64_t begin, const struct interval *interval);

/* The thread's wait was over at `arrival`, as it seems: the rest that the kernel's figures do not cover is unknown,
 * unless it is the end of a process. */
void walk_charge_from_arrival(struct walk *walk, uint64_t arrival, const struct interval *interval);

/* The time from `from` (or the floor) until now was spent on that; from then on, now is `from`. `detail`: what, by whom. */
void walk_charge(struct walk *walk, uint64_t from, enum elapsed_kind kind, uint32_t detail);

/* Where the interval's thread was before it; if it was its first one, where its creator was. */
uint64_t walk_begin_of(const struct walk *walk, const struct interval *interval);

/* What a wait with this detail is for, as its call says. */
enum elapsed_kind walk_kind_of(const struct walk *walk, uint32_t detail);

/* What the time of a message on its way is: in flight, or not known. */
enum elapsed_kind walk_flight(const struct walk *walk, const struct interval *interval,
                              const struct interval *source);

/* Stays with the thread that waited. */
uint32_t walk_step_over_lock(struct walk *walk, const struct interval *interval);

/* Accounts for an interval; returns the one before it. */
uint32_t walk_step(struct walk *walk, uint32_t index);

/* Makes the rows of the account, and frees what the walk holds. Returns 0 or -ENOMEM, also if the walk has failed. */
int walk_end(struct walk *walk);

/* ---- elapsed_walk_requests.c ---- */

/* The account of all requests, that of median length and the slowest one. Returns 0 or -ENOMEM. */
int elapsed_walk_requests(struct elapsed_analysis *analysis, struct elapsed_requests *requests);

#endif
