/* SPDX-License-Identifier: MIT */
/*
 * tracer.c: the tracing thread: waits for stops of tracees, handles them, and resumes the tracees.
 *
 *      a call begins     seccomp stop (with `survive`: system call stop)   calls.c
 *      a call ends       system call stop                                  calls.c
 *      fork, clone       the creator's event; the child begins stopped     tracees.c
 *      exec, exit        events                                            tracees.c
 *      a signal          is delivered
 *      SIGSTOP ...       a group stop: it stays stopped (PTRACE_LISTEN) until it is continued
 *
 * A timer interrupts the wait, to look at calls that take long.
 */
#include "ptracemeter/tracer.h"

#include "ptracemeter/calls.h"
#include "ptracemeter/file_calls.h"
#include "ptracemeter/objects.h"
#include "ptracemeter/queue_calls.h"
#include "ptracemeter/telling.h"
#include "ptracemeter/tracees.h"

#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK      (100 * MILLISECOND)
#define SWEEP     (1000 * MILLISECOND)
#define LONG_HELD (500 * MILLISECOND)

#define SYSCALL_STOP (SIGTRAP | 0x80)

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

bool tracer_read(const struct tracee *tracee, uint64_t address, void *to, size_t size)
{
    struct iovec local = {to, size};
    struct iovec remote = {(void *)(uintptr_t)address, size};

    return process_vm_readv(tracee->tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* ---- resuming ---- */

static void let_go(struct ptracemeter *meter, struct tracee *tracee, int signal)
{
    bool stops = tracee->exit_wanted || meter->options.survive;

    tracee->stands = false;
    /* fails if the tracee has been killed meanwhile */
    ptrace(stops ? PTRACE_SYSCALL : PTRACE_CONT, tracee->tid, NULL, (void *)(long)signal);
}

static long options_of(const struct ptracemeter *meter)
{
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;

    return meter->options.survive ? options : options | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;
}

/* ---- stops ---- */

/* A result of wait4. */
struct stop {
    pid_t tid;
    int status;
    uint64_t involuntary; /* involuntary switches of its process */
};

/* Reads where the tracee is stopped. Returns false if it is gone. */
static bool look_where(struct tracee *tracee, struct __ptrace_syscall_info *info)
{
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->tid, sizeof(*info), info) < 0)
        return false;
    if (tracee->ip != info->instruction_pointer || tracee->stack != info->stack_pointer ||
        info->op != PTRACE_SYSCALL_INFO_EXIT)
        tracee->pc_found = false;
    tracee->ip = info->instruction_pointer;
    tracee->stack = info->stack_pointer;
    tracee->stands = true;
    return true;
}

#define X32_BIT 0x40000000u /* in a call's number */

/* Whether this is a 32-bit or x32 call. Those have call numbers of their own, which the meter does not know. */
static bool is_other_call(const struct __ptrace_syscall_info *info)
{
    return info->op != PTRACE_SYSCALL_INFO_EXIT &&
           (info->arch != AUDIT_ARCH_X86_64 ||
            (info->op == PTRACE_SYSCALL_INFO_SECCOMP && (info->seccomp.nr & X32_BIT)) ||
            (info->op == PTRACE_SYSCALL_INFO_ENTRY && (info->entry.nr & X32_BIT)));
}

static void at_other_call(struct ptracemeter *meter, struct tracee *tracee)
{
    tracee->exit_wanted = false;
    call_dropped(meter, tracee);
    if (tracee->process->other_calls)
        return;
    tracee->process->other_calls = true;
    tracee_falls_short(tracee, &meter->shortfalls.other_calls);
    meter->doubtful = true;
    meter->identities_change = true;
}

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1 /* si_code */
#endif

/* Whether a filter of its own has refused the call with a signal, which is then pending. The result is the call's
 * number. */
static bool is_refused(const struct tracee *tracee, int64_t result)
{
    struct __ptrace_peeksiginfo_args which = {.nr = 1};
    siginfo_t signal;

    if (result < 0 || (uint64_t)result != tracee->call.number)
        return false;
    for (; ptrace(PTRACE_PEEKSIGINFO, tracee->tid, &which, &signal) == 1; which.off++)
        if (signal.si_signo == SIGSYS && signal.si_code == SYS_SECCOMP)
            return true;
    return false;
}

static void at_call_end(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    tracee->exit_wanted = false;
    if (tracee->call.what == NULL)
        return;
    if (is_refused(tracee, result)) {
        call_dropped(meter, tracee);
        return;
    }
    tracee_look(meter, tracee);
    call_ends(meter, tracee, result);
}

