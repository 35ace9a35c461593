/* SPDX-License-Identifier: MIT */
/*
 * central_rates.c: what is measured decides about plans while they are carried out.
 *
 *      Q[1] changes 4400 times/s, of which the plan hands 4400 over
 *      web1: 1200 values/s arrive, 3 s late   -->  its way carries 1200/s  -->  the plan does not hold  -->  another one
 *
 * How much a way carries is known only while it carries less than it is given; before, it is as costs say. Rates are those of the
 * last second, so a plan is given up when two of them in a row are too much, and changed at most every CHANGE_LEAST. One that was
 * chosen for high rates stays until another one would do with half of what can be carried, for CALM reviews.
 */
#include "monitor/central_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define REVIEW_EVERY 1000000000u  /* ns */
#define CHANGE_LEAST 5000000000u  /* ns between two plans of a row */
#define KNOWN_FOR    60000000000u /* ns: then what was measured may not be true any more */
#define BEHIND       500000000u   /* ns: a machine that is further behind is given too much ... */
#define GIVEN_MORE   1.1          /* ... if it is given so many times what arrives */
#define REVIEWS_FULL 2u           /* in a row */
#define CALM         10u          /* reviews */
#define CALM_LOAD    0.5
#define BETTER       0.9 /* another plan must need less than this share */
#define RATE_LEAST   1e-3

/* ---- what was measured ---- */

void central_rate(struct central *central, uint32_t number, uint32_t entity,
                  const struct row_rate *rate)
{
    struct central_row *row = central_row_at(central, number);

    if (row == NULL || entity >= central_view_of(row)->entity_count)
        return;
    struct measured *measured = &row->measured[entity];
    central->lost = central->lost || rate->lost > 0;
    bool sensor_passes = measured->rate.sensor_passes || rate->sensor_passes;
    double changes = measured->rate.changes;
    measured->rate = *rate;
    measured->rate.sensor_passes = sensor_passes;
    if (rate->changes >= 0) {
        measured->time = clock_now(CLOCK_MONOTONIC);
        measured->traced = true;
    } else {
        measured->rate.changes = changes; /* as it was when it could be measured */
        measured->traced = false;
    }
}

void central_forget_rate(struct central_row *row, uint32_t entity)
{
    row->measured[entity] = (struct measured){.rate = {.changes = -1}};
}

/* Rates of a plan that has ended; how often values change does not depend on it. */
void central_keep_changes(struct central_row *row)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++) {
        struct measured *measured = &row->measured[i];
        if (measured->traced)
            measured->time = now;
        measured->traced = false;
        measured->rate.records = measured->rate.handed = measured->rate.lost = 0;
    }
}

static void add(struct demand *demand, const struct central_row *row, int link)
{
    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++)
        if ((row->linked & 1u << i) != 0 && row->links[i] == link) {
            const struct row_rate *rate = &row->measured[i].rate;
            demand->given += rate->records + rate->lost;
            demand->handed += rate->handed;
            demand->lost += rate->lost;
        }
}

static void sum_demands(struct central *central)
{
    for (int i = 0; i < central->link_count; i++)
        central->rates[i].demand = (struct demand){0};
    for (size_t i = 0; i < central->row_count; i++) {
        const struct central_row *row = central->rows[i];
        for (size_t k = 0; row != NULL && k < row->opened_count; k++)
            add(&central->rates[row->opened[k]].demand, row, row->opened[k]);
    }
}

/* What it can do is what it does, once it is given more for a while. */
static void learn(struct carried *carried, bool full, double rate, uint64_t now)
{
    carried->full = full ? carried->full + 1 : 0;
    if (carried->full >= REVIEWS_FULL || (carried->most > 0 && rate > carried->most)) {
        carried->most = fmax(rate, 1);
        carried->time = now;
    } else if (carried->most > 0 && now - carried->time > KNOWN_FOR) {
        carried->most = 0;
    }
}

