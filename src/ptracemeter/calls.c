/* SPDX-License-Identifier: MIT */
/*
 * calls.c: handles the beginning, progress and end of a system call, and determines whether its stream slept in it.
 *
 *      entry stop           runs .. sleeps .. runs            exit stop
 *      |-- resumed: `began` ------------------------------------|--> time
 *          arrivals: n      n+1           n+2                  n+2: it got the CPU twice, so it left it once
 *
 * A stream leaves its CPU when it sleeps or is preempted. Preemptions are counted separately: at each stop for the
 * process as a whole, and for the stream itself if that is not enough.
 */
#include "ptracemeter/calls.h"

#include "meter/shared/message.h"
#include "ptracemeter/connection_calls.h"
#include "ptracemeter/descriptor_calls.h"
#include "ptracemeter/descriptors.h"
#include "ptracemeter/file_calls.h"
#include "ptracemeter/message_calls.h"
#include "ptracemeter/objects.h"
#include "ptracemeter/paths.h"
#include "ptracemeter/queue_calls.h"
#include "ptracemeter/submit_calls.h"
#include "ptracemeter/telling.h"
#include "ptracemeter/tracees.h"
#include "ptracemeter/tracer.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>

#define LONG_CALL (500 * MILLISECOND)

#define CALL_NUMBERS 512

/* The table by number is made at the first call. */
static const struct system_call *find_call(uint64_t number)
{
    static const struct system_call *by_number[CALL_NUMBERS];
    static bool made;

    if (!made)
        for (const struct system_call *call = system_calls; call->what != NO_CLASS; call++)
            by_number[call->number] = call;
    made = true;
    return number < CALL_NUMBERS ? by_number[number] : NULL;
}

/* If there is no seccomp filter, the arguments are tested here. */
static bool passes_test(const struct ptracemeter *meter, const struct system_call *call,
                        const uint64_t arguments[6])
{
    if (!meter->options.survive)
        return true;
    if ((call->flags != 0 && (meter->options.flags & call->flags) == 0) ||
        (call->kinds != 0 && (meter->options.kinds & call->kinds) == 0))
        return false;
    for (const struct system_call *each = system_calls; each->what != NO_CLASS; each++) {
        if (each->number != call->number)
            continue;
        uint64_t argument = arguments[each->argument];
        if (each->test == TEST_NONE || (each->test == TEST_NOT && argument != each->value) ||
            (each->test == TEST_MASKED && (argument & each->mask) == each->value))
            return true;
    }
    return false;
}

/* ---- sleeping ---- */

/* The part of the call, in ns, in which the stream neither ran nor waited for a CPU. */
static uint64_t time_asleep(const struct tracee *tracee, uint64_t now)
{
    uint64_t busy = tracee->schedule.run - tracee->call.before.run + tracee->schedule.delay -
                    tracee->call.before.delay;
    uint64_t all = now - tracee->call.began;

    return all > busy ? all - busy : 0;
}

/* How often the stream has been preempted so far. In a single-threaded process, the process's count is the stream's.
 * Otherwise the stream's count is read again only if the process's has changed. */
static uint64_t preempted_so_far(struct tracee *tracee)
{
    if (tracee->process->streams == 1)
        return tracee->involuntary;
    if (tracee->preempted_at != tracee->involuntary + 1)
        tracee->preempted = tracee_preempted(tracee);
    tracee->preempted_at = tracee->involuntary + 1;
    return tracee->preempted;
}

/* The kernel reports a stop before the stream has left its CPU. If the stream is preempted just then, that switch is
 * counted in the next call. If switches do not decide, time does: this limit is longer than a stop usually takes until
 * we handle it. */
#define SURELY_ASLEEP 200000 /* ns */

bool call_slept(struct tracee *tracee)
{
    uint64_t left = tracee->schedule.arrivals - tracee->call.before.arrivals;

    if (tracee->schedule.arrivals == 0 || left <= 1)
        return false;
    if (tracee->involuntary ==
        tracee->call.involuntary) /* no stream of the process was preempted */
        return true;
    return left - 1 > preempted_so_far(tracee) - tracee->call.preempted ||
           time_asleep(tracee, clock_now(CLOCK_MONOTONIC)) > SURELY_ASLEEP;
}

bool call_took_long(const struct tracee *tracee)
{
    /* two arrivals follow from the stops at the end of the previous call and at the entry of this one */
    return tracee->schedule.arrivals - tracee->call.before.arrivals > 2 &&
           clock_now(CLOCK_MONOTONIC) - tracee->call.began > SURELY_ASLEEP;
}

