/* SPDX-License-Identifier: MIT */
/*
 * relay.c: a thread that moves bytes.
 *
 *      in ----> to_tcp ----> tcp          A pair of descriptors serves one connection: when either side ends, what is
 *      out <--- to_out <---- tcp          buffered for the other is still delivered, and then all of it ends.
 */
#include "relay/relay.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_SIZE 131072u
#define DIAL_MS                                                                                    \
    3000 /* for a server to take a connection, before the next one is tried; then for its first line */

/* From a connection of our own until the server answers it; else it ends. libnats 3.4 reads on for ever if a server that has
 * sent its first line does not answer within its timeout (nats.c issue 706): that of those who connect through a relay, 10 s, is
 * longer. */
#define ANSWER_MS 8000

struct pipeline {
    char bytes[BUFFER_SIZE];
    size_t begin, end;
    bool ended; /* nothing more comes in */
};

struct relay {
    pthread_t thread;
    int wake, events;
    int listener; /* -1: controller side */
    uint16_t port;

    pthread_mutex_t lock; /* of what follows */
    int new_in, new_out;  /* -1: none */
    bool closing, ended;

    /* the thread's */
    int in, out, tcp; /* -1: none */
    struct pipeline to_tcp, to_out;
    bool asked;         /* our own connection has sent something */
    uint64_t answer_by; /* UINT64_MAX: the answer has come, or none is waited for */
};

/* ---- small things ---- */

static void signal_event(int descriptor)
{
    uint64_t one = 1;

    if (write(descriptor, &one, sizeof(one)) < 0)
        return; /* it is readable already */
}

static void clear_event(int descriptor)
{
    uint64_t count;

    if (read(descriptor, &count, sizeof(count)) < 0)
        return; /* it was not */
}

static void close_pair(int in, int out)
{
    if (in >= 0)
        close(in);
    if (out >= 0 && out != in)
        close(out);
}

