/* SPDX-License-Identifier: MIT */
/*
 * run.c: `dpm run`: starts a command suspended, meters it and all its descendants, records until it
 * ends, and reports. Everything in one process:
 *
 *      launch --> command (suspended) ... released, runs
 *                    | kernel meter
 *      meter source --> trace writer --> TRACE --> report
 *
 * One loop serves three descriptors: the signals, the command's end, and a timer that empties the
 * rings (which never wake anybody).
 */
#include "control/command.h"

#include "launch/launch.h"
#include "meter/meter.h"
#include "show/show.h"
#include "symbols/symbols.h"
#include "trace/trace.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_MAX_SIZE (4ULL << 30)
#define DRAIN_INTERVAL   10            /* ms */
#define FLUSH_INTERVAL   1000000000ULL /* ns */

struct run_options {
    const char *trace; /* NULL = made from the command's name and pid */
    const char *report;
    const char *user;
    char **command;
    uint64_t max_size;
    struct meter_options meter;
    bool wait; /* for all descendants */
};

struct recording {
    const struct run_options *options;
    struct launched command;
    struct meter *meter;
    struct trace_writer *writer;
    struct symbols *symbols; /* NULL: the flag pc is not set */
    char path[PATH_MAX];
    FILE *messages; /* standard error, or the report's file */
    int signals;
    unsigned interrupts; /* how often the user asked to end */
    int last_signal;
    uint64_t last_flush;
    bool ended; /* the command has ended */
    int status; /* as wait(2) gives it */
    bool recording;
    enum end_reason reason;
};

/* ---- options ---- */

static int parse_options(int argc, char **argv, struct run_options *options)
{
    enum { MAX_SIZE = 256, RING, USER, FLAGS, REPORT, WAIT };
    static const struct option longs[] = {
        {"output", required_argument, NULL, 'o'},
        {"flags", required_argument, NULL, FLAGS},
        {"user", required_argument, NULL, USER},
        {"report", required_argument, NULL, REPORT},
        {"ring", required_argument, NULL, RING},
        {"max-size", required_argument, NULL, MAX_SIZE},
        {"wait", no_argument, NULL, WAIT},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct problem problem;
    const char *flags = "all";
    uint64_t size;
    int option;

    while ((option = getopt_long(argc, argv, "+o:", longs, NULL)) != -1) {
        switch (option) {
        case 'o':
            options->trace = optarg;
            break;
        case FLAGS:
            flags = optarg;
            break;
        case USER:
            options->user = optarg;
            break;
        case REPORT:
            options->report = optarg;
            break;
        case WAIT:
            options->wait = true;
            break;
        case MAX_SIZE:
            if (parse_size(optarg, &options->max_size) < 0)
                return command_usage_error("run", "'%s' is no size, e.g. 500M or 4G", optarg);
            break;
        case RING:
            if (parse_size(optarg, &size) < 0 || size < 4096 || size > 1u << 30)
                return command_usage_error("run", "'%s' is no ring size: from 4K to 1G", optarg);
            options->meter.ring_size = (uint32_t)size;
            break;
        case 'h':
            return command_help("run");
        default:
            return command_usage_error("run", NULL);
        }
    }
    if (optind == argc)
        return command_usage_error("run", "name the command to run");
    if (meter_flags_parse(flags, &options->meter.flags, &problem) < 0)
        return command_usage_error("run", "%s", problem.text);
    if ((options->meter.flags & METER_EVENT_FLAGS) == 0)
        return command_usage_error("run", "no meter flag is left: nothing would be recorded");
    options->command = argv + optind;
    return -1;
}

/* ---- recording ---- */

/* Takes the meter out of the kernel; the command runs on unmetered. */
static void stop_recording(struct recording *recording, enum end_reason reason)
{
    recording->recording = false;
    recording->reason = reason;
    meter_detach(recording->meter);
}

/* A write error or the largest size ends the recording, never the command. */
static void give_up(struct recording *recording, int error, const struct problem *problem)
{
    enum end_reason reason = error == -EFBIG ? END_SIZE : END_DISK;

    stop_recording(recording, reason);
    fprintf(recording->messages, "dpm: recording stopped: %s; the command runs on\n",
            problem->text);
}

/* Moves what the meter has into the trace. Returns an enum source_result or a negative errno. */
static int drain(struct recording *recording, struct problem *problem)
{
    struct source *source = meter_source(recording->meter);
    struct event event;
    uint64_t complete;
    int result;

    while ((result = source->next(source, &event, &complete, problem)) == SOURCE_RECORD) {
        result = trace_writer_append(recording->writer, event.header, problem);
        if (result < 0)
            return result;
        symbols_note(recording->symbols, event.header);
    }
    for (unsigned ring = 0; ring < RING_COUNT; ring++)
        trace_writer_lost(recording->writer, ring, meter_lost(recording->meter, ring));
    return result;
}

/* Names of the program counters follow the last record. */
static int append_names(struct recording *recording, struct problem *problem)
{
    const struct record_header *record;
    int result = 0;

    while (result >= 0 && (record = symbols_next(recording->symbols)) != NULL)
        result = trace_writer_append(recording->writer, record, problem);
    return result;
}

static int flush(struct recording *recording, struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    int result;

    if (now - recording->last_flush < FLUSH_INTERVAL)
        return 0;
    recording->last_flush = now;
    result = meter_sweep(recording->meter, problem);
    return result < 0 ? result : trace_writer_flush(recording->writer, problem);
}

/* The first signal is the program's (a terminal has sent it one of its own), the second ours. */
static void take_signal(struct recording *recording)
{
    struct signalfd_siginfo info;

    if (read(recording->signals, &info, sizeof(info)) != sizeof(info))
        return;
    if (info.ssi_signo == SIGCHLD)
        return;
    recording->interrupts++;
    recording->last_signal = (int)info.ssi_signo;
    if (recording->interrupts == 1 && info.ssi_code != SI_KERNEL && !recording->ended)
        kill(recording->command.pid, (int)info.ssi_signo);
}

static void check_command(struct recording *recording)
{
    if (recording->ended)
        return;
    if (waitpid(recording->command.pid, &recording->status, WNOHANG) == recording->command.pid)
        recording->ended = true;
}

static bool finished(const struct recording *recording)
{
    if (recording->interrupts >= 2)
        return true;
    if (!recording->ended)
        return false;
    return !recording->options->wait || !recording->recording || meter_live(recording->meter) == 0;
}

/* Runs until the command (with --wait: every descendant) has ended or the user has had enough. */
static void record(struct recording *recording)
{
    struct pollfd files[] = {
        {.fd = recording->signals, .events = POLLIN},
        {.fd = recording->command.pid_fd, .events = POLLIN},
    };
    struct problem problem;

    while (!finished(recording)) {
        int timeout = recording->recording ? DRAIN_INTERVAL : -1;
        /* a process that has ended stays readable: do not spin on it */
        int ready = poll(files, recording->ended ? 1 : 2, timeout);
        if (ready > 0 && (files[0].revents & POLLIN) != 0)
            take_signal(recording);
        check_command(recording);
        if (!recording->recording)
            continue;
        int result = drain(recording, &problem);
        if (result >= 0)
            result = flush(recording, &problem);
        if (result < 0)
            give_up(recording, result, &problem);
    }
}

/* ---- before and after ---- */

static int open_signals(sigset_t *ret_old_mask)
{
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGQUIT);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, ret_old_mask);
    return signalfd(-1, &mask, SFD_CLOEXEC);
}

