/* SPDX-License-Identifier: MIT */
/*
 * statistics_state.h: the state of the communication statistics while they read. Private to statistics/.
 *
 *      stream_place --> stream --> process --> row in `rows`
 *      end_place -----> endpoint --> usage: one process at one endpoint, with its counters
 *                          '-------> queue: messages that it sent and that are not yet received
 *
 * When both ends of a connection are closed, the counts of its usages are added to the row of its like (ended.h).
 */
#ifndef DPM_STATISTICS_STATE_H
#define DPM_STATISTICS_STATE_H

#include "analysis/client_requests.h"
#include "analysis/statistics/coverings.h"
#include "analysis/statistics/decisions.h"
#include "analysis/statistics/ended.h"
#include "analysis/statistics/endpoints.h"
#include "analysis/statistics/failures.h"
#include "analysis/statistics/files.h"
#include "analysis/statistics/inputs.h"
#include "analysis/statistics/intervals.h"
#include "analysis/statistics/machine_loads.h"
#include "analysis/statistics/procedures.h"
#include "analysis/statistics/process_rows.h"
#include "analysis/statistics/scheduling.h"
#include "analysis/statistics/shared.h"
#include "analysis/statistics/waits.h"

#include <errno.h>

struct statistics_origin {
    bool seen;
    bool began; /* something came after the records of the meter's own start */
    bool machine_known;
    struct recorded_types recorded;
    struct message_gap gap;
    uint32_t meter; /* enum meter_kind */
    /* of its records, ns, monotonic clock, without those of the meter's start if there are others, and without those that
     * followed when procedures were named */
    uint64_t first_time;
    uint64_t last_time;
    uint64_t named;      /* ... of its latest name of a procedure; 0: none */
    uint64_t last_event; /* when its latest event happened */
    struct origin_load load;
};

struct stream {
    uint32_t origin;
    uint32_t number;
    struct process *process;
    uint32_t process_number;
    uint32_t image; /* number of its executable */
    bool present;   /* false: its index is free */
    bool known;     /* its STREAM record was read */
    bool running;   /* proc_time is set */
    bool ended;
    uint64_t proc_time;       /* latest procTime, 48 bits */
    uint64_t spun;            /* ns of it that it spun */
    uint64_t told_time;       /* procTime of its latest STREAM record, used for a result; 0: none */
    struct stream_wait waits; /* since its latest RECEIVECALL, while no other record ended it */
    struct stream_wait blocked; /* since the first SENDCALL of the call in progress */
    struct recent_pc recent[2]; /* of its sends; of its receives */
    struct stream_schedule schedule;
};

struct statistics {
    struct history *history;
    struct identities *identities; /* the history's */
    size_t message_value;          /* offset of struct queued_message in the history's values */
    size_t writer_value; /* ... and of the process that wrote to a file: its row + 1; 0: none */
    struct statistics_origin *origins;
    size_t origin_capacity;
    uint32_t origin_count;
    struct places streams;
    struct places endpoints;
    struct endpoint unknown; /* stands for all paths without a PATH record */
    struct stream nameless;  /* for records with stream 0 but without RECORD_NO_STREAM */
    struct process_rows processes;
    struct ended_rows ended;
    struct communication *rows; /* the processes so far; texts and lists of ended connections */
    struct procedures procedures;
    struct failures failures;
    struct files files;
    struct inputs inputs;
    struct shared_memories shared;
    struct intervals intervals;
    struct cgroup_states cgroups;
    struct decisions decisions;
    struct coverings coverings;
    struct askings askings;
    struct asking_step asking; /* of the current event */
    uint64_t events;
    uint64_t unknown_streams;
    uint64_t left;
    uint64_t unseen_bytes;
    uint64_t unseen_sent_bytes;
};

static inline uint64_t time_since(uint64_t begin, uint64_t now)
{
    return now > begin ? now - begin : 0;
}

/* The process that uses the other end, as far as is known: of several, the latest. */
static inline uint32_t peer_of(const struct endpoint *endpoint)
{
    const struct endpoint *partner = endpoint->partner;

    return partner == NULL || partner->last_used == NULL ? NO_PROCESS : partner->last_used->process;
}

/* Covers a wait at this end: COVERING_RECEIVER_WAIT or COVERING_MESSAGE_WAIT. Returns 0 or -ENOMEM. */
static inline int cover_at(struct statistics *statistics, const struct endpoint *endpoint,
                           enum covering_kind kind, uint32_t process, uint64_t from, uint64_t to)
{
    struct coverings *coverings = &statistics->coverings;
    bool is_shared = endpoint->usages != NULL && endpoint->usages->next != NULL;
    enum covering_kind shared = kind == COVERING_RECEIVER_WAIT ? COVERING_SHARED_RECEIVER_WAIT
                                                               : COVERING_SHARED_MESSAGE_WAIT;

    return is_shared ? coverings_add(coverings, shared, endpoint->first.process, peer_of(endpoint),
                                     from, to)
                     : coverings_add(coverings, kind, process, peer_of(endpoint), from, to);
}

/* events.c: counts an event: any record that is neither an identity nor about the recording. Returns 0 or -ENOMEM. */
int events_count(struct statistics *statistics, const struct history_event *event);

/* The same for a STREAM record. */
int events_add_stream(struct statistics *statistics, const struct history_event *event);

/* To be called before a result: adds CPU time that live streams have used since their latest events, if STREAM records
 * report it. */
void events_count_told_times(struct statistics *statistics);

/* ns to add to a time of origin `from` to get the clock of origin `to`. *ret_known: based on messages; otherwise on the
 * wall clocks. */
int64_t statistics_clock_between(const struct statistics *statistics, uint32_t from, uint64_t time,
                                 uint32_t to, bool *ret_known);

#endif
