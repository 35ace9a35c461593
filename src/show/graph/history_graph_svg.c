/* SPDX-License-Identifier: MIT */
/*
 * history_graph_svg.c: the program history as an SVG 1.1 picture. See show.h.
 *
 *      title
 *      legend
 *                server[12]        client[13]
 *      0 ms  --------|-------------------o----
 *      1 ms  --------o <-----------------|----
 */
#include "show/graph/history_graph.h"
#include "show/text/xml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LEFT        120 /* for the time scale */
#define TOP         190
#define MARGIN      40
#define LINE_WIDTH  70
#define WIDE_LINE   140 /* with labels at both sides */
#define COLUMN_GAP  30
#define LETTER      7.5 /* width at 12 px */
#define LEAST_WIDTH 1100
#define EVENT_GAP   16 /* px of height per event ... */
#define LEAST_HIGH  400
#define MOST_HIGH   30000 /* ... up to this height */
#define TICK_GAP    60

struct picture {
    const struct history_graph *graph;
    FILE *file;
    int64_t begin; /* of the time shown */
    int64_t end;
    double height; /* of the area with the time axis */
    double width;
    double line_width;
    double *columns; /* [column]: x of its first line */
};

/* ---- text ---- */

static void put_title(FILE *file, const char *text)
{
    fputs("<title>", file);
    xml_text(file, text);
    fputs("</title>", file);
}

/* ---- positions ---- */

static double larger(double value, double other)
{
    return value > other ? value : other;
}

static double column_width(const struct picture *picture, size_t column)
{
    const struct history_graph *graph = picture->graph;
    char name[GRAPH_TEXT_SIZE];

    graph_column_name(graph, &graph->columns[column], name);
    double text = (double)strlen(name) * LETTER;
    double lines = (double)graph->columns[column].line_count * picture->line_width;
    return larger(text, lines);
}

static double place_columns(struct picture *picture)
{
    double x = LEFT;

    for (size_t i = 0; i < picture->graph->column_keys.count; i++) {
        double width = column_width(picture, i);
        double lines = (double)(picture->graph->columns[i].line_count - 1) * picture->line_width;
        picture->columns[i] = x + (width - lines) / 2;
        x += width + COLUMN_GAP;
    }
    return x;
}

static double line_x(const struct picture *picture, size_t index)
{
    const struct graph_line *line = &picture->graph->lines[index];

    return picture->columns[line->column] + (double)line->place * picture->line_width;
}

static double time_y(const struct picture *picture, int64_t time)
{
    double span = (double)(picture->end - picture->begin);
    double part = span > 0 ? (double)(time - picture->begin) / span : 0;

    return TOP + picture->height * (part < 0 ? 0 : part > 1 ? 1 : part);
}

/* ---- the frame ---- */

/* Each colour has a counterpart for dark backgrounds. Not by CSS variables, which many SVG viewers lack. */
static const char style[] =
    "svg{color-scheme:light dark}.paper{fill:#fff}.tip{fill:#333}"
    "text{font-family:sans-serif;font-size:12px;fill:#222}"
    ".heading{font-size:15px;font-weight:bold}.column{font-weight:bold}"
    ".tick{stroke:#ddd}.scale{text-anchor:end;fill:#444}.small{font-size:10px;fill:#555}"
    ".life{stroke:#777;stroke-width:1.5}.event circle{fill:#1f4e8c;stroke:#fff}"
    ".event.receive circle{fill:#b3440e}.event.other circle{fill:#666}"
    ".key path{fill:none;stroke-width:1.3}"
    ".arc{fill:none;stroke:#1f4e8c;stroke-width:1.3;marker-end:url(#head)}"
    ".line{stroke:#1f4e8c}"
    ".ordered,.room,.file{stroke-dasharray:7 4}"
    ".inferred,.wakeup,.collective{stroke-dasharray:1.5 4}"
    ".arc.answer,.line.answer{stroke:#8a3d9c}.file{stroke:#9a6b1f}"
    ".creation,.termination,.room,.connection,.end,.wakeup,.collective{stroke:#5b7f2b}"
    ".life.critical,.arc.critical,.line.critical{stroke:#d3182b;stroke-width:3}"
    ".event.critical circle{stroke:#d3182b;stroke-width:2}"
    ".wait{fill-opacity:0.55}";
