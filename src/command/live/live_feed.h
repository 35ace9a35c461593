/* SPDX-License-Identifier: MIT */
/*
 * live_feed.h: where snapshots come from: running processes, a trace that grows, or a finished one, played back. Private
 * to command/.
 *
 *      processes --meter--> rings ------------------------.
 *      TRACE, still recorded --trace_follow--> gate -------+--> history --> live --live_feed_step--> snapshot
 *      TRACE, finished --trace_open--> gate, opened -------'
 *                                      in steps
 */
#ifndef DPM_LIVE_FEED_H
#define DPM_LIVE_FEED_H

#include "command/shared/command.h"

#include "live/gate.h"
#include "live/live.h"
#include "recorder/acquiring.h"
#include "recorder/recorder.h"

#include <poll.h>

struct live_feed_options {
    uint64_t interval; /* ns between snapshots: of real time; of the trace's time, if `pace` is 0 */
    uint64_t
        settles_most; /* ns that a snapshot waits until nearly all that was read is counted; 0: 2 s */
    /* finished traces: how many times as fast as they were recorded; 0: as fast as they can be read */
    double pace;
    const char *const *traces; /* [trace_count]; 0: the processes of `acquiring` */
    size_t trace_count;
    uint32_t kinds; /* of connections that processes have recorded: METER_TCP ... */
    const char
        *folder; /* of copies that others may join; NULL: none. Then there may be no traces yet */
    const char *job; /* only MACHINE.JOB and MACHINE.JOB.N; NULL: all in the folder */
    int stop;        /* descriptor that is readable when opening is to end; -1: none */
    struct acquiring acquiring;
    const char *
        stored; /* the processes' trace of the newest records, to be made; NULL: nothing is stored ... */
    uint64_t max_size; /* ... bytes, at most */
    /* says what cannot be seen; NULL: nothing is said */
    void (*say)(const char *line, void *context);
    void *say_context;
    bool counts; /* live_count */
    bool hides;  /* others see it: passwords in command lines are hidden */
};

enum live_feed_kind { FEED_METER, FEED_GROWING, FEED_FINISHED };

struct live_feed {
    struct live_feed_options options;
    enum live_feed_kind kind;
    struct history *history;
    struct live *live;
    uint32_t origins;
    /* traces */
    struct source **sources; /* [origins] */
    struct gate **gates;
    char **names;
    uint64_t looked;  /* CLOCK_MONOTONIC: when others were looked for in the folder ... */
    uint64_t joined;  /* ... and when the latest was found */
    int64_t begin;    /* wall clock, ns: of the first record */
    int64_t position; /* ... up to which gates are open */
    uint64_t moved;   /* CLOCK_MONOTONIC: when `position` was set */
    bool catches_up;  /* what was recorded before is read first; ... */
    bool caught_up;   /* ... or was, once, or cannot be read as fast as it grows */
    uint64_t lag_at;  /* CLOCK_MONOTONIC: when it was last looked how far behind it is; ... */
    int64_t lag;      /* ... ns; 0: not yet */
    unsigned lags;    /* how often in a row it was not less than before */
    /* processes */
    struct recording_options recording_options;
    struct recording recording;
    struct meter_begun begun;
    uint64_t analysed; /* CLOCK_MONOTONIC: up to then, all records were */
    bool looks;        /* for new processes, or new traces in the folder */
    uint64_t
        overtaken; /* records of which `say` knows that they were removed before they were read */
    uint64_t due;  /* CLOCK_MONOTONIC: the next snapshot */
    uint64_t counted; /* events that there were at the latest snapshot ... */
    uint64_t shown;   /* ... and its time (live_time) */
    bool held;        /* no snapshots, and no playback */
    bool ended;       /* the last snapshot was made */
};

/* Opens it; `options` need not outlive it, but what it refers to must. With processes this takes a second. Returns 0, or a
 * negative errno with a line in `problem`. Call live_feed_close in any case. */
int live_feed_open(struct live_feed *feed, const struct live_feed_options *options,
                   struct problem *problem);

/* Whether this name in the folder may be a trace of the job, as job_where calls it; NULL: of any. */
bool live_feed_takes(const char *trace, const char *job);

/* Waits until there is something to do, or one of the files is ready (revents), or a time (CLOCK_MONOTONIC, ns). */
void live_feed_wait(struct live_feed *feed, struct pollfd *files, size_t count, uint64_t until);

/* Reads on, for some 100 ms at most. Returns 1 if there is a new snapshot, 0, or a negative errno with a line in
 * `problem`. After the last one, `ended` is set. */
int live_feed_step(struct live_feed *feed, struct problem *problem);

/* No more snapshots until it is released; a meter is read on, a playback stops. */
void live_feed_hold(struct live_feed *feed, bool held);

/* Makes the processes' meter record nothing but the ends of threads until it is told to record again; snapshots go on. Returns 0, or a negative errno with a line
 * in `problem`; -ENOTSUP: what is shown is no meter's, or that cannot rest. */
int live_feed_rest(struct live_feed *feed, bool rests, struct problem *problem);

/* Of a finished trace. */
void live_feed_set_pace(struct live_feed *feed, double pace);

/* Whether a trace that grows has more than could be read so far. */
bool live_feed_catches_up(const struct live_feed *feed);

/* Whether snapshots are of what happens: not before a trace that grows was read up to its end once. */
bool live_feed_is_current(const struct live_feed *feed);

/* Whether it meters processes. */
bool live_feed_records(const struct live_feed *feed);

/* Adds a record to those of the processes that it meters (recording_add). */
int live_feed_add(struct live_feed *feed, const struct record_header *record);

/* Nothing stays attached to any process. Says what its meter has not recorded. */
void live_feed_close(struct live_feed *feed);

#endif
