/* SPDX-License-Identifier: MIT */
/*
 * hosts_run.c: `dpm run --host`: commands on several machines. See hosts.h.
 *
 *      connect, open recordings --> create all, suspended --> start them in the order given --> until all have ended
 *
 * Nothing is started unless everything could be created.
 */
#include "command/hosts/hosts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOST_STATUS 255 /* of a process whose host cannot be reached: ssh(1) has the same */
#define LABEL_SIZE  160
#define INPUT_SIZE  32768
#define AGAIN_AFTER 200000000ULL /* ns: the process has not read what it has */

/* What is run on a host. */
struct part {
    struct metered_host *host;
    char **command;
    char label[LABEL_SIZE];          /* before each line: "web1: "; "": its output goes through */
    struct conduct_process *process; /* its context; NULL: it was not created yet */
    struct conduct_answer signalled; /* to the signal that was passed to it; host NULL: none was */
};

/* Our standard input, which the process of the first part reads, a piece at a time. */
struct input {
    bool open;                    /* there may be more */
    bool waiting;                 /* for ... */
    struct conduct_answer answer; /* ... this */
    bool reached;                 /* its end, which is to be sent */
    int64_t given;                /* bytes that the process has taken */
    size_t size;                  /* read, and not taken by the process yet */
    uint64_t again;
    char bytes[INPUT_SIZE];
};

struct running {
    struct hosts *hosts;
    const struct hosts_run *wanted;
    struct part *list;
    size_t count;
    struct input input;
    bool abandoned; /* not everything could be started: the rest ends */
    int failed;     /* the status of the first that failed; 0: none did */
    int passed;     /* the signal that was passed to the processes; 0: none was */
};

/* ---- what happens ---- */

static void note_end(struct running *running, const struct conduct_process *process)
{
    if (running->failed == 0)
        running->failed = process->status;
}

static void tell_killed(struct running *running, const struct part *part, int signal)
{
    bool taken_back = running->abandoned && (signal == SIGTERM || signal == SIGKILL);
    char line[160];

    if (signal == running->passed || taken_back)
        return; /* as asked for */
    snprintf(line, sizeof(line), "%.80s was killed by signal %d (%s)", part->command[0], signal,
             strsignal(signal));
    hosts_say(running->hosts, part->host->remote, line);
}

static void write_output(struct running *running, const struct part *part,
                         const struct conduct_event *event)
{
    FILE *file = event->err ? stderr : stdout;

    progress_clear(&running->hosts->progress);
    fputs(part->label, file);
    fwrite(event->text, 1, event->length, file);
    if (part->label[0] != '\0')
        fputc('\n', file);
    fflush(file);
}

static void take_event(struct hosts *hosts, const struct conduct_event *event)
{
    struct running *running = hosts->context;
    const struct conduct_process *process = event->process;

    if (event->kind == CONDUCT_OUTPUT) {
        write_output(running, process->context, event);
    } else if (process->state == PROCESS_KILLED) {
        if (process->end.by_signal)
            tell_killed(running, process->context, process->end.number);
        note_end(running, process);
    }
}

static bool runs(const struct part *part)
{
    return part->process != NULL && part->process->begun && part->process->state != PROCESS_KILLED;
}

/* The first signal is for the processes, the second for dpm. */
static void pass_signal(struct hosts *hosts, int signal)
{
    struct running *running = hosts->context;

    if (conduct_interrupts(hosts->conduct) != 1)
        return;
    running->passed = signal;
    for (size_t i = 0; i < running->count; i++)
        if (runs(&running->list[i]))
            conduct_signal_later(running->list[i].process, sigabbrev_np(signal),
                                 &running->list[i].signalled);
}

/* One that has ended meanwhile needed none. */
static void look_at_signals(struct running *running)
{
    char line[sizeof(running->list->signalled.why) + 160];

    for (size_t i = 0; i < running->count; i++) {
        struct part *part = &running->list[i];
        if (part->signalled.host == NULL || !part->signalled.came)
            continue;
        if (part->signalled.error < 0 && part->signalled.code != FABRIC_NONE &&
            part->process->state != PROCESS_KILLED) {
            snprintf(line, sizeof(line), "%.80s did not get SIG%s: %s", part->command[0],
                     sigabbrev_np(running->passed), part->signalled.why);
            hosts_say(running->hosts, part->host->remote, line);
        }
        conduct_answers_done(&part->signalled, 1);
        part->signalled.host = NULL;
    }
}

