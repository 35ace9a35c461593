/* SPDX-License-Identifier: MIT */
/* filter_elsewhere.c: a filter on another machine than the session's. See filter_elsewhere.h. */
#include "command/filters/filter_elsewhere.h"
#include "command/shared/command.h"

#include "filter/filter.h"
#include "recorder/recorder.h"
#include "remote/remote.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define HELLO_MS   30000
#define CONNECT_MS 10000
#define OPTIONS    16

/* ---- here ---- */

static bool take_signal(void *context)
{
    const int *signals = context;
    struct signalfd_siginfo info;

    return read(*signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD;
}

/* What the filter says has "dpm: " in front already. */
static void pass_on(void *context, const char *line)
{
    (void)context;
    command_say("%s", strncmp(line, "dpm: ", 5) == 0 ? line + 5 : line);
}

/* The remote shell takes the command apart once more. */
static bool is_safe(const char *word)
{
    return word == NULL ||
           word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                             "/._+:@,-")] == '\0';
}

static void add(const char **words, size_t *count, const char *option, const char *value)
{
    if (value == NULL)
        return;
    words[(*count)++] = option;
    words[(*count)++] = value;
}

int filter_run_there(const struct filter_place *place, const struct filter_there *there)
{
    const char **words =
        calloc(OPTIONS + 2 * (there->machine_count + there->program_words), sizeof(*words));
    char name[FILTER_NAME_SIZE], folder[FABRIC_NAME_MOST + 16];
    struct problem problem;
    sigset_t old_mask;
    size_t count = 0;

    if (words == NULL)
        return command_error("out of memory");
    snprintf(folder, sizeof(folder), "dpm-%s.traces", there->session);
    const char *where = there->folder == NULL ? folder : there->folder;
    bool safe = is_safe(where) && is_safe(there->rules) && is_safe(there->prefix);
    for (size_t i = 0; i < there->program_words; i++)
        safe = safe && is_safe(there->program[i]);
    if (!safe) {
        free(words);
        return command_usage_error("filter", "--host: files there have names of letters, digits "
                                             "and / . _ + : @ , -");
    }
    filter_name_there(place->host, where, name);
    words[count++] = "filter";
    add(words, &count, "--relayed", name);
    add(words, &count, "--from", there->session);
    add(words, &count, "--output", where);
    add(words, &count, "--recordings", there->prefix);
    add(words, &count, "--rules", there->rules);
    for (size_t i = 0; i < there->machine_count; i++)
        add(words, &count, "--machine", there->machines[i]);
    for (size_t i = 0; i < there->program_words; i++)
        add(words, &count, "--program", there->program[i]);
    int signals = recording_signals(&old_mask);
    const struct remote_filter_options options = {
        .session = there->session,
        .host = place->host,
        .rsh = place->rsh == NULL ? REMOTE_RSH : place->rsh,
        .dpm = place->dpm == NULL ? REMOTE_DPM : place->dpm,
        .arguments = words,
        .descriptor = signals,
        .stops = take_signal,
        .said = pass_on,
        .context = &signals,
    };
    int result = remote_filter_run(&options, &problem);
    free(words);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}

/* ---- there ---- */

static int connect_it(const struct relay_hello *hello, struct relay *relay,
                      struct fabric **ret_fabric, struct problem *problem)
{
    char url[64];
    const struct fabric_options options = {
        .url = url,
        .user = hello->user,
        .password = hello->password,
        .session = hello->session,
        .relayed = true,
    };

    snprintf(url, sizeof(url), "nats://127.0.0.1:%u", relay_port(relay));
    return fabric_open(&options, CONNECT_MS, ret_fabric, problem);
}

int filter_open_relayed(struct relay **ret_relay, struct fabric **ret_fabric,
                        struct problem *problem)
{
    struct relay_hello hello;
    struct relay_answer answer = {.version = DPM_VERSION};
    struct problem of_answer;
    int result = relay_receive_hello(STDIN_FILENO, HELLO_MS, &hello, problem);

    if (result < 0)
        return result;
    result = relay_listen(ret_relay, problem);
    if (result < 0)
        snprintf(answer.error, sizeof(answer.error), "%s", problem->text);
    gethostname(answer.host, sizeof(answer.host) - 1);
    int sent = relay_send_answer(STDOUT_FILENO, &answer, HELLO_MS, &of_answer);
    if (result == 0 && sent < 0)
        result = problem_set(problem, sent, "%s", of_answer.text);
    if (result == 0) {
        relay_attach(*ret_relay, STDIN_FILENO, STDOUT_FILENO);
        result = connect_it(&hello, *ret_relay, ret_fabric, problem);
    }
    explicit_bzero(&hello, sizeof(hello));
    return result;
}
