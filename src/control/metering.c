/* SPDX-License-Identifier: MIT */
/* metering.c: the two meters, seen as one. See metering.h. */
#include "control/metering.h"

#include "ptracemeter/ptracemeter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* For each call that stops the program; from OVERHEAD in dpm-meter(7). */
#define PTRACE_COST "about 50 us"

static const char *const words[] = {
    [CHOOSE_AUTO] = "auto", [CHOOSE_KERNEL] = "kernel", [CHOOSE_PTRACE] = "ptrace"};

const char *metering_word(size_t index)
{
    return index < ARRAY_SIZE(words) ? words[index] : NULL;
}

/* ---- the kernel meter ---- */

static int kernel_open(const struct metering_options *options, void **ret_meter,
                       struct problem *problem)
{
    struct meter *meter;
    int result = meter_open(&options->meter, &meter, problem);
    if (result >= 0)
        *ret_meter = meter;
    return result;
}

static int kernel_mark(void *meter, pid_t pid, struct problem *problem)
{
    return meter_mark(meter, pid, problem);
}

static bool kernel_ended(void *meter, pid_t pid, int *ret_status)
{
    (void)meter;
    return waitpid(pid, ret_status, WNOHANG) == pid;
}

static bool kernel_stopped(void *meter, pid_t pid)
{
    siginfo_t info = {0};

    (void)meter;
    return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == pid;
}

static int kernel_descriptor(const void *meter)
{
    (void)meter;
    return -1;
}

static bool kernel_holds_descendants(const void *meter)
{
    (void)meter;
    return false;
}

static uint32_t kernel_live(const void *meter)
{
    return meter_live(meter);
}

static int kernel_processes(void *meter, struct meter_process **ret_list, size_t *ret_count,
                            struct problem *problem)
{
    return meter_processes(meter, ret_list, ret_count, problem);
}

static struct source *kernel_source(void *meter)
{
    return meter_source(meter);
}

static int kernel_sweep(void *meter, struct problem *problem)
{
    return meter_sweep(meter, problem);
}

static void kernel_measure(void *meter, uint64_t now)
{
    meter_measure(meter, now);
}

static uint32_t kernel_time_per_record(const void *meter)
{
    return meter_time_per_record(meter);
}

static uint64_t kernel_lost(const void *meter, enum ring_id ring)
{
    return meter_lost(meter, ring);
}

static const char *kernel_left_out(const void *meter)
{
    return meter_left_out(meter);
}

static uint32_t kernel_kinds(const void *meter)
{
    return meter_kinds(meter);
}

static void kernel_report(const void *meter, void (*tell)(const char *sentence, void *context),
                          void *context)
{
    uint64_t lost_paths = meter_lost_paths(meter), lost_datagrams = meter_lost_datagrams(meter);
    uint64_t skipped = meter_skipped(meter);
    uint32_t resettled = meter_resettled(meter);
    char line[256];

    if (meter_lost(meter, RING_CONTROL) + meter_lost(meter, RING_DATA) > skipped)
        tell("the buffer was full: try a larger one, e.g. --ring 64M", context);
    if (skipped > 0) {
        command_skipped_text(skipped, line);
        tell(line, context);
    }
    if (lost_paths > 0) {
        snprintf(line, sizeof(line),
                 "%" PRIu64 " uses of connections are not recorded: out of kernel memory",
                 lost_paths);
        tell(line, context);
    }
    if (resettled > 0) {
        snprintf(line, sizeof(line),
                 "%" PRIu32 " older UNIX sockets have too large first offsets: several threads "
                 "were sending when the recording began",
                 resettled);
        tell(line, context);
    }
    if (lost_datagrams > 0) {
        snprintf(line, sizeof(line),
                 "%" PRIu64 " received UDP datagrams have no known sender: several threads "
                 "received from a socket at once, or memory was short",
                 lost_datagrams);
        tell(line, context);
    }
}

static void kernel_detach(void *meter)
{
    meter_detach(meter);
}

static void kernel_close(void *meter)
{
    meter_close(meter);
}

