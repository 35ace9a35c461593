/* SPDX-License-Identifier: MIT */
/*
 * connection_findings.c: how programs use connections: small sends that are held back, a connection for each request,
 * and requests that queue for a pooled connection. See findings.h.
 */
#include "analysis/findings/findings_private.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- Nagle's algorithm ---- */

#define HELD_FEW 3 /* less may be chance */

static const struct held_messages *held_by(const struct communication_path *path, int from)
{
    return from == 0 ? &path->held_sent : &path->held_received;
}

/* A retransmitted message is late for another reason. */
static bool may_be_held(const struct communication_path *path, int from)
{
    const struct held_messages *held = held_by(path, from);

    return held->messages >= HELD_FEW &&
           (!path->network.known || held->messages > 2 * path->network.retransmitted);
}

static int add_nagle(const struct communication *communication,
                     const struct communication_path *path, int from, struct findings *findings)
{
    const struct held_messages *held = held_by(path, from);
    const struct party *sender = &path->ends[from];
    uint32_t process = sender->count == 1 ? sender->processes[0] : NO_PROCESS;
    uint64_t time = held->time < communication->duration ? held->time : communication->duration;

    if (process != NO_PROCESS && communication->processes[process].covered.held < time)
        time = communication->processes[process].covered.held;
    if ((double)time < FINDING_SMALL * (double)communication->duration)
        return 0;
    struct finding *finding =
        findings_add(findings, FINDING_NAGLE, findings_share(time, communication->duration));
    if (finding == NULL)
        return -ENOMEM;
    finding->nagle.path = path;
    finding->nagle.from = from;
    finding->nagle.process = process;
    finding->nagle.messages = held->messages;
    finding->nagle.of = from == 0 ? path->sent.messages : path->received.messages;
    finding->nagle.mean = held->time / held->messages;
    finding->nagle.time = time;
    return 0;
}

/* The connections whose messages were held back longest. */
static int find_nagle(const struct communication *communication, struct findings *findings)
{
    uint64_t below = UINT64_MAX;
    int result = 0;

    for (int found = 0; found < FINDINGS_FEW && result == 0; found++) {
        const struct communication_path *longest = NULL;
        uint64_t most = 0;
        int from = 0;
        for (size_t i = 0; i < communication->path_count; i++)
            for (int end = 0; end < 2; end++) {
                uint64_t time = held_by(&communication->paths[i], end)->time;
                if (time <= most || time >= below || !may_be_held(&communication->paths[i], end))
                    continue;
                longest = &communication->paths[i];
                most = time;
                from = end;
            }
        if (longest == NULL)
            return 0;
        below = most;
        result = add_nagle(communication, longest, from, findings);
    }
    return result;
}

/* ---- a connection for each request ---- */

/* Few connections, or seldom ones, take no time that matters. */
#define OWN_FEW      100
#define OWN_SELDOM   20.0 /* per second */
#define OWN_REQUESTS 0.2  /* how far requests may be from one for each connection */

/* All connections to one address, whose row with most connections is `path`. */
struct to_address {
    const struct communication_path *path;
    uint64_t connections, ended, requests;
};

static uint64_t requests_of(const struct communication_path *path)
{
    uint64_t made = histogram_count(&path->times.of[TIME_REQUEST]);
    uint64_t served = histogram_count(&path->times.of[TIME_RESPONSE]);

    return made > served ? made : served;
}

static bool is_to(const struct communication_path *path, const char *address)
{
    return (path->kind == PATH_TCP || path->kind == PATH_UNIX_STREAM) && path->remote == address &&
           strchr(address, '*') == NULL;
}

/* Equal addresses of a result are the same text. Nothing, if an earlier row has this address. */
static struct to_address add_up(const struct communication *communication, size_t first)
{
    const char *address = communication->paths[first].remote;
    struct to_address sum = {.path = &communication->paths[first]};

    for (size_t i = 0; i < first; i++)
        if (is_to(&communication->paths[i], address))
            return (struct to_address){.path = NULL};
    for (size_t i = first; i < communication->path_count; i++) {
        const struct communication_path *path = &communication->paths[i];
        if (!is_to(path, address))
            continue;
        sum.connections += path->connections;
        sum.ended += path->ended;
        sum.requests += requests_of(path);
        sum.path = path->connections > sum.path->connections ? path : sum.path;
    }
    return sum;
}

/* The process that has made most connections to that address, and used and closed them. */
static const struct exchange_row *caller_of(const struct patterns *patterns, const char *address)
{
    const struct exchange_row *most = NULL;

    for (size_t i = 0; patterns != NULL && i < patterns->exchange_count; i++) {
        const struct exchange_row *row = &patterns->exchanges[i];
        if (strcmp(row->address, address) == 0 && row->connections > 0 &&
            (most == NULL || row->connections > most->connections))
            most = row;
    }
    return most;
}

