/* SPDX-License-Identifier: MIT */
/* collector_sensors.h: shared by the files about values of sensors and probes. Private to monitor/. */
#ifndef DPM_COLLECTOR_SENSORS_H
#define DPM_COLLECTOR_SENSORS_H

#include "base/mapping.h"
#include "monitor/collector.h"
#include "sensor/sensor.h"

/* A running program, for all collections of its process; or a file, for one that stands. */
struct program {
    struct sensor_program *opened;
    pid_t pid; /* 0: a file */
    unsigned used;
};

#define TAKERS 256 /* chains, by process id */

/*
 * A collection of a process has sensors of its own, or takes the records of one that stands: by the file, for all
 * processes that execute it, so that a process is known to it from the first instruction on.
 */
struct collection {
    struct collect_wish wish;
    bool sensor_passes; /* its conditions cannot be evaluated by its sensors */
    collect_values *values;
    void *context;
    struct program *program; /* NULL: it stands, and the process ended before it was found */
    struct sensor *sensors[VIEW_REFERENCES_MOST];
    size_t sensor_count;
    struct {
        uint32_t reference; /* of the view */
        const struct view_attribute *attribute;
        struct sensor_probe *probe; /* NULL: cannot be read, only sensed */
    } list[SENSOR_VALUES_MOST];
    size_t count;
    bool on;
    bool ended;                  /* its process, before it was found */
    bool starting;               /* on, but what waits for it has not been handed over */
    struct collection *standing; /* whose records it takes; NULL: its own */
    struct collection *next;     /* taker, in a chain of that */
    bool watched;                /* the end of its process is reported, without a sensor */
    /* of one that stands */
    struct file_identity file;
    char name[16];  /* of its program */
    uint64_t since; /* CLOCK_MONOTONIC: when it was on */
    bool failed;    /* it cannot: each process has its own */
    bool unfiltered;
    struct collection *takers[TAKERS];
};

/* Records that wait for a collection, or for their turn. */
struct records {
    struct sensor_record *list;
    size_t count, capacity;
};

#define HELD_MOST 4096        /* records of processes that are not found yet */
#define HELD_FOR  2000000000u /* ns */

struct sensing {
    collect_ended *ended;
    collect_begun *begun;
    void *ended_context;
    struct sensors *sensors; /* NULL: not possible here, see `problem` */
    struct problem problem;
    struct program **programs;
    size_t program_count, program_capacity;
    struct sensed {
        struct collection *collection;
        const struct sensor *sensor;
        uint64_t lost; /* records, up to now */
    } by_number[SENSORS_MOST];
    struct sensor_counts closed; /* of sensors that are gone */
    struct collection **standing;
    size_t standing_count, standing_capacity;
    struct records held;  /* of processes that have no collection yet */
    struct records queue; /* were taken from the ring before their turn */
    uint64_t unheld;      /* records that were dropped: too many waited */
    bool muted;           /* some process */
};

/* collector_sensors.c */
bool sensing_has_own_pids(void);
int collection_fill_list(struct collection *collection, struct problem *problem);
int collection_add_sensors(struct sensing *sensing, struct collection *collection,
                           struct problem *problem);
void collection_remove_sensors(struct sensing *sensing, struct collection *collection);
const struct view_object *collection_object(const struct collect_wish *wish);
/* Hands over the values of a record of its sensor, or of the one that stands. */
void collection_deliver(const struct collection *collection, const struct sensor *sensor,
                        const struct sensor_record *record);

/* collector_standing.c: finds or makes the one that stands for a wish. `path` of its program: NULL: the file that the process
 * of the wish executes. NULL: there can be none; if the file has no such place or value, `problem` has a line. */
struct collection *standing_for(struct sensing *sensing, const struct collect_wish *wish,
                                const char *path, struct problem *problem);
void standing_free_all(struct sensing *sensing);

/* The records of its process that wait, in order; the caller frees the list. */
void standing_take(struct sensing *sensing, const struct collection *collection,
                   struct records *ret_records);
void standing_leave(struct collection *collection);

/* The collection of a process that takes the records; NULL: none, or it is off. */
struct collection *standing_taker(const struct collection *standing, pid_t pid);

/* A record that nothing takes. */
void standing_hold(struct sensing *sensing, const struct sensor_record *record);

/* Drops what has waited for too long. */
void standing_expire(struct sensing *sensing);

/* Whether records of this process wait. */
bool standing_holds(void *self, pid_t pid);
uint64_t standing_oldest(void *self);

/* If all is seen that a process does at places which has begun to execute this file at this time: the name of the program; else
 * NULL. */
const char *standing_covers(const struct sensing *sensing, const struct file_identity *file,
                            uint64_t time);

/* struct collector */
int standing_expect(void *self, const struct collect_wish *wish, const char *path,
                    struct problem *problem);
void standing_rest(void *self, const struct view_conditions *conditions, bool off);

#endif