static const struct metering_operations kernel_operations = {
    .open = kernel_open,
    .mark = kernel_mark,
    .ended = kernel_ended,
    .stopped = kernel_stopped,
    .descriptor = kernel_descriptor,
    .holds_descendants = kernel_holds_descendants,
    .live = kernel_live,
    .processes = kernel_processes,
    .source = kernel_source,
    .sweep = kernel_sweep,
    .measure = kernel_measure,
    .time_per_record = kernel_time_per_record,
    .lost = kernel_lost,
    .left_out = kernel_left_out,
    .kinds = kernel_kinds,
    .report = kernel_report,
    .stop = kernel_detach,
    .detach = kernel_detach,
    .close = kernel_close,
};

/* ---- the ptrace meter ---- */

#define PTRACE_UNKNOWN (EVENT_FLAG(EVENT_MESSAGEQUEUED) | EVENT_FLAG(EVENT_WAKEUP))

static int ptrace_open(const struct metering_options *options, void **ret_meter,
                       struct problem *problem)
{
    const struct ptracemeter_options own = {
        .flags = options->meter.flags & ~PTRACE_UNKNOWN,
        .kinds = options->meter.kinds,
        .survive = options->survive,
    };
    struct ptracemeter *meter;

    if ((own.flags & METER_EVENT_FLAGS) == 0)
        return problem_set(
            problem, -ENOTSUP,
            "the ptrace meter cannot record MESSAGEQUEUED, and --flags asks for nothing else");
    int result = ptracemeter_open(&own, &meter, problem);

    if (result >= 0)
        *ret_meter = meter;
    return result;
}

static int ptrace_enter(void *meter)
{
    return ptracemeter_enter(meter);
}

static int ptrace_mark(void *meter, pid_t pid, struct problem *problem)
{
    return ptracemeter_mark(meter, pid, problem);
}

static bool ptrace_ended(void *meter, pid_t pid, int *ret_status)
{
    (void)pid;
    return ptracemeter_ended(meter, ret_status);
}

static bool ptrace_stopped(void *meter, pid_t pid)
{
    (void)pid;
    return ptracemeter_stopped(meter);
}

static int ptrace_descriptor(const void *meter)
{
    return ptracemeter_descriptor(meter);
}

static bool ptrace_holds_descendants(const void *meter)
{
    return !ptracemeter_survives(meter);
}

static uint32_t ptrace_live(const void *meter)
{
    return ptracemeter_live(meter);
}

static int ptrace_processes(void *meter, struct meter_process **ret_list, size_t *ret_count,
                            struct problem *problem)
{
    const struct ptracemeter_process *left;

