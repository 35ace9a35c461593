/* SPDX-License-Identifier: MIT */
/* recording.c: a recording in progress. See recording.h. */
#include "control/recording.h"

#include "control/readings.h"
#include "show/show.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define DEFAULT_MAX_SIZE (4ULL << 30)
#define FLUSH_INTERVAL   1000000000ULL /* ns */
#define COST_EVERY       1024          /* records, and once a second at most */

/* ---- options ---- */

enum cpu_time { PRECISE, COARSE };

static const char *const cpu_times[] = {[PRECISE] = "precise", [COARSE] = "coarse"};

static const char *cpu_time_word(size_t index)
{
    return index < ARRAY_SIZE(cpu_times) ? cpu_times[index] : NULL;
}

const struct command_option recording_options[] = {
    {"output",
     'o',
     {"TRACE", ARGUMENT_TRACE},
     "record into the directory TRACE (./dpm-NAME-PID.trace)"},
    {"flags",
     RECORDING_FLAGS,
     {"LIST", ARGUMENT_LIST, meter_flag_word},
     "events to record: all, send, receive, fork ... (all)"},
    {"kinds",
     RECORDING_KINDS,
     {"LIST", ARGUMENT_LIST, meter_kind_word},
     "connections to record: all, tcp, udp, unix, pipe"},
    {"interval", RECORDING_INTERVAL_OPTION, {"TIME"}, "also report every TIME: 10s, 5m"},
    {"cpu-time",
     RECORDING_CPU_TIME,
     {"MODE", ARGUMENT_WORD, cpu_time_word},
     "CPU times: precise, or coarse (cheaper, up to 4 ms old) (precise)"},
    {"report",
     RECORDING_REPORT,
     {"FILE", ARGUMENT_FILE},
     "write the report to FILE (standard error)"},
    {"max-size",
     RECORDING_MAX_SIZE,
     {"N"},
     "largest size of the trace, with K, M, G or T; at least 64K (4G)"},
    {"ring", RECORDING_RING, {"N"}, "size of the buffer between kernel and dpm, 4K to 1G (16M)"},
    {0},
};

void recording_options_init(struct recording_options *options)
{
    *options = (struct recording_options){.flags = "all",
                                          .kinds = "all",
                                          .max_size = DEFAULT_MAX_SIZE,
                                          .metering.choice = CHOOSE_KERNEL};
}

static int read_max_size(const char *command, struct recording_options *options)
{
    if (parse_size(optarg, &options->max_size) < 0 || options->max_size < TRACE_SMALLEST_MAX_SIZE)
        return command_usage_error(
            command, "--max-size '%s': give a size of at least 64K, e.g. 500M or 4G", optarg);
    return -1;
}

static int read_ring_size(const char *command, struct recording_options *options)
{
    uint64_t size;

    if (parse_size(optarg, &size) < 0 || size < 4096 || size > 1u << 30)
        return command_usage_error(command, "--ring '%s': give a size from 4K to 1G", optarg);
    options->metering.meter.ring_size = (uint32_t)size;
    return -1;
}

static int read_cpu_time(const char *command, struct recording_options *options)
{
    options->metering.meter.coarse_time = strcmp(optarg, cpu_times[COARSE]) == 0;
    if (!options->metering.meter.coarse_time && strcmp(optarg, cpu_times[PRECISE]) != 0)
        return command_usage_error(command, "--cpu-time '%s': choose precise or coarse", optarg);
    return -1;
}

int recording_option(const char *command, int option, struct recording_options *options)
{
    switch (option) {
    case 'o':
        options->trace = optarg;
        return -1;
    case RECORDING_FLAGS:
        options->flags = optarg;
        return -1;
    case RECORDING_KINDS:
        options->kinds = optarg;
        return -1;
    case RECORDING_REPORT:
        options->report = optarg;
        return -1;
    case RECORDING_MAX_SIZE:
        return read_max_size(command, options);
    case RECORDING_RING:
        return read_ring_size(command, options);
    case RECORDING_INTERVAL_OPTION:
        if (parse_duration(optarg, &options->interval) < 0 || options->interval == 0)
            return command_usage_error(
                command, "--interval '%s': give a time, e.g. 500ms, 10s or 5m", optarg);
        return -1;
    case RECORDING_CPU_TIME:
        return read_cpu_time(command, options);
    case OPTION_HELP:
        return command_help(command);
    default:
        return command_usage_error(command, NULL);
    }
}

