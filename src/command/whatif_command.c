/* SPDX-License-Identifier: MIT */
/* whatif_command.c: `dpm whatif`: what requests would take after a change. See dpm-whatif(1). */
#include "command/reading/readings.h"
#include "command/shared/command.h"
#include "show/show.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asked {
    struct show_options show;
    struct whatif_change *changes;
    size_t count, room;
    bool search, of_run;
    struct selection selection;
};

/* ---- showing ---- */

#define SEARCH_MOST 200
#define STEPS_MOST  1000000000u /* simulated: half a minute */

static int search_requests(const struct analyses_found *found, const struct asked *asked,
                           struct problem *problem)
{
    uint32_t cpus = found_cpus(found);
    struct whatif_found trials;
    int result = whatif_search(found->whatif, cpus, SEARCH_MOST, STEPS_MOST, &trials, problem);

    if (result == 0)
        result = show_whatif_search(found->whatif, &trials, cpus, stdout, &asked->show) < 0
                     ? problem_set(problem, -ENOMEM, "out of memory")
                     : command_flush_output(problem);
    whatif_found_done(&trials);
    return result;
}

static int ask_requests(const struct analyses_found *found, const struct asked *asked,
                        struct problem *problem)
{
    uint32_t cpus = found_cpus(found);
    struct whatif_answer answer;
    int result = whatif_ask(found->whatif, asked->changes, asked->count, cpus, &answer, problem);

    if (result < 0)
        return result;
    return show_whatif(found->whatif, &answer, cpus, stdout, &asked->show) < 0
               ? problem_set(problem, -ENOMEM, "out of memory")
               : command_flush_output(problem);
}

/* 1: there are none, and the answer is that of the run. */
static int about_requests(const struct trace_names *traces, struct asked *asked,
                          struct problem *problem)
{
    struct analyses_found found;
    const struct analyses_wanted wanted = {.statistics = true,
                                           .elapsed = true,
                                           .whatif = WHATIF_REQUESTS_MOST,
                                           .selection = &asked->selection};
    int result = read_analyses(traces, &wanted, &found, problem);

    if (result == 0)
        whatif_model_note_load(found.whatif, found.communication);
    if (result == 0 && found.elapsed->requests.count == 0)
        result = 1;
    else if (result == 0)
        result = asked->search ? search_requests(&found, asked, problem)
                               : ask_requests(&found, asked, problem);
    found_done(&found);
    return result;
}

static int search_run(struct whatif_run *run, uint32_t cpus, const struct asked *asked,
                      struct problem *problem)
{
    struct whatif_run_found trials;
    int result = whatif_run_search(run, SEARCH_MOST, STEPS_MOST / 4, &trials, problem);

    if (result == 0)
        result = show_whatif_run_search(&trials, cpus, stdout, &asked->show) < 0
                     ? problem_set(problem, -ENOMEM, "out of memory")
                     : command_flush_output(problem);
    whatif_run_found_done(&trials);
    return result;
}

static int ask_run(struct whatif_run *run, uint32_t cpus, const struct asked *asked,
                   struct problem *problem)
{
    struct whatif_run_answer answer;
    int result = whatif_run_ask(run, asked->changes, asked->count, &answer, problem);

    if (result < 0)
        return result;
    return show_whatif_run(&answer, cpus, stdout, &asked->show) < 0
               ? problem_set(problem, -ENOMEM, "out of memory")
               : command_flush_output(problem);
}

static const struct assignment as_recorded = {.name = "as-recorded", .kind = AS_RECORDED};

static int about_run(const struct trace_names *traces, struct asked *asked, struct problem *problem)
{
    const struct critical_path_options path = {
        .parallelism = {.assignments = &as_recorded, .assignment_count = 1, .threads = true},
        .kind_of_wait = whatif_kind_of_wait,
    };
    const struct analyses_wanted wanted = {
        .statistics = true, .path = &path, .keeps_path = true, .selection = &asked->selection};
    struct analyses_found found;
    struct whatif_run *run = NULL;
    int result = read_analyses(traces, &wanted, &found, problem);
    uint32_t cpus = result == 0 ? found_cpus(&found) : 0;

    if (result == 0 &&
        whatif_run_new(found.path_reading, found.path, found.communication, cpus, &run) < 0)
        result = problem_set(problem, -ENOMEM, "out of memory");
    if (result == 0)
        result = asked->search ? search_run(run, cpus, asked, problem)
                               : ask_run(run, cpus, asked, problem);
    whatif_run_free(run);
    found_done(&found);
    return result;
}

/* How many bytes are sent at once is no part of the model of requests. */
static bool is_about_run(const struct asked *asked)
{
    for (size_t i = 0; i < asked->count; i++)
        if (asked->changes[i].kind == WHATIF_BUFFER)
            return true;
    return asked->of_run;
}

