/* SPDX-License-Identifier: MIT */
/*
 * causality_svg.c: the state diagram as a picture, SVG 1.1. See causality_face.h.
 *
 *      title
 *      layer 0          layer 1           layer 2
 *      (requestors) --> [A nginx[12]] --> [B nginx[14]]      to the right above; back, below
 *            ^----------------'  ^----------------'
 */
#include "show/causality_face.h"

#include <stdlib.h>
#include <string.h>

#define LEFT   30
#define TOP    90
#define WIDTH  190 /* of a state */
#define HEIGHT 50
#define GAP_X  190 /* to the next layer: arcs and their words */
#define GAP_Y  70
#define MARGIN 60
#define LETTER 7.5 /* wide, at 12 px */

static void put_text(FILE *file, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        const char *escaped = *at == '&'    ? "&amp;"
                              : *at == '<'  ? "&lt;"
                              : *at == '>'  ? "&gt;"
                              : *at == '"'  ? "&quot;"
                              : *at == '\'' ? "&#39;"
                                            : NULL;
        if (escaped != NULL)
            fputs(escaped, file);
        else if (strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0)
            at += 2; /* XML does not have these */
        else
            fputc(*at, file);
    }
}

struct point {
    double x, y;
};

/* The upper left corner of a state. */
static struct point corner(const struct causality_state *state)
{
    return (struct point){LEFT + state->layer * (double)(WIDTH + GAP_X),
                          TOP + (double)state->place * (HEIGHT + GAP_Y)};
}

static struct point size_of(const struct causality_diagram *diagram)
{
    size_t places = 0;
    char title[STATE_TEXT_SIZE];

    for (size_t i = 0; i < diagram->state_count; i++)
        if (diagram->states[i].place + 1 > places)
            places = diagram->states[i].place + 1;
    diagram_title(diagram, title);
    double least = (double)strlen(title) * LETTER * 1.25 + MARGIN;
    double width = LEFT + diagram->layers * (double)(WIDTH + GAP_X) + MARGIN;
    return (struct point){width > least ? width : least,
                          TOP + (double)places * (HEIGHT + GAP_Y) + 2 * MARGIN};
}

static void draw_head(const struct causality_diagram *diagram, FILE *file)
{
    static const char style[] =
        "text{font-family:sans-serif;font-size:12px;fill:#222}"
        ".heading{font-size:15px;font-weight:bold}.letter{font-size:15px;font-weight:bold}"
        ".small{font-size:10px;fill:#555}.state rect{fill:#eef3fa;stroke:#1f4e8c}"
        ".requestors rect{fill:#fdf1e4;stroke:#b3440e}"
        ".arc path{fill:none;stroke:#1f4e8c;marker-end:url(#head)}"
        ".reply path{stroke:#b3440e;stroke-dasharray:6 4}"
        ".words{font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:4px}";
    struct point size = size_of(diagram);
    char title[STATE_TEXT_SIZE];

    diagram_title(diagram, title);
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\">\n<title>",
            size.x, size.y, size.x, size.y);
    put_text(file, title);
    fprintf(file,
            "</title>\n<style>%s</style>\n<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" "
            "refY=\"4\" markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" "
            "orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#333\"/></marker></defs>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text class=\"heading\" x=\"12\" y=\"24\">",
            style);
    put_text(file, title);
    fputs(
        "</text>\n<text x=\"12\" y=\"46\">A box is a process that has a request, and whom it came "
        "from. Of all that it then sends to server processes, the share and the count. Dashed: "
        "replies.</text>\n",
        file);
}

