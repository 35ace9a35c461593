/* SPDX-License-Identifier: MIT */
/* ptracemeter.c: the meter's interface, which other threads call. See ptracemeter.h. */
#include "ptracemeter/ptracemeter.h"

#include "ptracemeter/call_filter.h"
#include "ptracemeter/descriptors.h"
#include "ptracemeter/file_calls.h"
#include "ptracemeter/networks.h"
#include "ptracemeter/objects.h"
#include "ptracemeter/queue_calls.h"
#include "ptracemeter/telling.h"
#include "ptracemeter/tracer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- 32-bit programs ---- */

/* Finds the file that exec would execute. Returns false if there is none. */
static bool find_program(const char *command, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");

    if (strchr(command, '/') != NULL)
        return snprintf(path, PATH_MAX, "%s", command) < PATH_MAX;
    for (const char *at = folders == NULL ? "/bin:/usr/bin" : folders; at != NULL;) {
        const char *end = strchrnul(at, ':');
        int length = snprintf(path, PATH_MAX, "%.*s%s%s", (int)(end - at), at, end == at ? "" : "/",
                              command);
        if (length < PATH_MAX && access(path, X_OK) == 0)
            return true;
        at = *end == '\0' ? NULL : end + 1;
    }
    return false;
}

int ptracemeter_refuses(const char *command, struct problem *problem)
{
    unsigned char identity[EI_NIDENT] = {0};
    char path[PATH_MAX];

    if (!find_program(command, path))
        return 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, identity, sizeof(identity));
    if (file >= 0)
        close(file);
    if (got == (ssize_t)sizeof(identity) && memcmp(identity, ELFMAG, SELFMAG) == 0 &&
        identity[EI_CLASS] == ELFCLASS32)
        return problem_set(problem, -ENOEXEC,
                           "%s is a 32-bit program, which the ptrace meter cannot meter", path);
    return 0;
}

/* ---- opening ---- */

static int allocate(struct ptracemeter *meter)
{
    meter->filling.bytes = malloc(BUFFER_SIZE);
    meter->reading.bytes = malloc(BUFFER_SIZE);
    meter->tracees.size = sizeof(struct tracee);
    meter->objects.size = sizeof(struct object);
    traced_files_init(meter);
    queues_init(meter);
    meter->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (meter->event_fd < 0)
        return -errno;
    return meter->filling.bytes == NULL || meter->reading.bytes == NULL ? -ENOMEM : 0;
}

void ptracemeter_allow_tracing(void)
{
    prctl(PR_SET_DUMPABLE, 1);
}

/* ---- starting ---- */

static const char *why_not_seized(int error)
{
    return error == -EPERM ? "it may not be traced, or has another tracer (see dpm check)"
                           : strerror(-error);
}

/* Otherwise each stop of a tracee would send us SIGCHLD, and wake any thread that waits for signals. */
static void want_no_signals_of_stops(void)
{
    const struct sigaction action = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};

    sigaction(SIGCHLD, &action, NULL);
}

/* The tracer checks for work now instead of at its next tick. */
static void wake_tracer(const struct ptracemeter *meter)
{
    if (meter->running && meter->tracer_tid != 0)
        syscall(SYS_tgkill, getpid(), meter->tracer_tid, TICKSIGNAL);
}

static int start_tracer(struct ptracemeter *meter, struct problem *problem)
{
    if (meter->running)
        return 0;
    want_no_signals_of_stops();
    int result = -pthread_create(&meter->thread, NULL, tracer_run, meter);
    meter->running = result == 0;
    return result == 0
               ? 0
               : problem_set(problem, result, "cannot start the tracer: %s", strerror(-result));
}

/* Waits until the tracer, which alone may do it, has seized the process. Returns its error; -ECHILD: the tracer has ended. */
static int wait_until_seized(struct ptracemeter *meter, const struct marked *marked)
{
    int result;

    pthread_mutex_lock(&meter->lock);
    while (!marked->seized && !meter->finished)
        pthread_cond_wait(&meter->changed, &meter->lock);
    result = marked->seized ? marked->error : -ECHILD;
    pthread_mutex_unlock(&meter->lock);
    return result;
}

static int mark(struct meter_interface *interface, pid_t pid, struct problem *problem)
{
    struct ptracemeter *meter = ptracemeter_of(interface);
    unsigned count = atomic_load(&meter->marked_count);

    if (count == MARKED_MOST)
        return problem_set(problem, -EUSERS, "the ptrace meter meters at most %d commands",
                           MARKED_MOST);
    meter->marked[count].pid = pid;
    atomic_store(&meter->marked_count, count + 1);
    int result = start_tracer(meter, problem);
    if (result < 0)
        return result;
    wake_tracer(meter);
    result = wait_until_seized(meter, &meter->marked[count]);
    if (result == -ECHILD)
        return problem_set(problem, result,
                           "the ptrace meter ends with the last process that it meters, and that "
                           "has ended; begin another recording");
    return result < 0 ? problem_set(problem, result, "cannot trace process %d: %s", pid,
                                    why_not_seized(result))
                      : 0;
}