static void at_call(struct ptracemeter *meter, struct tracee *tracee)
{
    struct __ptrace_syscall_info info;

    if (!look_where(tracee, &info))
        return;
    if (tracee->from_exec || tracee->process == NULL || tracee->process->other_bits)
        return;
    if (is_other_call(&info)) {
        at_other_call(meter, tracee);
    } else if (info.op == PTRACE_SYSCALL_INFO_SECCOMP) {
        tracee->exit_wanted =
            call_begins(meter, tracee, info.seccomp.nr, (const uint64_t *)info.seccomp.args);
    } else if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        tracee->exit_wanted =
            call_begins(meter, tracee, info.entry.nr, (const uint64_t *)info.entry.args);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
        at_call_end(meter, tracee, info.exit.rval);
    }
}

static uint64_t event_message(const struct tracee *tracee)
{
    unsigned long message = 0;

    ptrace(PTRACE_GETEVENTMSG, tracee->tid, NULL, &message);
    return message;
}

static bool stops_group(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/* A group stop, its end, or the first stop of a new tracee. */
static void at_group(struct ptracemeter *meter, struct tracee *tracee, int signal)
{
    if (!tracee->born) {
        if (tracee->waits)
            return;
        tracee->waits = true;
        tracee->held_since = clock_now(CLOCK_MONOTONIC);
        return;
    }
    tracee_look(meter, tracee);
    if (!tracee->begun)
        tracee_starts(meter, tracee);
    if (stops_group(signal)) {
        if (!tracee->stopped)
            tell_process_event(meter, tracee, EVENT_STOPPROCESS, 0, 0, 0, 0);
        tracee->stopped = true;
        struct marked *marked = tracer_find_marked(meter, tracee->tid);
        if (marked != NULL)
            atomic_store(&marked->stopped, true);
        ptrace(PTRACE_LISTEN, tracee->tid, NULL, NULL);
        return;
    }
    if (tracee->stopped)
        tell_process_event(meter, tracee, EVENT_STARTPROCESS, 0, 0, 0, 0);
    tracee->stopped = false;
    let_go(meter, tracee, 0);
}

/* Resumes a tracee that was held until its creator's stop. */
static void release(struct ptracemeter *meter, struct tracee *tracee)
{
    if (!tracee->waits)
        return;
    tracee->waits = false;
    tracee_look(meter, tracee);
    tracee_starts(meter, tracee);
    let_go(meter, tracee, 0);
}

static void at_creation(struct ptracemeter *meter, struct tracee *tracee)
{
    pid_t child = (pid_t)event_message(tracee);
    struct __ptrace_syscall_info info;

    look_where(tracee, &info);
    tracee_look(meter, tracee);
    tracee_born(meter, tracee, child);
    let_go(meter, tracee, 0);
    struct tracee *created = tracee_find(meter, child);
    if (created != NULL)
        release(meter, created);
}

/* The tracee was killed in a call. There is no stop at the call's end, but its result says what it has moved. If the
 * call had not begun, or was to be restarted, the result is negative; this does not count as a failure. */
static void at_call_cut(struct ptracemeter *meter, struct tracee *tracee)
{
    struct user_regs_struct registers;

    if (tracee->call.what == NULL || ptrace(PTRACE_GETREGS, tracee->tid, NULL, &registers) < 0 ||
        registers.orig_rax != tracee->call.number || (int64_t)registers.rax < 0)
        return;
    at_call_end(meter, tracee, (int64_t)registers.rax);
}

static void at_exit(struct ptracemeter *meter, struct tracee *tracee)
{
    struct __ptrace_syscall_info info;

    look_where(tracee, &info);
    at_call_cut(meter, tracee);
    tracee_look(meter, tracee);
    tracee_ends(meter, tracee, (int)event_message(tracee));
    let_go(meter, tracee, 0);
}

static void at_signal(struct ptracemeter *meter, const struct tracee *tracee, int signal)
{
    siginfo_t info;

    if (tracee->number == 0 || tracee->process == NULL || tracee->from_exec ||
        !wants(meter, EVENT_SIGNAL) || ptrace(PTRACE_GETSIGINFO, tracee->tid, NULL, &info) < 0)
        return;
    tracee_signalled(meter, tracee, signal, &info);
}

static void at_stop(struct ptracemeter *meter, struct tracee *tracee, int status)
{
    int signal = WSTOPSIG(status);

    switch (status >> 16) {
    case PTRACE_EVENT_SECCOMP:
        at_call(meter, tracee);
        let_go(meter, tracee, 0);
        return;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        at_creation(meter, tracee);
        return;
    case PTRACE_EVENT_EXEC:
        let_go(meter, tracee_executes(meter, tracee, (pid_t)event_message(tracee)), 0);
        return;
    case PTRACE_EVENT_EXIT:
        at_exit(meter, tracee);
        return;
    case PTRACE_EVENT_STOP:
        at_group(meter, tracee, signal);
        return;
    case 0:
        break;
    default:
        let_go(meter, tracee, 0);
        return;
    }
    if (signal == SYSCALL_STOP) {
        at_call(meter, tracee);
        let_go(meter, tracee, 0);
    } else {
        at_signal(meter, tracee, signal);
        let_go(meter, tracee, signal); /* a signal to deliver */
    }
}

/* ---- at intervals ---- */

static void look_at_each(struct ptracemeter *meter, uint64_t now)
{
    for (uint32_t i = 0; i < meter->tracees.used; i++) {
        struct tracee *tracee = pool_at(&meter->tracees, i);
        if (tracee->tid == 0)
            continue;
        if (tracee->waits && now - tracee->held_since > LONG_HELD) {
            tracee_adopt(meter, tracee);
            release(meter, tracee);
        } else if (tracee->call.what != NULL) {
            call_goes_on(meter, tracee, now);
        }
    }
}

/* Called repeatedly, as tracees may create others meanwhile. */
static void kill_all(const struct ptracemeter *meter)
{
    for (uint32_t i = 0; i < meter->tracees.used; i++) {
        const struct tracee *tracee = pool_at(&meter->tracees, i);
        if (tracee->tid != 0)
            syscall(SYS_tkill, tracee->tid, SIGKILL);
    }
}

static void look_at_time(struct ptracemeter *meter)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (now - meter->last_tick < TICK && !atomic_load(&meter->kills))
        return;
    meter->last_tick = now;
    look_at_each(meter, now);
    if (atomic_load(&meter->kills))
        kill_all(meter);
    if (now - meter->last_sweep < SWEEP)
        return;
    meter->last_sweep = now;
    objects_sweep(meter, false);
    queues_sweep(meter, now);
    tracees_sweep(meter);
}

