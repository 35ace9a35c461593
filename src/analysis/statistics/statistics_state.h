/* SPDX-License-Identifier: MIT */
/*
 * statistics_state.h: what the communication statistics remember while they read. Private to statistics/.
 *
 *      stream_place --> stream --> process --> row of the processes so far
 *      end_place -----> endpoint --> usage: one process at one endpoint, with its counters
 *                          '-------> queue: what it has sent and is not received
 *
 * When both ends of a connection are closed, what its usages have counted is added to the row of its like (ended.h).
 */
#ifndef DPM_STATISTICS_STATE_H
#define DPM_STATISTICS_STATE_H

#include "analysis/statistics/ended.h"
#include "analysis/statistics/endpoints.h"
#include "analysis/statistics/intervals.h"
#include "analysis/statistics/procedures.h"
#include "analysis/statistics/process_rows.h"
#include "analysis/statistics/waits.h"

#include <errno.h>

struct statistics_origin {
    bool seen;
    bool machine_known;
    uint32_t meter_flags; /* 0: no record shows them */
    uint32_t kinds_left_out;
    uint32_t meter;      /* enum meter_kind */
    uint64_t first_time; /* of its records, ns monotonic */
    uint64_t last_time;
    uint64_t last_event; /* when the latest event happened */
};

struct stream {
    uint32_t origin;
    uint32_t number;
    struct process *process;
    uint32_t process_number;
    uint32_t image; /* that it executes */
    bool present;   /* false: its place is free */
    bool known;     /* there was a STREAM record */
    bool running;   /* proc_time is set */
    bool ended;
    uint64_t proc_time;         /* the last one seen, 48 bits */
    uint64_t told_time;         /* the same, of its STREAM record, for the end; 0: none */
    struct stream_wait waits;   /* since its latest RECEIVECALL, if nothing else came since */
    struct stream_wait blocked; /* since the first SENDCALL of a call that goes on */
    struct recent_pc recent[2]; /* of its sends, of its receives */
};

struct statistics {
    struct history *history;
    struct identities *identities; /* the history's */
    size_t message_value;          /* where the history keeps a struct queued_message */
    struct statistics_origin *origins;
    size_t origin_capacity;
    uint32_t origin_count;
    struct places streams;
    struct places endpoints;
    struct endpoint unknown; /* all paths whose PATH record is missing */
    struct stream nameless;  /* of a record that names none, nor says so */
    struct process_rows processes;
    struct ended_rows ended;
    struct communication *rows; /* the processes so far; texts and lists of what has ended */
    struct procedures procedures;
    struct intervals intervals;
    uint64_t events;
    uint64_t unknown_streams;
    uint64_t unseen_bytes;
    uint64_t unseen_sent_bytes;
};

static inline uint64_t time_since(uint64_t begin, uint64_t now)
{
    return now > begin ? now - begin : 0;
}

/* events.c: counts an event, which is any record that is neither an identity nor about the recording. Returns 0 or
 * -ENOMEM. */
int events_count(struct statistics *statistics, const struct history_event *event);

/* The same of a STREAM record. */
int events_add_stream(struct statistics *statistics, const struct history_event *event);

/* Before a result: CPU time that streams which live have used since their latest events, as far as identities show. */
void events_count_told_times(struct statistics *statistics);

/* How far a moment of one origin's clock is from the same moment of another's; *ret_known: messages tell, else the wall
 * clocks do. */
int64_t statistics_clock_between(const struct statistics *statistics, uint32_t from, uint64_t time,
                                 uint32_t to, bool *ret_known);

#endif
