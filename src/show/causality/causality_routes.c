/* SPDX-License-Identifier: MIT */
/*
 * causality_routes.c: coordinates of a diagram: its states, the routes of its arcs, and their labels. See
 * causality_face.h.
 *
 *      layer 0     beside    layer 1
 *      [state]===.========>[state] row 0      to the right: a curve from side to side
 *         ^       '=======>   |               back, or in the same layer: between the rows ("below") and
 *         '--- lane of its own'  below        the layers ("beside"), each in a lane of its own, so that
 *                 |                           no arc runs behind a state or along another arc
 *      [state]    '------->[state] row 1
 *
 * A label takes the first position along its arc where it overlaps no state and no other label.
 */
#include "show/causality/causality_face.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEFT        30
#define TOP         90
#define GAP_X       190 /* minimum distance between layers */
#define GAP_Y       50  /* minimum distance between rows */
#define MARGIN      60
#define LANE        16 /* distance between lanes; leaves space for labels */
#define LETTER_WIDE 6.5
#define LETTER_HIGH 13

/* ---- positions of states ---- */

struct layout {
    const struct causality_diagram *diagram;
    struct diagram_routes *routes;
    size_t rows;
    double *row_y, *layer_x;     /* [rows + 1], [layers + 1] */
    unsigned *below, *beside;    /* lanes used below each row, and beside each layer */
    struct diagram_point *words; /* [arc_count] centres of the labels placed so far */
    size_t word_count;
};

static bool goes_right(const struct causality_diagram *diagram, const struct causality_arc *arc)
{
    return diagram->states[arc->to].layer > diagram->states[arc->from].layer;
}

static bool goes_back(const struct causality_diagram *diagram, const struct causality_arc *arc)
{
    return arc->from != arc->to && !goes_right(diagram, arc);
}

/* Counts the lanes per row and layer. lead_back hands them out later, in the same order. */
static void count_lanes(struct layout *layout)
{
    const struct causality_diagram *diagram = layout->diagram;

    for (size_t i = 0; i < diagram->arc_count; i++) {
        const struct causality_arc *arc = &diagram->arcs[i];
        const struct causality_state *from = &diagram->states[arc->from];
        const struct causality_state *to = &diagram->states[arc->to];
        if (!goes_back(diagram, arc))
            continue;
        layout->below[from->place]++;
        if (from->place != to->place) {
            layout->below[to->place]++;
            layout->beside[to->layer]++;
        }
    }
}

static void place_rows(struct layout *layout)
{
    const struct causality_diagram *diagram = layout->diagram;

    layout->row_y[0] = TOP;
    for (size_t i = 0; i < layout->rows; i++)
        layout->row_y[i + 1] =
            layout->row_y[i] + DIAGRAM_STATE_HIGH + GAP_Y + LANE * layout->below[i];
    layout->layer_x[0] = LEFT;
    for (size_t i = 0; i < diagram->layers; i++)
        layout->layer_x[i + 1] =
            layout->layer_x[i] + DIAGRAM_STATE_WIDE + GAP_X + LANE * layout->beside[i];
    for (size_t i = 0; i < diagram->state_count; i++)
        layout->routes->states[i] = (struct diagram_point){
            layout->layer_x[diagram->states[i].layer], layout->row_y[diagram->states[i].place]};
    memset(layout->below, 0, layout->rows * sizeof(*layout->below));
    memset(layout->beside, 0, diagram->layers * sizeof(*layout->beside));
}

/* ---- points where arcs leave and enter a state ---- */

enum side { SIDE_LEFT, SIDE_RIGHT, SIDE_BELOW, SIDE_NONE };

static enum side side_of_end(const struct causality_diagram *diagram,
                             const struct causality_arc *arc, bool end)
{
    if (arc->from == arc->to)
        return SIDE_NONE;
    return !goes_right(diagram, arc) ? SIDE_BELOW : end ? SIDE_LEFT : SIDE_RIGHT;
}

/* Sort key of an arc's end on one side of a state: the position of the other end, so that few arcs cross. */
static size_t order_of_end(const struct causality_diagram *diagram, size_t arc, bool end)
{
    const struct causality_arc *at = &diagram->arcs[arc];
    const struct causality_state *other = &diagram->states[end ? at->from : at->to];
    size_t major =
        side_of_end(diagram, at, end) == SIDE_BELOW ? other->layer : (size_t)other->place;

    return (major * 2 + end) * (diagram->arc_count + 1) + arc;
}

