/* SPDX-License-Identifier: MIT */
/* recording_options.c: options of the commands that record. See recording_options.h. */
#include "command/recording/recording_options.h"
#include "command/reading/view_display.h"
#include "command/reading/whole_report.h"

#include <getopt.h>
#include <string.h>

#define DEFAULT_MAX_SIZE (4ULL << 30)

#define LEAST_LATENCY 1000000ULL    /* ns */
#define MOST_LATENCY  1000000000ULL /* how often a trace is flushed in any case */

enum cpu_time { PRECISE, COARSE };

static const char *const meter_wishes[] = {
    [WISH_AUTO] = "auto", [WISH_KERNEL] = "kernel", [WISH_PTRACE] = "ptrace"};

const char *meter_wish_word(size_t index)
{
    return index < ARRAY_SIZE(meter_wishes) ? meter_wishes[index] : NULL;
}

static const char *const cpu_times[] = {[PRECISE] = "precise", [COARSE] = "coarse"};

static const char *cpu_time_word(size_t index)
{
    return index < ARRAY_SIZE(cpu_times) ? cpu_times[index] : NULL;
}

static const char *const stores[] = {
    [STORE_ALL] = "all", [STORE_NEWEST] = "newest", [STORE_NONE] = "none"};

static const char *store_word(size_t index)
{
    return index < ARRAY_SIZE(stores) ? stores[index] : NULL;
}

const struct command_option recording_options[] = {
    {"output",
     'o',
     {"TRACE", ARGUMENT_TRACE},
     "record into the directory TRACE (./dpm-NAME-PID.trace)"},
    {"store",
     RECORDING_STORE,
     {"WHAT", ARGUMENT_WORD, store_word},
     "all: a trace; newest: a trace of the newest records; none: only the report (all)"},
    {"flags",
     RECORDING_FLAGS,
     {"LIST", ARGUMENT_LIST, meter_flag_word},
     "events to record: all, send, receive, fork ... (all)"},
    {"kinds",
     RECORDING_KINDS,
     {"LIST", ARGUMENT_LIST, meter_kind_word},
     "connections to record: all (without file and mpi),\n"
     "tcp, udp, unix, pipe, mq, file, mpi\n"
     "(run: all; acquire: all,-pipe,-mq)"},
    {"sensors",
     RECORDING_SENSORS,
     {0},
     "also record what probes in libraries of metered processes report: collections of a JVM"},
    {"rules",
     'r',
     {"FILE", ARGUMENT_FILE},
     "record only events that the rules in FILE select: dpm-rules(5)"},
    {"filter",
     RECORDING_FILTER,
     {"COMMAND"},
     "a shell command that gets the packets of the trace while it is recorded"},
    {"interval", RECORDING_INTERVAL_OPTION, {"TIME"}, "also report every TIME: 10s, 5m"},
    {"json",
     RECORDING_JSON,
     {0},
     "with --interval: a line of JSON every TIME, to standard output or the file of --report"},
    {"views",
     RECORDING_VIEWS,
     {"FILE", ARGUMENT_FILE},
     "at each interval (1s), print which views of FILE hold, not the report"},
    {"latency",
     RECORDING_LATENCY,
     {"TIME"},
     "store each record within TIME, for a reader that follows the trace: 1ms to 1s (1s)"},
    {"cpu-time",
     RECORDING_CPU_TIME,
     {"MODE", ARGUMENT_WORD, cpu_time_word},
     "CPU times: precise, or coarse (cheaper, up to 4 ms old) (precise)"},
    {"report",
     RECORDING_REPORT,
     {"FILE", ARGUMENT_FILE},
     "write the report to FILE (standard error)"},
    {"analyses",
     RECORDING_ANALYSES,
     {"LIST", ARGUMENT_LIST, report_part_word},
     "what to report, with tables: all, or some of stats, why, path, parallelism,\ncausality"},
    {"html",
     RECORDING_HTML,
     {"FILE", ARGUMENT_FILE},
     "also write the report as a page with drawings"},
    {"max-size",
     RECORDING_MAX_SIZE,
     {"N"},
     "largest size of the trace, with K, M, G or T (4G); implies --store newest"},
    {"max-files",
     RECORDING_MAX_FILES,
     {"N"},
     "keep at most N pairs of files, each of 1/N of the size (1/16); implies --store newest"},
    {"max-age",
     RECORDING_MAX_AGE,
     {"TIME"},
     "keep no records older than TIME before the newest: 1h; implies --store newest"},
    {"ring", RECORDING_RING, {"N"}, "size of the buffer between kernel and dpm, 4K to 1G (16M)"},
    {0},
};

