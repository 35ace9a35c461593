/* SPDX-License-Identifier: MIT */
/*
 * tsp_crew.c: the controller's servers: starting, using and ending them.
 *
 *     children[]   processes this controller forked       pidfd each: a death can be polled for
 *     servers[]    connections that said HELLO            joined to a child by process id
 *
 * Servers started by hand have no child. servers[] is in the order of connecting, which is independent of the order of
 * children[].
 */
#include "tsp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HELLO_SECONDS 5 /* for a new connection to identify itself */
#define END_SECONDS   5 /* for a child to end after FINISH */

static int64_t now_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* poll until something is ready or `deadline` (ms, negative: none); restarts after signals. */
static int poll_until(struct pollfd *entries, unsigned count, int64_t deadline)
{
    for (;;) {
        int64_t left = deadline < 0 ? -1 : deadline - now_milliseconds();
        int ready = poll(entries, count, deadline < 0 ? -1 : left > 0 ? (int)left : 0);
        if (ready < 0 && errno == EINTR)
            continue;
        return ready < 0 ? -errno : ready;
    }
}

/* ---- children ---- */

/* How a process ended, in words. */
static void describe_status(int status, char *ret_text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(ret_text, size, "killed by signal %d, %s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(ret_text, size, "exit code %d", WEXITSTATUS(status));
}

/* Waits up to `seconds` for the child to end. Returns 0, -ETIMEDOUT or a negative errno. */
static int child_reap(struct child *child, unsigned seconds, int *ret_status)
{
    struct pollfd entry = {.fd = child->descriptor, .events = POLLIN};
    int ready = poll_until(&entry, 1, now_milliseconds() + seconds * 1000);
    if (ready <= 0)
        return ready < 0 ? ready : -ETIMEDOUT;
    if (waitpid(child->process, ret_status, 0) < 0)
        return -errno;
    close(child->descriptor);
    child->descriptor = -1;
    child->process = 0;
    return 0;
}

/* The child with this process id; NULL if it was reaped, or for a server started by hand. */
static struct child *child_of(struct crew *crew, pid_t process)
{
    for (unsigned index = 0; process > 0 && index < crew->child_count; index++)
        if (crew->children[index].process == process)
            return &crew->children[index];
    return NULL;
}

static int child_start(struct child *child, const char *program, const char *host, const char *port)
{
    const pid_t process = fork();
    if (process < 0)
        return -errno;
    if (process == 0) {
        execl(program, "tsp-server", host, port, (char *)NULL);
        fprintf(stderr, "tsp: cannot execute %s: %s\n", program, strerror(errno));
        _exit(127);
    }
    child->process = process;
    child->descriptor = pidfd_open(process, 0);
    return child->descriptor < 0 ? -errno : 0;
}

int crew_spawn(struct crew *crew, const char *program, unsigned count, struct problem *problem)
{
    for (unsigned index = 0; index < count; index++) {
        struct child *child = &crew->children[crew->child_count];
        *child = (struct child){.descriptor = -1};
        int error = child_start(child, program, crew->host, crew->port);
        if (child->process)
            crew->child_count++;
        if (error < 0)
            return problem_set(problem, error, "cannot start server %u: %s", index + 1,
                               strerror(-error));
    }
    return 0;
}

/* ---- listening ---- */

/* Splits "HOST:PORT" or "[HOST]:PORT". */
static int split_address(const char *address, char *ret_host, size_t host_size,
                         const char **ret_port)
{
    const char *colon = strrchr(address, ':');
    const char *begin = address, *end = colon;
    if (!colon)
        return -EINVAL;
    if (end > begin + 1 && *begin == '[' && end[-1] == ']') {
        begin++;
        end--;
    }
    const size_t length = (size_t)(end - begin);
    if (length == 0 || length >= host_size || colon[1] == '\0')
        return -EINVAL;
    memcpy(ret_host, begin, length);
    ret_host[length] = '\0';
    *ret_port = colon + 1;
    return 0;
}

static int listen_at(const struct addrinfo *address, int *ret_descriptor)
{
    const int yes = 1;
    int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return -errno;
    if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(descriptor, address->ai_addr, address->ai_addrlen) < 0 ||
        listen(descriptor, SERVERS_LIMIT) < 0) {
        int error = -errno;
        close(descriptor);
        return error;
    }
    *ret_descriptor = descriptor;
    return 0;
}

/* Stores the actual address of the listener: the kernel may have chosen the port. */
static int note_address(struct crew *crew)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if (getsockname(crew->listener, (struct sockaddr *)&address, &size) < 0)
        return -errno;
    return getnameinfo((struct sockaddr *)&address, size, crew->host, sizeof(crew->host),
                       crew->port, sizeof(crew->port), NI_NUMERICHOST | NI_NUMERICSERV)
               ? -EINVAL
               : 0;
}

