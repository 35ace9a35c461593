/* SPDX-License-Identifier: MIT */
/* local.c: waits within one machine. See own.h. */
#include "own.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS   20
#define PAUSE    (50 * MS)
#define COMPUTES 8 /* rounds of those that compute, which take longer beside a load */

static void *shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    must(memory == MAP_FAILED ? -1 : 0, "mmap");
    return memory;
}

/* In a child: a process of its own, which is metered too. Returns in both; the child is to blame for the wait. */
static pid_t split(void)
{
    pid_t child = (pid_t)must(fork(), "fork");

    if (child == 0)
        own_blame(getpid());
    return child;
}

static void ready(void)
{
    tell("ready", 0);
}

/* ---- time ---- */

static void run_timerfd(void)
{
    int timer = (int)must(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
    struct itimerspec every = {{0, PAUSE}, {0, PAUSE}};
    uint64_t count;

    timerfd_settime(timer, 0, &every, NULL);
    for (int i = 0; i < ROUNDS; i++)
        OWN(must(read(timer, &count, sizeof(count)), "read"));
}

static void run_poll(void)
{
    for (int i = 0; i < ROUNDS; i++)
        OWN(poll(NULL, 0, PAUSE / MS));
}

static void after(struct timespec *time, uint64_t ns)
{
    clock_gettime(CLOCK_REALTIME, time);
    ns += (uint64_t)time->tv_nsec;
    time->tv_sec += (time_t)(ns / (1000 * MS));
    time->tv_nsec = (long)(ns % (1000 * MS));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

/* A condition that nothing signals. */
static void run_limit(void)
{
    struct timespec until;

    pthread_mutex_lock(&mutex);
    for (int i = 0; i < ROUNDS; i++) {
        after(&until, PAUSE);
        OWN(pthread_cond_timedwait(&condition, &mutex, &until));
    }
    pthread_mutex_unlock(&mutex);
}

/* ---- signals ---- */

static void nothing(int signal)
{
    (void)signal;
}

static void run_signal(void)
{
    sigset_t blocked, before;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGUSR1, nothing);
    tell("asks", getpid());
    for (int i = 0; i < ROUNDS; i++)
        OWN(sigsuspend(&before));
}

static void peer_signal(void)
{
    ready();
    for (pid_t pid = (pid_t)told("asks"); kill(pid, SIGUSR1) == 0;)
        sleep_ns(PAUSE);
}

/* A metered process sends it, after it has slept. */
static void run_sigwait(void)
{
    sigset_t blocked;
    int signal;
    pid_t parent = getpid();

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    if (split() == 0) {
        for (int i = 0; i < ROUNDS; i++) {
            sleep_own(PAUSE);
            kill(parent, SIGUSR1);
        }
        _exit(0);
    }
    for (int i = 0; i < ROUNDS; i++)
        sigwait(&blocked, &signal);
}

/* It computes, and is stopped meanwhile. */
static void run_stopped(void)
{
    tell("asks", getpid());
    while (own_elapsed() < 1500 * MS)
        OWN(compute_ns(MS));
}

static void peer_stopped(void)
{
    ready();
    for (pid_t pid = (pid_t)told("asks"); kill(pid, SIGSTOP) == 0; sleep_ns(PAUSE)) {
        sleep_ns(PAUSE);
        kill(pid, SIGCONT);
    }
}

/* ---- files ---- */

static void run_fifo(void)
{
    char text[10];

    must(mkfifo("fifo", 0600), "mkfifo");
    tell("asks", 0);
    for (int i = 0; i < ROUNDS; i++) {
        int fifo;
        OWN(fifo = open("fifo", O_RDONLY));
        while (read(fifo, text, sizeof(text)) > 0)
            ;
        close(fifo);
    }
}

static void peer_fifo(void)
{
    ready();
    for (told("asks");;) {
        sleep_ns(PAUSE);
        close((int)must(open("fifo", O_WRONLY), "fifo"));
    }
}

static void lock_file(int file, int how)
{
    must(flock(file, how), "flock");
}

static void lock_range(int file, int how)
{
    struct flock range = {.l_type = how == LOCK_EX ? F_WRLCK : F_UNLCK, .l_len = 10};

    must(fcntl(file, F_SETLKW, &range), "fcntl");
}

static void take(void (*lock)(int file, int how))
{
    int file = (int)must(open("locked", O_RDWR | O_CREAT, 0600), "locked");

    while (own_elapsed() < 1200 * MS) {
        OWN(lock(file, LOCK_EX));
        lock(file, LOCK_UN);
        sleep_ns(5 * MS);
    }
}

static void hold(void (*lock)(int file, int how))
{
    int file = (int)must(open("locked", O_RDWR | O_CREAT, 0600), "locked");

    for (int i = 0;; i++) {
        lock(file, LOCK_EX);
        if (i == 0)
            ready();
        sleep_ns(2 * PAUSE);
        lock(file, LOCK_UN);
        sleep_ns(10 * MS);
    }
}

static void run_flock(void)
{
    take(lock_file);
}

static void peer_flock(void)
{
    hold(lock_file);
}

static void run_fcntl(void)
{
    take(lock_range);
}

static void peer_fcntl(void)
{
    hold(lock_range);
}

static _Atomic int *turn; /* rounds that the holder has begun */

static void hold_computing(void)
{
    int file = (int)must(open("locked", O_RDWR | O_CREAT, 0600), "locked");

    for (int i = 0; i < COMPUTES; i++) {
        lock_file(file, LOCK_EX);
        *turn = i + 1;
        OWN(compute_ns(PAUSE));
        lock_file(file, LOCK_UN);
        sleep_ns(5 * MS);
    }
    _exit(0);
}

/* A metered process holds the lock while it computes. */
static void run_flock_held(void)
{
    int file = (int)must(open("locked", O_RDWR | O_CREAT, 0600), "locked");

    turn = shared(sizeof(*turn));
    if (split() == 0)
        hold_computing();
    for (int i = 0; i < COMPUTES; i++) {
        while (*turn <= i)
            sleep_ns(MS);
        lock_file(file, LOCK_EX);
        lock_file(file, LOCK_UN);
    }
}

static void run_disk(void)
{
    int file = (int)must(open("written", O_RDWR | O_CREAT, 0600), "written");
    char text[4096] = "";

    while (own_elapsed() < 1200 * MS) {
        must(pwrite(file, text, sizeof(text), (off_t)(own_elapsed() % 1000) * 4096), "pwrite");
        OWN(fdatasync(file));
    }
}

#define MAPPED (64u << 20)

/* Pages of a mapped file, which are not in memory. */
static void run_mapped(void)
{
    int file = (int)must(open("mapped", O_RDONLY), "mapped");
    volatile char *memory = mmap(NULL, MAPPED, PROT_READ, MAP_PRIVATE, file, 0);
    unsigned sum = 0;

    madvise((void *)memory, MAPPED, MADV_RANDOM);
    while (own_elapsed() < 1200 * MS)
        OWN(sum += (unsigned)memory[(size_t)rand() % MAPPED]);
    (void)sum;
}

/* It makes the file, and keeps its pages out of memory. */
static void peer_mapped(void)
{
    int file = (int)must(open("mapped", O_RDWR | O_CREAT, 0600), "mapped");
    static char text[1 << 20];

    memset(text, 1, sizeof(text));
    for (unsigned i = 0; i < MAPPED; i += sizeof(text))
        must(write(file, text, sizeof(text)), "write");
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ready();
    pause();
}

static void run_inotify(void)
{
    int watch = (int)must(inotify_init(), "inotify_init");
    char text[4096];

    must(mkdir("watched", 0700), "mkdir");
    inotify_add_watch(watch, "watched", IN_CREATE);
    tell("asks", 0);
    for (int i = 0; i < COMPUTES; i++)
        OWN(must(read(watch, text, sizeof(text)), "read"));
}

static void peer_inotify(void)
{
    ready();
    for (told("asks");; unlink("watched/file")) {
        sleep_ns(PAUSE);
        close(open("watched/file", O_CREAT | O_WRONLY, 0600));
    }
}

/* ---- queues, pipes ---- */

#define QUEUE "/dpm-bench-waits"

static void run_mq(void)
{
    struct mq_attr attributes = {.mq_maxmsg = 5, .mq_msgsize = 10};
    mqd_t queue = (mqd_t)must(mq_open(QUEUE, O_RDWR | O_CREAT, 0600, &attributes), "mq_open");
    char text[10];

    tell("asks", 0);
    for (int i = 0; i < ROUNDS; i++)
        OWN(must(mq_receive(queue, text, sizeof(text), NULL), "mq_receive"));
    mq_unlink(QUEUE);
}

static void peer_mq(void)
{
    ready();
    told("asks");
    mqd_t queue = (mqd_t)must(mq_open(QUEUE, O_WRONLY), "mq_open");
    for (;;) {
        sleep_ns(PAUSE);
        must(mq_send(queue, "m", 1, 0), "mq_send");
    }
}

struct message {
    long type;
    char text[8];
};

static void run_msg(void)
{
    int queue = (int)must(msgget(IPC_PRIVATE, 0600 | IPC_CREAT), "msgget");
    struct message message;

    tell("asks", queue);
    for (int i = 0; i < ROUNDS; i++)
        OWN(must(msgrcv(queue, &message, sizeof(message.text), 0, 0), "msgrcv"));
    msgctl(queue, IPC_RMID, NULL);
}

static void peer_msg(void)
{
    struct message message = {.type = 1};

    ready();
    for (int queue = (int)told("asks");;) {
        sleep_ns(PAUSE);
        if (msgsnd(queue, &message, sizeof(message.text), 0) < 0)
            return;
    }
}

static void run_pipe_full(void)
{
    static char text[1 << 16];
    int pipe = (int)must(open("pipe", O_WRONLY), "pipe");

    for (int i = 0; i < ROUNDS; i++)
        OWN(must(write(pipe, text, sizeof(text)), "write"));
}

static void peer_pipe_full(void)
{
    static char text[1 << 16];

    must(mkfifo("pipe", 0600), "mkfifo");
    ready();
    int pipe = (int)must(open("pipe", O_RDONLY), "pipe");
    for (;;) {
        sleep_ns(PAUSE);
        for (ssize_t got = 0, n; got < (ssize_t)sizeof(text); got += n)
            if ((n = read(pipe, text, sizeof(text))) <= 0)
                return;
    }
}

/* The reader is metered, and sleeps before it reads. */
static void run_pipe_slow(void)
{
    static char text[1 << 16];
    int ends[2];

    must(pipe(ends), "pipe");
    if (split() == 0) {
        close(ends[1]);
        for (ssize_t n = 1; n > 0;) {
            sleep_own(PAUSE);
            for (ssize_t got = 0; got < (ssize_t)sizeof(text) && n > 0; got += n)
                n = read(ends[0], text, sizeof(text));
        }
        _exit(0);
    }
    close(ends[0]);
    for (int i = 0; i < ROUNDS; i++)
        must(write(ends[1], text, sizeof(text)), "write");
    close(ends[1]);
}

/* ---- threads and processes ---- */

static _Atomic int work;

static void *produce(void *context)
{
    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        sleep_own(PAUSE);
        pthread_mutex_lock(&mutex);
        work++;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

/* A pool of one waits for work that a thread hands out from time to time. */
static void run_condition(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, produce, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        while (work == 0)
            pthread_cond_wait(&condition, &mutex);
        work--;
        pthread_mutex_unlock(&mutex);
    }
    pthread_join(thread, NULL);
}

static pthread_barrier_t start, end;

static void *hold_mutex(void *context)
{
    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        pthread_barrier_wait(&start);
        sleep_own(PAUSE);
        pthread_mutex_unlock(&mutex);
        pthread_barrier_wait(&end);
    }
    return NULL;
}

