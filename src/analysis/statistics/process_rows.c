/* SPDX-License-Identifier: MIT */
/* process_rows.c: the processes, and their rows. See process_rows.h. */
#include "analysis/statistics/process_rows.h"

#include "analysis/statistics/machines.h"
#include "analysis/statistics/rows.h"
#include "analysis/statistics/statistics_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void process_rows_done(struct process_rows *processes)
{
    for (uint32_t i = 0; i < processes->pool.used; i++)
        free(((struct process *)pool_at(&processes->pool, i))->told);
    pool_done(&processes->pool);
    lookup_done(&processes->numbers);
    intern_done(&processes->likes);
    free(processes->like_rows);
    for (size_t i = 0; i < processes->state_count; i++)
        free(processes->states[i].early.list);
    free(processes->states);
}

/* ---- rows ---- */

/* Adds a row; its index, or -ENOMEM. */
static int64_t add_row(struct statistics *statistics, const struct communication_process *like)
{
    struct communication *rows = statistics->rows;
    struct process_rows *processes = &statistics->processes;
    size_t index = rows->process_count;

    if (array_reserve(&rows->processes, &processes->row_capacity, index + 1,
                      sizeof(*rows->processes)) < 0 ||
        array_reserve(&processes->states, &processes->state_capacity, index + 1,
                      sizeof(*processes->states)) < 0)
        return -ENOMEM;
    rows->processes[index] = *like;
    processes->states[index] = (struct process_state){0};
    processes->state_count = index + 1;
    rows->process_count++;
    return (int64_t)index;
}

/* Copies a text of the identities; NULL stays NULL. */
static int copy_text(struct communication *rows, const char *text, const char **ret_copy)
{
    if (text == NULL)
        return 0;
    *ret_copy = communication_keep_text(rows, text);
    return *ret_copy == NULL ? -ENOMEM : 0;
}

static int name_process(const struct identities *identities, struct communication *rows,
                        uint32_t image, struct communication_process *row)
{
    int result =
        copy_text(rows, identities_user_name(identities, row->origin, row->user), &row->user_name);

    if (result == 0)
        result = copy_text(rows, identities_cgroup_name(identities, row->origin, row->cgroup),
                           &row->cgroup_name);
    if (result == 0)
        result = copy_text(rows, identities_program(identities, row->origin, image), &row->program);
    if (result == 0 && row->stream != 0)
        result = copy_text(rows, identities_command(identities, row->origin, row->stream),
                           &row->command);
    return result;
}

/* ---- rows that several share ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return text == NULL ? hash_bytes(hash, "", 1) : hash_bytes(hash, text, strlen(text) + 1);
}

/* A key of what the processes of a shared row have in common: machine, program, user, container. */
static uint64_t likeness(const struct statistics *statistics,
                         const struct communication_process *process)
{
    uint32_t machine = machine_key(statistics, process->origin);
    uint64_t hash = hash_bytes(0, &machine, sizeof(machine));

    if (statistics->processes.likes.count >= MOST_SHARED_ROWS)
        return hash;
    hash = hash_bytes(hash, &process->user, sizeof(process->user));
    hash = hash_bytes(hash, &process->cgroup, sizeof(process->cgroup));
    hash = hash_bytes(hash, &process->pid_namespace, sizeof(process->pid_namespace));
    hash = hash_text(hash, process->program);
    hash = hash_text(hash, process->cgroup_name);
    if (process->program == NULL)
        hash = hash_bytes(hash, process->name, sizeof(process->name));
    return hash;
}

/* The row "*" is of all programs, users and containers. */
static int64_t add_shared_row(struct statistics *statistics, struct communication_process *process)
{
    char name[NAME_SIZE] = SHARED_BY_ALL;
    struct communication_process row = *process;

    if (statistics->processes.likes.count <= MOST_SHARED_ROWS)
        communication_group_name(process, BY_PROGRAM, name);
    else
        row.program = row.cgroup_name = row.user_name = NULL;
    row.group = communication_keep_text(statistics->rows, name);
    row.command = NULL;
    row.pid = row.stream = row.pid_inside = row.parent_number = 0;
    row.parent = NO_PROCESS;
    row.group_size = 0;
    row.cpu = row.spun = row.failed_sends = row.failed_receives = 0;
    row.scheduled = (struct scheduled){0};
    return row.group == NULL ? -ENOMEM : add_row(statistics, &row);
}

static int64_t find_shared_row(struct statistics *statistics, struct communication_process *process)
{
    struct process_rows *processes = &statistics->processes;
    uint64_t like = likeness(statistics, process);
    int64_t index = intern_find(&processes->likes, like);

    if (index >= 0)
        return processes->like_rows[index];
    index = intern_add(&processes->likes, like);
    if (index < 0 || array_reserve(&processes->like_rows, &processes->like_capacity,
                                   (size_t)index + 1, sizeof(*processes->like_rows)) < 0)
        return -ENOMEM;
    int64_t row = add_shared_row(statistics, process);
    if (row >= 0)
        processes->like_rows[index] = (uint32_t)row;
    return row;
}

