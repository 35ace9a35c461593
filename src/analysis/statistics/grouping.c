/* SPDX-License-Identifier: MIT */
/*
 * grouping.c: a result by user, container or program, made from the result by process.
 *
 *      process 0  anna   --key--> (machine 0, uid 1000)  -- group 0   anna: sums of 0 and 2
 *      process 1  root            (machine 0, uid 0)     -- group 1   root
 *      process 2  anna            (machine 0, uid 1000)  -- group 0
 *
 *      parties:  {process 0, process 2} --> {group 0}, which is no longer shared
 */
#include "analysis/statistics/statistics_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum key_kind { KEY_UNKNOWN, KEY_NUMBER, KEY_TEXT, KEY_ALONE };

/* Processes with equal keys are of one group. */
struct group_key {
    uint32_t process;
    uint32_t machine;
    enum key_kind kind;
    uint64_t number;
    const char *text;
    size_t length;
};

struct grouping {
    const struct communication *from;
    const bool *folds; /* [from->process_count] which may share rows with their like, and `from` is
                          spent; NULL: all are put together by what the user asks for */
    struct communication *result;
    struct group_key *keys; /* [from->process_count], equal ones side by side */
    uint32_t *group_of;     /* [from->process_count] */
    uint32_t *firsts;       /* [groups], first process of each */
};

const char *communication_by_name(enum communication_by by)
{
    static const char *const names[] = {
        [BY_PROCESS] = "process", [BY_USER] = "user",       [BY_CONTAINER] = "container",
        [BY_PROGRAM] = "program", [BY_MACHINE] = "machine", [BY_NAMESPACE] = "namespace",
    };

    return names[by];
}

/* ---- which processes are a group ---- */

static void key_by_text(struct group_key *key, const char *text, size_t length)
{
    key->kind = KEY_TEXT;
    key->text = text;
    key->length = length;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return text == NULL ? hash_bytes(hash, "", 1) : hash_bytes(hash, text, strlen(text) + 1);
}

/* What processes that may share a row have in common: machine, program, user, container. */
static uint64_t fold_key(const struct communication_process *process)
{
    uint64_t hash = hash_bytes(0, &process->machine, sizeof(process->machine));

    hash = hash_bytes(hash, &process->user, sizeof(process->user));
    hash = hash_bytes(hash, &process->cgroup, sizeof(process->cgroup));
    hash = hash_bytes(hash, &process->pid_namespace, sizeof(process->pid_namespace));
    hash = hash_text(hash, process->program);
    hash = hash_text(hash, process->cgroup_name);
    if (process->program == NULL)
        hash = hash_bytes(hash, process->name, sizeof(process->name));
    return hash;
}

/* For rows that are folded. */
static struct group_key key_of_fold(const struct grouping *grouping, uint32_t index)
{
    const struct communication_process *process = &grouping->from->processes[index];
    bool alone = !grouping->folds[index] && process->group == NULL;

    return (struct group_key){
        .process = index,
        .machine = process->machine,
        .kind = alone ? KEY_ALONE : KEY_NUMBER,
        .number = alone ? index : fold_key(process),
        .text = "",
    };
}

static struct group_key key_of(const struct communication *communication, uint32_t index,
                               enum communication_by by)
{
    const struct communication_process *process = &communication->processes[index];
    struct group_key key = {.process = index, .machine = process->machine, .text = ""};
    char name[CONTAINER_SIZE];

    if (by == BY_MACHINE || (process->pid == 0 && process->group == NULL))
        return key;
    if (by == BY_CONTAINER && process->cgroup_name != NULL) {
        key_by_text(&key, process->cgroup_name, container_name(process->cgroup_name, name));
    } else if (by == BY_PROGRAM && process->program != NULL) {
        key_by_text(&key, process->program, strlen(process->program));
    } else if (by == BY_PROGRAM) {
        key_by_text(&key, process->name, strnlen(process->name, sizeof(process->name)));
    } else {
        key.kind = KEY_NUMBER;
        key.number = by == BY_USER        ? process->user
                     : by == BY_NAMESPACE ? process->pid_namespace
                                          : process->cgroup;
    }
    return key;
}

static int compare_keys(const struct group_key *a, const struct group_key *b)
{
    if (a->machine != b->machine)
        return a->machine < b->machine ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return memcmp(a->text, b->text, a->length);
}

static int compare_keys_and_processes(const void *left, const void *right)
{
    const struct group_key *a = left;
    const struct group_key *b = right;
    int difference = compare_keys(a, b);

    return difference != 0 ? difference : (a->process > b->process) - (a->process < b->process);
}

