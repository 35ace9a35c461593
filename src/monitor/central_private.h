/* SPDX-License-Identifier: MIT */
/* central_private.h: shared by the files of the central monitor. Private to monitor/. */
#ifndef DPM_CENTRAL_PRIVATE_H
#define DPM_CENTRAL_PRIVATE_H

#include "monitor/central.h"
#include "monitor/planning.h"

#define TEXT_SIZE      128 /* of a value that is kept; longer ones are cut */
#define QUESTIONS_MOST 64
#define RETIRED_MOST   10000 /* instances that have ended and are still in the database */
#define NAME_SIZE      160   /* of an instance: "web1:redis-server 811" */

struct known_instance {
    const char *object; /* of the view file */
    enum view_builtin builtin;
    uint32_t number; /* 1, 2 ... in order of appearance; of `process`: its id */
    int link;
    pid_t pid;
    char program[64]; /* of a machine: its name */
    char name[NAME_SIZE];
    int64_t stored; /* in the model */
    uint64_t id;    /* unique */
};

/* What was measured of an instance of a row. */
struct measured {
    struct row_rate rate; /* changes negative: not known */
    bool traced;          /* changes are measured now */
    uint64_t time;        /* CLOCK_MONOTONIC: when they were last */
};

struct central_row {
    struct central *central;
    uint32_t
        number; /* of its shares: its place, and a multiple of MONITOR_ROWS_MOST that changes with the plan */
    uint32_t view;
    uint64_t each; /* id of the instance that [*] stands for; 0: the view has none */
    char name[NAME_SIZE];
    struct view_plan plan;
    bool planned;
    struct planning_place places[VIEW_ENTITIES_MOST]; /* that it was planned for */
    uint64_t bound[VIEW_ENTITIES_MOST];               /* ids of instances; 0: none */
    uint32_t needed;                  /* set of entities without which the predicate is not true */
    uint32_t several;                 /* set of entities that several instances could be ... */
    uint64_t was[VIEW_ENTITIES_MOST]; /* ... and the ids that were bound before; 0: none */
    uint32_t
        returning; /* of `settling`, entities that are again the instance that they were before ... */
    uint64_t returned;             /* ... and since when they are, CLOCK_MONOTONIC */
    int links[VIEW_ENTITIES_MOST]; /* where these are ... */
    uint32_t linked; /* ... and the set of entities of which the resident monitor there knows */
    int opened[VIEW_ENTITIES_MOST]; /* links with a share of this row */
    size_t opened_count;
    uint32_t asked;                      /* set of entities that are probed now */
    uint32_t probes[VIEW_ENTITIES_MOST]; /* by entity: number of the latest probe */
    struct view_monitor *monitor;        /* if the predicate is evaluated here */
    bool active;
    bool unknown;   /* as central_is_unknown: what becomes of the row meanwhile is not told */
    bool told;      /* as active */
    uint64_t edge;  /* time of the values with which it became active or not, told or not */
    uint64_t since; /* wall clock: when it became what it is */
    uint64_t times; /* how often it became active */
    uint64_t delay; /* ns from a value to its evaluation, at most */
    int64_t stored; /* in the model; 0: not yet */
    uint64_t newer; /* time of values that are not in the model yet; 0: all are */
    struct view_value *values; /* of the targets, while active */
    char (*texts)[TEXT_SIZE];
    /* central_rates.c */
    struct measured measured[VIEW_ENTITIES_MOST];
    unsigned over, calm;         /* reviews in a row */
    bool cannot;                 /* was said */
    bool adapted;                /* the plan was chosen for high rates */
    uint64_t changed_at;         /* CLOCK_MONOTONIC */
    uint64_t replanned;          /* how often */
    char why[PLANNING_WHY_SIZE]; /* the last time; "": never */
    uint32_t
        settling; /* set of entities whose first values, under a new plan or bound again, have not come yet ... */
    uint64_t
        settled; /* ... and the wall clock of the latest of those that have; 0: all is evaluated */
    uint64_t
        early; /* wall clock of the latest value that did not wait for other machines; 0: none */
};

struct order_link {
    bool tells;       /* up to when it has said all */
    bool late;        /* that was long ago */
    uint64_t until;   /* wall clock, ns */
    uint64_t behind;  /* values of others up to then were evaluated without its own; 0: none */
    uint64_t dropped; /* values, since it is late */
};

/* Values that wait for those of other machines: central_order.c. */
struct central_order {
    struct waiting **heap;
    size_t count, capacity;
    uint64_t pushed;
    uint64_t taken; /* time of the latest record that was evaluated */
    struct order_link links[CENTRAL_LINKS_MOST];
};

/* Records per second that a machine reads, or that its way carries. */
struct carried {
    double most;   /* 0: not known */
    uint64_t time; /* CLOCK_MONOTONIC: when that was measured */
    unsigned full; /* reviews in a row with more than that */
};

struct link_rates {
    uint64_t arrived, dropped; /* values since the last review */
    struct carried reads, carries;
    struct demand {   /* of all instances there, per second */
        double given; /* to be read */
        double handed, lost;
    } demand;
};

