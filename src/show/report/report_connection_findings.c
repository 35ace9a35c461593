/* SPDX-License-Identifier: MIT */
/* report_connection_findings.c: findings on how programs use connections, as sentences. See report_face.h. */
#include "analysis/findings/findings.h"
#include "show/causality/causality_face.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void report_say_nagle(const struct report *report, const struct finding *finding,
                      struct report_content *content)
{
    const struct communication_path *path = finding->nagle.path;
    const char *const addresses[] = {path->local, path->remote};
    int from = finding->nagle.from, to = 1 - from;
    char sender[END_TEXT_SIZE], receiver[END_TEXT_SIZE], messages[UNIT_SIZE], of[COUNTED_SIZE];
    char mean[UNIT_SIZE], time[UNIT_SIZE], all[UNIT_SIZE];

    end_text(report->communication, &path->ends[from], addresses[from], sender);
    end_text(report->communication, &path->ends[to], addresses[to], receiver);
    show_count(finding->nagle.messages, messages);
    show_counted(finding->nagle.of, "message", of);
    show_duration(finding->nagle.mean, mean);
    show_duration(finding->nagle.time, time);
    show_duration(report->communication->duration, all);
    report_say(
        content, "Connections",
        "Nagle's algorithm held back %s of %s from %s to %s, each by %s on average (%s of %s): the "
        "receiver delays its acknowledgement. Set TCP_NODELAY, or send it in one call.",
        messages, of, sender, receiver, mean, time, all);
}

void report_say_own_connections(const struct report *report, const struct finding *finding,
                                struct report_content *content)
{
    const struct communication_path *path = finding->own_connections.path;
    char server[END_TEXT_SIZE], requests[COUNTED_SIZE], connections[COUNTED_SIZE];
    char saved[UNIT_SIZE], share[UNIT_SIZE], most[2 * UNIT_SIZE + 80] = "";
    bool sets_up = finding->own_connections.exchanges > 1;
    uint64_t setup = finding->own_connections.setup;

    end_text(report->communication, &path->ends[1], path->remote, server);
    show_counted(finding->own_connections.requests, "request", requests);
    show_counted(finding->own_connections.connections, "connection", connections);
    show_duration(setup, saved);
    show_percent(setup, report_elapsed_of(report, setup), share);
    /* connect() is not all that a connection costs; of the exchanges that set it up, some may be needed */
    if (finding->weight >= FINDING_SMALL && (sets_up || finding->own_connections.callers == 1))
        snprintf(most, sizeof(most), " would save %s%s (%s%% of the elapsed time)%s",
                 sets_up ? "at most " : "", saved, share, sets_up ? "" : ", or more");
    else if (finding->weight >= FINDING_SMALL)
        snprintf(most, sizeof(most), " would save %s of the callers' time, added up, or more",
                 saved);
    if (sets_up)
        report_say(content, "Connections",
                   "%s to %s were made, %.0f per second, each for %" PRIu64 " exchanges, most of "
                   "which may only set it up. Connections that are kept open (keep-alive, or a "
                   "pool)%s.",
                   connections, server, finding->own_connections.per_second,
                   finding->own_connections.exchanges, most[0] == '\0' ? " would help" : most);
    else
        report_say(content, "Connections",
                   "%s to %s came over %s, %.0f per second: nearly each makes its own. Keep "
                   "connections open (keep-alive, or a pool)%s%s.",
                   requests, server, connections, finding->own_connections.per_second,
                   most[0] == '\0' ? "" : ": that", most);
}

static bool has_process(const struct party *party, uint32_t process)
{
    for (uint32_t i = 0; i < party->count; i++)
        if (party->processes[i] == process)
            return true;
    return process == NO_PROCESS;
}