static void draw_state(const struct causality_diagram *diagram, size_t index, FILE *file)
{
    const struct causality_state *state = &diagram->states[index];
    char letter[STATE_TEXT_SIZE], after[STATE_TEXT_SIZE], name[STATE_TEXT_SIZE];
    struct point at = corner(state);

    state_text(state, letter, after);
    letter_name(diagram->causality, letter, name);
    fprintf(file,
            "<g class=\"state%s\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
            "rx=\"9\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\"><tspan class=\"letter\">",
            index == 0 ? " requestors" : "", at.x, at.y, WIDTH, HEIGHT, at.x + WIDTH / 2.0,
            at.y + (after[0] == '\0' ? 30 : 22));
    put_text(file, letter);
    fputs("</tspan> ", file);
    put_text(file, name);
    fputs("</text>", file);
    if (after[0] != '\0') {
        fprintf(file, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                at.x + WIDTH / 2.0, at.y + 40);
        put_text(file, after);
        fputs("</text>", file);
    }
    fputs("</g>\n", file);
}

/* Where an arc begins and ends, how it swings out, and where its words stand. */
struct course {
    struct point from, bend_from, bend_to, to;
};

/* To the right, from side to side; back or down, from below to below; to itself, a loop above. */
static struct course course_of(const struct causality_diagram *diagram,
                               const struct causality_arc *arc)
{
    const struct causality_state *from = &diagram->states[arc->from];
    const struct causality_state *to = &diagram->states[arc->to];
    struct point a = corner(from);
    struct point b = corner(to);

    if (arc->from == arc->to)
        return (struct course){{a.x + WIDTH * 0.35, a.y},
                               {a.x + WIDTH * 0.25, a.y - 42},
                               {a.x + WIDTH * 0.75, a.y - 42},
                               {a.x + WIDTH * 0.65, a.y}};
    if (to->layer > from->layer) {
        double bend = (b.x - a.x - WIDTH) / 2;
        return (struct course){{a.x + WIDTH, a.y + HEIGHT / 2.0},
                               {a.x + WIDTH + bend, a.y + HEIGHT / 2.0},
                               {b.x - bend, b.y + HEIGHT / 2.0},
                               {b.x, b.y + HEIGHT / 2.0}};
    }
    double below = (a.y > b.y ? a.y : b.y) + HEIGHT + 34;
    double shift = from->layer == to->layer ? WIDTH * 0.25 : 0;
    return (struct course){{a.x + WIDTH * 0.5 - shift, a.y + HEIGHT},
                           {a.x + WIDTH * 0.4 - shift, below},
                           {b.x + WIDTH * 0.6 + shift, below},
                           {b.x + WIDTH * 0.5 + shift, b.y + HEIGHT}};
}

static double middle(double a, double b, double c, double d)
{
    return (a + 3 * b + 3 * c + d) / 8;
}

static void draw_arc(const struct causality_diagram *diagram, size_t index, FILE *file)
{
    const struct causality_arc *arc = &diagram->arcs[index];
    struct course way = course_of(diagram, arc);
    char text[STATE_TEXT_SIZE];

    arc_text(arc, text);
    fprintf(file,
            "<g class=\"arc%s\"><path stroke-width=\"%.1f\" d=\"M%.1f,%.1f C%.1f,%.1f %.1f,%.1f "
            "%.1f,%.1f\"/><text class=\"words\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">",
            arc->of == 0 ? " reply" : "", 1 + 3 * show_share(arc->count, arc->of), way.from.x,
            way.from.y, way.bend_from.x, way.bend_from.y, way.bend_to.x, way.bend_to.y, way.to.x,
            way.to.y, middle(way.from.x, way.bend_from.x, way.bend_to.x, way.to.x),
            middle(way.from.y, way.bend_from.y, way.bend_to.y, way.to.y) - 5);
    put_text(file, text);
    fputs("</text></g>\n", file);
}

int causality_diagram_svg(const struct causality_diagram *diagram, FILE *file)
{
    draw_head(diagram, file);
    for (size_t i = 0; i < diagram->arc_count; i++)
        draw_arc(diagram, i, file);
    for (size_t i = 0; i < diagram->state_count; i++)
        draw_state(diagram, i, file);
    fputs("</svg>\n", file);
    return 0;
}
