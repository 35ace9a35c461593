/* SPDX-License-Identifier: MIT */
/* view_controlled.c: clients of a running monitor, at a socket. See view_controlled.h. */
#include "command/views/view_controlled.h"

#include "command/shared/command.h"
#include "monitor/control_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS_MOST 16
#define LINE_MOST    65536
#define OUT_MOST     (64u << 20) /* bytes of answers that a client has not read: it is closed */

struct client {
    int socket; /* negative: free */
    uint64_t number;
    char line[LINE_MOST];
    size_t size;
    char *out; /* answers that were not sent yet */
    size_t out_size, out_capacity, sent;
};

struct view_controlled {
    struct control_lines *lines;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    int listener, epoll;
    struct client clients[CLIENTS_MOST];
    uint64_t last_client;
};

/* ---- answers ---- */

static void close_client(struct client *client)
{
    close(client->socket);
    free(client->out);
    client->socket = -1;
    client->out = NULL;
    client->size = client->out_size = client->out_capacity = client->sent = 0;
}

static bool has_answers(const struct client *client)
{
    return client->sent < client->out_size;
}

/* While answers wait, no more requests are read: so a client that does not read costs little. */
static void watch_client(const struct view_controlled *controlled, const struct client *client)
{
    struct epoll_event event = {.events = has_answers(client) ? EPOLLOUT : EPOLLIN};

    epoll_ctl(controlled->epoll, EPOLL_CTL_MOD, client->socket, &event);
}

/* Sends what the socket takes. */
static void send_answers(struct view_controlled *controlled, struct client *client)
{
    ssize_t put = 0;

    while (has_answers(client) && put >= 0) {
        put = send(client->socket, client->out + client->sent, client->out_size - client->sent,
                   MSG_NOSIGNAL | MSG_DONTWAIT);
        client->sent += put > 0 ? (size_t)put : 0;
    }
    if (put < 0 && errno != EAGAIN && errno != EINTR) {
        close_client(client);
        return;
    }
    if (!has_answers(client))
        client->out_size = client->sent = 0;
    watch_client(controlled, client);
}

static void add_answer(void *context, uint64_t number, const char *text)
{
    struct view_controlled *controlled = context;
    struct client *client = controlled->clients;
    size_t size = strlen(text);

    while (client < controlled->clients + CLIENTS_MOST &&
           (client->socket < 0 || client->number != number))
        client++;
    if (client == controlled->clients + CLIENTS_MOST)
        return; /* it has gone */
    if (client->out_size + size + 1 > OUT_MOST ||
        array_reserve(&client->out, &client->out_capacity, client->out_size + size + 1, 1) < 0) {
        shutdown(client->socket, SHUT_RDWR);
        return;
    }
    memcpy(client->out + client->out_size, text, size);
    client->out[client->out_size + size] = '\n';
    client->out_size += size + 1;
    watch_client(controlled, client);
}

/* ---- clients ---- */

static void take_lines(struct view_controlled *controlled, struct client *client)
{
    char *end;

    while (client->socket >= 0 && !has_answers(client) &&
           (end = memchr(client->line, '\n', client->size)) != NULL) {
        size_t size = (size_t)(end - client->line);
        control_lines_take(controlled->lines, client->number, client->line, size);
        client->size -= size + 1;
        memmove(client->line, end + 1, client->size);
        send_answers(controlled, client);
    }
}