static void run_mutex(void)
{
    pthread_t thread;

    pthread_barrier_init(&start, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    pthread_create(&thread, NULL, hold_mutex, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&start);
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        pthread_barrier_wait(&end);
    }
    pthread_join(thread, NULL);
}

static void *straggle(void *context)
{
    (void)context;
    for (int i = 0; i < COMPUTES; i++) {
        OWN(compute_ns(PAUSE));
        pthread_barrier_wait(&end);
    }
    return NULL;
}

static void run_barrier(void)
{
    pthread_t thread;

    pthread_barrier_init(&end, NULL, 2);
    pthread_create(&thread, NULL, straggle, NULL);
    for (int i = 0; i < COMPUTES; i++)
        pthread_barrier_wait(&end);
    pthread_join(thread, NULL);
}

static void *notify(void *event)
{
    for (uint64_t i = 0, one = 1; i < ROUNDS; i++) {
        OWN(compute_ns(PAUSE));
        must(write(*(int *)event, &one, sizeof(one)), "write");
    }
    return NULL;
}

static void run_eventfd(void)
{
    int event = (int)must(eventfd(0, EFD_SEMAPHORE), "eventfd");
    pthread_t thread;
    uint64_t count;

    pthread_create(&thread, NULL, notify, &event);
    for (int i = 0; i < COMPUTES; i++)
        must(read(event, &count, sizeof(count)), "read");
    pthread_join(thread, NULL);
}

