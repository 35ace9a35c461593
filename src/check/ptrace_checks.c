/* SPDX-License-Identifier: MIT */
/*
 * ptrace_checks.c: judges the results of the ptrace meter's trial, and advises what to do about them.
 *
 *      ptrace_try --> struct ptrace_trial --> check_ptrace_meter --> struct meter_check
 */
#include "check/check.h"
#include "check/ptrace_trial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ALLOW "have the container or unit allow the system call "

/* One step of the trial. */
static const struct {
    const char *name;
    size_t fact; /* its offset in struct ptrace_trial */
    enum meter_check_state without;
    const char *works;
    const char *lost; /* what does not work without it */
    const char *advice;
} rows[] = {
    {"ptrace()", offsetof(struct ptrace_trial, trace), METER_CHECK_MISSING, "a child can be traced",
     "the ptrace meter does not work",
     ALLOW "ptrace: docker run --cap-add SYS_PTRACE, or a seccomp profile with ptrace in it; in a "
           "systemd unit SystemCallFilter=ptrace; see also Yama"},
    {"seccomp()", offsetof(struct ptrace_trial, filter), METER_CHECK_MISSING,
     "calls that do not matter pass the filter",
     "only dpm run --meter ptrace --survive works (without a filter)",
     "use --survive; or " ALLOW "seccomp, on a kernel built with CONFIG_SECCOMP_FILTER=y"},
    {"PTRACE_GET_SYSCALL_INFO", offsetof(struct ptrace_trial, information), METER_CHECK_MISSING,
     "calls and their arguments can be read", "calls cannot be read", "use Linux 5.3 or later"},
    {"process_vm_readv()", offsetof(struct ptrace_trial, memory), METER_CHECK_MISSING,
     "arguments in memory can be read", "arguments in memory cannot be read",
     ALLOW "process_vm_readv: docker run --cap-add SYS_PTRACE, or a seccomp profile with it"},
    {"/proc/PID/fd", offsetof(struct ptrace_trial, files), METER_CHECK_LIMITED,
     "descriptors can be identified",
     "names, users and CPU times are missing, and no message is matched for certain",
     "mount -t proc proc /proc"},
    {"pidfd_getfd()", offsetof(struct ptrace_trial, descriptors), METER_CHECK_LIMITED,
     "sockets can be identified", "each new socket is looked up in the list of all (slower)",
     ALLOW "pidfd_getfd: docker run --cap-add SYS_PTRACE, or a seccomp profile with it; Linux 5.6 "
           "or later has it"},
    {"/proc/PID/schedstat", offsetof(struct ptrace_trial, schedule), METER_CHECK_LIMITED,
     "has CPU times and sleeps", "CPU times and waits are unknown",
     "use a kernel built with CONFIG_SCHED_INFO=y, as distributions' kernels are"},
};

static int fact(const struct ptrace_trial *trial, size_t row)
{
    return *(const int *)((const char *)trial + rows[row].fact);
}

/* Whether this step killed the process: later steps then stay PTRACE_KILLED, but did not run. */
static bool has_killed(const struct ptrace_trial *trial, size_t row)
{
    return fact(trial, row) == PTRACE_KILLED &&
           (row == 0 || (fact(trial, row - 1) != PTRACE_KILLED && trial->trace == 0 &&
                         (trial->filter == 0 || fact(trial, row) == trial->filter)));
}

static void judge(const struct ptrace_trial *trial, size_t row, struct meter_check *check)
{
    int found = fact(trial, row);
    bool killed = has_killed(trial, row);

    check->state = found == 0                          ? METER_CHECK_OK
                   : found == PTRACE_KILLED && !killed ? METER_CHECK_UNKNOWN
                                                       : rows[row].without;
    if (check->state == METER_CHECK_OK)
        snprintf(check->detail, sizeof(check->detail), "%s", rows[row].works);
    else if (check->state == METER_CHECK_UNKNOWN)
        snprintf(check->detail, sizeof(check->detail), "not tried: a check above failed");
    else
        snprintf(check->detail, sizeof(check->detail), "%s: %s",
                 killed ? "the caller is killed" : strerror(-found), rows[row].lost);
    if (check->state == rows[row].without)
        snprintf(check->advice, sizeof(check->advice), "%s", rows[row].advice);
}

/* Yama is a security module that forbids most tracing. Only its stricter modes forbid tracing descendants. */
static void judge_scope(const struct ptrace_trial *trial, struct meter_check *check)
{
    check->state = METER_CHECK_OK;
    if (trial->scope < 0)
        snprintf(check->detail, sizeof(check->detail), "not active");
    else if (trial->scope <= 1 || trial->trace == 0)
        snprintf(check->detail, sizeof(check->detail), "ptrace_scope %d allows it", trial->scope);
    if (trial->scope <= 1 || trial->trace == 0)
        return;
    check->state = METER_CHECK_MISSING;
    snprintf(check->detail, sizeof(check->detail), "ptrace_scope %d forbids %s", trial->scope,
             trial->scope == 2 ? "it without CAP_SYS_PTRACE" : "it to all");
    snprintf(check->advice, sizeof(check->advice), "%s",
             trial->scope == 2 ? "as root: sysctl kernel.yama.ptrace_scope=1; or setcap "
                                 "cap_sys_ptrace+ep for dpm"
                               : "it lasts until the next boot; /etc/sysctl.d shows what sets "
                                 "kernel.yama.ptrace_scope");
}

bool check_ptrace_meter(void (*tell)(const struct meter_check *check, void *context), void *context)
{
    struct meter_check check = {.group = PTRACE_CHECKS, .name = "Yama"};
    struct ptrace_trial trial;
    struct problem problem;

    if (ptrace_try(&trial, &problem) < 0) {
        check = (struct meter_check){
            .group = PTRACE_CHECKS, .name = "ptrace()", .state = METER_CHECK_UNKNOWN};
        snprintf(check.detail, sizeof(check.detail), "%s", problem.text);
        tell(&check, context);
        return false;
    }
    judge_scope(&trial, &check);
    tell(&check, context);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        check = (struct meter_check){.group = PTRACE_CHECKS};
        snprintf(check.name, sizeof(check.name), "%s", rows[i].name);
        judge(&trial, i, &check);
        tell(&check, context);
    }
    return ptrace_works(&trial);
}