struct central {
    struct monitor_options options;
    struct central_calls calls;
    struct view_conditions *conditions; /* of each view */
    struct view_model *model;
    struct central_link links[CENTRAL_LINKS_MOST];
    int link_count;
    struct central_order order;
    struct link_rates rates[CENTRAL_LINKS_MOST];
    uint64_t reviewed;                /* CLOCK_MONOTONIC */
    bool lost;                        /* records of sensors, as some rate said */
    struct known_instance *instances; /* that live */
    size_t instance_count, instance_capacity;
    uint64_t last_id;
    uint32_t generation; /* of the numbers of rows */
    struct numbered {
        const char *object;
        uint32_t last;
    } * numbers; /* of each object */
    size_t number_count, number_capacity;
    struct central_row **rows; /* NULL: its instance has ended */
    size_t row_count, row_capacity;
    int64_t *retired; /* ring of RETIRED_MOST: instances in the model that have ended */
    size_t retired_first, retired_count;
    bool *off;           /* by view: switched off */
    struct intern notes; /* that were made */
    const struct view_plan **plans;
    int failed;
    struct problem problem;
    uint64_t begun; /* CLOCK_MONOTONIC; 0: what is missing was said */
    uint64_t passed, requests;
    struct question {
        bool open;
        uint64_t number;
        uint32_t row, entity, reference;
    } questions[QUESTIONS_MOST];
};

static inline const struct view *central_view_of(const struct central_row *row)
{
    return &row->central->options.file->views[row->view];
}

/* Whether its plan was changed, or an instance is bound again, and not all first values are evaluated. */
static inline bool central_is_changing(const struct central_row *row)
{
    return row->settling != 0 || row->settled != 0;
}

/* Whether there are several instances of an entity that the predicate needs: which one is meant is not known. */
static inline bool central_is_ambiguous(const struct central_row *row)
{
    return (row->several & row->needed) != 0;
}

/* central_links.c: asks a resident monitor, and counts it. */
int central_step(struct central *central, int link, const struct row_step *step,
                 struct problem *problem);

/* central.c: notes the first error; a line for the user, once. */
void central_fail(struct central *central, int result, const struct problem *problem);
void central_out_of_memory(struct central *central);
void central_note(struct central *central, const char *line);
void central_free_row(struct central_row *row); /* NULL is allowed */

/* An instance in the model has ended. The database keeps the latest of these. */
void central_retire(struct central *central, int64_t stored);

/* central_instances.c: the instance at this place of the list has ended. */
void central_end_instance(struct central *central, size_t at);

/* Where an instance is, for the database. */
struct view_place central_place(const struct central *central,
                                const struct known_instance *instance);

/* Whether an instance is what a view calls so. */
bool central_is_entity(const struct central *central, const struct known_instance *instance,
                       const struct view_entity *entity);

/* central_rows.c. NULL: it has ended, or out of memory. */
struct known_instance *central_instance(const struct central *central, uint64_t id);
struct view_monitor *central_monitor_new(struct central_row *row);

/* The row is active with these targets, or inactive. */
void central_set_row(struct central_row *row, bool active, uint64_t time,
                     const struct view_value *targets);

/* The model gets what it does not have yet. */
void central_store_row(struct central_row *row);

/* It becomes unknown at this time, or known again, and then is what it has become meanwhile. */
void central_set_unknown(struct central_row *row, bool unknown, uint64_t time);

/* The record is not one of an earlier plan. */
void central_take_record(struct central *central, uint32_t row, uint32_t entity, uint64_t time,
                         uint32_t probe, const struct view_value *values, size_t count);

/* central_order.c: whether the values wait for others of an earlier time; if not, they are the caller's to evaluate. */
bool central_hold(struct central_row *row, uint32_t entity, uint64_t time,
                  const struct view_value *values, size_t count);

/* Whether a machine with a share of the row is late, or several instances could be one of its entities. */
bool central_is_unknown(const struct central_row *row);

/* Whether its values are compared in the order of their times. */
bool central_is_ordered(const struct central_row *row);

/* Evaluates what waits of a row now, in order, though other machines may still have earlier values: if anything waits, the row is
 * unknown, and remains so until they have said all up to the latest of its values. */
void central_take_held(struct central_row *row);

/* The link is lost. */
void central_order_forget(struct central *central, int link);
void central_order_done(struct central_order *order);

void central_record_unknown(struct central_row *row, uint32_t entity);

/* The row; NULL: it is of an earlier plan, or there is none. */
struct central_row *central_row_at(const struct central *central, uint32_t number);

/* central_instances.c: where the row's instances are, or could be, with what was measured of them. */
void central_find_places(const struct central_row *row, struct planning_place *places);

/* Carries out another plan: the row is unknown until the values of all its instances have come. */
void central_replan(struct central_row *row, const struct view_plan *plan);

/* What it waits for has come: all of an instance. `time`: wall clock. */
void central_settle_entity(struct central_row *row, uint32_t entity, uint64_t time);

/* central_rows.c: whether the predicate depends on a value that an instance of `returning` does not have yet, such as a figure per
 * second before an interval has passed. */
bool central_lacks_values(const struct central_row *row, uint32_t entity,
                          const struct view_value *values, size_t count);

/* central_instances.c: asks those of `returning` for their values again. What lacks a value for too long counts as it is.
 * `now`: CLOCK_MONOTONIC, ns. */
void central_ask_again(struct central *central, uint64_t now);

/* central_rates.c. */
void central_add_measured(const struct central_row *row, struct planning_place *places);
void central_forget_rate(struct central_row *row, uint32_t entity);
void central_keep_changes(struct central_row *row);

/* Asks for the values of an instance, or for no more. */
void central_ask(struct central_row *row, uint32_t entity, bool probe);

#endif
