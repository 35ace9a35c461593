/* SPDX-License-Identifier: MIT */
/*
 * report_pattern_findings.c: sentences on ways to use processes that cost time. See report_face.h and patterns.h.
 *
 *      Each of 12 requests to web.py[9] asked postgres[7] 201 times (median), one after the other ...
 *      600 of 614 requests waited in srv[8] until one of its 2 workers had answered another one ...
 */
#include "analysis/findings/findings.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"

#include <inttypes.h>
#include <string.h>

static void process_of(const struct report *report, uint32_t process, char text[PROCESS_TEXT_SIZE])
{
    if (process == NO_PROCESS)
        strcpy(text, "a process");
    else
        process_text(report->communication, process, text);
}

/* ", 12.4 ms with what it did between them": of round trips that took `alone`. "": that is little. */
static const char *with_gaps(uint64_t alone, uint64_t all, uint64_t of, char text[96])
{
    char time[UNIT_SIZE];

    text[0] = '\0';
    if (all <= alone + alone / 20)
        return text;
    show_duration(all / of, time);
    snprintf(text, 96, ", %s with what it did between them", time);
    return text;
}

void report_say_round_trips(const struct report *report, const struct finding *finding,
                            struct report_content *content)
{
    const struct exchange_row *row = finding->exchanges.row;
    char who[PROCESS_TEXT_SIZE], server[END_TEXT_SIZE], requests[COUNTED_SIZE], each[COUNTED_SIZE];
    char trips[UNIT_SIZE], all[UNIT_SIZE], saved[UNIT_SIZE], share[UNIT_SIZE], gaps[96];
    char many[UNIT_SIZE];
    bool each_does = row->asking == row->requests;

    process_of(report, finding->exchanges.process, who);
    report_back_end(report->communication, finding->exchanges.process, row->address, server);
    show_count(row->requests, many);
    show_counted(row->asking, "request", requests);
    show_counted(histogram_quantile(&row->each, 0.5), "time", each);
    show_duration(row->trip_time / row->requests, trips);
    show_duration(row->request_time / row->requests, all);
    show_duration(row->surplus / row->requests, saved);
    show_percent(finding->exchanges.time, report_elapsed_of(report, finding->exchanges.time),
                 share);
    report_say(content, "Patterns",
               "%s of %s to %s %s %s %s%s (median), one after the other: %s of %s on average "
               "(%s%% of the elapsed time)%s. One query for all, or several at a time, would save "
               "at most %s of each.",
               each_does ? "Each" : many, requests, who, each_does ? "asked" : "that asked", server,
               each_does ? "" : "did so ", each, trips, all, share,
               with_gaps(row->trip_time, row->series_time, row->requests, gaps), saved);
}

void report_say_one_by_one(const struct report *report, const struct finding *finding,
                           struct report_content *content)
{
    const struct exchange_row *row = finding->exchanges.row;
    char who[PROCESS_TEXT_SIZE], server[END_TEXT_SIZE], times[COUNTED_SIZE], half[UNIT_SIZE];
    char time[UNIT_SIZE], share[UNIT_SIZE], gaps[96];

    process_of(report, finding->exchanges.process, who);
    report_back_end(report->communication, finding->exchanges.process, row->address, server);
    show_counted(histogram_count(&row->trips), "time", times);
    show_duration(histogram_quantile(&row->trips, 0.5), half);
    show_duration(finding->exchanges.time, time);
    show_percent(finding->exchanges.time, report_elapsed_of(report, finding->exchanges.time),
                 share);
    report_say(content, "Patterns",
               "%s asked %s %s, one after the other: median %s, %s in all (%s%% of the elapsed "
               "time)%s. Unless it is a load generator: several at a time (one query, a batch, a "
               "pipeline), "
               "where none needs the answer to another, would save at most that.",
               who, server, times, half, time, share,
               with_gaps(finding->exchanges.time, row->trips_covered, 1, gaps));
}

