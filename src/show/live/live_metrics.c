/* SPDX-License-Identifier: MIT */
/*
 * live_metrics.c: metrics for Prometheus, as OpenMetrics 1.0 text. dpm-live(1) describes them. See live_face.h.
 *
 *      # TYPE dpm_program_cpu_seconds counter
 *      # UNIT dpm_program_cpu_seconds seconds
 *      dpm_program_cpu_seconds_total{program="redis-server"} 12.53
 */
#include "show/live/live_face.h"

#include <inttypes.h>
#include <string.h>

/* A label's value: what show_text leaves, with its quotes and backslashes escaped. */
static void print_label(const char *text, FILE *file)
{
    char safe[LIVE_NAME_SIZE + 1];

    show_text(text, strnlen(text, LIVE_NAME_SIZE - 1), safe);
    for (const char *at = safe; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            fputc('\\', file);
        fputc(*at, file);
    }
}

static void print_head(const char *name, const char *type, const char *unit, const char *help,
                       FILE *file)
{
    fprintf(file, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, type);
    if (unit[0] != '\0')
        fprintf(file, "# UNIT %s %s\n", name, unit);
}

static void print_seconds(uint64_t ns, FILE *file)
{
    fprintf(file, "%" PRIu64 ".%09" PRIu64, ns / 1000000000u, ns % 1000000000u);
}

/* ---- what programs, containers and machines did ---- */

static const struct {
    enum live_value value;
    const char *name;
} exported[] = {
    {LIVE_CPU, "cpu_seconds"},
    {LIVE_WAITED_FOR, "waited_for_seconds"},
    {LIVE_SENT, "sent_messages"},
    {LIVE_SENT_BYTES, "sent_bytes"},
    {LIVE_RECEIVED, "received_messages"},
    {LIVE_RECEIVED_BYTES, "received_bytes"},
    {LIVE_REQUESTS, "requests"},
    {LIVE_REQUEST_TIME, "requests_seconds"},
    {LIVE_UNANSWERED, "unanswered"},
    {LIVE_FAILED, "failed"},
    {LIVE_QUEUE_DELAY, "queue_delay_seconds"},
    {LIVE_RECEIVER_WAIT, "receiver_wait_seconds"},
    {LIVE_SEND_BLOCKED, "send_blocked_seconds"},
    {LIVE_QUEUE, "queue_messages"},
    {LIVE_QUEUE_BYTES, "queue_bytes"},
    {LIVE_LIVING, "processes"},
    {LIVE_THREADS, "threads"},
};

static const struct {
    const char *prefix;
    const char *label, *other; /* NULL: none */
    enum live_table like;      /* which values there are */
} sets[LIVE_COUNTED_CALLS] = {
    [LIVE_COUNTED_PROGRAMS] = {"dpm_program", "program", NULL, LIVE_PROGRAMS},
    [LIVE_COUNTED_CONTAINERS] = {"dpm_container", "container", NULL, LIVE_CONTAINERS},
    [LIVE_COUNTED_MACHINES] = {"dpm_machine", "machine", NULL, LIVE_MACHINES},
    [LIVE_COUNTED_PAIRS] = {"dpm_pair", "from", "to", LIVE_PAIRS},
};

static void print_labels(const struct live_counter *counter, const char *label, const char *other,
                         FILE *file)
{
    fprintf(file, "%s=\"", label);
    print_label(counter->name, file);
    if (other != NULL) {
        fprintf(file, "\",%s=\"", other);
        print_label(counter->other, file);
    }
    fputc('"', file);
}

