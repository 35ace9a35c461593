/* SPDX-License-Identifier: MIT */
/*
 * process_choice.h: selects running processes by pid, name, cgroup or systemd unit.
 */
#ifndef DPM_PROCESS_CHOICE_H
#define DPM_PROCESS_CHOICE_H

#include "base/base.h"

#include <sys/types.h>

enum chosen_by {
    CHOSEN_BY_NAME,   /* of the program's file, or as ps(1) shows it */
    CHOSEN_BY_CGROUP, /* "/system.slice", relative to the cgroup mount; with all below it */
    CHOSEN_BY_UNIT,   /* "redis.service": any folder of that name in the cgroup's path */
};

struct chosen_word {
    enum chosen_by by;
    char *text;
    bool fits; /* it matched a process */
};

struct process_choice {
    pid_t *pids; /* of processes */
    size_t pid_count;
    size_t pid_capacity;
    struct chosen_word *words;
    size_t word_count;
    size_t word_capacity;
};

void process_choice_done(struct process_choice *choice);

/* Each returns 0, or a negative errno with a line in `problem`: -EINVAL, -ESRCH (no process has this pid), -ENOMEM. A
 * thread's id stands for its process. A unit without a type is a service. An alias stands for the unit it is a link
 * to. */
int process_choice_pid(struct process_choice *choice, const char *text, struct problem *problem);
int process_choice_name(struct process_choice *choice, const char *name, struct problem *problem);
int process_choice_cgroup(struct process_choice *choice, const char *path, struct problem *problem);
int process_choice_unit(struct process_choice *choice, const char *unit, struct problem *problem);

/* Calls `found` for each chosen process that exists now, except our own. Stops if it returns a negative errno. Returns
 * that, 0, or the error of reading /proc with a line in `problem`. */
int process_choice_find(struct process_choice *choice, int (*found)(pid_t pid, void *context),
                        void *context, struct problem *problem);

/* Whether the process was chosen by its pid. */
bool process_choice_has_pid(const struct process_choice *choice, pid_t pid);

/* Whether any word has matched no process so far. If so, a line in `problem` lists these words. */
bool process_choice_misses(const struct process_choice *choice, struct problem *problem);

#endif
