/* SPDX-License-Identifier: MIT */
/*
 * filesystem_process.c: common to every process of the file system: connections, messages, counts.
 *
 *     wait ──► peek at the header ──► take the whole message ──► count ──► work ──► the process
 *     (poll)    (MSG_PEEK)             (one recv)
 *
 * The header has the length of the message, so each message is taken by one call, as it was sent by one. Messages that
 * are not handled yet wait in the kernel, where a meter can see them.
 */
#include "filesystem.h"
#include "work.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

const char *const role_names[ROLES + 1] = {
    "disk-interface", "buffer-manager", "directory-mgr", "request-interp", "user-process", "nobody",
};

/* ---- beginning and end ---- */

static unsigned argument_number(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);
    return *text && !*end && value >= 0 && value < 1 << 20 ? (unsigned)value : UINT32_MAX;
}

void process_begin(struct process *process, int argument_count, char **arguments, unsigned expected)
{
    const unsigned number = argument_count == 4 ? argument_number(arguments[1]) : UINT32_MAX;
    if (number >= PROCESSES) {
        fprintf(stderr, "%s: is started by the program filesystem\n", arguments[0]);
        exit(2);
    }
    memset(process, 0, sizeof(*process));
    process->number = number;
    process->listener = number < SERVERS ? (int)argument_number(arguments[3]) : -1;
    process->last_role = ROLE_NOBODY;
    memset(process->peer_of, -1, sizeof(process->peer_of));
    process->shared = mmap(NULL, sizeof(*process->shared), PROT_READ | PROT_WRITE, MAP_SHARED,
                           (int)argument_number(arguments[2]), 0);
    if (process->shared == MAP_FAILED) {
        fprintf(stderr, "%s: what is shared: %s\n", arguments[0], strerror(errno));
        exit(2);
    }
    process->counts = &process->shared->counts[number];
    process->expected = expected ? expected : process->shared->settings.users;
}

int process_end(const struct process *process, int error)
{
    if (error >= 0)
        return 0;
    fprintf(stderr, "%s: %s\n", role_names[role_of(process->number)],
            error == -ECONNRESET ? "lost a process it needs" : strerror(-error));
    return 1;
}

/* ---- connections ---- */

static int add_peer(struct process *process, int descriptor, bool accepted)
{
    const int yes = 1;
    int domain;
    socklen_t size = sizeof(domain);
    if (process->peer_count == PROCESSES) {
        close(descriptor);
        return -EMFILE;
    }
    if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain != AF_UNIX)
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    process->peers[process->peer_count] = (struct peer){descriptor, accepted};
    return (int)process->peer_count++;
}

static int connect_once(const struct address *address)
{
    const int descriptor = socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return -errno;
    if (connect(descriptor, (const struct sockaddr *)&address->socket, address->size) < 0) {
        const int error = -errno;
        close(descriptor);
        return error;
    }
    return descriptor;
}

#define CONNECT_TRIES 1200 /* a minute */

int process_connect(struct process *process, unsigned server)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    int descriptor = connect_once(&process->shared->addresses[server]);
    for (int tries = 1;
         descriptor == -ECONNREFUSED && process->shared->settings.apart && tries < CONNECT_TRIES;
         tries++) {
        nanosleep(&pause, NULL);
        descriptor = connect_once(&process->shared->addresses[server]);
    }
    if (descriptor < 0)
        return descriptor;
    const int index = add_peer(process, descriptor, false);
    if (index < 0)
        return index;
    process->peer_of[server] = index;
    return 0;
}

static int accept_peer(struct process *process)
{
    const int descriptor = accept4(process->listener, NULL, NULL, SOCK_CLOEXEC);
    if (descriptor < 0)
        return -errno;
    const int index = add_peer(process, descriptor, true);
    if (index < 0)
        return index;
    process->alive++;
    if (--process->expected == 0) {
        close(process->listener);
        process->listener = -1;
    }
    return 0;
}

/* A client may disconnect when it is done; a server we need may not. A message sent because of that is no answer to
 * an earlier message. */
static int drop_peer(struct process *process, struct peer *peer)
{
    close(peer->descriptor);
    peer->descriptor = -1;
    process->last_role = ROLE_NOBODY;
    if (!peer->accepted)
        return -ECONNRESET;
    process->alive--;
    return 0;
}

