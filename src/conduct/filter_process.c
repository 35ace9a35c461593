/* SPDX-License-Identifier: MIT */
/* filter_process.c: see filter_process.h. */
#include "conduct/filter_process.h"

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MOST 30000000000u /* ns */
#define END_MS     5000
#define REAP_MS    5000 /* for the other threads of a filter, when its first one has ended */

#define STORES "filtering session" /* what it says when it does */

bool filter_process_alive(const struct filter_process *process)
{
    return process->pid > 0 && process->start != 0 &&
           process_started(process->pid) == process->start;
}

/* ---- its words ---- */

void filter_words_flag(struct filter_words *words, const char *word)
{
    if (words->count < FILTER_WORDS_MOST)
        words->list[words->count++] = word;
}

void filter_words_add(struct filter_words *words, const char *option, const char *value)
{
    if (value == NULL)
        return;
    filter_words_flag(words, option);
    filter_words_flag(words, value);
}

void filter_words_begin(struct filter_words *words, const char *self, const struct remote *remote,
                        const char *folder)
{
    *words = (struct filter_words){.count = 0};
    filter_words_flag(words, self);
    filter_words_flag(words, "filter");
    filter_words_add(words, "--from", remote_session_name(remote));
    filter_words_add(words, "--output", folder);
}

static void add_number(struct filter_words *words, const char *option, unsigned index,
                       uint64_t number, const char *unit)
{
    if (number == 0)
        return;
    snprintf(words->numbers[index], sizeof(words->numbers[index]), "%" PRIu64 "%s", number, unit);
    filter_words_add(words, option, words->numbers[index]);
}

void filter_words_limits(struct filter_words *words, const struct trace_copy_limits *limits)
{
    filter_words_add(words, "--store", limits->newest ? "newest" : "all");
    add_number(words, "--max-size", 0, limits->max_bytes, "");
    if (!limits->newest)
        return;
    add_number(words, "--max-files", 1, limits->kept.max_files, "");
    add_number(words, "--max-age", 2, limits->kept.max_age / 1000, "us");
}

/* ---- the process ---- */

int conduct_spawn(char *const *words, short flags, int in, posix_spawn_file_actions_t *actions,
                  pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             (short)(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    if (in < 0)
        posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    else
        posix_spawn_file_actions_adddup2(actions, in, 0);
    int error = posix_spawnp(ret_pid, words[0], actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    return error;
}

void filter_process_log(const struct conduct *conduct, const struct filter_process *process,
                        char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.4000s/filter-%u.log", remote_folder(conduct_remote(conduct)),
             process->number);
}

bool filter_process_says(const struct conduct *conduct, const struct filter_process *process,
                         char line[FILTER_LINE_SIZE])
{
    char path[PATH_MAX], text[FILTER_LINE_SIZE];
    bool began = false;

    line[0] = '\0';
    filter_process_log(conduct, process, path);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(text, sizeof(text), file) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        snprintf(line, FILTER_LINE_SIZE, "%s", strncmp(text, "dpm: ", 5) == 0 ? text + 5 : text);
        began = began || strstr(text, STORES) != NULL;
    }
    if (file != NULL)
        fclose(file);
    return began;
}

static int spawn(struct conduct *conduct, struct filter_process *process,
                 const struct filter_words *words, int output, const char *name,
                 struct problem *problem)
{
    posix_spawn_file_actions_t actions;
    char log[PATH_MAX];

    filter_process_log(conduct, process, log);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, output < 0 ? 2 : output, 1);
    int error =
        conduct_spawn((char *const *)words->list, POSIX_SPAWN_SETSID, -1, &actions, &process->pid);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return problem_set(problem, -error, "filter %s: cannot start '%s': %s", name,
                           words->list[0], strerror(error));
    process->start = process_started(process->pid);
    return 0;
}

int filter_process_start(struct conduct *conduct, struct filter_process *process,
                         const struct filter_words *words, int output, const char *name,
                         struct problem *problem)
{
    char line[FILTER_LINE_SIZE];
    int result = spawn(conduct, process, words, output, name, problem);
    uint64_t begun = clock_now(CLOCK_MONOTONIC);

    while (result == 0) {
        bool alive = filter_process_alive(process); /* before its last line is read */
        if (filter_process_says(conduct, process, line))
            break;
        bool late = clock_now(CLOCK_MONOTONIC) - begun > START_MOST;
        if (late)
            filter_process_end(process);
        if (!alive || late)
            return problem_set(problem, -ECHILD, "filter %s does not run: %s", name,
                               line[0] == '\0' ? "it said nothing" : line);
        conduct_step(conduct, 20);
    }
    return result;
}

int filter_process_how(const struct conduct *conduct, const struct filter_process *process,
                       char how[FILTER_LINE_SIZE + 64])
{
    char line[FILTER_LINE_SIZE], end[64] = "has ended";
    int status = -1;

    if (!process_await_end(process->pid, REAP_MS, &status))
        status = -1;
    if (status >= 0 && WIFEXITED(status))
        snprintf(end, sizeof(end), "ended with exit status %d", WEXITSTATUS(status));
    else if (status >= 0)
        snprintf(end, sizeof(end), "was killed by signal %d", WTERMSIG(status));
    filter_process_says(conduct, process, line);
    bool reason = line[0] != '\0' && strstr(line, STORES) == NULL;
    snprintf(how, FILTER_LINE_SIZE + 64, "%s%s%.*s%s", end, reason ? " (" : "",
             reason ? FILTER_LINE_SIZE - 4 : 0, line, reason ? ")" : "");
    return status;
}

void filter_process_end(const struct filter_process *process)
{
    if (filter_process_alive(process))
        kill(process->pid, SIGTERM);
    for (int waited = 0; filter_process_alive(process) && waited < END_MS; waited += 10)
        usleep(10000);
}
