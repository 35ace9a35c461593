/* SPDX-License-Identifier: MIT */
/*
 * instances.h: which processes are instances of an object. Private to monitor/.
 *
 *      object QueueManager --its own name, or --object QueueManager=queued,4711--> programs, process ids
 *                                                                                        | /proc
 *      appeared: QueueManager, process 812, "queued"     ended: QueueManager, process 812 <'
 */
#ifndef DPM_INSTANCES_H
#define DPM_INSTANCES_H

#include "view/view.h"

#include <sys/types.h>

struct instances;

#define INSTANCES_MOST 1000 /* that live at one time */

struct instance_seen {
    const char *object;
    pid_t pid;
    const char *program; /* the process' name */
};

struct instances_calls {
    void *context;
    void (*appeared)(void *context, const struct instance_seen *seen);
    void (*ended)(void *context, const struct instance_seen *seen);
};

/* NULL: out of memory. */
struct instances *instances_new(const struct instances_calls *calls);
void instances_free(struct instances *instances);

/* The number of an object, which is added if it is new: a process whose name is `name` is an instance. Returns it or
 * -ENOMEM. */
int instances_object(struct instances *instances, const char *name);

/* "QueueManager=queued,4711": instances of an object are processes of the program `queued`, and process 4711. Returns 0, or
 * -EINVAL or -ENOMEM with a line in `problem`. */
int instances_define(struct instances *instances, const char *text, struct problem *problem);

/* Looks into /proc; calls `ended`, then `appeared` in the order in which the processes were started. A process that has
 * begun another program since has ended. Returns 0 or a negative errno with a line in `problem`. */
int instances_look(struct instances *instances, struct problem *problem);

/* The process executes its program anew: the next look makes it a new instance. */
void instances_forget(struct instances *instances, pid_t pid);

/* Processes that could not become instances: there are too many. */
uint64_t instances_refused(const struct instances *instances);

#endif
