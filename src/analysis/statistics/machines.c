/* SPDX-License-Identifier: MIT */
/* machines.c: the machines of a result, and their clocks. See machines.h. */
#include "analysis/statistics/machines.h"

#include "analysis/statistics/statistics_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t machine_key(const struct statistics *statistics, uint32_t origin)
{
    uint32_t machine = history_machine(statistics->history, origin);

    return machine != NO_MACHINE ? machine : 0x40000000u + origin;
}

/* Whether it is the first origin of its machine. */
static bool is_first(const struct statistics *statistics, uint32_t origin)
{
    uint32_t key = machine_key(statistics, origin);

    for (uint32_t i = 0; i < origin; i++)
        if (statistics->origins[i].seen && machine_key(statistics, i) == key)
            return false;
    return statistics->origins[origin].seen;
}

uint32_t machine_index(const struct statistics *statistics, uint32_t origin)
{
    uint32_t key = machine_key(statistics, origin), index = 0;

    for (uint32_t i = 0; i < statistics->origin_count; i++) {
        if (!is_first(statistics, i))
            continue;
        if (machine_key(statistics, i) == key)
            return index;
        index++;
    }
    return 0;
}

uint32_t statistics_machine(const struct statistics *statistics, uint32_t origin)
{
    return machine_index(statistics, origin);
}

/* Names a machine; distinct from all before it. */
static void name_machine(struct communication *result, size_t index, const char *name)
{
    struct communication_machine *machine = &result->machines[index];
    bool taken = true;

    for (unsigned attempt = 1; taken; attempt++) {
        if (attempt == 1)
            snprintf(machine->name, sizeof(machine->name), "%s", name);
        else
            snprintf(machine->name, sizeof(machine->name), "%s (%u)", name, attempt);
        taken = false;
        for (size_t other = 0; other < index; other++)
            taken = taken || strcmp(machine->name, result->machines[other].name) == 0;
    }
}

/* The origin of the same machine with the latest record. */
static uint32_t latest_origin(const struct statistics *statistics, uint32_t origin)
{
    const struct statistics_origin *all = statistics->origins;
    uint32_t key = machine_key(statistics, origin), latest = origin;

    for (uint32_t i = 0; i < statistics->origin_count; i++)
        if (all[i].seen && machine_key(statistics, i) == key &&
            all[i].last_time > all[latest].last_time)
            latest = i;
    return latest;
}

/* The reference is the latest recording of the first machine: its wall clock may have been set between two recordings.
 * Then the first machine itself is at 0. */
static void compare_clocks(const struct statistics *statistics, uint32_t origin,
                           struct communication_machine *machine)
{
    const struct history *history = statistics->history;
    uint32_t first = statistics->origins[0].seen ? latest_origin(statistics, 0) : 0;
    uint32_t latest = latest_origin(statistics, origin);

    history_clock(history, latest, statistics->origins[latest].last_time, &machine->clock_offset,
                  &machine->clock_error);
    machine->clock_ahead =
        (int64_t)((uint64_t)history_wall_offset(history, latest) -
                  (uint64_t)history_wall_offset(history, first) - (uint64_t)machine->clock_offset);
}

int machines_build(const struct statistics *statistics, struct communication *result)
{
    result->machines = calloc(statistics->origin_count + 1UL, sizeof(*result->machines));
    if (result->machines == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < statistics->origin_count; i++) {
        const struct machine_record *record = identities_machine(statistics->identities, i);
        char name[MACHINE_NAME_SIZE + 1] = "";
        if (!is_first(statistics, i))
            continue;
        if (record != NULL)
            memcpy(name, record->name, MACHINE_NAME_SIZE);
        name_machine(result, result->machine_count, name[0] == '\0' ? "unknown" : name);
        compare_clocks(statistics, i, &result->machines[result->machine_count]);
        if (result->machines[result->machine_count].clock_error > result->clock_error)
            result->clock_error = result->machines[result->machine_count].clock_error;
        result->machine_count++;
    }
    return 0;
}
