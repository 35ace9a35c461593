/* SPDX-License-Identifier: MIT */
/* process_tree.c: which processes descend from which. See process_tree.h. */
#include "recorder/process_tree.h"

#include "base/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_PARENT 4 /* field of /proc/PID/stat */

static pid_t parent_of(pid_t pid)
{
    char stat[512];
    const char *field;

    if (process_read(pid, "stat", stat, sizeof(stat)) == 0)
        return 0;
    field = process_stat_field(stat, STAT_PARENT);
    return field == NULL ? 0 : (pid_t)strtol(field, NULL, 10);
}

static int add(struct process_tree *tree, pid_t pid)
{
    pid_t parent = parent_of(pid);

    if (parent == 0) /* it has ended, or has no parent */
        return 0;
    if (array_reserve(&tree->pids, &tree->room, tree->count + 1, sizeof(*tree->pids)) < 0 ||
        array_reserve(&tree->parents, &tree->parent_room, tree->count + 1, sizeof(*tree->parents)) <
            0)
        return -ENOMEM;
    tree->pids[tree->count] = pid;
    tree->parents[tree->count++] = parent;
    return 0;
}

int process_tree_read(struct process_tree *tree, struct problem *problem)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    int result = 0;

    tree->count = 0;
    if (folder == NULL)
        return problem_set(problem, -errno, "cannot list /proc: %s", strerror(errno));
    while (result == 0 && (entry = readdir(folder)) != NULL) {
        pid_t pid =
            isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        if (pid != 0 && pid != getpid())
            result = add(tree, pid);
    }
    closedir(folder);
    return result < 0 ? problem_set(problem, result, "out of memory") : 0;
}

void process_tree_done(struct process_tree *tree)
{
    free(tree->pids);
    free(tree->parents);
    *tree = (struct process_tree){0};
}

int process_tree_descendants(const struct process_tree *tree, struct intern *pids)
{
    uint32_t before;

    /* /proc lists by pid, and parents mostly have the smaller one: nearly always two rounds */
    do {
        before = pids->count;
        for (size_t i = 0; i < tree->count; i++)
            if (intern_find(pids, (uint64_t)tree->parents[i]) >= 0 &&
                intern_add(pids, (uint64_t)tree->pids[i]) < 0)
                return -ENOMEM;
    } while (pids->count != before);
    return 0;
}
