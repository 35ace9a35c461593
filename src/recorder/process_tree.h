/* SPDX-License-Identifier: MIT */
/* process_tree.h: which processes descend from which, as /proc says at one moment. */
#ifndef DPM_PROCESS_TREE_H
#define DPM_PROCESS_TREE_H

#include "base/base.h"

#include <sys/types.h>

/* All zero: empty. */
struct process_tree {
    pid_t *pids;
    pid_t *parents;
    size_t count;
    size_t room, parent_room;
};

/* Reads all processes except our own. A process that was created by one that has ended is a child of whichever took it
 * over, mostly process 1. Returns 0 or a negative errno with a line in `problem`. */
int process_tree_read(struct process_tree *tree, struct problem *problem);
void process_tree_done(struct process_tree *tree);

/* Adds to a set of pids those of all their descendants. Returns 0 or -ENOMEM. */
int process_tree_descendants(const struct process_tree *tree, struct intern *pids);

#endif
