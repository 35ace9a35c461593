/* SPDX-License-Identifier: MIT */
/* plan_world.c: where the instances of a view are. See plan_world.h. */
#include "view/plan_world.h"

#include <string.h>
#include <strings.h>

static const struct view_placed *find_placed(const struct view_costs *costs,
                                             const struct view_entity *entity)
{
    char text[VIEW_ENTITY_SIZE];

    view_entity_text(entity, text);
    for (size_t i = 0; i < costs->placed_count; i++)
        if (strcasecmp(costs->placed[i].entity, text) == 0)
            return &costs->placed[i];
    return NULL;
}

static const char *subnet_of(const struct view_costs *costs, const char *machine)
{
    for (size_t i = 0; i < costs->subnet_count; i++)
        if (strcasecmp(costs->subnets[i].machine, machine) == 0)
            return costs->subnets[i].subnet;
    return NULL;
}

/* Without subnets all machines are on one; with them, a machine that is in none is across the network. */
static enum view_distance distance(const struct view_costs *costs, const char *machine)
{
    if (machine[0] != '\0' && strcasecmp(machine, costs->central) == 0)
        return VIEW_ON_MACHINE;
    if (costs->subnet_count == 0)
        return VIEW_ON_SUBNET;
    const char *here = subnet_of(costs, machine), *central = subnet_of(costs, costs->central);
    return here != NULL && central != NULL && strcasecmp(here, central) == 0 ? VIEW_ON_SUBNET
                                                                             : VIEW_ON_NETWORK;
}

static double count_comparisons(const struct view_expression *expression)
{
    if (expression->kind != VIEW_AND && expression->kind != VIEW_OR)
        return 1;
    return count_comparisons(expression->left) + count_comparisons(expression->right);
}

double plan_share(const struct plan_world *world, const struct view_expression *expression,
                  uint32_t assumed)
{
    if (expression->kind != VIEW_AND && expression->kind != VIEW_OR) {
        uint32_t set = view_entities_of(world->conditions->view, expression);
        if ((set & assumed) != 0)
            return 1;
        bool one = set != 0 && (set & (set - 1)) == 0;
        return one ? world->places[__builtin_ctz(set)].selectivity : world->costs->selectivity;
    }
    double left = plan_share(world, expression->left, assumed);
    double right = plan_share(world, expression->right, assumed);
    return expression->kind == VIEW_AND ? left * right : 1 - (1 - left) * (1 - right);
}

bool plan_may_hold(const struct plan_world *world, const struct view_expression *expression,
                   uint32_t assumed)
{
    if (expression->kind == VIEW_AND)
        return plan_may_hold(world, expression->left, assumed) &&
               plan_may_hold(world, expression->right, assumed);
    if (expression->kind == VIEW_OR)
        return plan_may_hold(world, expression->left, assumed) ||
               plan_may_hold(world, expression->right, assumed);
    return (view_entities_of(world->conditions->view, expression) & assumed) != 0;
}

/* Records per second that a resident monitor can take from sensors, and that the way from it to the central monitor carries, as far
 * as costs say: one thread does either. 0: no limit. */
static double usual_reads(const struct view_costs *costs)
{
    return costs->receive > 0 ? 1e9 / costs->receive : 0;
}

static double usual_carries(const struct view_costs *costs, enum view_distance distance)
{
    double send = costs->messages[distance].send;

    return distance != VIEW_ON_MACHINE && send > 0 ? 1e9 / send : 0;
}

static void place(struct plan_world *world, uint32_t index)
{
    const struct view *view = world->conditions->view;
    const struct view_placed *placed = find_placed(world->costs, &view->entities[index]);
    struct plan_place *here = &world->places[index];

    *here = (struct plan_place){
        .machine = index,
        .process = index,
        .changes = placed != NULL ? placed->changes
                                  : view_usual_changes(world->costs, view->entities[index].builtin),
        .selectivity = placed != NULL ? placed->selectivity : world->costs->selectivity};
    here->to_central = distance(world->costs, placed != NULL ? placed->machine : "");
    here->sensor_passes = placed != NULL && placed->sensor_passes;
    here->reads = placed != NULL && placed->reads > 0 ? placed->reads : usual_reads(world->costs);
    here->carries = placed != NULL && placed->carries > 0
                        ? placed->carries
                        : usual_carries(world->costs, here->to_central);
    for (uint32_t i = 0; i < index && placed != NULL; i++) {
        const struct view_placed *other = find_placed(world->costs, &view->entities[i]);
        if (other == NULL || strcasecmp(other->machine, placed->machine) != 0)
            continue;
        here->machine = world->places[i].machine;
        if (other->process == placed->process && placed->process != 0)
            here->process = world->places[i].process;
    }
    if (here->machine == index && index > 0)
        world->several_machines = true;
}

static void estimate(struct plan_world *world, uint32_t index)
{
    const struct view_entity_conditions *of = &world->conditions->of[index];
    struct plan_place *here = &world->places[index];
    double none = 1;

    here->filtered = of->count > 0 && !of->raw;
    for (size_t i = 0; i < of->count; i++) {
        here->comparisons += count_comparisons(of->list[i]);
        none *= 1 - plan_share(world, of->list[i], 0);
    }
    const struct view_placed *placed =
        find_placed(world->costs, &world->conditions->view->entities[index]);
    double measured = placed != NULL ? placed->passes : 0;
    here->passes = !here->filtered ? 1 : measured > 0 ? measured : 1 - none;
    if (of->predicate)
        world->in_predicate |= 1u << index;
}

void plan_world_make(const struct view_conditions *conditions, const struct view_costs *costs,
                     struct plan_world *ret_world)
{
    struct plan_world world = {
        .conditions = conditions, .costs = costs, .count = conditions->view->entity_count};

    for (uint32_t i = 0; i < world.count; i++)
        place(&world, i);
    for (uint32_t i = 0; i < world.count; i++)
        estimate(&world, i);
    world.comparisons = count_comparisons(conditions->predicate);
    world.share = plan_share(&world, conditions->predicate, 0);
    *ret_world = world;
}

uint32_t plan_probed(const struct plan_world *world, const struct view_plan *plan)
{
    uint32_t probed = 0;

    for (uint32_t i = 0; i < world->count; i++)
        if (plan->parts[i].collection == VIEW_PROBED)
            probed |= 1u << i;
    return probed;
}
