/* SPDX-License-Identifier: MIT */
/*
 * cost.c: measures the run time of the hooks, as counted by the kernel. It counts only for short periods now and then,
 * because counting itself takes time.
 *
 *      |-- 50 ms --|== 20 ms ==|------ 380 ms ------|== 20 ms ==|------ 380 ms -- ...
 *                   time of all programs
 *
 * There are many periods, because loads are uneven. The hooks run for all processes of the machine, so their time is a
 * share of the time that passed. The records made in the same periods say nothing about it: there may be next to none
 * while the metered processes are idle. The trace stores the time per record of the whole recording.
 */
#include "meter/load/cost.h"

#include "meter/load/meter.h"
#include "meter/load/meter_types.h"

#include "meter.skel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define FIRST_PAUSE 50000000ULL /* ns */
#define PAUSE       380000000ULL
#define MOMENT      20000000ULL

#define LEAST_MOMENTS 5 /* for a result: they are two seconds of the recording */

bool program_info(const struct bpf_program *program, struct bpf_prog_info *ret_info)
{
    uint32_t size = sizeof(*ret_info);
    int fd = bpf_program__fd(program);

    memset(ret_info, 0, sizeof(*ret_info));
    return fd >= 0 && bpf_obj_get_info_by_fd(fd, ret_info, &size) == 0;
}

/* ns that the meter's programs have run while the kernel counted. */
static uint64_t time_of_programs(const struct meter *meter)
{
    struct bpf_program *program;
    uint64_t time = 0;

    bpf_object__for_each_program(program, meter->kernel->obj)
    {
        struct bpf_prog_info info;
        if (program_info(program, &info))
            time += info.run_time_ns;
    }
    return time;
}

/* Records so far, including those not read yet. */
static uint64_t records_made(const struct meter *meter)
{
    return ring_reader_made(&meter->reader);
}

static void begin_moment(struct meter *meter, uint64_t now)
{
    struct meter_cost *cost = &meter->cost;

    cost->counting = bpf_enable_stats(BPF_STATS_RUN_TIME);
    if (cost->counting < 0) {
        cost->next = UINT64_MAX; /* the cost stays unknown */
        return;
    }
    cost->next = now + MOMENT;
    cost->moment = now;
    cost->time_before = time_of_programs(meter);
}

static void end_moment(struct meter *meter, uint64_t now)
{
    struct meter_cost *cost = &meter->cost;

    cost->time += time_of_programs(meter) - cost->time_before;
    cost->counted += now - cost->moment;
    cost->moments++;
    cost->next = now + PAUSE;
    meter_cost_close(cost);
}

uint64_t meter_measure(struct meter_interface *interface, uint64_t now)
{
    struct meter *meter = meter_of(interface);
    struct meter_cost *cost = &meter->cost;

    if (cost->next == 0) {
        cost->began = now;
        cost->next = now + FIRST_PAUSE;
    }
    if (now >= cost->next && cost->counting < 0)
        begin_moment(meter, now);
    else if (now >= cost->next)
        end_moment(meter, now);
    return cost->next;
}

uint32_t meter_time_per_record(const struct meter_interface *interface)
{
    return meter_time_per_each(interface, records_made(meter_of(interface)));
}

uint32_t meter_time_per_each(const struct meter_interface *interface, uint64_t records)
{
    const struct meter_cost *cost = &meter_of(interface)->cost;

    if (cost->moments < LEAST_MOMENTS || records == 0)
        return 0;
    double passed = (double)(clock_now(CLOCK_MONOTONIC) - cost->began);
    double each = (double)cost->time / (double)cost->counted * passed / (double)records;
    return each < UINT32_MAX ? (uint32_t)each : UINT32_MAX;
}

void meter_cost_close(struct meter_cost *cost)
{
    if (cost->counting >= 0)
        close(cost->counting);
    cost->counting = -1;
}
