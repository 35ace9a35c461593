/* SPDX-License-Identifier: MIT */
/*
 * instances.h: which processes are instances of an object, and what else is one. Private to monitor/.
 *
 *      object QueueManager --its own name, or --object QueueManager=queued,4711--> programs, process ids
 *                                                                                        | /proc
 *      appeared: QueueManager, process 812, "queued"     ended: QueueManager, process 812 <'
 *
 * Of DPM's own objects, instances of `process` are all processes with a program, if no others are named; `machine` has
 * one, number 1; a `subnet` has a number made of its name.
 */
#ifndef DPM_INSTANCES_H
#define DPM_INSTANCES_H

#include "base/mapping.h"
#include "view/view.h"

#include <sys/types.h>

struct instances;

#define INSTANCES_MOST 1000 /* that live at one time */

struct instance_seen {
    const char *object;
    pid_t pid;           /* or the number of what is no process */
    const char *program; /* the process' name; of a subnet, "10.0.3.0/24" */
};

struct instances_calls {
    void *context;
    void (*appeared)(void *context, const struct instance_seen *seen);
    void (*ended)(void *context, const struct instance_seen *seen);
};

/* NULL: out of memory. */
struct instances *instances_new(const struct instances_calls *calls);
void instances_free(struct instances *instances);

/* The number of an object, which is added if it is new: a process whose name is `name` is an instance, if it is none of
 * DPM's own. Returns it or -ENOMEM. */
int instances_object(struct instances *instances, const char *name, enum view_builtin builtin);

/* "QueueManager=queued,/opt/q/worker,4711": instances of an object are processes of the program `queued`, those that execute
 * this file, and process 4711. Returns 0, or
 * -EINVAL or -ENOMEM with a line in `problem`. */
int instances_define(struct instances *instances, const char *text, struct problem *problem);

/* Looks into /proc, and calls `ended`. A process that has begun another program since has ended. `only`: looks again at each
 * one if there are new ones, since two that live one after another may both be seen by one look. Returns 0 or a negative errno
 * with a line in `problem`. */
int instances_look(struct instances *instances, bool only, struct problem *problem);

/* Calls `appeared` for what the last look has found, in the order in which the processes were started. Without it, the next look
 * finds them again. Errors: as instances_look. */
int instances_appear(struct instances *instances, struct problem *problem);

/* Whether the last look left out a process that was just beginning a program: the next look will find it. */
bool instances_beginning(const struct instances *instances);

/* The process executes its program anew: the next look makes it a new instance. */
void instances_forget(struct instances *instances, pid_t pid);

/* A process that has ended before it was found, but of which something is known: it appears, until the next look. As
 * instances_may_begin. */
void instances_insert(struct instances *instances, pid_t pid, const char *comm,
                      const struct file_identity *file);

/* Program number `index` of an object, if it is a path; NULL: it is none, or there is none. `ret_more`: whether there may be
 * others. */
const char *instances_path(const struct instances *instances, const char *object, size_t index,
                           bool *ret_more);

/* Whether it is an instance, or was found by the last look. */
bool instances_lives(const struct instances *instances, pid_t pid);

/* Whether there is an instance of an object of which this process, as instances_may_begin, would be one. */
bool instances_has_other(const struct instances *instances, const char *comm,
                         const struct file_identity *file);

/* Whether a process that begins to execute a file (inode 0: not known) under this name would be an instance, as far as these tell. */
bool instances_may_begin(const struct instances *instances, const char *comm,
                         const struct file_identity *file);

/* How many did not become instances at the last look: there were too many. */
uint64_t instances_refused(const struct instances *instances);

#endif
