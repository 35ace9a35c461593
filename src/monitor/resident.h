/* SPDX-License-Identifier: MIT */
/*
 * resident.h: the resident monitor: one on each machine. It looks for instances, switches their sensors, reads values, and
 * evaluates what the plan wants evaluated here. Private to monitor/.
 *
 *      row 7 of a view --share--> part: QueueManager[1], process 812 --> collection --> filter --> record
 *                                 part: QueueManager[2], elsewhere                  \-> view_monitor --> changed
 *
 * Times in calls are of the wall clock, in ns.
 */
#ifndef DPM_RESIDENT_H
#define DPM_RESIDENT_H

#include "monitor/collector.h"
#include "monitor/instances.h"

struct resident;

struct resident_calls {
    void *context;
    /* Values of an instance, by reference of the view, for the central monitor. */
    void (*record)(void *context, uint32_t row, uint32_t entity, uint64_t time,
                   const struct view_value *values);
    /* What the plan has evaluated here. As in struct view_monitor_calls. */
    void (*changed)(void *context, uint32_t row, bool active, bool edge, uint64_t time,
                    const struct view_value *targets);
    /* What resident_read has read. */
    void (*answer)(void *context, uint32_t row, uint32_t entity, uint64_t time,
                   const struct view_value *values);
    void (*appeared)(void *context, const struct instance_seen *seen);
    void (*ended)(void *context, const struct instance_seen *seen);
    void (*note)(void *context, const char *line);
};

struct resident_options {
    const struct view_file *file;
    const char *file_name;
    uint64_t every;                     /* ns between values that cannot be traced */
    const struct collector *collectors; /* taken over, even if resident_new fails */
    size_t collector_count;
};

int resident_new(const struct resident_options *options, const struct resident_calls *calls,
                 struct resident **ret_resident, struct problem *problem);
void resident_free(struct resident *resident);

struct instances *resident_instances(struct resident *resident);

/* Opens a share of a row. Numbers of rows that differ by a multiple of MONITOR_ROWS_MOST take the same place, one after
 * the other: so what still comes of an earlier one is not taken for the later one's. `plan` is copied. Returns 0 or a negative errno with a line in `problem`. */
int resident_open(struct resident *resident, uint32_t row, uint32_t view,
                  const struct view_plan *plan, struct problem *problem);
void resident_close(struct resident *resident, uint32_t row);

/* The view of a row; -ENOENT: it is not open. */
int64_t resident_view_of(const struct resident *resident, uint32_t row);

/* The process that an entity of the row is; and that it is none any more: its values are then unknown. What cannot be
 * collected is a note. */
void resident_bind(struct resident *resident, uint32_t row, uint32_t entity, pid_t pid);
void resident_unbind(struct resident *resident, uint32_t row, uint32_t entity);

/* As in struct view_monitor_calls, for a monitor elsewhere. */
void resident_probe(struct resident *resident, uint32_t row, uint32_t entity);
void resident_release(struct resident *resident, uint32_t row, uint32_t entity);

/* Reads the values of an instance now, on or off, and hands them to `answer`; all unknown if they cannot be read. The row
 * does not see them. */
void resident_read(struct resident *resident, uint32_t row, uint32_t entity);

/* Switches what a view collects. Off: its values become unknown. */
void resident_turn(struct resident *resident, uint32_t view, bool on);

/* Constants of a view's predicate have changed (view_constant). */
void resident_constants_changed(struct resident *resident, uint32_t view);

int resident_descriptor(const struct resident *resident);
uint64_t resident_next(const struct resident *resident);
int resident_work(struct resident *resident, struct problem *problem);

void resident_count(const struct resident *resident, struct monitor_counts *counts);

#endif
