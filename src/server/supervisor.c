/* SPDX-License-Identifier: MIT */
/*
 * supervisor.c: the process that keeps a session's server running.
 *
 *      dpm --fork--> --fork--> supervisor --fork, exec--> nats-server -c FOLDER/nats.conf
 *                              locks FOLDER/supervisor
 *
 *      SIGHUP: passed on (the configuration has changed)      SIGTERM: both end
 *
 * It is forked from a program that may have threads, so until exec it may only do what signal-safety(7) allows: no memory is
 * allocated, and everything it needs was prepared before. When it is killed, the kernel ends the server.
 */
#include "server/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS        250
#define LIVED_SECONDS  2  /* a server that lived so long is started again at once */
#define PAUSE_SECONDS  1  /* ... else after this */
#define ENDING_SECONDS 10 /* then it is killed */

struct plan {
    const char *folder, *server;
    const char *lock, *attached; /* paths */
    char *const *arguments, *const *environment;
    unsigned idle_seconds;
    dev_t device; /* of the folder */
    ino_t inode;
};

struct supervisor {
    const struct plan *plan;
    int attached; /* a descriptor */
    pid_t server; /* 0: none */
    time_t started, next_start, idle_since;
    bool ending;
};

static time_t seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void supervised_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGCHLD);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGHUP);
}

static void default_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
}

/* ---- the server ---- */

static void run_server(const struct plan *plan, pid_t supervisor)
{
    sigset_t none;

    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor)
        _exit(1);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(plan->server, plan->arguments, plan->environment);
    _exit(127);
}

static void start_server(struct supervisor *supervisor)
{
    pid_t self = getpid();
    pid_t pid = fork();

    if (pid == 0)
        run_server(supervisor->plan, self);
    supervisor->server = pid > 0 ? pid : 0;
    supervisor->started = seconds_now();
}

static void reap(struct supervisor *supervisor)
{
    if (supervisor->server > 0 && waitpid(supervisor->server, NULL, WNOHANG) == supervisor->server)
        supervisor->server = 0;
}

static void wait_for_end(struct supervisor *supervisor)
{
    const struct timespec tick = {.tv_nsec = 20000000};
    time_t until = seconds_now() + ENDING_SECONDS;

    while (supervisor->server > 0) {
        if (seconds_now() >= until)
            kill(supervisor->server, SIGKILL);
        nanosleep(&tick, NULL);
        reap(supervisor);
    }
}

/* ---- when to end ---- */

static bool folder_vanished(const struct plan *plan)
{
    struct stat now;

    return stat(plan->folder, &now) != 0 || now.st_dev != plan->device || now.st_ino != plan->inode;
}

