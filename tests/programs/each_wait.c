/* SPDX-License-Identifier: MIT */
/*
 * each_wait.c: a process for each kind of wait, which waits three times, and says in which call, and who ended that.
 *
 *      usage: each-wait FOLDER [WAY]...
 *
 *      waiter   in futex ~~~~~~~~~ | in futex ~~~~~~~~~ | in futex ~~~~~~~~~ |
 *      waker    until it is asleep '  until it is asleep '                   '
 *
 * Prints a line for each of them: WAY WAITER CALL COUNT LEAST MOST WAKER... The call is a number; the CPU time of the
 * waiter lies between LEAST and MOST, in ns; who ended each wait is a thread ID, and without any it was time. The waker looks into /proc/WAITER/stat and /proc/WAITER/syscall, so that each wait is one: the waiter is asleep in
 * that call when it is woken, however long that takes.
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMES 3
#define TRIES 60000 /* of about 1 ms */

/* Memory of waiter and waker. */
struct common {
    volatile int done;   /* waits that have ended */
    volatile bool ready; /* the waiter may go on */
    volatile pid_t wakers[TIMES];
    volatile long long used; /* ns of CPU time, by the waiter at its end */
    sem_t semaphore;
};

static struct common *common;
static const char *folder;
static pid_t waiter;

static void must(bool condition, const char *what)
{
    if (!condition)
        err(1, "%s", what);
}

static void pause_shortly(void)
{
    usleep(1000);
}

/* ---- whether another one is asleep ---- */

static bool is_asleep(pid_t tid, long call)
{
    char path[64], state = 0;
    long in = -1;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
    FILE *file = fopen(path, "re");
    must(file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) == 1, path);
    fclose(file);
    if (state != 'S' && state != 'D')
        return false;
    snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tid);
    file = fopen(path, "re");
    must(file != NULL, path);
    bool found = fscanf(file, "%ld", &in) == 1;
    fclose(file);
    return found && in == call;
}

static void until_asleep(pid_t tid, long call)
{
    for (int i = 0; i < TRIES; i++) {
        if (is_asleep(tid, call))
            return;
        pause_shortly();
    }
    errx(1, "%d does not wait in call %ld", (int)tid, call);
}

static void until_done(int count)
{
    for (int i = 0; i < TRIES && common->done < count; i++)
        pause_shortly();
    if (common->done < count)
        errx(1, "a wait does not end");
}

/* ---- ways to wait: `wait` in the waiter, `wake` in the waker ---- */

static int ends[2], other_end; /* pipe, pair of sockets ... */
static int semaphores;
static sigset_t user_signal;

static void sleep_shortly(void)
{
    const struct timespec pause = {.tv_nsec = 20000000};

    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void poll_for_time(void)
{
    must(syscall(SYS_poll, NULL, 0, 20) == 0, "poll");
}

static void begin_child(long call)
{
    pid_t parent = getpid();

    if (fork() != 0)
        return;
    common->wakers[common->done] = getpid();
    until_asleep(parent, call);
    _exit(0);
}

static void wait_for_child(void)
{
    begin_child(SYS_wait4);
    must(syscall(SYS_wait4, -1, NULL, 0, NULL) > 0, "wait4");
}

static void waitid_for_child(void)
{
    siginfo_t info;

    begin_child(SYS_waitid);
    must(syscall(SYS_waitid, P_ALL, 0, &info, WEXITED, NULL) == 0, "waitid");
}

static int open_end[2]; /* of a pipe or pair that nothing is sent on */

/* The child has the other end, and closes it by its end. */
static void read_end(void)
{
    pid_t parent = getpid(), child = fork();
    char byte;

    if (child == 0) {
        common->wakers[common->done] = getpid();
        close(open_end[0]);
        until_asleep(parent, SYS_read);
        _exit(0);
    }
    close(open_end[1]);
    must(read(open_end[0], &byte, 1) == 0, "read");
    close(open_end[0]);
    waitpid(child, NULL, 0);
}

static void read_end_of_pipe(void)
{
    must(pipe(open_end) == 0, "pipe");
    read_end();
}

static void read_end_of_pair(void)
{
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, open_end) == 0, "socketpair");
    read_end();
}

static void *end_later(void *unused)
{
    common->wakers[common->done] = (pid_t)syscall(SYS_gettid);
    until_asleep(getpid(), SYS_futex);
    return unused;
}