    /* who runs on is known when they have been let go of */
    ptracemeter_detach(meter);
    size_t count = ptracemeter_left(meter, &left);
    struct meter_process *list = calloc(count + 1, sizeof(*list));
    if (list == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the processes that run on");
    for (size_t i = 0; i < count; i++) {
        list[i].pid = left[i].pid;
        memcpy(list[i].name, left[i].name, sizeof(list[i].name));
    }
    *ret_list = list;
    *ret_count = count;
    return 0;
}

static struct source *ptrace_source(void *meter)
{
    return ptracemeter_source(meter);
}

static int ptrace_sweep(void *meter, struct problem *problem)
{
    (void)meter;
    (void)problem;
    return 0;
}

static void ptrace_measure(void *meter, uint64_t now)
{
    (void)meter;
    (void)now;
}

static uint32_t ptrace_time_per_record(const void *meter)
{
    (void)meter;
    return 0;
}

static uint64_t ptrace_lost(const void *meter, enum ring_id ring)
{
    return ring == RING_DATA ? ptracemeter_lost(meter) : 0;
}

static const char *ptrace_left_out(const void *meter)
{
    (void)meter;
    return NULL;
}

static uint32_t ptrace_kinds(const void *meter)
{
    return ptracemeter_kinds(meter);
}

static void ptrace_report(const void *meter, void (*tell)(const char *sentence, void *context),
                          void *context)
{
    ptracemeter_report(meter, tell, context);
}

static void ptrace_stop(void *meter)
{
    ptracemeter_stop(meter);
}

static void ptrace_detach(void *meter)
{
    ptracemeter_detach(meter);
}

static void ptrace_close(void *meter)
{
    ptracemeter_close(meter);
}

static const struct metering_operations ptrace_operations = {
    .unknown_flags = PTRACE_UNKNOWN,
    .open = ptrace_open,
    .enter = ptrace_enter,
    .mark = ptrace_mark,
    .ended = ptrace_ended,
    .stopped = ptrace_stopped,
    .descriptor = ptrace_descriptor,
    .holds_descendants = ptrace_holds_descendants,
    .live = ptrace_live,
    .processes = ptrace_processes,
    .source = ptrace_source,
    .sweep = ptrace_sweep,
    .measure = ptrace_measure,
    .time_per_record = ptrace_time_per_record,
    .lost = ptrace_lost,
    .left_out = ptrace_left_out,
    .kinds = ptrace_kinds,
    .report = ptrace_report,
    .stop = ptrace_stop,
    .detach = ptrace_detach,
    .close = ptrace_close,
};

/* ---- which ---- */

/* Opens the kernel meter, or notes why it does not open. What plainly speaks against it is looked for first: it costs
 * less than trying, and a filter may kill whoever calls bpf(). */
static bool try_kernel(const struct metering_options *options, struct metering *metering)
{
    char missing[METERING_REASON_SIZE / 2];
    struct problem problem;
    struct meter *meter;

    if (meter_hindered(missing, sizeof(missing))) {
        snprintf(metering->kernel_refused, sizeof(metering->kernel_refused),
                 "missing: %s; see dpm check", missing);
        return false;
    }
    if (meter_open(&options->meter, &meter, &problem) < 0) {
        snprintf(metering->kernel_refused, sizeof(metering->kernel_refused), "%s", problem.text);
        return false;
    }
    metering->meter = meter;
    return true;
}

/* Where neither meter works, both reasons are of interest. */
static void append_refused(struct problem *problem, const char *kernel_refused)
{
    size_t length = strlen(problem->text);

    snprintf(problem->text + length, sizeof(problem->text) - length,
             "; the kernel meter does not work here either (%s)", kernel_refused);
}

static int open_it(const struct metering_options *options, enum meter_kind kind,
                   struct metering *metering, struct problem *problem)
{
    metering->kind = kind;
    metering->operations = kind == METER_PTRACE ? &ptrace_operations : &kernel_operations;
    return metering->operations->open(options, &metering->meter, problem);
}

int metering_open(const struct metering_options *options, struct metering *ret_metering,
                  struct problem *problem)
{
    struct metering metering = {.operations = &kernel_operations, .kind = METER_KERNEL};
    int result = 0;

    if (options->choice == CHOOSE_KERNEL)
        result = open_it(options, METER_KERNEL, &metering, problem);
    else if (options->choice == CHOOSE_PTRACE || !try_kernel(options, &metering))
        result = open_it(options, METER_PTRACE, &metering, problem);
    if (result >= 0)
        *ret_metering = metering;
    else if (metering.kernel_refused[0] != '\0')
        append_refused(problem, metering.kernel_refused);
    return result;
}

void metering_announce(const struct metering *metering, const char *command, FILE *messages)
{
    if (metering->kind == METER_KERNEL) {
        if (metering->operations->left_out(metering->meter) != NULL)
            command_say_to(messages,
                           "--meter ptrace meters it, too, but each call takes " PTRACE_COST
                           " longer");
        return;
    }
    if (metering->kernel_refused[0] != '\0')
        command_say_to(
            messages,
            "metering with ptrace because the kernel meter does not work here (%s); each call "
            "that sends, receives or waits takes " PTRACE_COST " longer",
            metering->kernel_refused);
    if (metering->operations->holds_descendants(metering->meter))
        command_say_to(messages,
                       "if dpm is killed, %s and its descendants are killed, too; --survive "
                       "prevents this, but is slower",
                       command);
}

void metering_close(struct metering *metering)
{
    if (metering->operations != NULL)
        metering->operations->close(metering->meter);
    metering->operations = NULL;
}