static void print_value(const struct live *live, enum live_counted set, enum live_value value,
                        const char *name, FILE *file)
{
    const struct live_value_kind *kind = live_value_kind(value);
    char full[64];
    size_t count;
    const struct live_counter *counters = live_counters(live, set, &count);
    const char *unit = kind->unit == LIVE_NS      ? "seconds"
                       : kind->unit == LIVE_BYTES ? "bytes"
                                                  : "";

    snprintf(full, sizeof(full), "%s_%s", sets[set].prefix, name);
    print_head(full, kind->is_moment ? "gauge" : "counter", unit, kind->meaning, file);
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "%s%s{", full, kind->is_moment ? "" : "_total");
        print_labels(&counters[i], sets[set].label, sets[set].other, file);
        fputs("} ", file);
        if (kind->unit == LIVE_NS)
            print_seconds(counters[i].so_far[value], file);
        else
            fprintf(file, "%" PRIu64, counters[i].so_far[value]);
        fputc('\n', file);
    }
}

static void print_waits(const struct live *live, FILE *file)
{
    size_t count;
    const struct live_counter *counters = live_counters(live, LIVE_COUNTED_PROGRAMS, &count);

    print_head("dpm_program_wait_seconds", "counter", "seconds",
               "Time that threads waited, by what for, added up", file);
    for (size_t i = 0; i < count; i++)
        for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++) {
            if (counters[i].so_far[LIVE_WAITS + kind] == 0)
                continue;
            fputs("dpm_program_wait_seconds_total{", file);
            print_labels(&counters[i], "program", NULL, file);
            fprintf(file, ",kind=\"%s\"} ", elapsed_kind_key((enum elapsed_kind)kind));
            print_seconds(counters[i].so_far[LIVE_WAITS + kind], file);
            fputc('\n', file);
        }
}

static void print_sets(const struct live *live, FILE *file)
{
    for (unsigned set = 0; set < LIVE_COUNTED_CALLS; set++)
        for (size_t i = 0; i < ARRAY_SIZE(exported); i++)
            if ((live_value_kind(exported[i].value)->tables >> sets[set].like & 1) != 0)
                print_value(live, set, exported[i].value, exported[i].name, file);
    print_waits(live, file);
}

/* ---- requests: the metrics of which Grafana draws its map ---- */

static void print_calls(const struct live *live, const char *name, const char *help, bool failed,
                        FILE *file)
{
    size_t count;
    const struct live_counter *calls = live_counters(live, LIVE_COUNTED_CALLS, &count);

    print_head(name, "counter", "", help, file);
    for (size_t i = 0; i < count; i++) {
        uint64_t answered = calls[i].asked.count > calls[i].served.count ? calls[i].asked.count
                                                                          : calls[i].served.count;
        fprintf(file, "%s_total{", name);
        print_labels(&calls[i], "client", "server", file);
        fprintf(file, "} %" PRIu64 "\n",
                calls[i].so_far[LIVE_UNANSWERED] + (failed ? 0 : answered));
    }
}

static void print_bucket(const char *name, const struct live_counter *call, const char *bound,
                         uint64_t count, FILE *file)
{
    fprintf(file, "%s_bucket{", name);
    print_labels(call, "client", "server", file);
    fprintf(file, ",le=\"%s\"} %" PRIu64 "\n", bound, count);
}

static void print_histogram(const char *name, const struct live_counter *call,
                            const struct live_times *times, FILE *file)
{
    char bound[32];

    for (unsigned i = 0; i < LIVE_BOUNDS; i++) {
        uint64_t count = times->up_to[i] < times->count ? times->up_to[i] : times->count;
        snprintf(bound, sizeof(bound), live_bounds[i] % 1000000000u == 0 ? "%.1f" : "%g",
                 (double)live_bounds[i] / 1e9);
        print_bucket(name, call, bound, count, file);
    }
    print_bucket(name, call, "+Inf", times->count, file);
    fprintf(file, "%s_sum{", name);
    print_labels(call, "client", "server", file);
    fputs("} ", file);
    print_seconds(times->sum, file);
    fprintf(file, "\n%s_count{", name);
    print_labels(call, "client", "server", file);
    fprintf(file, "} %" PRIu64 "\n", times->count);
}

