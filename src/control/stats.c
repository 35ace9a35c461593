/* SPDX-License-Identifier: MIT */
/* stats.c: `dpm stats`: communication statistics. See dpm-stats(1). */
#include "control/command.h"
#include "control/resolve.h"
#include "control/traces.h"
#include "show/show.h"
#include "trace/trace.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* Up to this trace size, the default includes queues and waits. That takes a second or two, for some five million
 * records. */
#define FOLLOWED_SIZE (256u << 20)

enum depth {
    DEPTH_BY_SIZE,  /* whatever is quick */
    DEPTH_COUNTS,   /* only what each end counts by itself */
    DEPTH_FOLLOWED, /* each message is followed from its sender to its receiver */
};

/* A warning, because JSON and CSV cannot contain this note of the tables. */
static void warn_unknown(const struct communication *communication)
{
    char streams[COUNTED_SIZE], paths[COUNTED_SIZE];

    show_counted(communication->unknown_streams, "message", streams);
    show_counted(communication->unknown_paths, "message", paths);
    if (communication->unknown_streams + communication->unknown_paths > 0)
        command_say(
            "%s from unknown threads and %s on unknown connections: their records were lost",
            streams, paths);
}

static void warn_not_followed(const struct communication *communication)
{
    char size[UNIT_SIZE];

    if (!communication->counts_only)
        return;
    show_bytes(FOLLOWED_SIZE, size);
    command_say(
        "queues and how long messages waited are left out, as of all traces larger than %s: "
        "--waits tells them, --quick says that they are not needed",
        size);
}

/* Replaces the result by the result per group. */
static int group(struct communication **communication, enum communication_by by,
                 struct problem *problem)
{
    struct communication *grouped = NULL;

    if (by == BY_PROCESS)
        return 0;
    int result = communication_group(*communication, by, &grouped);
    if (result < 0)
        return problem_set(problem, result, "out of memory");
    communication_free(*communication);
    *communication = grouped;
    return 0;
}

/* Parsed command line. */
struct stats_options {
    struct show_options show;
    enum communication_by by;
    uint64_t every; /* ns; 0: no intervals */
    bool resolve;   /* show host names instead of addresses */
    enum depth depth;
};

static int read_counts(const struct traces *traces, const struct stats_options *options,
                       struct communication **ret_communication, struct problem *problem)
{
    return communication_read_counts(traces->sources, traces->count, options->every,
                                     ret_communication, problem);
}

static int read_followed(const struct traces *traces, const struct stats_options *options,
                         struct communication **ret_communication, struct problem *problem)
{
    return communication_read_history(traces->history, (uint32_t)traces->count, options->every,
                                      ret_communication, problem);
}

/* Large traces: counts alone, unless they would be wrong: then the clock offsets are needed, which come from following
 * messages. */
static int read_large(struct traces *traces, const struct stats_options *options,
                      struct communication **ret_communication, struct problem *problem)
{
    int result = read_counts(traces, options, ret_communication, problem);

    if (result < 0 || (*ret_communication)->split == 0)
        return result;
    communication_free(*ret_communication);
    *ret_communication = NULL;
    result = traces_rewind(traces, problem);
    return result < 0 ? result : read_followed(traces, options, ret_communication, problem);
}

static int read_traces(struct traces *traces, const struct stats_options *options,
                       struct communication **ret_communication, struct problem *problem)
{
    if (options->depth == DEPTH_COUNTS)
        return read_counts(traces, options, ret_communication, problem);
    if (options->depth == DEPTH_BY_SIZE && traces_size(traces) > FOLLOWED_SIZE)
        return read_large(traces, options, ret_communication, problem);
    return read_followed(traces, options, ret_communication, problem);
}