static void read_client(struct view_controlled *controlled, struct client *client)
{
    ssize_t got =
        recv(client->socket, client->line + client->size, LINE_MOST - client->size, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    client->size += got > 0 ? (size_t)got : 0;
    take_lines(controlled, client);
    if (client->socket >= 0 && !has_answers(client) && (got <= 0 || client->size == LINE_MOST))
        close_client(client);
}

static void work_client(struct view_controlled *controlled, struct client *client)
{
    if (has_answers(client)) {
        send_answers(controlled, client);
        take_lines(controlled, client);
    }
    if (client->socket >= 0 && !has_answers(client))
        read_client(controlled, client);
}

static bool is_allowed(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void accept_client(struct view_controlled *controlled)
{
    struct epoll_event event = {.events = EPOLLIN};
    int socket = accept4(controlled->listener, NULL, NULL, SOCK_CLOEXEC);
    size_t i = 0;

    if (socket < 0)
        return;
    while (i < CLIENTS_MOST && controlled->clients[i].socket >= 0)
        i++;
    if (i == CLIENTS_MOST || !is_allowed(socket) ||
        epoll_ctl(controlled->epoll, EPOLL_CTL_ADD, socket, &event) < 0) {
        close(socket);
        return;
    }
    controlled->clients[i].socket = socket;
    controlled->clients[i].number = ++controlled->last_client;
}

int view_controlled_descriptor(const struct view_controlled *controlled)
{
    return controlled->epoll;
}

void view_controlled_work(struct view_controlled *controlled)
{
    accept_client(controlled);
    for (size_t i = 0; i < CLIENTS_MOST; i++)
        if (controlled->clients[i].socket >= 0)
            work_client(controlled, &controlled->clients[i]);
}

void view_controlled_changed(struct view_controlled *controlled, const struct view_change *change)
{
    control_lines_changed(controlled->lines, change);
}

void view_controlled_answered(struct view_controlled *controlled, uint64_t question,
                              const struct view_value *value, uint64_t time)
{
    control_lines_answered(controlled->lines, question, value, time);
}

/* ---- begin and end ---- */

/* What an earlier monitor has left, which was killed. */
static void remove_left(const struct sockaddr_un *address)
{
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat status;

    if (lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode) &&
        connect(probe, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
        errno == ECONNREFUSED)
        unlink(address->sun_path);
    close(probe);
}

static int listen_at(struct view_controlled *controlled, struct problem *problem)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct epoll_event event = {.events = EPOLLIN};

    memcpy(address.sun_path, controlled->path, sizeof(address.sun_path));
    remove_left(&address);
    controlled->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    controlled->epoll = epoll_create1(EPOLL_CLOEXEC);
    mode_t before = umask(0177);
    int result =
        bind(controlled->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
                listen(controlled->listener, CLIENTS_MOST) < 0 ||
                epoll_ctl(controlled->epoll, EPOLL_CTL_ADD, controlled->listener, &event) < 0
            ? -errno
            : 0;
    umask(before);
    if (result == 0)
        return 0;
    controlled->path[0] = '\0'; /* not ours */
    return problem_set(problem, result, "cannot listen at %s: %s", address.sun_path,
                       strerror(-result));
}

int view_controlled_new(const char *path, const struct view_file *file, struct monitor *monitor,
                        struct view_controlled **ret_controlled, struct problem *problem)
{
    struct view_controlled *controlled = calloc(1, sizeof(*controlled));

    if (controlled == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    const struct control_lines_calls calls = {controlled, add_answer};
    controlled->listener = controlled->epoll = -1;
    for (size_t i = 0; i < CLIENTS_MOST; i++)
        controlled->clients[i].socket = -1;
    int result = strlen(path) >= sizeof(controlled->path)
                     ? problem_set(problem, -ENAMETOOLONG,
                                   "%s: a socket's name has at most %zu "
                                   "bytes",
                                   path, sizeof(controlled->path) - 1)
                     : 0;
    if (result == 0 && control_lines_new(file, monitor, &calls, &controlled->lines) < 0)
        result = problem_set(problem, -ENOMEM, "out of memory");
    if (result == 0) {
        strcpy(controlled->path, path);
        result = listen_at(controlled, problem);
    }
    if (result < 0) {
        view_controlled_free(controlled);
        return result;
    }
    *ret_controlled = controlled;
    return 0;
}

void view_controlled_free(struct view_controlled *controlled)
{
    if (controlled == NULL)
        return;
    for (size_t i = 0; i < CLIENTS_MOST; i++)
        if (controlled->clients[i].socket >= 0)
            close_client(&controlled->clients[i]);
    control_lines_free(controlled->lines);
    if (controlled->listener >= 0)
        close(controlled->listener);
    if (controlled->epoll >= 0)
        close(controlled->epoll);
    if (controlled->path[0] != '\0')
        unlink(controlled->path);
    free(controlled);
}
