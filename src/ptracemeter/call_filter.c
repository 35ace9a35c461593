/* SPDX-License-Identifier: MIT */
/*
 * call_filter.c: which system calls matter, and the seccomp filter that lets all others pass without a stop.
 *
 *      system_calls --> libseccomp --> BPF program --> loaded by the command
 *
 * A call that one of the command's own filters refuses, or passes to a process (user notification), never stops: these
 * actions take precedence over ours. The meter reports that such a process exists. All 32-bit and x32 calls stop, and
 * the meter reports that there are any.
 */
#include "ptracemeter/call_filter.h"

#include "ptracemeter/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <linux/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MESSAGES_OUT (EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL))
#define MESSAGES_IN  (EVENT_FLAG(EVENT_RECEIVE) | EVENT_FLAG(EVENT_RECEIVECALL))
/* Offsets need both directions: of a pipe, and of a socket whose two ends are traced. */
#define MESSAGES (MESSAGES_OUT | MESSAGES_IN)
#define FILES    (EVENT_FLAG(EVENT_READ) | EVENT_FLAG(EVENT_WRITE))
#define WAITS    EVENT_FLAG(EVENT_RECEIVECALL)
#define SLEEPS   EVENT_FLAG(EVENT_BLOCK)
#define PATHS                                                                                      \
    (MESSAGES | EVENT_FLAG(EVENT_CREATEPATH) | EVENT_FLAG(EVENT_CONNECT) |                         \
     EVENT_FLAG(EVENT_ACCEPT) | EVENT_FLAG(EVENT_DESTROYPATH) | EVENT_FLAG(EVENT_CONNECTFAILED))

#define FUTEX_COMMAND 0x7f

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#define CALL_FUTEX_WAIT 455 /* newer than our headers */

