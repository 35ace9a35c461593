/* SPDX-License-Identifier: MIT */
/*
 * hosts_run.c: `dpm run --host`: commands on several machines. See hosts.h.
 *
 *      connect, open recordings --> create all, suspended --> start them in the order given --> until all have ended
 *
 * Nothing is started unless everything could be created.
 */
#include "control/hosts_parts.h"

#include "show/show.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND       1000000000ULL /* ns */
#define OUTPUT_GRACE (SECOND / 2)  /* for output that is on its way when a process has ended */
#define LOST_STATUS  255 /* of a process whose host cannot be reached: ssh(1) has the same */

/* ---- what happens ---- */

static struct part *find_part(struct running *running, const struct metered_host *host,
                              json_int_t pid)
{
    for (size_t i = 0; i < running->count; i++)
        if (running->list[i].host == host && running->list[i].pid == pid && pid != 0)
            return &running->list[i];
    return NULL;
}

static void end_part(struct running *running, struct part *part, int status)
{
    if (part->ended)
        return;
    part->ended = true;
    part->status = status;
    part->ended_at = clock_now(CLOCK_MONOTONIC);
    if (running->failed == 0)
        running->failed = status;
}

static void tell_killed(struct running *running, const struct part *part, int signal)
{
    char line[160];

    if (running->hosts->interrupts > 0 || running->abandoned)
        return; /* as asked for */
    snprintf(line, sizeof(line), "%.80s was killed by signal %d (%s)", part->command[0], signal,
             strsignal(signal));
    hosts_say(running->hosts, part->host->remote, line);
}

static void take_ended(struct running *running, struct part *part, json_t *params)
{
    json_t *signal = json_object_get(params, "signal");

    if (json_is_integer(signal))
        tell_killed(running, part, (int)json_integer_value(signal));
    end_part(running, part,
             json_is_integer(signal) ? 128 + (int)json_integer_value(signal)
                                     : (int)json_integer_value(json_object_get(params, "status")));
}

static void take_message(struct hosts *hosts, struct metered_host *host,
                         const struct fabric_message *message)
{
    struct running *running = hosts->context;
    json_int_t pid = message->kind == FABRIC_OUTPUT
                         ? message->pid
                         : json_integer_value(json_object_get(message->params, "pid"));
    struct part *part = find_part(running, host, pid);

    if (part == NULL)
        return;
    if (message->kind == FABRIC_OUTPUT)
        parts_output(running, part, message->err, message->bytes, message->size);
    else if (strcmp(message->method, "process.ended") == 0)
        take_ended(running, part, message->params);
}

static void ignore_answer(void *context, struct remote_host *host, int error, int code,
                          json_t *result, const char *line)
{
    (void)context;
    (void)host;
    (void)error;
    (void)code;
    (void)result;
    (void)line;
}

/* The first signal is for the processes, the second for dpm. */
static void pass_signal(struct hosts *hosts, int signal)
{
    struct running *running = hosts->context;

    for (size_t i = 0; hosts->interrupts == 1 && i < running->count; i++) {
        struct part *part = &running->list[i];
        if (part->started && !part->ended)
            remote_call(hosts->remote, part->host->remote, "process.signal",
                        json_pack("{s:i, s:i}", "pid", (int)part->pid, "signal", signal), 10000,
                        ignore_answer, NULL);
    }
}

/* ---- the beginning ---- */

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
        part->running = running;
        part->command = wanted->command != NULL ? wanted->command : running->wanted->command;
        for (size_t j = 0; j < hosts->count; j++)
            if (strcmp(hosts->list[j].remote->name, wanted->name) == 0)
                part->host = &hosts->list[j];
    }
    parts_label(running);
    return 0;
}

static json_t *create_params(const struct part *part, const char *hash, const char *directory)
{
    const struct running *running = part->running;
    json_t *words = json_array();
    json_t *params = json_pack("{s:s, s:o, s:s}", "recording", HOSTS_RECORDING, "command", words,
                               "directory", directory);

    for (char **word = part->command; *word != NULL; word++)
        json_array_append_new(words, json_string(*word));
    if (hash[0] != '\0')
        json_object_set_new(params, "program", json_string(hash));
    if (running->wanted->user != NULL)
        json_object_set_new(params, "user", json_string(running->wanted->user));
    if (part == running->list && running->input.open)
        json_object_set_new(params, "input", json_true());
    return params;
}

/* A word that is no UTF-8 is no text in JSON. */
static int check_words(const struct part *part, struct problem *problem)
{
    for (char **word = part->command; *word != NULL; word++) {
        json_t *text = json_string(*word);
        json_decref(text);
        if (text == NULL)
            return problem_set(problem, -EILSEQ, "%s: a word of the command is not UTF-8",
                               part->host->remote->name);
    }
    return 0;
}