static int show_traces(const char *const *names, size_t count, struct asked *asked)
{
    struct problem problem = {""};
    struct trace_names traces = {.at = names, .count = count};
    int result = is_about_run(asked) ? 1 : about_requests(&traces, asked, &problem);

    if (result == 1) {
        traces.quiet = !is_about_run(asked); /* losses are reported once */
        result = about_run(&traces, asked, &problem);
    }
    if (result == 0)
        selection_say_unmet(&asked->selection);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

enum {
    OPTION_JSON = OPTION_HELP + 1,
    OPTION_RUN,
    OPTION_SEARCH,
    OPTION_BUFFER,
    OPTION_DELAY,
    OPTION_KEEP,
    OPTION_MERGE,
    OPTION_NO_HOLDBACK,
    OPTION_PLACE,
    OPTION_REPLICAS,
    OPTION_SPEED,
    OPTION_WAIT,
};

static const struct command_option whatif_options[] = {
    {"replicas",
     OPTION_REPLICAS,
     {"NAME=N"},
     "N workers (processes, threads) of NAME answer requests"},
    {"wait",
     OPTION_WAIT,
     {"NAME,KIND=PART"},
     "waits of NAME for KIND (disk, lock, timer ...: dpm why --json)\ntake PART of their time: "
     "0.5"},
    {"speed", OPTION_SPEED, {"NAME=SPEED"}, "NAME computes SPEED times as fast"},
    {"no-holdback",
     OPTION_NO_HOLDBACK,
     {0},
     "no message waits for an acknowledgement (TCP_NODELAY)"},
    {"keep-connections",
     OPTION_KEEP,
     {"NAME>NAME"},
     "the first NAME keeps its connections to the second"},
    {"merge",
     OPTION_MERGE,
     {"NAME>NAME[=N]"},
     "of the questions of the first NAME to the second in a request,\nonly the first takes a "
     "round trip; of every N, if the first\nNAME is the client"},
    {"buffer",
     OPTION_BUFFER,
     {"NAME>NAME=BYTES"},
     "the first NAME, which passes on what it receives, sends BYTES\nat once to the second: 64K; "
     "predicts the elapsed time"},
    {"delay",
     OPTION_DELAY,
     {"NAME>NAME=TIME"},
     "each message between the two takes TIME: 200us, 5ms"},
    {"place", OPTION_PLACE, {"NAME"}, "NAME has a machine of its own, with as many CPUs"},
    {"run", OPTION_RUN, {0}, "predict the elapsed time, as without requests"},
    {"search", OPTION_SEARCH, {0}, "try all changes, one at a time: which would help most"},
    {"json", OPTION_JSON, {0}, "print a JSON object"},
    {0},
};

/* Cuts `text` at `sign`. Returns what follows; NULL: one of the two is empty. */
static char *cut(char *text, char sign)
{
    char *at = strrchr(text, sign);

    if (at == NULL || at == text || at[1] == '\0')
        return NULL;
    *at = '\0';
    return at + 1;
}

static int parse_amount(const char *option, const char *text, double least, double most,
                        double *ret_amount)
{
    char *end = NULL;

    *ret_amount = text == NULL ? 0 : strtod(text, &end);
    if (text == NULL || end == text || *end != '\0' || !(*ret_amount >= least) ||
        !(*ret_amount <= most))
        return command_usage_error("whatif", "--%s: give a number from %g to %g after '='", option,
                                   least, most);
    return -1;
}

/* What `dpm why` lists among waits, and is none whose length a change can set. */
static int refuse_wait(enum elapsed_kind kind)
{
    return command_usage_error("whatif",
                               kind == ELAPSED_QUEUED
                                   ? "--wait: 'queued' follows from the workers: give --replicas"
                                   : "--wait: 'computing' is no wait: give --speed");
}

static int parse_wait(struct whatif_change *change)
{
    char *kind = strrchr(optarg, ',');

    if (kind == NULL || kind == optarg)
        return command_usage_error("whatif", "--wait '%s': give NAME,KIND=PART: redis,disk=0.5",
                                   optarg);
    *kind++ = '\0';
    change->name = optarg;
    for (unsigned i = 0; i < ELAPSED_KIND_COUNT; i++)
        if (strcmp(elapsed_kind_key((enum elapsed_kind)i), kind) == 0) {
            change->wait = (enum elapsed_kind)i;
            return i == ELAPSED_QUEUED || i == ELAPSED_COMPUTES ? refuse_wait(change->wait) : -1;
        }
    return command_usage_error("whatif",
                               "--wait: '%s' is no kind of wait: disk, lock, file_lock, timer, "
                               "outside ... (dpm why --json has all)",
                               kind);
}

static int parse_number(struct whatif_change *change, int option)
{
    char *amount = cut(optarg, '=');

    change->name = optarg;
    if (option == OPTION_REPLICAS) {
        int status = parse_amount("replicas", amount, 1, 1000000, &change->amount);
        if (status < 0 && change->amount != (double)(uint32_t)change->amount)
            status =
                command_usage_error("whatif", "--replicas: %g is no whole number", change->amount);
        return status;
    }
    if (option == OPTION_SPEED)
        return parse_amount("speed", amount, 0.001, 1000000, &change->amount);
    int status = parse_amount("wait", amount, 0, 1000, &change->amount);
    return status < 0 ? parse_wait(change) : status;
}

/* What stands behind '='; NULL: nothing. '>' may stand in a name, but not behind '='. */
static char *cut_value(char *text)
{
    char *at = strrchr(text, '=');

    if (at == NULL || strchr(at, '>') != NULL)
        return NULL;
    *at = '\0';
    return at + 1;
}

static int parse_two(struct whatif_change *change, const char *option)
{
    change->to = cut(optarg, '>');
    change->name = optarg;
    return change->to != NULL
               ? -1
               : command_usage_error("whatif", "--%s '%s': give two names: 'nginx>php-fpm'", option,
                                     optarg);
}

static int parse_merge(struct whatif_change *change)
{
    char *count = cut_value(optarg);
    int status = count == NULL ? -1 : parse_amount("merge", count, 2, 1000000, &change->amount);

    if (status < 0 && change->amount != (double)(uint32_t)change->amount)
        status = command_usage_error("whatif", "--merge: %g is no whole number", change->amount);
    return status < 0 ? parse_two(change, "merge") : status;
}

static int parse_delay(struct whatif_change *change)
{
    char *value = cut_value(optarg);
    uint64_t time = 0;

    if (value == NULL || parse_duration(value, &time) < 0)
        return command_usage_error("whatif", "--delay: give a time after '=': 'nginx>php-fpm=5ms'");
    change->amount = (double)time;
    return parse_two(change, "delay");
}

#define BUFFER_MOST (1u << 30)

static int parse_buffer(struct whatif_change *change)
{
    char *value = cut_value(optarg);
    uint64_t bytes = 0;

    if (value == NULL || parse_size(value, &bytes) < 0 || bytes == 0 || bytes > BUFFER_MOST)
        return command_usage_error("whatif",
                                   "--buffer: give bytes after '=', up to 1G: 'socat>nc=64K'");
    change->amount = (double)bytes;
    return parse_two(change, "buffer");
}

static int take_change(struct asked *asked, int option)
{
    static const enum whatif_kind kinds[] = {
        [OPTION_BUFFER] = WHATIF_BUFFER,
        [OPTION_DELAY] = WHATIF_DELAY,
        [OPTION_PLACE] = WHATIF_PLACE,
        [OPTION_KEEP] = WHATIF_KEEP,
        [OPTION_MERGE] = WHATIF_MERGE,
        [OPTION_REPLICAS] = WHATIF_REPLICAS,
        [OPTION_NO_HOLDBACK] = WHATIF_NO_HOLDBACK,
        [OPTION_SPEED] = WHATIF_SPEED,
        [OPTION_WAIT] = WHATIF_WAIT,
    };

    if (array_reserve(&asked->changes, &asked->room, asked->count + 1, sizeof(*asked->changes)) < 0)
        return command_error("out of memory");
    struct whatif_change *change = &asked->changes[asked->count++];
    *change = (struct whatif_change){.kind = kinds[option]};
    switch (option) {
    case OPTION_KEEP:
        return parse_two(change, "keep-connections");
    case OPTION_MERGE:
        return parse_merge(change);
    case OPTION_BUFFER:
        return parse_buffer(change);
    case OPTION_DELAY:
        return parse_delay(change);
    case OPTION_PLACE:
        change->name = optarg;
        return -1;
    case OPTION_NO_HOLDBACK:
        return -1;
    default:
        return parse_number(change, option);
    }
}

static int take_option(struct asked *asked, int option)
{
    if (option == OPTION_JSON)
        asked->show.json = true;
    else if (option == OPTION_RUN)
        asked->of_run = true;
    else if (option == OPTION_SEARCH)
        asked->search = true;
    else if (selection_has_option(option))
        return selection_take("whatif", option, &asked->selection);
    else if (option >= OPTION_BUFFER && option <= OPTION_WAIT)
        return take_change(asked, option);
    else
        return option == OPTION_HELP ? command_help("whatif") : command_usage_error("whatif", NULL);
    return -1;
}

static int command_whatif(int argc, char **argv)
{
    struct asked asked = {.count = 0};
    int status = -1, option; /* -1: continue */

    while (status < 0 && (option = command_next_option(&whatif_command, argc, argv)) != -1)
        status = take_option(&asked, option);
    if (status < 0)
        status = command_take_traces("whatif", &argc, &argv, optind);
    if (status < 0)
        status = selection_check("whatif", &asked.selection, false);
    if (status < 0 && asked.count == 0 && !asked.search)
        status =
            command_usage_error("whatif", "give a change, e.g. --replicas php-fpm=20, or --search");
    if (status < 0 && asked.count > 0 && asked.search)
        status = command_usage_error("whatif", "give changes, or --search: not both");
    if (status < 0)
        status = show_traces((const char *const *)argv + optind, (size_t)(argc - optind), &asked);
    selection_done(&asked.selection);
    free(asked.changes);
    return status;
}

const struct command whatif_command = {
    .name = "whatif",
    .description = "predict how fast requests, or a run, would be after a change",
    .usage = "CHANGE...|--search TRACE...",
    .function = command_whatif,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = whatif_options,
    .selection = selection_options,
    .refused = SELECTION_BIT(SELECTION_PATH) | SELECTION_BIT(SELECTION_PROCESS),
};
