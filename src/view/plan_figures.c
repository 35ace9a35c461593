/* SPDX-License-Identifier: MIT */
/*
 * plan_figures.c: latency and perturbation of a plan (section IV.B, steps 2 to 4). All estimates of latency are upper
 * bounds within the given costs: a plan that is late may not be accepted.
 */
#include "view/plan_world.h"

#include <math.h>

/* ---- latency ---- */

static double message(const struct plan_world *world, enum view_distance distance)
{
    const struct view_message_cost *cost = &world->costs->messages[distance];

    return cost->time + cost->byte * world->costs->record + world->costs->receive;
}

/* From the process to the resident monitor, or past it to the central one. */
static double first_hop(const struct plan_world *world, const struct view_part_plan *part,
                        enum view_distance distance)
{
    switch (part->route) {
    case VIEW_SHARED:
        return world->costs->shared_queue + world->costs->shared_retrieve;
    case VIEW_STRAIGHT:
        return message(world, distance);
    default:
        return message(world, VIEW_ON_MACHINE);
    }
}

/* From a sensor to the central monitor. */
static double to_central(const struct plan_world *world, const struct view_part_plan *part,
                         enum view_distance distance)
{
    double hop = first_hop(world, part, distance);

    return part->route == VIEW_STRAIGHT ? hop : hop + message(world, distance);
}

double plan_part_delay(const struct plan_world *world, const struct view_plan *plan,
                       uint32_t entity)
{
    const struct view_part_plan *part = &plan->parts[entity];
    const struct plan_place *place = &world->places[entity];
    const struct view_costs *costs = world->costs;
    double delay = costs->sensor + costs->evaluate * world->comparisons;

    if (part->evaluates != plan->top)
        delay += costs->evaluate * place->comparisons;
    if (plan->top == VIEW_IN_RESIDENT)
        delay += first_hop(world, part, place->to_central);
    else if (plan->top == VIEW_IN_CENTRAL)
        delay += to_central(world, part, place->to_central);
    return delay;
}

/* The delay of those records that show when to probe. */
static double trigger_delay(const struct plan_world *world, const struct view_plan *plan,
                            uint32_t probed)
{
    double most = 0;

    for (uint32_t i = 0; i < world->count; i++)
        if ((probed & 1u << i) == 0)
            most = fmax(most, plan_part_delay(world, plan, i) +
                                  (plan->parts[i].collection == VIEW_SAMPLED ? plan->period : 0));
    return most;
}

/* Sets window and latency. */
static void estimate_latency(const struct plan_world *world, struct view_plan *plan)
{
    const struct view_costs *costs = world->costs;
    uint32_t probed = plan_probed(world, plan);
    double trigger = trigger_delay(world, plan, probed);

    plan->window = plan->latency = trigger;
    for (uint32_t i = 0; i < world->count; i++) {
        if ((probed & 1u << i) == 0)
            continue;
        double there =
            plan->top == VIEW_IN_CENTRAL ? message(world, world->places[i].to_central) : 0;
        double traced = plan_part_delay(world, plan, i);
        double read = trigger + there + costs->turn + costs->probe_time;
        plan->window = fmax(plan->window, fmax(read, traced));
        plan->latency =
            fmax(plan->latency, fmax(read + there + costs->evaluate * world->comparisons, traced));
    }
    if (world->several_machines)
        plan->window += costs->clocks;
}

/* From the evaluation to the receipt of the notification. */
static double notice_delay(const struct plan_world *world, const struct view_plan *plan)
{
    double delay = world->conditions->view->notifies ? message(world, VIEW_ON_NETWORK) : 0,
           most = 0;

    for (uint32_t i = 0; i < world->count; i++) {
        const struct view_part_plan *part = &plan->parts[i];
        enum view_distance distance = world->places[i].to_central;
        double way = 0;
        if (plan->top == VIEW_IN_SENSOR)
            way = plan->notifies == VIEW_IN_RESIDENT ? first_hop(world, part, distance)
                                                     : to_central(world, part, distance);
        else if (plan->top == VIEW_IN_RESIDENT && plan->notifies == VIEW_IN_CENTRAL)
            way = message(world, distance);
        most = fmax(most, way);
    }
    return delay + most;
}

static bool is_sampled(const struct plan_world *world, const struct view_plan *plan)
{
    for (uint32_t i = 0; i < world->count; i++)
        if (plan->parts[i].collection == VIEW_SAMPLED)
            return true;
    return false;
}

#define SAMPLING_SLACK 0.9 /* the share of the time that is left which samples may be apart */
#define PERIOD_MOST    1e9 /* ns: no value is older */

/* How long notifications may be queued: a quarter of WITHIN, two or three, as far as there is time. */
static double flush_time(const struct view *view, double notice)
{
    for (int quarters = 3; quarters > 0; quarters--)
        if (notice + (double)view->within * quarters / 4 <= (double)view->within)
            return (double)view->within * quarters / 4;
    return 0;
}