/* ---- detaching, only without the filter ---- */

/* Interrupts all tracees, and releases each when it stops. */
static void detach(struct ptracemeter *meter)
{
    int status;

    for (uint32_t i = 0; i < meter->tracees.used; i++) {
        struct tracee *tracee = pool_at(&meter->tracees, i);
        if (tracee->tid != 0 && ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL) < 0 &&
            errno == ESRCH)
            continue;
    }
    while (meter->tracee_count > 0) {
        pid_t tid = waitpid(-1, &status, __WALL | __WNOTHREAD);
        if (tid < 0 && errno != EINTR)
            return;
        struct tracee *tracee = tid < 0 ? NULL : tracee_find(meter, tid);
        if (tid < 0)
            continue;
        if (!WIFSTOPPED(status)) {
            if (tracee != NULL)
                tracee_forget(meter, tracee);
            continue;
        }
        int event = status >> 16, signal = WSTOPSIG(status);
        bool hands_on = event == 0 && signal != SYSCALL_STOP;
        bool stays = event == PTRACE_EVENT_STOP && stops_group(signal);
        if (tracee != NULL)
            tracee_leaves(meter, tracee);
        ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)(hands_on || stays ? signal : 0));
        if (tracee != NULL)
            tracee_forget(meter, tracee);
    }
}

/* ---- the thread ---- */

static void on_tick(int signal)
{
    (void)signal;
}

static int start_timer(timer_t *ret_timer)
{
    struct sigaction action = {.sa_handler = on_tick};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TICKSIGNAL};
    struct itimerspec every = {.it_interval.tv_nsec = (long)TICK, .it_value.tv_nsec = (long)TICK};
    sigset_t mask;

    event._sigev_un._tid = gettid();
    sigaction(TICKSIGNAL, &action, NULL);
    sigfillset(&mask);
    sigdelset(&mask, TICKSIGNAL);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return timer_create(CLOCK_MONOTONIC, &event, ret_timer) < 0 ||
                   timer_settime(*ret_timer, 0, &every, NULL) < 0
               ? -errno
               : 0;
}