/* The trace's path: as asked for, or ./dpm-NAME-PID.trace. */
static int name_trace(struct recording *recording, struct problem *problem)
{
    const struct run_options *options = recording->options;
    const char *slash = strrchr(options->command[0], '/');
    const char *name = slash == NULL ? options->command[0] : slash + 1;
    int length = options->trace != NULL
                     ? snprintf(recording->path, sizeof(recording->path), "%s", options->trace)
                     : snprintf(recording->path, sizeof(recording->path), "./dpm-%.64s-%d.trace",
                                name, recording->command.pid);

    if ((size_t)length >= sizeof(recording->path))
        return problem_set(problem, -ENAMETOOLONG, "the name of the trace is too long");
    return 0;
}

static void tell_missing(const char *sentence, void *context)
{
    (void)context;
    command_error("%s", sentence);
}

static int begin(struct recording *recording, struct problem *problem)
{
    const struct run_options *options = recording->options;
    struct machine_record machine;
    int result = name_trace(recording, problem);

    if (result < 0)
        return result;
    if (meter_missing(options->meter.flags, tell_missing, NULL) > 0)
        return problem_set(problem, -ENOTSUP, "the kernel meter does not run here: see above");
    result = meter_open(&options->meter, &recording->meter, problem);
    if (result < 0)
        return result;
    if ((options->meter.flags & METER_FLAG_PC) != 0 && symbols_new(&recording->symbols) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    machine_describe(&machine);
    machine.meter_flags = options->meter.flags;
    result =
        trace_writer_new(recording->path, &machine, options->max_size, &recording->writer, problem);
    if (result < 0)
        return result;
    result = meter_mark(recording->meter, recording->command.pid, true, problem);
    return result < 0 ? result : 0;
}

static void name_descendants(struct recording *recording)
{
    struct meter_process *list;
    struct problem problem;
    size_t count;

    if (meter_live(recording->meter) == 0 ||
        meter_processes(recording->meter, &list, &count, &problem) < 0)
        return;
    if (count > 0)
        fprintf(recording->messages,
                "dpm: %zu metered process%s still running, no longer metered:", count,
                count == 1 ? " is" : "es are");
    for (size_t i = 0; i < count && i < 10; i++) {
        char name[STREAM_NAME_SIZE + 1];
        show_text(list[i].name, sizeof(list[i].name), name);
        fprintf(recording->messages, " %s[%d]", name, list[i].pid);
    }
    if (count > 0)
        fprintf(recording->messages, "%s (--wait stays for them)\n", count > 10 ? " ..." : "");
    free(list);
}

/* Writes the rest of the records and END. */
static int end(struct recording *recording, struct problem *problem)
{
    int result = 0, closed;

    if (recording->recording) {
        name_descendants(recording);
        result = meter_sweep(recording->meter, problem);
        stop_recording(recording, END_COMPLETE);
        while (result >= 0 && (result = drain(recording, problem)) == SOURCE_NONE_YET)
            usleep(1000);
        if (result >= 0)
            result = append_names(recording, problem);
        if (result < 0)
            give_up(recording, result, problem);
    }
    for (unsigned ring = 0; ring < RING_COUNT; ring++)
        trace_writer_lost(recording->writer, ring, meter_lost(recording->meter, ring));
    closed = trace_writer_close(recording->writer, recording->reason, problem);
    recording->writer = NULL;
    return closed;
}

/* What became of the recording, in figures of the trace itself. */
static void tell_result(const struct recording *recording, const struct source_state *state)
{
    uint64_t lost_paths = meter_lost_paths(recording->meter);
    uint64_t noted = 0, unnamed = symbols_unnamed(recording->symbols, &noted);
    uint64_t lost_in_rings =
        meter_lost(recording->meter, RING_CONTROL) + meter_lost(recording->meter, RING_DATA);

    fprintf(recording->messages, "dpm: %" PRIu64 " records, %" PRIu64 " lost, in %s\n",
            state->records, state->lost, recording->path);
    if (lost_in_rings > 0)
        fprintf(recording->messages, "dpm: a larger ring loses less, e.g. --ring 64M\n");
    if (unnamed > 0)
        fprintf(recording->messages,
                "dpm: %" PRIu64 " of %" PRIu64
                " program counters have no name: the program's file had "
                "gone or cannot be read\n",
                unnamed, noted);
    if (lost_paths > 0)
        fprintf(recording->messages,
                "dpm: %" PRIu64 " uses of paths are not recorded: no memory to remember them\n",
                lost_paths);
}

static int report(struct recording *recording, struct problem *problem)
{
    const char *paths[] = {recording->path};
    struct show_options options = {0};
    struct source *source;
    int result = trace_open(paths, 1, &source, problem);

    if (result < 0)
        return result;
    result = show_report(source, recording->messages, &options, problem);
    if (result >= 0)
        tell_result(recording, &source->states[0]);
    trace_close(source);
    if (result >= 0 && (fflush(recording->messages) == EOF || ferror(recording->messages)))
        return problem_set(problem, -EIO, "the report could not be written: %s", strerror(errno));
    return result;
}

static int exit_status(const struct recording *recording)
{
    if (!recording->ended)
        return 128 + recording->last_signal;
    return WIFEXITED(recording->status) ? WEXITSTATUS(recording->status)
                                        : 128 + WTERMSIG(recording->status);
}

/* The whole recording, from a suspended command on. Returns the exit status. */
static int record_command(struct recording *recording)
{
    const char *name = recording->options->command[0];
    struct problem problem;
    int result = begin(recording, &problem);

    if (result < 0) {
        launch_cancel(&recording->command);
        trace_writer_discard(recording->writer, recording->path);
        return command_error("%s", problem.text);
    }
    recording->recording = true;
    recording->reason = END_COMPLETE;
    recording->last_flush = clock_now(CLOCK_MONOTONIC);
    result = launch_release(&recording->command, &problem);
    if (result < 0) {
        trace_writer_discard(recording->writer, recording->path);
        command_error("%s: %s", name, problem.text);
        return result == -ENOENT ? 127 : 126;
    }
    record(recording);
    if (end(recording, &problem) < 0)
        command_error("%s", problem.text);
    if (report(recording, &problem) < 0)
        command_error("%s", problem.text);
    close(recording->command.pid_fd);
    return exit_status(recording);
}

int command_run(int argc, char **argv)
{
    struct run_options options = {.max_size = DEFAULT_MAX_SIZE};
    struct recording recording = {.options = &options, .messages = stderr};
    struct launch_options launch = {0};
    struct problem problem;
    sigset_t old_mask;
    int result = parse_options(argc, argv, &options);

    if (result >= 0)
        return result;
    if (options.report != NULL && (recording.messages = fopen(options.report, "we")) == NULL)
        return command_error("cannot write the report to %s: %s", options.report, strerror(errno));
    recording.signals = open_signals(&old_mask);
    if (recording.signals < 0)
        return command_error("cannot watch signals: %s", strerror(errno));
    launch = (struct launch_options){options.command, options.user, &old_mask};
    if (launch_suspended(&launch, &recording.command, &problem) < 0)
        return command_error("%s: %s", options.command[0], problem.text);
    /* A reader of our messages that goes away must end neither the recording nor the status. */
    signal(SIGPIPE, SIG_IGN);
    result = record_command(&recording);
    meter_close(recording.meter);
    symbols_free(recording.symbols);
    close(recording.signals);
    if (recording.messages != stderr)
        fclose(recording.messages);
    return result;
}
