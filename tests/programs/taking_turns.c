/* SPDX-License-Identifier: MIT */
/*
 * taking_turns.c: taking-turns HOW TURNS: two parties compute for 2 ms each, alternately, TURNS times each. HOW is what
 * resumes the other one:
 *
 *      lock        a condition of two threads
 *      semaphore   of two processes
 *      signal      to a process that waits for one
 *      event       an eventfd, of two processes
 *      poll        a byte in a pipe, which poll waits for; the receiver writes a line elsewhere before reading it
 *      tcp         the same on a connection, which is read at once
 *      join        the end of a thread: one is created for each turn
 *
 * or nothing:
 *
 *      apart       both compute at the same time
 *      alone       there is only one
 *      sleep       ... and it sleeps for 2 ms after each turn
 *
 *      party 0   =====o        =====o
 *                      \      /      \
 *      party 1          =====o        =====
 */
#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURN 2000000 /* ns of CPU time */

static unsigned turns;

static int64_t used(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void compute(void)
{
    int64_t end = used() + TURN;

    while (used() < end)
        ;
}

/* ---- ways to resume the other party, and to wait for it ---- */

struct way {
    const char *name;
    void (*let_go)(unsigned party); /* resumes that party */
    void (*wait)(unsigned party);   /* waits in this party */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static unsigned may_go[2];

static void lock_let_go(unsigned party)
{
    pthread_mutex_lock(&mutex);
    may_go[party]++;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

static void lock_wait(unsigned party)
{
    pthread_mutex_lock(&mutex);
    while (may_go[party] == 0)
        pthread_cond_wait(&condition, &mutex);
    may_go[party]--;
    pthread_mutex_unlock(&mutex);
}

static sem_t *semaphores;

static void semaphore_let_go(unsigned party)
{
    sem_post(&semaphores[party]);
}

static void semaphore_wait(unsigned party)
{
    while (sem_wait(&semaphores[party]) != 0)
        ;
}

static pid_t pids[2];
static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

static void signal_let_go(unsigned party)
{
    kill(pids[party], SIGUSR1);
}

static void signal_wait(unsigned party)
{
    sigset_t none;

    (void)party;
    sigemptyset(&none);
    while (signals == 0)
        sigsuspend(&none);
    signals--;
}

static int ends[2][2]; /* for each party: the end it reads, the end that wakes it */
static int elsewhere[2];

static void put(int file, const void *bytes, size_t count)
{
    if (write(file, bytes, count) != (ssize_t)count)
        err(1, "write");
}

static void take(int file, void *bytes, size_t count)
{
    if (read(file, bytes, count) != (ssize_t)count)
        err(1, "read");
}

static void event_let_go(unsigned party)
{
    const uint64_t one = 1;

    put(ends[party][1], &one, sizeof(one));
}

static void event_wait(unsigned party)
{
    uint64_t count;

    take(ends[party][0], &count, sizeof(count));
}

static void byte_let_go(unsigned party)
{
    put(ends[party][1], "x", 1);
}

static void wait_readable(unsigned party)
{
    struct pollfd waits = {.fd = ends[party][0], .events = POLLIN};

    if (poll(&waits, 1, -1) != 1)
        err(1, "poll");
}

static void tcp_wait(unsigned party)
{
    char byte;

    wait_readable(party);
    take(ends[party][0], &byte, 1);
}

static void poll_wait(unsigned party)
{
    char byte;

    wait_readable(party);
    put(elsewhere[party], "a line\n", 7);
    take(ends[party][0], &byte, 1);
}

/* ---- the parties ---- */

static const struct way *way;

static void play(unsigned party)
{
    for (unsigned i = 0; i < turns; i++) {
        if (i > 0 || party > 0)
            way->wait(party);
        compute();
        if (i + 1 < turns || party == 0)
            way->let_go(1 - party);
    }
}

static void *play_thread(void *party)
{
    play((unsigned)(uintptr_t)party);
    return NULL;
}

static void play_threads(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, play_thread, (void *)1) != 0)
        err(1, "pthread_create");
    play(0);
    pthread_join(thread, NULL);
}

static void play_processes(void)
{
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    signal(SIGUSR1, count_signal);
    pids[0] = getpid();
    pids[1] = fork();
    if (pids[1] < 0)
        err(1, "fork");
    if (pids[1] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        play(1);
        _exit(0);
    }
    play(0);
    waitpid(pids[1], NULL, 0);
}

/* ---- set-up of each way ---- */

static void make_semaphores(void)
{
    semaphores = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (semaphores == MAP_FAILED)
        err(1, "mmap");
    sem_init(&semaphores[0], 1, 0);
    sem_init(&semaphores[1], 1, 0);
}

static void make_events(void)
{
    for (unsigned i = 0; i < 2; i++)
        ends[i][0] = ends[i][1] = eventfd(0, 0);
}

static void make_pipes(void)
{
    for (unsigned i = 0; i < 2; i++) {
        int log[2];
        if (pipe(ends[i]) != 0 || pipe(log) != 0)
            err(1, "pipe");
        elsewhere[i] = log[1];
    }
}

static void make_connection(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listens = socket(AF_INET, SOCK_STREAM, 0), first = socket(AF_INET, SOCK_STREAM, 0);

    if (bind(listens, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listens, 1) != 0 ||
        getsockname(listens, (struct sockaddr *)&address, &length) != 0 ||
        connect(first, (struct sockaddr *)&address, length) != 0)
        err(1, "a connection");
    int second = accept(listens, NULL, NULL);
    ends[0][0] = ends[1][1] = first;
    ends[1][0] = ends[0][1] = second;
}

static void *compute_thread(void *unused)
{
    compute();
    return unused;
}

static void join_each(void)
{
    for (unsigned i = 0; i < 2 * turns; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, compute_thread, NULL) != 0)
            err(1, "pthread_create");
        pthread_join(thread, NULL);
    }
}

static void sleep_between(void)
{
    const struct timespec pause = {.tv_nsec = TURN};

    for (unsigned i = 0; i < turns; i++) {
        compute();
        nanosleep(&pause, NULL);
    }
}

static void compute_alone(void)
{
    for (unsigned i = 0; i < turns; i++)
        compute();
}

static void nothing(unsigned party)
{
    (void)party;
}

static const struct {
    struct way way;
    void (*make)(void);
    void (*play)(void);
} kinds[] = {
    {{"lock", lock_let_go, lock_wait}, NULL, play_threads},
    {{"semaphore", semaphore_let_go, semaphore_wait}, make_semaphores, play_processes},
    {{"signal", signal_let_go, signal_wait}, NULL, play_processes},
    {{"event", event_let_go, event_wait}, make_events, play_processes},
    {{"poll", byte_let_go, poll_wait}, make_pipes, play_processes},
    {{"tcp", byte_let_go, tcp_wait}, make_connection, play_processes},
    {{"join", NULL, NULL}, NULL, join_each},
    {{"apart", nothing, nothing}, NULL, play_threads},
    {{"alone", NULL, NULL}, NULL, compute_alone},
    {{"sleep", NULL, NULL}, NULL, sleep_between},
};

int main(int count, char **words)
{
    turns = count == 3 ? (unsigned)strtoul(words[2], NULL, 10) : 0;
    for (size_t i = 0; turns > 0 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].way.name, words[1]) != 0)
            continue;
        way = &kinds[i].way;
        if (kinds[i].make != NULL)
            kinds[i].make();
        kinds[i].play();
        return 0;
    }
    errx(2, "usage: taking-turns HOW TURNS");
}
