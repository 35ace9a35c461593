/* SPDX-License-Identifier: MIT */
/*
 * pattern_findings.c: ways to use processes that cost time, each with what its remedy can save. See findings.h and
 * patterns.h.
 *
 * Each is said only if its evidence is complete: the constants say what that is.
 */
#include "analysis/findings/findings_private.h"

#include <errno.h>
#include <string.h>

uint32_t findings_row_of(const struct communication *communication, uint32_t origin,
                         uint32_t stream)
{
    for (uint32_t i = 0; i < communication->process_count; i++)
        if (communication->processes[i].origin == origin &&
            communication->processes[i].stream == stream)
            return i;
    return NO_PROCESS;
}

/* The calls of one process to one address, and how much of the elapsed time they concern. */
static int add_exchanges(const struct findings_from *from, const struct exchange_row *row,
                         enum finding_kind kind, uint64_t time, struct findings *findings)
{
    struct finding *finding =
        findings_add(findings, kind, findings_share(time, from->communication->duration));

    if (finding == NULL)
        return -ENOMEM;
    finding->exchanges.row = row;
    finding->exchanges.process = findings_row_of(from->communication, row->origin, row->stream);
    finding->exchanges.time = time;
    return 0;
}

/* Calls `find` for each row of exchanges, until FINDINGS_FEW are found. `find` returns whether it has added one. */
static int find_few(const struct findings_from *from, struct findings *findings,
                    int (*find)(const struct findings_from *from, const struct exchange_row *row,
                                struct findings *findings))
{
    size_t before = findings->count;
    int result = 0;

    for (size_t i = 0; i < from->patterns->exchange_count && result == 0 &&
                       findings->count < before + FINDINGS_FEW;
         i++)
        result = find(from, &from->patterns->exchanges[i], findings);
    return result;
}

/* ---- round trips one after the other ---- */

#define TRIPS_SMALL    0.05 /* of the elapsed time */
#define TRIPS_PART     0.2  /* of the requests' time: less is not what makes them slow */
#define TRIPS_REQUESTS 3    /* fewer may be a start, or a rare page */

/* Each of several requests makes many round trips in one thread. */
static int find_round_trips(const struct findings_from *from, const struct exchange_row *row,
                            struct findings *findings)
{
    uint64_t time = row->many_covered < row->trip_time ? row->many_covered : row->trip_time;

    if (row->requests < TRIPS_REQUESTS ||
        (double)row->trip_time < TRIPS_PART * (double)row->request_time ||
        findings_share(time, from->communication->duration) < TRIPS_SMALL)
        return 0;
    return add_exchanges(from, row, FINDING_ROUND_TRIPS, time, findings);
}

#define ONE_BY_ONE_FEW   100
#define ONE_BY_ONE_SMALL 0.1 /* of the elapsed time */
#define ONE_BY_ONE_DATA                                                                            \
    0.1 /* of the trips: with more transfers, these are parts of what moves data */
#define ONE_BY_ONE_LONG 5000000u /* ns: then the answer takes the time, not the round trip */

/* Several processes of one name that ask the same address stand for several users. */
static bool has_others(const struct findings_from *from, const struct exchange_row *row)
{
    const struct communication *communication = from->communication;
    uint32_t process = findings_row_of(communication, row->origin, row->stream);

    for (size_t i = 0; i < from->patterns->exchange_count; i++) {
        const struct exchange_row *other = &from->patterns->exchanges[i];
        uint32_t at = findings_row_of(communication, other->origin, other->stream);
        if (other != row && strcmp(other->address, row->address) == 0 && process != NO_PROCESS &&
            at != NO_PROCESS &&
            strncmp(communication->processes[at].name, communication->processes[process].name,
                    STREAM_NAME_SIZE) == 0)
            return true;
    }
    return false;
}

/* A client with one thread that asks for one thing at a time. For how many it needs the answers, no record shows. */
static int find_one_by_one(const struct findings_from *from, const struct exchange_row *row,
                           struct findings *findings)
{
    /* few for each connection: that is FINDING_OWN_CONNECTIONS */
    bool by_connection = row->connections * OWN_EXCHANGES >= histogram_count(&row->trips);
    uint64_t alone = histogram_sum(&row->trips);
    uint64_t time = alone < row->trips_covered ? alone : row->trips_covered;

    if (by_connection || row->serves || row->threads != 1 ||
        (double)row->transfers > ONE_BY_ONE_DATA * (double)histogram_count(&row->trips) ||
        histogram_count(&row->trips) < ONE_BY_ONE_FEW ||
        histogram_quantile(&row->trips, 0.5) > ONE_BY_ONE_LONG ||
        findings_share(time, from->communication->duration) < ONE_BY_ONE_SMALL ||
        has_others(from, row))
        return 0;
    return add_exchanges(from, row, FINDING_ONE_BY_ONE, time, findings);
}

/* ---- connections made after a SYN was sent again ---- */