static const char dark_style[] =
    ".paper{fill:#15181c}.tip{fill:#c9ced6}"
    "text{fill:#e4e7eb}.tick{stroke:#363c45}.scale{fill:#b8c0ca}.small{fill:#9aa4b1}"
    ".life{stroke:#8a93a0}.event circle{fill:#7fb0ea;stroke:#15181c}"
    ".event.receive circle{fill:#f0935c}.event.other circle{fill:#a0a8b3}"
    ".arc{stroke:#7fb0ea}.line{stroke:#7fb0ea}"
    ".creation,.termination,.room,.connection,.end,.wakeup,.collective{stroke:#a3cc6a}"
    ".arc.answer,.line.answer{stroke:#cf8fe0}.file{stroke:#e0b35f}"
    ".life.critical,.arc.critical,.line.critical{stroke:#ff6b7d}.event.critical "
    "circle{stroke:#ff6b7d}";

static void put_style(FILE *file)
{
    fprintf(file, "\n<style>%s", style);
    for (int kind = 0; kind < WAIT_KIND_COUNT; kind++)
        fprintf(file, ".wait%d{fill:%s}", kind, graph_wait_look((enum wait_kind)kind)->light);
    fprintf(file, "\n@media screen and (prefers-color-scheme:dark){%s", dark_style);
    for (int kind = 0; kind < WAIT_KIND_COUNT; kind++)
        fprintf(file, ".wait%d{fill:%s}", kind, graph_wait_look((enum wait_kind)kind)->dark);
    fputs("}</style>\n", file);
}

static void draw_head(const struct picture *picture)
{
    char text[GRAPH_TEXT_SIZE];
    double height = TOP + picture->height + MARGIN;

    graph_title(picture->graph, text);
    fprintf(picture->file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\">\n",
            picture->width, height, picture->width, height);
    put_title(picture->file, text);
    put_style(picture->file);
    fputs("<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
          "markerUnits=\"userSpaceOnUse\" markerWidth=\"9\" markerHeight=\"9\" orient=\"auto\">"
          "<path class=\"tip\" d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n"
          "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
          "<text class=\"heading\" x=\"12\" y=\"24\">",
          picture->file);
    xml_text(picture->file, text);
    fputs("</text>\n", picture->file);
}

/* Where the next key of the legend goes. */
struct place {
    double x;
    int y; /* of its text */
};

#define FIRST_KEY ((struct place){12, 50})
#define KEY_ROW   20

/* Takes the place of a key with a text behind a shape of so much width. */
static struct place take_place(struct place *next, double shape, const char *text)
{
    double width = shape + (double)strlen(text) * LETTER + 20;

    if (next->x + width > LEAST_WIDTH) {
        next->x = FIRST_KEY.x;
        next->y += KEY_ROW;
    }
    struct place taken = *next;
    next->x += width;
    return taken;
}

static void draw_event_keys(const struct picture *picture, struct place *next)
{
    static const struct {
        const char *shape;
        const char *text;
    } events[] = {{"send", "SEND"}, {"receive", "RECEIVE"}, {"other", "another event"}};

    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        struct place at = take_place(next, 14, events[i].text);
        fprintf(picture->file,
                "<g class=\"key event %s\"><circle cx=\"%.1f\" cy=\"%d\" r=\"4\"/>"
                "<text x=\"%.1f\" y=\"%d\">%s</text></g>\n",
                events[i].shape, at.x + 4, at.y - 4, at.x + 14, at.y, events[i].text);
    }
    struct place at = take_place(next, 0, WAY_LABEL ": " WAY_TEXT);
    fprintf(picture->file, "<g class=\"key\"><text x=\"%.1f\" y=\"%d\">%s</text></g>\n", at.x, at.y,
            WAY_LABEL ": " WAY_TEXT);
}