/* ---- the beginning ---- */

/* The host's name; with a number if it has several parts. */
static void make_labels(struct running *running)
{
    for (size_t i = 0; running->count > 1 && i < running->count; i++) {
        struct part *part = &running->list[i];
        const char *name = part->host->remote->name;
        size_t before = 0, alike = 0;
        for (size_t j = 0; j < running->count; j++) {
            alike += running->list[j].host == part->host;
            before += running->list[j].host == part->host && j < i;
        }
        if (alike == 1)
            snprintf(part->label, sizeof(part->label), "%.120s: ", name);
        else
            snprintf(part->label, sizeof(part->label), "%.120s[%zu]: ", name, before + 1);
    }
}

/* Calls the host's own, or the common command. */
static int make_parts(struct running *running, struct problem *problem)
{
    struct hosts *hosts = running->hosts;
    size_t count = hosts->options->count;

    running->list = calloc(count, sizeof(*running->list));
    if (running->list == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const struct wanted_host *wanted = &hosts->options->list[i];
        struct part *part = &running->list[running->count++];
        part->command = wanted->command != NULL ? wanted->command : running->wanted->command;
        for (size_t j = 0; j < hosts->count; j++)
            if (strcmp(hosts->list[j].remote->name, wanted->name) == 0)
                part->host = &hosts->list[j];
    }
    make_labels(running);
    return 0;
}

/* A program that the host lacks is copied there. */
static int create(struct running *running, struct part *part, struct problem *problem)
{
    const struct conduct_command wanted = {
        .recording = HOSTS_RECORDING,
        .words = part->command,
        .user = running->wanted->user,
        .input = part == running->list && running->input.open,
    };
    bool copied = false;
    char line[400];
    int result = conduct_create(running->hosts->conduct, part->host->remote, &wanted,
                                &part->process, &copied, problem);

    if (copied) {
        snprintf(line, sizeof(line), "%.300s is not there: it runs a copy of the one here",
                 part->command[0]);
        hosts_say(running->hosts, part->host->remote, line);
    }
    if (result == 0) {
        part->process->context = part;
        part->process->whole = part->label[0] == '\0';
    }
    return result;
}

static int create_all(struct running *running, struct problem *problem)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < running->count; i++)
        result = create(running, &running->list[i], problem);
    return result;
}

static int start_all(struct running *running, struct problem *problem)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < running->count; i++) {
        struct conduct_process *process = running->list[i].process;
        struct conduct_answer answer;
        conduct_change_later(process, PROCESS_RUNNING, &answer);
        conduct_await(running->hosts->conduct, &answer, 1);
        result = conduct_changed(process, PROCESS_RUNNING, &answer, problem);
    }
    return result;
}

/* What was started already is asked to end. */
static void take_back(struct running *running)
{
    struct conduct_answer answer;

    running->abandoned = true;
    if (running->hosts->conduct != NULL)
        conduct_set_patience(running->hosts->conduct, 1);
    for (size_t i = 0; i < running->count; i++)
        if (runs(&running->list[i])) {
            conduct_signal_later(running->list[i].process, "TERM", &answer);
            conduct_await(running->hosts->conduct, &answer, 1);
            conduct_answers_done(&answer, 1);
        }
}

static int begin(struct running *running, struct problem *problem)
{
    struct hosts *hosts = running->hosts;
    const struct wanted_host *first = hosts->options->list;
    const char *name = (first->command != NULL ? first->command : running->wanted->command)[0];
    int result = hosts_begin(hosts, name, problem);

    if (result == -ENOENT) /* a file for the session; not the command */
        result = -EIO;
    if (result == 0)
        result = hosts_record(hosts, problem);
    if (result == 0)
        result = make_parts(running, problem);
    if (result == 0)
        result = create_all(running, problem);
    if (result == 0)
        result = hosts_keep(hosts, problem);
    if (result == 0)
        result = start_all(running, problem);
    hosts->changed = true;
    return result;
}

/* ---- input ---- */