static int64_t share_row(struct statistics *statistics, struct process *process)
{
    struct communication_process *told = process->told;

    if (name_process(statistics->identities, statistics->rows, process->image, told) < 0)
        return -ENOMEM;
    int64_t index = find_shared_row(statistics, told);
    if (index < 0)
        return index;
    struct communication_process *row = &statistics->rows->processes[index];
    row->group_size++;
    row->cpu += told->cpu;
    row->spun += told->spun;
    add_scheduled(&row->scheduled, &told->scheduled);
    row->failed_sends += told->failed_sends;
    row->failed_receives += told->failed_receives;
    return index;
}

/* ---- processes ---- */

/* Gives a process its own row, or memory for its identity until its row is decided. Returns 0 or -ENOMEM. */
static int begin(struct statistics *statistics, struct process *process)
{
    const struct communication_process told = {
        .origin = process->origin,
        .stream = process->number,
        .parent = NO_PROCESS,
        .group_size = 1,
    };

    if (statistics->rows->process_count < MOST_OWN_ROWS) {
        int64_t row = add_row(statistics, &told);
        if (row < 0)
            return (int)row;
        process->row = (uint32_t)row;
        statistics->processes.states[row].living = 1;
        return 0;
    }
    process->told = malloc(sizeof(told));
    if (process->told == NULL)
        return -ENOMEM;
    *process->told = told;
    return 0;
}

struct process *process_rows_find(struct statistics *statistics, uint32_t origin, uint32_t number)
{
    struct process_rows *processes = &statistics->processes;
    uint32_t found = lookup_find(&processes->numbers, number_key(origin, number));

    if (found != LOOKUP_NONE)
        return pool_at(&processes->pool, found);
    int64_t index = pool_take(&processes->pool);
    if (index < 0 ||
        lookup_set(&processes->numbers, number_key(origin, number), (uint32_t)index) < 0)
        return NULL;
    struct process *process = pool_at(&processes->pool, (uint32_t)index);
    process->origin = origin;
    process->number = number;
    process->index = (uint32_t)index;
    process->row = NO_PROCESS;
    return begin(statistics, process) < 0 ? NULL : process;
}

static void begin_earlier(struct process_state *state, uint64_t time)
{
    if (state->began_at == 0 || time < state->began_at)
        state->began_at = time;
}

void process_rows_note_time(struct statistics *statistics, struct process *process, uint64_t time)
{
    if (process->begin != 0 && time >= process->begin)
        return;
    process->begin = time;
    if (process->row != NO_PROCESS)
        begin_earlier(&statistics->processes.states[process->row], time);
}

int64_t process_rows_decide(struct statistics *statistics, struct process *process)
{
    if (process->row != NO_PROCESS)
        return process->row;
    int64_t row = share_row(statistics, process);
    if (row < 0)
        return row;
    process->row = (uint32_t)row;
    statistics->processes.states[row].living += !process->ended;
    begin_earlier(&statistics->processes.states[row], process->begin);
    free(process->told);
    process->told = NULL;
    return row;
}

int64_t statistics_process_row(struct statistics *statistics, uint32_t origin, uint32_t number,
                               bool *ret_shared)
{
    uint32_t found = lookup_find(&statistics->processes.numbers, number_key(origin, number));

    *ret_shared = false;
    if (found == LOOKUP_NONE)
        return NO_PROCESS;
    int64_t row = process_rows_decide(statistics, pool_at(&statistics->processes.pool, found));
    if (row >= 0)
        *ret_shared = statistics->rows->processes[row].group != NULL;
    return row;
}

struct communication_process *process_sums(const struct statistics *statistics,
                                           const struct process *process)
{
    return process->told != NULL ? process->told : &statistics->rows->processes[process->row];
}

/* A stream without identity is the first of a process of its own. */
uint32_t process_rows_of_stream(const struct statistics *statistics, uint32_t origin,
                                uint32_t stream)
{
    const struct stream_record *record = identities_stream(statistics->identities, origin, stream);
    uint32_t number = record == NULL ? stream : record->process;
    uint32_t found = lookup_find(&statistics->processes.numbers, number_key(origin, number));

    return found == LOOKUP_NONE
               ? NO_PROCESS
               : ((struct process *)pool_at(&statistics->processes.pool, found))->row;
}

static void find_parent(const struct statistics *statistics, struct communication_process *row,
                        uint32_t own)
{
    if (row->parent != NO_PROCESS || row->parent_number == 0 || row->group != NULL)
        return;
    uint32_t parent = process_rows_of_stream(statistics, row->origin, row->parent_number);
    row->parent = parent == own ? NO_PROCESS : parent;
}

/* The identity of a process is that of its first stream, or of another one that became its main thread by an exec. Any
 * other stream's counts only while the first one's is missing. */
