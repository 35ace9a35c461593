/* SPDX-License-Identifier: MIT */
/* dump.c: `dpm dump`: the records of traces, one line each. See dpm-dump(1). */
#include "analysis/analysis.h"
#include "command/reading/traces.h"
#include "command/shared/command.h"
#include "command/shared/dump_choice.h"
#include "show/show.h"
#include "trace/trace.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>

/* Reads the names of program counters, which are at the end of a trace, before anything is shown: each IMAGE, MODULE
 * and PROCEDURE in the traces' control files. Errors: -EBADMSG: a file is damaged; -ENOMEM ... */
static int read_names(struct source *control, struct identities *identities,
                      struct problem *problem)
{
    struct event event;
    uint64_t complete;
    int result;

    while ((result = control->next(control, &event, &complete, problem)) == SOURCE_RECORD) {
        unsigned id = event.header->id;
        if ((id == EVENT_IMAGE || id == EVENT_MODULE || id == EVENT_PROCEDURE) &&
            identities_add(identities, &event) < 0)
            return problem_set(problem, -ENOMEM, "out of memory");
    }
    return result;
}

#define FOLLOW_INTERVAL 100 /* ms, where no change is noticed */

struct dump_options {
    struct selection selection;
    bool json;
    bool matched;
    bool follow;
};

/* What to print, and how. */
struct dump {
    struct selection *selection;
    bool begun;    /* an event was read: */
    int64_t begin; /* its wall clock */
    struct identities *identities;
    struct record_face face;
};

static void begin_dump(struct dump *dump, struct dump_options *options,
                       struct identities *identities, bool machines)
{
    *dump = (struct dump){
        .selection = &options->selection,
        .identities = identities,
        .face = {.file = stdout,
                 .identities = identities,
                 .json = options->json,
                 .machines = machines},
    };
    /* lines are printed in pieces by this one thread: no lock for each piece */
    __fsetlocking(stdout, FSETLOCKING_BYCALLER);
}

static bool is_in_time(struct dump *dump, const struct event *event)
{
    struct selection *selection = dump->selection;
    int64_t time = (int64_t)event->header->time + event->wall_offset;

    if (!dump->begun)
        dump->begin = time;
    dump->begun = true;
    /* another machine's clock may be behind by any time */
    int64_t since = time - dump->begin;
    bool after = selection->from == 0 || since >= (int64_t)selection->from;
    selection->reached = selection->reached || after;
    return after && (selection->to == 0 || since < (int64_t)selection->to);
}

/* Prints the event if it is chosen. Returns whether to continue; if not, *result may be a negative errno. */
static bool dump_event(struct dump *dump, const struct event *event, int *result,
                       struct problem *problem)
{
    *result = identities_add(dump->identities, event);
    show_note_record(&dump->face, event);
    if (*result == 0 && is_in_time(dump, event) &&
        dump_choice_accepts(&dump->selection->choice, dump->identities, event))
        *result = show_record(&dump->face, event);
    identities_fade(dump->identities, event); /* else memory would grow with the trace */
    if (*result < 0)
        problem_set(problem, *result, "out of memory");
    return *result >= 0 && !ferror(stdout);
}

static void say_overtaken(struct source *source, uint64_t *said)
{
    char text[REMOVED_TEXT_SIZE];

    if (!command_overtaken_text(&source, 1, said, text))
        return;
    fflush(stdout);
    command_say("%s", text);
}

/* Prints the chosen records of a source, in order of time. Returns 0 when the source has ended. */
static int dump_source(struct source *source, struct dump *dump, struct problem *problem)
{
    struct pollfd file = {.fd = source_descriptor(source), .events = POLLIN};
    struct event event;
    uint64_t complete, overtaken = 0;
    int result;

    do {
        while ((result = source->next(source, &event, &complete, problem)) == SOURCE_RECORD) {
            if (event.header->id == EVENT_BEGIN)
                say_overtaken(source, &overtaken);
            if (!dump_event(dump, &event, &result, problem))
                break;
        }
        int flushed = result < 0 ? result : command_flush_output(problem);
        if (flushed < 0)
            return flushed;
        if (result == SOURCE_NONE_YET)
            (void)poll(&file, 1, FOLLOW_INTERVAL);
    } while (result == SOURCE_NONE_YET);
    return 0;
}

/* Prints an event of a history, with the edges that lead to it. */
static int dump_matched_event(void *self, const struct history_event *event,
                              struct problem *problem)
{
    struct dump *dump = self;
    int result;

    dump->face.matched = event;
    if (dump_event(dump, &event->event, &result, problem))
        return 0;
    return result < 0 ? result : command_flush_output(problem);
}

/* Prints the chosen events of a history, in causal order. */
static int dump_history(struct history *history, struct dump *dump, struct problem *problem)
{
    const struct analysis dumping = {"the records", dump, dump_matched_event};

    history_find_rooms(history);
    int result = analyses_read_all(history, &dumping, 1, problem);
    return result < 0 ? result : command_flush_output(problem);
}