static bool estimate_times(const struct plan_world *world, double correct, struct view_plan *plan)
{
    const struct view *view = world->conditions->view;

    plan->period = 0;
    estimate_latency(world, plan);
    double after = notice_delay(world, plan);
    if (is_sampled(world, plan)) {
        double left = correct - plan->window;
        if (view->notifies)
            left = fmin(left, (double)view->within - plan->latency - after);
        if (left <= 0)
            return false;
        plan->period = fmin(left * SAMPLING_SLACK, PERIOD_MOST);
        estimate_latency(world, plan);
    }
    plan->notice = plan->latency + after;
    plan->flush = view->notifies ? flush_time(view, plan->notice) : 0;
    return plan->window <= correct && (!view->notifies || plan->notice <= (double)view->within);
}

/* ---- perturbation ---- */

/* CPU time counts only on processors of the application. */
struct sum {
    const struct plan_world *world;
    const struct view_plan *plan;
    double resident; /* 0: it has a processor of its own */
    double busy, records, traffic;
    double read[VIEW_ENTITIES_MOST], carried[VIEW_ENTITIES_MOST]; /* records per second */
};

static double send_cost(const struct sum *sum, enum view_distance distance)
{
    return sum->world->costs->messages[distance].send;
}

/* Messages of a monitor or a process to the central monitor, per second. */
static void add_to_central(struct sum *sum, double rate, double share, uint32_t entity)
{
    enum view_distance distance = sum->world->places[entity].to_central;

    sum->carried[entity] += rate;
    sum->busy += rate * share * send_cost(sum, distance);
    if (distance == VIEW_ON_MACHINE)
        sum->busy += rate * sum->world->costs->receive; /* there, it shares a processor, too */
    sum->traffic += rate;
}

/* Records from a sensor on, per second. */
static void add_records(struct sum *sum, uint32_t entity, double rate)
{
    const struct view_costs *costs = sum->world->costs;
    const struct plan_place *place = &sum->world->places[entity];
    const struct view_part_plan *part = &sum->plan->parts[entity];

    sum->records += rate;
    sum->read[entity] += rate;
    if (part->route == VIEW_STRAIGHT) {
        add_to_central(sum, rate, 1, entity);
        return;
    }
    sum->busy += part->route == VIEW_SHARED
                     ? rate * (costs->shared_queue + sum->resident * costs->shared_retrieve)
                     : rate * (send_cost(sum, VIEW_ON_MACHINE) + sum->resident * costs->receive);
    if (part->evaluates == VIEW_IN_RESIDENT && sum->plan->top == VIEW_IN_CENTRAL) {
        sum->busy += sum->resident * rate * costs->evaluate * place->comparisons;
        rate *= place->passes;
    }
    if (sum->plan->top == VIEW_IN_RESIDENT)
        sum->busy += sum->resident * rate * costs->evaluate * sum->world->comparisons;
    if (sum->plan->top == VIEW_IN_CENTRAL)
        add_to_central(sum, rate, sum->resident, entity);
}

/* A sensor that sees so many values per second. */
static void add_sensor(struct sum *sum, uint32_t entity, double rate)
{
    const struct view_costs *costs = sum->world->costs;
    const struct plan_place *place = &sum->world->places[entity];
    double passes = rate;

    if (sum->plan->top == VIEW_IN_SENSOR) {
        sum->busy += rate * costs->evaluate * sum->world->comparisons;
        passes = rate * sum->world->share;
    } else if (sum->plan->parts[entity].evaluates == VIEW_IN_SENSOR) {
        sum->busy += rate * costs->evaluate * place->comparisons;
        passes = rate * place->passes;
    }
    sum->busy += passes * costs->sensor;
    add_records(sum, entity, passes);
}

/* The resident monitor asks for each sample. */
static void add_samples(struct sum *sum, uint32_t entity)
{
    const struct view_costs *costs = sum->world->costs;
    double rate = sum->plan->period > 0 ? 1e9 / sum->plan->period : 0;

    if (sum->plan->parts[entity].route == VIEW_SHARED)
        sum->busy += rate * (sum->resident * costs->shared_queue + costs->shared_retrieve);
    else
        sum->busy += rate * (sum->resident * send_cost(sum, VIEW_ON_MACHINE) + costs->receive);
    add_sensor(sum, entity, rate);
}

/* Probes when the other conditions become true, `rate` times per second; then a sensor, for `share` of the time. */
static void add_probes(struct sum *sum, uint32_t entity, double rate, double share)
{
    const struct view_costs *costs = sum->world->costs;
    const struct plan_place *place = &sum->world->places[entity];

    sum->busy += rate * (costs->probe_cpu + 2 * costs->turn_cpu);
    if (sum->plan->top == VIEW_IN_CENTRAL) {
        sum->busy += rate * sum->resident * costs->receive;
        add_to_central(sum, rate, sum->resident, entity);
        if (place->to_central == VIEW_ON_MACHINE)
            sum->busy += rate * send_cost(sum, VIEW_ON_MACHINE); /* the request */
    }
    sum->records += rate;
    add_sensor(sum, entity, place->changes * share);
}