static int find_resent(const struct findings_from *from, const struct exchange_row *row,
                       struct findings *findings)
{
    if (row->resent == 0 ||
        findings_share(row->resent_covered, from->communication->duration) < FINDING_SMALL)
        return 0;
    return add_exchanges(from, row, FINDING_RESENT, row->resent_covered, findings);
}

/* ---- requests that wait for a thread ---- */

#define WORKERS_LEAST 2    /* one thread that serves all is another pattern */
#define WORKERS_BUSY  0.9  /* of the time from their first request to their last answer */
#define WORKERS_SMALL 0.05 /* of the elapsed time, in which a request waits */
#define WORKERS_PART  0.1  /* of the requests, and of their time */

static int find_workers(const struct findings_from *from, struct findings *findings)
{
    const struct patterns *patterns = from->patterns;

    for (size_t i = 0, found = 0; i < patterns->pool_count && found < FINDINGS_FEW; i++) {
        const struct pool_row *row = &patterns->pools[i];
        double share = findings_share(row->waited, from->communication->duration);
        if (row->workers < WORKERS_LEAST || share < WORKERS_SMALL ||
            (double)row->busy < WORKERS_BUSY * (double)row->span ||
            (double)histogram_count(&row->waits) < WORKERS_PART * (double)row->requests ||
            (double)histogram_sum(&row->waits) < WORKERS_PART * (double)row->time)
            continue;
        struct finding *finding = findings_add(findings, FINDING_WORKERS, share);
        if (finding == NULL)
            return -ENOMEM;
        finding->workers.row = row;
        finding->workers.process = findings_row_of(from->communication, row->origin, row->stream);
        found++;
    }
    return 0;
}

/* ---- a script that polls ---- */

#define NAPS_FEW   4    /* fewer may each have a reason of their own */
#define NAPS_SMALL 0.05 /* of the elapsed time */

/* ns of the elapsed time that it slept; children are named like no other program. */
static uint64_t time_asleep(const struct findings_from *from, const struct nap_row *row,
                            uint32_t process)
{
    const struct elapsed_account *run = &from->elapsed->run;
    uint64_t time = 0;

    for (size_t i = 0; i < run->row_count; i++) {
        const struct elapsed_row *part = &run->rows[i];
        if (part->kind == ELAPSED_TIMER && part->origin == row->origin &&
            (row->by_children ? strcmp(part->process, "sleep") == 0
                              : part->pid == from->communication->processes[process].pid))
            time += part->time;
    }
    return time;
}

static int find_polling(const struct findings_from *from, struct findings *findings)
{
    const struct patterns *patterns = from->patterns;

    if (from->elapsed == NULL || !from->elapsed->from_start)
        return 0;
    for (size_t i = 0, found = 0; i < patterns->nap_count && found < FINDINGS_FEW; i++) {
        const struct nap_row *row = &patterns->naps[i];
        uint32_t process = findings_row_of(from->communication, row->origin, row->stream);
        uint64_t asleep = process == NO_PROCESS ? 0 : time_asleep(from, row, process);
        uint64_t time = asleep < row->time ? asleep : row->time;
        uint64_t less = row->lost_most < time ? row->lost_most : time;
        if (row->naps < NAPS_FEW || findings_share(time, from->elapsed->run.time) < NAPS_SMALL ||
            findings_share(less, from->elapsed->run.time) < FINDING_SMALL)
            continue;
        struct finding *finding =
            findings_add(findings, FINDING_POLLING, findings_share(less, from->elapsed->run.time));
        if (finding == NULL)
            return -ENOMEM;
        finding->naps.row = row;
        finding->naps.process = process;
        finding->naps.time = time;
        finding->naps.less = less;
        found++;
    }
    return 0;
}

/* ---- a lock that others wait for ---- */

#define LOCK_SMALL 0.05 /* of the elapsed time */

static int find_locks(const struct findings_from *from, struct findings *findings)
{
    const struct elapsed *elapsed = from->elapsed;

    for (size_t i = 0; elapsed != NULL && elapsed->from_start && i < elapsed->lock_count; i++) {
        double share = findings_share(elapsed->locks[i].time, elapsed->run.time);
        if (share < LOCK_SMALL)
            break;
        struct finding *finding = findings_add(findings, FINDING_LOCK, share);
        if (finding == NULL)
            return -ENOMEM;
        finding->lock = &elapsed->locks[i];
    }
    return 0;
}

int findings_of_patterns(const struct findings_from *from, struct findings *findings)
{
    if (find_locks(from, findings) < 0)
        return -ENOMEM;
    if (from->patterns == NULL)
        return 0;
    int result = find_few(from, findings, find_round_trips);
    if (result == 0)
        result = find_few(from, findings, find_one_by_one);
    if (result == 0)
        result = find_few(from, findings, find_resent);
    if (result == 0)
        result = find_workers(from, findings);
    return result < 0 ? result : find_polling(from, findings);
}
