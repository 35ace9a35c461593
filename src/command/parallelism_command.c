/* SPDX-License-Identifier: MIT */
/* parallelism_command.c: `dpm parallelism`: how parallel a computation was, and would be on other machines. See
 * dpm-parallelism(1). */
#include "command/reading/readings.h"
#include "command/shared/command.h"
#include "command/shared/placement_options.h"
#include "show/show.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asked {
    struct parallelism_options options;
    struct placements placements;
    struct show_options show;
    enum streams streams;
    const char *slices; /* file of the picture; NULL: none */
    uint32_t cores;
    bool seen; /* take the delays from the traces */
    bool each; /* each trace is a run of its own */
    struct selection selection;
    bool one_each; /* --one-each is given; it needs no other assignment */
};

/* ---- reading ---- */

static int read_runs(const char *const *names, size_t count, struct asked *asked,
                     struct parallelism_run *runs, struct problem *problem)
{
    const struct analyses_wanted wanted = {
        .parallelism = &asked->options, .streams = asked->streams, .selection = &asked->selection};
    size_t run_count = asked->each ? count : 1;
    int result = 0;

    for (size_t i = 0; i < run_count && result == 0; i++) {
        const struct trace_names run = {.at = names + i, .count = asked->each ? 1 : count};
        struct analyses_found found;
        result = read_analyses(&run, &wanted, &found, problem);
        runs[i] = found.run;
    }
    return result;
}

struct drawing {
    const struct parallelism *parallelism;
    const char *assignment;
};

static int write_slices(const void *what, FILE *file)
{
    const struct drawing *drawing = what;

    return show_parallelism_slices(drawing->parallelism, drawing->assignment, file);
}

/* Those of the first run. */
static int draw_slices(const struct asked *asked, const struct parallelism_runs *runs,
                       struct problem *problem)
{
    const struct parallelism *parallelism = runs->at[0].threads;

    if (asked->slices == NULL)
        return 0;
    const struct drawing drawing = {
        parallelism, asked->options.assignments[parallelism->slices->assignment].name};
    int result = command_write_file(asked->slices, write_slices, &drawing, problem);
    return result == -ENOMEM ? problem_set(problem, result, "out of memory") : result;
}

