/* SPDX-License-Identifier: MIT */
/*
 * choosing.c: restricts a result to some processes.
 *
 *      client > server   server > client   other > server          server is chosen
 *      keep              keep              keep
 *      client > other                                              dropped
 *
 * Rows of other processes stay, marked, as the rows that are kept refer to them.
 */
#include "analysis/statistics/files.h"
#include "analysis/statistics/rows.h"

static bool is_chosen(const struct communication *communication, const struct party *party)
{
    for (uint32_t i = 0; i < party->count; i++)
        if (!communication->processes[party->processes[i]].aside)
            return true;
    return false;
}

static void choose_pairs(struct communication *communication)
{
    size_t kept = 0;

    for (size_t i = 0; i < communication->pair_count; i++) {
        struct communication_pair *pair = &communication->pairs[i];
        if (is_chosen(communication, &pair->from) || is_chosen(communication, &pair->to)) {
            communication->pairs[kept++] = *pair;
            continue;
        }
        histogram_done(&pair->sizes);
        times_done(&pair->times);
    }
    communication->pair_count = kept;
    intern_done(&communication->pair_keys);
}

static void choose_paths(struct communication *communication)
{
    size_t kept = 0;

    communication->connections = communication->ended = communication->unused = 0;
    communication->dropped = communication->refused = communication->duplicates = 0;
    for (size_t i = 0; i < communication->path_count; i++) {
        struct communication_path *path = &communication->paths[i];
        if (is_chosen(communication, &path->ends[0]) || is_chosen(communication, &path->ends[1])) {
            communication->connections += path->connections;
            communication->ended += path->ended;
            communication->dropped += path->dropped;
            communication->refused += path->refused;
            communication->duplicates += path->duplicates;
            communication->paths[kept++] = *path;
            continue;
        }
        histogram_done(&path->sizes);
        histogram_done(&path->open_responses);
        histogram_done(&path->open_requests);
        times_done(&path->times);
    }
    communication->path_count = kept;
}

static void choose_failures(struct communication *communication)
{
    size_t kept = 0;

    communication->failed = 0;
    for (size_t i = 0; i < communication->failure_count; i++) {
        struct communication_failure *row = &communication->failures[i];
        if (row->process != NO_PROCESS && !communication->processes[row->process].aside) {
            communication->failed += row->count;
            communication->failures[kept++] = *row;
        } else {
            histogram_done(&row->times);
        }
    }
    communication->failure_count = kept;
}

static void choose_files(struct communication *communication)
{
    size_t kept = 0;

    for (size_t i = 0; i < communication->file_count; i++) {
        struct communication_file *row = &communication->files[i];
        if (row->process != NO_PROCESS && !communication->processes[row->process].aside)
            communication->files[kept++] = *row;
        else
            file_rows_done(row, 1);
    }
    communication->file_count = kept;
}

static bool is_chosen_process(const struct communication *communication, uint32_t process)
{
    return process != NO_PROCESS && !communication->processes[process].aside;
}

static void choose_inputs(struct communication *communication)
{
    size_t kept = 0;

    for (size_t i = 0; i < communication->input_count; i++)
        if (is_chosen_process(communication, communication->inputs[i].from) ||
            is_chosen_process(communication, communication->inputs[i].to))
            communication->inputs[kept++] = communication->inputs[i];
    communication->input_count = kept;
}

static void choose_shared(struct communication *communication)
{
    size_t kept = 0;

    for (size_t i = 0; i < communication->shared_count; i++) {
        const struct communication_shared *shared = &communication->shared[i];
        bool any = false;
        for (uint32_t j = 0; j < shared->count; j++)
            any = any || is_chosen_process(communication, shared->processes[j]);
        if (any)
            communication->shared[kept++] = *shared;
    }
    communication->shared_count = kept;
}

static void sum_up(struct communication *communication)
{
    communication->cpu = communication->spun = 0;
    communication->sent = communication->local = communication->remote = (struct traffic){0};
    for (size_t i = 0; i < communication->process_count; i++) {
        if (communication->processes[i].aside)
            continue;
        communication->cpu += communication->processes[i].cpu;
        communication->spun += communication->processes[i].spun;
        add_traffic(&communication->sent, &communication->processes[i].sent);
    }
    for (size_t i = 0; i < communication->pair_count; i++)
        add_traffic(communication->pairs[i].local ? &communication->local : &communication->remote,
                    &communication->pairs[i].sent);
}

int communication_choose(struct communication *communication, process_is_chosen *chosen,
                         void *context)
{
    for (size_t i = 0; i < communication->process_count; i++)
        communication->processes[i].aside = !chosen(context, &communication->processes[i]);
    communication->chosen = true;
    choose_pairs(communication);
    choose_paths(communication);
    choose_failures(communication);
    choose_files(communication);
    choose_inputs(communication);
    choose_shared(communication);
    communication->procedure_count = 0; /* of all processes together */
    sum_up(communication);
    return communication_arrange(communication);
}
