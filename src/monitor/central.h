/* SPDX-License-Identifier: MIT */
/*
 * central.h: the central monitor: numbers instances, makes a row for each view (with [*], for each instance), plans it,
 * tells resident monitors what to do, evaluates what concerns several of them, and keeps the model.
 *
 *      appeared, ended ----> instances --resolve--> rows --plan--> open, bind, probe ... ----> resident monitors
 *      record, changed ----> rows --view_monitor--> active or not ----> model, changed, notifier
 *
 * All times are of the wall clock, in ns.
 */
#ifndef DPM_CENTRAL_H
#define DPM_CENTRAL_H

#include "monitor/monitor.h"
#include "monitor/wire.h"

struct central;

/* A resident monitor, as the central one sees it. Nothing here waits for an answer. */
struct central_link {
    void *self;
    const char *machine;
    /* Returns 0 or a negative errno with a line in `problem`; the error of a resident monitor elsewhere comes later, as a note. The
     * values of STEP_READ are answered by central_answer. */
    int (*step)(void *self, const struct row_step *step, struct problem *problem);
};

#define CENTRAL_LINKS_MOST 256

struct central_calls {
    void *context;
    void (*changed)(void *context, const struct view_change *change);
    void (*note)(void *context, const char *line);
    /* A view that notifies has become active. `flush`: how long, ns, its notification may wait. */
    void (*notify)(void *context, const struct view_change *change, uint64_t flush);
    /* What central_read asked for. `value`: of the attribute. */
    void (*answered)(void *context, uint64_t question, const struct view_value *value,
                     uint64_t time);
};

int central_new(const struct monitor_options *options, const struct central_calls *calls,
                struct central **ret_central, struct problem *problem);
void central_free(struct central *central);

/* Adds a resident monitor. Returns its number or -ENOMEM. */
int central_add_link(struct central *central, const struct central_link *link);

void central_answer(struct central *central, uint32_t row, uint32_t entity, uint64_t time,
                    const struct view_value *values, size_t count);

/* Changes while views are carried out. -ENOENT: there is no such view or constant. */
int central_turn(struct central *central, uint32_t view, bool on);
int central_constant(struct central *central, uint32_t view, uint32_t index, double value);

/* Reads an attribute of an instance now: `answered` gets it with `question`. Returns 0, or with a line in `problem` -ENOENT:
 * there is no such instance, or no view speaks of its attribute; -EBUSY: too many questions are open. */
int central_read(struct central *central, const struct view_entity *entity, const char *attribute,
                 uint64_t question, struct problem *problem);

/* What is known of a row. */
struct central_row_state {
    const char *name; /* of the instance that [*] stands for; "": the view has none */
    bool active;
    bool late; /* a machine is late: whether it is active is not known */
    /* its first values under a new plan, or after a clock was set, have not come: not known either */
    bool changing;
    /* an entity of the predicate without which it cannot be true, and which is not there; NULL: none */
    const struct view_entity *missing;
    const struct view_entity *several; /* ... which several instances could be; NULL: none */
    uint64_t since;                    /* when it became what it is */
    uint64_t times;                    /* how often it became active */
    uint64_t delay;                    /* ns from a value to its evaluation, at most so far */
    bool in_order;                     /* values of several machines are compared by their times */
    const struct view_value *values;   /* of the targets, while active */
};

/* Calls `each` for each row of a view that lives. */
void central_each_row(const struct central *central, uint32_t view,
                      void (*each)(void *context, const struct central_row_state *state),
                      void *context);

/* A machine that reports up to when it has said all. */
struct central_machine_state {
    const char *machine;
    bool late;
    uint64_t until;   /* up to when */
    uint64_t dropped; /* values, since it is late */
};

/* Number 0, 1 ... of CENTRAL_LINKS_MOST. Returns whether there is such a machine. */
bool central_machine(const struct central *central, size_t number,
                     struct central_machine_state *ret_state);

/* For how long the oldest of the values has waited that wait for those of other machines, ns; 0: none does. */
uint64_t central_behind(const struct central *central);

/* Of all rows of a view. */
struct central_measured_state {
    double changes;     /* per second, of all instances; 0: not measured */
    double load;        /* as in struct view_plan, of the row with the most */
    uint64_t replanned; /* how often rates have changed the plan of a row */
    const char *why;    /* the last time, or why it cannot be kept; "": never */
};

void central_measured(const struct central *central, uint32_t view,
                      struct central_measured_state *ret_state);

/* Whether some machine has lost records of sensors, as far as its rates say: values between them were not evaluated. */
bool central_has_lost(const struct central *central);

bool central_is_on(const struct central *central, uint32_t view);
const struct view_conditions *central_conditions(const struct central *central, uint32_t view);

/* A resident monitor is not there any more: its instances have ended, as far as one can see. */
void central_lost(struct central *central, int link);

/* It has begun anew: it gets the constants that were changed, and which views are off. Its instances appear again. */
void central_returned(struct central *central, int link);

/* Its clock was set, or ours: its values have other times than before. Rows that use them are unknown until all values have been read
 * anew. */
void central_clock_set(struct central *central, int link);

/* Makes the rows of views without [*]. Call it when all links that are there at the beginning have been added. */
int central_begin(struct central *central, struct problem *problem);

/* Says once, a second after the beginning, for which instances views still wait. Call it from time to time. */
void central_note_missing(struct central *central);

/* What resident monitors report. */
void central_appeared(struct central *central, int link, const char *object, pid_t pid,
                      const char *program);
void central_ended(struct central *central, int link, const char *object, pid_t pid);
/* `count`: of the values, or targets, if a row is active; what does not fit the row is ignored, as that of an earlier
 * plan of it. `probe`: as in view_monitor_record. */
void central_record(struct central *central, uint32_t row, uint32_t entity, uint64_t time,
                    uint32_t probe, const struct view_value *values, size_t count);
void central_result(struct central *central, uint32_t row, bool active, uint64_t time,
                    const struct view_value *targets, size_t count);

/* Rates of an instance of a row, as resident_rates has them. */
void central_rate(struct central *central, uint32_t row, uint32_t entity,
                  const struct row_rate *rate);

/* Looks whether plans hold, and changes those that do not. Call it often; it looks once a second. `now`: CLOCK_MONOTONIC, ns. */
void central_review(struct central *central, uint64_t now);

/* All that this machine has to say up to this time has come. Once it tells that, its values are compared with those of others only
 * when these have told so, too; a machine that does not for 2 s is late, and rows with its values are unknown. */
void central_said(struct central *central, int link, uint64_t until);

/* So many values of it will never come. Rows with its values are unknown until central_said. */
void central_dropped(struct central *central, int link, uint64_t count);

/* Evaluates what still waits: nothing more will come. Rows for which anything waits are unknown: what other machines had
 * then has not come. */
void central_finish(struct central *central);

/* Finds machines that are late: call it from time to time. */
void central_settle(struct central *central);

/* An error that nothing could return: out of memory, or of the database. 0: none; else with a line in `problem`. */
int central_failed(const struct central *central, struct problem *problem);

struct view_model *central_model(struct central *central);
void central_count(const struct central *central, struct monitor_counts *counts);

/* The plan of a view's row that was planned last; NULL: none yet. */
const struct view_plan *central_plan(const struct central *central, size_t view);

#endif