/* Spreads the arcs evenly along one side of a state. */
static struct diagram_point place_of_end(const struct layout *layout, size_t arc, bool end)
{
    const struct causality_diagram *diagram = layout->diagram;
    const struct causality_arc *at = &diagram->arcs[arc];
    size_t state = end ? at->to : at->from;
    enum side side = side_of_end(diagram, at, end);
    size_t own = order_of_end(diagram, arc, end), before = 0, all = 0;

    for (size_t i = 0; i < diagram->arc_count; i++)
        for (int k = 0; k < 2; k++) {
            const struct causality_arc *other = &diagram->arcs[i];
            if ((k ? other->to : other->from) != state || side_of_end(diagram, other, k) != side)
                continue;
            all++;
            before += order_of_end(diagram, i, k) < own;
        }
    struct diagram_point corner = layout->routes->states[state];
    double share = (double)(before + 1) / (double)(all + 1);
    if (side == SIDE_BELOW)
        return (struct diagram_point){corner.x + DIAGRAM_STATE_WIDE * share,
                                      corner.y + DIAGRAM_STATE_HIGH};
    return (struct diagram_point){corner.x + (side == SIDE_RIGHT ? DIAGRAM_STATE_WIDE : 0),
                                  corner.y + DIAGRAM_STATE_HIGH * share};
}

/* ---- routes ---- */

static void lead_to_itself(const struct layout *layout, size_t state, struct diagram_route *route)
{
    struct diagram_point at = layout->routes->states[state];

    route->curved = true;
    route->count = 4;
    route->at[0] = (struct diagram_point){at.x + DIAGRAM_STATE_WIDE * 0.35, at.y};
    route->at[1] = (struct diagram_point){at.x + DIAGRAM_STATE_WIDE * 0.25, at.y - 42};
    route->at[2] = (struct diagram_point){at.x + DIAGRAM_STATE_WIDE * 0.75, at.y - 42};
    route->at[3] = (struct diagram_point){at.x + DIAGRAM_STATE_WIDE * 0.65, at.y};
}

static void lead_right(struct diagram_point from, struct diagram_point to,
                       struct diagram_route *route)
{
    double bend = (to.x - from.x) / 2;

    route->curved = true;
    route->count = 4;
    route->at[0] = from;
    route->at[1] = (struct diagram_point){from.x + bend, from.y};
    route->at[2] = (struct diagram_point){to.x - bend, to.y};
    route->at[3] = to;
}

static double lane_below(struct layout *layout, size_t row)
{
    return layout->row_y[row] + DIAGRAM_STATE_HIGH + LANE * (1.2 + layout->below[row]++);
}

/* Down to the lane below its row, along it, and up again. To another row, it changes lanes between the layers. */
static void lead_back(struct layout *layout, const struct causality_arc *arc,
                      struct diagram_point from, struct diagram_point to,
                      struct diagram_route *route)
{
    const struct causality_state *source = &layout->diagram->states[arc->from];
    const struct causality_state *target = &layout->diagram->states[arc->to];
    double first = lane_below(layout, source->place), last = first, between = to.x;

    if (source->place != target->place) {
        last = lane_below(layout, target->place);
        between = layout->layer_x[target->layer] + DIAGRAM_STATE_WIDE +
                  LANE * (1.2 + layout->beside[target->layer]++);
    }
    route->at[route->count++] = from;
    route->at[route->count++] = (struct diagram_point){from.x, first};
    if (source->place != target->place) {
        route->at[route->count++] = (struct diagram_point){between, first};
        route->at[route->count++] = (struct diagram_point){between, last};
    }
    route->at[route->count++] = (struct diagram_point){to.x, last};
    route->at[route->count++] = to;
}

static void lead(struct layout *layout, size_t index)
{
    const struct causality_arc *arc = &layout->diagram->arcs[index];
    struct diagram_route *route = &layout->routes->arcs[index];

    if (arc->from == arc->to) {
        lead_to_itself(layout, arc->from, route);
        return;
    }
    struct diagram_point from = place_of_end(layout, index, false);
    struct diagram_point to = place_of_end(layout, index, true);
    if (goes_right(layout->diagram, arc))
        lead_right(from, to, route);
    else
        lead_back(layout, arc, from, to, route);
}

/* ---- labels ---- */

/* A point on the route: on a curve, by its parameter; else on the segment along the first lane. */
static struct diagram_point point_on(const struct diagram_route *route, double share)
{
    const struct diagram_point *at = route->at;
    double rest = 1 - share;

