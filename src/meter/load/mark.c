/* SPDX-License-Identifier: MIT */
/*
 * mark.c: marks processes as metered: before they begin (`dpm run`), or while they run.
 *
 *      meter_mark     a suspended process: lists what it has inherited; it records from its next
 *                     exec on
 *      meter_acquire  running processes: marks them, silent          \  repeated until
 *      meter_begin    lists their identities and paths, then starts  /  no new thread is found
 *                     the recording of all of them at once
 */
#include "meter/load/mark.h"

#include "meter/load/iterate.h"
#include "meter/load/last_records.h"
#include "meter/load/meter.h"
#include "meter/load/meter_types.h"
#include "meter/shared/survey.h"

#include "base/process.h"

#include "meter.skel.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- marking ---- */

static int no_line(const void *line, void *context)
{
    (void)line;
    (void)context;
    return 0;
}

/* A pass may miss a thread that is just being created and does not inherit yet, so passes are repeated until one finds
 * none. Returns how many threads were marked, or a negative errno. */
static int mark(struct meter *meter, pid_t pid)
{
    uint32_t before, all = 0;

    do {
        before = meter->kernel->bss->marked;
        meter->kernel->bss->refused = meter->kernel->bss->last_refused = 0;
        int result = iterate(meter->kernel->progs.mark_tasks, pid, 1, no_line, NULL);
        if (result < 0)
            return result;
        all += meter->kernel->bss->marked - before;
    } while (meter->kernel->bss->marked != before);
    return (int)all;
}

int meter_note_own(struct meter_interface *interface, pid_t pid)
{
    return iterate(meter_of(interface)->kernel->progs.note_own, pid, 1, no_line, NULL);
}

/* Notes a process whose files are to be listed. */
static void note_acquired(struct meter *meter, pid_t pid)
{
    if (pid == 0)
        meter->acquired_count = FEW_PROCESSES;
    if (meter->acquired_count < FEW_PROCESSES)
        meter->acquired[meter->acquired_count] = pid;
    meter->acquired_count++;
}

struct beginning {
    struct meter *meter;
    uint64_t time;
    struct intern processes;
};

/* Whether a process is outside of our cgroup namespace: its cgroup2 is then shown as "/../...". */
static bool is_outside(pid_t pid)
{
    char cgroups[4096];

    return process_read(pid, "cgroup", cgroups, sizeof(cgroups)) > 0 &&
           strstr(cgroups, "0::/..") != NULL;
}

static int stop_outside(pid_t pid, void *context)
{
    (void)context;
    return is_outside(pid) ? -EXDEV : 0;
}

/* The same of any of these processes, or if that cannot be known. 0: all. */
static bool some_outside(pid_t pid)
{
    struct problem problem;

    return pid == 0 ? process_each(stop_outside, NULL, &problem) < 0 : is_outside(pid);
}

/* FLAGS: the datagrams of some processes are not metered, so that nobody takes them for somebody else's. */
static int tell_outside(struct beginning *beginning)
{
    const struct flags_record flags = {
        .header = {.time = beginning->time, .id = EVENT_FLAGS, .flags = RECORD_NO_STREAM},
        .meter_flags = beginning->meter->told,
        .kinds_left_out = METER_EVERY_KIND & ~(beginning->meter->kinds_told & ~METER_UDP),
    };

    return ring_reader_add(&beginning->meter->reader, &flags.header);
}

int meter_acquire(struct meter_interface *interface, pid_t pid, struct problem *problem)
{
    struct meter *meter = meter_of(interface);

    bool first = meter->generation == meter->kernel->bss->begun; /* of its generation */
    meter->generation += first;
    meter->kernel->bss->mark_flags = meter->flags;
    meter->kernel->bss->mark_told = meter->told;
    meter->kernel->bss->mark_kinds = meter->kinds_told;
    meter->kernel->bss->mark_from_exec = false;
    meter->kernel->bss->mark_all = pid == 0;
    meter->kernel->bss->mark_generation = meter->generation;
    int marked = mark(meter, pid);
    interface->refused = meter->kernel->bss->refused;
    if (marked == -ESRCH)
        marked = 0; /* the process has ended */
    if (marked < 0)
        return problem_set(problem, marked, "cannot meter process %d: %s", pid, strerror(-marked));
    if (meter->kernel->bss->unmarkable != 0)
        return problem_set(problem, -ENOMEM, "out of kernel memory: cannot meter so many threads");
    if (marked > 0) {
        meter->outside |= meter->cgroup_is_part && some_outside(pid);
        note_acquired(meter, pid);
    } else if (first) /* nothing waits for a beginning: see silent() */
        meter->kernel->bss->mark_generation = --meter->generation;
    if (marked == 0 && pid != 0 && interface->refused != 0)
        return problem_set(problem, -EPERM,
                           "cannot meter process %d: it belongs to another user, or has more "
                           "rights than you; run dpm as root, e.g. with sudo",
                           pid);
    return marked;
}

/* ---- their identities and paths ---- */

