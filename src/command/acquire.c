/* SPDX-License-Identifier: MIT */
/*
 * acquire.c: `dpm acquire`: meters running processes and all that they create, for as long as requested; then releases
 * them and reports. A master is taken with its workers.
 *
 *      choice --> pids --> the meter: acquire, until a pass finds no new process --> begin
 *      recording --> TRACE --> report
 */
#include "command/hosts/hosts.h"
#include "command/recording/acquired_recording.h"
#include "command/recording/recording_report.h"
#include "recorder/process_choice.h"
#include "show/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct acquire_options {
    struct recording_command_options recorder;
    struct hosts_options hosts;
    struct process_choice choice;
    const char **pids; /* as the user wrote them */
    size_t pid_count, pid_capacity;
    uint64_t duration; /* ns; 0: until a signal */
    bool all;
    bool only, descendants;
};

/* ---- options ---- */

enum { NAME = RECORDING_OPTION_END, CGROUP, UNIT, ALL, ONLY, DESCENDANTS, DURATION, ATTACH };

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
    {"only",
     ONLY,
     {0},
     "without the descendants of a master: a process with a child of\nthe same program, as nginx"},
    {"descendants", DESCENDANTS, {0}, "also the descendants of processes that are no masters"},
    {"duration", DURATION, {"TIME"}, "stop after TIME: 500ms, 10s, 5m, 1h"},
    {"attach", ATTACH, {"SESSION"}, "go on with a session of --host whose dpm was killed"},
    {0},
};

/* Whose pids they are is known after the last option. */
static int keep_pid(struct acquire_options *options, const char *pid)
{
    if (array_reserve(&options->pids, &options->pid_capacity, options->pid_count + 1,
                      sizeof(*options->pids)) < 0)
        return command_error("out of memory");
    options->pids[options->pid_count++] = pid;
    return -1;
}

/* Of this machine, if no other is named. */
static int take_pids(struct acquire_options *options)
{
    struct problem problem;

    for (size_t i = 0; options->hosts.count == 0 && i < options->pid_count; i++) {
        int result = process_choice_pid(&options->choice, options->pids[i], &problem);
        if (result == -EINVAL)
            return command_usage_error("acquire", "%s", problem.text);
        if (result < 0)
            return command_error("%s", problem.text);
    }
    if (options->hosts.count > 1 && options->pid_count > 0)
        return command_usage_error("acquire",
                                   "a pid belongs to one machine: give one --host, or --name");
    return -1;
}

/* Handles one option. Returns as recording_option does. */
static int take_option(int option, struct acquire_options *options)
{
    struct problem problem;
    int result = 0;

    switch (option) {
    case 'p':
        return keep_pid(options, optarg);
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
    case ONLY:
        options->only = true;
        break;
    case DESCENDANTS:
        options->descendants = true;
        break;
    case ATTACH:
        options->hosts.attach = optarg;
        break;
    case DURATION:
        if (parse_duration(optarg, &options->duration) < 0 || options->duration == 0)
            return command_usage_error(
                "acquire", "--duration '%s': give a time, e.g. 500ms, 10s or 5m", optarg);
        break;
    default:
        return hosts_has_option(option) ? hosts_take_option("acquire", option, &options->hosts)
                                        : recording_option("acquire", option, &options->recorder);
    }
    if (result == -EINVAL)
        return command_usage_error("acquire", "%s", problem.text);
    return result < 0 ? command_error("%s", problem.text) : -1;
}

static bool chosen(const struct acquire_options *options)
{
    const struct process_choice *choice = &options->choice;

    return options->all || options->pid_count + choice->word_count > 0;
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
    if (chosen(options) && options->hosts.attach != NULL)
        return command_usage_error("acquire", "--attach: the processes are chosen already");
    if (!chosen(options) && options->hosts.attach == NULL)
        return command_usage_error("acquire",
                                   "name processes: a pid, --name, --cgroup, --unit or --all");
    if (options->only && options->descendants)
        return command_usage_error("acquire", "--only and --descendants: give only one");
    result = take_pids(options);
    if (result < 0)
        result = recording_options_done("acquire", &options->recorder);
    return result >= 0
               ? result
               : hosts_options_check("acquire", &options->hosts, &options->recorder, false, false);
}

