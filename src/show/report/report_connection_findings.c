/* SPDX-License-Identifier: MIT */
/* report_connection_findings.c: findings on how programs use connections, as sentences. See report_face.h. */
#include "analysis/findings/findings.h"
#include "show/causality/causality_face.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"

#include <inttypes.h>
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
    char saved[UNIT_SIZE], share[UNIT_SIZE], most[2 * UNIT_SIZE + 60] = "";
    uint64_t setup = finding->own_connections.setup;

    end_text(report->communication, &path->ends[1], path->remote, server);
    show_counted(finding->own_connections.requests, "request", requests);
    show_counted(finding->own_connections.connections, "connection", connections);
    show_duration(setup, saved);
    show_percent(setup, report_elapsed_of(report, setup), share);
    if (finding->weight >= FINDING_SMALL)
        snprintf(most, sizeof(most), " would save at most %s (%s%% of the elapsed time)", saved,
                 share);
    if (finding->own_connections.exchanges > 1)
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

/* The end at this address, with its process if that is metered. */
/* The first process at the other end of a path to this address; NO_PROCESS: it is another address, or not metered. */
static uint32_t process_at(const struct communication_path *path, const char *address)
{
    return strcmp(path->remote, address) == 0 && path->ends[1].count > 0
               ? path->ends[1].processes[0]
               : NO_PROCESS;
}

/* The first process that has connections at this address; how many of its name have (postgres has one for each). */
static size_t processes_at(const struct communication *communication, const char *address,
                           uint32_t *ret_process)
{
    const struct communication_process *processes = communication->processes;
    size_t count = 0;

    for (size_t i = 0; i < communication->path_count; i++) {
        uint32_t process = process_at(&communication->paths[i], address);
        bool known = process == NO_PROCESS;
        for (size_t k = 0; k < i && !known; k++)
            known = process_at(&communication->paths[k], address) == process;
        if (known)
            continue;
        *ret_process = count == 0 ? process : *ret_process;
        count +=
            strncmp(processes[process].name, processes[*ret_process].name, STREAM_NAME_SIZE) == 0;
    }
    return count;
}

void report_back_end(const struct communication *communication, const char *address, char *text)
{
    const struct party nobody = {.address = address};
    char name[STREAM_NAME_SIZE + 1], at[ENDPOINT_SIZE];
    uint32_t process = NO_PROCESS;
    size_t count = processes_at(communication, address, &process);

    if (count > 1) {
        show_text(communication->processes[process].name, STREAM_NAME_SIZE, name);
        show_text(address, ENDPOINT_SIZE - 1, at);
        snprintf(text, END_TEXT_SIZE, "%zu %s processes %s", count, name, at);
        return;
    }
    for (size_t i = 0; i < communication->path_count; i++)
        if (strcmp(communication->paths[i].remote, address) == 0) {
            end_text(communication, &communication->paths[i].ends[1], address, text);
            return;
        }
    end_text(communication, &nobody, address, text);
}

void report_say_pool(const struct report *report, const struct finding *finding,
                     struct report_content *content)
{
    const struct causality_pool *pool = finding->pool;
    char who[PROCESS_TEXT_SIZE], server[END_TEXT_SIZE], count[UNIT_SIZE], requests[COUNTED_SIZE];
    char connections[COUNTED_SIZE], half[UNIT_SIZE], most[UNIT_SIZE], time[UNIT_SIZE];
    char all[UNIT_SIZE];

    show_process(pool->name, pool->pid, who);
    report_back_end(report->communication, pool->address, server);
    show_count(histogram_count(&pool->waits), count);
    show_counted(pool->requests, "request", requests);
    show_counted(pool->connections, "connection", connections);
    show_duration(histogram_quantile(&pool->waits, 0.5), half);
    show_duration(histogram_max(&pool->waits), most);
    show_duration(pool->waited, time);
    show_duration(report->communication->duration, all);
    report_say(content, "Connections",
               "%s of %s in %s waited for its %s to %s, which %s busy: median %s, max %s (in %s of "
               "%s at least one waited). Which request waited is assumed. Use more connections, or "
               "make the back end faster.",
               count, requests, who, connections, server, pool->connections == 1 ? "was" : "were",
               half, most, time, all);
}
