/* SPDX-License-Identifier: MIT */
/* live_groups.c: rows of programs, containers and machines: the sums of their processes. See live_private.h. */
#include "live/live_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const enum live_table groups[] = {LIVE_PROGRAMS, LIVE_CONTAINERS, LIVE_MACHINES};

static void name_of(const struct communication *all, const struct communication_process *process,
                    enum live_table table, char name[NAME_SIZE])
{
    if (table == LIVE_MACHINES)
        snprintf(name, NAME_SIZE, "%s",
                 process->machine < all->machine_count ? all->machines[process->machine].name
                                                       : "unknown");
    else
        communication_group_name(process, table == LIVE_PROGRAMS ? BY_PROGRAM : BY_CONTAINER, name);
}

void live_group_row_name(const struct communication *all,
                         const struct communication_process *process, enum live_table table,
                         char name[LIVE_NAME_SIZE])
{
    bool several = all->machine_count > 1 && table != LIVE_MACHINES;
    char plain[NAME_SIZE] = "";

    name_of(all, process, table, plain);
    snprintf(name, LIVE_NAME_SIZE, "%.40s%s%.20s", plain, several ? "@" : "",
             several && process->machine < all->machine_count ? all->machines[process->machine].name
                                                              : "");
}

uint64_t live_machine_key(const struct communication *all, uint32_t machine)
{
    const char *name = machine < all->machine_count ? all->machines[machine].name : "unknown";

    return hash_bytes(10, name, strlen(name) + 1);
}

uint64_t live_group_row_key(const struct communication *all,
                            const struct communication_process *process, enum live_table table)
{
    char name[NAME_SIZE] = "";

    name_of(all, process, table, name);
    return hash_bytes(live_machine_key(all, process->machine), name, strlen(name)) | 1;
}

static struct live_row *row_of(struct live *live, enum live_table table, uint32_t index)
{
    const struct communication_process *process = &live->now->processes[index];
    uint64_t key = live_group_row_key(live->now, process, table);
    struct live_row *row = live_all_add(&live->all[table], key, index);
    if (row != NULL && row->name[0] == '\0') {
        live_group_row_name(live->now, process, table, row->name);
        row->machine = process->machine;
        row->ended = true;
    }
    return row;
}

void live_group_names(const struct live *live, enum live_table table, uint32_t process,
                      char name[NAME_SIZE], char machine[NAME_SIZE])
{
    const struct communication_process *of = &live->now->processes[process];

    name_of(live->now, of, table, name);
    if (machine != NULL)
        name_of(live->now, of, LIVE_MACHINES, machine);
}

/* What is true of most of the time alone: else only the kind. */
void live_choose_wait(struct live_row *group)
{
    unsigned most = ELAPSED_UNKNOWN;

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
        if (group->interval[LIVE_WAITS + kind] > group->interval[LIVE_WAITS + most])
            most = kind;
    uint64_t sum = group->interval[LIVE_WAITS + most];
    if (most != group->wait.kind || group->wait.time <= sum / 2)
        group->wait = (struct live_wait){.kind = (enum elapsed_kind)most, .call = NO_SYSTEM_CALL};
    group->wait.time = sum;
}

static bool is_same_wait(const struct live_wait *one, const struct live_wait *other)
{
    return one->kind == other->kind && strcmp(one->what, other->what) == 0 &&
           (one->what[0] != '\0' || one->call == other->call);
}

/* Adds up waits for the same thing; of different ones the longer stays. So `time` is never more than they waited for that. */
static void add_wait(struct live_wait *sum, const struct live_wait *wait)
{
    uint64_t since = wait->since > sum->since ? wait->since : sum->since;
    uint64_t time = sum->time + wait->time;

    if (is_same_wait(sum, wait)) {
        sum->since = since;
        sum->time = time;
    } else if (wait->time > sum->time) {
        *sum = *wait;
    }
}

static void add(struct live_row *group, const struct live_row *process)
{
    live_row_add(group, process);
    group->rows = 1;
    group->ended = group->ended && process->ended;
    add_wait(&group->wait, &process->wait);
}

int live_groups_make(struct live *live)
{
    for (size_t g = 0; g < ARRAY_SIZE(groups); g++) {
        struct live_all *all = &live->all[groups[g]];
        for (uint32_t i = 0; i < live->now->process_count; i++) {
            struct live_row *row = row_of(live, groups[g], i);
            if (row == NULL)
                return -ENOMEM;
            add(row, &live->all[LIVE_PROCESSES].at[i]);
        }
        for (size_t i = 0; i < all->count; i++) {
            struct live_row *row = &all->at[i];
            live_choose_wait(row);
            row->wait.is_silent = row->so_far[LIVE_THREADS] <= row->so_far[LIVE_LIVING] &&
                                  row->interval[LIVE_SILENT] > row->wait.time;
        }
    }
    return 0;
}