static void join(void)
{
    pthread_t thread;

    must(pthread_create(&thread, NULL, end_later, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
}

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool is_held;

static void *hold_mutex(void *unused)
{
    common->wakers[common->done] = (pid_t)syscall(SYS_gettid);
    pthread_mutex_lock(&known_lock);
    is_held = true;
    until_asleep(getpid(), SYS_futex);
    is_held = false;
    pthread_mutex_unlock(&known_lock);
    return unused;
}

static void wait_mutex(void)
{
    pthread_t thread;

    must(pthread_create(&thread, NULL, hold_mutex, NULL) == 0, "pthread_create");
    while (!is_held)
        pause_shortly();
    pthread_mutex_lock(&known_lock);
    pthread_mutex_unlock(&known_lock);
    while (pthread_tryjoin_np(thread, NULL) != 0) /* in no futex */
        pause_shortly();
}

static void make_semaphore(void)
{
    sem_init(&common->semaphore, 1, 0);
}

static void wait_semaphore(void)
{
    must(sem_wait(&common->semaphore) == 0, "sem_wait");
}

static void post_semaphore(void)
{
    sem_post(&common->semaphore);
}

static void make_old_semaphore(void)
{
    must((semaphores = semget(IPC_PRIVATE, 1, 0600)) >= 0, "semget");
}

static void change_old_semaphore(short by)
{
    struct sembuf operation = {0, by, 0};

    must(syscall(SYS_semop, semaphores, &operation, 1) == 0, "semop");
}

static void wait_old_semaphore(void)
{
    change_old_semaphore(-1);
}

static void post_old_semaphore(void)
{
    int before = common->done;

    change_old_semaphore(1);
    until_done(before + 1);
    if (common->done == TIMES)
        semctl(semaphores, 0, IPC_RMID);
}

static void make_file(void)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/locked", folder);
    must((other_end = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) >= 0, path);
}

/* The lock is a file description's, so the waiter needs its own. */
static void wait_flock(void)
{
    static int file = -1;
    char path[512];

    snprintf(path, sizeof(path), "%s/locked", folder);
    if (file < 0)
        must((file = open(path, O_RDWR | O_CLOEXEC)) >= 0, path);
    must(flock(file, LOCK_EX) == 0 && flock(file, LOCK_UN) == 0, "flock");
}

static void hold_flock(void)
{
    must(flock(other_end, LOCK_EX) == 0, "flock");
}

static void release_flock(void)
{
    must(flock(other_end, LOCK_UN) == 0, "flock");
}

static void ignore(int number)
{
    (void)number;
}

static void hold_signal(void)
{
    sigemptyset(&user_signal);
    sigaddset(&user_signal, SIGUSR1);
    sigprocmask(SIG_BLOCK, &user_signal, NULL);
    signal(SIGUSR1, ignore);
}

static void suspend(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigsuspend(&none);
}

static void take_signal(void)
{
    must(sigwaitinfo(&user_signal, NULL) == SIGUSR1, "sigwaitinfo");
}

static void make_signal_file(void)
{
    hold_signal();
    must((ends[0] = signalfd(-1, &user_signal, SFD_CLOEXEC)) >= 0, "signalfd");
}

static void read_signal(void)
{
    struct signalfd_siginfo info;

    must(read(ends[0], &info, sizeof(info)) == sizeof(info), "read");
}

static void send_signal(void)
{
    kill(waiter, SIGUSR1);
}

static void make_event(void)
{
    must((ends[0] = ends[1] = eventfd(0, EFD_CLOEXEC)) >= 0, "eventfd");
}

static void read_event(void)
{
    uint64_t count;

    must(read(ends[0], &count, sizeof(count)) == sizeof(count), "read");
}

static void write_event(void)
{
    const uint64_t one = 1;

    must(write(ends[1], &one, sizeof(one)) == sizeof(one), "write");
}

static void make_pipe(void)
{
    must(pipe(ends) == 0, "pipe");
}

static void make_pair(void)
{
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
}

static void make_connection(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    must(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0 &&
             getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
             connect(ends[1], (struct sockaddr *)&address, size) == 0 &&
             (ends[0] = accept(listener, NULL, NULL)) >= 0,
         "a connection");
    close(listener);
}

static void take_byte(void)
{
    char byte;

    must(read(ends[0], &byte, 1) == 1, "read");
}

static void put_byte(void)
{
    must(write(ends[1], "x", 1) == 1, "write");
}

static void poll_byte(void)
{
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};

    must(syscall(SYS_poll, &polled, 1, -1) == 1, "poll");
    take_byte();
}

static void select_byte(void)
{
    fd_set set;

    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    must(syscall(SYS_pselect6, ends[0] + 1, &set, NULL, NULL, NULL, NULL) == 1, "pselect6");
    take_byte();
}

static void epoll_byte(void)
{
    static int set = -1;
    struct epoll_event event = {.events = EPOLLIN};

    if (set < 0) {
        must((set = epoll_create1(EPOLL_CLOEXEC)) >= 0, "epoll_create1");
        must(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) == 0, "epoll_ctl");
    }
    must(syscall(SYS_epoll_wait, set, &event, 1, -1) == 1, "epoll_wait");
    take_byte();
}

#define PAGE 4096

static char page[PAGE];

static void fill_pipe(void)
{
    make_pipe();
    must(fcntl(ends[1], F_SETPIPE_SZ, PAGE) >= 0, "F_SETPIPE_SZ");
    must(write(ends[1], page, PAGE) == PAGE, "write");
}

