/* SPDX-License-Identifier: MIT */
/*
 * change.c: what processes record, changed while they run. See meter_interface.h.
 *
 *      opened for      SEND RECEIVE BLOCK WAKEUP     the hooks follow the processes for these: positions stay exact
 *      recorded now    SEND         BLOCK            \ changed by one store in each thread
 *      hooks of        sched_switch                  / those that count nothing come and go with the flags
 */
#include "meter/load/change.h"

#include "meter/load/iterate.h"
#include "meter/load/last_records.h"
#include "meter/load/meter_types.h"
#include "meter/shared/survey.h"

#include "meter.skel.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct changing {
    struct meter *meter;
    uint64_t flags;
    uint64_t time;
    struct intern processes; /* told of so far */
    int count;               /* of threads */
};

static int tell_flags(struct changing *changing, uint32_t process)
{
    const struct meter *meter = changing->meter;
    uint64_t told = changing->flags == METER_LEAVE ? 0 : changing->flags;
    const struct flags_record flags = {
        .header = {.time = changing->time, .id = EVENT_FLAGS, .flags = RECORD_NO_STREAM},
        .meter_flags = told == 0 ? 0 : told | (meter->flags & METER_FLAG_PC),
        .kinds_left_out = METER_EVERY_KIND & ~meter->interface.kinds,
        .process = process,
    };

    return ring_reader_add(&changing->meter->reader, &flags.header);
}

/* A process that leaves between its mark and `begin` has no records, nor will have any: nothing of it is left out. */
static bool never_began(const struct changing *changing, const struct survey_change *thread)
{
    const struct meter *meter = changing->meter;

    return changing->flags == METER_LEAVE && thread->sequence == 0 &&
           meter->generation != meter->kernel->bss->begun;
}

/* Only this reports what a thread that leaves has lost. */
static int tell_losses(struct changing *changing, const struct survey_change *thread)
{
    int result = 0;

    if (changing->flags != METER_LEAVE)
        return 0;
    for (uint32_t ring = 0; ring < RING_COUNT && result == 0; ring++)
        result = lost_add(changing->meter, thread->stream, thread->sequence, changing->time, ring,
                          thread->lost[ring]);
    return result;
}

static int note_changed(const void *line, void *context)
{
    const struct survey_change *thread = line;
    struct changing *changing = context;
    uint32_t known = changing->processes.count;
    int64_t index = intern_add(&changing->processes, thread->process);

    changing->count++;
    if (index < 0)
        return (int)index;
    if (never_began(changing, thread))
        return 0;
    int result = tell_losses(changing, thread);
    return result < 0 || (uint32_t)index < known ? result : tell_flags(changing, thread->process);
}

/* Passes over the threads until one finds nothing to change: one that is being created has its creator's flags. */
static int change_threads(struct changing *changing, pid_t pid)
{
    struct meter *meter = changing->meter;
    int before, result;

    meter->kernel->bss->change_told = changing->flags;
    do {
        before = changing->count;
        changing->time = clock_now(CLOCK_MONOTONIC);
        result = iterate(meter->kernel->progs.change_tasks, pid, sizeof(struct survey_change),
                         note_changed, changing);
    } while (result == 0 && changing->count != before);
    return result == -ESRCH ? 0 : result;
}

/* What any process may record now. What only one process records is remembered: it may go on in its children. */
static void note_union(struct meter *meter, pid_t pid, uint64_t flags)
{
    uint64_t told = flags == METER_LEAVE ? 0 : flags;

    if (pid == 0) {
        meter->told = told;
        meter->told_by_some = 0;
    } else {
        meter->told_by_some |= told;
    }
    __atomic_store_n(&meter->kernel->bss->told_now, meter->told | meter->told_by_some,
                     __ATOMIC_SEQ_CST);
}

int meter_change(struct meter_interface *interface, pid_t pid, uint64_t flags,
                 struct problem *problem)
{
    struct meter *meter = meter_of(interface);
    struct changing changing = {.meter = meter, .flags = flags};
    uint64_t before = meter->told | meter->told_by_some;
    int result = 0;

    if (flags != METER_LEAVE && (flags & ~meter->flags) != 0)
        return problem_set(problem, -EINVAL,
                           "the meter was not opened for all of these flags: %#" PRIx64, flags);
    if (flags != METER_LEAVE) {
        /* hooks come before anything needs them, and go after */
        note_union(meter, pid, flags);
        result = meter_attach(meter, before | meter->told | meter->told_by_some, problem);
    }
    if (result == 0) {
        result = change_threads(&changing, pid);
        if (result == 0 && pid == 0)
            result = tell_flags(&changing, 0);
        if (result < 0)
            problem_set(problem, result, "cannot change the flags: %s", strerror(-result));
    }
    if (result == 0)
        result = meter_attach(meter, meter->told | meter->told_by_some, problem);
    intern_done(&changing.processes);
    return result < 0 ? result : changing.count;
}
