/* SPDX-License-Identifier: MIT */
/*
 * acquire.c: `dpm acquire`: meters running processes and all that they create, for as long as requested; then releases
 * them and reports.
 *
 *      choice --> pids --> the meter: acquire, until a pass finds no new process --> begin
 *      recording --> TRACE --> report
 */
#include "control/recording_report.h"
#include "recorder/process_choice.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct acquire_options {
    struct recording_command_options recorder;
    struct process_choice choice;
    uint64_t duration; /* ns; 0: until a signal */
    bool all;
};

/* ---- options ---- */

enum { NAME = RECORDING_OPTION_END, CGROUP, UNIT, ALL, DURATION };

static const struct command_option acquire_options[] = {
    {"pid",
     'p',
     {"PID", ARGUMENT_PID},
     "this process; -p, --name, --cgroup and --unit are repeatable"},
    {"name", NAME, {"NAME", ARGUMENT_PROCESS}, "processes with this name"},
    {"cgroup",
     CGROUP,
     {"PATH", ARGUMENT_CGROUP},
     "processes in this cgroup and below: /system.slice"},
    {"unit", UNIT, {"UNIT", ARGUMENT_UNIT}, "processes of this systemd unit: redis.service"},
    {"all", ALL, {0}, "all processes of the machine except dpm"},
    {"duration", DURATION, {"TIME"}, "stop after TIME: 500ms, 10s, 5m, 1h"},
    {0},
};

/* Handles one option. Returns as recording_option does. */
static int take_option(int option, struct acquire_options *options)
{
    struct problem problem;
    int result = 0;

    switch (option) {
    case 'p':
        result = process_choice_pid(&options->choice, optarg, &problem);
        break;
    case NAME:
        result = process_choice_name(&options->choice, optarg, &problem);
        break;
    case CGROUP:
        result = process_choice_cgroup(&options->choice, optarg, &problem);
        break;
    case UNIT:
        result = process_choice_unit(&options->choice, optarg, &problem);
        break;
    case ALL:
        options->all = true;
        break;
    case DURATION:
        if (parse_duration(optarg, &options->duration) < 0 || options->duration == 0)
            return command_usage_error(
                "acquire", "--duration '%s': give a time, e.g. 500ms, 10s or 5m", optarg);
        break;
    default:
        return recording_option("acquire", option, &options->recorder);
    }
    if (result == -EINVAL)
        return command_usage_error("acquire", "%s", problem.text);
    return result < 0 ? command_error("%s", problem.text) : -1;
}

static bool chosen(const struct acquire_options *options)
{
    const struct process_choice *choice = &options->choice;

    return options->all || choice->pid_count + choice->word_count > 0;
}

static int parse_options(int argc, char **argv, struct acquire_options *options)
{
    int option, result = -1;

    recording_options_init(&options->recorder);
    /* the hook on pipes would slow down every system call on the machine */
    options->recorder.kinds = "all,-pipe,-mq";
    while (result < 0 && (option = command_next_option(&acquire_command, argc, argv)) != -1)
        result = take_option(option, options);
    for (; result < 0 && optind < argc; optind++) {
        optarg = argv[optind];
        result = take_option('p', options);
    }
    if (result >= 0)
        return result;
    if (!chosen(options))
        return command_usage_error("acquire",
                                   "name processes: a pid, --name, --cgroup, --unit or --all");
    return recording_options_done("acquire", &options->recorder);
}

/* ---- acquiring ---- */

struct acquiring {
    struct meter_interface *meter;
    const struct process_choice *choice;
    struct problem *problem;
    int marked;       /* in this pass */
    uint32_t refused; /* processes that the user may not meter, in this pass */
};

static int acquire_process(pid_t pid, void *context)
{
    struct acquiring *acquiring = context;
    int result = acquiring->meter->acquire(acquiring->meter, pid, acquiring->problem);

    if (result > 0)
        acquiring->marked += result;
    acquiring->refused += acquiring->meter->refused;
    /* chosen by name or group, another user's process is left, and counted */
    bool left = acquiring->meter->refused > 0 && !process_choice_has_pid(acquiring->choice, pid);
    return left && result == -EPERM ? 0 : result;
}

/* Each pass finds the processes that were created during the one before. The limit is for a process that forks faster
 * than the passes. */
#define MOST_PASSES 50

static int acquire_chosen(struct acquire_options *options, struct meter_interface *meter,
                          uint32_t *ret_refused, struct problem *problem)
{
    struct acquiring acquiring = {.meter = meter, .choice = &options->choice, .problem = problem};
    int result = 0;

    for (int pass = 0; pass < MOST_PASSES && result >= 0; pass++) {
        acquiring.marked = 0;
        acquiring.refused = 0;
        if (options->all)
            result = acquire_process(0, &acquiring);
        else
            result = process_choice_find(&options->choice, acquire_process, &acquiring, problem);
        if (acquiring.marked == 0)
            break;
    }
    *ret_refused = acquiring.refused;
    return result < 0 ? result : 0;
}