static bool ended(struct meter_interface *interface, pid_t pid, int *ret_status)
{
    const struct marked *marked = tracer_find_marked(ptracemeter_of(interface), pid);

    if (marked == NULL || !atomic_load(&marked->ended))
        return false;
    *ret_status = marked->status;
    return true;
}

static bool stopped(struct meter_interface *interface, pid_t pid)
{
    struct marked *marked = tracer_find_marked(ptracemeter_of(interface), pid);

    return marked != NULL && atomic_exchange(&marked->stopped, false);
}

static uint32_t live(const struct meter_interface *interface)
{
    return atomic_load(&ptracemeter_of(interface)->live);
}

/* ---- ending ---- */

static void enter_phase(struct ptracemeter *meter, enum phase phase)
{
    pthread_mutex_lock(&meter->lock);
    if (atomic_load(&meter->phase) < phase)
        atomic_store(&meter->phase, phase);
    pthread_cond_broadcast(&meter->changed);
    pthread_mutex_unlock(&meter->lock);
}

static void stop(struct meter_interface *interface)
{
    enter_phase(ptracemeter_of(interface), PHASE_STOPPED);
}

static void detach(struct meter_interface *interface)
{
    struct ptracemeter *meter = ptracemeter_of(interface);

    if (!meter->options.survive) {
        atomic_store(&meter->kills, true);
        wake_tracer(meter);
        return;
    }
    enter_phase(meter, PHASE_DETACHES);
    if (!meter->running)
        return;
    wake_tracer(meter);
    pthread_join(meter->thread, NULL);
    meter->running = false;
}