static void print_times(const struct live *live, const char *name, const char *help, bool served,
                        FILE *file)
{
    size_t count;
    const struct live_counter *calls = live_counters(live, LIVE_COUNTED_CALLS, &count);

    print_head(name, "histogram", "seconds", help, file);
    for (size_t i = 0; i < count; i++) {
        const struct live_times *times = served ? &calls[i].served : &calls[i].asked;
        if (times->count > 0)
            print_histogram(name, &calls[i], times, file);
    }
}

static void print_service_graph(const struct live *live, FILE *file)
{
    print_calls(live, "traces_service_graph_request",
                "Requests from a program to another, also those without an answer", false, file);
    print_calls(live, "traces_service_graph_request_failed", "Requests without an answer", true,
                file);
    print_times(live, "traces_service_graph_request_server_seconds",
                "Time of requests, to the last byte of the answer, as their servers have it", true,
                file);
    print_times(live, "traces_service_graph_request_client_seconds",
                "Time of requests, to the last byte of the answer, as their clients have it", false,
                file);
}

/* ---- the recording, and this program ---- */

static void print_count(const char *name, const char *help, uint64_t value, FILE *file)
{
    print_head(name, "counter", "", help, file);
    fprintf(file, "%s_total %" PRIu64 "\n", name, value);
}

static void print_time(const char *name, const char *help, uint64_t ns, FILE *file)
{
    print_head(name, "counter", "seconds", help, file);
    fprintf(file, "%s_total ", name);
    print_seconds(ns, file);
    fputc('\n', file);
}

static void print_states(const struct live_snapshot *snapshot, FILE *file)
{
    char name[sizeof(snapshot->machines->name)];

    print_head("dpm_recording_silent_seconds", "gauge", "seconds",
               "Time since the latest record of a machine, as of the latest snapshot", file);
    for (size_t i = 0; i < snapshot->machine_count; i++) {
        const struct live_machine *machine = &snapshot->machines[i];
        if (machine->last == UINT64_MAX)
            continue;
        snprintf(name, sizeof(name), "%s", machine->name);
        fputs("dpm_recording_silent_seconds{machine=\"", file);
        print_label(name, file);
        fputs("\"} ", file);
        print_seconds(machine->last, file);
        fputc('\n', file);
    }
}

static void print_recording(const struct live_snapshot *snapshot, const struct live_served *served,
                            FILE *file)
{
    print_count("dpm_recording_events", "Events recorded", snapshot->events, file);
    print_count("dpm_recording_lost_records", "Records that could not be written", snapshot->lost,
                file);
    print_count("dpm_recording_late_records", "Records that came too late to be matched",
                snapshot->late, file);
    print_count("dpm_recording_dropped_datagrams", "Datagrams dropped by full receive queues",
                snapshot->dropped, file);
    print_time("dpm_recording_cpu_seconds", "CPU time of the recorders, without hooks in the kernel",
               snapshot->own.cpu, file);
    print_time("dpm_recording_hook_seconds",
               "CPU time of hooks in the kernel, as far as it is known", snapshot->own.hook, file);
    print_states(snapshot, file);
    print_head("dpm_live_snapshot_seconds", "gauge", "seconds",
               "Wall-clock time of the latest snapshot, since 1970", file);
    fputs("dpm_live_snapshot_seconds ", file);
    print_seconds((uint64_t)snapshot->wall, file);
    fputc('\n', file);
    print_time("dpm_live_cpu_seconds", "CPU time of this program", snapshot->reader, file);
    print_count("dpm_live_scrapes", "Answers to requests for these metrics", served->scrapes, file);
    print_count("dpm_live_dropped_readers", "Readers that were too slow, or too many",
                served->dropped, file);
}

int show_live_metrics(const struct live *live, const struct live_served *served, FILE *file)
{
    const struct live_snapshot *snapshot = live_snapshot(live, 0);

    if (snapshot != NULL) {
        print_sets(live, file);
        print_service_graph(live, file);
        print_recording(snapshot, served, file);
    }
    fputs("# EOF\n", file);
    return 0;
}
