/* SPDX-License-Identifier: MIT */
/*
 * acquire.c: `dpm acquire`: meters processes that run already, and all that they create from then
 * on, for as long as asked; then lets go of them and reports.
 *
 *      choice --> pids --> meter_acquire, until nobody new is found --> meter_begin
 *      recording --> TRACE --> report
 */
#include "control/process_choice.h"
#include "control/recording.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct acquire_options {
    struct recording_options recording;
    struct process_choice choice;
    uint64_t duration; /* ns, 0 = until told to end */
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

/* An option of ours. Returns as recording_option does. */
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
        return recording_option("acquire", option, &options->recording);
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

    recording_options_init(&options->recording);
    /* every system call of the machine pays for the hook on pipes */
    options->recording.kinds = "all,-pipe";
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
    return recording_options_done("acquire", &options->recording);
}

/* ---- acquiring ---- */

struct acquiring {
    struct meter *meter;
    struct problem *problem;
    int marked; /* in this pass */
};

static int acquire_process(pid_t pid, void *context)
{
    struct acquiring *acquiring = context;
    int result = meter_acquire(acquiring->meter, pid, acquiring->problem);

    if (result > 0)
        acquiring->marked += result;
    return result;
}

/* Processes that came up while others were marked are found by the next pass. One that creates
 * processes faster than we look is not waited for for ever. */
#define MOST_PASSES 50

static int acquire_chosen(struct acquire_options *options, struct meter *meter,
                          struct problem *problem)
{
    struct acquiring acquiring = {.meter = meter, .problem = problem};
    int result = 0;

    for (int pass = 0; pass < MOST_PASSES && result >= 0; pass++) {
        acquiring.marked = 0;
        if (options->all)
            result = acquire_process(0, &acquiring);
        else
            result = process_choice_find(&options->choice, acquire_process, &acquiring, problem);
        if (acquiring.marked == 0)
            break;
    }
    return result < 0 ? result : 0;
}

static int acquire(struct acquire_options *options, struct recording *recording,
                   size_t *ret_processes, struct problem *problem)
{
    int result = acquire_chosen(options, recording->metering.meter, problem);

    if (result < 0)
        return result;
    bool misses = !options->all && process_choice_misses(&options->choice, problem);
    if (meter_live(recording->metering.meter) == 0)
        return misses ? -ESRCH
                      : problem_set(problem, -ESRCH,
                                    "cannot meter any of the chosen processes: they have ended or "
                                    "are kernel threads");
    if (misses)
        command_say("note: %s", problem->text);
    return meter_begin(recording->metering.meter, ret_processes, problem);
}

static void tell_begin(struct recording *recording, size_t processes)
{
    /* whoever waits for it reads standard error, also if there is a report's file */
    command_say("metering %zu process%s", processes, processes == 1 ? "" : "es");
    uint32_t unsettled = meter_unsettled(recording->metering.meter);
    if (unsettled > 0)
        command_say_to(
            recording->messages,
            "%u UNIX socket directions were too busy to align; their offsets may be wrong",
            unsettled);
    fflush(recording->messages);
}

/* ---- until it ends ---- */

static bool told_to_end(const struct recording *recording)
{
    struct signalfd_siginfo info;

    return read(recording->signals, &info, sizeof(info)) == sizeof(info) &&
           info.ssi_signo != SIGCHLD;
}

/* Until a signal, the duration or the end of the last process; or the recording has ended itself. */
static void record(const struct acquire_options *options, struct recording *recording)
{
    struct pollfd file = {.fd = recording->signals, .events = POLLIN};
    uint64_t began = clock_now(CLOCK_MONOTONIC);

    while (recording->active && meter_live(recording->metering.meter) > 0) {
        if (poll(&file, 1, RECORDING_INTERVAL) > 0 && told_to_end(recording))
            return;
        recording_step(recording);
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

/* The default trace is named after what was asked for. */
static const char *name_of(const struct acquire_options *options)
{
    const char *name = first_word(&options->choice, CHOSEN_BY_NAME);
    const char *unit = first_word(&options->choice, CHOSEN_BY_UNIT);

    return name != NULL ? name : unit != NULL ? unit : options->all ? "all" : "acquired";
}

static int record_acquired(struct acquire_options *options, struct recording *recording)
{
    pid_t pid = options->choice.pid_count > 0 ? options->choice.pids[0] : getpid();
    struct problem problem;
    size_t processes;
    int result = recording_open(recording, name_of(options), pid, &problem);

    if (result >= 0)
        result = acquire(options, recording, &processes, &problem);
    if (result < 0) {
        recording_discard(recording);
        return command_error("%s", problem.text);
    }
    recording_begin(recording);
    recording_catch_up(recording);
    tell_begin(recording, processes);
    record(options, recording);
    int status = recording->active ? EXIT_SUCCESS : EXIT_FAILURE;
    if (recording_end(recording, NULL, &problem) < 0)
        status = command_error("%s", problem.text);
    if (recording_report(recording, &problem) < 0)
        status = command_error("%s", problem.text);
    return status;
}

static int command_acquire(int argc, char **argv)
{
    struct acquire_options options = {0};
    struct recording recording = {.subject = "the processes run on"};
    sigset_t old_mask;
    int result = parse_options(argc, argv, &options);

    if (result < 0 && recording_init(&recording, &options.recording, &old_mask) < 0)
        result = EXIT_FAILURE;
    if (result < 0) {
        /* A reader of our messages that goes away does not end the recording. */
        signal(SIGPIPE, SIG_IGN);
        result = record_acquired(&options, &recording);
        recording_close(&recording);
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
