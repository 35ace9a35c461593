/* SPDX-License-Identifier: MIT */
/*
 * run.c: `dpm run`: starts a command suspended, meters it and all its descendants, records until it ends, and reports.
 * Everything runs in one process:
 *
 *      launch --> command (suspended) ... released, runs
 *                    | meter: the kernel's, or ptrace
 *      recording --> TRACE --> report
 *
 * One loop waits for the signals, the command's end (or the ptrace meter's events), and what is due in the recording.
 */
#include "command/hosts/hosts.h"
#include "command/recording/recording_report.h"

#include "launch/launch.h"
#include "ptracemeter/ptracemeter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct run_options {
    struct recording_command_options recorder;
    struct hosts_options hosts;
    const char *user;
    char **command; /* NULL: each host has its own */
    bool wait;      /* for all descendants */
};

struct run {
    const struct run_options *options;
    struct recording_command recorder;
    struct launched command;
    unsigned interrupts; /* how often the user asked dpm to end */
    int last_signal;
    bool ended; /* the command has ended */
    int status; /* as from wait(2) */
};

#define DESCENDANTS_INTERVAL 100000000ULL /* ns */

static struct meter_interface *meter_of_run(const struct run *run)
{
    return run->recorder.recording.meter;
}

enum { USER = RECORDING_OPTION_END, WAIT, METER, SURVIVE };

static const struct command_option run_options[] = {
    {"user", USER, {"NAME", ARGUMENT_USER}, "run COMMAND as this user"},
    {"wait", WAIT, {0}, "record until the last descendant has ended"},
    {"meter",
     METER,
     {"METER", ARGUMENT_WORD, meter_wish_word},
     "kernel, ptrace (no privilege, slower), or auto: what works (auto)"},
    {"survive", SURVIVE, {0}, "with ptrace: COMMAND outlives dpm; slower"},
    {0},
};

static int parse_options(int argc, char **argv, struct run_options *options)
{
    int option, result = -1;
    size_t meter;

    recording_options_init(&options->recorder);
    options->recorder.recording.meter.wish = WISH_AUTO;
    while (result < 0 && (option = command_next_option(&run_command, argc, argv)) != -1) {
        if (option == USER)
            options->user = optarg;
        else if (option == WAIT)
            options->wait = true;
        else if (option == SURVIVE)
            options->recorder.recording.meter.survive = true;
        else if (option == METER &&
                 (result = option_word("run", "meter", meter_wish_word, &meter)) < 0)
            options->recorder.recording.meter.wish = (enum meter_wish)meter;
        else if (option == METER)
            return result;
        else if (hosts_has_option(option))
            result = hosts_take_option("run", option, &options->hosts);
        else
            result = recording_option("run", option, &options->recorder);
    }
    if (result >= 0)
        return result;
    if (optind == argc && options->hosts.count == 0)
        return command_usage_error("run", "name the command to run");
    options->command = optind == argc ? NULL : argv + optind;
    result = recording_options_done("run", &options->recorder);
    return result >= 0 ? result
                       : hosts_options_check("run", &options->hosts, &options->recorder, true,
                                             options->command != NULL);
}

/* ---- until it ends ---- */

/* The first signal is for the command, the second for dpm. A terminal (SI_KERNEL) has sent the command its own copy. */
static void take_signal(struct run *run)
{
    struct signalfd_siginfo info;

    if (read(run->recorder.signals, &info, sizeof(info)) != sizeof(info))
        return;
    if (info.ssi_signo == SIGCHLD)
        return;
    run->interrupts++;
    run->last_signal = (int)info.ssi_signo;
    if (run->interrupts == 1 && info.ssi_code != SI_KERNEL && !run->ended)
        kill(run->command.pid, (int)info.ssi_signo);
}

static void check_ended(struct run *run)
{
    if (run->ended)
        return;
    struct meter_interface *meter = meter_of_run(run);
    run->ended = meter_command_ended(meter, run->command.pid, &run->status);
    if (run->ended)
        run->recorder.subject = "the command has ended";
}

static bool in_foreground(void)
{
    int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool is = terminal >= 0 && tcgetpgrp(terminal) == getpgrp();

    if (terminal >= 0)
        close(terminal);
    return is;
}

/* A shell takes the terminal back only if its job stops, and that job is dpm: stop together with the command. */
static void stop_with_command(struct run *run)
{
    struct meter_interface *meter = meter_of_run(run);

    if (!run->ended && meter_command_stopped(meter, run->command.pid) && in_foreground())
        raise(SIGSTOP);
}

static bool finished(const struct run *run)
{
    if (run->interrupts >= 2)
        return true;
    if (!run->ended)
        return false;
    const struct meter_interface *meter = meter_of_run(run);
    if (meter->holds_descendants)
        return meter->live(meter) == 0;
    return !run->options->wait || !run->recorder.recording.active || meter->live(meter) == 0;
}