static int show_traces(const char *const *traces, size_t count, const struct stats_options *options)
{
    struct communication *communication = NULL;
    struct problem problem = {""};
    struct traces opened;
    int result = traces_open(traces, count, &opened, &problem);

    if (result == 0)
        result = read_traces(&opened, options, &communication, &problem);
    if (result == 0)
        result = group(&communication, options->by, &problem);
    if (result == 0 && options->resolve && resolve_addresses(communication) < 0)
        result = problem_set(&problem, -ENOMEM, "out of memory");
    if (result == 0) {
        result = show_statistics(communication, stdout, &options->show);
        if (result < 0)
            problem_set(&problem, result, "out of memory");
        else
            result = command_flush_output(&problem);
    }
    if (result == 0) {
        traces_report_losses(&opened);
        if (options->show.json || options->show.csv)
            warn_unknown(communication);
        if ((options->show.json || options->show.csv) && options->depth == DEPTH_BY_SIZE)
            warn_not_followed(communication);
    }
    communication_free(communication);
    traces_close(&opened);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

/* Arguments of --by: groups of processes, then tables that are shown alone. */
#define BY_TABLES (BY_NAMESPACE + 1)

static const struct {
    const char *name;
    enum show_table table;
} tables[] = {{"pair", TABLE_PAIRS}, {"path", TABLE_PATHS}, {"procedure", TABLE_PROCEDURES}};

static const char *by_word(size_t index)
{
    if (index < BY_TABLES)
        return communication_by_name((enum communication_by)index);
    return index - BY_TABLES < ARRAY_SIZE(tables) ? tables[index - BY_TABLES].name : NULL;
}

static const char *order_word(size_t index)
{
    static const char *const orders[] = {
        [ORDER_BYTES] = "bytes",       [ORDER_MESSAGES] = "messages", [ORDER_CPU] = "cpu",
        [ORDER_RESPONSE] = "response", [ORDER_NAME] = "name",
    };

    return index < ARRAY_SIZE(orders) ? orders[index] : NULL;
}

static int read_by(struct stats_options *options)
{
    size_t word;
    int status = option_word("stats", "by", by_word, &word);

    options->show.rates = true;
    if (status < 0 && word >= BY_TABLES)
        options->show.table = tables[word - BY_TABLES].table;
    else if (status < 0)
        options->by = (enum communication_by)word;
    return status;
}

static int read_order(struct stats_options *options)
{
    size_t word;
    int status = option_word("stats", "sort", order_word, &word);

    if (status < 0)
        options->show.order = (enum show_order)word;
    return status;
}

static int read_every(struct stats_options *options)
{
    int status = option_time("stats", "every", &options->every);

    return status >= 0 || options->every > 0
               ? status
               : command_usage_error(
                     "stats", "--every '%s': give a time greater than 0, e.g. 100ms, 2s or 5m",
                     optarg);
}

static int read_depth(struct stats_options *options, enum depth depth)
{
    if (options->depth != DEPTH_BY_SIZE && options->depth != depth)
        return command_usage_error("stats", "--quick and --waits: one of them");
    options->depth = depth;
    return -1;
}

enum {
    OPTION_ALL,
    OPTION_BY,
    OPTION_CSV,
    OPTION_EVERY,
    OPTION_HISTOGRAM,
    OPTION_JSON,
    OPTION_QUICK,
    OPTION_RESOLVE,
    OPTION_SORT,
    OPTION_WAITS,
};

static const struct command_option stats_options[] = {
    {"by",
     OPTION_BY,
     {"WHAT", ARGUMENT_WORD, by_word},
     "rows: process (default), user, container, program, machine, namespace (PID);\nor only one "
     "table: pair, path (connections), procedure"},
    {"sort",
     OPTION_SORT,
     {"WHAT", ARGUMENT_WORD, order_word},
     "order of rows: bytes (default), messages, cpu, response (p99), name"},
    {"all", OPTION_ALL, {0}, "all rows, not only the 100 largest"},
    {"every",
     OPTION_EVERY,
     {"TIME", ARGUMENT_OTHER, NULL},
     "also what was sent in each interval of TIME"},
    {"histogram", OPTION_HISTOGRAM, {0}, "also histograms of sizes and times"},
    {"quick",
     OPTION_QUICK,
     {0},
     "only what is counted at each end: no queues, not how long messages waited; four\n"
     "times as fast. Of traces larger than 256 MiB that is what comes without it"},
    {"waits", OPTION_WAITS, {0}, "all of it, also of traces larger than 256 MiB"},
    {"resolve", OPTION_RESOLVE, {0}, "show host names instead of addresses"},
    {"json", OPTION_JSON, {0}, "print a JSON object, with all rows"},
    {"csv", OPTION_CSV, {0}, "print one table, of processes or what --by selects"},
    {0},
};

static int command_stats(int argc, char **argv)
{
    struct stats_options asked = {0};
    int option, status = -1;

    while (status < 0 && (option = command_next_option(&stats_command, argc, argv)) != -1) {
        switch (option) {
        case OPTION_ALL:
            asked.show.all = true;
            break;
        case OPTION_BY:
            status = read_by(&asked);
            break;
        case OPTION_CSV:
            asked.show.csv = true;
            break;
        case OPTION_EVERY:
            status = read_every(&asked);
            break;
        case OPTION_HISTOGRAM:
            asked.show.histogram = true;
            break;
        case OPTION_JSON:
            asked.show.json = true;
            break;
        case OPTION_QUICK:
            status = read_depth(&asked, DEPTH_COUNTS);
            break;
        case OPTION_RESOLVE:
            asked.resolve = true;
            break;
        case OPTION_SORT:
            status = read_order(&asked);
            break;
        case OPTION_WAITS:
            status = read_depth(&asked, DEPTH_FOLLOWED);
            break;
        case OPTION_HELP:
            return command_help("stats");
        default:
            return command_usage_error("stats", NULL);
        }
    }
    if (status >= 0)
        return status;
    if (asked.show.json && asked.show.csv)
        return command_usage_error("stats", "--json and --csv: give only one");
    if (asked.show.csv && (asked.every > 0 || asked.show.histogram))
        return command_usage_error(
            "stats", "--csv prints one table: it does not go with --every or --histogram");
    if (optind == argc)
        return command_usage_error("stats", "name a trace");
    return show_traces((const char *const *)argv + optind, (size_t)(argc - optind), &asked);
}

const struct command stats_command = {
    .name = "stats",
    .description = "communication statistics: who sends how much to whom, and how long it takes",
    .usage = "[OPTION]... TRACE...",
    .function = command_stats,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = stats_options,
};
