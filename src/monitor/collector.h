/* SPDX-License-Identifier: MIT */
/*
 * collector.h: what a resident monitor collects values with: sensors and probes (collector_sensors.c), figures of the
 * last interval (collector_system.c), or in tests a double.
 *
 *      wish: QueueManager, process 812, traced, with its condition
 *        | open
 *        v
 *      collection --values(time)--> resident monitor        read: the values now
 */
#ifndef DPM_COLLECTOR_H
#define DPM_COLLECTOR_H

#include "base/mapping.h"
#include "monitor/monitor.h"

#include <sys/types.h>

/* The values of one instance for one row of a view. */
struct collect_wish {
    const struct view_file *file;
    const char *file_name;                    /* for errors; may be NULL */
    const struct view_conditions *conditions; /* of the view */
    uint32_t entity;
    pid_t pid;
    bool traced; /* each change, while it is on; else only what is read */
    bool filter; /* the sensor is to evaluate the instance's conditions */
    bool prompt; /* wake the monitor for each record */
    bool
        standing; /* it is traced for as long as it lives: so processes can be sensed before they are found */
};

/* What has come of a wish. */
struct collected_how {
    bool traced;   /* false: only by reading */
    bool filtered; /* the sensor evaluates the conditions */
    bool
        ended; /* its process ended before it was found: there is nothing but records that waited */
    uint64_t
        since; /* CLOCK_MONOTONIC: its process was sensed from then on, or its first instruction; 0: since it is on */
    char why[256]; /* if not as wished; "": as wished */
};

/* Since it was opened. */
struct collected_counts {
    uint64_t changes; /* of its values, while it was on */
    uint64_t records; /* handed over */
    uint64_t lost;
    bool sensor_passes; /* the sensors cannot evaluate its conditions */
};

struct collection; /* belongs to its collector */

/* Values of a collection, by reference of the view: those of its instance. `time`: CLOCK_MONOTONIC, ns. May call
 * everything except `close`. */
typedef void collect_values(void *context, uint64_t time, const struct view_value *values);
typedef void collect_ended(void *context, pid_t pid); /* it has ended or executes another program */

/* A process has begun, or a program in it. */
struct collected_beginning {
    pid_t pid;
    const char *name;
    struct file_identity file; /* that it executes */
    uint64_t time;             /* CLOCK_MONOTONIC, ns */
    bool covered;              /* sensors that stand see all that it does */
};
typedef void collect_begun(void *context, const struct collected_beginning *beginning);

struct collector {
    void *self;

    /* `begun`: NULL if it is not needed. It is called only where the kernel reports which processes begin. */
    void (*listen)(void *self, collect_ended *ended, collect_begun *begun, void *context);
    /* Whether this collector knows the attributes of an entity. */
    bool (*has)(void *self, const struct view_file *file, const struct view_entity *entity);
    /* Opens a collection, which is off. If it is filtered, the first values after it was switched on, or refiltered,
     * always pass: what was read just before may be true. Returns 0, or a negative errno with a line in `problem`. */
    int (*open)(void *self, const struct collect_wish *wish, collect_values *values, void *context,
                struct collection **ret_collection, struct collected_how *ret_how,
                struct problem *problem);
    void (*close)(void *self, struct collection *collection);
    int (*turn)(void *self, struct collection *collection, bool on, struct problem *problem);
    /* Hands over the values now. Returns 0, or -ENOTSUP: they cannot be read, or another negative errno. */
    int (*read)(void *self, struct collection *collection);
    /* Conditions have changed: those of wishes with `filter`. A negative errno, with a line in `problem` or none: the sensor cannot
     * evaluate them, and passes all from now on. */
    int (*refilter)(void *self, struct collection *collection, struct problem *problem);
    /* Readable when `work` has something to do; -1: never. */
    int (*descriptor)(void *self);
    /* Returns whether there is more to do. */
    bool (*work)(void *self);
    /* Adds to the counts. */
    void (*count)(void *self, struct monitor_counts *counts);
    void (*free)(void *self);
    /* The next five may be NULL. Sensors for the wish in all processes that execute this file, before there is one; its pid is 0.
     * Returns 0, or a negative errno: there are none. -EINVAL, with a line in `problem`: the file has no such place or
     * value. */
    int (*expect)(void *self, const struct collect_wish *wish, const char *path,
                  struct problem *problem);
    /* Whether records of this process wait for a collection. */
    bool (*holds)(void *self, pid_t pid);
    /* Hands over what has come of its process so far, which has ended or will be collected no more. */
    void (*finish)(void *self, struct collection *collection);
    /* CLOCK_MONOTONIC: when the oldest record was made that waits for one; 0: there is none. */
    uint64_t (*oldest)(void *self);
    /* Sensors that stand for a view are switched off, or on again. */
    void (*rest)(void *self, const struct view_conditions *conditions, bool off);
    /* What one collection has counted. Returns false if it counts nothing. NULL: none does. */
    bool (*counted)(void *self, const struct collection *collection,
                    struct collected_counts *ret_counts);
};

/* Frees collectors that nothing has taken over. */
static inline void collectors_free(const struct collector *collectors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        collectors[i].free(collectors[i].self);
}

/* Each returns 0, or a negative errno with a line in `problem`. */
int collector_sensors_new(struct collector *ret_collector, struct problem *problem);
/* Figures of DPM's own objects, at the end of each interval (ns), which all of them share. `machine`: what this one is
 * called; copied. */
int collector_system_new(const char *machine, uint64_t interval, struct collector *ret_collector,
                         struct problem *problem);

#define RESIDENT_COLLECTORS 2

/* Both of a resident monitor. */
static inline int collectors_new(const char *machine, uint64_t interval,
                                 struct collector collectors[RESIDENT_COLLECTORS],
                                 struct problem *problem)
{
    int result = collector_sensors_new(&collectors[0], problem);

    if (result == 0 &&
        (result = collector_system_new(machine, interval, &collectors[1], problem)) < 0)
        collectors_free(collectors, 1);
    return result;
}

#endif