/* ---- the beginning ---- */

static enum process_below below(const struct acquire_options *options)
{
    return options->only ? BELOW_NONE : options->descendants ? BELOW_ALL : BELOW_MASTERS;
}

static void tell_begin(const struct recording_command *command, const struct acquiring *acquiring,
                       struct meter_begun *begun)
{
    char taken[ACQUIRED_TEXT_SIZE], since[SINCE_TEXT_SIZE], directions[COUNTED_SIZE];

    acquiring_text(acquiring, taken);
    acquiring_since(begun, since);
    /* scripts wait for this line on standard error, even if the report goes to a file */
    command_say("metering %zu process%s since %s%s%s", begun->processes,
                begun->processes == 1 ? "" : "es", since, taken[0] == '\0' ? "" : ": ", taken);
    show_counted(begun->unsettled, "UNIX socket direction", directions);
    if (begun->unsettled > 0)
        command_say_to(command->messages, "%s %s too busy to align; offsets there may be wrong",
                       directions, begun->unsettled == 1 ? "was" : "were");
    fflush(command->messages);
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
    struct acquiring acquiring = {
        .choice = &options->choice, .all = options->all, .below = below(options)};
    int result = acquired_recording_begin(command, &acquiring, name_of(options), pid, &begun);

    if (result != 0)
        return result;
    tell_begin(command, &acquiring, &begun);
    acquired_recording_run(command, &acquiring,
                           options->duration == 0 ? UINT64_MAX : begun.time + options->duration,
                           true);
    acquiring_done(&acquiring);
    int status = command->recording.active ? EXIT_SUCCESS : EXIT_FAILURE;
    if (recording_command_end(command, false, false) < 0)
        status = EXIT_FAILURE;
    if (recording_report(command, &problem) < 0)
        status = command_error("%s", problem.text);
    return status;
}

static int acquire_here(struct acquire_options *options)
{
    struct recording_command command;
    sigset_t old_mask;

    if (recording_command_init(&command, &options->recorder, "what was metered runs on",
                               &old_mask) < 0)
        return EXIT_FAILURE;
    /* if the reader of our messages goes away, the recording continues */
    signal(SIGPIPE, SIG_IGN);
    int result = record_acquired(options, &command);
    recording_command_close(&command);
    return result;
}

static int acquire_there(const struct acquire_options *options)
{
    const struct hosts_acquire acquire = {
        .choice = &options->choice,
        .pids = options->pids,
        .pid_count = options->pid_count,
        .all = options->all,
        .below = below(options),
        .duration = options->duration,
        .name = name_of(options),
    };

    return hosts_acquire(&options->hosts, &options->recorder, &acquire);
}

static int attach_there(struct acquire_options *options)
{
    struct hosts_acquire acquire = {
        .choice = &options->choice, .duration = options->duration, .name = options->hosts.attach};
    int result = hosts_kept_load("acquire", &options->hosts, &options->recorder, &acquire.until);

    return result >= 0 ? result : hosts_acquire(&options->hosts, &options->recorder, &acquire);
}

static int command_acquire(int argc, char **argv)
{
    struct acquire_options options = {0};
    int result = parse_options(argc, argv, &options);

    if (result < 0)
        result = options.hosts.attach != NULL ? attach_there(&options)
                 : options.hosts.count > 0    ? acquire_there(&options)
                                              : acquire_here(&options);
    process_choice_done(&options.choice);
    hosts_options_done(&options.hosts);
    free(options.pids);
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
    .more_options = hosts_option_rows,
};
