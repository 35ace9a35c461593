/* SPDX-License-Identifier: MIT */
/* conduct_process.c: processes that are created on other machines, and the lines that they write. See conduct.h. */
#include "conduct/conduct_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static json_t *create_params(const struct conduct_process *process, json_t *words, const char *hash,
                             const char *directory)
{
    json_t *params = json_pack("{s:s, s:O, s:s}", "recording", process->recording, "command", words,
                               "directory", directory);

    if (hash[0] != '\0')
        json_object_set_new(params, "program", json_string(hash));
    if (process->user != NULL)
        json_object_set_new(params, "user", json_string(process->user));
    if (process->input)
        json_object_set_new(params, "input", json_true());
    return params;
}

static int create(struct conduct *conduct, struct remote_host *host,
                  const struct conduct_process *process, json_t *words, pid_t *ret_pid,
                  bool *ret_copied, struct problem *problem)
{
    struct asked asked = {conduct, host};
    const struct remote_asking asking = {host->name, ask_of, &asked};
    char hash[REMOTE_HASH_SIZE], here[PATH_MAX], directory[PATH_MAX];
    json_t *created = NULL;
    struct problem why;

    if (getcwd(here, sizeof(here)) == NULL)
        snprintf(here, sizeof(here), "/");
    int result = remote_find_program(&asking, process->command[0], here, hash, directory, problem);
    if (result < 0)
        return result;
    result = conduct_ask(conduct, host, "process.create",
                         create_params(process, words, hash, directory), &created, problem);
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
                   const struct conduct_process *process, pid_t *ret_pid, bool *ret_copied,
                   struct problem *problem)
{
    json_t *words = words_of(process->command);
    int result =
        words == NULL
            ? problem_set(problem, -EILSEQ, "%s: a word of the command is not UTF-8", host->name)
            : create(conduct, host, process, words, ret_pid, ret_copied, problem);
    json_decref(words);
    return result;
}

/* ---- output ---- */

static void end_line(struct conduct_line *line,
                     void (*take)(void *context, const char *text, size_t length), void *context)
{
    size_t length = line->length;

    line->length = 0;
    line->text[length] = '\0';
    take(context, line->text, length);
}

void conduct_line_add(struct conduct_line *line, const char *bytes, size_t size,
                      void (*take)(void *context, const char *text, size_t length), void *context)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n' || line->length == CONDUCT_LINE_MOST - 1)
            end_line(line, take, context);
        if (bytes[i] != '\n')
            line->text[line->length++] = bytes[i];
    }
    if (size == 0 && line->length > 0)
        end_line(line, take, context);
}