static void draw_legend(const struct picture *picture)
{
    struct place next = FIRST_KEY;

    fputs("<g id=\"legend\">\n", picture->file);
    for (int kind = 0; kind < ARC_KIND_COUNT; kind++) {
        const struct arc_look *look = graph_arc_look((enum arc_kind)kind);
        struct place at = take_place(&next, 40, look->text);
        fprintf(picture->file,
                "<g class=\"key\"><path class=\"line %s\" d=\"M%.1f,%d h34\"/>"
                "<text x=\"%.1f\" y=\"%d\">%s</text></g>\n",
                look->class, at.x, at.y - 4, at.x + 40, at.y, look->text);
    }
    for (int kind = 0; kind < WAIT_KIND_COUNT; kind++) {
        const char *text = graph_wait_look((enum wait_kind)kind)->text;
        struct place at = take_place(&next, 20, text);
        fprintf(picture->file,
                "<g class=\"key\"><rect class=\"wait%d\" x=\"%.1f\" y=\"%d\" width=\"14\" "
                "height=\"14\"/><text x=\"%.1f\" y=\"%d\">%s</text></g>\n",
                kind, at.x, at.y - 11, at.x + 20, at.y, text);
    }
    draw_event_keys(picture, &next);
    fputs("</g>\n", picture->file);
}

