/* SPDX-License-Identifier: MIT */
/*
 * live_metrics.c: metrics for Prometheus, as OpenMetrics 1.0 text. dpm-live(1) describes them. See live_face.h.
 *
 *      # TYPE dpm_program_cpu_seconds counter
 *      # UNIT dpm_program_cpu_seconds seconds
 *      dpm_program_cpu_seconds_total{program="redis-server",machine="web1"} 12.53
 */
#include "show/live/live_face.h"

#include <inttypes.h>
#include <string.h>

struct output {
    FILE *file;
    bool
        open; /* OpenMetrics; else the text format 0.0.4 of Prometheus, where names of counters end in _total */
};

/* A label's value: what show_text leaves, with its quotes and backslashes escaped. */
static void print_label(const char *text, const struct output *out)
{
    char safe[LIVE_NAME_SIZE + 1];

    show_text(text, strnlen(text, LIVE_NAME_SIZE - 1), safe);
    for (const char *at = safe; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\')
            fputc('\\', out->file);
        fputc(*at, out->file);
    }
}

static void print_head(const char *name, const char *type, const char *unit, const char *help,
                       const struct output *out)
{
    const char *total = !out->open && strcmp(type, "counter") == 0 ? "_total" : "";

    fprintf(out->file, "# HELP %s%s %s.\n# TYPE %s%s %s\n", name, total, help, name, total, type);
    if (out->open && unit[0] != '\0')
        fprintf(out->file, "# UNIT %s %s\n", name, unit);
}

static void print_seconds(uint64_t ns, const struct output *out)
{
    fprintf(out->file, "%" PRIu64 ".%09" PRIu64, ns / 1000000000u, ns % 1000000000u);
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
    [LIVE_COUNTED_PROGRAMS] = {"dpm_program", "program", "machine", LIVE_PROGRAMS},
    [LIVE_COUNTED_CONTAINERS] = {"dpm_container", "container", "machine", LIVE_CONTAINERS},
    [LIVE_COUNTED_MACHINES] = {"dpm_machine", "machine", NULL, LIVE_MACHINES},
    [LIVE_COUNTED_PAIRS] = {"dpm_pair", "from", "to", LIVE_PAIRS},
};

static void print_labels(const struct live_counter *counter, const char *label, const char *other,
                         const struct output *out)
{
    fprintf(out->file, "%s=\"", label);
    print_label(counter->name, out);
    if (other != NULL) {
        fprintf(out->file, "\",%s=\"", other);
        print_label(counter->other, out);
    }
    fputc('"', out->file);
}

static void print_value(const struct live *live, enum live_counted set, enum live_value value,
                        const char *name, const struct output *out)
{
    const struct live_value_kind *kind = live_value_kind(value);
    char full[64];
    size_t count;
    const struct live_counter *counters = live_counters(live, set, &count);
    const char *unit = kind->unit == LIVE_NS ? "seconds" : kind->unit == LIVE_BYTES ? "bytes" : "";

    snprintf(full, sizeof(full), "%s_%s", sets[set].prefix, name);
    print_head(full, kind->is_moment ? "gauge" : "counter", unit, kind->meaning, out);
    for (size_t i = 0; i < count; i++) {
        if ((counters[i].unknown >> value & 1) != 0)
            continue;
        fprintf(out->file, "%s%s{", full, kind->is_moment ? "" : "_total");
        print_labels(&counters[i], sets[set].label, sets[set].other, out);
        fputs("} ", out->file);
        if (kind->unit == LIVE_NS)
            print_seconds(counters[i].so_far[value], out);
        else
            fprintf(out->file, "%" PRIu64, counters[i].so_far[value]);
        fputc('\n', out->file);
    }
}

