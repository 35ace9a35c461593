/* SPDX-License-Identifier: MIT */
/*
 * filesystem_launch.c: starts the processes, waits for them, and kills them after an error.
 *
 *     launcher ── listeners of all servers ── shared memory ── fork, pin, execute ── wait
 *
 * All listeners exist before the first process starts, so no connection is too early. A server exits when its clients
 * have gone: users first, then the request interpreter, and so on to the disk. Children die with the launcher.
 */
#include "filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

int problem_set(struct problem *problem, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof(problem->text), format, arguments);
    va_end(arguments);
    return error;
}

/* ---- before the first process ---- */

int launch_prepare(struct launch *launch, struct problem *problem)
{
    launch->shared_descriptor = memfd_create("filesystem", MFD_CLOEXEC);
    if (launch->shared_descriptor < 0 ||
        ftruncate(launch->shared_descriptor, sizeof(*launch->shared)) < 0)
        return problem_set(problem, -errno, "memory to share: %s", strerror(errno));
    launch->shared = mmap(NULL, sizeof(*launch->shared), PROT_READ | PROT_WRITE, MAP_SHARED,
                          launch->shared_descriptor, 0);
    if (launch->shared == MAP_FAILED)
        return problem_set(problem, -errno, "memory to share: %s", strerror(errno));
    return 0;
}

/* The kernel chooses the address: a free port, or a free abstract name. */
static int listen_somewhere(bool tcp, struct address *address)
{
    const struct sockaddr_in loopback = {.sin_family = AF_INET,
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr nameless = {.sa_family = AF_UNIX};
    const int descriptor = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return -errno;
    address->size = sizeof(address->socket);
    if ((tcp ? bind(descriptor, (const struct sockaddr *)&loopback, sizeof(loopback))
             : bind(descriptor, &nameless, sizeof(sa_family_t))) < 0 ||
        listen(descriptor, PROCESSES) < 0 ||
        getsockname(descriptor, (struct sockaddr *)&address->socket, &address->size) < 0) {
        const int error = -errno;
        close(descriptor);
        return error;
    }
    return descriptor;
}

static int open_disk(const char *name)
{
    char path[] = "/tmp/filesystem-disk-XXXXXX";
    if (name)
        return open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const int descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor >= 0)
        unlink(path);
    return descriptor;
}

static int make_listeners_here(struct launch *launch, struct problem *problem)
{
    for (unsigned server = 0; server < SERVERS; server++) {
        launch->listeners[server] =
            listen_somewhere(launch->tcp, &launch->shared->addresses[server]);
        if (launch->listeners[server] < 0)
            return problem_set(problem, launch->listeners[server], "cannot listen: %s",
                               strerror(-launch->listeners[server]));
    }
    return 0;
}

static int make_listeners(struct launch *launch, struct problem *problem)
{
    const int error = launch->part < 0 ? make_listeners_here(launch, problem)
                                       : apart_make_listeners(launch, problem);
    if (error < 0)
        return error;
    launch->shared->settings.disk =
        launch_has(launch, DISK_INTERFACE) ? open_disk(launch->disk) : -1;
    if (launch_has(launch, DISK_INTERFACE) && launch->shared->settings.disk < 0)
        return problem_set(problem, -errno, "%s: %s", launch->disk ? launch->disk : "/tmp",
                           strerror(errno));
    return 0;
}

/* ---- children ---- */

/* The program of that role in the folder of the running one. */
static int program_beside(const char *name, char *ret_path, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", ret_path, size - 1);
    if (length < 0)
        return -errno;
    ret_path[length] = '\0';
    char *slash = strrchr(ret_path, '/');
    if (!slash || (size_t)(slash + 1 - ret_path) + strlen(name) >= size)
        return -ENAMETOOLONG;
    strcpy(slash + 1, name);
    return 0;
}

static void inherit(int descriptor)
{
    if (descriptor >= 0)
        fcntl(descriptor, F_SETFD, 0);
}

static int pin(int core)
{
    cpu_set_t set;
    if (core < 0)
        return 0;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    return sched_setaffinity(0, sizeof(set), &set);
}