/* Not that of a job in the background. */
static bool has_input(void)
{
    return !isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void take_answer(struct input *input)
{
    input->waiting = false;
    input->again = input->answer.error == 0 ? 0 : clock_now(CLOCK_MONOTONIC) + AGAIN_AFTER;
    if (input->answer.error == 0) {
        input->given += (int64_t)input->size;
        input->size = 0;
        input->open = !input->reached;
    }
    conduct_answers_done(&input->answer, 1);
}

static void read_input(struct input *input)
{
    struct pollfd file = {.fd = STDIN_FILENO, .events = POLLIN};

    if (input->size > 0 || input->reached || poll(&file, 1, 0) <= 0)
        return;
    ssize_t got = read(STDIN_FILENO, input->bytes, sizeof(input->bytes));
    if (got > 0)
        input->size = (size_t)got;
    else if (got == 0 || errno != EINTR)
        input->reached = true;
}

static void pass_input(struct running *running)
{
    struct input *input = &running->input;
    struct conduct_process *process = running->list[0].process;

    if (input->waiting && input->answer.came)
        take_answer(input);
    if (!input->open || input->waiting || process->state == PROCESS_KILLED)
        return;
    read_input(input);
    if ((input->size == 0 && !input->reached) || clock_now(CLOCK_MONOTONIC) < input->again)
        return;
    input->waiting = true;
    conduct_input_later(process, input->given, input->bytes, input->size, input->reached,
                        &input->answer);
}

/* ---- until it ends ---- */

static void end_lost(struct running *running)
{
    for (size_t i = 0; i < running->count; i++) {
        const struct part *part = &running->list[i];
        if (part->process->state == PROCESS_KILLED ||
            (part->host->remote->state != REMOTE_OUT && !part->host->agent_died))
            continue;
        conduct_set_ended(part->process, LOST_STATUS);
        running->hosts->changed = true;
        note_end(running, part->process);
    }
}

static bool finished(const struct running *running)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (conduct_interrupts(running->hosts->conduct) >= 2)
        return true;
    for (size_t i = 0; i < running->count; i++)
        if (!conduct_is_over(running->list[i].process, now))
            return false;
    return !running->wanted->wait || hosts_recording(running->hosts) == hosts_idle(running->hosts);
}

static void record(struct running *running)
{
    running->hosts->shows = true;
    while (!finished(running)) {
        hosts_poll(running->hosts, 50);
        look_at_signals(running);
        end_lost(running);
        pass_input(running);
    }
    for (size_t i = 0; i < running->count; i++)
        conduct_flush(running->list[i].process);
}

static int exit_status(const struct running *running)
{
    for (size_t i = 0; i < running->count; i++)
        if (running->list[i].process->state != PROCESS_KILLED)
            return 128 + running->hosts->last_signal;
    return running->failed;
}

static int run(struct running *running)
{
    struct problem problem;
    int result = begin(running, &problem);

    if (result < 0) {
        take_back(running);
        hosts_abandon(running->hosts);
        command_error("%s", problem.text);
        return result == -ENOENT ? 127 : EXIT_FAILURE;
    }
    record(running);
    int stored = hosts_end(running->hosts);
    if (hosts_report(running->hosts, &problem) < 0)
        command_error("%s", problem.text);
    int status = exit_status(running);
    return status == 0 && (stored < 0 || running->hosts->lines_failed) ? EXIT_FAILURE : status;
}

int hosts_run(const struct hosts_options *options, const struct recording_command_options *recorder,
              const struct hosts_run *wanted)
{
    struct running running = {.wanted = wanted, .input.open = has_input()};
    struct hosts hosts = {
        .options = options,
        .context = &running,
        .all_or_none = true,
        .happens = take_event,
        .interrupted = pass_signal,
    };
    sigset_t old_mask;

    running.hosts = &hosts;
    if (recording_command_init(&hosts.recorder, recorder, "the commands run on", &old_mask) < 0)
        return EXIT_FAILURE;
    signal(SIGPIPE, SIG_IGN);
    int status = run(&running);
    hosts_done(&hosts);
    recording_command_close(&hosts.recorder);
    conduct_answers_done(&running.input.answer, 1);
    for (size_t i = 0; i < running.count; i++)
        conduct_answers_done(&running.list[i].signalled, 1);
    free(running.list);
    return status;
}