static void review_link(struct central *central, int link, double seconds, uint64_t now)
{
    const struct order_link *of = &central->order.links[link];
    struct link_rates *rates = &central->rates[link];
    const struct demand all = rates->demand;
    double arrived = (double)rates->arrived / seconds;
    uint64_t wall = clock_now(CLOCK_REALTIME);
    bool behind = of->tells && wall > of->until && wall - of->until > BEHIND;

    learn(&rates->reads, all.lost > 0, all.given - all.lost, now);
    learn(&rates->carries,
          of->tells && (rates->dropped > 0 || behind) && all.handed > GIVEN_MORE * arrived, arrived,
          now);
    rates->arrived = rates->dropped = 0;
}

/* ---- for a plan ---- */

/* What is left for a row of what a machine can do: all that others do not need, or its share if that is too much. */
static double left_for(double most, double all, double own)
{
    if (most <= 0)
        return 0;
    return fmax(all <= most ? most - (all - own) : most * own / all, 1);
}

void central_add_measured(const struct central_row *row, struct planning_place *places)
{
    const struct central *central = row->central;
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++) {
        const struct measured *measured = &row->measured[i];
        const struct row_rate *rate = &measured->rate;
        bool known = measured->traced || now - measured->time < KNOWN_FOR;
        places[i].sensor_passes = rate->sensor_passes;
        if (rate->changes >= 0 && measured->time != 0 && known)
            places[i].changes = fmax(rate->changes, RATE_LEAST);
        if ((row->linked & 1u << i) == 0)
            continue;
        const struct link_rates *rates = &central->rates[row->links[i]];
        struct demand own = {0};
        add(&own, row, row->links[i]);
        places[i].reads = left_for(rates->reads.most, rates->demand.given, own.given);
        places[i].carries = left_for(rates->carries.most, rates->demand.handed, own.handed);
        enum view_site evaluates = row->plan.parts[i].evaluates;
        double passed = evaluates == VIEW_IN_SENSOR ? rate->records : rate->handed;
        if (row->monitor != NULL && measured->traced && rate->changes > 0 &&
            evaluates != VIEW_IN_CENTRAL && row->plan.parts[i].collection == VIEW_TRACED)
            places[i].passes = fmin(fmax(passed / rate->changes, 1e-6), 1);
    }
}

static void say(struct central_row *row, const char *what)
{
    char line[700];

    snprintf(line, sizeof(line), "view %s%s%s: %s: %s", central_view_of(row)->name,
             row->name[0] == '\0' ? "" : ", ", row->name, what, row->why);
    row->central->calls.note(row->central->calls.context, line);
}

static bool is_same_plan(const struct central_row *row, const struct view_plan *plan)
{
    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++)
        if (plan->parts[i].collection != row->plan.parts[i].collection ||
            plan->parts[i].evaluates != row->plan.parts[i].evaluates)
            return false;
    return plan->top == row->plan.top;
}

/* How the plan that is chosen collects instances otherwise, behind why. */
static void add_how(struct central_row *row, const struct view_plan *plan)
{
    const struct view *view = central_view_of(row);
    const struct view_conditions *conditions = &row->central->conditions[row->view];
    size_t used = strlen(row->why);

    for (uint32_t i = 0; i < view->entity_count && used < sizeof(row->why); i++) {
        bool conditional = conditions->of[i].count > 0 && !conditions->of[i].raw;
        char entity[VIEW_ENTITY_SIZE], part[VIEW_PART_SIZE], *rest;
        if (plan->parts[i].collection == row->plan.parts[i].collection &&
            plan->parts[i].evaluates == row->plan.parts[i].evaluates)
            continue;
        view_entity_text(&view->entities[i], entity);
        view_part_text(&plan->parts[i], view->entities[i].builtin, conditional, part);
        if ((rest = strstr(part, conditional ? ", records" : ",")) != NULL)
            *rest = '\0';
        used += (size_t)snprintf(row->why + used, sizeof(row->why) - used, "; %s is now %s", entity,
                                 part);
    }
}

static void change(struct central_row *row, const struct view_plan *plan, bool back, uint64_t now)
{
    add_how(row, plan);
    row->adapted = !back;
    row->replanned++;
    row->changed_at = now;
    row->over = row->calm = 0;
    say(row, back ? "its plan changes back" : "its plan changes");
    central_replan(row, plan);
}

