/* SPDX-License-Identifier: MIT */
/*
 * elapsed_private.h: the intervals of threads, from the first event to the last. Private to elapsed/.
 *
 *      interval of a thread that was awake     |  cpu ........ the rest: no CPU  | event
 *      ... that blocked                        |  cpu .. no CPU ..|     wait     | BLOCK
 *      ... that had fallen asleep              |     wait     |       cpu        | RECEIVE
 *                                                     ^ arrival: what ended the wait, if it is known
 */
#ifndef DPM_ELAPSED_PRIVATE_H
#define DPM_ELAPSED_PRIVATE_H

#include "analysis/elapsed/elapsed.h"
#include "base/lookup.h"
#include "base/scratch.h"

/* All times are of the first origin's clock. Indexes count from 1; 0: none. */
struct interval {
    uint64_t end;
    uint64_t cpu;
    uint64_t wait;
    uint64_t queued;   /* of the wait, at its end: it could have run, but had no CPU */
    uint64_t arrival;  /* 0: nothing recorded ended the wait */
    uint32_t previous; /* of the same thread */
    uint32_t
        source; /* the interval at whose end something began that ended the wait, or the thread */
    uint32_t computes; /* what: index into details */
    uint32_t waits;
    bool asleep; /* the wait comes first */
    bool is_message;
};

/* What is known of a thread in one place. */
struct detail {
    enum elapsed_kind kind;
    uint32_t origin;
    uint32_t image;
    uint32_t call;
    uint32_t path; /* number of the PATH */
    uint64_t pc;
    uint32_t pid, tid;
    uint8_t path_kind;
    char process[STREAM_NAME_SIZE + 1];
    const char *address; /* in `texts`, or NULL */
};

#define DETAILS_MOST 65536u

/* A time that a thread has waited for a CPU, and when it got it. */
struct delay {
    uint64_t time, length;
};

struct elapsed_thread {
    uint32_t last;   /* interval: the latest, or the one at whose end it fell asleep */
    uint32_t latest; /* interval: the latest, also inside a wait */
    uint64_t cpu;
    bool runs;    /* cpu is known */
    bool asleep;  /* since the end of `last`, in a call that waits for a message or space ... */
    bool for_any; /* ... or for any of several paths */
    bool stopped;
    uint32_t call;
    uint64_t runnable; /* of its latest SCHEDULE */
    struct delay *delays;
    size_t delay_count, delay_room;
};

struct elapsed_analysis {
    struct history *history;
    size_t value;             /* index of the interval that ends at an event */
    struct scratch intervals; /* struct interval */
    struct lookup thread_numbers;
    struct pool threads;
    struct intern detail_keys;
    struct detail *details;
    size_t detail_room;
    struct arena texts;
    uint64_t
        *arrived; /* [end_place - 1]: when the first message arrived since the last RECEIVE there */
    size_t arrived_room;
    /* the process whose end counts: the first one of the recording, if its beginning is in it */
    bool has_acted;    /* stream 1 of origin 0 has done anything */
    uint32_t root;     /* number of its first stream, of origin 0 */
    uint32_t root_end; /* interval */
    uint32_t root_pid;
    char root_name[STREAM_NAME_SIZE + 1];
    uint64_t first; /* time of the first event */
    uint32_t last;  /* the interval that ends last */
    uint64_t last_time;
};

/* ---- elapsed_details.c ---- */

/* Index of the detail, made if it is new; at most DETAILS_MOST - then without the PC, or 0. -ENOMEM. `path`: number of
 * the end whose address counts, 0: none. */
int64_t detail_of(struct elapsed_analysis *analysis, const struct history_event *event,
                  enum elapsed_kind kind, uint32_t call, uint32_t path);

/* What a wait that no record explains was for, by its system call. */
enum elapsed_kind kind_of_call(uint32_t call, uint32_t state);

/* ---- elapsed_delays.c ---- */

/* SCHEDULE: the thread has waited `runnable` ns for a CPU so far. Returns 0 or -ENOMEM. */
int elapsed_note_delay(struct elapsed_thread *thread, uint64_t time, uint64_t runnable);

/* The delays in the thread's next interval become part of its wait, or of the one before. */
void elapsed_take_delays(const struct elapsed_analysis *analysis, struct elapsed_thread *thread,
                         struct interval *interval);

/* ---- elapsed_walk.c ---- */

int elapsed_walk(struct elapsed_analysis *analysis, struct elapsed *elapsed);

static inline struct interval *interval_at(const struct elapsed_analysis *analysis, uint32_t index)
{
    return (struct interval *)analysis->intervals.at + (index - 1);
}

#endif