const struct system_call system_calls[] = {
    {SYS_write, CALL_SENDS, MESSAGES_OUT | FILES},
    {SYS_writev, CALL_SENDS, MESSAGES_OUT | FILES},
    {SYS_pwritev2, CALL_SENDS, MESSAGES_OUT | FILES},
    {SYS_sendto, CALL_SENDS, MESSAGES_OUT},
    {SYS_sendmsg, CALL_SENDS, MESSAGES_OUT},
    {SYS_sendmmsg, CALL_SENDS_MANY, MESSAGES_OUT},
    {SYS_read, CALL_RECEIVES, MESSAGES_IN | FILES},
    {SYS_readv, CALL_RECEIVES, MESSAGES_IN | FILES},
    {SYS_preadv2, CALL_RECEIVES, MESSAGES_IN | FILES},
    {SYS_recvfrom, CALL_RECEIVES, MESSAGES_IN},
    {SYS_recvmsg, CALL_RECEIVES, MESSAGES_IN},
    {SYS_recvmmsg, CALL_RECEIVES_MANY, MESSAGES_IN},
    {SYS_sendfile, CALL_MOVES, MESSAGES | FILES},
    {SYS_splice, CALL_MOVES, MESSAGES | FILES},
    {SYS_tee, CALL_MOVES, MESSAGES},
    {SYS_vmsplice, CALL_MOVES, MESSAGES},
    {SYS_io_submit, CALL_SUBMITS, MESSAGES},
    {SYS_poll, CALL_WAITS_ANY, WAITS, TEST_NOT, 2, 0, 0},
    {SYS_ppoll, CALL_WAITS_ANY, WAITS},
    {SYS_select, CALL_WAITS_ANY, WAITS},
    {SYS_pselect6, CALL_WAITS_ANY, WAITS},
    {SYS_epoll_wait, CALL_WAITS_ANY, WAITS, TEST_NOT, 3, 0, 0},
    {SYS_epoll_pwait, CALL_WAITS_ANY, WAITS, TEST_NOT, 3, 0, 0},
    {SYS_epoll_pwait2, CALL_WAITS_ANY, WAITS},
    {SYS_accept, CALL_ACCEPTS, PATHS},
    {SYS_accept4, CALL_ACCEPTS, PATHS},
    {SYS_connect, CALL_CONNECTS, PATHS},
    {SYS_listen, CALL_LISTENS, PATHS},
    {SYS_getsockopt, CALL_OPTIONS, PATHS, TEST_MASKED, 2, UINT32_MAX, SO_ERROR},
    {SYS_close, CALL_CLOSES, PATHS},
    {SYS_dup2, CALL_CLOSES, PATHS},
    {SYS_dup3, CALL_CLOSES, PATHS},
    {SYS_close_range, CALL_CLOSES, PATHS},
    {SYS_unshare, CALL_CLOSES, PATHS, TEST_MASKED, 0, CLONE_FILES, CLONE_FILES},
    {SYS_shutdown, CALL_CLOSES, PATHS},
    {SYS_fcntl, CALL_CLOSES, PATHS, TEST_MASKED, 2, O_DIRECT, O_DIRECT},
    {SYS_pipe, CALL_MAKES, PATHS},
    {SYS_pipe2, CALL_MAKES, PATHS},
    {SYS_socket, CALL_MAKES, PATHS},
    {SYS_socketpair, CALL_MAKES, PATHS},
    {SYS_pread64, CALL_FILES, FILES, .kinds = METER_FILE},
    {SYS_preadv, CALL_FILES, FILES, .kinds = METER_FILE},
    {SYS_pwrite64, CALL_FILES, FILES, .kinds = METER_FILE},
    {SYS_pwritev, CALL_FILES, FILES, .kinds = METER_FILE},
    {SYS_copy_file_range, CALL_FILES, FILES, .kinds = METER_FILE},
    {SYS_open, CALL_OPENS, FILES, .kinds = METER_FILE},
    {SYS_creat, CALL_OPENS, FILES, .kinds = METER_FILE},
    {SYS_openat, CALL_OPENS, FILES, .kinds = METER_FILE},
    {SYS_openat2, CALL_OPENS, FILES, .kinds = METER_FILE},
    {SYS_msgget, CALL_QUEUES, MESSAGES, .kinds = METER_MQ},
    {SYS_msgsnd, CALL_QUEUES, MESSAGES, .kinds = METER_MQ},
    {SYS_msgrcv, CALL_QUEUES, MESSAGES, .kinds = METER_MQ},
    {SYS_mq_open, CALL_QUEUES, MESSAGES, .kinds = METER_MQ},
    {SYS_mq_timedsend, CALL_QUEUES, MESSAGES, .kinds = METER_MQ},
    {SYS_mq_timedreceive, CALL_QUEUES, MESSAGES, .kinds = METER_MQ},
    {SYS_nanosleep, CALL_SLEEPS, SLEEPS},
    {SYS_clock_nanosleep, CALL_SLEEPS, SLEEPS},
    {SYS_pause, CALL_SLEEPS, SLEEPS},
    {SYS_rt_sigsuspend, CALL_SLEEPS, SLEEPS},
    {SYS_rt_sigtimedwait, CALL_SLEEPS, SLEEPS},
    {SYS_wait4, CALL_SLEEPS, SLEEPS},
    {SYS_waitid, CALL_SLEEPS, SLEEPS},
    {SYS_flock, CALL_SLEEPS, SLEEPS},
    {SYS_semop, CALL_SLEEPS, SLEEPS},
    {SYS_semtimedop, CALL_SLEEPS, SLEEPS},
    {SYS_futex, CALL_SLEEPS, SLEEPS, TEST_MASKED, 1, FUTEX_COMMAND, 0},  /* WAIT */
    {SYS_futex, CALL_SLEEPS, SLEEPS, TEST_MASKED, 1, FUTEX_COMMAND, 6},  /* LOCK_PI */
    {SYS_futex, CALL_SLEEPS, SLEEPS, TEST_MASKED, 1, FUTEX_COMMAND, 9},  /* WAIT_BITSET */
    {SYS_futex, CALL_SLEEPS, SLEEPS, TEST_MASKED, 1, FUTEX_COMMAND, 11}, /* WAIT_REQUEUE_PI */
    {SYS_futex, CALL_SLEEPS, SLEEPS, TEST_MASKED, 1, FUTEX_COMMAND, 13}, /* LOCK_PI2 */
    {SYS_futex_waitv, CALL_SLEEPS, SLEEPS},
    {CALL_FUTEX_WAIT, CALL_SLEEPS, SLEEPS},
    {SYS_restart_syscall, CALL_RESTARTS, WAITS | SLEEPS},
    {SYS_io_uring_setup, CALL_NOTICED, 0},
    {SYS_ptrace, CALL_NOTICED, 0},
    {SYS_clone3, CALL_NOTICED, 0},
    {SYS_unshare, CALL_CLOSES, 0, TEST_MASKED, 0, CLONE_NEWPID, CLONE_NEWPID},
    {SYS_unshare, CALL_CLOSES, 0, TEST_MASKED, 0, CLONE_NEWNET, CLONE_NEWNET},
    {SYS_setns, CALL_NOTICED, 0},
    {SYS_prctl, CALL_RENAMES, 0, TEST_MASKED, 0, UINT32_MAX, PR_SET_NAME},
    {SYS_setuid, CALL_IDENTIFIES, 0},
    {SYS_setreuid, CALL_IDENTIFIES, 0},
    {SYS_setresuid, CALL_IDENTIFIES, 0},
    {SYS_getsockopt, CALL_OPTIONS, 0, TEST_MASKED, 2, UINT32_MAX, TCP_ZEROCOPY_RECEIVE},
    {SYS_seccomp, CALL_NOTICED, 0, TEST_MASKED, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER,
     SECCOMP_FILTER_FLAG_NEW_LISTENER},
    {0, NO_CLASS},
};

