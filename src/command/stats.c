/* SPDX-License-Identifier: MIT */
/* stats.c: `dpm stats`: communication statistics. See dpm-stats(1). */
#include "command/reading/traces.h"
#include "command/shared/command.h"
#include "command/shared/resolve.h"
#include "command/stats_follow.h"
#include "show/show.h"
#include "trace/trace.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

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
    uint64_t every;    /* ns, 0: not asked for */
    bool resolve;      /* names in place of addresses */
    bool each;         /* a row for each connection */
    bool follow;       /* a trace that grows */
    uint64_t interval; /* ns between reports meanwhile, 0: none */
    struct selection selection;
};

static bool is_chosen(void *context, const struct communication_process *process)
{
    char name[STREAM_NAME_SIZE] = "";

    memcpy(name, process->name, STREAM_NAME_SIZE);
    return process->pid != 0 &&
           dump_choice_accepts_named(context, process->pid, name, process->command);
}

static int choose(struct communication *communication, struct selection *selection,
                  struct problem *problem)
{
    if (selection->choice.processes.count == 0)
        return 0;
    return communication_choose(communication, is_chosen, &selection->choice) < 0
               ? problem_set(problem, -ENOMEM, "out of memory")
               : 0;
}

static int read_statistics(struct statistics *statistics, const struct traces *traces,
                           const struct stats_options *options,
                           struct communication **ret_communication, struct problem *problem)
{
    const struct analysis analysis = statistics_analysis(statistics);
    int result = options->follow ? stats_follow(traces, statistics, options->interval, problem)
                                 : analyses_read_all(traces->history, &analysis, 1, problem);

    if (result < 0)
        return result;
    history_finish(traces->history); /* the result needs the memory */
    result = statistics_finish(statistics, (uint32_t)traces->count, ret_communication);
    return result < 0 ? problem_set(problem, result, "out of memory for %s", analysis.name) : 0;
}

static int read_traces(const struct traces *traces, const struct stats_options *options,
                       struct communication **ret_communication, struct problem *problem)
{
    struct statistics *statistics;
    int result = statistics_new(traces->history, options->every, &statistics);

    if (result < 0)
        return problem_set(problem, result, "out of memory");
    if (options->each)
        statistics_each_connection(statistics);
    result = read_statistics(statistics, traces, options, ret_communication, problem);
    statistics_free(statistics);
    return result;
}

