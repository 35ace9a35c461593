/* SPDX-License-Identifier: MIT */
/* resident_private.h: shared by the files of the resident monitor. Private to monitor/. */
#ifndef DPM_RESIDENT_PRIVATE_H
#define DPM_RESIDENT_PRIVATE_H

#include "monitor/resident.h"

#define SCAN_LEAST      5000000u    /* ns between two at least */
#define SCAN_EVERY      250000000u  /* ns between two looks for instances */
#define SCAN_SOON       10000000u   /* while the monitor is young, or a program is beginning */
#define SCAN_SOON_UNTIL 1000000000u /* ns */
#define WALL_TRIES      5           /* to read two clocks at once ... */
#define WALL_APART      20000u      /* ... which takes this many ns */
#define WALL_DOUBT      100000u     /* ns: two readings may differ by so much */
#define LOST_EACH       500000000u  /* ns between two notes of what was lost */
#define BEGUN_FOR       2000000000u /* ns */
#define SETTLES         1000000u    /* ns: a record may come so late after its time */

/* One instance of a row. */
struct part {
    struct share *share;
    uint32_t entity;
    pid_t pid; /* 0: it is not here */
    const struct collector *collector;
    struct collection *collection; /* NULL: it cannot be collected */
    struct collected_how how;
    bool on;
    bool was_on;     /* once, of this collection */
    uint64_t since;  /* CLOCK_MONOTONIC: when it was switched on */
    bool armed;      /* VIEW_PROBED: is watched */
    uint32_t probe;  /* ... as was asked for with this number */
    bool asked;      /* the next values are an answer */
    bool first;      /* the next values are passed on whatever they are */
    uint64_t period; /* ns between two reads; 0: none */
    uint64_t sample; /* when to read next */
    struct view_filter filter;
    uint64_t last_time;     /* CLOCK_MONOTONIC: of what was handed over last; 0: nothing */
    uint64_t last_wall;     /* ... as it was handed over */
    struct view_kept *last; /* by reference: handed over last */
    bool has_last;
    /* what is read periodically: see resident_readings.c */
    struct view_kept *reading; /* by reference; waits for records of earlier times */
    uint64_t reading_time;
    bool waits;
    uint64_t
        known; /* CLOCK_MONOTONIC: of the last reading that was handed over, or was no different; 0: none */
    bool unclear;    /* it was handed over as unknown, since it was read too late */
    uint64_t handed; /* values, to the central monitor */
    struct {
        uint64_t time; /* CLOCK_MONOTONIC; 0: nothing was counted yet */
        uint64_t handed;
        struct collected_counts counts;
        struct row_rate told;
    } rated;
};

struct share {
    struct resident *resident;
    uint32_t row, view;
    struct view_plan plan;
    struct view_monitor *monitor; /* if the predicate is evaluated here */
    struct part parts[VIEW_ENTITIES_MOST];
};

/* A process that has begun a short time ago, and may become an instance. */
struct begun {
    pid_t pid;
    uint64_t time; /* CLOCK_MONOTONIC, ns; 0: that was not heard yet */
    bool seen;     /* it became an instance, or is none */
    uint64_t on;   /* when its first sensor was on; 0: not yet */
    bool covered;  /* sensors that stand see all that it does */
    bool read;     /* a view that cannot trace it could read it */
    char name[16];
    struct file_identity file;
};

#define BEGUN_MOST 256

struct resident {
    struct resident_options options;
    struct resident_calls calls;
    struct collector collectors[RESIDENT_COLLECTORS];
    struct view_conditions *conditions; /* of each view */
    bool *off;                          /* by view: switched off */
    struct instances *instances;
    struct share **shares; /* by row; NULL: none here */
    size_t share_capacity;
    int epoll;
    uint64_t begun, scan, scanned, next;
    uint64_t until;    /* CLOCK_MONOTONIC: up to when collectors have handed over all */
    int64_t wall;      /* what turns CLOCK_MONOTONIC into the wall clock */
    uint64_t set_back; /* how often the wall clock was */
    uint64_t filtered, reads, unread;
    struct begun begun_list[BEGUN_MOST]; /* a ring */
    size_t begun_first, begun_count;
    uint64_t late_starts, latest_start, unseen;
    uint64_t unseen_noted;
    pid_t *gone; /* have ended, or execute another program */
    size_t gone_count, gone_capacity;
    uint64_t lost;    /* records of sensors that were noted as lost */
    uint64_t lost_at; /* CLOCK_MONOTONIC: when that was noted */
    bool refused;     /* said that there are too many instances */
    bool waiting;     /* a reading waits */
};

static inline const struct view *resident_view(const struct share *share)
{
    return &share->resident->options.file->views[share->view];
}

/* resident.c: the share of a row; NULL: there is none here. */
struct share *resident_share(const struct resident *resident, uint32_t row);
void resident_note(struct resident *resident, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* resident_begun.c: NULL: it has not begun of late. */
struct begun *begun_find(struct resident *resident, pid_t pid);
void begun_heard(void *context, const struct collected_beginning *beginning);

/* Its sensors are on; `since`: sensors that stand have been since then; 0: its own, now. */
void begun_sensed(struct resident *resident, pid_t pid, uint64_t since);

/* Whether a view speaks of the only process of a program. */
bool begun_wants_only(const struct resident *resident);

/* Those that have ended before they were found; others are kept for as long as finding one takes. Returns whether one appears
 * that may be the only one: what has been found lives after it, and appears with the next look. */
bool begun_look(struct resident *resident, uint64_t now);

/* Up to when all of what collectors have was handed over at most: what has begun later has records that wait until its sensors are on.
 * `now`: if there is none. May take records from the ring. */
uint64_t begun_until(const struct resident *resident, uint64_t now);

/* Whether one has ended whose records wait. */
bool begun_waits(const struct resident *resident);

/* resident_parts.c: what its collector calls. */
void part_values_came(void *context, uint64_t time, const struct view_value *values);

/* Hands over what differs from before. */
void part_take(struct part *part, uint64_t time, const struct view_value *values);
/* Hands it over. */
void part_take_unknown(struct part *part, uint64_t time);

/* The instance has no values any more. */
void part_forget(struct part *part);

/* Whether it is to be collected now. */
bool part_is_wanted(const struct part *part);
void part_read(struct part *part);
void part_switch_on(struct part *part);
void part_switch_off(struct part *part);

/* Reads periodically from now on. `why`: what was wished for is not possible; "": this is what the plan says. */
void part_sample_instead(struct part *part, const char *why);

/* resident_readings.c: keeps what was read, until records of earlier times have come. */
void reading_wait(struct part *part, uint64_t time, const struct view_value *values);
void reading_forget(struct part *part);
/* Before values of another part of the share are handed over, which are of this time. */
void readings_before(struct part *part, uint64_t time);
/* All records of earlier times have come. */
void readings_take(struct resident *resident);

/* STEP_PROBE, STEP_RELEASE, STEP_READ, STEP_TURN, and STEP_CONSTANT once the constant has changed. */
void part_probe(struct part *part, uint32_t number);
void part_release(struct part *part);
void part_answer(struct part *part);
void resident_turn(struct resident *resident, uint32_t view, bool on);
void resident_constants_changed(struct resident *resident, uint32_t view);

#endif
