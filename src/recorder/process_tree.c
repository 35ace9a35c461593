/* SPDX-License-Identifier: MIT */
/* process_tree.c: which processes descend from which. See process_tree.h. */
#include "recorder/process_tree.h"

#include "base/process.h"

#include <errno.h>
#include <stdlib.h>

static int add(pid_t pid, void *context)
{
    struct process_tree *tree = context;
    pid_t parent = process_parent(pid);

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
    tree->count = 0;
    int result = process_each(add, tree, problem);
    return result == -ENOMEM ? problem_set(problem, result, "out of memory") : result;
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