static void print_waits(const struct live *live, const struct output *out)
{
    size_t count;
    const struct live_counter *counters = live_counters(live, LIVE_COUNTED_PROGRAMS, &count);

    print_head("dpm_program_wait_seconds", "counter", "seconds",
               "Time that threads waited, by what for, added up", out);
    for (size_t i = 0; i < count; i++)
        for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++) {
            if (counters[i].so_far[LIVE_WAITS + kind] == 0)
                continue;
            fputs("dpm_program_wait_seconds_total{", out->file);
            print_labels(&counters[i], "program", "machine", out);
            fprintf(out->file, ",kind=\"%s\"} ", elapsed_kind_key((enum elapsed_kind)kind));
            print_seconds(counters[i].so_far[LIVE_WAITS + kind], out);
            fputc('\n', out->file);
        }
}

static void print_sets(const struct live *live, const struct output *out)
{
    for (unsigned set = 0; set < LIVE_COUNTED_CALLS; set++)
        for (size_t i = 0; i < ARRAY_SIZE(exported); i++)
            if ((live_value_kind(exported[i].value)->tables >> sets[set].like & 1) != 0)
                print_value(live, set, exported[i].value, exported[i].name, out);
    print_waits(live, out);
}

/* ---- requests: the metrics of which Grafana draws its map ---- */

static void print_calls(const struct live *live, const char *name, const char *help, bool failed,
                        const struct output *out)
{
    size_t count;
    const struct live_counter *calls = live_counters(live, LIVE_COUNTED_CALLS, &count);

    print_head(name, "counter", "", help, out);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *so_far = calls[i].so_far;
        uint64_t answered =
            so_far[LIVE_ASKED] > so_far[LIVE_REQUESTS] ? so_far[LIVE_ASKED] : so_far[LIVE_REQUESTS];
        fprintf(out->file, "%s_total{", name);
        print_labels(&calls[i], "client", "server", out);
        fprintf(out->file, "} %" PRIu64 "\n", so_far[LIVE_UNANSWERED] + (failed ? 0 : answered));
    }
}

static void print_bucket(const char *name, const struct live_counter *call, const char *bound,
                         uint64_t count, const struct output *out)
{
    fprintf(out->file, "%s_bucket{", name);
    print_labels(call, "client", "server", out);
    fprintf(out->file, ",le=\"%s\"} %" PRIu64 "\n", bound, count);
}

static void print_histogram(const char *name, const struct live_counter *call,
                            const struct live_times *times, const struct output *out)
{
    char bound[32];

    for (unsigned i = 0; i < LIVE_BOUNDS; i++) {
        uint64_t count = times->up_to[i] < times->count ? times->up_to[i] : times->count;
        snprintf(bound, sizeof(bound), live_bounds[i] % 1000000000u == 0 ? "%.1f" : "%g",
                 (double)live_bounds[i] / 1e9);
        print_bucket(name, call, bound, count, out);
    }
    print_bucket(name, call, "+Inf", times->count, out);
    fprintf(out->file, "%s_sum{", name);
    print_labels(call, "client", "server", out);
    fputs("} ", out->file);
    print_seconds(times->sum, out);
    fprintf(out->file, "\n%s_count{", name);
    print_labels(call, "client", "server", out);
    fprintf(out->file, "} %" PRIu64 "\n", times->count);
}

static void print_times(const struct live *live, const char *name, const char *help, bool served,
                        const struct output *out)
{
    size_t count;
    const struct live_counter *calls = live_counters(live, LIVE_COUNTED_CALLS, &count);

    print_head(name, "histogram", "seconds", help, out);
    for (size_t i = 0; i < count; i++) {
        const struct live_times *times = served ? &calls[i].served : &calls[i].asked;
        if (times->count > 0)
            print_histogram(name, &calls[i], times, out);
    }
}

static void print_service_graph(const struct live *live, const struct output *out)
{
    print_calls(live, "traces_service_graph_request",
                "Requests from a program to another, also those without an answer", false, out);
    print_calls(live, "traces_service_graph_request_failed", "Requests without an answer", true,
                out);
    print_times(live, "traces_service_graph_request_server_seconds",
                "Time of requests, to the last byte of the answer, as their servers have it", true,
                out);
    print_times(live, "traces_service_graph_request_client_seconds",
                "Time of requests, to the last byte of the answer, as their clients have it", false,
                out);
}