int recording_options_done(const char *command, struct recording_options *options)
{
    struct problem problem;

    if (meter_flags_parse(options->flags, &options->metering.meter.flags, &problem) < 0 ||
        meter_kinds_parse(options->kinds, &options->metering.meter.kinds, &problem) < 0)
        return command_usage_error(command, "%s", problem.text);
    if ((options->metering.meter.flags & METER_EVENT_FLAGS) == 0)
        return command_usage_error(
            command, "--flags leaves no event to record (to leave one out: all,-NAME)");
    if (options->metering.meter.kinds == 0)
        return command_usage_error(
            command, "--kinds leaves no connection to record (to leave one out: all,-NAME)");
    return -1;
}

/* ---- while it goes on ---- */

/* Nothing more is recorded; its subject runs on. */
static void stop_recording(struct recording *recording, enum end_reason reason)
{
    recording->active = false;
    recording->reason = reason;
    recording->metering.operations->stop(recording->metering.meter);
}

/* A write error or the largest size ends the recording, never its subject. */
static void give_up(struct recording *recording, int error, const struct problem *problem)
{
    enum end_reason reason = error == -EFBIG ? END_SIZE : END_DISK;

    stop_recording(recording, reason);
    command_say_to(recording->messages, "recording stopped: %s; %s", problem->text,
                   recording->subject);
}

static int store_one(struct recording *recording, const struct event *event,
                     struct problem *problem)
{
    int result = trace_writer_append(recording->writer, event->header, problem);

    recording->records++;
    if (result == 0 && recording->statistics != NULL) {
        result = statistics_add(recording->statistics, event);
        if (result < 0)
            problem_set(problem, result, "out of memory for the report");
    }
    return result;
}

/* Stores a record, behind the names that it needs. */
static int store(struct recording *recording, const struct event *event, struct problem *problem)
{
    struct name_record names[2];
    size_t count = names_before(&recording->names, event->header, names);
    int result = 0;

    for (size_t i = 0; result >= 0 && i < count; i++) {
        struct event name = {&names[i].header, event->origin, event->wall_offset};
        result = store_one(recording, &name, problem);
    }
    if (result >= 0)
        result = store_one(recording, event, problem);
    symbols_note(recording->symbols, event->header);
    return result;
}

static uint64_t lost_in(const struct recording *recording, enum ring_id ring)
{
    return recording->metering.operations->lost(recording->metering.meter, ring);
}

/* Moves what the meter has into the trace. Returns an enum source_result or a negative errno. */
static int drain(struct recording *recording, struct problem *problem)
{
    struct source *source = recording->metering.operations->source(recording->metering.meter);
    struct event event;
    int result;

    while ((result = source->next(source, &event, &recording->complete, problem)) ==
           SOURCE_RECORD) {
        result = store(recording, &event, problem);
        if (result < 0)
            return result;
    }
    for (unsigned ring = 0; ring < RING_COUNT; ring++)
        trace_writer_lost(recording->writer, ring, lost_in(recording, ring));
    return result;
}

/* What all of this has cost so far. */
static struct record cost_so_far(const struct recording *recording)
{
    struct rusage used;
    struct record cost = {
        .header = {.time = clock_now(CLOCK_MONOTONIC), .id = EVENT_COST, .flags = RECORD_NO_STREAM},
        .cost = {.wakeups = recording->wakeups,
                 .hook =
                     recording->metering.operations->time_per_record(recording->metering.meter)},
    };