/* Numbers the groups in the order of their first processes. */
static void find_groups(struct grouping *grouping, enum communication_by by)
{
    size_t count = grouping->from->process_count;
    uint32_t first = 0;

    for (uint32_t i = 0; i < count; i++)
        grouping->keys[i] =
            grouping->folds != NULL ? key_of_fold(grouping, i) : key_of(grouping->from, i, by);
    qsort(grouping->keys, count, sizeof(*grouping->keys), compare_keys_and_processes);
    for (size_t i = 0; i < count; i++) {
        const struct group_key *key = &grouping->keys[i];
        if (i == 0 || compare_keys(key - 1, key) != 0)
            first = key->process;
        grouping->group_of[key->process] = first;
    }
    for (uint32_t i = 0; i < count; i++) {
        first = grouping->group_of[i];
        if (first == i) {
            grouping->firsts[grouping->result->process_count] = i;
            grouping->group_of[i] = (uint32_t)grouping->result->process_count++;
        } else {
            grouping->group_of[i] = grouping->group_of[first]; /* it has its number */
        }
    }
}

/* ---- what they are called ---- */

static int name_group(struct grouping *grouping, uint32_t group, const char *name, size_t length)
{
    char text[NAME_SIZE];

    snprintf(text, sizeof(text), "%.*s", (int)length, name);
    grouping->result->processes[group].group = communication_keep_text(grouping->result, text);
    return grouping->result->processes[group].group == NULL ? -ENOMEM : 0;
}

void communication_group_name(const struct communication_process *process, enum communication_by by,
                              char name[NAME_SIZE])
{
    if (process->pid == 0 && process->group == NULL)
        strcpy(name, "unknown");
    else if (by == BY_USER && process->user_name != NULL)
        snprintf(name, NAME_SIZE, "%s", process->user_name);
    else if (by == BY_USER)
        snprintf(name, NAME_SIZE, "%" PRIu32, process->user);
    else if (by == BY_NAMESPACE)
        snprintf(name, NAME_SIZE, "%" PRIu32, process->pid_namespace);
    else if (by == BY_CONTAINER && process->cgroup_name != NULL)
        container_name(process->cgroup_name, name);
    else if (by == BY_CONTAINER)
        snprintf(name, NAME_SIZE, "cgroup %" PRIu64, process->cgroup);
    else if (process->program != NULL)
        snprintf(name, NAME_SIZE, "%s", process->program);
    else
        snprintf(name, NAME_SIZE, "%.*s", STREAM_NAME_SIZE, process->name);
}

static int compare_names(const void *left, const void *right)
{
    const struct communication_process *a = *(struct communication_process *const *)left;
    const struct communication_process *b = *(struct communication_process *const *)right;

    if (a->machine != b->machine)
        return a->machine < b->machine ? -1 : 1;
    return strcmp(a->group, b->group);
}

/* Containers of one machine with the same short name get the paths that lead to them. */
static int tell_apart(struct grouping *grouping, struct communication_process **rows, size_t count)
{
    struct communication_process *processes = grouping->result->processes;
    char name[CONTAINER_SIZE];
    int result = 0;

    qsort(rows, count, sizeof(*rows), compare_names);
    for (size_t i = 0, end; result == 0 && i < count; i = end) {
        for (end = i + 1; end < count && compare_names(&rows[i], &rows[end]) == 0;)
            end++;
        for (size_t at = i; result == 0 && end - i > 1 && at < end; at++) {
            uint32_t group = (uint32_t)(rows[at] - processes);
            const char *path = grouping->from->processes[grouping->firsts[group]].cgroup_name;
            if (path != NULL)
                result = name_group(grouping, group, path, container_name(path, name));
        }
    }
    return result;
}

static int name_groups(struct grouping *grouping, enum communication_by by)
{
    size_t count = grouping->result->process_count;
    struct communication_process **rows = calloc(count + 1, sizeof(*rows));
    char name[NAME_SIZE];
    int result = rows == NULL ? -ENOMEM : 0;

    for (uint32_t i = 0; result == 0 && i < count; i++) {
        rows[i] = &grouping->result->processes[i];
        const struct communication_process *first = &grouping->from->processes[grouping->firsts[i]];
        if (by == BY_MACHINE)
            snprintf(name, sizeof(name), "%s", grouping->from->machines[first->machine].name);
        else
            communication_group_name(first, by, name);
        result = name_group(grouping, i, name, strlen(name));
    }
    if (result == 0 && by == BY_CONTAINER)
        result = tell_apart(grouping, rows, count);
    free(rows);
    return result;
}

/* ---- their rows ---- */

static int sum_groups(struct grouping *grouping)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < grouping->from->process_count; i++) {
        const struct communication_process *process = &grouping->from->processes[i];
        struct communication_process *group = &grouping->result->processes[grouping->group_of[i]];
        group->machine = process->machine;
        group->parent = NO_PROCESS;
        group->group_size += process->group_size;
        group->ended = true;
        result = add_process_sums(group, process);
    }
    return result;
}

/* ---- all of it ---- */

/* A result with room for everything, and what is the same for every grouping. */
static struct communication *new_result(const struct communication *from, enum communication_by by)
{
    struct communication *result = calloc(1, sizeof(*result));