/* Within the machine no packet is lost on the way. */
static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]", 5) == 0;
}

void report_say_resent(const struct report *report, const struct finding *finding,
                       struct report_content *content)
{
    const struct exchange_row *row = finding->exchanges.row;
    char who[PROCESS_TEXT_SIZE], server[END_TEXT_SIZE], count[UNIT_SIZE], of[COUNTED_SIZE];
    char half[UNIT_SIZE], most[UNIT_SIZE], time[UNIT_SIZE], share[UNIT_SIZE];

    process_of(report, finding->exchanges.process, who);
    report_back_end(report->communication, finding->exchanges.process, row->address, server);
    show_count(row->resent, count);
    show_counted(row->connects, "connection", of);
    show_duration(histogram_quantile(&row->resent_times, 0.5), half);
    show_duration(histogram_max(&row->resent_times), most);
    show_duration(finding->exchanges.time, time);
    show_percent(finding->exchanges.time, report_elapsed_of(report, finding->exchanges.time),
                 share);
    report_say(content, "Connections",
               "%s of %s from %s to %s %s only made after the first packet (SYN) was sent again: "
               "median %s, max %s; in %s (%s%% of the elapsed time) at least one waited. %s: a "
               "larger backlog for listen(), or faster accept(), would save at most that.",
               count, of, who, server, row->resent == 1 ? "was" : "were", half, most, time, share,
               is_loopback(row->address)
                   ? "The queue of the listener was full, or a firewall dropped it"
                   : "It was lost, or the queue of the listener was full");
}

void report_say_workers(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    const struct pool_row *row = finding->workers.row;
    char who[PROCESS_TEXT_SIZE], count[UNIT_SIZE], requests[COUNTED_SIZE], half[UNIT_SIZE];
    char part[UNIT_SIZE], busy[UNIT_SIZE], cpu[UNIT_SIZE];
    bool computes = row->cpu * 2 > row->busy;

    process_of(report, finding->workers.process, who);
    show_count(histogram_count(&row->waits), count);
    show_counted(row->requests, "request", requests);
    show_duration(histogram_quantile(&row->waits, 0.5), half);
    show_percent(histogram_sum(&row->waits), row->time, part);
    show_percent(row->busy, row->span, busy);
    show_percent(row->cpu, row->busy, cpu);
    report_say(content, "Patterns",
               "%s of %s waited in %s until one of the %" PRIu32
               " threads that answer them had answered "
               "another one: median %s, %s%% of the time of its requests. These threads were busy "
               "for %s%% of the time, and ran, or had no CPU, for %s%% of that: %s.",
               count, requests, who, row->workers, half, part, busy, cpu,
               computes ? "a shorter computation would help, more threads only with free CPUs"
                        : "more threads would save at most that wait");
}

void report_say_polling(const struct report *report, const struct finding *finding,
                        struct report_content *content)
{
    const struct nap_row *row = finding->naps.row;
    char who[PROCESS_TEXT_SIZE], naps[COUNTED_SIZE], length[UNIT_SIZE], time[UNIT_SIZE];
    char share[UNIT_SIZE], less[UNIT_SIZE], series[UNIT_SIZE], part[UNIT_SIZE];

    process_of(report, finding->naps.process, who);
    show_counted(row->naps, "time", naps);
    show_duration(row->length, length);
    show_duration(finding->naps.time, time);
    show_percent(finding->naps.time, report->elapsed->run.time, share);
    show_count(row->series, series);
    show_duration(finding->naps.less, less);
    show_percent(finding->naps.less, report->elapsed->run.time, part);
    report_say(
        content, "Patterns",
        "%s seems to poll: it %s %s for up to %s, in %s series with next to nothing recorded in "
        "between: %s (%s%% of the elapsed time). If it does, waiting for the event itself would "
        "save at most %s (%s%%), one nap of each series.",
        who, row->by_children ? "made a process that slept," : "slept", naps, length, series, time,
        share, less, part);
}