    if (getrusage(RUSAGE_SELF, &used) == 0)
        cost.cost.cpu = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
                        (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
    return cost;
}

/* For a trace that is cut: its last COST is what is known of it. Where little is recorded a page of its own each second
 * would be most of the trace. */
static int tell_cost(struct recording *recording, struct problem *problem)
{
    struct record cost = cost_so_far(recording);

    if (recording->cost_told > 0 && recording->records - recording->cost_told < COST_EVERY)
        return 0;
    cost.header.time = trace_writer_last_time(recording->writer, RING_CONTROL);
    recording->cost_told = ++recording->records;
    return trace_writer_append(recording->writer, &cost.header, problem);
}

static int flush(struct recording *recording, uint64_t now, struct problem *problem)
{
    int result;

    if (now - recording->last_flush < FLUSH_INTERVAL)
        return 0;
    recording->last_flush = now;
    result = recording->metering.operations->sweep(recording->metering.meter, problem);
    if (result >= 0)
        result = tell_cost(recording, problem);
    return result < 0 ? result : trace_writer_flush(recording->writer, problem);
}

/* What was recorded so far. */
static int report_so_far(struct recording *recording, uint64_t now, struct problem *problem)
{
    struct source *source = recording->metering.operations->source(recording->metering.meter);
    struct show_options options = {.live = true};
    struct communication *communication;

    if (recording->statistics == NULL ||
        now - recording->last_report < recording->options->interval)
        return 0;
    recording->last_report = now;
    const struct record cost = cost_so_far(recording);
    const struct event event = {.header = &cost.header};
    int result = statistics_add(recording->statistics, &event);
    if (result == 0)
        result = statistics_finish(recording->statistics, source->states, source->origins,
                                   &communication);
    if (result == 0) {
        result = show_statistics(communication, recording->messages, &options);
        communication_free(communication);
        fputc('\n', recording->messages);
        fflush(recording->messages);
    }
    return result < 0 ? problem_set(problem, result, "out of memory for the report") : 0;
}

void recording_step(struct recording *recording)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    struct problem problem;

    if (!recording->active)
        return;
    recording->wakeups++;
    recording->metering.operations->measure(recording->metering.meter, now);
    int result = drain(recording, &problem);
    if (result >= 0)
        result = flush(recording, now, &problem);
    if (result >= 0)
        result = report_so_far(recording, now, &problem);
    if (result < 0)
        give_up(recording, result, &problem);
}

void recording_catch_up(struct recording *recording)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    recording_step(recording);
    for (int i = 0; i < 1000 && recording->active && recording->complete < now; i++) {
        usleep(1000); /* a record is being written */
        recording_step(recording);
    }
}

/* ---- before and after ---- */

/* SIGHUP stays ignored where nohup has said so. (SIGINT is ignored by whatever a script starts in the background, and
 * yet is how recordings are ended.) */
static int open_signals(sigset_t *ret_old_mask)
{
    struct sigaction hangup;
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) < 0 || hangup.sa_handler != SIG_IGN)
        sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGQUIT);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, ret_old_mask);
    return signalfd(-1, &mask, SFD_CLOEXEC);
}

int recording_init(struct recording *recording, const struct recording_options *options,
                   sigset_t *ret_old_mask)
{
    recording->options = options;
    recording->messages = stderr;
    if (options->report != NULL && (recording->messages = fopen(options->report, "we")) == NULL) {
        command_error("cannot write the report to %s: %s", options->report, strerror(errno));
        return -1;
    }
    recording->signals = open_signals(ret_old_mask);
    if (recording->signals < 0) {
        command_error("cannot watch signals: %s", strerror(errno));
        return -1;
    }
    return 0;
}

/* The trace's path: as asked for, or ./dpm-NAME-PID.trace. */
static int name_trace(struct recording *recording, const char *name, pid_t pid,
                      struct problem *problem)
{
    const char *asked = recording->options->trace;
    const char *slash = strrchr(name, '/');
    int length = asked != NULL
                     ? snprintf(recording->path, sizeof(recording->path), "%s", asked)
                     : snprintf(recording->path, sizeof(recording->path), "./dpm-%.64s-%d.trace",
                                slash == NULL ? name : slash + 1, pid);