    if (!route->curved)
        return (struct diagram_point){at[1].x * rest + at[2].x * share, at[1].y};
    double a = rest * rest * rest, b = 3 * rest * rest * share, c = 3 * rest * share * share,
           d = share * share * share;
    return (struct diagram_point){a * at[0].x + b * at[1].x + c * at[2].x + d * at[3].x,
                                  a * at[0].y + b * at[1].y + c * at[2].y + d * at[3].y};
}

static bool overlap(double from, double to, double other_from, double other_to)
{
    return from < other_to && other_from < to;
}

/* Whether a label with this centre is free of other labels and of states. `half`: half its width. */
static bool is_free(const struct layout *layout, struct diagram_point middle, double half)
{
    for (size_t i = 0; i < layout->word_count; i++) {
        const struct diagram_point *other = &layout->words[i];
        double other_half = layout->routes->arcs[i].words_wide / 2;
        if (overlap(middle.x - half, middle.x + half, other->x - other_half,
                    other->x + other_half) &&
            overlap(middle.y, middle.y + LETTER_HIGH, other->y, other->y + LETTER_HIGH))
            return false;
    }
    for (size_t i = 0; i < layout->diagram->state_count; i++) {
        const struct diagram_point *state = &layout->routes->states[i];
        if (overlap(middle.x - half, middle.x + half, state->x, state->x + DIAGRAM_STATE_WIDE) &&
            overlap(middle.y - LETTER_HIGH, middle.y, state->y, state->y + DIAGRAM_STATE_HIGH))
            return false;
    }
    return true;
}

static void place_words(struct layout *layout, size_t index)
{
    static const double shares[] = {0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82};
    struct diagram_route *route = &layout->routes->arcs[index];
    char text[STATE_TEXT_SIZE];

    arc_text(&layout->diagram->arcs[index], text);
    route->words_wide = (double)strlen(text) * LETTER_WIDE;
    route->words = point_on(route, shares[0]);
    for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
        struct diagram_point point = point_on(route, shares[i]);
        point.y -= 4;
        if (is_free(layout, point, route->words_wide / 2)) {
            route->words = point;
            break;
        }
    }
    layout->words[layout->word_count++] = route->words;
}

/* ---- everything together ---- */

static int make_layout(struct layout *layout)
{
    const struct causality_diagram *diagram = layout->diagram;

    for (size_t i = 0; i < diagram->state_count; i++)
        if (diagram->states[i].place + 1UL > layout->rows)
            layout->rows = diagram->states[i].place + 1UL;
    layout->row_y = calloc(layout->rows + 1, sizeof(*layout->row_y));
    layout->layer_x = calloc(diagram->layers + 1UL, sizeof(*layout->layer_x));
    layout->below = calloc(layout->rows + 1, sizeof(*layout->below));
    layout->beside = calloc(diagram->layers + 1UL, sizeof(*layout->beside));
    layout->words = calloc(diagram->arc_count + 1, sizeof(*layout->words));
    layout->routes->states = calloc(diagram->state_count + 1, sizeof(*layout->routes->states));
    layout->routes->arcs = calloc(diagram->arc_count + 1, sizeof(*layout->routes->arcs));
    return layout->row_y == NULL || layout->layer_x == NULL || layout->below == NULL ||
                   layout->beside == NULL || layout->words == NULL ||
                   layout->routes->states == NULL || layout->routes->arcs == NULL
               ? -ENOMEM
               : 0;
}

int diagram_routes_find(const struct causality_diagram *diagram, struct diagram_routes *ret_routes)
{
    struct layout layout = {.diagram = diagram, .routes = ret_routes};

    *ret_routes = (struct diagram_routes){0};
    int result = make_layout(&layout);
    if (result == 0) {
        count_lanes(&layout);
        place_rows(&layout);
        for (size_t i = 0; i < diagram->arc_count; i++)
            lead(&layout, i);
        for (size_t i = 0; i < diagram->arc_count; i++)
            place_words(&layout, i);
        ret_routes->size = (struct diagram_point){layout.layer_x[diagram->layers] - GAP_X + MARGIN,
                                                  layout.row_y[layout.rows] + MARGIN / 2.0};
    } else {
        diagram_routes_done(ret_routes);
    }
    free(layout.row_y);
    free(layout.layer_x);
    free(layout.below);
    free(layout.beside);
    free(layout.words);
    return result;
}

void diagram_routes_done(struct diagram_routes *routes)
{
    free(routes->states);
    free(routes->arcs);
    *routes = (struct diagram_routes){0};
}
