/* SPDX-License-Identifier: MIT */
/* remote_shell.c: a remote shell that runs dpm on another machine. See remote_shell.h. */
#include "remote/remote_shell.h"
#include "remote/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ssh must not ask in the middle of something, and is to notice that a machine is gone before the agent ends itself.
 * They come after the user's own options, which count if they say something else. */
static const char *const ssh_options[] = {"-T", "-oBatchMode=yes", "-oConnectTimeout=15",
                                          "-oServerAliveInterval=10", "-oServerAliveCountMax=3"};

#define WORDS_MOST 64

static bool is_ssh(const char *program)
{
    const char *slash = strrchr(program, '/');

    return strcmp(slash == NULL ? program : slash + 1, "ssh") == 0;
}

/* rsh..., (options of ssh), HOST, dpm..., arguments... Returns 0 or a negative errno. */
static int arrange(char **rsh, const char *host, char **dpm, const char *const *arguments,
                   const char *words[WORDS_MOST])
{
    size_t count = 0, options = is_ssh(rsh[0]) ? ARRAY_SIZE(ssh_options) : 0;

    for (size_t i = 0; rsh[i] != NULL && count < WORDS_MOST - 10; i++)
        words[count++] = rsh[i];
    for (size_t i = 0; i < options; i++)
        words[count++] = ssh_options[i];
    words[count++] = host;
    for (size_t i = 0; dpm[i] != NULL && count < WORDS_MOST - 2; i++)
        words[count++] = dpm[i];
    for (size_t i = 0; arguments[i] != NULL && count < WORDS_MOST - 1; i++)
        words[count++] = arguments[i];
    words[count] = NULL;
    return count < WORDS_MOST - 1 ? 0 : -E2BIG;
}

/* ---- the process ---- */

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

static int set_up(posix_spawnattr_t *attributes, posix_spawn_file_actions_t *actions,
                  const int theirs[3])
{
    sigset_t none, all;
    int error = 0;

    sigemptyset(&none);
    sigfillset(&all);
    error |= posix_spawnattr_setsigmask(attributes, &none);
    error |= posix_spawnattr_setsigdefault(attributes, &all);
    error |= posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                      POSIX_SPAWN_SETSIGDEF);
    for (int i = 0; i < 3; i++)
        error |= posix_spawn_file_actions_adddup2(actions, theirs[i], i);
    return error;
}

static int spawn(const char *const *words, const int theirs[3], pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;

    if (posix_spawnattr_init(&attributes) != 0)
        return -ENOMEM;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        posix_spawnattr_destroy(&attributes);
        return -ENOMEM;
    }
    int error = set_up(&attributes, &actions, theirs);
    if (error == 0)
        error =
            posix_spawnp(ret_pid, words[0], &actions, &attributes, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -error;
}

/* Three pipes: [0] to read from, [1] to write to. */
static int open_pipes(int pipes[3][2])
{
    for (int i = 0; i < 3; i++)
        pipes[i][0] = pipes[i][1] = -1;
    for (int i = 0; i < 3; i++)
        if (pipe2(pipes[i], O_CLOEXEC) < 0)
            return -errno;
    return 0;
}

static int start(struct remote_shell *shell, const char *const *words, struct problem *problem)
{
    int pipes[3][2];
    int result = open_pipes(pipes);
    const int theirs[] = {pipes[0][0], pipes[1][1], pipes[2][1]};

    if (result == 0)
        result = spawn(words, theirs, &shell->pid);
    close_one(&pipes[0][0]);
    close_one(&pipes[1][1]);
    close_one(&pipes[2][1]);
    shell->in = pipes[0][1];
    shell->out = pipes[1][0];
    shell->err = pipes[2][0];
    if (result == 0)
        fcntl(shell->err, F_SETFL, O_NONBLOCK);
    if (result == 0)
        return 0;
    shell->pid = 0;
    remote_shell_end(shell);
    return problem_set(problem, result, "cannot start '%s': %s", words[0], strerror(-result));
}

int remote_command(const char *rsh, const char *host, const char *const *words, int in, int out,
                   pid_t *ret_pid, struct problem *problem)
{
    const char *all[WORDS_MOST];
    char **rsh_words = NULL, *none = NULL;
    int result = remote_words(rsh, &rsh_words);

    if (result >= 0)
        result = rsh_words[0] == NULL ? -EINVAL : arrange(rsh_words, host, &none, words, all);
    if (result >= 0)
        result = spawn(all, (const int[]){in, out, STDERR_FILENO}, ret_pid);
    if (result < 0)
        problem_set(problem, result, "cannot start '%s %s %s': %s", rsh, host, words[0],
                    strerror(-result));
    free(rsh_words);
    return result;
}