struct marked *tracer_find_marked(struct ptracemeter *meter, pid_t pid)
{
    for (unsigned i = atomic_load(&meter->marked_count); i-- > 0;)
        if (meter->marked[i].pid == pid)
            return &meter->marked[i];
    return NULL;
}

static void seize(struct ptracemeter *meter, struct marked *marked)
{
    int result = ptrace(PTRACE_SEIZE, marked->pid, NULL, (void *)options_of(meter)) < 0
                     ? -errno
                     : tracee_mark(meter, marked->pid);

    pthread_mutex_lock(&meter->lock);
    marked->seized = true;
    marked->error = result;
    meter->tracer_tid = gettid();
    pthread_cond_broadcast(&meter->changed);
    pthread_mutex_unlock(&meter->lock);
}

/* Those that were marked since the last call. */
static void seize_new(struct ptracemeter *meter)
{
    for (unsigned count = atomic_load(&meter->marked_count); meter->seized_count < count;)
        seize(meter, &meter->marked[meter->seized_count++]);
}

static void notify(struct ptracemeter *meter)
{
    uint64_t one = 1;

    if (write(meter->event_fd, &one, sizeof(one)) < 0)
        return;
}

static void note_end(struct ptracemeter *meter, pid_t tid, int status)
{
    struct tracee *tracee = tracee_find(meter, tid);

    if (tracee != NULL) {
        tracee_ends(meter, tracee, status);
        tracee_forget(meter, tracee);
    }
    struct marked *marked = tracer_find_marked(meter, tid);
    if (marked == NULL || atomic_load(&marked->ended))
        return;
    marked->status = status;
    atomic_store(&marked->ended, true);
    notify(meter);
}

static void at_event(struct ptracemeter *meter, const struct stop *stop)
{
    if (!WIFSTOPPED(stop->status)) {
        note_end(meter, stop->tid, stop->status);
        return;
    }
    struct tracee *tracee = tracee_find(meter, stop->tid);
    if (tracee == NULL)
        tracee = tracee_add(meter, stop->tid);
    if (tracee == NULL) { /* no memory: it runs on, unmetered */
        ptrace(PTRACE_CONT, stop->tid, NULL, NULL);
        return;
    }
    tracee->involuntary = stop->involuntary;
    at_stop(meter, tracee, stop->status);
}

#define MOST_STOPS 64
#define ALL_EACH   8 /* stops: how often all pending ones are collected */

/* Waits for a stop. Every ALL_EACH times, collects all pending ones: the kernel reports the oldest tracees first, so
 * that others would starve behind those that stop again at once. Returns the number of stops; -1: no tracee is left. */
static int collect(struct ptracemeter *meter, struct stop stops[MOST_STOPS])
{
    struct rusage used;
    int count = 0, flags = __WALL | __WNOTHREAD; /* not what other threads of this process trace */

    while (count < MOST_STOPS) {
        struct stop *stop = &stops[count];
        stop->tid = wait4(-1, &stop->status, flags, &used);
        if (stop->tid < 0 && errno == ECHILD && count == 0)
            return -1;
        if (stop->tid <= 0)
            break;
        stop->involuntary = (uint64_t)used.ru_nivcsw;
        count++;
        if (meter->tracee_count == 1 || (count == 1 && ++meter->stops % ALL_EACH != 0))
            break;
        flags |= WNOHANG;
    }
    return count;
}

static void trace(struct ptracemeter *meter)
{
    struct stop stops[MOST_STOPS];
    int count = 0;

    while (atomic_load(&meter->phase) != PHASE_DETACHES && count >= 0) {
        seize_new(meter);
        count = collect(meter, stops);
        for (int i = 0; i < count; i++)
            at_event(meter, &stops[i]);
        look_at_time(meter);
    }
}

void *tracer_run(void *context)
{
    struct ptracemeter *meter = context;
    timer_t timer;

    prctl(PR_SET_NAME, "tracer");
    bool timed = start_timer(&timer) == 0;
    trace(meter);
    if (atomic_load(&meter->phase) == PHASE_DETACHES)
        detach(meter);
    else
        objects_sweep(meter, true);
    traced_files_end(meter, 0);
    queues_end(meter);
    if (timed)
        timer_delete(timer);
    pthread_mutex_lock(&meter->lock);
    meter->finished = true;
    pthread_cond_broadcast(&meter->changed);
    pthread_mutex_unlock(&meter->lock);
    notify(meter);
    return NULL;
}
