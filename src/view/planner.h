/* SPDX-License-Identifier: MIT */
/*
 * planner.h: plans for a view: how its values are collected, where its conditions are evaluated, what travels (section
 * IV). Four steps:
 *
 *      1. all plans --keep the meaning--> feasible     2. --CORRECT, WITHIN--> in time
 *      3. --least CPU time per record, in each group of plans with as many records--> 4. --per notification--> chosen
 *
 *      process: sensor --record--> resident monitor of the machine --record--> central monitor --notification--> host
 *                   '-------------------- straight -----------------------------^
 *
 * A sensor or resident monitor that evaluates the conditions of an instance passes on only values for which one of
 * them is true, and the first one after that for which none is (struct view_filter). If nothing but the truth of one
 * condition matters, it passes on the crossings of the paper's plan 2: values with which that changes. A monitor that
 * receives these values computes the same truth as with all of them.
 *
 * view_filter and view_monitor, at the end of this file, are what sensors and monitors (src/monitor) call to carry a plan
 * out. Random tests compare them with a naive evaluation.
 */
#ifndef DPM_VIEW_PLANNER_H
#define DPM_VIEW_PLANNER_H

#include "view/view.h"

/* ---- costs ---- */

enum view_distance {
    VIEW_ON_MACHINE,
    VIEW_ON_SUBNET,
    VIEW_ON_NETWORK, /* across subnets */
    VIEW_DISTANCES,
};

struct view_message_cost {
    double time; /* ns from send to receipt */
    double byte; /* ns more for each byte */
    double send; /* ns of CPU time for the sender */
};

/* Where an instance lives, and what is known of its values. */
struct view_placed {
    char entity[VIEW_ENTITY_SIZE]; /* as in views: "QueueManager[1]" */
    char machine[VIEW_NAME_MOST + 1];
    uint32_t process;   /* 0: unknown */
    double changes;     /* of its values, per second */
    double selectivity; /* share of its values for which a comparison is true */
    /* measured; 0: not known */
    double passes;      /* share of its values that its conditions pass on */
    double reads;       /* records per second that its resident monitor can take from sensors ... */
    double carries;     /* ... and that the way to the central monitor carries, of this view */
    bool sensor_passes; /* its sensors cannot evaluate its conditions */
};

struct view_subnet {
    char machine[VIEW_NAME_MOST + 1];
    char subnet[VIEW_NAME_MOST + 1];
};

/* Times in ns. */
struct view_costs {
    struct view_message_cost messages[VIEW_DISTANCES];
    double receive;  /* CPU time to receive a message, with the switch to the receiver */
    double sensor;   /* to make a record */
    double evaluate; /* a comparison */
    double probe_time, probe_cpu; /* a resident monitor reads a variable of a process */
    double turn, turn_cpu;        /* a sensor on or off */
    double record;                /* bytes */
    double clocks;                /* how far clocks of machines are apart */
    bool shared;                  /* records can go through memory that process and monitor share */
    double shared_queue, shared_retrieve;
    bool spare; /* machines have a processor that nothing but a resident monitor would use */
    bool
        central_notifies; /* only the central monitor can notify, and a resident one on its machine */
    double changes, selectivity;      /* of what is not placed */
    char central[VIEW_NAME_MOST + 1]; /* machine of the central monitor; "": one of its own */
    struct view_placed *placed;
    size_t placed_count, placed_capacity;
    struct view_subnet *subnets;
    size_t subnet_count, subnet_capacity;
};

/* Defaults: a Linux machine of today, one subnet, a machine for each instance. Free with view_costs_done. */
void view_costs_init(struct view_costs *costs);
void view_costs_done(struct view_costs *costs);

/* Reads a file of costs (dpm-view(5)) over the defaults. Returns 0 or a negative errno with a line in `problem`. */
int view_costs_read(struct view_costs *costs, const char *name, struct problem *problem);
int view_costs_parse(struct view_costs *costs, const char *name, const char *text, size_t size,
                     struct problem *problem);

/* How often the values of an instance change, per second, if nothing is said of it: figures do so once an interval. */
static inline double view_usual_changes(const struct view_costs *costs, enum view_builtin builtin)
{
    return builtin == VIEW_PROGRAM ? costs->changes : 1;
}

/* ---- plans ---- */

enum view_collection {
    VIEW_TRACED, /* a sensor reports every change; of DPM's own objects: figures at the end of each interval */
    VIEW_SAMPLED, /* a sensor reports when the resident monitor asks, which it does periodically */
    /* the resident monitor reads the value when the other conditions hold; then a sensor traces it as long as they do */
    VIEW_PROBED,
    VIEW_COLLECTIONS,
};

enum view_site {
    VIEW_IN_SENSOR,
    VIEW_IN_RESIDENT,
    VIEW_IN_CENTRAL,
    VIEW_SITES,
};

enum view_route {
    VIEW_BY_RESIDENT, /* messages to the resident monitor */
    VIEW_STRAIGHT,    /* messages to the central monitor */
    VIEW_SHARED,      /* shared memory with the resident monitor */
    VIEW_ROUTES,
};

/* What a plan does with one instance. */
struct view_part_plan {
    enum view_collection collection;
    enum view_site
        evaluates; /* where its conditions are evaluated, which decides what travels on */
    enum view_route route;
};

struct view_plan {
    struct view_part_plan parts[VIEW_ENTITIES_MOST]; /* by entity of the view */
    enum view_site top;                              /* where the whole predicate is evaluated */
    enum view_site notifies;                         /* VIEW_IN_RESIDENT or VIEW_IN_CENTRAL */
    bool dedicated; /* resident monitors have a processor of their own */