static int show_lines(const char *const *traces, size_t count, const struct stats_options *options)
{
    struct problem problem;
    int result = stats_lines(traces, count, options->interval, &problem);

    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

static int show_traces(const char *const *traces, size_t count, struct stats_options *options)
{
    struct communication *communication = NULL;
    struct problem problem = {""};
    struct traces opened;
    int result = options->follow
                     ? traces_follow(traces, &opened, &problem)
                     : traces_open(traces, count, &options->selection, &opened, &problem);

    if (result == 0 && options->interval > 0 && options->show.json) {
        result = stats_follow_lines(&opened, options->interval, &problem);
        if (result == 0)
            traces_report_losses(&opened);
        traces_close(&opened);
        return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
    }
    if (result == 0)
        result = read_traces(&opened, options, &communication, &problem);
    if (result == 0)
        result = choose(communication, &options->selection, &problem);
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
        selection_say_unmet(&options->selection);
        if (options->show.json || options->show.csv)
            warn_unknown(communication);
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
} tables[] = {
    {"pair", TABLE_PAIRS},           {"path", TABLE_PATHS},     {"failure", TABLE_FAILURES},
    {"procedure", TABLE_PROCEDURES}, {"file", TABLE_FILES},     {"input", TABLE_INPUTS},
    {"load", TABLE_LOADS},           {"cgroup", TABLE_CGROUPS}, {"decision", TABLE_DECISIONS},
};

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

enum {
    OPTION_ALL = OPTION_HELP + 1,
    OPTION_BY,
    OPTION_CSV,
    OPTION_EACH_CONNECTION,
    OPTION_EVERY,
    OPTION_FOLLOW,
    OPTION_HISTOGRAM,
    OPTION_INTERVAL,
    OPTION_JSON,
    OPTION_RESOLVE,
    OPTION_SORT,
};

static const struct command_option stats_options[] = {
    {"by",
     OPTION_BY,
     {"WHAT", ARGUMENT_WORD, by_word},
     "rows: process (default), user, container, program, machine, namespace (PID);\nor only one "
     "table: pair, path (connections), failure (failed connections),\n"
     "procedure, file, input (files that another process wrote),\n"
     "load (of machines), cgroup, decision (of dpm steer)"},
    {"sort",
     OPTION_SORT,
     {"WHAT", ARGUMENT_WORD, order_word},
     "order of rows: bytes (default), messages, cpu, response (p99), name"},
    {"all", OPTION_ALL, {0}, "all rows, not only the 100 largest, and all columns"},
    {"every",
     OPTION_EVERY,
     {"TIME", ARGUMENT_OTHER, NULL},
     "also what was sent in each interval of TIME"},
    {"each-connection",
     OPTION_EACH_CONNECTION,
     {0},
     "a row for each connection, also between the same processes and the same service\n"
     "(of those that have ended, only the first 4,096)"},
    {"follow",
     OPTION_FOLLOW,
     {0},
     "one trace, while it is being recorded: report when the recording ends"},
    {"interval",
     OPTION_INTERVAL,
     {"TIME", ARGUMENT_OTHER, NULL},
     "with --follow: also report every TIME: 10s, 5m; with --json a line of JSON,\nalso of each "
     "TIME of finished traces"},
    {"histogram", OPTION_HISTOGRAM, {0}, "also histograms of sizes and times"},
    {"resolve", OPTION_RESOLVE, {0}, "show host names instead of addresses"},
    {"json", OPTION_JSON, {0}, "print a JSON object, with all rows"},
    {"csv", OPTION_CSV, {0}, "print one table, of processes or what --by selects"},
    {0},
};

static int read_interval(struct stats_options *options)
{
    if (parse_duration(optarg, &options->interval) == 0 && options->interval > 0)
        return -1;
    return command_usage_error("stats", "--interval '%s': give a time, e.g. 500ms, 10s or 5m",
                               optarg);
}

static int check_follow(const struct stats_options *asked, int traces)
{
    if (asked->interval > 0 && !asked->follow && !asked->show.json)
        return command_usage_error("stats", "--interval needs --follow, or --json");
    if (asked->interval > 0 && !asked->follow && selection_restricts(&asked->selection))
        return command_usage_error(
            "stats", "--interval reads whole traces: it does not go with --path, --from or --to");
    if (asked->follow && traces > 1)
        return command_usage_error("stats", "--follow reads one trace");
    if (asked->follow && selection_restricts(&asked->selection))
        return command_usage_error(
            "stats", "--follow reads the whole trace: it does not go with --path, --from or --to");
    if (asked->interval > 0 && asked->show.csv)
        return command_usage_error("stats", "--interval does not go with --csv");
    if (asked->interval > 0 && asked->show.json &&
        (asked->by != BY_PROCESS || asked->every > 0 || asked->each || asked->resolve ||
         asked->show.histogram || asked->selection.choice.processes.count > 0))
        return command_usage_error(
            "stats", "--interval --json prints all processes, programs, containers and machines: "
                     "it goes with no other option");
    return -1;
}

/* Options that exclude each other. */
static int check_together(const struct stats_options *asked)
{
    if (asked->show.json && asked->show.csv)
        return command_usage_error("stats", "--json and --csv: give only one");
    if (asked->show.csv && (asked->every > 0 || asked->show.histogram))
        return command_usage_error(
            "stats", "--csv prints one table: it does not go with --every or --histogram");
    if (asked->every > 0 && asked->selection.choice.processes.count > 0)
        return command_usage_error("stats",
                                   "--every counts all processes: it does not go with --process");
    return selection_check("stats", &asked->selection, false);
}

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
        case OPTION_EACH_CONNECTION:
            asked.each = true;
            break;
        case OPTION_EVERY:
            status = read_every(&asked);
            break;
        case OPTION_FOLLOW:
            asked.follow = true;
            break;
        case OPTION_INTERVAL:
            status = read_interval(&asked);
            break;
        case OPTION_HISTOGRAM:
            asked.show.histogram = true;
            break;
        case OPTION_JSON:
            asked.show.json = true;
            break;
        case OPTION_RESOLVE:
            asked.resolve = true;
            break;
        case OPTION_SORT:
            status = read_order(&asked);
            break;
        case OPTION_HELP:
            status = command_help("stats");
            break;
        default:
            status = selection_has_option(option)
                         ? selection_take("stats", option, &asked.selection)
                         : command_usage_error("stats", NULL);
        }
    }
    if (status < 0)
        status = check_together(&asked);
    if (status < 0)
        status = command_take_traces("stats", &argc, &argv, optind);
    if (status < 0)
        status = check_follow(&asked, argc - optind);
    if (status < 0 && asked.interval > 0 && !asked.follow)
        status = show_lines((const char *const *)argv + optind, (size_t)(argc - optind), &asked);
    if (status < 0)
        status = show_traces((const char *const *)argv + optind, (size_t)(argc - optind), &asked);
    selection_done(&asked.selection);
    return status;
}

const struct command stats_command = {
    .name = "stats",
    .description = "communication statistics: who sends how much to whom, and how long it takes",
    .usage = "[OPTION]... TRACE...",
    .function = command_stats,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = stats_options,
    .selection = selection_options,
};
