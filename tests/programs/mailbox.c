/* SPDX-License-Identifier: MIT */
/*
 * mailbox.c: several senders of UDP datagrams, one socket, and several threads that receive from it and log their
 * datagrams: the truth for mailbox_test.sh.
 *
 *      usage: mailbox SENDERS RECEIVERS COUNT REST BUFFER PAUSE SIZE ADDRESS SEED LOG
 *
 *      process 1 --\            /-- thread 1
 *      process 2 ---- 127.0.0.1 --- thread 2        of one process
 *      process N --/            \-- thread M
 *
 * Every sender sends COUNT datagrams of SIZE bytes (0: of different sizes), and rests for at most REST microseconds (0:
 * not at all) after up to eight of them. Every receiver rests for at most PAUSE microseconds after some of its
 * receives. BUFFER is SO_RCVBUF (0: the default). Each datagram begins with its sender and its number: 0, 1, 2 ... The
 * receivers end when none has come for three seconds. Then LOG has a line for each receive, in the order of each
 * thread: thread (its tid), sender (its pid), number. Standard output has the numbers of sent and received datagrams.
 *
 * The program ends after at most two minutes.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_RECEIVERS 16
#define BURST          8
#define LARGEST        200
#define MOST_SECONDS   120

struct message {
    uint32_t sender;
    uint32_t number;
};

struct settings {
    unsigned senders, receivers, count, rest, pause, seed;
    int buffer;
    size_t size;
    int descriptor; /* all receive from it */
    struct sockaddr_storage name;
    socklen_t name_length;
};

struct receiver {
    pthread_t thread;
    const struct settings *settings;
    unsigned seed;
    pid_t tid;
    size_t count;
    struct message *got;
};

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

static unsigned any(unsigned *seed, unsigned below)
{
    return (unsigned)rand_r(seed) % below;
}

/* ---- senders ---- */

static void send_all(const struct settings *settings, unsigned seed)
{
    char buffer[LARGEST] = {0};
    int descriptor = socket(settings->name.ss_family, SOCK_DGRAM, 0);
    unsigned left = 1;

    if (descriptor < 0 ||
        connect(descriptor, (const struct sockaddr *)&settings->name, settings->name_length) < 0)
        fail("connect");
    for (uint32_t i = 0; i < settings->count; i++) {
        struct message message = {.sender = (uint32_t)getpid(), .number = i};
        size_t size = settings->size != 0 ? settings->size
                                          : sizeof(message) + any(&seed, LARGEST - sizeof(message));

        memcpy(buffer, &message, sizeof(message));
        if (send(descriptor, buffer, size, 0) < 0)
            fail("send");
        if (--left == 0) {
            left = 1 + any(&seed, BURST);
            if (settings->rest > 0)
                usleep(any(&seed, settings->rest));
        }
    }
}

/* ---- receivers ---- */

static void *receive_all(void *context)
{
    struct receiver *receiver = context;
    const struct settings *settings = receiver->settings;
    char buffer[LARGEST];

    receiver->tid = gettid();
    while (recv(settings->descriptor, buffer, sizeof(buffer), 0) >=
           (ssize_t)sizeof(struct message)) {
        memcpy(&receiver->got[receiver->count++], buffer, sizeof(struct message));
        if (settings->pause > 0 && any(&receiver->seed, BURST) == 0)
            usleep(any(&receiver->seed, settings->pause));
    }
    return NULL;
}

static void open_socket(struct settings *settings, const char *address)
{
    const struct timeval patience = {.tv_sec = 3};
    struct sockaddr_in *in4 = (struct sockaddr_in *)&settings->name;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&settings->name;

    settings->name_length = sizeof(settings->name);
    if (inet_pton(AF_INET, address, &in4->sin_addr) == 1)
        in4->sin_family = AF_INET;
    else if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1)
        in6->sin6_family = AF_INET6;
    settings->descriptor = socket(settings->name.ss_family, SOCK_DGRAM, 0);
    if (settings->descriptor < 0 ||
        (settings->buffer > 0 && setsockopt(settings->descriptor, SOL_SOCKET, SO_RCVBUF,
                                            &settings->buffer, sizeof(settings->buffer)) < 0) ||
        setsockopt(settings->descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) <
            0 ||
        bind(settings->descriptor, (struct sockaddr *)&settings->name, sizeof(settings->name)) <
            0 ||
        getsockname(settings->descriptor, (struct sockaddr *)&settings->name,
                    &settings->name_length) < 0)
        fail(address);
}

static void start_receivers(const struct settings *settings, struct receiver *receivers)
{
    for (unsigned i = 0; i < settings->receivers; i++) {
        receivers[i].settings = settings;
        receivers[i].seed = settings->seed + 1000 + i;
        receivers[i].got =
            calloc((size_t)settings->senders * settings->count, sizeof(struct message));
        if (receivers[i].got == NULL ||
            pthread_create(&receivers[i].thread, NULL, receive_all, &receivers[i]) != 0)
            fail("a receiver");
    }
}

static void start_senders(const struct settings *settings)
{
    for (unsigned i = 0; i < settings->senders; i++) {
        pid_t pid = fork();

        if (pid < 0)
            fail("fork");
        if (pid == 0) {
            alarm(MOST_SECONDS);
            send_all(settings, settings->seed + i);
            _exit(0);
        }
    }
}

static void log_all(const struct settings *settings, const struct receiver *receivers,
                    const char *name)
{
    FILE *log = fopen(name, "we");
    size_t received = 0;

    if (log == NULL)
        fail(name);
    for (unsigned i = 0; i < settings->receivers; i++) {
        for (size_t k = 0; k < receivers[i].count; k++)
            fprintf(log, "%d %u %u\n", receivers[i].tid, receivers[i].got[k].sender,
                    receivers[i].got[k].number);
        received += receivers[i].count;
    }
    if (fclose(log) != 0)
        fail(name);
    printf("sent %u received %zu\n", settings->senders * settings->count, received);
}

int main(int count, char **arguments)
{
    struct receiver receivers[MOST_RECEIVERS] = {0};
    struct settings settings = {0};

    if (count != 11 || atoi(arguments[2]) > MOST_RECEIVERS || atoi(arguments[7]) > LARGEST) {
        fprintf(stderr,
                "usage: mailbox SENDERS RECEIVERS COUNT REST BUFFER PAUSE SIZE ADDRESS SEED LOG\n");
        return 2;
    }
    alarm(MOST_SECONDS);
    settings.senders = (unsigned)atoi(arguments[1]);
    settings.receivers = (unsigned)atoi(arguments[2]);
    settings.count = (unsigned)atoi(arguments[3]);
    settings.rest = (unsigned)atoi(arguments[4]);
    settings.buffer = atoi(arguments[5]);
    settings.pause = (unsigned)atoi(arguments[6]);
    settings.size = (size_t)atoi(arguments[7]);
    settings.seed = (unsigned)atoi(arguments[9]);
    open_socket(&settings, arguments[8]);
    start_senders(&settings);
    start_receivers(&settings, receivers);
    for (unsigned i = 0; i < settings.receivers; i++)
        pthread_join(receivers[i].thread, NULL);
    while (wait(NULL) > 0)
        continue;
    log_all(&settings, receivers, arguments[10]);
    return 0;
}