static int ask_of_part(void *context, const char *method, json_t *params, json_t **ret_result,
                       struct problem *problem)
{
    struct part *part = context;

    return parts_ask(part->running, part->host, method, params, ret_result, NULL, problem);
}

/* A program that the host lacks is copied there. */
static int find_program(struct part *part, char hash[REMOTE_HASH_SIZE], char directory[PATH_MAX],
                        struct problem *problem)
{
    const struct remote_asking asking = {part->host->remote->name, ask_of_part, part};
    char here[PATH_MAX], line[400];

    if (getcwd(here, sizeof(here)) == NULL)
        snprintf(here, sizeof(here), "/");
    int result = remote_find_program(&asking, part->command[0], here, hash, directory, problem);
    if (result == 0 && hash[0] != '\0') {
        snprintf(line, sizeof(line), "%.300s is not there: it runs a copy of the one here",
                 part->command[0]);
        hosts_say(part->running->hosts, part->host->remote, line);
    }
    return result;
}

static int create(struct part *part, struct problem *problem)
{
    char hash[REMOTE_HASH_SIZE], directory[PATH_MAX];
    json_t *result = NULL;
    int error = check_words(part, problem);

    if (error == 0)
        error = find_program(part, hash, directory, problem);
    if (error == 0)
        error = parts_ask(part->running, part->host, "process.create",
                          create_params(part, hash, directory), &result, NULL, problem);
    if (error < 0)
        return error;
    part->pid = (pid_t)json_integer_value(json_object_get(result, "pid"));
    json_decref(result);
    return 0;
}

static int create_all(struct running *running, struct problem *problem)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < running->count; i++)
        result = create(&running->list[i], problem);
    return result;
}

static int start_all(struct running *running, struct problem *problem)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < running->count; i++) {
        struct part *part = &running->list[i];
        json_t *answer = NULL;
        result = parts_ask(running, part->host, "process.start",
                           json_pack("{s:i}", "pid", (int)part->pid), &answer, NULL, problem);
        json_decref(answer);
        part->started = result == 0;
    }
    return result;
}

/* What was started already is asked to end. */
static void take_back(struct running *running)
{
    struct problem ignored;

    running->abandoned = true;
    for (size_t i = 0; i < running->count; i++) {
        const struct part *part = &running->list[i];
        json_t *answer = NULL;
        if (part->started && !part->ended)
            parts_ask(running, part->host, "process.signal",
                      json_pack("{s:i, s:s}", "pid", (int)part->pid, "signal", "TERM"), &answer,
                      NULL, &ignored);
        json_decref(answer);
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
        result = hosts_session_store(hosts, "run", 0, problem);
    if (result == 0)
        result = hosts_record(hosts, problem);
    if (result == 0)
        result = make_parts(running, problem);
    if (result == 0)
        result = create_all(running, problem);
    return result == 0 ? start_all(running, problem) : result;
}

/* ---- until it ends ---- */

static void end_lost(struct running *running)
{
    for (size_t i = 0; i < running->count; i++)
        if (running->list[i].host->remote->state == REMOTE_OUT)
            end_part(running, &running->list[i], LOST_STATUS);
}

/* Whether the process has ended, and all that it has written has come. Its descendants may hold its files for ever. */
static bool is_over(const struct part *part, uint64_t now)
{
    return part->ended &&
           ((part->closed[0] && part->closed[1]) || now - part->ended_at >= OUTPUT_GRACE);
}

static bool finished(const struct running *running)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (running->hosts->interrupts >= 2)
        return true;
    for (size_t i = 0; i < running->count; i++)
        if (!is_over(&running->list[i], now))
            return false;
    return !running->wanted->wait || hosts_recording(running->hosts) == hosts_idle(running->hosts);
}

static void record(struct running *running)
{
    running->hosts->shows = true;
    while (!finished(running)) {
        hosts_poll(running->hosts, 50);
        end_lost(running);
        parts_input(running);
    }
    parts_flush(running);
}

static int exit_status(const struct running *running)
{
    for (size_t i = 0; i < running->count; i++)
        if (!running->list[i].ended)
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
    hosts_end(running->hosts);
    if (hosts_report(running->hosts, &problem) < 0)
        command_error("%s", problem.text);
    return exit_status(running);
}

int hosts_run(const struct hosts_options *options, const struct recording_command_options *recorder,
              const struct hosts_run *wanted)
{
    struct running running = {.wanted = wanted, .input.open = parts_has_input()};
    struct hosts hosts = {
        .options = options,
        .context = &running,
        .all_or_none = true,
        .message = take_message,
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
    free(running.list);
    return status;
}