static int list_processes(struct meter_interface *interface, struct meter_process **ret_list,
                          size_t *ret_count, struct problem *problem)
{
    const struct ptracemeter *meter = ptracemeter_of(interface);

    /* which processes run on is known once they are released */
    detach(interface);
    struct meter_process *list = calloc(meter->left_count + 1, sizeof(*list));
    if (list == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the processes that run on");
    if (meter->left_count > 0)
        memcpy(list, meter->left, meter->left_count * sizeof(*list));
    *ret_list = list;
    *ret_count = meter->left_count;
    return 0;
}

typedef void tell_line_function(const char *sentence, void *context);

/* "postgres[12] used io_uring: ...", "postgres[12] used io_uring (3 rings in all): ..." */
static void tell_shortfall(const struct shortfall *shortfall, const char *what, const char *unit,
                           const char *so, tell_line_function *tell_line, void *context)
{
    char line[512], all[64] = "";

    if (shortfall->count == 0)
        return;
    if (shortfall->count > 1)
        snprintf(all, sizeof(all), " (%" PRIu64 " %s in all)", shortfall->count, unit);
    snprintf(line, sizeof(line), "%s %s%s: %s", shortfall->first, what, all, so);
    tell_line(line, context);
}

static void tell_count(uint64_t count, const char *what, tell_line_function *tell_line,
                       void *context)
{
    char line[512];

    if (count == 0)
        return;
    snprintf(line, sizeof(line), "%s: %" PRIu64, what, count);
    tell_line(line, context);
}

static void report(const struct meter_interface *interface, tell_line_function *tell_line,
                   void *context)
{
    const struct shortfalls *shortfalls = &ptracemeter_of(interface)->shortfalls;

    if (ptracemeter_of(interface)->no_proc)
        tell_line(
            "/proc is not mounted, or is another PID namespace's: names, users and CPU times of "
            "processes are "
            "missing or wrong, and no message is matched for certain (mount -t proc proc /proc)",
            context);
    tell_shortfall(&shortfalls->uring, "used io_uring", "rings",
                   "its messages there are missing, and positions may be wrong", tell_line,
                   context);
    tell_shortfall(&shortfalls->submitted, "used io_submit(2)", "operations without a result",
                   "these messages are missing, and positions may be wrong", tell_line, context);
    tell_shortfall(&shortfalls->answered, "has calls answered by another process (seccomp)",
                   "filters", "these calls are missing, and positions may be wrong", tell_line,
                   context);
    tell_shortfall(&shortfalls->mapped, "received with TCP_ZEROCOPY_RECEIVE", "calls",
                   "these messages are missing, and positions may be wrong", tell_line, context);
    tell_shortfall(&shortfalls->other_bits, "executed a 32-bit program", "programs",
                   "its messages are missing", tell_line, context);
    tell_shortfall(&shortfalls->other_calls, "made 32-bit system calls", "programs",
                   "their messages are missing, and positions may be wrong", tell_line, context);
    tell_shortfall(&shortfalls->tracers, "called ptrace", "calls",
                   "the kernel refuses this under the ptrace meter", tell_line, context);
    tell_shortfall(&shortfalls->unreadable, "may not be inspected", "times",
                   "its messages are missing", tell_line, context);
    tell_count(shortfalls->anonymous,
               "datagrams without a sender (the receiver did not ask for the address)", tell_line,
               context);
    tell_count(shortfalls->networks,
               "network namespaces that cannot be entered (other ends of sockets there are found "
               "by address only, or missing)",
               tell_line, context);
    tell_count(shortfalls->no_schedule,
               "threads without CPU times (the kernel does not report them)", tell_line, context);
    tell_count(shortfalls->no_memory, "times that memory ran out", tell_line, context);
}

static uint64_t lost(const struct meter_interface *interface, enum ring_id ring)
{
    return ring == RING_DATA ? ptracemeter_of(interface)->shortfalls.dropped : 0;
}

static void end_tracer(struct ptracemeter *meter)
{
    if (!meter->running)
        return;
    stop(&meter->interface); /* there is no reader any more */
    detach(&meter->interface);
    if (meter->running)
        pthread_join(meter->thread, NULL);
    meter->running = false;
}

static void close_meter(struct meter_interface *interface)
{
    struct ptracemeter *meter = ptracemeter_of(interface);

    end_tracer(meter);
    objects_free(meter);
    traced_files_free(meter);
    queues_free(meter);
    networks_close(meter);
    pool_done(&meter->tracees);
    lookup_done(&meter->tids);
    lookup_done(&meter->inodes);
    lookup_done(&meter->cookies);
    lookup_done(&meter->addresses);
    lookup_done(&meter->awaited);
    free(meter->left);
    free(meter->filling.bytes);
    free(meter->reading.bytes);
    filter_free(meter);
    if (meter->cgroup_root >= 0)
        close(meter->cgroup_root);
    if (meter->event_fd >= 0)
        close(meter->event_fd);
    pthread_mutex_destroy(&meter->lock);
    pthread_cond_destroy(&meter->changed);
    free(meter);
}

/* ---- the meter ---- */

#define PTRACE_UNKNOWN (EVENT_FLAG(EVENT_MESSAGEQUEUED) | EVENT_FLAG(EVENT_WAKEUP))

static const struct meter_interface ptrace_meter = {
    .kind = METER_PTRACE,
    .unknown_flags = PTRACE_UNKNOWN,
    .enter = filter_enter,
    .mark = mark,
    .ended = ended,
    .stopped = stopped,
    .live = live,
    .processes = list_processes,
    .lost = lost,
    .stop = stop,
    .detach = detach,
    .report = report,
    .close = close_meter,
};

int ptracemeter_open(const struct ptracemeter_options *options, struct meter_interface **ret_meter,
                     struct problem *problem)
{
    if ((options->flags & METER_EVENT_FLAGS & ~PTRACE_UNKNOWN) == 0)
        return problem_set(problem, -ENOTSUP,
                           "the ptrace meter cannot record MESSAGEQUEUED and WAKEUP, and --flags "
                           "asks for nothing else");
    struct ptracemeter *meter = calloc(1, sizeof(*meter));
    if (meter == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the ptrace meter");
    ptracemeter_allow_tracing();
    meter->options = *options;
    meter->options.flags &= ~PTRACE_UNKNOWN;
    if (meter->options.kinds == 0)
        meter->options.kinds = METER_ALL_KINDS;
    meter->interface = ptrace_meter;
    meter->interface.source = (struct source){tell_next, 1, &meter->interface.state};
    meter->interface.kinds = meter->options.kinds;
    meter->interface.holds_descendants = !options->survive;
    meter->wall_offset = (int64_t)(clock_now(CLOCK_REALTIME) - clock_now(CLOCK_MONOTONIC));
    meter->no_proc = !descriptors_have_proc();
    meter->doubtful = meter->no_proc; /* who else has a descriptor is not known */
    meter->cgroup_root = cgroup_root_open();
    networks_open(meter);
    atomic_init(&meter->pending, NOT_PENDING);
    pthread_mutex_init(&meter->lock, NULL);
    pthread_cond_init(&meter->changed, NULL);
    int result = allocate(meter);
    meter->interface.descriptor = meter->event_fd;
    if (result < 0)
        problem_set(problem, result, "cannot open the ptrace meter: %s", strerror(-result));
    else if (!options->survive)
        result = filter_make(meter, problem);
    if (result < 0) {
        close_meter(&meter->interface);
        return result;
    }
    *ret_meter = &meter->interface;
    return 0;
}