    if ((size_t)length >= sizeof(recording->path))
        return problem_set(problem, -ENAMETOOLONG, "the name of the trace is too long");
    return 0;
}

/* For reports while it goes on: the trace's writer makes the MACHINE record itself. */
static int open_statistics(struct recording *recording, const struct machine_record *machine,
                           struct problem *problem)
{
    const struct event event = {.header = &machine->header};
    int result = statistics_new(&recording->statistics);

    if (result == 0)
        result = statistics_add(recording->statistics, &event);
    return result < 0 ? problem_set(problem, result, "out of memory for the report") : 0;
}

int recording_open_meter(struct recording *recording, struct problem *problem)
{
    return recording->metering.operations != NULL
               ? 0
               : metering_open(&recording->options->metering, &recording->metering, problem);
}

int recording_open(struct recording *recording, const char *name, pid_t pid,
                   struct problem *problem)
{
    const struct recording_options *options = recording->options;
    struct machine_record machine;
    int result = name_trace(recording, name, pid, problem);

    if (result < 0)
        return result;
    result = recording_open_meter(recording, problem);
    if (result < 0)
        return result;
    const struct metering *metering = &recording->metering;
    const char *left_out = metering->operations->left_out(metering->meter);
    if (left_out != NULL)
        command_error("%s", left_out);
    machine_describe(&machine);
    machine.meter_flags = options->metering.meter.flags & ~metering->operations->unknown_flags;
    machine.kinds_left_out = METER_ALL_KINDS & ~metering->operations->kinds(metering->meter);
    machine.meter = metering->kind;
    result =
        trace_writer_new(recording->path, &machine, options->max_size, &recording->writer, problem);
    if (result >= 0 && (options->metering.meter.flags & METER_FLAG_PC) != 0 &&
        symbols_new(&recording->symbols) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for names of program counters");
    if (result < 0 || options->interval == 0)
        return result;
    return open_statistics(recording, &machine, problem);
}

void recording_begin(struct recording *recording)
{
    recording->active = true;
    recording->reason = END_COMPLETE;
    recording->last_flush = recording->last_report = clock_now(CLOCK_MONOTONIC);
}

#define NAMED_MOST 10

static void name_the_living(struct recording *recording, const char *hint)
{
    char names[NAMED_MOST * (STREAM_NAME_SIZE + sizeof(" [-2147483648]"))] = "";
    size_t used = 0;
    struct meter_process *list;
    struct problem problem;
    size_t count;

    const struct metering *metering = &recording->metering;
    if (metering->operations->live(metering->meter) == 0 ||
        metering->operations->processes(metering->meter, &list, &count, &problem) < 0)
        return;
    for (size_t i = 0; i < count && i < NAMED_MOST; i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, " %.*s[%d]", STREAM_NAME_SIZE,
                                 list[i].name, list[i].pid);
    if (count > 0)
        command_say_to(
            recording->messages, "%zu metered process%s still running, no longer metered:%s%s%s",
            count, count == 1 ? " is" : "es are", names, count > NAMED_MOST ? " ..." : "", hint);
    free(list);
}

/* Names of the program counters follow the last record. */
static int append_names(struct recording *recording, struct problem *problem)
{
    const struct record_header *record;
    int result = 0;

    while (result >= 0 && (record = symbols_next(recording->symbols)) != NULL)
        result = trace_writer_append(recording->writer, record, problem);
    return result;
}

/* Writes the rest of the records and END. */
int recording_end(struct recording *recording, const char *name_the_rest, struct problem *problem)
{
    int result = 0, closed;

    if (recording->active) {
        if (name_the_rest != NULL)
            name_the_living(recording, name_the_rest);
        result = recording->metering.operations->sweep(recording->metering.meter, problem);
        recording->active = false;
        recording->metering.operations->detach(recording->metering.meter);
        while (result >= 0 && (result = drain(recording, problem)) == SOURCE_NONE_YET)
            usleep(1000);
        if (result >= 0)
            result = append_names(recording, problem);
        if (result < 0)
            give_up(recording, result, problem);
    }
    const struct record cost = cost_so_far(recording);
    trace_writer_set_last(recording->writer, &cost);
    for (unsigned ring = 0; ring < RING_COUNT; ring++)
        trace_writer_lost(recording->writer, ring, lost_in(recording, ring));
    closed = trace_writer_close(recording->writer, recording->reason, problem);
    recording->writer = NULL;
    return closed;
}

static void say(const char *sentence, void *messages)
{
    command_say_to(messages, "%s", sentence);
}

/* Why program counters have no names: these are written when all else is. */
static const char *why_unnamed(enum end_reason reason)
{
    switch (reason) {
    case END_SIZE:
        return "these are written last, and the trace had reached its largest size";
    case END_DISK:
        return "these are written last, and the trace could not be written any more";
    default:
        return "the program's file had gone or cannot be read";
    }
}

/* What became of the recording, in figures of the trace itself. */
static void tell_result(const struct recording *recording, const struct source_state *state)
{
    uint64_t noted = 0, unnamed = symbols_unnamed(recording->symbols, &noted);

    command_say_to(recording->messages, "%" PRIu64 " records, %" PRIu64 " lost, in %s",
                   state->records, state->lost, recording->path);
    if (unnamed > 0)
        command_say_to(recording->messages,
                       "%" PRIu64 " of %" PRIu64 " program counters have no name: %s", unnamed,
                       noted, why_unnamed(recording->reason));
    recording->metering.operations->report(recording->metering.meter, say, recording->messages);
}

/* So many take half a second; of more the report waits until it is asked for. */
#define ANALYSED_MOST 500000

/* The analyses besides the statistics: they read the trace three times, the path in a scratch file. If one of them
 * cannot be made, that is said, and is no reason not to report the others. */
static void analyse(const struct recording *recording, const struct trace_names *names,
                    struct critical_path **path, struct causality **causality)
{
    struct path_picture no_picture = {0};
    struct problem problem = {""};