void call_tell_wait(struct ptracemeter *meter, struct tracee *tracee, uint32_t path,
                    uint32_t offset)
{
    const struct message message = {.path = path, .offset = offset, .begin = tracee->call.began};

    tracee->call.told = true;
    tell_message(meter, tracee, EVENT_RECEIVECALL, &message);
}

/* ---- calls that only wait ---- */

static bool waits_for_something(const struct call *call)
{
    switch (call->number) {
    case SYS_poll:
    case SYS_ppoll:
        return call->arguments[1] != 0;
    case SYS_select:
    case SYS_pselect6:
        return call->arguments[0] != 0;
    default:
        return true;
    }
}

/* The time limit of a call, as in the record. */
static uint32_t limit_of_call(const struct tracee *tracee)
{
    const struct call *call = &tracee->call;
    struct timespec time;
    uint64_t at;
    int64_t ms;

    switch (call->number) {
    case SYS_poll:
        ms = (int32_t)call->arguments[2];
        return ms < 0 ? LIMIT_NONE : limit_of_ms((uint64_t)ms);
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
        ms = (int32_t)call->arguments[3];
        return ms < 0 ? LIMIT_NONE : limit_of_ms((uint64_t)ms);
    case SYS_ppoll:
        at = call->arguments[2];
        break;
    case SYS_pselect6:
        at = call->arguments[4];
        break;
    default:
        return LIMIT_NOT_KNOWN;
    }
    if (at == 0)
        return LIMIT_NONE;
    return tracer_read(tracee, at, &time, sizeof(time)) && time.tv_sec >= 0
               ? limit_of_ms((uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000)
               : LIMIT_NOT_KNOWN;
}

/* The path of the only descriptor that a poll waits for; 0: there are several, or it has none. */
static uint32_t only_path(struct ptracemeter *meter, struct tracee *tracee)
{
    const struct call *call = &tracee->call;
    struct pollfd polled;

    if ((call->number != SYS_poll && call->number != SYS_ppoll) || call->arguments[1] != 1 ||
        !tracer_read(tracee, call->arguments[0], &polled, sizeof(polled)) || polled.fd < 0)
        return 0;
    struct object *object = descriptor_object(meter, tracee, polled.fd);
    if (!is_object(object))
        return 0;
    const struct path *path = is_datagram(object) ? path_to(meter, tracee, object, NULL, 0)
                                                  : path_of(meter, tracee, object, PIPE_READ);
    return path == NULL ? 0 : path->number;
}

static void tell_wait_for_any(struct ptracemeter *meter, struct tracee *tracee)
{
    const struct message message = {
        .offset = (uint32_t)tracee->call.number | limit_of_call(tracee) << 16,
        .bytes = only_path(meter, tracee),
        .begin = tracee->call.began,
    };

    tracee->call.told = true;
    tell_message(meter, tracee, EVENT_RECEIVECALL, &message);
}

static void wait_ends(struct ptracemeter *meter, struct tracee *tracee)
{
    const struct call *call = &tracee->call;

    if (call->told || !call_slept(tracee))
        return;
    if (!waits_for_something(call))
        tell_block(meter, tracee, (uint32_t)call->number,
                   time_asleep(tracee, clock_now(CLOCK_MONOTONIC)));
    else
        tell_wait_for_any(meter, tracee);
}

static void sleep_ends(struct ptracemeter *meter, struct tracee *tracee)
{
    if (call_slept(tracee))
        tell_block(meter, tracee, (uint32_t)tracee->call.number,
                   time_asleep(tracee, clock_now(CLOCK_MONOTONIC)));
}

/* ---- calls that are noticed ---- */

/* The filtered calls of an untraced child would fail, as it has no tracer. */
static void have_it_traced(struct tracee *tracee)
{
    struct user_regs_struct registers;

    if (ptrace(PTRACE_GETREGS, tracee->tid, NULL, &registers) < 0)
        return;
    registers.rdi &= ~(unsigned long long)CLONE_UNTRACED;
    ptrace(PTRACE_SETREGS, tracee->tid, NULL, &registers);
}

/* The same for clone3, whose flags are in memory. */
static void have_it_traced_too(const struct tracee *tracee)
{
    uint64_t address = tracee->call.arguments[0], flags;

    if (tracer_read(tracee, address, &flags, sizeof(flags)) && (flags & CLONE_UNTRACED))
        ptrace(PTRACE_POKEDATA, tracee->tid, (void *)(uintptr_t)address,
               (void *)(uintptr_t)(flags & ~(uint64_t)CLONE_UNTRACED));
}

void calls_missed(struct ptracemeter *meter, const struct tracee *tracee,
                  struct shortfall *shortfall)
{
    tracee_falls_short(tracee, shortfall);
    meter->doubtful = true;
}

static void notice(struct ptracemeter *meter, struct tracee *tracee)
{
    if (tracee->call.number == SYS_clone) {
        have_it_traced(tracee);
    } else if (tracee->call.number == SYS_clone3) {
        have_it_traced_too(tracee);
    } else if (tracee->call.number == SYS_ptrace) {
        tracee_falls_short(tracee, &meter->shortfalls.tracers);
    } else if (tracee->call.number == SYS_io_uring_setup) {
        calls_missed(meter, tracee, &meter->shortfalls.uring);
    } else if (tracee->call.number == SYS_seccomp) {
        calls_missed(meter, tracee, &meter->shortfalls.answered);
    } else {
        meter->identities_change = true;
    }
}

/* Options that matter: received bytes may be mapped, without a call that receives them; and the error of a connect(). */
static bool ask_for_option(struct ptracemeter *meter, struct tracee *tracee)
{
    if (tracee->call.arguments[1] == IPPROTO_TCP &&
        tracee->call.arguments[2] == TCP_ZEROCOPY_RECEIVE)
        calls_missed(meter, tracee, &meter->shortfalls.mapped);
    return option_begins(meter, tracee);
}

/* ---- beginning and ending ---- */

static bool begins(struct ptracemeter *meter, struct tracee *tracee)
{
    switch ((enum call_class)tracee->call.what->what) {
    case CALL_SENDS:
    case CALL_SENDS_MANY:
        return send_begins(meter, tracee);
    case CALL_RECEIVES:
    case CALL_RECEIVES_MANY:
        return receive_begins(meter, tracee);
    case CALL_MOVES:
        return move_begins(meter, tracee);
    case CALL_SUBMITS:
        return submit_begins(meter, tracee);
    case CALL_CLOSES:
        return closing_begins(meter, tracee);
    case CALL_NOTICED:
        notice(meter, tracee);
        return false;
    case CALL_OPTIONS:
        return ask_for_option(meter, tracee);
    case CALL_CHANGES_TEXT:
        return callers_change_begins(tracee->process->callers, tracee->process->streams);
    case CALL_FILES:
        return false; /* see may_use_files */
    case CALL_QUEUES:
        return queue_call_begins(meter, tracee);
    default:
        return true;
    }
}

/* Calls on files, too. */
static bool may_use_files(const struct system_call *what)
{
    return what->what == CALL_SENDS || what->what == CALL_RECEIVES || what->what == CALL_MOVES ||
           what->what == CALL_FILES;
}

static const struct system_call text_change = {.what = CALL_CHANGES_TEXT};
/* Whether the meter must know if the stream sleeps in the call. For sends see call_took_long. */
static bool may_sleep(const struct system_call *what)
{
    switch ((enum call_class)what->what) {
    case CALL_SENDS:
    case CALL_SENDS_MANY:
    case CALL_SUBMITS:
    case CALL_CONNECTS:
    case CALL_LISTENS:
    case CALL_OPTIONS:
    case CALL_CLOSES:
    case CALL_MAKES:
    case CALL_NOTICED:
    case CALL_RENAMES:
    case CALL_IDENTIFIES:
    case CALL_CHANGES_TEXT:
    case CALL_FILES:
    case CALL_OPENS:
        return false;
    default:
        return true;
    }
}

/* restart_syscall continues a wait that a signal interrupted: restores that call. */
static void take_up_again(struct tracee *tracee)
{
    const struct call *restarting = &tracee->restarting;

    if (restarting->what == NULL)
        return;
    tracee->call.what = restarting->what;
    tracee->call.number = restarting->number;
    for (unsigned i = 0; i < 6; i++)
        tracee->call.arguments[i] = restarting->arguments[i];
}

static const struct system_call untraced_clone = {.number = SYS_clone, .what = CALL_NOTICED};

bool call_begins(struct ptracemeter *meter, struct tracee *tracee, uint64_t number,
                 const uint64_t arguments[6])
{
    struct call *call = &tracee->call;
    const struct system_call *what = find_call(number);

    if (call->what != NULL)
        call_dropped(meter, tracee);
    if (what == NULL && number == SYS_clone && (arguments[0] & CLONE_UNTRACED))
        what = &untraced_clone;
    if (what == NULL && tracee->process != NULL && tracee->process->callers != NULL &&
        callers_is_change((int)number, arguments))
        what = &text_change;
    if (tracee->process == NULL || tracee->table == NULL || what == NULL ||
        (what != &untraced_clone && what != &text_change && !passes_test(meter, what, arguments)))
        return false;
    *call = (struct call){.what = what, .number = number};
    for (unsigned i = 0; i < 6; i++)
        call->arguments[i] = arguments[i];
    if (what->what == CALL_RESTARTS)
        take_up_again(tracee);
    else
        tracee->restarting.what = NULL;
    bool matters = begins(meter, tracee);
    call->uses_files = may_use_files(call->what) && file_call_begins(meter, tracee);
    if (!matters && !call->uses_files) {
        call->what = NULL;
        return false;
    }
    call->before = tracee->schedule;
    if (may_sleep(what)) {
        tracee_look(meter, tracee);
        call->before = tracee->schedule;
        call->involuntary = tracee->involuntary;
        call->preempted = preempted_so_far(tracee);
    }
    call->began = clock_now(CLOCK_MONOTONIC);
    return true;
}

static void ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    switch ((enum call_class)tracee->call.what->what) {
    case CALL_SENDS:
    case CALL_SENDS_MANY:
        send_ends(meter, tracee, result);
        break;
    case CALL_RECEIVES:
    case CALL_RECEIVES_MANY:
        receive_ends(meter, tracee, result);
        break;
    case CALL_MOVES:
        move_ends(meter, tracee, result);
        break;
    case CALL_SUBMITS:
        submit_ends(meter, tracee, result);
        break;
    case CALL_WAITS_ANY:
        wait_ends(meter, tracee);
        break;
    case CALL_ACCEPTS:
        accept_ends(meter, tracee, result);
        break;
    case CALL_CONNECTS:
        connect_ends(meter, tracee, result);
        break;
    case CALL_LISTENS:
        listen_ends(meter, tracee, result);
        break;
    case CALL_OPTIONS:
        option_ends(meter, tracee, result);
        break;
    case CALL_SLEEPS:
    case CALL_RESTARTS:
        sleep_ends(meter, tracee);
        break;
    case CALL_CLOSES:
        closing_ends(meter, tracee);
        break;
    case CALL_MAKES:
        making_ends(meter, tracee, result);
        break;
    case CALL_RENAMES:
        tracee_changed(meter, tracee, false);
        break;
    case CALL_IDENTIFIES:
        tracee_changed(meter, tracee, true);
        break;
    case CALL_CHANGES_TEXT:
        callers_changed(tracee->process->callers, (int)tracee->call.number, tracee->call.arguments,
                        result);
        break;
    case CALL_OPENS:
        file_opened(meter, tracee, result);
        break;
    case CALL_QUEUES:
        queue_call_ends(meter, tracee, result);
        break;
    case CALL_NOTICED:
    case CALL_FILES:
        break;
    }
}

