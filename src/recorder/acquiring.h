/* SPDX-License-Identifier: MIT */
/*
 * acquiring.h: takes running processes into the metering: at the beginning, and later those that are chosen by name,
 * cgroup or unit and have started since.
 *
 *      choice --> pids (--> descendants of masters, or all) --> the meter: acquire, until a pass finds no new process --> begin
 *      each second: choice --> pids that were not there before --> acquire --> begin
 */
#ifndef DPM_ACQUIRING_H
#define DPM_ACQUIRING_H

#include "meter/shared/meter_interface.h"
#include "recorder/process_choice.h"
#include "recorder/process_tree.h"

struct acquiring {
    /* set by the caller: */
    struct process_choice *choice;
    bool all;   /* every process of the machine */
    bool waits; /* begins although nothing has the names yet */
    /* whose live descendants are taken, too */
    enum process_below below;
    pid_t front; /* the process whose remote shell is not metered; 0: there is none */
    /* Gets what the user should know, a line each. */
    void (*say)(const char *line, void *context);
    void *context;
    /* ours: */
    struct meter_interface *meter;
    struct problem *problem;
    struct process_tree tree;
    bool looked;           /* the tree is of this step */
    bool spared;           /* a chosen process is DPM's own */
    struct intern chosen;  /* pids */
    struct intern more;    /* pids of descendants, which are taken, too */
    struct intern metered; /* pids of these of which the meter took a thread */
    struct intern own;     /* pids of DPM's own processes, which are not */
    struct intern taken;   /* processes that the meter was asked to take: pid and start */
    struct intern fresh;   /* pids that were taken in this step */
    int marked;            /* streams, in this pass */
    uint32_t refused;      /* processes that the user may not meter, in this pass */
    uint32_t left;         /* the same that it was asked for the first time, in this step */
    uint64_t last;         /* when new processes were last looked for */
};

/* Takes all that are chosen, and begins. Says which words matched nothing, and which descendants are left out. Errors:
 * those of the meter and of reading /proc; -ESRCH: there is none, and it does not wait; each with a line in `problem`. */
int acquiring_begin(struct acquiring *acquiring, struct meter_interface *meter,
                    struct meter_begun *ret_begun, struct problem *problem);

#define ACQUIRED_TEXT_SIZE 256

/* After acquiring_begin: rounds begun->time up to a millisecond of the wall clock, and writes that: "14:03:07.123". */
#define SINCE_TEXT_SIZE 16
void acquiring_since(struct meter_begun *begun, char text[SINCE_TEXT_SIZE]);

/* After acquiring_begin. What was taken without having been named by pid: "nginx[812] and its 4 children, redis-server[900]"; "": nothing. */
void acquiring_text(const struct acquiring *acquiring, char text[ACQUIRED_TEXT_SIZE]);

/* Looks for processes that have started since, about once a second. Says which it takes. Returns 0, or a negative errno
 * with a line in `problem`: the meter can take no more. */
int acquiring_step(struct acquiring *acquiring, struct problem *problem);
void acquiring_done(struct acquiring *acquiring);

#endif
