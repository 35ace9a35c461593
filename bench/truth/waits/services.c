/* SPDX-License-Identifier: MIT */
/* services.c: servers and clients in a closed loop, which are recorded while they run. The share is of the requests' time. See own.h. */
#include "own.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS    6
#define SLEEP      (40 * MS)
#define LASTS_MOST (100 * 1000 * MS) /* else until there is a file `stop` */

static struct {
    _Atomic uint64_t requests; /* ns, all of them */
    _Atomic uint64_t cause;    /* ... and what of it was spent on the cause */
    _Atomic uint64_t slept,
        sleeps_since; /* of the server: so far, and since when it sleeps; 0: not now */
} * sums;             /* shared */

static int ends[CLIENTS]; /* of the clients; then of the server */

/* ---- clients ---- */

/* How long the server has slept until now. */
static uint64_t slept_until(uint64_t now)
{
    uint64_t since = sums->sleeps_since;

    if (since == 0 || since > now)
        return sums->slept;
    return sums->slept + (now - since < SLEEP ? now - since : SLEEP); /* then it lacks a CPU */
}

static void *ask(void *end)
{
    char text[10];

    while (own_elapsed() < LASTS_MOST && access("stop", F_OK) < 0) {
        uint64_t began = clock_ns(), slept = slept_until(began);
        must(send(*(int *)end, "q", 1, 0), "send");
        must(recv(*(int *)end, text, sizeof(text), 0), "recv");
        uint64_t ended = clock_ns();
        sums->requests += ended - began;
        sums->cause += slept_until(ended) - slept;
        sleep_ns(2 * MS);
    }
    return NULL;
}

/* In a process of its own. */
static void begin(void (*serve)(void))
{
    long port;
    int listener = listening(CLIENTS, &port);
    pthread_t threads[CLIENTS];

    sums = mmap(NULL, sizeof(*sums), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t server = (pid_t)must(fork(), "fork");
    for (int i = 0; i < CLIENTS; i++)
        ends[i] = server == 0 ? (int)must(accept(listener, NULL, NULL), "accept")
                              : connected(SOCK_STREAM, port);
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        own_blame(getpid());
        serve();
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&threads[i], NULL, ask, &ends[i]);
    tell("asks", 0);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    own_is(sums->cause, sums->requests);
    kill(server, SIGKILL);
}

/* ---- servers ---- */

static void take(int fd, void (*handle)(int fd))
{
    char text[10];

    if (recv(fd, text, sizeof(text), 0) > 0)
        handle(fd);
}

static void loop(void (*handle)(int fd))
{
    struct pollfd polled[CLIENTS];

    for (int i = 0; i < CLIENTS; i++)
        polled[i] = (struct pollfd){.fd = ends[i], .events = POLLIN};
    for (;;) {
        poll(polled, CLIENTS, -1);
        for (int i = 0; i < CLIENTS; i++)
            if (polled[i].revents != 0)
                take(polled[i].fd, handle);
    }
}

/* One in ten requests makes the loop sleep; the others wait meanwhile. */
static void handle_slowly(int fd)
{
    static int count;

    if (count++ % 10 == 0) {
        sums->sleeps_since = clock_ns();
        sleep_ns(SLEEP);
        sums->sleeps_since = 0;
        sums->slept += SLEEP;
    }
    send(fd, "a", 1, 0);
}

static void serve_blocked(void)
{
    loop(handle_slowly);
}

static void run_blocked(void)
{
    begin(serve_blocked);
}

/* Requests wait in the program's own queue for one of two threads. */
#define WORKERS 2

static struct {
    int fd;
    uint64_t came;
} queue[CLIENTS];
static unsigned first, last;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;

static void *work(void *context)
{
    (void)context;
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (first == last)
            pthread_cond_wait(&filled, &mutex);
        int fd = queue[first % CLIENTS].fd;
        sums->cause += clock_ns() - queue[first++ % CLIENTS].came;
        pthread_mutex_unlock(&mutex);
        sleep_ns(15 * MS);
        send(fd, "a", 1, 0);
    }
    return NULL;
}

static void hand_over(int fd)
{
    pthread_mutex_lock(&mutex);
    queue[last % CLIENTS].fd = fd;
    queue[last++ % CLIENTS].came = clock_ns();
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&mutex);
}

static void serve_with_pool(void)
{
    pthread_t thread;

    for (int i = 0; i < WORKERS; i++)
        pthread_create(&thread, NULL, work, NULL);
    loop(hand_over);
}

static void run_workers(void)
{
    begin(serve_with_pool);
}

const struct wait_case service_cases[] = {
    {"blocked", run_blocked, NULL},
    {"workers", run_workers, NULL},
    {NULL, NULL, NULL},
};