static void draw_columns(const struct picture *picture)
{
    const struct history_graph *graph = picture->graph;
    char text[GRAPH_TEXT_SIZE];

    for (size_t i = 0; i < graph->column_keys.count; i++) {
        double lines = (double)(graph->columns[i].line_count - 1) * picture->line_width;
        graph_column_name(graph, &graph->columns[i], text);
        fprintf(picture->file, "<text class=\"column\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                picture->columns[i] + lines / 2, TOP - 30);
        xml_text(picture->file, text);
        fputs("</text>\n", picture->file);
    }
    for (size_t i = 0; i < graph->line_keys.count; i++) {
        graph_line_name(graph, &graph->lines[i], text);
        fprintf(picture->file, "<text class=\"small\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                line_x(picture, i), TOP - 14);
        xml_text(picture->file, text);
        fputs("</text>\n", picture->file);
    }
}

/* The time scale, counted from the top of the picture. Its unit is the largest of which a step is at least a tenth. */
static void draw_scale(const struct picture *picture)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    double span = (double)(picture->end - picture->begin);
    double step = show_tick_step(span * TICK_GAP / picture->height);
    size_t unit = 0;

    while (unit + 1 < ARRAY_SIZE(units) && step < units[unit].ns / 10)
        unit++;
    int decimals = step < units[unit].ns ? 1 : 0;
    fprintf(picture->file, "<g id=\"scale\"><text class=\"small\" x=\"12\" y=\"%d\">time</text>\n",
            TOP - 14);
    for (double time = 0; time <= span; time += step) {
        double y = TOP + (span > 0 ? picture->height * time / span : 0);
        fprintf(picture->file,
                "<line class=\"tick\" x1=\"%d\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text class=\"scale\" x=\"%d\" y=\"%.1f\">+%.*f %s</text>\n",
                LEFT - 24, picture->width - 12, y, y, LEFT - 30, y + 4, decimals,
                time / units[unit].ns, units[unit].name);
    }
    fputs("</g>\n", picture->file);
}

/* ---- what happened ---- */

/* px of a wait beyond the end of the picture, if it goes on there: it may have begun with the last event. */
#define GOES_ON 10

static void draw_waits(const struct picture *picture)
{
    const struct history_graph *graph = picture->graph;
    char text[GRAPH_TEXT_SIZE];

    for (size_t i = 0; i < graph->wait_count; i++) {
        const struct graph_wait *wait = &graph->waits[i];
        double begin = time_y(picture, wait->begin);
        double height = time_y(picture, wait->end) - begin + (wait->goes_on ? GOES_ON : 0);
        graph_describe_wait(graph, wait, text);
        fprintf(picture->file,
                "<rect class=\"wait wait%d\" x=\"%.1f\" y=\"%.2f\" width=\"16\" height=\"%.2f\">",
                (int)wait->kind, line_x(picture, wait->line) - 8, begin,
                height < 0.5 ? 0.5 : height);
        put_title(picture->file, text);
        fputs("</rect>\n", picture->file);
    }
}

/* A stream between two events; with the CPU time it used, if there is space for the label. */
static void draw_way(const struct picture *picture, const struct graph_event *event)
{
    const struct graph_event *previous = &picture->graph->events[event->previous];
    double x = line_x(picture, event->line);
    double begin = time_y(picture, previous->time);
    double end = time_y(picture, event->time);
    uint64_t used = event->proc_time - previous->proc_time;
    char text[GRAPH_TEXT_SIZE];
    char unit[UNIT_SIZE];

    graph_describe_way(picture->graph, event, text);
    fprintf(picture->file,
            "<g class=\"way\"><line class=\"life%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.2f\" "
            "y2=\"%.2f\"/>",
            graph_is_critical_way(event) ? " critical" : "", x, x, begin, end);
    if (end - begin >= 24 && used <= INT64_MAX) {
        show_duration(used, unit);
        fprintf(picture->file, "<text class=\"small\" x=\"%.1f\" y=\"%.2f\">%s</text>", x + 10,
                (begin + end) / 2 + 3, unit);
    }
    put_title(picture->file, text);
    fputs("</g>\n", picture->file);
}

/* How far an arc within one line is bent, px. */
#define BEND        30
#define ANSWER_BEND 56 /* beside the bar of its wait */

/* The line of an arc to an event. Within one line of the picture it is bent; from outside the picture (GRAPH_NONE) it is
 * a short arrow. */
static void put_arc_line(const struct picture *picture, size_t from,
                         const struct graph_event *event, double bend)
{
    double x = line_x(picture, event->line);
    double y = time_y(picture, event->time);

    if (from == GRAPH_NONE) {
        fprintf(picture->file, "M%.1f,%.2f L%.1f,%.2f", x - 26, y - 8, x - 5, y - 1);
        return;
    }
    const struct graph_event *sender = &picture->graph->events[from];
    double from_x = line_x(picture, sender->line);
    double from_y = time_y(picture, sender->time);
    double side = x < from_x ? 5 : -5;
    if (sender->line == event->line)
        fprintf(picture->file, "M%.1f,%.2f Q%.1f,%.2f %.1f,%.2f", x, from_y, x - bend,
                (y + from_y) / 2, x - 5, y);
    else
        fprintf(picture->file, "M%.1f,%.2f L%.1f,%.2f", from_x, from_y, x + side, y);
}

static void draw_arc(const struct picture *picture, const struct graph_event *event, uint32_t place)
{
    const struct history_edge *edge = &picture->graph->edges[event->edges + place];
    size_t from = graph_find_event(picture->graph, edge->number);
    char text[GRAPH_TEXT_SIZE];

    fprintf(picture->file, "<path class=\"arc %s%s%s\" d=\"", edge_kind_name(edge->kind),
            from == GRAPH_NONE ? " outside" : "",
            graph_is_critical_edge(event, place) ? " critical" : "");
    put_arc_line(picture, from, event, BEND);
    fputs("\">", picture->file);
    graph_describe_edge(picture->graph, event, edge, text);
    put_title(picture->file, text);
    fputs("</path>\n", picture->file);
}

/* The elapsed time of an answer stands at its arc, if there is space: outside of a bend, else right of its middle, where
 * no label of CPU time can be. */
static void label_answer(const struct picture *picture, const struct graph_event *from,
                         const struct graph_event *event)
{
    double begin = time_y(picture, from->time), end = time_y(picture, event->time);
    double middle = (line_x(picture, event->line) + line_x(picture, from->line)) / 2;
    bool bent = from->line == event->line;
    char unit[UNIT_SIZE];

    if (end - begin < 24)
        return;
    show_duration(event->marks.took, unit);
    fprintf(picture->file,
            "<text class=\"small\" x=\"%.1f\" y=\"%.2f\" text-anchor=\"%s\">%s</text>\n",
            bent ? middle - ANSWER_BEND / 2 - 4 : middle + 6, (begin + end) / 2 + (bent ? 3 : -1),
            bent ? "end" : "start", unit);
}

/* Beside the stream's own line, which shows CPU time (thesis, figure 5.3). */
static void draw_answer(const struct picture *picture, const struct graph_event *event)
{
    size_t from = graph_find_event(picture->graph, event->marks.sent);
    char text[GRAPH_TEXT_SIZE];

    fprintf(picture->file, "<path class=\"arc answer%s\" d=\"",
            from == GRAPH_NONE ? " outside" : "");
    put_arc_line(picture, from, event, ANSWER_BEND);
    fputs("\">", picture->file);
    graph_describe_answer(picture->graph, event, text);
    put_title(picture->file, text);
    fputs("</path>\n", picture->file);
    if (from != GRAPH_NONE)
        label_answer(picture, &picture->graph->events[from], event);
}

static void draw_arcs(const struct picture *picture)
{
    for (size_t i = 0; i < picture->graph->event_count; i++) {
        const struct graph_event *event = &picture->graph->events[i];
        for (uint32_t k = 0; k < event->edge_count; k++)
            draw_arc(picture, event, k);
        if (event->marks.answers)
            draw_answer(picture, event);
    }
}

static void draw_event(const struct picture *picture, const struct graph_event *event)
{
    unsigned id = event->record.header.id;
    char text[GRAPH_TEXT_SIZE];

    graph_describe_event(picture->graph, event, text);
    fprintf(picture->file,
            "<g class=\"event %s%s\" id=\"e%" PRIu64 "\"><circle cx=\"%.1f\" cy=\"%.2f\" r=\"4\"/>",
            id == EVENT_SEND      ? "send"
            : id == EVENT_RECEIVE ? "receive"
                                  : "other",
            event->marks.critical ? " critical" : "", event->number, line_x(picture, event->line),
            time_y(picture, event->time));
    put_title(picture->file, text);
    fputs("</g>\n", picture->file);
}

/* Draws back to front: SVG paints later elements on top. */
static void draw_events(const struct picture *picture)
{
    const struct history_graph *graph = picture->graph;

    draw_waits(picture);
    for (size_t i = 0; i < graph->event_count; i++)
        if (graph->events[i].previous != GRAPH_NONE)
            draw_way(picture, &graph->events[i]);
    draw_arcs(picture);
    for (size_t i = 0; i < graph->event_count; i++)
        draw_event(picture, &graph->events[i]);
}

static double line_width(const struct history_graph *graph)
{
    for (size_t i = 0; i < graph->event_count; i++)
        if (graph->events[i].marks.answers)
            return WIDE_LINE;
    return LINE_WIDTH;
}

int history_graph_svg(const struct history_graph *graph, FILE *file)
{
    struct picture picture = {.graph = graph, .file = file, .line_width = line_width(graph)};
    char title[GRAPH_TEXT_SIZE];

    picture.columns = calloc(graph->column_keys.count + 1UL, sizeof(*picture.columns));
    if (picture.columns == NULL)
        return -ENOMEM;
    graph_extent(graph, &picture.begin, &picture.end);
    graph_title(graph, title);
    picture.height = larger((double)graph->event_count * EVENT_GAP, LEAST_HIGH);
    picture.height = picture.height > MOST_HIGH ? MOST_HIGH : picture.height;
    picture.width = larger(place_columns(&picture) + MARGIN, LEAST_WIDTH);
    picture.width = larger(picture.width, (double)strlen(title) * LETTER * 1.25 + MARGIN);
    draw_head(&picture);
    draw_legend(&picture);
    draw_scale(&picture);
    draw_columns(&picture);
    draw_events(&picture);
    fputs("</svg>\n", file);
    free(picture.columns);
    return 0;
}
