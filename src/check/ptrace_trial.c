/* SPDX-License-Identifier: MIT */
/*
 * ptrace_trial.c: tries on a process of our own whether ptrace works here, and everything else that the meter needs.
 *
 *      caller --fork--> tester --fork--> subject
 *                         |  SEIZE ------->|  waits at a gate
 *                         |  opens it      |  loads the meter's own filter, writes a byte
 *                         |<--- stop ------|
 *                         |  examines it in every way that the meter does
 *                         '--> facts, in memory shared with the caller
 *
 * The tester is a process of its own, because a seccomp filter may kill the process that calls ptrace. The step that
 * killed it, and the later ones, stay PTRACE_KILLED.
 */
#include "check/ptrace_trial.h"

#include "ptracemeter/ptracemeter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_SECONDS 5 /* no step waits; a signal ends a process that hangs anyway */

static const char known_text[] = "what the subject has in its memory";

/* ---- the subject ---- */

/* The subject makes the filter itself, because the process that makes one may be killed. */
static void be_subject(const int gate[2])
{
    const struct ptracemeter_options options = {.flags = METER_ALL_FLAGS};
    struct meter_interface *meter;
    struct problem problem;
    char byte;

    if (read(gate[0], &byte, 1) != 1)
        _exit(0);
    int result = ptracemeter_open(&options, &meter, &problem);
    if (result == 0)
        result = meter->enter(meter);
    if (result < 0)
        _exit(-result);
    _exit(write(gate[1], &byte, 1) == 1 ? 0 : EPIPE);
}

/* ---- looking at the subject ---- */

static int look_at_call(pid_t pid)
{
    struct __ptrace_syscall_info info = {0};

    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0)
        return -errno;
    return info.op == PTRACE_SYSCALL_INFO_SECCOMP && info.seccomp.nr == SYS_write ? 0 : -EPROTO;
}

static int look_at_memory(pid_t pid)
{
    char copy[sizeof(known_text)];
    struct iovec local = {copy, sizeof(copy)}, remote = {(void *)known_text, sizeof(copy)};

    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof(copy))
        return errno == 0 ? -EIO : -errno;
    return memcmp(copy, known_text, sizeof(copy)) == 0 ? 0 : -EPROTO;
}

static int look_at_descriptor(pid_t pid, int descriptor)
{
    int process = (int)syscall(SYS_pidfd_open, pid, 0);

    if (process < 0)
        return -errno;
    return syscall(SYS_pidfd_getfd, process, descriptor, 0) < 0 ? -errno : 0;
}

/* The subject has run, so the kernel shows its CPU time, if it counts CPU time at all. */
static int look_at_schedule(pid_t pid)
{
    char path[64], text[80] = "";

    snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    ssize_t length = read(file, text, sizeof(text) - 1);
    return length < 0 ? -errno : strtoull(text, NULL, 10) == 0 ? -ENODATA : 0;
}

static int look_at_files(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    return access(path, R_OK | X_OK) < 0 ? -errno : 0;
}

/* ---- the tester ---- */

/* Waits until the subject stops at its call. Returns the result of its filter: 0, or the negative errno it exited
 * with. */
static int await_call(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, __WALL) == pid) {
        if (WIFEXITED(status))
            return WEXITSTATUS(status) == 0 ? -EPROTO : -WEXITSTATUS(status);
        if (WIFSIGNALED(status))
            return PTRACE_KILLED;
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8))
            return 0;
        ptrace(PTRACE_CONT, pid, NULL, NULL);
    }
    return -errno;
}

static void look_at(pid_t pid, const int gate[2], struct ptrace_trial *trial)
{
    trial->information = look_at_call(pid);
    trial->memory = look_at_memory(pid);
    trial->files = look_at_files(pid);
    trial->descriptors = look_at_descriptor(pid, gate[0]);
    trial->schedule = look_at_schedule(pid);
}

/* Every step is PTRACE_KILLED at the beginning, so that it stays so if the tester is killed. */
static void test(struct ptrace_trial *trial)
{
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;
    struct rlimit none = {0, 0};
    int gate[2];

    setrlimit(RLIMIT_CORE, &none); /* being killed here is an answer, not a crash */
    alarm(MOST_SECONDS);
    ptracemeter_allow_tracing();
    if (pipe(gate) < 0)
        _exit(1);
    pid_t subject = fork();
    if (subject == 0) {
        alarm(MOST_SECONDS);
        be_subject(gate);
    }
    if (subject < 0)
        _exit(1);
    trial->trace = ptrace(PTRACE_SEIZE, subject, NULL, (void *)options) < 0 ? -errno : 0;
    if (trial->trace == 0 && write(gate[1], "", 1) == 1)
        trial->filter = await_call(subject);
    if (trial->filter == 0)
        look_at(subject, gate, trial);
    kill(subject, SIGKILL);
    _exit(0);
}

/* ---- the caller ---- */

static int read_scope(void)
{
    char text[16] = "";
    int file = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return -errno;
    ssize_t length = read(file, text, sizeof(text) - 1);
    int error = errno;
    close(file);
    return length < 0 ? -error : atoi(text);
}

int ptrace_try(struct ptrace_trial *ret_trial, struct problem *problem)
{
    struct ptrace_trial *trial =
        mmap(NULL, sizeof(*trial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t tester = -1;
    if (trial != MAP_FAILED) {
        *trial = (struct ptrace_trial){PTRACE_KILLED, PTRACE_KILLED, PTRACE_KILLED, PTRACE_KILLED,
                                       PTRACE_KILLED, PTRACE_KILLED, PTRACE_KILLED};
        tester = fork();
    }
    if (tester == 0)
        test(trial);
    if (tester < 0) {
        int result = problem_set(problem, -errno, "cannot try ptrace: %s", strerror(errno));
        if (trial != MAP_FAILED)
            munmap(trial, sizeof(*trial));
        return result;
    }
    while (waitpid(tester, NULL, 0) < 0 && errno == EINTR)
        ;
    *ret_trial = *trial;
    ret_trial->scope = read_scope();
    munmap(trial, sizeof(*trial));
    return 0;
}

bool ptrace_works(const struct ptrace_trial *trial)
{
    return trial->trace == 0 && trial->filter == 0 && trial->information == 0 && trial->memory == 0;
}