int crew_listen(struct crew *crew, const char *address, unsigned timeout_seconds,
                struct problem *problem)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    char host[INET6_ADDRSTRLEN];
    const char *port;
    struct addrinfo *found;

    memset(crew, 0, sizeof(*crew));
    crew->listener = -1;
    crew->timeout_seconds = timeout_seconds;
    if (split_address(address, host, sizeof(host), &port) < 0 ||
        getaddrinfo(host, port, &hints, &found) != 0)
        return problem_set(problem, -EINVAL,
                           "%s is no address: write it like 127.0.0.1:5000 or [::1]:5000", address);
    int error = listen_at(found, &crew->listener);
    freeaddrinfo(found);
    if (error == 0)
        error = note_address(crew);
    if (error < 0)
        return problem_set(problem, error, "cannot listen at %s: %s", address, strerror(-error));
    return 0;
}

/* ---- messages to and from servers ---- */

/* Reports which server failed, and how, if it was a child that ended. */
static int server_problem(struct crew *crew, unsigned index, int error, struct problem *problem)
{
    const struct server *server = &crew->servers[index];
    struct child *child = child_of(crew, server->process);
    char how[64] = "connection lost";
    int status;

    if (error == -EPROTO)
        return problem_set(problem, error, "server %u (process %d) sent something wrong", index + 1,
                           (int)server->process);
    if (error == -ETIMEDOUT)
        return problem_set(problem, error, "server %u (process %d) has not answered for %u s",
                           index + 1, (int)server->process, crew->timeout_seconds);
    if (error != -ECONNRESET)
        snprintf(how, sizeof(how), "%s", strerror(-error));
    else if (child && child_reap(child, 1, &status) == 0)
        describe_status(status, how, sizeof(how));
    return problem_set(problem, error, "server %u (process %d) was lost: %s", index + 1,
                       (int)server->process, how);
}

static int server_send(struct crew *crew, unsigned index, struct message *message,
                       struct problem *problem)
{
    int error = connection_send(&crew->servers[index].connection, message);
    if (error < 0)
        return server_problem(crew, index, error, problem);
    crew->messages++;
    return 0;
}

int crew_request(struct crew *crew, unsigned server, uint32_t number, const struct path *piece,
                 struct problem *problem)
{
    struct message message;
    message_begin(&message, MESSAGE_REQUEST);
    message_put_u32(&message, number);
    message_put_path(&message, piece);
    int error = server_send(crew, server, &message, problem);
    if (error < 0)
        return error;
    crew->servers[server].outstanding++;
    return 0;
}

/* The first server with an unanswered request. */
static unsigned silent_server(const struct crew *crew)
{
    unsigned index = 0;
    while (index + 1 < crew->server_count && !crew->servers[index].outstanding)
        index++;
    return index;
}

/* Waits for a server that has sent something, or is gone. Returns its index, or a negative errno. */
static int wait_for_server(struct crew *crew, struct problem *problem)
{
    struct pollfd entries[SERVERS_LIMIT];
    const int64_t deadline = now_milliseconds() + (int64_t)crew->timeout_seconds * 1000;

    for (unsigned index = 0; index < crew->server_count; index++) {
        if (connection_has_message(&crew->servers[index].connection))
            return (int)index;
        entries[index] =
            (struct pollfd){.fd = crew->servers[index].connection.descriptor, .events = POLLIN};
    }
    int ready = poll_until(entries, crew->server_count, deadline);
    if (ready == 0)
        return server_problem(crew, silent_server(crew), -ETIMEDOUT, problem);
    if (ready < 0)
        return problem_set(problem, ready, "waiting for the servers: %s", strerror(-ready));
    unsigned index = crew->next_to_read % crew->server_count;
    while (!entries[index].revents)
        index = (index + 1) % crew->server_count;
    crew->next_to_read = index + 1;
    return (int)index;
}

int crew_reply(struct crew *crew, unsigned cities, unsigned *ret_server, uint32_t *ret_number,
               struct choice *ret_choice, struct problem *problem)
{
    struct message message;
    struct choice choice = {.value = 0};
    const int ready = wait_for_server(crew, problem);
    if (ready < 0)
        return ready;
    const unsigned index = (unsigned)ready;
    struct server *server = &crew->servers[index];
    int error = connection_receive(&server->connection, &message);
    if (error < 0)
        return server_problem(crew, index, error, problem);
    crew->messages++;

    const uint32_t number = message_get_u32(&message);
    choice.value = (int32_t)message_get_u32(&message);
    message_get_path(&message, &choice.path, cities);
    if (message_type(&message) != MESSAGE_REPLY || !message_complete(&message) ||
        server->outstanding == 0)
        return server_problem(crew, index, -EPROTO, problem);
    server->outstanding--;
    server->answered++;
    *ret_server = index;
    *ret_number = number;
    *ret_choice = choice;
    return 0;
}

/* ---- joining ---- */