/* ---- messages ---- */

void message_answer(struct message *message, int error, size_t data_size)
{
    message->answer = 1;
    message->error = (int16_t)error;
    message->size = (uint32_t)(MESSAGE_HEADER + (error < 0 ? 0 : data_size));
}

int process_send(struct process *process, unsigned to, struct message *message)
{
    const int index = process->peer_of[to];
    size_t sent = 0;

    message->from = (uint16_t)process->number;
    if (index < 0 || process->peers[index].descriptor < 0)
        return -ECONNRESET;
    while (sent < message->size) {
        const ssize_t part = send(process->peers[index].descriptor, (const uint8_t *)message + sent,
                                  message->size - sent, MSG_NOSIGNAL);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return errno == EPIPE ? -ECONNRESET : -errno;
        sent += (size_t)part;
    }
    process->counts->sent[role_of(to)]++;
    process->counts->sent_bytes[role_of(to)] += message->size;
    process->counts->next[process->last_role][role_of(to)]++;
    return 0;
}

/* Returns 1; 0 if the peer is gone; or a negative errno. */
static int take(struct process *process, int index, struct message *message)
{
    const int descriptor = process->peers[index].descriptor;
    const ssize_t seen = recv(descriptor, message, MESSAGE_HEADER, MSG_PEEK | MSG_WAITALL);
    if (seen < 0 && errno != ECONNRESET)
        return -errno;
    if (seen == 0) /* the end of file is taken like a message: a meter should see it */
        recv(descriptor, message, MESSAGE_HEADER, 0);
    if (seen <= 0)
        return 0;
    if (seen != MESSAGE_HEADER || message->size < MESSAGE_HEADER ||
        message->size > sizeof(*message) || message->from >= PROCESSES)
        return -EPROTO;
    const ssize_t taken = recv(descriptor, message, message->size, MSG_WAITALL);
    if (taken != (ssize_t)message->size)
        return taken < 0 ? -errno : -EPROTO;

    process->peer_of[message->from] = index;
    process->last_role = role_of(message->from);
    process->counts->received[process->last_role]++;
    work((uint64_t)process->shared->settings.cost_us[role_of(process->number)] * 1000);
    return 1;
}

static bool listens_to(const struct process *process, const struct peer *peer)
{
    return peer->descriptor >= 0 && !(peer->accepted && process->hold_accepted);
}

/* Waits, and accepts connections. Returns the index of a peer that has sent something or is gone, or -EAGAIN. */
static int wait_for_peer(struct process *process)
{
    struct pollfd entries[PROCESSES + 1];
    const unsigned count = process->peer_count;
    for (unsigned index = 0; index < count; index++) {
        const struct peer *peer = &process->peers[index];
        entries[index] = (struct pollfd){.fd = listens_to(process, peer) ? peer->descriptor : -1,
                                         .events = POLLIN};
    }
    entries[count] = (struct pollfd){.fd = process->listener, .events = POLLIN};
    if (poll(entries, count + 1, -1) < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    for (unsigned index = 0; index < count; index++) {
        const unsigned turned = (process->next_peer + index) % count;
        if (entries[turned].revents) {
            process->next_peer = turned + 1;
            return (int)turned;
        }
    }
    const int error = entries[count].revents ? accept_peer(process) : 0;
    return error < 0 ? error : -EAGAIN;
}

int process_receive(struct process *process, struct message *ret_message)
{
    while (process->expected > 0 || process->alive > 0) {
        const int index = wait_for_peer(process);
        if (index == -EAGAIN)
            continue;
        if (index < 0)
            return index;
        const int taken = take(process, index, ret_message);
        if (taken != 0)
            return taken;
        const int error = drop_peer(process, &process->peers[index]);
        if (error < 0)
            return error;
    }
    return 0;
}

int process_call(struct process *process, unsigned to, struct message *message)
{
    const int error = process_send(process, to, message);
    if (error < 0)
        return error;
    const int taken = take(process, process->peer_of[to], message);
    if (taken <= 0)
        return taken < 0 ? taken : -ECONNRESET;
    return message->answer ? message->error : -EPROTO;
}

uint64_t random_next(uint64_t *state)
{
    uint64_t value = (*state += 0x9e3779b97f4a7c15u);
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}