static int show_traces(const char *const *names, size_t count, struct asked *asked)
{
    struct parallelism_run *at = calloc(count, sizeof(*at));
    struct parallelism_runs runs = {&asked->options, at, asked->each ? count : 1};
    struct problem problem = {""};
    int result = at == NULL ? problem_set(&problem, -ENOMEM, "out of memory")
                            : read_runs(names, count, asked, at, &problem);

    if (result == 0)
        result = draw_slices(asked, &runs, &problem);
    if (result == 0) {
        result = show_parallelism(&runs, stdout, &asked->show);
        if (result < 0)
            problem_set(&problem, result, "out of memory");
        else
            result = command_flush_output(&problem);
    }
    if (result == 0)
        placements_note_nobody(&asked->placements, runs.at, runs.count);
    if (result == 0)
        selection_say_unmet(&asked->selection);
    for (size_t i = 0; at != NULL && i < count; i++) {
        parallelism_free(at[i].threads);
        parallelism_free(at[i].processes);
    }
    free(at);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- options ---- */

enum {
    OPTION_ALL = OPTION_HELP + 1,
    OPTION_CORES,
    OPTION_EACH,
    OPTION_JSON,
    OPTION_ONE_EACH,
    OPTION_OTHER_LOAD,
    OPTION_PER_MACHINE,
    OPTION_SEARCH,
    OPTION_SEEN_DELAYS,
    OPTION_SLICES,
    OPTION_STEP,
    OPTION_STREAMS,
};

static const char *step_word(size_t index)
{
    static const char *const words[] = {"delay", "sharing", "appendix-a"};

    return index < ARRAY_SIZE(words) ? words[index] : NULL;
}

static const char *streams_word(size_t index)
{
    static const char *const words[] = {"both", "threads", "processes"};

    return index < ARRAY_SIZE(words) ? words[index] : NULL;
}

static const struct command_option parallelism_options[] = {
    {"one-each", OPTION_ONE_EACH, {0}, "one machine for each process (always shown)"},
    {"per-machine",
     OPTION_PER_MACHINE,
     {"N"},
     "N processes per machine, in order of appearance; repeatable"},
    {"search", OPTION_SEARCH, {"N"}, "search for a good assignment to N machines; repeatable"},
    {"cores", OPTION_CORES, {"N"}, "processors of each machine (as recorded, else 1)"},
    {"seen-delays", OPTION_SEEN_DELAYS, {0}, "take delays from the traces (TCP and UDP)"},
    {"other-load",
     OPTION_OTHER_LOAD,
     {"seen|N"},
     "in step sharing, N other tasks on each machine, or as the traces show (0)"},
    {"streams",
     OPTION_STREAMS,
     {"WHICH", ARGUMENT_WORD, streams_word},
     "what runs in parallel: threads, processes or both (both)"},
    {"step",
     OPTION_STEP,
     {"STEP", ARGUMENT_WORD, step_word},
     "last step after max: delay, sharing or appendix-a (sharing)"},
    {"slices",
     OPTION_SLICES,
     {"FILE", ARGUMENT_FILE},
     "draw step sharing of the last assignment into FILE (SVG)"},
    {"each", OPTION_EACH, {0}, "each TRACE is a separate run: show median and spread"},
    {"all", OPTION_ALL, {0}, "all rows, not only the 100 largest, and all columns"},
    {"json", OPTION_JSON, {0}, "print a JSON object, with all rows"},
    {0},
};

static int add_assignment(struct asked *asked, const char *name, enum assignment_kind kind,
                          uint32_t number)
{
    return placements_add(&asked->placements, name, kind, number) < 0
               ? command_error("out of memory")
               : -1;
}

/* Adds an assignment with a number. */
static int add_numbered(struct asked *asked, bool search)
{
    char name[64];
    uint64_t number;
    int status = search ? option_number("parallelism", "search", 1, 1000, &number)
                        : option_number("parallelism", "per-machine", 1, 1000000, &number);

    if (status >= 0)
        return status;
    snprintf(name, sizeof(name), search ? "search-%" PRIu64 : "%" PRIu64 "-per-machine", number);
    return add_assignment(asked, name, search ? SEARCHED : PER_MACHINE, (uint32_t)number);
}

static int take_cores(struct asked *asked)
{
    uint64_t cores;
    int status = option_number("parallelism", "cores", 1, 100000, &cores);

    if (status < 0)
        asked->cores = (uint32_t)cores;
    return status;
}

#define OTHER_TASKS_MOST 1e6

static int take_other_load(struct asked *asked)
{
    struct parallelism_options *options = &asked->options;
    char *end = optarg;

    if (strcmp(optarg, "seen") == 0) {
        options->other_load = OTHER_LOAD_SEEN;
        return -1;
    }
    options->other_load = OTHER_LOAD_GIVEN;
    options->other_tasks = isdigit((unsigned char)optarg[0]) ? strtod(optarg, &end) : 0;
    return end > optarg && *end == '\0' && options->other_tasks <= OTHER_TASKS_MOST
               ? -1
               : command_usage_error(
                     "parallelism", "--other-load '%s': give 'seen' or a number of tasks, e.g. 1.5",
                     optarg);
}

/* Options whose argument is a word. */
static int take_word(int option, struct asked *asked)
{
    size_t word;
    int status = option == OPTION_STEP ? option_word("parallelism", "step", step_word, &word)
                                       : option_word("parallelism", "streams", streams_word, &word);

    if (status >= 0)
        return status;
    if (option == OPTION_STEP) {
        asked->options.sharing = word >= 1;
        asked->options.appendix_a = word == 2;
    } else {
        asked->streams = (enum streams)word;
    }
    return status;
}

/* Returns -1, or the exit status of the command. */
static int take_option(int option, struct asked *asked)
{
    switch (option) {
    case OPTION_ALL:
        asked->show.all = true;
        return -1;
    case OPTION_ONE_EACH:
        asked->one_each = true; /* the assignment is always there */
        return -1;
    case OPTION_PER_MACHINE:
    case OPTION_SEARCH:
        return add_numbered(asked, option == OPTION_SEARCH);
    case OPTION_CORES:
        return take_cores(asked);
    case OPTION_OTHER_LOAD:
        return take_other_load(asked);
    case OPTION_SLICES:
        asked->slices = optarg;
        asked->options.slices = true;
        return -1;
    case OPTION_EACH:
        asked->each = true;
        return -1;
    case OPTION_JSON:
        asked->show.json = true;
        return -1;
    case OPTION_SEEN_DELAYS:
        asked->seen = true;
        return -1;
    case OPTION_STEP:
    case OPTION_STREAMS:
        return take_word(option, asked);
    default:
        return selection_has_option(option)
                   ? selection_take("parallelism", option, &asked->selection)
                   : placements_take("parallelism", option, &asked->placements);
    }
}

/* Without an option for an assignment: those that every trace allows. */
static int choose_assignments(struct asked *asked)
{
    int status = -1;

    if (asked->placements.count > 1 || asked->one_each)
        return status;
    status = add_assignment(asked, "as-recorded", AS_RECORDED, 0);
    return status >= 0 ? status : add_assignment(asked, "one-machine", ONE_MACHINE, 0);
}

/* A search minimises the time of step sharing, slices are a part of it, and other load changes only that step. */
static int check_sharing(const struct asked *asked)
{
    if (asked->slices != NULL && !asked->options.sharing)
        return command_usage_error("parallelism", "--slices needs --step sharing or appendix-a");
    if (asked->options.other_load != OTHER_LOAD_NONE && !asked->options.sharing)
        return command_usage_error("parallelism",
                                   "--other-load needs --step sharing or appendix-a");
    for (size_t i = 0; i < asked->placements.count && !asked->options.sharing; i++)
        if (asked->placements.assignments[i].kind == SEARCHED)
            return command_usage_error("parallelism",
                                       "--search needs --step sharing or appendix-a");
    return -1;
}

/* Runs the command after all options are read. Returns the exit status. */
static int answer(const char *const *names, size_t count, struct asked *asked)
{
    struct problem problem;

    if (asked->seen && placements_see_delays(&asked->placements, names, count, &problem) < 0)
        return command_error("%s", problem.text);
    placements_cores(&asked->placements, asked->cores);
    asked->options.assignments = asked->placements.assignments;
    asked->options.assignment_count = asked->placements.count;
    asked->options.delays = asked->placements.delays;
    asked->options.messages_only = asked->placements.messages_only;
    placements_leave_out(&asked->placements, &asked->options);
    return show_traces(names, count, asked);
}

static int command_parallelism(int argc, char **argv)
{
    struct asked asked = {.options = {.sharing = true}};
    int option, status = add_assignment(&asked, "one-each", ONE_EACH, 0);

    while (status < 0 && (option = command_next_option(&parallelism_command, argc, argv)) != -1)
        status = take_option(option, &asked);
    if (status < 0)
        status = command_take_traces("parallelism", &argc, &argv, optind);
    if (status < 0)
        status = check_sharing(&asked);
    if (status < 0)
        status = selection_check("parallelism", &asked.selection, false);
    if (status < 0)
        status = choose_assignments(&asked);
    if (status < 0)
        status = answer((const char *const *)argv + optind, (size_t)(argc - optind), &asked);
    placements_done(&asked.placements);
    selection_done(&asked.selection);
    return status;
}

const struct command parallelism_command = {
    .name = "parallelism",
    .description = "show how parallel a run was, and would be on other machines",
    .usage = "[OPTION]... TRACE...",
    .function = command_parallelism,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = parallelism_options,
    .shared_options = placement_options,
    .selection = selection_options,
    .refused =
        SELECTION_BIT(SELECTION_PATH), /* without some messages it would be another computation */
};
