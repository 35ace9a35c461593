/* SPDX-License-Identifier: MIT */
/* conduct_process.c: processes on other machines: created, started, stopped, signalled; what they write, and their ends. See
 * conduct.h. */
#include "base/base64.h"
#include "conduct/conduct_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COULD_NOT_START 126          /* a shell's status for a program that cannot be executed */
#define LOST_STATUS     137          /* as if it was killed with its agent */
#define OUTPUT_GRACE    500000000ull /* ns: for output that is on its way when a process has ended */

/* ---- the list ---- */

struct conduct_process *conduct_know(struct conduct *conduct, struct remote_host *host, pid_t pid,
                                     enum process_state state, const char *name)
{
    struct conduct_process *process = calloc(1, sizeof(*process));

    if (process == NULL ||
        array_reserve(&conduct->processes, &conduct->process_capacity, conduct->process_count + 1,
                      sizeof(struct conduct_process *)) < 0) {
        free(process);
        return NULL;
    }
    process->conduct = conduct;
    process->host = host;
    process->pid = pid;
    process->state = state;
    snprintf(process->name, sizeof(process->name), "%s", name);
    conduct->processes[conduct->process_count++] = process;
    return process;
}

void conduct_forget(struct conduct_process *process)
{
    struct conduct *conduct = process->conduct;
    size_t i = 0;

    while (conduct->processes[i] != process)
        i++;
    memmove(&conduct->processes[i], &conduct->processes[i + 1],
            (--conduct->process_count - i) * sizeof(struct conduct_process *));
    free(process);
}

void conduct_forget_all(struct conduct *conduct)
{
    while (conduct->process_count > 0)
        conduct_forget(conduct->processes[conduct->process_count - 1]);
    free(conduct->processes);
}

struct conduct_process *conduct_process_at(const struct conduct *conduct, size_t index)
{
    return index < conduct->process_count ? conduct->processes[index] : NULL;
}

struct conduct_process *conduct_find_process(const struct conduct *conduct,
                                             const struct remote_host *host, int64_t pid)
{
    for (size_t i = conduct->process_count; i-- > 0;)
        if (conduct->processes[i]->pid == pid && conduct->processes[i]->host == host)
            return conduct->processes[i];
    return NULL;
}

/* ---- creating ---- */

struct asked {
    struct conduct *conduct;
    struct remote_host *host;
};

static int ask_of(void *context, const char *method, json_t *params, json_t **ret_result,
                  struct problem *problem)
{
    struct asked *asked = context;

    return conduct_ask(asked->conduct, asked->host, method, params, ret_result, problem);
}

/* NULL: a word is not UTF-8, which is no text in JSON. */
static json_t *words_of(char *const *command)
{
    json_t *words = json_array();

    for (; *command != NULL; command++)
        if (json_array_append_new(words, json_string(*command)) < 0) {
            json_decref(words);
            return NULL;
        }
    return words;
}

static json_t *create_params(const struct conduct_command *command, json_t *words, const char *hash,
                             const char *directory)
{
    json_t *params = json_pack("{s:s, s:O, s:s}", "recording", command->recording, "command", words,
                               "directory", directory);

    if (hash[0] != '\0')
        json_object_set_new(params, "program", json_string(hash));
    if (command->user != NULL)
        json_object_set_new(params, "user", json_string(command->user));
    if (command->input)
        json_object_set_new(params, "input", json_true());
    return params;
}

static int create(struct conduct *conduct, struct remote_host *host,
                  const struct conduct_command *command, json_t *words, pid_t *ret_pid,
                  bool *ret_copied, struct problem *problem)
{
    struct asked asked = {conduct, host};
    const struct remote_asking asking = {host->name, ask_of, &asked};
    char hash[REMOTE_HASH_SIZE], here[PATH_MAX], directory[PATH_MAX];
    json_t *created = NULL;
    struct problem why;

    if (getcwd(here, sizeof(here)) == NULL)
        snprintf(here, sizeof(here), "/");
    int result = remote_find_program(&asking, command->words[0], here, command->user, hash,
                                     directory, problem);
    if (result < 0)
        return result;
    result = conduct_ask(conduct, host, "process.create",
                         create_params(command, words, hash, directory), &created, problem);
    if (result == 0 && notice_pid(created, ret_pid, &why) < 0)
        result =
            problem_set(problem, -EPROTO,
                        "%s: its agent answers what this version of dpm does not understand: %s",
                        host->name, why.text);
    json_decref(created);
    if (result == 0)
        *ret_copied = hash[0] != '\0';
    return result;
}