void recording_options_init(struct recording_command_options *options)
{
    *options = (struct recording_command_options){.flags = "all",
                                                  .kinds = "all",
                                                  .recording.max_size = DEFAULT_MAX_SIZE,
                                                  .recording.meter.wish = WISH_KERNEL};
}

static int read_max_size(const char *command, struct recording_command_options *options)
{
    if (parse_size(optarg, &options->recording.max_size) < 0 ||
        options->recording.max_size < TRACE_SMALLEST_MAX_SIZE)
        return command_usage_error(
            command, "--max-size '%s': give a size of at least 64K, e.g. 500M or 4G", optarg);
    options->bounded = true;
    return -1;
}

static int read_max_files(const char *command, struct recording_command_options *options)
{
    uint64_t files = 0;
    int result = option_number(command, "max-files", 2, TRACE_FILES_MOST, &files);

    options->recording.limits.max_files = (uint32_t)files;
    options->bounded = true;
    return result;
}

static int read_max_age(const char *command, struct recording_command_options *options)
{
    if (parse_duration(optarg, &options->recording.limits.max_age) < 0 ||
        options->recording.limits.max_age == 0)
        return command_usage_error(command, "--max-age '%s': give a time, e.g. 30s, 10m or 1h",
                                   optarg);
    options->bounded = true;
    return -1;
}

static int read_store(const char *command, struct recording_command_options *options)
{
    size_t store;
    int result = option_word(command, "store", store_word, &store);

    if (result < 0)
        options->recording.store = (enum recording_store)store;
    options->store_given = true;
    return result;
}

static int read_ring_size(const char *command, struct recording_command_options *options)
{
    uint64_t size;

    if (parse_size(optarg, &size) < 0 || size < 4096 || size > 1u << 30)
        return command_usage_error(command, "--ring '%s': give a size from 4K to 1G", optarg);
    options->recording.meter.options.ring_size = (uint32_t)size;
    return -1;
}

static int read_cpu_time(const char *command, struct recording_command_options *options)
{
    options->recording.meter.options.coarse_time = strcmp(optarg, cpu_times[COARSE]) == 0;
    if (!options->recording.meter.options.coarse_time && strcmp(optarg, cpu_times[PRECISE]) != 0)
        return command_usage_error(command, "--cpu-time '%s': choose precise or coarse", optarg);
    return -1;
}

static int read_latency(const char *command, struct recording_command_options *options)
{
    uint64_t *latest = &options->recording.latest;

    if (parse_duration(optarg, latest) < 0 || *latest < LEAST_LATENCY || *latest > MOST_LATENCY)
        return command_usage_error(command, "--latency '%s': give a time from 1ms to 1s", optarg);
    return -1;
}

/* They live as long as the program. */
static int read_rules(const char *command, struct recording_command_options *options)
{
    struct rules *rules;
    struct problem problem;

    if (options->recording.rules != NULL)
        return command_usage_error(command, "--rules: give one file");
    if (rules_read(optarg, &rules, &problem) < 0)
        return command_error("%s", problem.text);
    options->recording.rules = rules;
    options->rules_file = optarg;
    options->recording.meter.options.selects = true;
    return -1;
}

int recording_option(const char *command, int option, struct recording_command_options *options)
{
    switch (option) {
    case 'o':
        options->recording.trace = optarg;
        return -1;
    case 'r':
        return read_rules(command, options);
    case RECORDING_FILTER:
        options->filter = optarg;
        return -1;
    case RECORDING_FLAGS:
        options->flags = optarg;
        return -1;
    case RECORDING_KINDS:
        options->kinds = optarg;
        return -1;
    case RECORDING_SENSORS:
        options->recording.sensors = true;
        options->recording.meter.options.libraries = true;
        return -1;
    case RECORDING_REPORT:
        options->report = optarg;
        return -1;
    case RECORDING_ANALYSES:
        return report_parts_take(command, &options->parts);
    case RECORDING_HTML:
        options->html = optarg;
        return -1;
    case RECORDING_MAX_FILES:
        return read_max_files(command, options);
    case RECORDING_MAX_AGE:
        return read_max_age(command, options);
    case RECORDING_STORE:
        return read_store(command, options);
    case RECORDING_MAX_SIZE:
        return read_max_size(command, options);
    case RECORDING_RING:
        return read_ring_size(command, options);
    case RECORDING_VIEWS:
        options->views = optarg;
        return -1;
    case RECORDING_INTERVAL_OPTION:
        if (parse_duration(optarg, &options->interval) < 0 || options->interval == 0)
            return command_usage_error(
                command, "--interval '%s': give a time, e.g. 500ms, 10s or 5m", optarg);
        return -1;
    case RECORDING_JSON:
        options->json = true;
        return -1;
    case RECORDING_LATENCY:
        return read_latency(command, options);
    case RECORDING_CPU_TIME:
        return read_cpu_time(command, options);
    case OPTION_HELP:
        return command_help(command);
    default:
        return command_usage_error(command, NULL);
    }
}

