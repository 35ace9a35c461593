/* SPDX-License-Identifier: MIT */
/* live_groups.c: rows of programs, containers and machines: the sums of their processes. See live_private.h. */
#include "live/live_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    enum live_table table;
    enum communication_by by;
} groups[] = {
    {LIVE_PROGRAMS, BY_PROGRAM},
    {LIVE_CONTAINERS, BY_CONTAINER},
    {LIVE_MACHINES, BY_MACHINE},
};

static void name_of(const struct communication *all, const struct communication_process *process,
                    enum communication_by by, char name[NAME_SIZE])
{
    if (by == BY_MACHINE)
        snprintf(name, NAME_SIZE, "%s",
                 process->machine < all->machine_count ? all->machines[process->machine].name
                                                       : "unknown");
    else
        communication_group_name(process, by, name);
}

static struct live_row *row_of(struct live *live, enum live_table table, enum communication_by by,
                               uint32_t index)
{
    const struct communication_process *process = &live->now->processes[index];
    char name[NAME_SIZE] = "";

    name_of(live->now, process, by, name);
    uint64_t key = hash_bytes(process->machine + 10, name, strlen(name)) | 1;
    struct live_row *row = live_all_add(&live->all[table], key, index);
    if (row != NULL && row->name[0] == '\0') {
        bool several = live->now->machine_count > 1 && by != BY_MACHINE;
        snprintf(row->name, sizeof(row->name), "%.40s%s%.20s", name, several ? "@" : "",
                 several && process->machine < live->now->machine_count
                     ? live->now->machines[process->machine].name
                     : "");
        row->machine = process->machine;
        row->ended = true;
    }
    return row;
}

void live_group_names(const struct live *live, enum live_table table, size_t index,
                      char name[NAME_SIZE], char machine[NAME_SIZE])
{
    const struct communication_process *process =
        &live->now->processes[live->all[table].sources[index]];

    for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
        if (groups[g].table == table)
            name_of(live->now, process, groups[g].by, name);
    if (machine != NULL)
        name_of(live->now, process, BY_MACHINE, machine);
}

void live_choose_wait(struct live_row *group)
{
    unsigned most = ELAPSED_UNKNOWN;

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
        if (group->interval[LIVE_WAITS + kind] > group->interval[LIVE_WAITS + most])
            most = kind;
    if (most != group->wait.kind)
        group->wait = (struct live_wait){.kind = (enum elapsed_kind)most, .call = NO_SYSTEM_CALL};
    group->wait.time = group->interval[LIVE_WAITS + most];
}

static void add(struct live_row *group, const struct live_row *process)
{
    live_row_add(group, process);
    group->rows = 1;
    group->ended = group->ended && process->ended;
    if (process->wait.time > group->wait.time)
        group->wait = process->wait;
}

int live_groups_make(struct live *live)
{
    for (size_t g = 0; g < ARRAY_SIZE(groups); g++) {
        struct live_all *all = &live->all[groups[g].table];
        for (uint32_t i = 0; i < live->now->process_count; i++) {
            struct live_row *row = row_of(live, groups[g].table, groups[g].by, i);
            if (row == NULL)
                return -ENOMEM;
            add(row, &live->all[LIVE_PROCESSES].at[i]);
        }
        for (size_t i = 0; i < all->count; i++)
            live_choose_wait(&all->at[i]);
    }
    return 0;
}