static int cannot_meter_any(uint32_t refused, struct problem *problem)
{
    if (refused > 0)
        return problem_set(
            problem, -EPERM,
            "cannot meter any of the chosen processes: they belong to other users, or "
            "have more rights than you; run dpm as root, e.g. with sudo");
    return problem_set(problem, -ESRCH,
                       "cannot meter any of the chosen processes: they have ended or are kernel "
                       "threads");
}

static int acquire(struct acquire_options *options, struct meter_interface *meter,
                   struct meter_begun *ret_begun, struct problem *problem)
{
    uint32_t refused;
    int result = acquire_chosen(options, meter, &refused, problem);

    if (result < 0)
        return result;
    bool misses = !options->all && process_choice_misses(&options->choice, problem);
    if (meter->live(meter) == 0)
        return misses ? -ESRCH : cannot_meter_any(refused, problem);
    if (misses)
        command_say("note: %s", problem->text);
    if (refused > 0)
        command_say("note: %u process%s of other users, or with more rights than you, %s not "
                    "metered; run dpm as root to meter %s",
                    refused, refused == 1 ? "" : "es", refused == 1 ? "is" : "are",
                    refused == 1 ? "it" : "them");
    return meter->begin(meter, ret_begun, problem);
}

static void tell_begin(const struct recording_command *command, const struct meter_begun *begun)
{
    /* scripts wait for this line on standard error, even if the report goes to a file */
    command_say("metering %zu process%s", begun->processes, begun->processes == 1 ? "" : "es");
    if (begun->unsettled > 0)
        command_say_to(
            command->messages,
            "%u UNIX socket directions were too busy to align; their offsets may be wrong",
            begun->unsettled);
    fflush(command->messages);
}

/* ---- until it ends ---- */

static bool told_to_end(const struct recording_command *command)
{
    struct signalfd_siginfo info;

    return read(command->signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD;
}

/* Records until a signal, the duration, or the end of the last process; or until the recording ends itself. */
static void record(const struct acquire_options *options, struct recording_command *command)
{
    struct pollfd file = {.fd = command->signals, .events = POLLIN};
    const struct meter_interface *meter = command->recording.meter;
    uint64_t began = clock_now(CLOCK_MONOTONIC);

    while (command->recording.active && meter->live(meter) > 0) {
        if (poll(&file, 1, RECORDING_INTERVAL) > 0 && told_to_end(command))
            return;
        recording_command_step(command);
        if (options->duration != 0 && clock_now(CLOCK_MONOTONIC) - began >= options->duration)
            return;
    }
}

static const char *first_word(const struct process_choice *choice, enum chosen_by by)
{
    for (size_t i = 0; i < choice->word_count; i++)
        if (choice->words[i].by == by)
            return choice->words[i].text;
    return NULL;
}

/* The default trace is named after the choice of processes. */
static const char *name_of(const struct acquire_options *options)
{
    const char *name = first_word(&options->choice, CHOSEN_BY_NAME);
    const char *unit = first_word(&options->choice, CHOSEN_BY_UNIT);

    return name != NULL ? name : unit != NULL ? unit : options->all ? "all" : "acquired";
}

static int record_acquired(struct acquire_options *options, struct recording_command *command)
{
    pid_t pid = options->choice.pid_count > 0 ? options->choice.pids[0] : getpid();
    struct problem problem;
    struct meter_begun begun;
    int result = recording_command_open(command, name_of(options), pid, &problem);

    if (result >= 0)
        result = acquire(options, command->recording.meter, &begun, &problem);
    if (result < 0) {
        recording_discard(&command->recording);
        return command_error("%s", problem.text);
    }
    recording_command_begin(command);
    recording_command_catch_up(command);
    tell_begin(command, &begun);
    record(options, command);
    int status = command->recording.active ? EXIT_SUCCESS : EXIT_FAILURE;
    if (recording_command_end(command, NULL) < 0)
        status = EXIT_FAILURE;
    if (recording_report(command, &problem) < 0)
        status = command_error("%s", problem.text);
    return status;
}

static int command_acquire(int argc, char **argv)
{
    struct acquire_options options = {0};
    struct recording_command command;
    sigset_t old_mask;
    int result = parse_options(argc, argv, &options);

    if (result < 0 &&
        recording_command_init(&command, &options.recorder, "the processes run on", &old_mask) < 0)
        result = EXIT_FAILURE;
    if (result < 0) {
        /* if the reader of our messages goes away, the recording continues */
        signal(SIGPIPE, SIG_IGN);
        result = record_acquired(&options, &command);
        recording_command_close(&command);
    }
    process_choice_done(&options.choice);
    return result;
}

const struct command acquire_command = {
    .name = "acquire",
    .description = "record running processes, and report",
    .usage = "[OPTION]... [PID]...",
    .function = command_acquire,
    .operand = {"PID", ARGUMENT_PID},
    .options = acquire_options,
    .shared_options = recording_options,
};
