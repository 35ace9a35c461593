/* SPDX-License-Identifier: MIT */
/*
 * timer_server.c: a small server that does more than answer requests: a timer wakes it for housekeeping, with or
 * without requests.
 *
 *     timer-client ── request (16 bytes) ──► work ──► answer (16 bytes)
 *       works                                            meanwhile
 *     timer        ── every few ms ────────► work
 *
 * It starts its client, and exits when the client is gone.
 */
#include "work.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE_SIZE 16

/* The numbers on the command line, in this order. */
enum setting {
    REQUESTS,
    WORK_US,
    THINK_US,
    PERIOD_MS,
    HOUSEKEEPING_US,
    CLIENT_US,
    SETTINGS,
};

static const char usage[] =
    "usage: timer-server [REQUESTS [WORK-US [THINK-US [PERIOD-MS [HOUSEKEEPING-US "
    "[CLIENT-US]]]]]]\n"
    "  REQUESTS of its client (500), WORK-US of CPU time for each (1000), THINK-US that the "
    "client\n"
    "  sleeps before each (500); every PERIOD-MS (20) HOUSEKEEPING-US of CPU time (1000);\n"
    "  CLIENT-US that the client works before it waits for the answer (1000)\n";

struct server {
    unsigned long settings[SETTINGS];
    int client; /* socket */
    int timer;
    uint64_t answered;
    uint64_t ticks;  /* housekeeping runs */
    uint64_t missed; /* periods that ended before the previous one was served */
};

static int parse(struct server *server, int argument_count, char **arguments)
{
    const unsigned long presets[SETTINGS] = {500, 1000, 500, 20, 1000, 1000};
    memcpy(server->settings, presets, sizeof(presets));
    if (argument_count > SETTINGS + 1)
        return -EINVAL;
    for (int index = 1; index < argument_count; index++) {
        char *end;
        server->settings[index - 1] = strtoul(arguments[index], &end, 10);
        if (*end || end == arguments[index] || server->settings[index - 1] > 10000000)
            return -EINVAL;
    }
    return server->settings[PERIOD_MS] > 0 ? 0 : -EINVAL;
}

/* The client gets its end of the connection as standard input. */
static int start_client(struct server *server)
{
    char path[PATH_MAX], requests[24], think[24], works[24];
    int ends[2];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 32);
    if (length < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    path[length] = '\0';
    strcpy(strrchr(path, '/') + 1, "timer-client");
    const pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], STDIN_FILENO);
        snprintf(requests, sizeof(requests), "%lu", server->settings[REQUESTS]);
        snprintf(think, sizeof(think), "%lu", server->settings[THINK_US]);
        snprintf(works, sizeof(works), "%lu", server->settings[CLIENT_US]);
        execl(path, "timer-client", requests, think, works, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    server->client = ends[0];
    return 0;
}

static int start_timer(struct server *server)
{
    const unsigned long ms = server->settings[PERIOD_MS];
    const struct timespec period = {.tv_sec = (time_t)(ms / 1000),
                                    .tv_nsec = (long)(ms % 1000) * 1000000};
    const struct itimerspec times = {.it_interval = period, .it_value = period};
    server->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (server->timer < 0 || timerfd_settime(server->timer, 0, &times, NULL) < 0)
        return -errno;
    return 0;
}

static void keep_house(struct server *server)
{
    uint64_t periods;
    if (read(server->timer, &periods, sizeof(periods)) != sizeof(periods))
        return;
    work(server->settings[HOUSEKEEPING_US] * 1000);
    server->ticks++;
    server->missed += periods - 1;
}

/* Returns 1, or 0 when the client is gone, or a negative errno. */
static int answer(struct server *server)
{
    char message[MESSAGE_SIZE];
    const ssize_t size = recv(server->client, message, sizeof(message), MSG_WAITALL);
    if (size <= 0)
        return size < 0 ? -errno : 0;
    work(server->settings[WORK_US] * 1000);
    if (send(server->client, message, (size_t)size, MSG_NOSIGNAL) != size)
        return -EPIPE;
    server->answered++;
    return 1;
}

static int serve(struct server *server)
{
    int state = 1;
    while (state > 0) {
        struct pollfd entries[] = {{.fd = server->timer, .events = POLLIN},
                                   {.fd = server->client, .events = POLLIN}};
        if (poll(entries, 2, -1) < 0)
            return -errno;
        if (entries[0].revents)
            keep_house(server);
        if (entries[1].revents)
            state = answer(server);
    }
    return state;
}

int main(int argument_count, char **arguments)
{
    struct server server = {.client = -1, .timer = -1};
    int status = 0;
    if (parse(&server, argument_count, arguments) < 0) {
        fputs(usage, stderr);
        return 2;
    }
    int error = start_client(&server);
    if (error == 0)
        error = start_timer(&server);
    if (error == 0)
        error = serve(&server);
    if (error < 0) {
        fprintf(stderr, "timer-server: %s\n", strerror(-error));
        return 1;
    }
    wait(&status);
    printf("answered   %" PRIu64 "\nticks      %" PRIu64 "\nmissed     %" PRIu64 "\n",
           server.answered, server.ticks, server.missed);
    const bool whole = status == 0 && server.answered == server.settings[REQUESTS];
    if (!whole)
        fprintf(stderr, "timer-server: the client ended early\n");
    return whole ? 0 : 1;
}