int conduct_create(struct conduct *conduct, struct remote_host *host,
                   const struct conduct_command *command, struct conduct_process **ret_process,
                   bool *ret_copied, struct problem *problem)
{
    const char *slash = strrchr(command->words[0], '/');
    json_t *words = words_of(command->words);
    pid_t pid = 0;
    int result = words == NULL ? problem_set(problem, -EILSEQ,
                                             "%s: a word of the command is not UTF-8", host->name)
                               : create(conduct, host, command, words, &pid, ret_copied, problem);

    json_decref(words);
    if (result < 0)
        return result;
    *ret_process = conduct_know(conduct, host, pid, PROCESS_NEW,
                                slash == NULL ? command->words[0] : slash + 1);
    return *ret_process == NULL ? problem_set(problem, -ENOMEM, "out of memory") : 0;
}

/* ---- requests ---- */

static void ask(struct conduct_process *process, const char *method, json_t *params,
                struct conduct_answer *answer)
{
    if (answer != NULL)
        conduct_ask_later(process->conduct, process->host, method, params, CONDUCT_CALL_MS, answer);
    else
        remote_call(process->conduct->remote, process->host, method, params, CONDUCT_CALL_MS, NULL,
                    NULL);
}

void conduct_signal_later(struct conduct_process *process, const char *signal,
                          struct conduct_answer *answer)
{
    ask(process, "process.signal",
        json_pack("{s:i, s:s}", "pid", (int)process->pid, "signal", signal), answer);
}

void conduct_input_later(struct conduct_process *process, int64_t at, const void *bytes,
                         size_t size, bool end, struct conduct_answer *answer)
{
    char *text = malloc(BASE64_LENGTH(size) + 1);
    json_t *params = NULL;

    if (text != NULL) {
        base64_encode(bytes, size, text);
        params = json_pack("{s:i, s:s, s:b}", "pid", (int)process->pid, "data", text, "end", end);
    }
    if (params != NULL && at >= 0)
        json_object_set_new(params, "at", json_integer(at));
    free(text);
    ask(process, "process.input", params, answer); /* without parameters it is refused */
}

void conduct_change_later(struct conduct_process *process, enum process_state wanted,
                          struct conduct_answer *answer)
{
    static const char *const signals[PROCESS_STATES] = {
        [PROCESS_RUNNING] = "CONT", [PROCESS_STOPPED] = "STOP", [PROCESS_KILLED] = "KILL"};

    *answer = (struct conduct_answer){.host = NULL};
    process->confirmed = false;
    if (wanted == PROCESS_RUNNING && !process->begun)
        ask(process, "process.start", json_pack("{s:i}", "pid", (int)process->pid), answer);
    else if (process->begun || wanted == PROCESS_KILLED)
        conduct_signal_later(process, signals[wanted], answer);
}

int conduct_changed(struct conduct_process *process, enum process_state wanted,
                    struct conduct_answer *answer, struct problem *problem)
{
    bool starts = wanted == PROCESS_RUNNING && !process->begun;

    if (process->state == PROCESS_KILLED) {
        conduct_answers_done(answer, 1);
        return 0;
    }
    if (starts && answer->error == -EREMOTEIO)
        conduct_set_ended(process, COULD_NOT_START);
    if (answer->error < 0)
        return conduct_answer_take(answer, NULL, problem);
    process->begun |= wanted == PROCESS_RUNNING;
    if (wanted != PROCESS_KILLED) /* its agent reports that */
        process->state = wanted;
    conduct_answers_done(answer, 1);
    return 0;
}

/* ---- what agents report ---- */

static void tell(struct conduct_process *process, enum conduct_kind kind, const char *text,
                 size_t length, bool err)
{
    const struct conduct_options *options = &process->conduct->options;

    options->event(options->context, &(struct conduct_event){.kind = kind,
                                                             .host = process->host,
                                                             .process = process,
                                                             .text = text,
                                                             .length = length,
                                                             .err = err});
}

