/* SPDX-License-Identifier: MIT */
/*
 * process_choice.h: which running processes a command speaks of: by pid, name, cgroup, systemd unit,
 * or all. Private to control/.
 */
#ifndef DPM_PROCESS_CHOICE_H
#define DPM_PROCESS_CHOICE_H

#include "control/command.h"

#include <sys/types.h>

struct process_choice {
    pid_t *pids; /* of processes */
    size_t pid_count;
    size_t pid_capacity;
    const char **names; /* of the program's file, or as ps(1) shows it */
    size_t name_count;
    size_t name_capacity;
    const char **cgroups; /* "/system.slice", below the cgroup mount: all in it and below it */
    size_t cgroup_count;
    size_t cgroup_capacity;
    char **units; /* owned; "redis.service": a folder of that name on the way to the cgroup */
    size_t unit_count;
    size_t unit_capacity;
};

void process_choice_done(struct process_choice *choice);

/* Each of these returns 0, or a negative errno with a line in `problem`: -EINVAL, -ESRCH (no process
 * has this pid), -ENOMEM. Names and cgroups are not copied, and must live as long; units are. A thread's id
 * stands for its process. A unit without a type is a service; one that is another's alias stands for that. */
int process_choice_pid(struct process_choice *choice, const char *text, struct problem *problem);
int process_choice_name(struct process_choice *choice, const char *name, struct problem *problem);
int process_choice_cgroup(struct process_choice *choice, const char *path, struct problem *problem);
int process_choice_unit(struct process_choice *choice, const char *unit, struct problem *problem);

/* Calls `found` for each chosen process that is there now, but not for our own. Stops when it
 * returns a negative errno. Returns that, 0, or the error of reading /proc with a line in `problem`. */
int process_choice_find(const struct process_choice *choice, int (*found)(pid_t pid, void *context),
                        void *context, struct problem *problem);

#endif
