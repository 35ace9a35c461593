/* SPDX-License-Identifier: MIT */
/*
 * front.c: what the remote shell starts: finds the agent of a session, or makes it, and passes it the connection.
 *
 *      ssh -- in, out --> front --passing (UNIX socket): hello, in, out--> agent
 *                           '-- waits until the agent closes the socket
 */
#include "agent/agent_private.h"
#include "base/folder.h"
#include "base/passing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define HELLO_TIME 30000 /* ms */
#define START_TIME 10000 /* ms: until a new agent listens */

int agent_make_folder(const char *path, struct problem *problem)
{
    char part[AGENT_PATH];

    if (strlen(path) >= sizeof(part))
        return problem_set(problem, -ENAMETOOLONG, "the path of the agent's files is too long");
    for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        size_t length = slash == NULL ? strlen(path) : (size_t)(slash - path);
        memcpy(part, path, length);
        part[length] = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST)
            return problem_set(problem, -errno, "cannot create %s: %s", part, strerror(errno));
        if (slash == NULL)
            return 0;
    }
}

int agent_path_name(bool cache, const char *below, char ret_path[AGENT_PATH],
                    struct problem *problem)
{
    const char *base = getenv(cache ? "XDG_CACHE_HOME" : "XDG_STATE_HOME"), *home = getenv("HOME");
    char host[FOLDER_HOST_SIZE];

    folder_of_host(host);
    int length = base != NULL && base[0] == '/'
                     ? snprintf(ret_path, AGENT_PATH, "%s/dpm/%s/%s", base, host, below)
                     : snprintf(ret_path, AGENT_PATH, "%s/%s/dpm/%s/%s", home == NULL ? "" : home,
                                cache ? ".cache" : ".local/state", host, below);
    if ((base == NULL || base[0] != '/') && (home == NULL || home[0] != '/'))
        return problem_set(problem, -ENOENT,
                           "HOME is not set: the agent has no place for its files");
    if (length >= AGENT_PATH)
        return problem_set(problem, -ENAMETOOLONG, "the path of the agent's files is too long");
    return 0;
}

int agent_path(bool cache, const char *below, char ret_path[AGENT_PATH], struct problem *problem)
{
    char folder[AGENT_PATH];
    int result = agent_path_name(cache, below, ret_path, problem);

    if (result < 0)
        return result;
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(ret_path, '/') - ret_path), ret_path);
    return agent_make_folder(folder, problem);
}

/* An agent that a session could not reach at its end lives on for a day: a new session of the same name gets another one. */
static int folder_of(const struct agent_options *options, const struct relay_hello *hello,
                     char ret_folder[AGENT_PATH], struct problem *problem)
{
    char name[2 * FABRIC_NAME_MOST + 2], below[sizeof(name) + 16];
    int result = 0;

    snprintf(name, sizeof(name), "%s%s%s", hello->session, hello->id[0] == '\0' ? "" : ".",
             hello->id);
    snprintf(below, sizeof(below), "agents/%s", name);
    if (options->folder == NULL)
        result = agent_path(false, below, ret_folder, problem);
    else if (snprintf(ret_folder, AGENT_PATH, "%s/%s", options->folder, name) >= AGENT_PATH)
        result = problem_set(problem, -ENAMETOOLONG, "the path of the agent's files is too long");
    return result;
}

/* ---- reaching the agent ---- */

int agent_socket_address(const char *folder, struct sockaddr_un *ret_address)
{
    int directory = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "/proc/self/fd/%d/socket",
             directory);
    return directory < 0 ? -errno : directory;
}

static int connect_to(const char *folder)
{
    struct sockaddr_un address;
    int directory = agent_socket_address(folder, &address);

    if (directory < 0)
        return directory;
    int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int result =
        connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof(address)) < 0
            ? -errno
            : connection;
    if (result < 0 && connection >= 0)
        close(connection);
    close(directory);
    return result;
}

