/* SPDX-License-Identifier: MIT */
/* listening.c: where dpmd listens. See listening.h. */
#include "dpmd/listening.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_PASSED 3 /* the descriptor that systemd passes */
#define BACKLOG      16

/* Whether systemd has passed a socket to this process. */
static bool is_passed(void)
{
    const char *process = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");

    return process != NULL && count != NULL && strtol(process, NULL, 10) == getpid() &&
           strtol(count, NULL, 10) == 1;
}

static int take_passed(struct listening *listening, struct problem *problem)
{
    int type = 0;
    socklen_t size = sizeof(type);

    listening->socket = FIRST_PASSED;
    fcntl(FIRST_PASSED, F_SETFD, FD_CLOEXEC);
    if (getsockopt(FIRST_PASSED, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET)
        return problem_set(problem, -EINVAL,
                           "the socket that systemd has passed is not of type SOCK_SEQPACKET "
                           "(ListenSequentialPacket=)");
    return 0;
}

/* Makes the folder of the socket. */
static void make_folder(const char *path)
{
    char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
    char *slash;

    strcpy(folder, path); /* fits: listening_open has checked */
    slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder)
        return;
    *slash = '\0';
    mkdir(folder, 0755);
}

static bool answers(const struct sockaddr_un *address)
{
    int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool connected = connection >= 0 &&
                     connect(connection, (const struct sockaddr *)address, sizeof(*address)) == 0;

    if (connection >= 0)
        close(connection);
    return connected;
}

int listening_open(struct listening *listening, const char *path, struct problem *problem)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *listening = (struct listening){.socket = -1};
    if (is_passed())
        return take_passed(listening, problem);
    if (strlen(path) >= sizeof(address.sun_path))
        return problem_set(problem, -ENAMETOOLONG, "--socket: the name is too long");
    strcpy(address.sun_path, path);
    if (answers(&address))
        return problem_set(problem, -EADDRINUSE, "another dpmd listens at %s", path);
    make_folder(path);
    unlink(path);
    listening->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listening->socket < 0 ||
        bind(listening->socket, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        chmod(path, 0666) < 0 || listen(listening->socket, BACKLOG) < 0)
        return problem_set(problem, -errno, "cannot listen at %s: %s", path, strerror(errno));
    listening->path = path;
    return 0;
}

void listening_close(struct listening *listening)
{
    if (listening->socket >= 0)
        close(listening->socket);
}

void listening_remove(struct listening *listening)
{
    listening_close(listening);
    if (listening->path != NULL)
        unlink(listening->path);
}