/* What is stored, and options that do not fit it. */
static int check_store(const char *command, struct recording_command_options *options)
{
    struct recording_options *recording = &options->recording;

    if (!options->store_given && options->bounded)
        recording->store = STORE_NEWEST;
    if (recording->store == STORE_NONE && options->filter != NULL)
        return command_usage_error(command,
                                   "--filter reads the trace: give --store newest, which can be "
                                   "small (--max-size 1M), not --store none");
    if (recording->store == STORE_NONE && recording->trace != NULL)
        return command_usage_error(command, "--store none writes no trace: leave out --output");
    if (recording->store == STORE_NONE && options->bounded)
        return command_usage_error(command, "--store none writes no trace: leave out --max-...");
    if (recording->store == STORE_ALL &&
        (recording->limits.max_files != 0 || recording->limits.max_age != 0))
        return command_usage_error(
            command, "--store all keeps all records: leave it out, or --max-files and --max-age");
    if (recording->store == STORE_NEWEST && recording->max_size < TRACE_SMALLEST_KEPT)
        return command_usage_error(
            command, "--max-size: --store newest needs at least 1M; with --store all recording "
                     "stops at the size");
    return -1;
}

unsigned recording_parts_asked(const struct recording_command_options *options)
{
    return options->parts == 0 && options->html != NULL ? PARTS_ALL : options->parts;
}

#define VIEWS_INTERVAL 1000000000ULL /* ns, if none is given */

/* Errors in views are reported before anything runs. */
static int check_views(struct recording_command_options *options)
{
    struct view_display *display = NULL;
    struct problem problem;

    if (options->views == NULL)
        return -1;
    options->interval = options->interval == 0 ? VIEWS_INTERVAL : options->interval;
    int result = view_display_new(options->views, stderr, false, &display, &problem);
    view_display_free(display);
    return result < 0 ? command_error("%s", problem.text) : -1;
}

/* The lines of a command's output and ours must not mix. */
static int check_json(const char *command, const struct recording_command_options *options)
{
    if (options->json && options->interval == 0)
        return command_usage_error(command, "--json needs --interval");
    if (options->json && options->views != NULL)
        return command_usage_error(command, "--json and --views: give only one");
    if (options->json && options->report == NULL && strcmp(command, "run") == 0)
        return command_usage_error(command,
                                   "--json: give --report FILE: standard output is the command's");
    return -1;
}

int recording_options_done(const char *command, struct recording_command_options *options)
{
    struct problem problem;
    int result = check_store(command, options);

    if (result < 0)
        result = check_json(command, options);
    if (result < 0)
        result = check_views(options);
    if (result >= 0)
        return result;
    if (meter_flags_parse(options->flags, &options->recording.meter.options.flags, &problem) < 0 ||
        meter_kinds_parse(options->kinds, &options->recording.meter.options.kinds, &problem) < 0)
        return command_usage_error(command, "%s", problem.text);
    if ((options->recording.meter.options.flags & METER_EVENT_FLAGS) == 0)
        return command_usage_error(
            command, "--flags leaves no event to record (to leave one out: all,-NAME)");
    if (options->recording.store == STORE_NEWEST)
        options->recording.meter.options.flags |= STORE_NEWEST_FLAGS;
    const uint64_t of_files = EVENT_FLAG(EVENT_READ) | EVENT_FLAG(EVENT_WRITE);
    if (!(options->recording.meter.options.kinds & METER_FILE) &&
        (options->recording.meter.options.flags & METER_EVENT_FLAGS & ~of_files) == 0)
        return command_usage_error(
            command, "--flags asks only for reads and writes of files: add --kinds file");
    if (options->recording.meter.options.kinds == 0)
        return command_usage_error(
            command, "--kinds leaves no connection to record (to leave one out: all,-NAME)");
    return -1;
}