int process_rows_note_identity(struct statistics *statistics, struct process *process,
                               const struct stream_record *record)
{
    struct communication_process *row = process_sums(statistics, process);
    bool first = record->header.stream == record->process;

    if (first && record->start != 0)
        process_rows_note_time(statistics, process, record->start);
    if (row->group != NULL)
        return 0; /* it shares a row */
    if (first || row->pid == 0 || record->tid == record->pid) {
        row->pid = record->pid;
        row->pid_inside = record->pid_inside;
        row->pid_namespace = record->pid_namespace;
        row->user = record->user;
        row->cgroup = record->cgroup;
        memcpy(row->name, record->name, sizeof(row->name));
        process->image = record->image;
        if (process->row != NO_PROCESS)
            statistics->processes.states[process->row].image = record->image;
    }
    if (first)
        row->parent_number = record->parent;
    find_parent(statistics, row, process->row);
    return 0;
}

int process_rows_end(struct statistics *statistics, struct process *process, uint64_t when)
{
    if (process->ended)
        return 0;
    int64_t row = process_rows_decide(statistics, process);
    if (row < 0)
        return (int)row;
    struct process_state *state = &statistics->processes.states[row];
    process->ended = true;
    state->living--;
    if (when > state->ended_at)
        state->ended_at = when;
    struct communication_process *own = &statistics->rows->processes[row];
    if (own->group == NULL) /* its children may still refer to it; its command line will fade */
        return copy_text(statistics->rows,
                         identities_command(statistics->identities, own->origin, own->stream),
                         &own->command);
    lookup_remove(&statistics->processes.numbers, number_key(process->origin, process->number));
    pool_give(&statistics->processes.pool, process->index);
    return 0;
}

/* ---- the result ---- */

/* Within the recording of its trace. */
static void note_life(const struct statistics *statistics, const struct process_state *state,
                      struct communication_process *row)
{
    const struct statistics_origin *origin = &statistics->origins[row->origin];

    row->begin = state->began_at > origin->first_time ? state->began_at : origin->first_time;
    row->end =
        row->ended && state->ended_at < origin->last_time ? state->ended_at : origin->last_time;
    if (row->end < row->begin)
        row->end = row->begin;
}

static int copy_row(const struct statistics *statistics, struct communication *result,
                    uint32_t index)
{
    struct communication_process *row = &result->processes[index];
    const struct process_state *state = &statistics->processes.states[index];
    const char **texts[] = {&row->user_name, &row->cgroup_name, &row->program, &row->command,
                            &row->group};
    int error = 0;

    *row = statistics->rows->processes[index];
    row->machine = machine_index(statistics, row->origin);
    row->ended = state->living == 0 && state->ended_at != 0;
    note_life(statistics, state, row);
    find_parent(statistics, row, index);
    for (size_t i = 0; error == 0 && i < ARRAY_SIZE(texts); i++)
        error = copy_text(result, *texts[i], texts[i]);
    return error < 0 || row->group != NULL || row->pid == 0
               ? error
               : name_process(statistics->identities, result, state->image, row);
}

/* Sets named_alike. Compares hashes of names: if two names share a hash, a command line is shown needlessly. */
static int compare_names(struct communication *result)
{
    struct intern names = {0};
    struct alike {
        const char *command;
        bool differ;
    } *alike = calloc(result->process_count + 1, sizeof(*alike));
    int64_t *of = calloc(result->process_count + 1, sizeof(*of));
    int error = alike == NULL || of == NULL ? -ENOMEM : 0;

    for (size_t i = 0; error == 0 && i < result->process_count; i++) {
        const struct communication_process *row = &result->processes[i];
        if (row->command == NULL)
            continue;
        of[i] = intern_add(
            &names, hash_bytes(row->machine, row->name, strnlen(row->name, sizeof(row->name))));
        if (of[i] < 0) {
            error = -ENOMEM;
            break;
        }
        struct alike *name = &alike[of[i]];
        name->differ =
            name->differ || (name->command != NULL && strcmp(name->command, row->command) != 0);
        name->command = row->command;
    }
    for (size_t i = 0; error == 0 && i < result->process_count; i++)
        result->processes[i].named_alike =
            result->processes[i].command != NULL && alike[of[i]].differ;
    intern_done(&names);
    free(alike);
    free(of);
    return error;
}

/* Processes that have neither used a path nor ended have no row yet. */
static int decide_all(struct statistics *statistics)
{
    struct pool *pool = &statistics->processes.pool;
    int64_t row = 0;

    for (uint32_t i = 0; row >= 0 && i < pool->used; i++) {
        struct process *process = pool_at(pool, i);
        if (process->told != NULL)
            row = process_rows_decide(statistics, process);
    }
    return row < 0 ? (int)row : 0;
}

int process_rows_build(struct statistics *statistics, struct communication *result)
{
    size_t count;
    int error = decide_all(statistics);

    count = statistics->rows->process_count;
    result->processes = calloc(count + 1, sizeof(*result->processes));
    if (result->processes == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        result->process_count = i + 1UL;
        error = copy_row(statistics, result, i);
    }
    return error < 0 ? error : compare_names(result);
}