/* What all processes took for that: for connecting, or also for exchanges that may only set up the connection. Those of several
 * may be at the same time. */
static uint64_t setup_of(const struct patterns *patterns, const char *address, bool exchanges,
                         uint64_t duration, uint32_t *ret_callers)
{
    uint64_t setup = 0;

    *ret_callers = 0;
    for (size_t i = 0; patterns != NULL && i < patterns->exchange_count; i++) {
        const struct exchange_row *row = &patterns->exchanges[i];
        if (strcmp(row->address, address) != 0 || row->connections == 0)
            continue;
        setup += exchanges ? row->setup_covered : row->connect_covered;
        ++*ret_callers;
    }
    return setup < duration ? setup : duration;
}

static bool are_for_one(uint64_t requests, uint64_t connections)
{
    double each = (double)requests / (double)connections;

    return each >= 1 - OWN_REQUESTS && each <= 1 + OWN_REQUESTS;
}

/* How many exchanges each connection has, if nearly all have the same number; else 0, also if it is not known. */
static uint64_t exchanges_of(const struct exchange_row *caller)
{
    if (caller == NULL)
        return 0;
    uint64_t each = (caller->exchanges + caller->connections / 2) / caller->connections;
    double rest = fabs((double)caller->exchanges / (double)caller->connections - (double)each);
    return rest <= OWN_REQUESTS ? each : 0;
}

/* Exchanges beyond one may set up the connection, if a single process makes all these connections: others may do so for a
 * reason. */
static bool has_own_connections(const struct to_address *sum, const struct exchange_row *caller,
                                double seconds)
{
    if (sum->connections < OWN_FEW || (double)sum->connections < OWN_SELDOM * seconds ||
        (double)sum->ended < (1 - OWN_REQUESTS) * (double)sum->connections)
        return false;
    return are_for_one(sum->requests, sum->connections) ||
           (caller != NULL && caller->connections >= OWN_FEW &&
            (double)caller->connections >= OWN_SELDOM * seconds && exchanges_of(caller) > 1 &&
            exchanges_of(caller) <= OWN_EXCHANGES);
}

static int find_own_connections(const struct findings_from *from, struct findings *findings)
{
    const struct communication *communication = from->communication;
    double seconds = (double)communication->duration / 1e9;
    int found = 0;

    for (size_t i = 0; i < communication->path_count && found < FINDINGS_FEW && seconds > 0; i++) {
        struct to_address sum = add_up(communication, i);
        const struct exchange_row *caller =
            sum.path == NULL ? NULL : caller_of(from->patterns, sum.path->remote);
        if (sum.path == NULL || sum.connections == 0 || !has_own_connections(&sum, caller, seconds))
            continue;
        uint32_t callers;
        uint64_t exchanges = exchanges_of(caller);
        uint64_t setup = setup_of(from->patterns, sum.path->remote, exchanges > 1,
                                  communication->duration, &callers);
        struct finding *finding = findings_add(findings, FINDING_OWN_CONNECTIONS,
                                               findings_share(setup, communication->duration));
        if (finding == NULL)
            return -ENOMEM;
        finding->own_connections.path = sum.path;
        finding->own_connections.connections = sum.connections;
        finding->own_connections.requests = sum.requests;
        finding->own_connections.per_second = (double)sum.connections / seconds;
        finding->own_connections.setup = setup;
        finding->own_connections.callers = callers;
        finding->own_connections.exchanges = exchanges;
        found++;
    }
    return 0;
}

/* ---- requests that queue for a connection ---- */

#define POOL_SMALL 0.05 /* of the elapsed time, in which a request waits */
#define POOL_PART  0.1  /* of the requests that wait */

static int find_pools(const struct findings_from *from, struct findings *findings)
{
    const struct causality *causality = from->causality;

    for (size_t i = 0; causality != NULL && i < causality->pool_count && i < FINDINGS_FEW; i++) {
        const struct causality_pool *pool = &causality->pools[i];
        double share = findings_share(pool->waited, from->communication->duration);
        if (share < POOL_SMALL ||
            (double)histogram_count(&pool->waits) < POOL_PART * (double)pool->requests)
            continue;
        struct finding *finding = findings_add(findings, FINDING_POOL, share);
        if (finding == NULL)
            return -ENOMEM;
        finding->pool = pool;
    }
    return 0;
}

int findings_of_connections(const struct findings_from *from, struct findings *findings)
{
    int result = find_nagle(from->communication, findings);

    if (result == 0)
        result = find_pools(from, findings);
    return result < 0 ? result : find_own_connections(from, findings);
}
