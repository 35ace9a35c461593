/* SPDX-License-Identifier: MIT */
/*
 * causality_svg.c: the state diagram as an SVG 1.1 picture. See causality_face.h.
 *
 *      title
 *      arcs, states, and the labels of arcs above them, at the positions of causality_routes.c
 */
#include "show/causality/causality_face.h"
#include "show/text/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 60
#define LETTER 7.5 /* width at 12 px */
#define CORNER 9   /* radius */

static struct diagram_point size_of(const struct causality_diagram *diagram,
                                    const struct diagram_routes *routes)
{
    char title[STATE_TEXT_SIZE];

    diagram_title(diagram, title);
    double least = (double)strlen(title) * LETTER * 1.25 + MARGIN;
    return (struct diagram_point){routes->size.x > least ? routes->size.x : least, routes->size.y};
}

/* Each colour has a counterpart for dark backgrounds. Not by CSS variables, which many SVG viewers lack. */
static const char style[] =
    "svg{color-scheme:light dark}.paper{fill:#fff}.tip{fill:#333}"
    "text{font-family:sans-serif;font-size:12px;fill:#222}"
    ".heading{font-size:15px;font-weight:bold}.letter{font-size:15px;font-weight:bold}"
    ".small{font-size:10px;fill:#555}.state rect{fill:#eef3fa;stroke:#1f4e8c}"
    ".requestors rect{fill:#fdf1e4;stroke:#b3440e}"
    ".arc path{fill:none;stroke:#1f4e8c;marker-end:url(#head)}"
    ".reply path{stroke:#b3440e;stroke-dasharray:6 4}"
    ".words{font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:4px}\n"
    "@media screen and (prefers-color-scheme:dark){"
    ".paper{fill:#15181c}.tip{fill:#c9ced6}text{fill:#e4e7eb}.small{fill:#9aa4b1}"
    ".state rect{fill:#1d2a3b;stroke:#7fb0ea}.requestors rect{fill:#3a281b;stroke:#f0935c}"
    ".arc path{stroke:#7fb0ea}.reply path{stroke:#f0935c}.words{stroke:#15181c}}";

static void draw_head(const struct causality_diagram *diagram, const struct diagram_routes *routes,
                      FILE *file)
{
    struct diagram_point size = size_of(diagram, routes);
    char title[STATE_TEXT_SIZE];

    diagram_title(diagram, title);
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\">\n<title>",
            size.x, size.y, size.x, size.y);
    xml_text(file, title);
    fprintf(file,
            "</title>\n<style>%s</style>\n<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" "
            "refY=\"4\" markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" "
            "orient=\"auto\"><path class=\"tip\" d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n"
            "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n"
            "<text class=\"heading\" x=\"12\" y=\"24\">",
            style);
    xml_text(file, title);
    fputs(
        "</text>\n<text x=\"12\" y=\"46\">A box is a process that has a request, and whom it came "
        "from. Of all that it then sends to server processes, the share and the count. Dashed: "
        "replies.</text>\n",
        file);
}

static void draw_state(const struct causality_diagram *diagram, const struct diagram_routes *routes,
                       size_t index, FILE *file)
{
    const struct causality_state *state = &diagram->states[index];
    char letter[STATE_TEXT_SIZE], after[STATE_TEXT_SIZE], name[STATE_TEXT_SIZE];
    struct diagram_point at = routes->states[index];

    state_text(state, letter, after);
    letter_name(diagram->causality, letter, name);
    fprintf(file,
            "<g class=\"state%s\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
            "rx=\"9\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\"><tspan class=\"letter\">",
            index == 0 ? " requestors" : "", at.x, at.y, DIAGRAM_STATE_WIDE, DIAGRAM_STATE_HIGH,
            at.x + DIAGRAM_STATE_WIDE / 2.0, at.y + (after[0] == '\0' ? 30 : 22));
    xml_text(file, letter);
    fputs("</tspan> ", file);
    xml_text(file, name);
    fputs("</text>", file);
    if (after[0] != '\0') {
        fprintf(file, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                at.x + DIAGRAM_STATE_WIDE / 2.0, at.y + 40);
        xml_text(file, after);
        fputs("</text>", file);
    }
    fputs("</g>\n", file);
}

/* A point towards the next one, CORNER away but at most half the way. */
static struct diagram_point towards(struct diagram_point from, struct diagram_point to)
{
    double length = fabs(to.x - from.x) + fabs(to.y - from.y);
    double part = length < 2 * CORNER ? 0.5 : CORNER / length;

    return (struct diagram_point){from.x + (to.x - from.x) * part, from.y + (to.y - from.y) * part};
}

static void draw_way(const struct diagram_route *route, FILE *file)
{
    const struct diagram_point *at = route->at;

    fprintf(file, "M%.1f,%.1f", at[0].x, at[0].y);
    if (route->curved) {
        fprintf(file, " C%.1f,%.1f %.1f,%.1f %.1f,%.1f", at[1].x, at[1].y, at[2].x, at[2].y,
                at[3].x, at[3].y);
        return;
    }
    for (unsigned i = 1; i + 1 < route->count; i++) {
        struct diagram_point before = towards(at[i], at[i - 1]), behind = towards(at[i], at[i + 1]);
        fprintf(file, " L%.1f,%.1f Q%.1f,%.1f %.1f,%.1f", before.x, before.y, at[i].x, at[i].y,
                behind.x, behind.y);
    }
    fprintf(file, " L%.1f,%.1f", at[route->count - 1].x, at[route->count - 1].y);
}

static void draw_arc(const struct causality_arc *arc, const struct diagram_route *route, FILE *file)
{
    fprintf(file, "<g class=\"arc%s\"><path stroke-width=\"%.1f\" d=\"",
            arc->of == 0 ? " reply" : "", 1 + 3 * show_share(arc->count, arc->of));
    draw_way(route, file);
    fputs("\"/></g>\n", file);
}

static void draw_words(const struct causality_arc *arc, const struct diagram_route *route,
                       FILE *file)
{
    char text[STATE_TEXT_SIZE];

    arc_text(arc, text);
    fprintf(file, "<text class=\"words\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">",
            route->words.x, route->words.y);
    xml_text(file, text);
    fputs("</text>\n", file);
}

int causality_diagram_svg(const struct causality_diagram *diagram, FILE *file)
{
    struct diagram_routes routes;
    int result = diagram_routes_find(diagram, &routes);

    if (result < 0)
        return result;
    draw_head(diagram, &routes, file);
    for (size_t i = 0; i < diagram->arc_count; i++)
        draw_arc(&diagram->arcs[i], &routes.arcs[i], file);
    for (size_t i = 0; i < diagram->state_count; i++)
        draw_state(diagram, &routes, i, file);
    for (size_t i = 0; i < diagram->arc_count; i++)
        draw_words(&diagram->arcs[i], &routes.arcs[i], file);
    fputs("</svg>\n", file);
    diagram_routes_done(&routes);
    return 0;
}
