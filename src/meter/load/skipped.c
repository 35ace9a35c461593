/* SPDX-License-Identifier: MIT */
/*
 * skipped.c: reports hooks that the kernel skipped.
 *
 *      CPU 1    a task's call:   sk_data_ready [ program runs ........ goes on ]
 *               an interrupt:                           sk_data_ready: skipped, recursion_misses + 1
 *
 * The kernel does not run a program that is already running on that CPU, and counts such misses. Interrupts nest hooks
 * on every kernel; preemption does so if a tracepoint may be preempted. A skipped hook may belong to an unmetered
 * process, so the count is an upper bound of the missing records. LOST reports it up to PAUSE late.
 *
 * So it reports messages that were not recorded because their path could not be stored. Their number is exact.
 */
#include "meter/load/skipped.h"

#include "meter/load/hooks.h"
#include "meter/load/iterate.h"
#include "meter/load/meter_types.h"
#include "meter/shared/survey.h"

#include "meter.skel.h"

#include <string.h>

#define PAUSE       100000000ULL /* ns */
#define COUNT_PAUSE 1000000000ULL

/* Whether nothing is lost if the program is skipped. */
static bool is_optional(const struct bpf_program *program)
{
    for (size_t i = 0; i < hook_count; i++)
        if (hooks[i].optional && strcmp(hooks[i].program, bpf_program__name(program)) == 0)
            return true;
    return false;
}

/* The other programs run only when the meter runs them. */
static bool is_hook(const struct bpf_program *program)
{
    return !is_optional(program) && bpf_program__type(program) != BPF_PROG_TYPE_SYSCALL &&
           bpf_program__expected_attach_type(program) != BPF_TRACE_ITER;
}

static uint64_t skips_of_programs(const struct meter *meter)
{
    struct bpf_program *program;
    uint64_t skips = 0;

    bpf_object__for_each_program(program, meter->kernel->obj)
    {
        struct bpf_prog_info info;
        if (is_hook(program) && program_info(program, &info))
            skips += info.recursion_misses;
    }
    return skips;
}

/* ---- streams whose end was skipped ---- */

static int count_stream(const void *line, void *context)
{
    (void)line;
    ++*(uint32_t *)context;
    return 0;
}

/* Counts the live streams themselves, once a second. Otherwise waiting for the end of all streams would never end. */
static void count_living(struct meter *meter, uint64_t now)
{
    struct skipped_hooks *skipped = &meter->skipped;
    uint32_t live = meter->kernel->bss->live, count = 0;

    if (now < skipped->next_count || live == 0 || meter->detached)
        return;
    skipped->next_count = now + COUNT_PAUSE;
    skipped->live = live;
    skipped->all_dead = iterate(meter->kernel->progs.survey_streams, 0,
                                sizeof(struct survey_stream), count_stream, &count) == 0 &&
                        count == 0;
}

bool skipped_ends(const struct meter *meter)
{
    return meter->skipped.all_dead && meter->kernel->bss->live == meter->skipped.live;
}

/* ---- LOST ---- */

/* Adds LOST for what is not in `reported` yet. */
static int add_lost(struct meter *meter, uint64_t *reported, uint64_t all, enum lost_reason reason,
                    uint64_t now)
{
    int result = 0;

    while (*reported < all && result == 0) {
        uint64_t count = all - *reported;
        struct record record = {
            .header = {.time = now, .id = EVENT_LOST, .flags = RECORD_NO_STREAM},
            .lost = {.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX,
                     .ring = RING_DATA,
                     .reason = reason},
        };
        *reported += record.lost.count;
        result = ring_reader_add(&meter->reader, &record.header);
    }
    return result;
}

int skipped_look(struct meter *meter)
{
    struct skipped_hooks *skipped = &meter->skipped;
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    if (now < skipped->next && !meter->detached)
        return 0;
    skipped->next = now + PAUSE;
    if (skipped->reported > 0)
        count_living(meter, now);
    int result = add_lost(meter, &skipped->reported, skipped->before + skips_of_programs(meter),
                          LOST_SKIPPED, now);
    return result < 0 ? result
                      : add_lost(meter, &skipped->pathless,
                                 __atomic_load_n(&meter->kernel->bss->pathless, __ATOMIC_RELAXED),
                                 LOST_NO_PATH, now);
}