static bool is_asked_for(const struct ptracemeter *meter, const struct system_call *call)
{
    return (call->flags == 0 || (meter->options.flags & call->flags) != 0) &&
           (call->kinds == 0 || (meter->options.kinds & call->kinds) != 0);
}

static int add_call(scmp_filter_ctx filter, const struct system_call *call)
{
    uint32_t stop = SCMP_ACT_TRACE(0);
    struct scmp_arg_cmp test = {.arg = call->argument};

    switch ((enum argument_test)call->test) {
    case TEST_NOT:
        test.op = SCMP_CMP_NE;
        test.datum_a = call->value;
        break;
    case TEST_MASKED:
        test.op = SCMP_CMP_MASKED_EQ;
        test.datum_a = call->mask;
        test.datum_b = call->value;
        break;
    case TEST_NONE:
        return seccomp_rule_add_array(filter, stop, call->number, 0, NULL);
    }
    return seccomp_rule_add_array(filter, stop, call->number, 1, &test);
}

/* Calls that may change a program's text: those with any of certain bits set in an argument. */
static int add_text_changes(scmp_filter_ctx filter)
{
    int result = 0;

    for (size_t i = 0; i < callers_change_count; i++)
        for (uint64_t left = callers_changes[i].bits; left != 0 && result == 0; left &= left - 1) {
            const struct system_call call = {.number = (uint16_t)callers_changes[i].call,
                                             .what = CALL_CHANGES_TEXT,
                                             .test = TEST_MASKED,
                                             .argument = (uint8_t)callers_changes[i].argument,
                                             .mask = left & -left,
                                             .value = left & -left};
            result = add_call(filter, &call);
        }
    return result;
}

static int add_calls(const struct ptracemeter *meter, scmp_filter_ctx filter)
{
    /* The filtered calls of an untraced child would fail. The meter therefore clears CLONE_UNTRACED. */
    const struct system_call untraced = {SYS_clone,      CALL_NOTICED,  0, TEST_MASKED, 0,
                                         CLONE_UNTRACED, CLONE_UNTRACED};
    int result = add_call(filter, &untraced);

    for (const struct system_call *call = system_calls; call->what != NO_CLASS && result == 0;
         call++)
        if (is_asked_for(meter, call))
            result = add_call(filter, call);
    if (result == 0 && (meter->options.flags & METER_FLAG_PC))
        result = add_text_changes(filter);
    return result;
}

/* Exports the filter in the kernel's form. It is loaded between fork and exec, where few functions are safe. */
static int take_program(struct ptracemeter *meter, scmp_filter_ctx filter)
{
    int file = memfd_create("filter", MFD_CLOEXEC), result = file < 0 ? -errno : 0;
    struct stat status;

    if (result == 0)
        result = seccomp_export_bpf(filter, file);
    if (result == 0 && fstat(file, &status) < 0)
        result = -errno;
    if (result == 0) {
        meter->filter.len = (unsigned short)((size_t)status.st_size / sizeof(struct sock_filter));
        meter->filter.filter = malloc((size_t)status.st_size);
        result = meter->filter.filter == NULL ? -ENOMEM : 0;
    }
    if (result == 0 &&
        pread(file, meter->filter.filter, (size_t)status.st_size, 0) != status.st_size)
        result = -EIO;
    if (file >= 0)
        close(file);
    return result;
}

int filter_make(struct ptracemeter *meter, struct problem *problem)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int result = filter == NULL ? -ENOMEM : 0;

    if (result == 0)
        result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_TRACE(0));
    if (result == 0)
        result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (result == 0)
        result = add_calls(meter, filter);
    if (result == 0)
        result = take_program(meter, filter);
    seccomp_release(filter);
    return result < 0 ? problem_set(problem, result, "cannot make the filter of system calls: %s",
                                    strerror(-result))
                      : 0;
}

void filter_free(struct ptracemeter *meter)
{
    free(meter->filter.filter);
}

int filter_enter(void *context)
{
    struct ptracemeter *meter = context;

    if (meter->options.survive)
        return 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &meter->filter) < 0)
        return -errno;
    return 0;
}