int remote_shell_start(struct remote_shell *shell, const char *rsh, const char *host,
                       const char *dpm, const char *const *arguments, struct problem *problem)
{
    const char *words[WORDS_MOST];
    char **rsh_words = NULL, **dpm_words = NULL;
    int result = remote_words(rsh, &rsh_words);

    *shell = (struct remote_shell)REMOTE_SHELL_NONE;
    shell->holds = true;
    if (result >= 0)
        result = remote_words(dpm, &dpm_words);
    if (result >= 0)
        result = rsh_words[0] == NULL || dpm_words[0] == NULL
                     ? -EINVAL
                     : arrange(rsh_words, host, dpm_words, arguments, words);
    if (result < 0)
        problem_set(problem, result, "cannot make a command of '%s %s %s %s': %s", rsh, host, dpm,
                    arguments[0], strerror(-result));
    else
        result = start(shell, words, problem);
    free(rsh_words);
    free(dpm_words);
    return result;
}

/* ---- its standard error ---- */

static void take_line(struct remote_shell *shell, void (*said)(void *context, const char *line),
                      void *context)
{
    while (shell->length > 0 && shell->line[shell->length - 1] == '\r')
        shell->length--;
    shell->line[shell->length] = '\0';
    shell->length = 0;
    if (shell->line[0] == '\0')
        return;
    if (shell->holds && shell->last[0] != '\0')
        said(context, shell->last);
    memcpy(shell->last, shell->line, sizeof(shell->last));
    if (!shell->holds)
        said(context, shell->last);
}

void remote_shell_connected(struct remote_shell *shell,
                            void (*said)(void *context, const char *line), void *context)
{
    if (shell->holds && shell->last[0] != '\0')
        said(context, shell->last);
    shell->holds = false;
    shell->last[0] = '\0';
}

void remote_shell_read(struct remote_shell *shell, void (*said)(void *context, const char *line),
                       void *context)
{
    char bytes[4096];
    ssize_t got = -1;

    while (shell->err >= 0 && (got = read(shell->err, bytes, sizeof(bytes))) > 0)
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] == '\n' || shell->length == sizeof(shell->line) - 1)
                take_line(shell, said, context);
            if (bytes[i] != '\n')
                shell->line[shell->length++] = bytes[i];
        }
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        take_line(shell, said, context);
        close_one(&shell->err);
    }
}

/* ---- its end ---- */

#define A_MOMENT 2000 /* ms */

/* Returns whether it has ended; if so, it is reaped. */
static bool reap(struct remote_shell *shell, int wait_ms, int *ret_status)
{
    struct timespec pause = {.tv_nsec = 10000000};

    for (int waited = 0; shell->pid != 0; waited += 10) {
        if (waitpid(shell->pid, ret_status, WNOHANG) != 0) {
            shell->pid = 0;
            return true;
        }
        if (waited >= wait_ms)
            return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void ignore(void *context, const char *line)
{
    (void)context;
    (void)line;
}

void remote_shell_why(struct remote_shell *shell, const char *host, const char *dpm,
                      struct problem *problem)
{
    int status = 0;
    bool ended = reap(shell, A_MOMENT, &status);

    remote_shell_read(shell, ignore, NULL);
    const char *colon = shell->last[0] == '\0' ? "" : ": ";
    if (ended && WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126))
        problem_set(problem, -ENOENT,
                    "%s: '%s' cannot be run there%s%.200s%s; install dpm, or give its path with "
                    "--remote-dpm",
                    host, dpm, shell->last[0] == '\0' ? "" : " (", shell->last,
                    shell->last[0] == '\0' ? "" : ")");
    else if (ended && WIFEXITED(status))
        problem_set(problem, -ECONNREFUSED, "%s: the remote shell ended with exit status %d%s%s",
                    host, WEXITSTATUS(status), colon, shell->last);
    else if (ended)
        problem_set(problem, -ECONNREFUSED, "%s: the remote shell was killed by signal %d%s%s",
                    host, WTERMSIG(status), colon, shell->last);
    else
        problem_set(problem, -ECONNREFUSED, "%s: the remote shell closed the connection%s%s", host,
                    colon, shell->last);
}

int remote_shell_end(struct remote_shell *shell)
{
    int status = 0;

    close_one(&shell->in);
    close_one(&shell->out);
    close_one(&shell->err);
    if (shell->pid == 0)
        return -1;
    if (reap(shell, 200, &status))
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    kill(-shell->pid, SIGTERM);
    if (reap(shell, 1000, &status))
        return -1;
    kill(-shell->pid, SIGKILL);
    reap(shell, 1000, &status);
    shell->pid = 0;
    return -1;
}
