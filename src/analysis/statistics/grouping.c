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
#include "analysis/statistics/copying.h"
#include "analysis/statistics/failures.h"
#include "analysis/statistics/files.h"
#include "analysis/statistics/inputs.h"
#include "analysis/statistics/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum key_kind { KEY_UNKNOWN, KEY_NUMBER, KEY_TEXT };

/* Processes with equal keys form a group. */
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
    struct communication *result;
    struct group_key *keys; /* [from->process_count], sorted */
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

/* ---- the processes of each group ---- */

static void key_by_text(struct group_key *key, const char *text, size_t length)
{
    key->kind = KEY_TEXT;
    key->text = text;
    key->length = length;
}

static bool is_of_any(const struct communication_process *process)
{
    return process->group != NULL && strcmp(process->group, SHARED_BY_ALL) == 0;
}

static struct group_key key_of(const struct communication *communication, uint32_t index,
                               enum communication_by by)
{
    const struct communication_process *process = &communication->processes[index];
    struct group_key key = {.process = index, .machine = process->machine, .text = ""};
    char name[CONTAINER_SIZE];

    if (by == BY_MACHINE || (process->pid == 0 && process->group == NULL))
        return key;
    if (is_of_any(process)) {
        key_by_text(&key, process->group, strlen(process->group));
    } else if (by == BY_CONTAINER && process->cgroup_name != NULL) {
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
        grouping->keys[i] = key_of(grouping->from, i, by);
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
            grouping->group_of[i] = grouping->group_of[first]; /* already numbered */
        }
    }
}

/* ---- names ---- */

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
    else if (is_of_any(process))
        strcpy(name, "others");
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

/* Containers of one machine with the same short name are named by their full cgroup paths. */
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

    for (size_t i = 0; i < grouping->result->process_count; i++)
        grouping->result->processes[i].aside = true;
    for (size_t i = 0; result == 0 && i < grouping->from->process_count; i++) {
        const struct communication_process *process = &grouping->from->processes[i];
        struct communication_process *group = &grouping->result->processes[grouping->group_of[i]];
        group->machine = process->machine;
        group->parent = NO_PROCESS;
        group->partly_aside = group->partly_aside || process->aside;
        if (process->aside)
            continue;
        group->aside = false;
        group->group_size += process->group_size;
        group->ended = true;
        result = add_process_sums(group, process);
    }
    return result;
}

/* ---- all of it ---- */

/* An empty result with space for all rows, and with what is the same for every grouping. */
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
    result->failures = NULL;
    result->failure_count = 0;
    result->processes = calloc(from->process_count + 1, sizeof(*result->processes));
    result->machines = calloc(from->machine_count + 1, sizeof(*result->machines));
    result->files = NULL;
    result->file_count = 0;
    result->inputs = NULL;
    result->input_count = 0;
    result->shared = NULL;
    result->shared_count = 0;
    result->procedures = calloc(from->procedure_count + 1, sizeof(*result->procedures));
    result->procedure_count = 0;
    result->cgroups = calloc(from->cgroup_count + 1, sizeof(*result->cgroups));
    result->cgroup_count = 0;
    result->decisions = calloc(from->decision_count + 1, sizeof(*result->decisions));
    size_t intervals = from->interval_count * sizeof(*from->intervals);
    result->intervals = malloc(intervals + 1);
    if (result->intervals != NULL && intervals > 0)
        memcpy(result->intervals, from->intervals, intervals);
    if (result->processes == NULL || result->machines == NULL || result->intervals == NULL ||
        result->procedures == NULL || result->cgroups == NULL || result->decisions == NULL) {
        communication_free(result);
        return NULL;
    }
    if (from->machine_count > 0)
        memcpy(result->machines, from->machines, from->machine_count * sizeof(*from->machines));
    if (from->decision_count > 0)
        memcpy(result->decisions, from->decisions, from->decision_count * sizeof(*from->decisions));
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

static int copy_cgroups(const struct communication *from, struct communication *result)
{
    for (size_t i = 0; i < from->cgroup_count; i++) {
        struct communication_cgroup *row = &result->cgroups[result->cgroup_count++];
        *row = from->cgroups[i];
        if (row->name == NULL)
            continue;
        row->name = communication_keep_text(result, row->name);
        if (row->name == NULL)
            return -ENOMEM;
    }
    return 0;
}

int communication_group(const struct communication *communication, enum communication_by by,
                        struct communication **ret_groups)
{
    size_t count = communication->process_count + 1;
    struct grouping grouping = {
        .from = communication,
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
    if (sum_groups(&grouping) < 0 || name_groups(&grouping, by) < 0 ||
        communication_transfer(grouping.result, grouping.group_of, communication) < 0 ||
        failures_transfer(grouping.result, grouping.group_of, communication) < 0 ||
        copy_procedures(communication, grouping.result) < 0 ||
        files_group(communication, grouping.group_of, grouping.result) < 0 ||
        inputs_group(communication, grouping.group_of, grouping.result) < 0 ||
        copy_cgroups(communication, grouping.result) < 0 ||
        communication_arrange(grouping.result) < 0)
        goto done;
    *ret_groups = grouping.result;
    grouping.result = NULL;
    result = 0;
done:
    communication_free(grouping.result);
    free(grouping.keys);
    free(grouping.group_of);
    free(grouping.firsts);
    return result;
}