static void add_notifications(struct sum *sum, double rate)
{
    const struct view_plan *plan = sum->plan;

    if (plan->notifies == VIEW_IN_RESIDENT)
        sum->busy += sum->resident * rate * send_cost(sum, VIEW_ON_NETWORK);
    else if (plan->top != VIEW_IN_CENTRAL && plan->parts[0].route != VIEW_STRAIGHT)
        add_to_central(sum, rate, sum->resident, 0);
}

static void add_part(struct sum *sum, uint32_t entity, double triggers, double share)
{
    switch (sum->plan->parts[entity].collection) {
    case VIEW_TRACED:
        add_sensor(sum, entity, sum->world->places[entity].changes);
        break;
    case VIEW_SAMPLED:
        add_samples(sum, entity);
        break;
    default:
        add_probes(sum, entity, triggers, share);
    }
}

double plan_part_busy(const struct plan_world *world, const struct view_plan *plan, uint32_t entity)
{
    struct sum sum = {.world = world, .plan = plan, .resident = plan->dedicated ? 0 : 1};
    double share = world->costs->selectivity;

    add_part(&sum, entity, world->places[entity].changes * share, share);
    return sum.busy;
}

/* How often, per second, each instance of the predicate shows a value, on average. Samples do not show all. */
static double seen_rounds(const struct plan_world *world, const struct view_plan *plan)
{
    double sum = 0;

    for (uint32_t i = 0; i < world->count; i++) {
        double seen = world->places[i].changes;
        if (plan->parts[i].collection == VIEW_SAMPLED && plan->period > 0)
            seen = fmin(seen, 1e9 / plan->period);
        sum += (world->in_predicate & 1u << i) != 0 ? seen : 0;
    }
    return sum / __builtin_popcount(world->in_predicate);
}

/* What the instances on one machine need of what it can do, by entity; sets `load` if that is more than so far. */
static void take_load(const struct plan_world *world, struct view_plan *plan, const double *rates,
                      bool reading)
{
    for (uint32_t i = 0; i < world->count; i++) {
        double load = 0;
        uint32_t most_of = i;
        for (uint32_t k = 0; k < world->count; k++) {
            double most = reading ? world->places[k].reads : world->places[k].carries;
            if (world->places[k].machine == world->places[i].machine && most > 0)
                load += rates[k] / most;
            if (world->places[k].machine == world->places[i].machine && rates[k] > rates[most_of])
                most_of = k;
        }
        if (load <= plan->load)
            continue;
        plan->load = load;
        plan->fullest = most_of;
        plan->by_reading = reading;
        plan->most = reading ? world->places[most_of].reads : world->places[most_of].carries;
    }
}

/* The paper's formula counts every evaluation that is true as a notification; a message is sent only when the predicate
 * becomes true. */
static void estimate_perturbation(const struct plan_world *world, struct view_plan *plan)
{
    struct sum sum = {.world = world, .plan = plan, .resident = plan->dedicated ? 0 : 1};
    uint32_t probed = plan_probed(world, plan);
    double share = plan_share(world, world->conditions->predicate, probed);
    double rounds = seen_rounds(world, plan);

    for (uint32_t i = 0; i < world->count; i++)
        add_part(&sum, i, rounds * share, share);
    double notifications = rounds * world->share;
    add_notifications(&sum,
                      notifications * (1 - world->share) * __builtin_popcount(world->in_predicate));
    plan->load = plan->most = 0;
    take_load(world, plan, sum.read, true);
    take_load(world, plan, sum.carried, false);
    plan->records = sum.records;
    plan->traffic = sum.traffic;
    plan->per_record = sum.records > 0 ? sum.busy / sum.records : 0;
    plan->per_notification = sum.busy / notifications;
}

bool plan_figures(const struct plan_world *world, double correct, struct view_plan *plan)
{
    bool in_time = estimate_times(world, correct, plan);

    plan->group = 0;
    for (uint32_t i = 0; i < world->count; i++) {
        const struct view_part_plan *part = &plan->parts[i];
        plan->group = plan->group * 5 + (part->collection == VIEW_TRACED    ? part->evaluates
                                         : part->collection == VIEW_SAMPLED ? 3
                                                                            : 4);
    }
    estimate_perturbation(world, plan);
    return in_time && plan->load <= 1;
}

double view_largest_delay(const struct view *view, const struct view_costs *costs)
{
    static const struct view_part_plan traced = {VIEW_TRACED, VIEW_IN_CENTRAL, VIEW_BY_RESIDENT};
    struct view_conditions conditions;
    struct plan_world world;
    struct view_plan plan = {.top = VIEW_IN_CENTRAL, .notifies = VIEW_IN_CENTRAL};
    double most = 0;

    if (view_conditions_make(view, &conditions, NULL) < 0)
        return 0;
    plan_world_make(&conditions, costs, &world);
    for (uint32_t i = 0; i < world.count; i++)
        plan.parts[i] = traced;
    for (uint32_t i = 0; i < world.count; i++)
        most = fmax(most, plan_part_delay(&world, &plan, i));
    view_conditions_done(&conditions);
    return most + (world.several_machines ? costs->clocks : 0);
}