    /* step 2, ns */
    double
        window; /* how far apart the times of two values can be that are taken for simultaneous: at most CORRECT */
    double latency; /* from an event to the evaluation of the predicate */
    double notice;  /* to the receipt of the notification, if it is not queued */
    double flush;   /* how long notifications may be queued */
    double period;  /* between two samples; 0: nothing is sampled */
    /* the share that its records need of what resident monitors can read and the ways from them carry: of the fullest one.
     * Over 1, values wait ever longer, so the plan is not in time whatever its delays are. */
    double load;
    uint32_t fullest; /* the entity with the most records on that machine */
    bool by_reading;  /* ... and it is reading that is full */
    double most;      /* ... of which so many records per second are possible */
    /* steps 3 and 4 */
    double records;          /* made by sensors, per second */
    double traffic;          /* messages to the central monitor, per second */
    double per_record;       /* ns of CPU time */
    double per_notification; /* ns of CPU time */
    uint64_t group;          /* the same for plans with about as many records */
};

/* A predicate in parts: conditions that concern one instance, found by reordering AND and OR. */
struct view_conditions {
    const struct view *view;
    struct view_expression *predicate; /* the reordered one */
    struct view_entity_conditions {
        struct view_expression **list; /* of this instance alone */
        size_t count;
        bool raw;       /* it also stands in comparisons with other instances */
        bool crossings; /* only the truth of its one condition matters, no value */
        bool predicate; /* false: only in targets */
    } of[VIEW_ENTITIES_MOST];
    struct arena memory;
};

/* The set of instances in an expression: bit i for entity i of the view. */
uint32_t view_entities_of(const struct view *view, const struct view_expression *expression);

/* Returns 0, -ENOMEM, or -EINVAL with a line in `problem`: comparisons without a reference. The view must outlive it.
 * */
int view_conditions_make(const struct view *view, struct view_conditions *ret_conditions,
                         struct problem *problem);
void view_conditions_done(struct view_conditions *conditions);

struct view_plans {
    double all;             /* combinations */
    double feasible;        /* step 1 */
    double in_time;         /* step 2 */
    struct view_plan *list; /* the best of each group, the chosen one first */
    size_t count, capacity;
    double correct; /* ns: as given, or the largest delay of a record */
    bool
        pruned; /* so many instances that not all plans were looked at: `feasible` and `in_time` are lower bounds */
    struct view_plan
        latest; /* if none is in time: of those that can be carried, the one whose window is least; else the one
                                whose load is least */
};

/* Finds the plans of a view. Returns 0, even if none is in time, or a negative errno with a line in `problem`. */
int view_plans_make(const struct view_conditions *conditions, const struct view_costs *costs,
                    struct view_plans *ret_plans, struct problem *problem);
void view_plans_done(struct view_plans *plans);

/* The figures of one plan. Returns whether it keeps the meaning of the view; `ret_in_time`: whether it is in time. */
bool view_plan_figures(const struct view_conditions *conditions, const struct view_costs *costs,
                       struct view_plan *plan, bool *ret_in_time);

/* The largest delay of a record of this view's instances on its way to the central monitor. */
double view_largest_delay(const struct view *view, const struct view_costs *costs);

/* "traced, condition in the sensor, straight to the central monitor" */
#define VIEW_PART_SIZE 160
void view_part_text(const struct view_part_plan *part, enum view_builtin builtin,
                    bool has_condition, char text[VIEW_PART_SIZE]);

/* ---- carrying out a plan: what sensors and monitors call ---- */

/* What passes values of one instance on: in a sensor or a resident monitor. All zero: none was true before. */
struct view_filter {
    bool was_true;
    bool pass_next; /* the next one, whatever it is */
};

/* Whether the values of this instance must be passed on; `look` is asked for its references only. A filter where the
 * plan evaluates elsewhere passes everything: do not call it there. */
bool view_filter_passes(struct view_filter *filter, const struct view_conditions *conditions,
                        uint32_t entity, view_look *look, void *context);

/* The monitor that evaluates the predicate, resident or central (`top` of the plan). It knows the latest values of each
 * reference. */
struct view_monitor;

struct view_monitor_calls {
    void *context;
    /* Read the values of this instance now, hand them to view_monitor_record, and let its sensor trace until
     * `release`. `number`: what is made from then on carries it; never 0. */
    void (*probe)(void *context, uint32_t entity, uint32_t number);
    void (*release)(void *context, uint32_t entity);
    /* The view has become active or inactive. `targets`: [target_count], if active. An active view whose targets change
     * is reported again with active = true, `edge` false. */
    void (*changed)(void *context, bool active, bool edge, uint64_t time,
                    const struct view_value *targets);
};

/* NULL: out of memory. All arguments must outlive it. */
struct view_monitor *view_monitor_new(const struct view_conditions *conditions,
                                      const struct view_plan *plan,
                                      const struct view_monitor_calls *calls);
void view_monitor_free(struct view_monitor *monitor);

/* Calls `changed` with what the row is, though it has not changed: the earlier call may not have been heard. */
int view_monitor_repeat(struct view_monitor *monitor, uint64_t time);

/* Values of an instance have come, which were true at `time` there. `look` gives them, by reference. Texts are
 * copied. `probe`: number of the one that they answer (0: not said); answers to an earlier one are left out: since it was
 * released, changes may have passed unseen. Returns 0 or -ENOMEM. */
int view_monitor_record(struct view_monitor *monitor, uint32_t entity, uint64_t time,
                        uint32_t probe, view_look *look, void *context);

#endif
