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
#include "monitor/wire.h"

struct resident;

struct resident_calls {
    void *context;
    /* Values of an instance, by reference of the view, for the central monitor. `probe`: number of the one that they answer. */
    void (*record)(void *context, uint32_t row, uint32_t entity, uint64_t time, uint32_t probe,
                   const struct view_value *values);
    /* What the plan has evaluated here. As in struct view_monitor_calls. */
    void (*changed)(void *context, uint32_t row, bool active, bool edge, uint64_t time,
                    const struct view_value *targets);
    /* What STEP_READ has read. `values` NULL: the row is not open, so all are unknown. */
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

/* As instances_define. Programs that are paths are sensed from now on, if that is possible, before a process of them begins. */
int resident_define(struct resident *resident, const char *text, struct problem *problem);

/* Does a step. Numbers of rows that differ by a multiple of MONITOR_ROWS_MOST take the same place, one after the other: so what
 * still comes of an earlier one is not taken for the later one's. The plan is copied. What cannot be collected is a note; of an
 * entity that is not bound any more values are unknown. Values that are read are handed to `answer`, all unknown if they cannot
 * be read; the row does not see them. Returns 0 or a negative errno with a line in `problem`; -EINVAL: the row is not open, or
 * has no such entity. */
int resident_step(struct resident *resident, const struct row_step *step, struct problem *problem);

/* The view of a row; -ENOENT: it is not open. */
int64_t resident_view_of(const struct resident *resident, uint32_t row);

/* Before the end: what processes did that have ended and were not found yet is handed over. */
void resident_finish(struct resident *resident);

/* All values up to this time (wall clock) were handed over, as far as they were recorded at all. */
uint64_t resident_until(const struct resident *resident);

/* How often the wall clock was set back, so that values have earlier times than others before them. */
uint64_t resident_set_back(const struct resident *resident);

/* Whether the central monitor evaluates something with values from here. */
bool resident_feeds(const struct resident *resident);

/* Reads all values that are collected now, since some that were handed over are lost. */
void resident_refresh(struct resident *resident);

int resident_descriptor(const struct resident *resident);
uint64_t resident_next(const struct resident *resident);
int resident_work(struct resident *resident, struct problem *problem);

/* Calls `told` with the rates that have changed since it was called last, of the time since then: call it about once a second. */
typedef void resident_told_rate(void *context, uint32_t row, uint32_t entity,
                                const struct row_rate *rate);
void resident_rates(struct resident *resident, resident_told_rate *told, void *context);

void resident_count(const struct resident *resident, struct monitor_counts *counts);

#endif