/* The plan needs more than can be carried. */
static void leave(struct central_row *row, const struct planning_place *places, uint64_t now)
{
    struct central *central = row->central;
    const struct view_conditions *conditions = &central->conditions[row->view];
    struct view_plan plan;
    struct problem problem = {""};
    char line[512] = "";

    planning_why(conditions, central->options.costs, places, central->options.machine, &row->plan,
                 row->why);
    central_fail(central,
                 planning_choose(conditions, central->options.costs, places,
                                 central->options.machine, &plan, line, &problem),
                 &problem);
    bool better = !is_same_plan(row, &plan) && plan.load < BETTER * row->plan.load;
    if (plan.load > 1 && !row->cannot) {
        row->cannot = true;
        say(row, "cannot be kept");
    }
    if (better && (row->changed_at == 0 || now - row->changed_at >= CHANGE_LEAST))
        change(row, &plan, false, now);
}

/* Rates may be so low again that the plan which they made necessary is not needed any more. */
static void look_back(struct central_row *row, const struct planning_place *places, uint64_t now)
{
    struct central *central = row->central;
    struct view_plan plan;
    struct problem problem = {""};
    char line[512] = "";

    if (planning_choose(&central->conditions[row->view], central->options.costs, places,
                        central->options.machine, &plan, line, &problem) < 0)
        return;
    bool calm = line[0] == '\0' && plan.load <= CALM_LOAD && !is_same_plan(row, &plan);
    row->calm = calm ? row->calm + 1 : 0;
    if (row->calm < CALM || now - row->changed_at < CHANGE_LEAST)
        return;
    planning_why(&central->conditions[row->view], central->options.costs, places,
                 central->options.machine, &plan, row->why);
    change(row, &plan, true, now);
}

static void review_row(struct central_row *row, uint64_t now)
{
    struct central *central = row->central;
    struct planning_place places[VIEW_ENTITIES_MOST];
    struct view_plan looked = row->plan;

    for (uint32_t i = 0; i < central_view_of(row)->entity_count; i++)
        places[i] = (struct planning_place){row->places[i].machine, row->places[i].process};
    central_add_measured(row, places);
    if (planning_look(&central->conditions[row->view], central->options.costs, places,
                      central->options.machine, &looked) < 0)
        return;
    row->plan.load = looked.load;
    row->plan.fullest = looked.fullest;
    row->plan.by_reading = looked.by_reading;
    row->plan.most = looked.most;
    row->plan.records = looked.records;
    row->plan.traffic = looked.traffic;
    row->over = looked.load > 1 ? row->over + 1 : 0;
    if (row->over == 0)
        row->cannot = false;
    if (row->over >= REVIEWS_FULL)
        leave(row, places, now);
    else if (row->over == 0 && row->adapted)
        look_back(row, places, now);
}

void central_review(struct central *central, uint64_t now)
{
    if (now - central->reviewed < REVIEW_EVERY)
        return;
    double seconds = (double)(now - central->reviewed) / 1e9;
    bool first = central->reviewed == 0;
    central->reviewed = now;
    central_ask_again(central, now);
    sum_demands(central);
    for (int i = 0; i < central->link_count && !first; i++)
        review_link(central, i, seconds, now);
    for (size_t i = 0; i < central->row_count && !first; i++) {
        struct central_row *row = central->rows[i];
        if (row != NULL && row->planned && row->linked != 0 && !central_is_changing(row))
            review_row(row, now);
    }
}

void central_measured(const struct central *central, uint32_t view,
                      struct central_measured_state *ret_state)
{
    struct central_measured_state state = {.why = ""};

    for (size_t i = 0; i < central->row_count; i++) {
        const struct central_row *row = central->rows[i];
        if (row == NULL || row->view != view)
            continue;
        state.replanned += row->replanned;
        if (row->planned && row->plan.load > state.load)
            state.load = row->plan.load;
        if (row->why[0] != '\0')
            state.why = row->why;
        for (uint32_t k = 0; k < central_view_of(row)->entity_count; k++)
            if (row->measured[k].rate.changes > 0 && row->measured[k].time != 0)
                state.changes += row->measured[k].rate.changes;
    }
    *ret_state = state;
}