/* Opens the traces, prints them, and reports incomplete ones. Errors: a line in `problem`. */
static int dump_plain(const char *const *names, size_t count, struct identities *identities,
                      struct dump_options *options, struct problem *problem)
{
    struct source *source = NULL;
    struct dump dump;
    int result = options->follow ? trace_follow(names[0], &source, problem)
                                 : trace_open(names, count, &source, problem);

    begin_dump(&dump, options, identities, count > 1);
    if (result == 0)
        result = dump_source(source, &dump, problem);
    if (result == 0)
        command_report_state(source, names);
    trace_close(source);
    return result;
}

static int dump_matched(const char *const *names, size_t count, struct identities *identities,
                        struct dump_options *options, struct problem *problem)
{
    struct traces traces;
    struct dump dump;
    int result = traces_open(names, count, NULL, &traces, problem);

    begin_dump(&dump, options, identities, count > 1);
    if (result == 0)
        result = dump_history(traces.history, &dump, problem);
    if (result == 0)
        traces_report_state(&traces);
    traces_close(&traces);
    return result;
}

static int dump_traces(const char *const *traces, size_t count, struct dump_options *options)
{
    struct problem problem;
    struct source *control = NULL;
    struct identities *identities = NULL;
    int status = EXIT_SUCCESS;

    if (dump_choice_check(&options->selection.choice, &problem) < 0)
        return command_usage_error("dump", "%s", problem.text);
    if (identities_new(&identities) < 0)
        return command_error("out of memory");
    int result = trace_open_control(traces, count, &control, &problem);
    if (result == 0)
        result = read_names(control, identities, &problem);
    /* a damaged file is reported after the records before the damage */
    if (result >= 0 || result == -EBADMSG)
        result = options->matched ? dump_matched(traces, count, identities, options, &problem)
                                  : dump_plain(traces, count, identities, options, &problem);
    if (result < 0) {
        fflush(stdout); /* what is printed comes first */
        status = command_error("%s", problem.text);
    } else {
        selection_say_unmet(&options->selection);
    }
    trace_close(control);
    identities_free(identities);
    return status;
}

enum {
    OPTION_USER = OPTION_HELP + 1,
    OPTION_CONTAINER,
    OPTION_TYPE,
    OPTION_JSON,
    OPTION_MATCHED,
    OPTION_FOLLOW,
};

static const struct command_option dump_options[] = {
    {"user", OPTION_USER, {"NAME|UID", ARGUMENT_USER}, "only processes of this user; repeatable"},
    {"container",
     OPTION_CONTAINER,
     {"NAME"},
     "only processes in this container, unit or cgroup; repeatable"},
    {"type",
     OPTION_TYPE,
     {"TYPE[,TYPE]...", ARGUMENT_LIST, dump_choice_type_word},
     "only these record types; repeatable"},
    {"matched",
     OPTION_MATCHED,
     {0},
     "in causal order, each receive with the sends it took bytes of"},
    {"follow",
     OPTION_FOLLOW,
     {0},
     "one trace, while it is being recorded: print records as they come"},
    {"json", OPTION_JSON, {0}, "print a JSON object per line"},
    {0},
};

static int command_dump(int argc, char **argv)
{
    struct dump_options options = {0};
    struct dump_choice *choice = &options.selection.choice;
    struct problem problem;
    int status = -1; /* continue */
    int option;

    while (status < 0 && (option = command_next_option(&dump_command, argc, argv)) != -1) {
        int result = 0;
        if (selection_has_option(option))
            status = selection_take("dump", option, &options.selection);
        else if (option == OPTION_USER)
            result = dump_choice_user(choice, optarg, &problem);
        else if (option == OPTION_CONTAINER)
            result = dump_choice_container(choice, optarg, &problem);
        else if (option == OPTION_TYPE)
            result = dump_choice_types(choice, optarg, &problem);
        else if (option == OPTION_JSON)
            options.json = true;
        else if (option == OPTION_MATCHED)
            options.matched = true;
        else if (option == OPTION_FOLLOW)
            options.follow = true;
        else
            status =
                option == OPTION_HELP ? command_help("dump") : command_usage_error("dump", NULL);
        if (result == -EINVAL)
            status = command_usage_error("dump", "%s", problem.text);
        else if (result < 0)
            status = command_error("%s", problem.text);
    }
    if (status < 0)
        status = selection_check("dump", &options.selection, true);
    if (status < 0)
        status = command_take_traces("dump", &argc, &argv, optind);
    if (status < 0 && options.follow && (options.matched || argc - optind > 1))
        status = command_usage_error("dump", "--follow reads one trace, without --matched");
    if (status < 0)
        status = dump_traces((const char *const *)argv + optind, (size_t)(argc - optind), &options);
    selection_done(&options.selection);
    return status;
}

const struct command dump_command = {
    .name = "dump",
    .description = "list the records of traces, one per line",
    .usage = "[OPTION]... TRACE...",
    .function = command_dump,
    .operand = {"TRACE", ARGUMENT_TRACE},
    .options = dump_options,
    .selection = selection_options,
};
