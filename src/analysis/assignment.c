/* SPDX-License-Identifier: MIT */
/*
 * assignment.c: which process runs on which machine, and how long messages between them take.
 *
 *      process 0 1 2 3 4        ONE_EACH     0 1 2 3 4
 *                               PER_MACHINE  0 0 1 1 2      (two to a machine)
 *                               ASSIGNED     1 0 0 1 0      (the first rule that is true)
 */
#include "analysis/program_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_MOST 1e15 /* ns, eleven days: sums of it stay numbers */

uint64_t delay_of(const struct delay *delay, uint64_t bytes)
{
    uint32_t i = 1;

    if (delay->count == 0)
        return 0;
    if (delay->count == 1)
        return (uint64_t)delay->points[0].time;
    while (i + 1 < delay->count && (double)bytes > delay->points[i].bytes)
        i++;
    double slope = (delay->points[i].time - delay->points[i - 1].time) /
                   (delay->points[i].bytes - delay->points[i - 1].bytes);
    double time = delay->points[i].time + slope * ((double)bytes - delay->points[i].bytes);
    return time <= 0 ? 0 : time < DELAY_MOST ? (uint64_t)(time + 0.5) : (uint64_t)DELAY_MOST;
}

static int find_machine(const struct assignment *assignment, const char *name)
{
    for (size_t i = 0; i < assignment->machine_count; i++)
        if (strcmp(assignment->machines[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* A table of all pairs of machines, if some are told apart. */
static int make_between(struct placed *placed, const struct delays *delays)
{
    const struct assignment *assignment = placed->assignment;
    size_t count = assignment->machine_count;

    if (delays->between_count == 0 || assignment->kind != ASSIGNED)
        return 0;
    placed->between = calloc(count * count, sizeof(*placed->between));
    if (placed->between == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count * count; i++)
        placed->between[i] = i / count == i % count ? delays->local : delays->remote;
    for (size_t i = 0; i < delays->between_count; i++) {
        int from = find_machine(assignment, delays->between[i].from);
        int to = find_machine(assignment, delays->between[i].to);
        if (from >= 0 && to >= 0)
            placed->between[(size_t)from * count + (size_t)to] = delays->between[i].delay;
    }
    return 0;
}

int placed_init(struct placed *placed, const struct assignment *assignment,
                const struct delays *delays)
{
    *placed = (struct placed){.assignment = assignment, .same_speed = true};
    if (assignment->kind == ASSIGNED)
        for (size_t i = 0; i < assignment->machine_count; i++)
            placed->same_speed = placed->same_speed && assignment->machines[i].speed == 1;
    return make_between(placed, delays);
}

void placed_done(struct placed *placed)
{
    free(placed->machines);
    free(placed->between);
}

static bool is_meant(const struct assigned_process *rule, const struct parallelism_process *process)
{
    return strcmp(rule->who, "*") == 0 || process_is_meant(rule->who, process->pid, process->name);
}

int placed_add(struct placed *placed, uint32_t process, const struct parallelism_process *is)
{
    const struct assignment *assignment = placed->assignment;

    if (assignment->kind != ASSIGNED)
        return 0;
    if (array_reserve(&placed->machines, &placed->process_room, (size_t)process + 1,
                      sizeof(*placed->machines)) < 0)
        return -ENOMEM;
    placed->machines[process] = 0;
    for (size_t i = 0; i < assignment->process_count; i++)
        if (is_meant(&assignment->processes[i], is)) {
            placed->machines[process] = assignment->processes[i].machine;
            break;
        }
    return 0;
}

uint32_t placed_machine(const struct placed *placed, uint32_t process, uint32_t recorded)
{
    switch (placed->assignment->kind) {
    case AS_RECORDED:
        return recorded;
    case ONE_MACHINE:
        return 0;
    case ONE_EACH:
        return process;
    case PER_MACHINE:
        return process / placed->assignment->per_machine;
    default:
        return process < placed->process_room ? placed->machines[process] : 0;
    }
}

double placed_speed(const struct placed *placed, uint32_t machine)
{
    return placed->same_speed ? 1 : placed->assignment->machines[machine].speed;
}

uint64_t placed_delay(const struct placed *placed, const struct delays *delays, uint32_t from,
                      uint32_t to, uint64_t bytes)
{
    if (placed->between != NULL)
        return delay_of(&placed->between[(size_t)from * placed->assignment->machine_count + to],
                        bytes);
    return delay_of(from == to ? &delays->local : &delays->remote, bytes);
}
