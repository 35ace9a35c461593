/* SPDX-License-Identifier: MIT */
/*
 * change.c: what processes record, changed while they run. See meter_interface.h.
 *
 *      opened for      SEND RECEIVE BLOCK WAKEUP, tcp pipe file    the hooks follow the processes for these
 *      recorded now    SEND         BLOCK       , tcp              \ changed by one store each in a thread
 *      hooks of        sched_switch               tcp pipe         / those that count nothing come and go
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
    const struct meter_change *change;
    uint64_t time;
    struct intern processes; /* told of so far */
    int count;               /* of threads */
};

/* `process` 0: all. */
static int tell_flags(struct changing *changing, uint32_t process, uint64_t told, uint32_t kinds)
{
    const struct meter *meter = changing->meter;
    const struct flags_record flags = {
        .header = {.time = changing->time, .id = EVENT_FLAGS, .flags = RECORD_NO_STREAM},
        .meter_flags = told == 0 ? 0 : told | (meter->flags & METER_FLAG_PC),
        .kinds_left_out = METER_EVERY_KIND & ~kinds,
        .process = process,
    };

    return ring_reader_add(&changing->meter->reader, &flags.header);
}

/* A process that leaves between its mark and `begin` has no records, nor will have any: nothing of it is left out. */
static bool never_began(const struct changing *changing, const struct survey_change *thread)
{
    const struct meter *meter = changing->meter;

    return changing->change->leaves && thread->sequence == 0 &&
           meter->generation != meter->kernel->bss->begun;
}

/* Only this reports what a thread that leaves has lost. */
static int tell_losses(struct changing *changing, const struct survey_change *thread)
{
    int result = 0;

    if (!changing->change->leaves)
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
    return result < 0 || (uint32_t)index < known
               ? result
               : tell_flags(changing, thread->process, thread->told,
                            thread->kinds & changing->meter->kinds);
}

/* Passes over the threads until one finds nothing to change: one that is being created has its creator's flags. */
static int change_threads(struct changing *changing, pid_t pid)
{
    const struct meter_change *change = changing->change;
    struct meter_bpf *kernel = changing->meter->kernel;
    int before, result;

    kernel->bss->change_flags_off = change->flags_off;
    kernel->bss->change_flags_on = change->flags_on;
    kernel->bss->change_kinds_off = change->kinds_off;
    kernel->bss->change_kinds_on = change->kinds_on;
    kernel->bss->change_leaves = change->leaves;
    do {
        before = changing->count;
        changing->time = clock_now(CLOCK_MONOTONIC);
        result = iterate(kernel->progs.change_tasks, pid, sizeof(struct survey_change),
                         note_changed, changing);
    } while (result == 0 && changing->count != before);
    return result == -ESRCH ? 0 : result;
}

static uint64_t flags_now(const struct meter *meter)
{
    return meter->told | meter->told_by_some;
}

static uint32_t kinds_now(const struct meter *meter)
{
    return meter->kinds_told | meter->kinds_by_some;
}

/* What any process may record now. What only one process records is remembered: it may go on in its children. */
static void note_union(struct meter *meter, pid_t pid, const struct meter_change *change)
{
    if (pid == 0) {
        meter->told = ((meter->told & ~change->flags_off) | change->flags_on) & meter->flags;
        meter->told_by_some &= ~change->flags_off;
        meter->kinds_told = (meter->kinds_told & ~change->kinds_off) | change->kinds_on;
        meter->kinds_by_some &= ~change->kinds_off;
    } else {
        meter->told_by_some |= change->flags_on;
        meter->kinds_by_some |= change->kinds_on;
    }
    __atomic_store_n(&meter->kernel->bss->told_now, flags_now(meter), __ATOMIC_SEQ_CST);
    __atomic_store_n(&meter->kernel->bss->kinds_now, kinds_now(meter), __ATOMIC_SEQ_CST);
}

static int refuse_kinds(const struct meter *meter, uint32_t kinds, struct problem *problem)
{
    char words[METER_KINDS_TEXT_SIZE];

    meter_kinds_text(kinds, words);
    if ((kinds & METER_UDP) != 0 && meter->left_out[0] != '\0')
        return problem_set(problem, -EINVAL, "%s", meter->left_out);
    return problem_set(problem, -EINVAL,
                       "the meter was not opened for these kinds of paths: %s. What is on its way "
                       "there has not been counted",
                       words);
}

static int check(const struct meter *meter, const struct meter_change *change,
                 struct problem *problem)
{
    uint32_t unknown = change->kinds_on & ~meter->kinds;

    if (change->leaves)
        return 0;
    if ((change->flags_on & ~meter->flags & ~METER_FLAG_PC) != 0)
        return problem_set(problem, -EINVAL,
                           "the meter was not opened for all of these flags: %#" PRIx64,
                           change->flags_on);
    if (unknown != 0)
        return refuse_kinds(meter, unknown, problem);
    if ((change->kinds_on | change->kinds_off) != 0 && meter->interface.later_kinds == 0)
        return problem_set(problem, -EINVAL, "the meter was not opened to change kinds of paths");
    return 0;
}

/* Hooks come before anything needs them, and go after. */
static int change_all(struct changing *changing, pid_t pid, struct problem *problem)
{
    struct meter *meter = changing->meter;
    uint64_t flags = flags_now(meter);
    uint32_t kinds = kinds_now(meter);
    int result = 0;

    if (!changing->change->leaves) {
        note_union(meter, pid, changing->change);
        result = meter_attach(meter, flags | flags_now(meter), kinds | kinds_now(meter), problem);
    }
    if (result < 0)
        return result;
    result = change_threads(changing, pid);
    if (result == 0 && pid == 0)
        result =
            tell_flags(changing, 0, changing->change->leaves ? 0 : meter->told, meter->kinds_told);
    if (result < 0)
        return problem_set(problem, result, "cannot change the flags: %s", strerror(-result));
    return meter_attach(meter, flags_now(meter), kinds_now(meter), problem);
}

int meter_change(struct meter_interface *interface, pid_t pid, const struct meter_change *change,
                 struct problem *problem)
{
    struct changing changing = {.meter = meter_of(interface), .change = change};
    int result = check(changing.meter, change, problem);

    if (result == 0)
        result = change_all(&changing, pid, problem);
    intern_done(&changing.processes);
    return result < 0 ? result : changing.count;
}