/* IMAGE of a process whose beginning was not seen. If the process has ended meanwhile, its name is lost. */
static int tell_image(struct beginning *beginning, const struct survey_stream *stream)
{
    struct image_record image = {
        .header = {.time = beginning->time, .id = EVENT_IMAGE, .flags = RECORD_NO_STREAM},
        .image = stream->identity.image,
        .device = stream->device,
        .inode = stream->inode,
        .load = stream->load,
    };
    char name[PATH_MAX];

    process_program((pid_t)stream->identity.pid, name, sizeof(name));
    memcpy(image.name, name, strnlen(name, sizeof(image.name)));
    return ring_reader_add(&beginning->meter->reader, &image.header);
}

static int tell_stream(const void *line, void *context)
{
    const struct survey_stream *stream = line;
    struct beginning *beginning = context;
    struct stream_record identity = stream->identity;

    if (!stream->silent)
        return 0;
    uint32_t known = beginning->processes.count;
    int64_t index = intern_add(&beginning->processes, identity.pid);
    int result = index < 0 ? (int)index : 0;
    if (result == 0 && (uint32_t)index == known)
        result = tell_image(beginning, stream);
    identity.header.time = beginning->time;
    if (result == 0)
        result = ring_reader_add(&beginning->meter->reader, &identity.header);
    return result < 0 ? result : schedule_add(beginning->meter, stream, beginning->time);
}

static int tell_path(const void *line, void *context)
{
    struct beginning *beginning = context;
    struct path_record path = *(const struct path_record *)line;
    /* with the time of listing: its holder may be newer than the other streams */
    struct record creation = {
        .header = {.time = path.header.time,
                   .id = EVENT_CREATEPATH,
                   .flags = RECORD_NO_STREAM | RECORD_OLDER,
                   .stream = path.header.stream},
        .message = {.path = path.path},
    };

    path.header.stream = 0;
    int result = ring_reader_add(&beginning->meter->reader, &path.header);
    if (result < 0 || (beginning->meter->told & EVENT_FLAG(EVENT_CREATEPATH)) == 0)
        return result;
    return ring_reader_add(&beginning->meter->reader, &creation.header);
}

/* One pass over the files of the acquired processes. */
static int survey_files(struct beginning *beginning)
{
    struct meter *meter = beginning->meter;
    const struct bpf_program *program = meter->kernel->progs.survey_files;
    int result = 0;

    if (meter->acquired_count > FEW_PROCESSES)
        return iterate(program, 0, sizeof(struct path_record), tell_path, beginning);
    for (size_t i = 0; i < meter->acquired_count && result == 0; i++) {
        result =
            iterate(program, meter->acquired[i], sizeof(struct path_record), tell_path, beginning);
        if (result == -ESRCH)
            result = 0;
    }
    return result;
}

/* Makes passes until the positions of all paths are settled. A path that is still busy after that is recorded at its
 * first use, and counts from there. */
#define LONGEST_SURVEY  500000000ULL /* ns */
#define PASSES_INTERVAL 2000         /* us */

static int tell_paths(struct beginning *beginning)
{
    struct meter *meter = beginning->meter;

    for (;;) {
        meter->kernel->bss->unsettled = 0;
        int result = survey_files(beginning);
        if (result == 0)
            result = run_once(meter->kernel->progs.settle_pairs);
        if (result < 0 || meter->kernel->bss->unsettled == 0 ||
            clock_now(CLOCK_MONOTONIC) - beginning->time > LONGEST_SURVEY)
            return result;
        usleep(PASSES_INTERVAL);
    }
}

/* ---- beginning ---- */

int meter_mark(struct meter_interface *interface, pid_t pid, struct problem *problem)
{
    struct meter *meter = meter_of(interface);
    struct beginning beginning = {.meter = meter, .time = clock_now(CLOCK_MONOTONIC)};

    meter->kernel->bss->mark_flags = meter->flags;
    meter->kernel->bss->mark_told = meter->told;
    meter->kernel->bss->mark_kinds = meter->kinds_told;
    meter->kernel->bss->mark_from_exec = true;
    meter->kernel->bss->mark_all = false;
    int result = mark(meter, pid);
    if (result == 0)
        result = -ESRCH;
    note_acquired(meter, pid);
    if (result > 0)
        result = tell_paths(&beginning);
    meter->acquired_count = 0;
    return result < 0
               ? problem_set(problem, result, "cannot meter process %d: %s", pid, strerror(-result))
               : 0;
}

int meter_begin(struct meter_interface *interface, struct meter_begun *ret_begun,
                struct problem *problem)
{
    struct meter *meter = meter_of(interface);
    struct beginning beginning = {.meter = meter, .time = clock_now(CLOCK_MONOTONIC)};
    meter->kernel->bss->listing = 1;
    int result = iterate(meter->kernel->progs.survey_streams, 0, sizeof(struct survey_stream),
                         tell_stream, &beginning);
    meter->kernel->bss->listing = 0;

    if (result == 0 && meter->outside)
        result = tell_outside(&beginning);
    if (result == 0)
        result = tell_paths(&beginning);
    ret_begun->processes = beginning.processes.count;
    ret_begun->unsettled = meter->kernel->bss->unsettled;
    intern_done(&beginning.processes);
    if (result < 0)
        return problem_set(problem, result,
                           "cannot list the open files of the acquired processes: %s",
                           strerror(-result));
    meter->acquired_count = 0;
    meter->kernel->bss->begun_at = clock_now(CLOCK_MONOTONIC);
    __atomic_store_n(&meter->kernel->bss->begun, meter->generation, __ATOMIC_SEQ_CST);
    return 0;
}