/* Records until the command (with --wait: every descendant) has ended, or the second signal. */
static void record(struct run *run)
{
    int descriptor = meter_of_run(run)->descriptor;
    struct pollfd files[] = {
        {.fd = run->recorder.signals, .events = POLLIN},
        {.fd = descriptor >= 0 ? descriptor : run->command.pid_fd, .events = POLLIN},
    };

    while (!finished(run)) {
        uint64_t until = run->ended && !run->recorder.recording.active
                             ? clock_now(CLOCK_MONOTONIC) + DESCENDANTS_INTERVAL
                             : UINT64_MAX;
        /* the pidfd of an ended process stays readable: leave it out, or it would end each wait at once */
        recording_command_wait(&run->recorder, files, run->ended ? 1 : 2, until);
        if ((files[0].revents & POLLIN) != 0)
            take_signal(run);
        check_ended(run);
        stop_with_command(run);
        recording_command_step(&run->recorder);
    }
}

/* ---- everything together ---- */

static int begin(struct run *run, struct problem *problem)
{
    int result =
        recording_command_open(&run->recorder, run->options->command[0], run->command.pid, problem);

    if (result < 0)
        return result;
    struct meter_interface *meter = meter_of_run(run);
    result = meter->mark(meter, run->command.pid, problem);
    if (result < 0)
        meter_append_refused(problem, run->recorder.recording.kernel_refused);
    return result;
}

static int exit_status(const struct run *run)
{
    if (!run->ended)
        return 128 + run->last_signal;
    return WIFEXITED(run->status) ? WEXITSTATUS(run->status) : 128 + WTERMSIG(run->status);
}

/* The whole recording, from a suspended command on. Returns the exit status. */
static int record_command(struct run *run)
{
    const char *name = run->options->command[0];
    struct problem problem;

    if (begin(run, &problem) < 0) {
        launch_cancel(&run->command);
        recording_discard(&run->recorder.recording);
        return command_error("%s", problem.text);
    }
    recording_command_announce(&run->recorder, name);
    recording_command_begin(&run->recorder);
    int result = launch_release(&run->command, &problem);
    if (result < 0) {
        recording_discard(&run->recorder.recording);
        command_error("%s: %s", name, problem.text);
        return result == -ENOENT ? 127 : 126;
    }
    record(run);
    /* A user who ended the recording before the command has ended does not want it longer. */
    recording_command_end(&run->recorder, true, run->ended && !run->options->wait);
    if (recording_report(&run->recorder, &problem) < 0)
        command_error("%s", problem.text);
    close(run->command.pid_fd);
    return exit_status(run);
}

/* Prepares what must be ready before there is a process to meter. */
static int open_meter(struct run *run, struct problem *problem)
{
    const char *command = run->options->command[0];
    const char *refused = run->recorder.recording.kernel_refused;
    struct problem why;
    int result = recording_open_meter(&run->recorder.recording, problem);

    if (result < 0 || meter_of_run(run)->kind != METER_PTRACE ||
        ptracemeter_refuses(command, &why) == 0)
        return result;
    problem_set(problem, -ENOEXEC, "%.400s%s", why.text,
                refused[0] == '\0' ? "; use --meter kernel" : "");
    meter_append_refused(problem, refused);
    return -ENOEXEC;
}

static int run_there(const struct run_options *options)
{
    const struct hosts_run run = {
        .command = options->command, .user = options->user, .wait = options->wait};

    return hosts_run(&options->hosts, &options->recorder, &run);
}

static int run_here(const struct run_options *options)
{
    struct run run = {.options = options};
    struct problem problem;
    sigset_t old_mask;

    if (recording_command_init(&run.recorder, &options->recorder, "the command runs on",
                               &old_mask) < 0)
        return EXIT_FAILURE;
    if (open_meter(&run, &problem) < 0) {
        recording_command_close(&run.recorder);
        return command_error("%s", problem.text);
    }
    struct meter_interface *meter = meter_of_run(&run);
    struct launch_options launch = {
        .arguments = options->command,
        .user = options->user,
        .signal_mask = &old_mask,
        .prepare = meter->enter,
        .context = meter,
        .reaped_elsewhere = meter->kind == METER_PTRACE,
    };
    launch_ignore_stops();
    if (launch_suspended(&launch, &run.command, &problem) < 0) {
        recording_command_close(&run.recorder);
        return command_error("%s", problem.text);
    }
    /* if the reader of our messages goes away, the recording continues, and the exit status stays the command's */
    signal(SIGPIPE, SIG_IGN);
    int result = record_command(&run);
    recording_command_close(&run.recorder);
    return result;
}

static int command_run(int argc, char **argv)
{
    struct run_options options = {0};
    int result = parse_options(argc, argv, &options);

    if (result < 0)
        result = options.hosts.count > 0 ? run_there(&options) : run_here(&options);
    hosts_options_done(&options.hosts);
    return result;
}

const struct command run_command = {
    .name = "run",
    .description = "run a command, record what it and its descendants do, and report",
    .usage = "[OPTION]... [--] COMMAND [ARGUMENT]...",
    .function = command_run,
    .operand = {"COMMAND", ARGUMENT_COMMAND},
    .options = run_options,
    .shared_options = recording_options,
    .more_options = hosts_option_rows,
};