/* Whoever uses the session holds a read lock. */
static bool is_attached(const struct supervisor *supervisor)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(supervisor->attached, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static bool idle_for_long(struct supervisor *supervisor)
{
    time_t now = seconds_now();

    if (is_attached(supervisor))
        supervisor->idle_since = now;
    return now - supervisor->idle_since >= (time_t)supervisor->plan->idle_seconds;
}

static void handle_signal(struct supervisor *supervisor, int number)
{
    if (number == SIGHUP && supervisor->server > 0)
        kill(supervisor->server, SIGHUP);
    if (number == SIGTERM || number == SIGINT)
        supervisor->ending = true;
    reap(supervisor);
}

/* After a server died: one that fails again and again shall not keep a processor busy. */
static void plan_start(struct supervisor *supervisor)
{
    time_t now = seconds_now();

    supervisor->next_start = now - supervisor->started >= LIVED_SECONDS ? now : now + PAUSE_SECONDS;
}

static void supervise(struct supervisor *supervisor)
{
    const struct timespec tick = {.tv_nsec = TICK_MS * 1000000l};
    sigset_t signals;

    supervised_signals(&signals);
    while (!supervisor->ending) {
        if (supervisor->server == 0 && seconds_now() >= supervisor->next_start)
            start_server(supervisor);
        bool ran = supervisor->server > 0;
        handle_signal(supervisor, sigtimedwait(&signals, NULL, &tick));
        if (ran && supervisor->server == 0)
            plan_start(supervisor);
        if (idle_for_long(supervisor))
            supervisor->ending = true;
        if (folder_vanished(supervisor->plan)) {
            if (supervisor->server > 0)
                kill(supervisor->server, SIGKILL);
            supervisor->ending = true;
        }
    }
    if (supervisor->server > 0)
        kill(supervisor->server, SIGTERM);
    wait_for_end(supervisor);
}

/* ---- starting ---- */

static int lock_file(const char *path, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (descriptor < 0)
        return -errno;
    if (type != F_UNLCK && fcntl(descriptor, F_SETLK, &lock) != 0) {
        close(descriptor);
        return -EBUSY;
    }
    return descriptor;
}

static void be_supervisor(const struct plan *plan)
{
    struct supervisor supervisor = {.plan = plan, .idle_since = seconds_now()};
    sigset_t signals;

    default_signals();
    supervised_signals(&signals);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    close_range(0, ~0u, 0);
    if (open("/dev/null", O_RDWR) != 0 || dup(0) != 1 || dup(0) != 2 || chdir("/") != 0)
        _exit(1);
    umask(077);
    prctl(PR_SET_NAME, "dpm-supervisor");
    prctl(PR_SET_DUMPABLE, 0); /* its memory holds what the program had */
    if (lock_file(plan->lock, F_WRLCK) < 0)
        _exit(1); /* another one is at work */
    supervisor.attached = lock_file(plan->attached, F_UNLCK);
    if (supervisor.attached < 0)
        _exit(1);
    supervise(&supervisor);
    _exit(0);
}

static int fork_detached(const struct plan *plan)
{
    pid_t child = fork();

    if (child == 0) {
        setsid();
        pid_t supervisor = fork();
        if (supervisor == 0)
            be_supervisor(plan);
        _exit(supervisor < 0);
    }
    int status = 0;
    if (child < 0)
        return -errno;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 0; /* the program ignores its children */
    return status == 0 ? 0 : -EAGAIN;
}

int supervisor_start(const char *folder, const char *server, uint64_t memory_bytes,
                     unsigned idle_seconds, struct problem *problem)
{
    char *lock = NULL, *attached = NULL, *configuration = NULL, *memory = NULL;
    struct stat status;
    int error = -ENOMEM;

    if (asprintf(&lock, "%s/supervisor", folder) >= 0 &&
        asprintf(&attached, "%s/attached", folder) >= 0 &&
        asprintf(&configuration, "%s/nats.conf", folder) >= 0 &&
        asprintf(&memory, "GOMEMLIMIT=%llu", (unsigned long long)memory_bytes) >= 0) {
        char *const arguments[] = {"nats-server", "-c", configuration, NULL};
        char *const environment[] = {"PATH=/usr/bin:/bin", memory, NULL};
        struct plan plan = {
            .folder = folder,
            .server = server,
            .lock = lock,
            .attached = attached,
            .arguments = arguments,
            .environment = environment,
            .idle_seconds = idle_seconds,
        };
        error = stat(folder, &status) != 0 ? -errno : 0;
        plan.device = status.st_dev;
        plan.inode = status.st_ino;
        if (error == 0)
            error = fork_detached(&plan);
    }
    free(lock);
    free(attached);
    free(configuration);
    free(memory);
    return error == 0 ? 0
                      : problem_set(problem, error,
                                    "%s: no process can be started for the server: "
                                    "%s",
                                    folder, strerror(-error));
}

pid_t supervisor_find(const char *folder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *path = NULL;

    if (asprintf(&path, "%s/supervisor", folder) < 0)
        return -ENOMEM;
    int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    int error = descriptor < 0 ? -errno : fcntl(descriptor, F_GETLK, &lock) != 0 ? -errno : 0;
    if (descriptor >= 0)
        close(descriptor);
    free(path);
    if (error != 0)
        return error == -ENOENT ? 0 : error;
    return lock.l_type == F_UNLCK ? 0 : lock.l_pid > 0 ? lock.l_pid : -ESRCH;
}