/* The process that answers `asker` on this path, if it leads to the address; NO_PROCESS: it does not, or none is metered. */
static uint32_t answers_on(const struct communication_path *path, uint32_t asker,
                           const char *address)
{
    return strcmp(path->remote, address) == 0 && has_process(&path->ends[0], asker) &&
                   path->ends[1].count > 0
               ? path->ends[1].processes[0]
               : NO_PROCESS;
}

/* The first path to the address; NULL: none. How many processes of its name answer there (postgres has one for each
 * connection). `counted`: [process], false. */
static const struct communication_path *path_to(const struct communication *communication,
                                                uint32_t asker, const char *address, bool *counted,
                                                size_t *ret_processes)
{
    const struct communication_process *processes = communication->processes;
    const struct communication_path *first = NULL;

    *ret_processes = 0;
    for (size_t i = 0; i < communication->path_count; i++) {
        const struct communication_path *path = &communication->paths[i];
        uint32_t process = answers_on(path, asker, address);
        if (process == NO_PROCESS || counted[process])
            continue;
        counted[process] = true;
        first = first == NULL ? path : first;
        *ret_processes +=
            strncmp(processes[process].name, processes[first->ends[1].processes[0]].name,
                    STREAM_NAME_SIZE) == 0;
    }
    return first;
}

void report_back_end(const struct communication *communication, uint32_t asker, const char *address,
                     char *text)
{
    const struct party nobody = {.address = address};
    char name[STREAM_NAME_SIZE + 1], at[ENDPOINT_SIZE];
    size_t count = 0;
    bool *counted = calloc(communication->process_count + 1, sizeof(*counted));
    const struct communication_path *path =
        counted == NULL ? NULL : path_to(communication, asker, address, counted, &count);

    free(counted);
    if (count < 2) { /* out of memory: the address alone */
        end_text(communication, path == NULL ? &nobody : &path->ends[1], address, text);
        return;
    }
    show_text(communication->processes[path->ends[1].processes[0]].name, STREAM_NAME_SIZE, name);
    show_text(address, ENDPOINT_SIZE - 1, at);
    snprintf(text, END_TEXT_SIZE, "%zu %s processes %s", count, name, at);
}

static uint32_t process_of_pool(const struct communication *communication,
                                const struct causality_pool *pool)
{
    for (uint32_t i = 0; i < communication->process_count; i++)
        if (communication->processes[i].origin == pool->origin &&
            communication->processes[i].pid == pool->pid)
            return i;
    return NO_PROCESS;
}

void report_pool_process(const struct communication *communication,
                         const struct causality_pool *pool, char *text)
{
    uint32_t process = process_of_pool(communication, pool);

    if (process == NO_PROCESS)
        show_process(pool->name, pool->pid, text);
    else
        process_text(communication, process, text);
}

void report_say_pool(const struct report *report, const struct finding *finding,
                     struct report_content *content)
{
    const struct causality_pool *pool = finding->pool;
    char who[PROCESS_TEXT_SIZE], server[END_TEXT_SIZE], count[UNIT_SIZE], requests[COUNTED_SIZE];
    char connections[UNIT_SIZE], half[UNIT_SIZE], most[UNIT_SIZE], time[UNIT_SIZE];
    char all[UNIT_SIZE];

    report_pool_process(report->communication, pool, who);
    report_back_end(report->communication, process_of_pool(report->communication, pool),
                    pool->address, server);
    show_count(histogram_count(&pool->waits), count);
    show_counted(pool->requests, "request", requests);
    show_count(pool->connections, connections);
    show_duration(histogram_quantile(&pool->waits, 0.5), half);
    show_duration(histogram_max(&pool->waits), most);
    show_duration(pool->waited, time);
    show_duration(report->communication->duration, all);
    report_say(content, "Connections",
               "%s of %s in %s waited until a connection to %s was free (it used %s in all): "
               "median %s, max %s (in %s of %s at least one waited). Which request waited is "
               "assumed. Use more connections, or make the back end faster.",
               count, requests, who, server, connections, half, most, time, all);
}
