/* SPDX-License-Identifier: MIT */
/*
 * assignment.c: which process runs on which machine, and how long messages between machines take.
 *
 *      process 0 1 2 3 4        ONE_EACH     0 1 2 3 4
 *                               PER_MACHINE  0 0 1 1 2      (two to a machine)
 *                               ASSIGNED     1 0 0 1 0      (the first rule that matches)
 */
#include "analysis/parallelism/program_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_MOST 1e15 /* ns, eleven days: sums must not overflow */

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

/* The machines of an assignment, or those of the recording. */
struct machines {
    const struct assigned_machine *assigned;
    const struct graph_machine *recorded; /* NULL: `assigned` counts */
    size_t count;
};

/* Whether a machine has this name; a machine of the recording may also be named by an address. */
static bool is_called(const struct machines *machines, size_t index, const char *name)
{
    size_t length = strlen(name);

    if (machines->recorded == NULL)
        return strcmp(machines->assigned[index].name, name) == 0;
    const struct graph_machine *machine = &machines->recorded[index];
    if (strcmp(machine->name, name) == 0)
        return true;
    for (const char *at = machine->addresses; length > 0 && (at = strstr(at, name)) != NULL; at++)
        if ((at == machine->addresses || at[-1] == ' ') &&
            (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* Makes a table of all pairs of machines, if some pairs have their own delay. */
static int make_between(struct placed *placed, const struct delays *delays,
                        const struct machines *machines)
{
    size_t count = machines->count;

    free(placed->between);
    placed->between = NULL;
    if (delays->between_count == 0 || count == 0)
        return 0;
    placed->between = calloc(count * count, sizeof(*placed->between));
    placed->between_side = count;
    if (placed->between == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count * count; i++) {
        size_t from = i / count, to = i % count;
        placed->between[i] = from == to ? delays->local : delays->remote;
        for (size_t k = 0; k < delays->between_count; k++)
            if (is_called(machines, from, delays->between[k].from) &&
                is_called(machines, to, delays->between[k].to)) {
                placed->between[i] = delays->between[k].delay;
                if (delays->met != NULL)
                    delays->met[k] = true;
            }
    }
    return 0;
}

int placed_init(struct placed *placed, const struct assignment *assignment,
                const struct delays *delays)
{
    *placed = (struct placed){.assignment = assignment, .same_speed = true};
    if (assignment->kind != ASSIGNED)
        return 0;
    for (size_t i = 0; i < assignment->machine_count; i++)
        placed->same_speed = placed->same_speed && assignment->machines[i].speed == 1;
    const struct machines machines = {.assigned = assignment->machines,
                                      .count = assignment->machine_count};
    return make_between(placed, delays, &machines);
}

int placed_note_machines(struct placed *placed, const struct delays *delays,
                         const struct graph_machine *recorded, size_t count)
{
    const struct machines machines = {.recorded = recorded, .count = count};

    return placed->assignment->kind == AS_RECORDED ? make_between(placed, delays, &machines) : 0;
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
    if (placed->between != NULL && from < placed->between_side && to < placed->between_side)
        return delay_of(&placed->between[from * placed->between_side + to], bytes);
    return delay_of(from == to ? &delays->local : &delays->remote, bytes);
}

uint64_t placed_delay_of_arc(const struct graph *graph, const struct placed *placed,
                             const struct stretch *stretch)
{
    const struct stretch *source = &graph->stretches.at[stretch->source];

    if (stretch->wait == STRETCH_ORDER)
        return 0;
    if (stretch->wait == STRETCH_SINCE)
        return stretch_time(stretch);
    if (!graph->has_delays)
        return 0;
    return placed_delay(placed, &graph->options->delays,
                        graph_machine_of(graph, placed, graph->starts[source->chain].process),
                        graph_machine_of(graph, placed, graph->starts[stretch->chain].process),
                        stretch->wait == STRETCH_SIGNAL ? 0 : stretch->weight);
}
