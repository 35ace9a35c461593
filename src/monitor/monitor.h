/* SPDX-License-Identifier: MIT */
/*
 * monitor.h: carries out views over a running program (Ogle, Schwan, Snodgrass 1993, sections II and IV): finds the
 * instances of objects, plans, collects what the plans say, evaluates, and notifies.
 *
 *      program    sensors, probes -------> resident monitor: one on each machine; filters, evaluates what is local
 *                                                |  values for which a condition is true      ^ probe, release
 *                                                v                                            |
 *      user, adaptation <--notifications-- central monitor: instances, rows of views, plans, the model
 *
 * The program is only read. If the monitor ends, by any means, its sensors are gone with it.
 */
#ifndef DPM_MONITOR_H
#define DPM_MONITOR_H

#include "view/planner.h"
#include "view/watching.h"

#include <sys/types.h>

#define MONITOR_ROWS_MOST 10000 /* of all views together */

/* ns: a wall clock that goes back by more was set. By less, values keep the latest time until it is passed again. */
#define MONITOR_CLOCK_STEP 10000000

/* What was delivered to a receiver. */
struct monitor_notified {
    const char *name; /* "operator@example.org port 119" */
    uint64_t queued;
    uint64_t sent;    /* handed to the receiver's connection, or to a command that was started */
    uint64_t late;    /* of these, after WITHIN */
    uint64_t latest;  /* ns: by how much, at most */
    uint64_t dropped; /* the receiver was too slow or not there */
    uint64_t failed;  /* attempts to connect; commands that failed */
    uint64_t waiting;
};

/* What carrying out views has taken. */
struct monitor_counts {
    uint64_t hits;         /* a program was at a place with a sensor that was on */
    uint64_t records;      /* that sensors made */
    uint64_t refused;      /* by conditions in sensors */
    uint64_t lost;         /* records for which there was no space */
    uint64_t reads;        /* values that were read: probes and samples */
    uint64_t unread;       /* attempts that failed, though the process lives */
    uint64_t filtered;     /* records that resident monitors did not pass on */
    uint64_t late_starts;  /* instances that were running before their sensors were on */
    uint64_t latest_start; /* ns: for how long, at most */
    uint64_t unseen;       /* processes of objects that ended before they were seen */
    uint64_t unsent;       /* values that did not get to the central monitor */
    uint64_t passed;       /* records that came to the central monitor */
    uint64_t requests;     /* of the central monitor to resident monitors */
};

struct monitor_options {
    const struct view_file *file;
    const char *file_name; /* for errors */
    const struct view_costs
        *costs; /* what messages cost; its places are those of instances that are not there yet */
    const char *machine;                /* name of this machine */
    uint64_t every;                     /* ns: how often values are read that cannot be traced */
    const struct collector *collectors; /* collector.h; taken over, even if monitor_new fails */
    size_t collector_count; /* 0: nothing is collected on this machine, only on others */
};

struct collector;

struct monitor_calls {
    void *context;
    /* A row has become active, has other values, or has become inactive. `time`: wall clock, ns. */
    void (*changed)(void *context, const struct view_change *change);
    void (*note)(void *context, const char *line); /* for the user */
    /* Of central_read; may be NULL. */
    void (*answered)(void *context, uint64_t question, const struct view_value *value,
                     uint64_t time);
};

struct monitor;
struct central;

/* Whether the views of a file can be carried out: returns 0, or with a line in `problem` -EINVAL: a view speaks of an object or
 * attribute that is not defined; -ELIBACC: it notifies a subject of NATS, without libnats. */
int monitor_check(const struct monitor_options *options, struct problem *problem);

/* Everything the options point to must outlive the monitor. Returns 0 or a negative errno with a line in `problem`;
 * it checks as monitor_check. */
int monitor_new(const struct monitor_options *options, const struct monitor_calls *calls,
                struct monitor **ret_monitor, struct problem *problem);

/* Sensors end, too. NULL is allowed. */
void monitor_free(struct monitor *monitor);

/* The central monitor, to add resident monitors of other machines (central.h). */
struct central *monitor_central(struct monitor *monitor);

/* Begins, when all resident monitors and objects are there. */
int monitor_begin(struct monitor *monitor, struct problem *problem);

/* "NAME=PID|PROGRAM,...": which processes are instances of an object. Without it, those with the object's name. */
int monitor_object(struct monitor *monitor, const char *text, struct problem *problem);

/* Call monitor_work when the descriptor is readable, and at monitor_next (CLOCK_MONOTONIC, ns) at the latest. */
int monitor_descriptor(const struct monitor *monitor);
uint64_t monitor_next(const struct monitor *monitor);
int monitor_work(struct monitor *monitor, struct problem *problem);

/* Evaluates what still waits, and sends the notifications that wait, for at most so long (ns). */
void monitor_finish(struct monitor *monitor, uint64_t most);

/* The same after monitor_finish, for what has been notified since: evaluates nothing any more. */
void monitor_send(struct monitor *monitor, uint64_t most);

struct view_model *monitor_model(struct monitor *monitor);
void monitor_count(const struct monitor *monitor, struct monitor_counts *ret_counts);

/* Whether it has a resident monitor of this machine, so that what sensors and reads count is in monitor_count. */
bool monitor_collects(const struct monitor *monitor);

/* Receiver number 0, 1 ...; false: there is none. */
bool monitor_notified(const struct monitor *monitor, size_t receiver,
                      struct monitor_notified *ret_notified);

/* What was notified of this view; it has no name. */
const struct monitor_notified *monitor_notified_of(const struct monitor *monitor, size_t view);

/* The plan of a view that was chosen last; NULL: none yet, it has no instance. */
const struct view_plan *monitor_plan(const struct monitor *monitor, size_t view);

#endif
