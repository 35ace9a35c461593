/* SPDX-License-Identifier: MIT */
/*
 * process_tree.h: which processes descend from which, as /proc says at one moment; which of them are masters, and which are
 * DPM's own.
 *
 *      nginx[812]            a master: a child runs the same program
 *        |-- nginx[813]
 *        '-- nginx[814]
 *      dpm-supervisor[900]   DPM's own, with the server below it
 *        '-- nats-server[901]
 */
#ifndef DPM_PROCESS_TREE_H
#define DPM_PROCESS_TREE_H

#include "base/base.h"

#include <sys/types.h>

/* The file of a program. All zero: unknown. */
struct program_file {
    dev_t device;
    ino_t inode;
};

struct tree_process {
    pid_t pid;
    pid_t parent;
    struct program_file file;
    char program[64]; /* the file's name; "": unknown */
    char name[17];    /* as ps(1) shows it */
};

/* All zero: empty. */
struct process_tree {
    struct tree_process *list; /* by pid, ascending */
    size_t count, room;
    pid_t self;               /* our own process, which is not in the list */
    struct program_file file; /* our program */
};

/* Reads all processes except our own. A process that was created by one that has ended is a child of whichever took it
 * over, mostly process 1. Returns 0 or a negative errno with a line in `problem`. */
int process_tree_read(struct process_tree *tree, struct problem *problem);
void process_tree_done(struct process_tree *tree);

/* Whether a child runs the same program, as the workers of a server do. Not process 1, shells and what starts sessions,
 * terminals or services: below them is what others have started. */
bool process_tree_is_master(const struct process_tree *tree, pid_t pid);

/* Adds the processes of DPM that work for a recording, so that they are not metered: servers of sessions with their
 * supervisors, remote shells that a dpm has started, and those in which process `front` runs (0: none), up to the dpm that
 * started them or what accepts them. Returns 0 or -ENOMEM. */
int process_tree_own(const struct process_tree *tree, pid_t front, struct intern *ret_pids);

enum process_below {
    BELOW_NONE,
    BELOW_MASTERS,
    BELOW_ALL,
};

/* Adds the descendants of the processes in `pids`, or of the masters among them. Without those in `pids` and in `own`, and
 * without what runs our program. Returns 0 or -ENOMEM. */
int process_tree_below(const struct process_tree *tree, const struct intern *pids,
                       enum process_below which, const struct intern *own, struct intern *ret_pids);

/* The nearest ancestor of a process in a set; 0: there is none. */
pid_t process_tree_ancestor(const struct process_tree *tree, pid_t pid, const struct intern *pids);

/* Whether it was created by this process itself. */
bool process_tree_is_child(const struct process_tree *tree, pid_t pid, pid_t parent);

#endif