    if (recording->records > ANALYSED_MOST)
        return;
    if (read_longest_path(names, &no_picture, path, &problem) < 0)
        command_say_to(recording->messages, "the longest path: %s", problem.text);
    if (read_requests(names, causality, &problem) < 0)
        command_say_to(recording->messages, "requests: %s", problem.text);
}

static int report(struct recording *recording, const struct report *found, struct problem *problem)
{
    const char *paths[] = {recording->path};
    struct show_options options = {.findings = found};
    struct source *source;
    int result = trace_open(paths, 1, &source, problem);

    if (result < 0)
        return result;
    result = show_report(source, recording->messages, &options, problem);
    if (result >= 0)
        tell_result(recording, &source->states[0]);
    trace_close(source);
    if (result >= 0 && (fflush(recording->messages) == EOF || ferror(recording->messages)))
        return problem_set(problem, -EIO, "the report could not be written: %s", strerror(errno));
    return result;
}

int recording_report(struct recording *recording, struct problem *problem)
{
    const char *paths[] = {recording->path};
    const struct trace_names names = {.at = paths, .count = 1, .quiet = true};
    struct critical_path *path = NULL;
    struct causality *causality = NULL;
    char *quoted = trace_names_quoted(&names);

    analyse(recording, &names, &path, &causality);
    const struct report found = {
        .path = path, .causality = causality, .traces = quoted == NULL ? "" : quoted};
    int result = report(recording, &found, problem);
    critical_path_free(path);
    causality_free(causality);
    free(quoted);
    return result;
}

void recording_discard(struct recording *recording)
{
    trace_writer_discard(recording->writer, recording->path);
    recording->writer = NULL;
}

void recording_close(struct recording *recording)
{
    statistics_free(recording->statistics);
    names_done(&recording->names);
    symbols_free(recording->symbols);
    metering_close(&recording->metering);
    close(recording->signals);
    if (recording->messages != stderr)
        fclose(recording->messages);
}