static void set_nonblocking(int descriptor)
{
    int flags = fcntl(descriptor, F_GETFL);

    if (flags >= 0)
        fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

/* ---- bytes ---- */

static size_t space_in(const struct pipeline *pipeline)
{
    return BUFFER_SIZE - pipeline->end;
}

static bool is_retry(ssize_t result)
{
    return result < 0 && (errno == EAGAIN || errno == EINTR);
}

static void fill(struct pipeline *pipeline, int from)
{
    ssize_t result = read(from, pipeline->bytes + pipeline->end, space_in(pipeline));

    if (result > 0)
        pipeline->end += (size_t)result;
    else if (!is_retry(result))
        pipeline->ended = true;
}

/* Returns false if the other side is gone. */
static bool empty(struct pipeline *pipeline, int to)
{
    size_t size = pipeline->end - pipeline->begin;
    ssize_t result = size == 0 ? 0 : write(to, pipeline->bytes + pipeline->begin, size);

    if (result < 0)
        return is_retry(result);
    pipeline->begin += (size_t)result;
    if (pipeline->begin == pipeline->end)
        pipeline->begin = pipeline->end = 0;
    return true;
}

static bool is_finished(const struct pipeline *pipeline)
{
    return pipeline->ended && pipeline->begin == pipeline->end;
}

/* ---- beginning and ending ---- */

static void forget_bytes(struct relay *relay)
{
    relay->to_tcp.begin = relay->to_tcp.end = relay->to_out.begin = relay->to_out.end = 0;
    relay->to_tcp.ended = relay->to_out.ended = false;
}

static void end_all(struct relay *relay)
{
    close_pair(relay->in, relay->out);
    if (relay->tcp >= 0) {
        /* a process that is created and not started yet has a copy, until it executes its program */
        shutdown(relay->tcp, SHUT_RDWR);
        close(relay->tcp);
    }
    relay->in = relay->out = relay->tcp = -1;
    relay->answer_by = UINT64_MAX;
    forget_bytes(relay);
    pthread_mutex_lock(&relay->lock);
    if (relay->new_in < 0) {
        relay->ended = true;
        signal_event(relay->events);
    }
    pthread_mutex_unlock(&relay->lock);
}

/* Takes the descriptors that relay_attach left. Returns false when the relay closes. */
static bool take_new(struct relay *relay)
{
    clear_event(relay->wake);
    pthread_mutex_lock(&relay->lock);
    int in = relay->new_in, out = relay->new_out;
    bool closing = relay->closing;
    pthread_mutex_unlock(&relay->lock);
    if (closing || in < 0)
        return !closing;
    if (relay->in >= 0)
        end_all(relay);
    pthread_mutex_lock(&relay->lock);
    relay->new_in = relay->new_out = -1;
    pthread_mutex_unlock(&relay->lock);
    relay->in = in;
    relay->out = out;
    return true;
}

/* Whether the peer of an accepted connection is one of our own sockets. */
static bool is_own(int accepted)
{
    struct sockaddr_in peer, name;
    socklen_t size = sizeof(peer);
    struct dirent *entry;
    bool own = false;
    DIR *folder = getpeername(accepted, (struct sockaddr *)&peer, &size) != 0
                      ? NULL
                      : opendir("/proc/self/fd");

    while (folder != NULL && !own && (entry = readdir(folder)) != NULL) {
        size = sizeof(name);
        int descriptor = atoi(entry->d_name);
        own = entry->d_name[0] != '.' && descriptor != accepted &&
              getsockname(descriptor, (struct sockaddr *)&name, &size) == 0 &&
              size == sizeof(name) && name.sin_family == AF_INET &&
              name.sin_port == peer.sin_port && name.sin_addr.s_addr == peer.sin_addr.s_addr;
    }
    if (folder != NULL)
        closedir(folder);
    return own;
}

static void accept_own(struct relay *relay)
{
    int one = 1;
    int accepted = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (accepted < 0)
        return;
    if (relay->in < 0 || relay->tcp >= 0 || !is_own(accepted)) {
        close(accepted);
        return;
    }
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    relay->tcp = accepted;
    relay->asked = false;
    relay->answer_by = clock_now(CLOCK_MONOTONIC) + ANSWER_MS * 1000000ull;
}

/* ---- the thread ---- */

static void move_bytes(struct relay *relay, const struct pollfd polled[5])
{
    bool alive = true;

    if (polled[2].revents != 0 && relay->tcp >= 0) {
        fill(&relay->to_tcp, relay->in);
        relay->answer_by = relay->asked ? UINT64_MAX : relay->answer_by;
    }
    if (polled[4].revents & (POLLIN | POLLHUP | POLLERR) && space_in(&relay->to_out) > 0) {
        fill(&relay->to_out, relay->tcp);
        relay->asked = true;
    }
    if (relay->tcp >= 0)
        alive = empty(&relay->to_tcp, relay->tcp) && empty(&relay->to_out, relay->out);
    /* Without a connection nothing is read, but the other end may be gone. */
    if (relay->tcp < 0 && polled[2].revents & (POLLHUP | POLLERR | POLLNVAL))
        alive = false;
    if (polled[3].revents & (POLLERR | POLLNVAL))
        alive = false;
    if (!alive || is_finished(&relay->to_tcp) || is_finished(&relay->to_out))
        end_all(relay);
}

/* A negative descriptor is left out by poll. One that is not waited for is left out, too: else its hang-up would make poll
 * return at once, again and again. */
static short input_of(int descriptor, const struct pipeline *pipeline, int *ret_descriptor)
{
    *ret_descriptor = !pipeline->ended && space_in(pipeline) > 0 ? descriptor : -1;
    return POLLIN;
}

static void wait_for_bytes(struct relay *relay, struct pollfd polled[5])
{
    bool to_out = relay->to_out.begin != relay->to_out.end;
    bool to_tcp = relay->to_tcp.begin != relay->to_tcp.end;

    polled[0] = (struct pollfd){.fd = relay->wake, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = relay->listener, .events = POLLIN};
    polled[2].events = input_of(relay->in, &relay->to_tcp, &polled[2].fd);
    if (relay->tcp < 0)
        polled[2].events = 0;
    polled[3] = (struct pollfd){.fd = to_out ? relay->out : -1, .events = POLLOUT};
    polled[4].events = input_of(relay->tcp, &relay->to_out, &polled[4].fd);
    if (to_tcp) {
        polled[4].events = (short)((polled[4].fd >= 0 ? POLLIN : 0) | POLLOUT);
        polled[4].fd = relay->tcp;
    }
    for (int i = 0; i < 5; i++)
        polled[i].revents = 0;
    poll(polled, 5, poll_timeout(relay->answer_by, clock_now(CLOCK_MONOTONIC)));
}

static void *run(void *context)
{
    struct relay *relay = context;
    struct pollfd polled[5];

    for (;;) {
        wait_for_bytes(relay, polled);
        if (polled[0].revents != 0 || polled[1].revents != 0) {
            if (!take_new(relay)) /* before a connection that belongs to the new descriptors */
                return NULL;
            if (polled[1].revents != 0)
                accept_own(relay);
            continue; /* what was polled may be closed */
        }
        if (relay->in >= 0)
            move_bytes(relay, polled);
        if (clock_now(CLOCK_MONOTONIC) >= relay->answer_by)
            end_all(relay);
    }
}

/* ---- the interface ---- */

static int start_thread(struct relay *relay)
{
    sigset_t all, before;

    sigfillset(
        &all); /* signals are for the program's own threads; and a write into a closed pipe is no signal here */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&relay->thread, NULL, run, relay);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

static struct relay *make(void)
{
    struct relay *relay = calloc(1, sizeof(*relay));

    if (relay == NULL)
        return NULL;
    relay->listener = relay->in = relay->out = relay->tcp = relay->new_in = relay->new_out = -1;
    relay->answer_by = UINT64_MAX;
    relay->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    relay->events = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&relay->lock, NULL);
    return relay;
}