static void become(const struct launch *launch, unsigned number, const char *path)
{
    const unsigned role = role_of(number);
    const int listener = number < SERVERS ? launch->listeners[number] : -1;
    char words[3][16];
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || pin(launch->cores[role]) < 0) {
        fprintf(stderr, "filesystem: %s on core %d: %s\n", role_names[role], launch->cores[role],
                strerror(errno));
        _exit(1);
    }
    inherit(launch->shared_descriptor);
    inherit(listener);
    if (number == DISK_INTERFACE)
        inherit(launch->shared->settings.disk);
    snprintf(words[0], sizeof(words[0]), "%u", number);
    snprintf(words[1], sizeof(words[1]), "%d", launch->shared_descriptor);
    snprintf(words[2], sizeof(words[2]), "%d", listener);
    execl(path, role_names[role], words[0], words[1], words[2], (char *)NULL);
    fprintf(stderr, "filesystem: cannot execute %s: %s\n", path, strerror(errno));
    _exit(127);
}

static int start(struct launch *launch, unsigned number, struct problem *problem)
{
    char path[PATH_MAX];
    int error = program_beside(role_names[role_of(number)], path, sizeof(path));
    if (error < 0)
        return problem_set(problem, error, "/proc/self/exe: %s", strerror(-error));
    const pid_t pid = fork();
    if (pid < 0)
        return problem_set(problem, -errno, "cannot start a process: %s", strerror(errno));
    if (pid == 0)
        become(launch, number, path);
    launch->processes[number] = pid;
    return 0;
}

static int start_all(struct launch *launch, struct problem *problem)
{
    const unsigned count = SERVERS + launch->shared->settings.users;
    for (unsigned number = 0; number < count; number++) {
        if (!launch_has(launch, role_of(number)))
            continue;
        const int error = start(launch, number, problem);
        if (error < 0)
            return error;
    }
    for (unsigned server = 0; server < SERVERS; server++)
        if (launch_has(launch, server))
            close(launch->listeners[server]);
    return 0;
}

static int ended(struct launch *launch, pid_t pid, int status, const struct rusage *usage,
                 struct problem *problem)
{
    unsigned number = 0;
    while (number < PROCESSES && launch->processes[number] != pid)
        number++;
    if (number == PROCESSES)
        return 0;
    launch->processes[number] = 0;
    launch->cpu[number].user_us =
        (uint64_t)usage->ru_utime.tv_sec * 1000000 + (uint64_t)usage->ru_utime.tv_usec;
    launch->cpu[number].system_us =
        (uint64_t)usage->ru_stime.tv_sec * 1000000 + (uint64_t)usage->ru_stime.tv_usec;
    if (WIFSIGNALED(status))
        return problem_set(problem, -ECHILD, "%s (process %d) was killed by signal %d, %s",
                           role_names[role_of(number)], (int)pid, WTERMSIG(status),
                           strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        return problem_set(problem, -ECHILD, "%s (process %d) ended with exit code %d",
                           role_names[role_of(number)], (int)pid, WEXITSTATUS(status));
    return 0;
}

/* Waits until all have ended, or one has failed. */
static int wait_for_all(struct launch *launch, struct problem *problem)
{
    for (;;) {
        struct rusage usage;
        int status;
        const pid_t pid = wait4(-1, &status, 0, &usage);
        if (pid < 0 && errno == ECHILD)
            return 0;
        if (pid < 0 && (errno != EINTR || interrupted))
            return problem_set(problem, -errno, "interrupted");
        const int error = pid < 0 ? 0 : ended(launch, pid, status, &usage, problem);
        if (error < 0)
            return error;
    }
}

/* Users first: then no user reports that its server is gone. */
static void kill_all(struct launch *launch)
{
    for (unsigned number = PROCESSES; number-- > 0;)
        if (launch->processes[number])
            kill(launch->processes[number], SIGKILL);
    for (unsigned number = 0; number < PROCESSES; number++)
        if (launch->processes[number])
            waitpid(launch->processes[number], NULL, 0);
}

static void interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int launch_run(struct launch *launch, struct problem *problem)
{
    const struct sigaction action = {.sa_handler = interrupt}; /* no SA_RESTART: wait ends */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);

    int error = make_listeners(launch, problem);
    const uint64_t begin = now_us();
    if (error == 0)
        error = start_all(launch, problem);
    if (error == 0)
        error = wait_for_all(launch, problem);
    launch->elapsed_us = now_us() - begin;
    kill_all(launch);
    return error;
}