static void put_page(void)
{
    must(write(ends[1], page, PAGE) == PAGE, "write");
}

static void take_page(void)
{
    must(read(ends[0], page, PAGE) == PAGE, "read");
}

/* It computes meanwhile. */
static void until_ready(void)
{
    while (!common->ready)
        ;
    common->ready = false;
}

/* In no call. */
static void stop(void)
{
    char path[64], state = 0;

    kill(waiter, SIGSTOP);
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)waiter);
    for (int i = 0; i < TRIES && state != 'T'; i++) {
        FILE *file = fopen(path, "re");
        must(file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) == 1, path);
        fclose(file);
        pause_shortly();
    }
    if (state != 'T')
        errx(1, "%d does not stop", (int)waiter); /* a traced process is in state t */
    common->ready = true;
    kill(waiter, SIGCONT);
}

/* ---- all of them ---- */

#define NO_CALL (-1)

static const struct way {
    const char *name; /* of the waiter, too */
    long call;
    void (*make)(void); /* before the waiter begins */
    void (*wait)(void);
    void (*hold)(void); /* by the waker, before each wait */
    void (*wake)(void); /* NULL: the waiter makes its own, or it is time */
} ways[] = {
    {"sleep", SYS_clock_nanosleep, NULL, sleep_shortly, NULL, NULL},
    {"time", SYS_poll, NULL, poll_for_time, NULL, NULL},
    {"child", SYS_wait4, NULL, wait_for_child, NULL, NULL},
    {"waitid", SYS_waitid, NULL, waitid_for_child, NULL, NULL},
    {"end", SYS_read, NULL, read_end_of_pipe, NULL, NULL},
    {"end-pair", SYS_read, NULL, read_end_of_pair, NULL, NULL},
    {"join", SYS_futex, NULL, join, NULL, NULL},
    {"mutex", SYS_futex, NULL, wait_mutex, NULL, NULL},
    {"futex", SYS_futex, make_semaphore, wait_semaphore, NULL, post_semaphore},
    {"semop", SYS_semop, make_old_semaphore, wait_old_semaphore, NULL, post_old_semaphore},
    {"flock", SYS_flock, make_file, wait_flock, hold_flock, release_flock},
    {"suspend", SYS_rt_sigsuspend, hold_signal, suspend, NULL, send_signal},
    {"take", SYS_rt_sigtimedwait, hold_signal, take_signal, NULL, send_signal},
    {"signalfd", SYS_read, make_signal_file, read_signal, NULL, send_signal},
    {"eventfd", SYS_read, make_event, read_event, NULL, write_event},
    {"read", SYS_read, make_pipe, take_byte, NULL, put_byte},
    {"pair", SYS_read, make_pair, take_byte, NULL, put_byte},
    {"tcp", SYS_poll, make_connection, poll_byte, NULL, put_byte},
    {"poll", SYS_poll, make_pipe, poll_byte, NULL, put_byte},
    {"select", SYS_pselect6, make_pipe, select_byte, NULL, put_byte},
    {"epoll", SYS_epoll_wait, make_pipe, epoll_byte, NULL, put_byte},
    {"full", SYS_write, fill_pipe, put_page, NULL, take_page},
    {"stopped", NO_CALL, NULL, until_ready, NULL, stop},
};

static void be_waiter(const struct way *way)
{
    prctl(PR_SET_NAME, way->name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < TIMES; i++) {
        if (way->hold != NULL)
            until_ready();
        way->wait();
        common->done = i + 1;
    }
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    common->used = used.tv_sec * 1000000000LL + used.tv_nsec;
    _exit(0);
}

static void go_through(const struct way *way)
{
    memset(common, 0, sizeof(*common));
    if (way->make != NULL)
        way->make();
    waiter = fork();
    must(waiter >= 0, "fork");
    if (waiter == 0)
        be_waiter(way);
    for (int i = 0; i < TIMES && way->wake != NULL; i++) {
        if (way->hold != NULL) {
            way->hold();
            common->ready = true;
        }
        if (way->call != NO_CALL)
            until_asleep(waiter, way->call);
        common->wakers[i] = getpid();
        way->wake();
        until_done(i + 1);
    }
    int status;
    struct rusage usage;
    must(wait4(waiter, &status, 0, &usage) == waiter && status == 0, way->name);
    long long most = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
                     (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec + 2) * 1000LL;
    printf("%s %d %ld %d %lld %lld", way->name, (int)waiter, way->call, TIMES, common->used, most);
    for (int i = 0; i < TIMES && common->wakers[i] != 0; i++)
        printf(" %d", (int)common->wakers[i]);
    putchar('\n');
    fflush(stdout);
}

int main(int count, char **words)
{
    if (count < 2)
        return 2;
    folder = words[1];
    common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(common != MAP_FAILED, "mmap");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        bool chosen = count == 2;
        for (int k = 2; k < count; k++)
            chosen |= strcmp(words[k], ways[i].name) == 0;
        if (chosen)
            go_through(&ways[i]);
    }
    return 0;
}