static void destroy(struct relay *relay)
{
    const int descriptors[] = {relay->wake, relay->events, relay->listener, relay->tcp};

    close_pair(relay->in, relay->out);
    close_pair(relay->new_in, relay->new_out);
    for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    pthread_mutex_destroy(&relay->lock);
    free(relay);
}

static int open_listener(struct relay *relay)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);

    relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (relay->listener < 0 ||
        bind(relay->listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(relay->listener, 8) != 0 ||
        getsockname(relay->listener, (struct sockaddr *)&address, &size) != 0)
        return -errno;
    relay->port = ntohs(address.sin_port);
    return 0;
}

int relay_listen(struct relay **ret_relay, struct problem *problem)
{
    struct relay *relay = make();

    if (relay == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    int error = relay->wake < 0 || relay->events < 0 ? -EMFILE : open_listener(relay);
    if (error == 0)
        error = start_thread(relay);
    if (error != 0) {
        destroy(relay);
        return problem_set(problem, error, "cannot listen on 127.0.0.1: %s", strerror(-error));
    }
    *ret_relay = relay;
    return 0;
}

uint16_t relay_port(const struct relay *relay)
{
    return relay->port;
}

void relay_attach(struct relay *relay, int in, int out)
{
    set_nonblocking(in);
    set_nonblocking(out);
    pthread_mutex_lock(&relay->lock);
    close_pair(relay->new_in, relay->new_out);
    relay->new_in = in;
    relay->new_out = out;
    relay->ended = false;
    clear_event(relay->events);
    pthread_mutex_unlock(&relay->lock);
    signal_event(relay->wake);
}

/* Moves bytes between a connection and a pair; takes them over, also in case of an error. */
static int connect_pair(int tcp, int in, int out, struct relay **ret_relay)
{
    struct relay *relay = make();
    int one = 1;

    if (relay == NULL) {
        close_pair(in, out);
        close(tcp);
        return -ENOMEM;
    }
    relay->in = in;
    relay->out = out;
    relay->tcp = tcp;
    set_nonblocking(in);
    set_nonblocking(out);
    setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    set_nonblocking(tcp);
    int error = relay->wake < 0 || relay->events < 0 ? -EMFILE : start_thread(relay);
    if (error != 0) {
        destroy(relay);
        return error;
    }
    *ret_relay = relay;
    return 0;
}

int relay_connect(uint16_t port, int in, int out, struct relay **ret_relay, struct problem *problem)
{
    char url[64];

    snprintf(url, sizeof(url), "nats://127.0.0.1:%u", port);
    return relay_connect_to(url, in, out, ret_relay, problem);
}

static uint64_t dial_end(void)
{
    return clock_now(CLOCK_MONOTONIC) + DIAL_MS * 1000000ull;
}

/* Whether the file has become ready by `end`. */
static bool await_ready(int file, short events, uint64_t end)
{
    struct pollfd polled = {.fd = file, .events = events};
    int ready;

    do
        ready = poll(&polled, 1, poll_timeout(end, clock_now(CLOCK_MONOTONIC)));
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* Returns a connection, or a negative errno. */
static int dial_one(const struct addrinfo *info)
{
    int tcp = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;
    socklen_t size = sizeof(error);

    if (tcp < 0)
        return -errno;
    if (connect(tcp, info->ai_addr, info->ai_addrlen) != 0)
        error = errno;
    if (error == EINPROGRESS) {
        error = 0;
        if (!await_ready(tcp, POLLOUT, dial_end()))
            error = ETIMEDOUT;
        else
            getsockopt(tcp, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0)
        return tcp;
    close(tcp);
    return -error;
}

static int dial(const struct fabric_address *address, struct problem *problem)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    int error = getaddrinfo(address->host, address->port, &hints, &list), tcp = -EADDRNOTAVAIL;

    if (error != 0)
        return problem_set(problem, -EHOSTUNREACH, "%s:%s: no server answers: %s", address->host,
                           address->port, gai_strerror(error));
    for (const struct addrinfo *info = list; tcp < 0 && info != NULL; info = info->ai_next)
        tcp = dial_one(info);
    freeaddrinfo(list);
    return tcp >= 0 ? tcp
                    : problem_set(problem, tcp, "%s:%s: no server answers: %s", address->host,
                                  address->port, strerror(-tcp));
}

#define INFO_MOST 4096 /* bytes of a server's first line that are looked at */

/* The first line of a server says whether it wants encryption: INFO {"tls_required":true, ...} */
static bool wants_encryption(int tcp)
{
    char text[INFO_MOST + 1] = "";
    uint64_t end = dial_end();
    size_t length = 0;
    ssize_t got = 1;

    while (got != 0 && length < INFO_MOST && strchr(text, '\n') == NULL &&
           await_ready(tcp, POLLIN, end)) {
        got = read(tcp, text + length, INFO_MOST - length);
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            break;
        length += got > 0 ? (size_t)got : 0;
        text[length] = '\0';
    }
    return strstr(text, "\"tls_required\":true") != NULL;
}

int relay_check_scheme(const char *urls, struct problem *problem)
{
    struct fabric_address address;
    struct problem ignored;
    int result = 0;

    while (result == 0 && urls != NULL) {
        result = fabric_address_parse(urls, &address, &urls, problem);
        int tcp = result < 0 || address.tls ? -1 : dial(&address, &ignored);
        if (tcp >= 0 && wants_encryption(tcp))
            result = problem_set(problem, -EPROTO,
                                 "nats://%s:%s: its server wants encryption: write tls://%s:%s",
                                 address.host, address.port, address.host, address.port);
        if (tcp >= 0)
            close(tcp);
    }
    return result;
}

int relay_connect_to(const char *urls, int in, int out, struct relay **ret_relay,
                     struct problem *problem)
{
    struct fabric_address address;
    int result = -EINVAL;

    while (result < 0 && urls != NULL) {
        result = fabric_address_parse(urls, &address, &urls, problem);
        if (result == 0)
            result = dial(&address, problem);
    }
    if (result < 0) {
        close_pair(in, out);
        return result;
    }
    result = connect_pair(result, in, out, ret_relay);
    return result == 0 ? 0
                       : problem_set(problem, result, "%s:%s: no relay: %s", address.host,
                                     address.port, strerror(-result));
}

int relay_descriptor(const struct relay *relay)
{
    return relay->events;
}

bool relay_ended(struct relay *relay)
{
    pthread_mutex_lock(&relay->lock);
    bool ended = relay->ended;
    pthread_mutex_unlock(&relay->lock);
    return ended;
}

void relay_close(struct relay *relay)
{
    if (relay == NULL)
        return;
    pthread_mutex_lock(&relay->lock);
    relay->closing = true;
    pthread_mutex_unlock(&relay->lock);
    signal_event(relay->wake);
    pthread_join(relay->thread, NULL);
    destroy(relay);
}