void conduct_set_ended(struct conduct_process *process, int status)
{
    process->state = PROCESS_KILLED;
    process->status = status;
    process->ended = clock_now(CLOCK_MONOTONIC);
}

void conduct_set_lost(struct conduct_process *process)
{
    conduct_set_ended(process, LOST_STATUS);
    process->lost = true;
}

const char *conduct_state_word(const struct conduct_process *process)
{
    return process->lost ? "lost" : process_state_word(process->state);
}

static void take_end(struct conduct_process *process, const struct process_end *end)
{
    conduct_set_ended(process, end->by_signal ? 128 + end->number : end->number);
    process->end = *end;
    process->confirmed = true;
    tell(process, CONDUCT_PROCESS, NULL, 0, false);
}

/* Those that were acquired are not the agent's: it reports nothing of them. */
static bool is_followed(const struct conduct_process *process)
{
    return process != NULL && process->state != PROCESS_KILLED &&
           process->state != PROCESS_ACQUIRED;
}

void conduct_take_notice(struct conduct *conduct, struct remote_host *host,
                         const struct conduct_notice *notice)
{
    struct conduct_process *process = conduct_find_process(conduct, host, notice->pid);

    if (!is_followed(process))
        return;
    if (notice->kind == NOTICE_ENDED) {
        take_end(process, &notice->end);
        return;
    }
    process->state = notice->kind == NOTICE_STOPPED ? PROCESS_STOPPED : PROCESS_RUNNING;
    process->confirmed = true;
    tell(process, CONDUCT_PROCESS, NULL, 0, false);
}

void conduct_take_listed(struct conduct_process *process, const struct listed_process *listed)
{
    process->listed = true;
    if (!is_followed(process))
        return;
    process->begun = listed->state != PROCESS_NEW;
    if (listed->state == PROCESS_KILLED)
        take_end(process, &listed->end);
    else if (listed->state != PROCESS_NEW || process->state == PROCESS_RUNNING)
        process->state = listed->state; /* else NEW, or stopped before it has begun */
}

bool conduct_is_over(const struct conduct_process *process, uint64_t now)
{
    return process->state == PROCESS_KILLED &&
           ((process->closed[0] && process->closed[1]) || now - process->ended >= OUTPUT_GRACE);
}

/* ---- output ---- */

static void end_line(struct conduct_process *process, bool err)
{
    struct conduct_line *line = &process->lines[err];
    size_t length = line->length;

    line->length = 0;
    line->text[length] = '\0';
    tell(process, CONDUCT_OUTPUT, line->text, length, err);
}

static void add_output(struct conduct_process *process, bool err, const char *bytes, size_t size)
{
    struct conduct_line *line = &process->lines[err];

    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n' || line->length == CONDUCT_LINE_MOST - 1)
            end_line(process, err);
        if (bytes[i] != '\n')
            line->text[line->length++] = bytes[i];
    }
    if (size == 0 && line->length > 0)
        end_line(process, err);
}

/* How many bytes at the beginning came before: the agent repeats what was not acknowledged. */
static size_t count_double(struct conduct_process *process, const struct fabric_message *message)
{
    uint64_t *shown = &process->shown[message->err], at = message->at;
    uint64_t twice = at != FABRIC_AT_UNKNOWN && *shown > at ? *shown - at : 0;

    if (at != FABRIC_AT_UNKNOWN && at + message->size > *shown)
        *shown = at + message->size;
    return twice < message->size ? (size_t)twice : message->size;
}

void conduct_take_output(struct conduct *conduct, struct remote_host *host,
                         const struct fabric_message *message)
{
    struct conduct_process *process = conduct_find_process(conduct, host, message->pid);

    if (process == NULL)
        return;
    size_t doubled = count_double(process, message), size = message->size - doubled;
    const char *bytes = size == 0 ? NULL : (const char *)message->bytes + doubled;
    process->closed[message->err] |= message->size == 0;
    if (message->size > 0 && size == 0)
        return;
    if (!process->whole)
        add_output(process, message->err, bytes, size);
    else if (size > 0)
        tell(process, CONDUCT_OUTPUT, bytes, size, message->err);
}

void conduct_flush(struct conduct_process *process)
{
    add_output(process, false, NULL, 0);
    add_output(process, true, NULL, 0);
}