static void run_semaphore(void)
{
    sem_t *semaphore = shared(sizeof(*semaphore));

    sem_init(semaphore, 1, 0);
    if (split() == 0) {
        for (int i = 0; i < COMPUTES; i++) {
            OWN(compute_ns(PAUSE));
            sem_post(semaphore);
        }
        _exit(0);
    }
    for (int i = 0; i < COMPUTES; i++)
        while (sem_wait(semaphore) < 0)
            ;
}

static void run_semop(void)
{
    int set = (int)must(semget(IPC_PRIVATE, 1, 0600 | IPC_CREAT), "semget");
    struct sembuf down = {.sem_op = -1};

    tell("asks", set);
    for (int i = 0; i < ROUNDS; i++)
        OWN(must(semop(set, &down, 1), "semop"));
    semctl(set, 0, IPC_RMID);
}

static void peer_semop(void)
{
    struct sembuf up = {.sem_op = 1};

    ready();
    for (int set = (int)told("asks"); semop(set, &up, 1) == 0;)
        sleep_ns(PAUSE);
}

static void run_child(void)
{
    siginfo_t ended;
    pid_t child = split();

    if (child == 0) {
        OWN(compute_ns(COMPUTES * PAUSE));
        _exit(0);
    }
    must(waitid(P_PID, (id_t)child, &ended, WEXITED), "waitid");
}

const struct wait_case local_cases[] = {
    {"timerfd", run_timerfd, NULL},
    {"poll", run_poll, NULL},
    {"limit", run_limit, NULL},
    {"signal", run_signal, peer_signal},
    {"sigwait", run_sigwait, NULL},
    {"stopped", run_stopped, peer_stopped},
    {"fifo", run_fifo, peer_fifo},
    {"flock", run_flock, peer_flock},
    {"fcntl", run_fcntl, peer_fcntl},
    {"flock-held", run_flock_held, NULL},
    {"disk", run_disk, NULL},
    {"mapped", run_mapped, peer_mapped},
    {"inotify", run_inotify, peer_inotify},
    {"mq", run_mq, peer_mq},
    {"msg", run_msg, peer_msg},
    {"pipe-full", run_pipe_full, peer_pipe_full},
    {"pipe-slow", run_pipe_slow, NULL},
    {"condition", run_condition, NULL},
    {"mutex", run_mutex, NULL},
    {"barrier", run_barrier, NULL},
    {"eventfd", run_eventfd, NULL},
    {"semaphore", run_semaphore, NULL},
    {"semop", run_semop, peer_semop},
    {"child", run_child, NULL},
    {NULL, NULL, NULL},
};