/* ---- the recording, and this program ---- */

static void print_count(const char *name, const char *help, uint64_t value,
                        const struct output *out)
{
    print_head(name, "counter", "", help, out);
    fprintf(out->file, "%s_total %" PRIu64 "\n", name, value);
}

static void print_time(const char *name, const char *help, uint64_t ns, const struct output *out)
{
    print_head(name, "counter", "seconds", help, out);
    fprintf(out->file, "%s_total ", name);
    print_seconds(ns, out);
    fputc('\n', out->file);
}

/* No snapshot comes after the end: of a recording that broke off, time goes on. */
static uint64_t silence(const struct live_snapshot *snapshot, const struct live_machine *machine)
{
    int64_t since = (int64_t)clock_now(CLOCK_REALTIME) - snapshot->wall;

    return snapshot->last && !machine->complete && since > 0 ? machine->last + (uint64_t)since
                                                             : machine->last;
}

static void print_states(const struct live_snapshot *snapshot, const struct output *out)
{
    char name[sizeof(snapshot->machines->name)];

    print_head("dpm_recording_silent_seconds", "gauge", "seconds",
               "Time since a record of a machine came, until the latest snapshot; or, if its "
               "recording broke off and none goes on, until now",
               out);
    for (size_t i = 0; i < snapshot->machine_count; i++) {
        const struct live_machine *machine = &snapshot->machines[i];
        if (machine->last == UINT64_MAX)
            continue;
        snprintf(name, sizeof(name), "%s", machine->name);
        fputs("dpm_recording_silent_seconds{machine=\"", out->file);
        print_label(name, out);
        fputs("\"} ", out->file);
        print_seconds(silence(snapshot, machine), out);
        fputc('\n', out->file);
    }
}

static void print_recording(const struct live_snapshot *snapshot, const struct live_served *served,
                            const struct output *out)
{
    print_count("dpm_recording_events", "Events recorded", snapshot->events, out);
    print_count("dpm_recording_lost_records", "Records that could not be written", snapshot->lost,
                out);
    print_count("dpm_recording_late_records", "Records that came too late to be matched",
                snapshot->late, out);
    print_count("dpm_recording_dropped_datagrams", "Datagrams dropped by full receive queues",
                snapshot->dropped, out);
    print_time("dpm_recording_cpu_seconds",
               "CPU time of the recorders, without hooks in the kernel", snapshot->own.cpu, out);
    print_time("dpm_recording_hook_seconds",
               "CPU time of hooks in the kernel, as far as it is known", snapshot->own.hook, out);
    print_states(snapshot, out);
    print_head("dpm_live_snapshot_seconds", "gauge", "seconds",
               "Wall-clock time of the latest snapshot, since 1970", out);
    fputs("dpm_live_snapshot_seconds ", out->file);
    print_seconds((uint64_t)snapshot->wall, out);
    fputc('\n', out->file);
    print_time("dpm_live_cpu_seconds", "CPU time of this program", snapshot->reader, out);
    print_count("dpm_live_scrapes", "Answers to requests for these metrics", served->scrapes, out);
    print_count("dpm_live_dropped_readers", "Connections that ended without an answer",
                served->dropped, out);
}

int show_live_metrics(const struct live *live, const struct live_served *served, bool open,
                      FILE *file)
{
    const struct live_snapshot *snapshot = live_snapshot(live, 0);
    const struct output output = {file, open}, *out = &output;

    if (snapshot != NULL) {
        print_sets(live, out);
        print_service_graph(live, out);
        print_recording(snapshot, served, out);
    }
    if (open)
        fputs("# EOF\n", file);
    return 0;
}