/* Accepts a new connection if it sends HELLO; any other is closed, which is no error. */
static void welcome(struct crew *crew, int descriptor)
{
    struct server *server = &crew->servers[crew->server_count];
    struct message message;
    memset(server, 0, sizeof(*server));
    int error = connection_open(&server->connection, descriptor, HELLO_SECONDS);
    if (error == 0)
        error = connection_receive(&server->connection, &message);
    if (error == 0) {
        const uint32_t magic = message_get_u32(&message);
        server->process = (pid_t)message_get_u32(&message);
        if (message_type(&message) != MESSAGE_HELLO || !message_complete(&message) ||
            magic != HELLO_MAGIC)
            error = -EPROTO;
    }
    if (error == 0)
        error = connection_open(&server->connection, descriptor, crew->timeout_seconds);
    if (error < 0) {
        fprintf(stderr, "tsp: dropped a connection that is no server's: %s\n", strerror(-error));
        connection_close(&server->connection);
        return;
    }
    crew->messages++;
    crew->server_count++;
}

static int early_end(struct child *child, struct problem *problem)
{
    char how[64] = "in a way that is not known";
    int status;
    const int process = (int)child->process;
    if (child_reap(child, 0, &status) == 0)
        describe_status(status, how, sizeof(how));
    return problem_set(problem, -ECHILD, "server process %d ended before it connected: %s", process,
                       how);
}

/* Waits for a connection, or for the death of a child. */
static int wait_for_connection(struct crew *crew, int64_t deadline, struct problem *problem)
{
    struct pollfd entries[1 + SERVERS_LIMIT];

    entries[0] = (struct pollfd){.fd = crew->listener, .events = POLLIN};
    for (unsigned index = 0; index < crew->child_count; index++)
        entries[1 + index] =
            (struct pollfd){.fd = crew->children[index].descriptor, .events = POLLIN};
    int ready = poll_until(entries, 1 + crew->child_count, deadline);
    if (ready < 0)
        return problem_set(problem, ready, "waiting for servers: %s", strerror(-ready));
    if (ready == 0)
        return problem_set(problem, -ETIMEDOUT, "only %u servers have connected within %u s",
                           crew->server_count, crew->timeout_seconds);
    for (unsigned index = 0; index < crew->child_count; index++)
        if (entries[1 + index].revents)
            return early_end(&crew->children[index], problem);
    return 0;
}

static int join_one(struct crew *crew, int64_t deadline, struct problem *problem)
{
    int error = wait_for_connection(crew, deadline, problem);
    if (error < 0)
        return error;
    int descriptor = accept4(crew->listener, NULL, NULL, SOCK_CLOEXEC);
    if (descriptor >= 0)
        welcome(crew, descriptor);
    else if (errno != EINTR && errno != ECONNABORTED) {
        error = -errno;
        return problem_set(problem, error, "cannot accept a server: %s", strerror(-error));
    }
    return 0;
}

int crew_join(struct crew *crew, unsigned count, const struct costs *costs, struct problem *problem)
{
    const int64_t deadline =
        crew->child_count ? now_milliseconds() + (int64_t)crew->timeout_seconds * 1000 : -1;
    struct message message;
    int error;

    while (crew->server_count < count)
        if ((error = join_one(crew, deadline, problem)) < 0)
            return error;
    close(crew->listener);
    crew->listener = -1;
    crew->used_count = crew->server_count;

    for (unsigned index = 0; index < crew->server_count; index++) {
        message_begin(&message, MESSAGE_MATRIX);
        message_put_matrix(&message, costs);
        if ((error = server_send(crew, index, &message, problem)) < 0)
            return error;
    }
    return 0;
}

/* ---- the end ---- */

int crew_finish(struct crew *crew, struct problem *problem)
{
    struct message message;
    char how[64];
    int error, status;

    for (unsigned index = 0; index < crew->server_count; index++) {
        message_begin(&message, MESSAGE_FINISH);
        if ((error = server_send(crew, index, &message, problem)) < 0)
            return error;
    }
    for (unsigned index = 0; index < crew->child_count; index++) {
        const int process = (int)crew->children[index].process;
        if ((error = child_reap(&crew->children[index], END_SECONDS, &status)) < 0)
            return problem_set(problem, error, "server process %d did not end: %s", process,
                               strerror(-error));
        if (status != 0) {
            describe_status(status, how, sizeof(how));
            return problem_set(problem, -ECHILD, "server process %d ended badly: %s", process, how);
        }
    }
    crew_abandon(crew);
    return 0;
}

void crew_abandon(struct crew *crew)
{
    if (crew->listener >= 0)
        close(crew->listener);
    crew->listener = -1;
    /* SIGKILL: a stopped process would not handle SIGTERM, and a server has nothing to save. */
    for (unsigned index = 0; index < crew->child_count; index++) {
        struct child *child = &crew->children[index];
        if (!child->process)
            continue;
        kill(child->process, SIGKILL);
        waitpid(child->process, NULL, 0);
        if (child->descriptor >= 0)
            close(child->descriptor);
        *child = (struct child){.descriptor = -1};
    }
    for (unsigned index = 0; index < crew->server_count; index++)
        connection_close(&crew->servers[index].connection);
    crew->child_count = 0;
}
