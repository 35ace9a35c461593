/* SPDX-License-Identifier: MIT */
/*
 * causality_routes_test.c: in random diagrams no backward arc crosses a state, no arc lies on another one, and states
 * do not overlap.
 *
 *      random states and arcs --> diagram_routes_find --> every horizontal or vertical part against every state
 */
#include "show/causality/causality_face.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "seeded.h"

#define STATES 20
#define ARCS   40

struct part {
    double left, top, right, bottom;
};

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* Part `index` of a route with corners. */
static struct part part_of(const struct diagram_route *route, unsigned index)
{
    struct diagram_point a = route->at[index], b = route->at[index + 1];

    assert_true(a.x == b.x || a.y == b.y);
    return (struct part){least(a.x, b.x), least(a.y, b.y), most(a.x, b.x), most(a.y, b.y)};
}

static bool meet(struct part a, struct part b)
{
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/* Whether both parts are horizontal, or both vertical, and one lies on the other. */
static bool run_together(struct part a, struct part b)
{
    bool level = a.top == a.bottom && b.top == b.bottom && a.top == b.top;
    bool upright = a.left == a.right && b.left == b.right && a.left == b.left;

    return (level && a.left < b.right && b.left < a.right) ||
           (upright && a.top < b.bottom && b.top < a.bottom);
}

static struct part box_of(const struct diagram_routes *routes, size_t state)
{
    struct diagram_point at = routes->states[state];

    return (struct part){at.x, at.y, at.x + DIAGRAM_STATE_WIDE, at.y + DIAGRAM_STATE_HIGH};
}

static void make_diagram(struct causality_diagram *diagram, uint64_t *seed)
{
    size_t places[4] = {0};

    diagram->layers = 4;
    diagram->state_count = 2 + random_below(seed, STATES - 1);
    diagram->arc_count = random_below(seed, ARCS + 1);
    for (size_t i = 0; i < diagram->state_count; i++) {
        struct causality_state *state = &diagram->states[i];
        state->layer = i == 0 ? 0 : 1 + (unsigned)random_below(seed, 3);
        state->place = places[state->layer]++;
    }
    for (size_t i = 0; i < diagram->arc_count; i++)
        diagram->arcs[i] = (struct causality_arc){random_below(seed, diagram->state_count),
                                                  random_below(seed, diagram->state_count),
                                                  random_below(seed, 1000), 1000};
}

static void assert_clear(const struct causality_diagram *diagram,
                         const struct diagram_routes *routes, size_t arc, struct part part)
{
    for (size_t i = 0; i < diagram->state_count; i++)
        assert_false(meet(part, box_of(routes, i)));
    for (size_t i = 0; i < arc; i++)
        for (unsigned k = 0; !routes->arcs[i].curved && k + 1 < routes->arcs[i].count; k++)
            assert_false(run_together(part, part_of(&routes->arcs[i], k)));
}

static void random_diagrams(void **state)
{
    uint64_t seed = seed_of_run("random diagrams");

    (void)state;
    for (int round = 0; round < 500; round++) {
        struct causality_state states[STATES + 1] = {0};
        struct causality_arc arcs[ARCS];
        struct causality_diagram diagram = {.states = states, .arcs = arcs};
        struct diagram_routes routes;
        make_diagram(&diagram, &seed);
        assert_int_equal(diagram_routes_find(&diagram, &routes), 0);
        for (size_t i = 0; i < diagram.state_count; i++)
            for (size_t k = 0; k < i; k++)
                assert_false(meet(box_of(&routes, i), box_of(&routes, k)));
        for (size_t i = 0; i < diagram.arc_count; i++)
            for (unsigned k = 0; !routes.arcs[i].curved && k + 1 < routes.arcs[i].count; k++)
                assert_clear(&diagram, &routes, i, part_of(&routes.arcs[i], k));
        diagram_routes_done(&routes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_diagrams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