    if (result == NULL)
        return NULL;
    *result = *from; /* all totals */
    result->by = by;
    result->process_count = result->pair_count = result->path_count = 0;
    result->memory = (struct arena){0};
    result->pieces = NULL;
    result->piece_capacity = 0;
    result->piece_keys = (struct intern){0};
    result->pairs = NULL;
    result->pair_capacity = 0;
    result->pair_keys = (struct intern){0};
    result->paths = NULL;
    result->processes = calloc(from->process_count + 1, sizeof(*result->processes));
    result->machines = calloc(from->machine_count + 1, sizeof(*result->machines));
    result->procedures = calloc(from->procedure_count + 1, sizeof(*result->procedures));
    result->procedure_count = 0;
    size_t intervals = from->interval_count * sizeof(*from->intervals);
    result->intervals = malloc(intervals + 1);
    if (result->intervals != NULL && intervals > 0)
        memcpy(result->intervals, from->intervals, intervals);
    if (result->processes == NULL || result->machines == NULL || result->intervals == NULL ||
        result->procedures == NULL) {
        communication_free(result);
        return NULL;
    }
    if (from->machine_count > 0)
        memcpy(result->machines, from->machines, from->machine_count * sizeof(*from->machines));
    return result;
}

/* The first of those that share a row tells what they have in common; one alone is copied. */
static int copy_folded(struct grouping *grouping)
{
    char name[NAME_SIZE];
    int result = 0;

    for (uint32_t i = 0; result == 0 && i < grouping->result->process_count; i++) {
        struct communication_process *first = &grouping->from->processes[grouping->firsts[i]];
        struct communication_process *row = &grouping->result->processes[i];
        result = copy_process(grouping->result, first, row, true);
        if (result < 0 || (!grouping->folds[grouping->firsts[i]] && first->group == NULL))
            continue;
        if (first->group == NULL) {
            communication_group_name(first, BY_PROGRAM, name);
            result = name_group(grouping, i, name, strlen(name));
        }
        row->pid = row->stream = row->pid_inside = row->parent_number = 0;
        row->parent = NO_PROCESS;
        row->ended = true;
    }
    /* the others of each row */
    for (uint32_t i = 0; result == 0 && i < grouping->from->process_count; i++) {
        struct communication_process *row = &grouping->result->processes[grouping->group_of[i]];
        if (grouping->firsts[grouping->group_of[i]] == i)
            continue;
        row->group_size += grouping->from->processes[i].group_size;
        result = add_process_sums(row, &grouping->from->processes[i]);
        histogram_done(&grouping->from->processes[i].sizes);
        times_done(&grouping->from->processes[i].times);
    }
    for (uint32_t i = 0; i < grouping->result->process_count; i++) {
        struct communication_process *row = &grouping->result->processes[i];
        if (row->parent != NO_PROCESS)
            row->parent = grouping->group_of[row->parent];
    }
    return result;
}

static int copy_procedures(const struct communication *from, struct communication *result)
{
    for (size_t i = 0; i < from->procedure_count; i++) {
        struct communication_procedure *row = &result->procedures[result->procedure_count++];
        *row = from->procedures[i];
        row->name = communication_keep_text(result, row->name);
        row->module = communication_keep_text(result, row->module);
        if (row->name == NULL || row->module == NULL)
            return -ENOMEM;
    }
    return 0;
}

/* `spent`: the same, or NULL. */
static int group(const struct communication *communication, struct communication *spent,
                 enum communication_by by, const bool *folds, uint32_t *map,
                 struct communication **ret_groups)
{
    size_t count = communication->process_count + 1;
    struct grouping grouping = {
        .from = communication,
        .folds = folds,
        .result = new_result(communication, by),
        .keys = calloc(count, sizeof(*grouping.keys)),
        .group_of = calloc(count, sizeof(*grouping.group_of)),
        .firsts = calloc(count, sizeof(*grouping.firsts)),
    };
    int result = -ENOMEM;

    if (grouping.result == NULL || grouping.keys == NULL || grouping.group_of == NULL ||
        grouping.firsts == NULL)
        goto done;
    find_groups(&grouping, by);
    if (folds != NULL ? copy_folded(&grouping) < 0
                      : sum_groups(&grouping) < 0 || name_groups(&grouping, by) < 0)
        goto done;
    if (spent != NULL)
        communication_drop_processes(spent);
    result = communication_transfer(grouping.result, grouping.group_of, communication, spent);
    if (result < 0 || (result = copy_procedures(communication, grouping.result)) < 0)
        goto done;
    if (map != NULL)
        memcpy(map, grouping.group_of, (count - 1) * sizeof(*map));
    *ret_groups = grouping.result;
    grouping.result = NULL;
done:
    communication_free(grouping.result);
    free(grouping.keys);
    free(grouping.group_of);
    free(grouping.firsts);
    return result;
}

int communication_group(const struct communication *communication, enum communication_by by,
                        struct communication **ret_groups)
{
    int result = group(communication, NULL, by, NULL, NULL, ret_groups);

    if (result == 0 && communication_arrange(*ret_groups) < 0) {
        communication_free(*ret_groups);
        result = -ENOMEM;
    }
    return result;
}

int communication_fold_processes(struct communication *communication, const bool *folds,
                                 uint32_t *map, struct communication **ret_folded)
{
    return group(communication, communication, BY_PROCESS, folds, map, ret_folded);
}