void call_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result)
{
    if (tracee->call.what == NULL)
        return;
    if (result == FIRST_RESTART)
        tracee->restarting = tracee->call;
    ends(meter, tracee, result);
    if (tracee->call.uses_files)
        file_call_ends(meter, tracee, result);
    message_dropped(tracee);
    tracee->call.what = NULL;
}

void call_dropped(struct ptracemeter *meter, struct tracee *tracee)
{
    if (tracee->call.what == NULL)
        return;
    message_dropped(tracee);
    queue_call_dropped(meter, tracee);
    if (tracee->call.changing)
        closing_ends(meter, tracee);
    if (tracee->call.what == &text_change && tracee->process->callers != NULL)
        callers_changed(tracee->process->callers, (int)tracee->call.number, tracee->call.arguments,
                        -EINTR);
    tracee->call.what = NULL;
}

void call_goes_on(struct ptracemeter *meter, struct tracee *tracee, uint64_t now)
{
    struct call *call = &tracee->call;

    if (call->path != NULL)
        send_goes_on(meter, tracee, now);
    if (call->told || now - call->began < LONG_CALL)
        return;
    if (call->what->what == CALL_WAITS_ANY || call->what->what == CALL_ACCEPTS) {
        if (waits_for_something(call))
            tell_wait_for_any(meter, tracee);
    } else if (call->queue != 0) {
        if (queue_call_receives(call))
            call_tell_wait(meter, tracee, 0, (uint32_t)call->number);
    } else if (call->from != NULL && call->to == NULL) {
        const struct path *path = is_datagram(call->from)
                                      ? path_to(meter, tracee, call->from, NULL, 0)
                                      : path_of(meter, tracee, call->from, PIPE_READ);
        if (path != NULL)
            call_tell_wait(meter, tracee, path->number, 0);
    }
}