/* In the process that becomes the agent. Nothing of the front may stay open, or its ssh would never end. */
static void become_agent(const char *session, const char *folder, int lock,
                         const struct agent_options *options)
{
    char log[AGENT_PATH + 8];
    int null = open("/dev/null", O_RDWR), kept = fcntl(lock, F_DUPFD, 64);

    setsid();
    snprintf(log, sizeof(log), "%s/log", folder);
    int file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    dup2(null, 0);
    dup2(null, 1);
    dup2(file < 0 ? null : file, 2);
    close_range(3, (unsigned)kept - 1, 0);
    close_range((unsigned)kept + 1, ~0u, 0);
    fcntl(kept, F_SETFD, FD_CLOEXEC);
    if (chdir("/") < 0)
        _exit(EXIT_FAILURE);
    _exit(agent_serve(session, folder, kept, options) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Whether the agent has not removed the file meanwhile, at its end. */
static bool is_there(int file)
{
    struct stat status;

    return fstat(file, &status) == 0 && status.st_nlink > 0;
}

/* Starts the agent unless another front has done so just now: the lock is the agent's as long as it lives. */
static int start(const char *session, const char *folder, const struct agent_options *options,
                 struct problem *problem)
{
    char path[AGENT_PATH + 8];
    int result = agent_make_folder(folder, problem);

    if (result < 0)
        return result;
    snprintf(path, sizeof(path), "%s/lock", folder);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0)
        return problem_set(problem, -errno, "cannot open %s: %s", path, strerror(errno));
    if (flock(lock, LOCK_EX | LOCK_NB) == 0 && is_there(lock)) {
        pid_t child = fork();
        if (child == 0) {
            if (fork() == 0) /* its parent ends now: the front never waits for the agent */
                become_agent(session, folder, lock, options);
            _exit(EXIT_SUCCESS);
        }
        if (child < 0)
            result = problem_set(problem, -errno, "cannot start the agent: %s", strerror(errno));
    }
    close(lock);
    return result;
}

/* Returns a connection to the agent, which is started if necessary, or a negative errno. */
static int reach(const char *session, const char *folder, const struct agent_options *options,
                 struct problem *problem)
{
    int connection = -1;

    for (int waited = 0; waited < START_TIME; waited += 20) {
        connection = connect_to(folder);
        if (connection >= 0)
            return connection;
        if (waited % 1000 == 0) {
            int result = start(session, folder, options, problem);
            if (result < 0)
                return result;
        }
        usleep(20000);
    }
    return problem_set(problem, connection,
                       "the agent does not answer in %s: %s; see its log there", folder,
                       strerror(-connection));
}

/* ---- the front ---- */

static int lead(const struct relay_hello *hello, int in, int out,
                const struct agent_options *options, struct problem *problem)
{
    char folder[AGENT_PATH], line[sizeof(problem->text)];
    ssize_t size;
    int result = folder_of(options, hello, folder, problem);

    if (result < 0)
        return result;
    int connection = reach(hello->session, folder, options, problem);
    if (connection < 0)
        return connection;
    const int files[] = {in, out};
    result = passing_send(connection, hello, sizeof(*hello), files, 2);
    if (result < 0)
        problem_set(problem, result, "cannot pass the connection to the agent: %s",
                    strerror(-result));
    /* the agent answers the controller itself; what comes here is why it cannot go on */
    while (result == 0 && (size = read(connection, line, sizeof(line))) > 0)
        fprintf(stderr, "%.*s\n", (int)size, line);
    close(connection);
    return result;
}

int agent_front(int in, int out, const struct agent_options *options, struct problem *problem)
{
    struct relay_hello hello;
    struct relay_answer answer = {.version = DPM_VERSION};
    struct problem of_answer;

    signal(SIGPIPE, SIG_IGN);
    int result = relay_receive_hello(in, HELLO_TIME, &hello, problem);
    if (result == 0)
        result = lead(&hello, in, out, options, problem);
    explicit_bzero(&hello, sizeof(hello));
    if (result < 0 && result != -EPIPE) {
        snprintf(answer.error, sizeof(answer.error), "%s", problem->text);
        relay_send_answer(out, &answer, HELLO_TIME, &of_answer);
    }
    return result;
}
