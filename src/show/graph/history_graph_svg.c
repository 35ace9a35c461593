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
#define TOP         170
#define MARGIN      40
#define LINE_WIDTH  70
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

static double column_width(const struct history_graph *graph, size_t column)
{
    char name[GRAPH_TEXT_SIZE];

    graph_column_name(graph, &graph->columns[column], name);
    double text = (double)strlen(name) * LETTER;
    double lines = (double)graph->columns[column].line_count * LINE_WIDTH;
    return larger(text, lines);
}

static double place_columns(struct picture *picture)
{
    double x = LEFT;

    for (size_t i = 0; i < picture->graph->column_keys.count; i++) {
        double width = column_width(picture->graph, i);
        double lines = (double)(picture->graph->columns[i].line_count - 1) * LINE_WIDTH;
        picture->columns[i] = x + (width - lines) / 2;
        x += width + COLUMN_GAP;
    }
    return x;
}

static double line_x(const struct picture *picture, size_t index)
{
    const struct graph_line *line = &picture->graph->lines[index];

    return picture->columns[line->column] + (double)line->place * LINE_WIDTH;
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
    ".ordered{stroke-dasharray:7 4}.inferred{stroke-dasharray:1.5 4}.room{stroke-dasharray:7 4}"
    ".creation,.termination,.room,.connection,.end,.wakeup{stroke:#5b7f2b}"
    ".life.critical,.arc.critical,.line.critical{stroke:#d3182b;stroke-width:3}"
    ".event.critical circle{stroke:#d3182b;stroke-width:2}"
    ".wait{fill-opacity:0.55}.wait0{fill:#f2b27a}.wait1{fill:#9db9e0}"
    ".wait2{fill:#c9c9c9}.wait3{fill:#d9c2e3}.wait4{fill:#f0d08a}.wait5{fill:#e08a8a}\n"
    "@media screen and (prefers-color-scheme:dark){"
    ".paper{fill:#15181c}.tip{fill:#c9ced6}"
    "text{fill:#e4e7eb}.tick{stroke:#363c45}.scale{fill:#b8c0ca}.small{fill:#9aa4b1}"
    ".life{stroke:#8a93a0}.event circle{fill:#7fb0ea;stroke:#15181c}"
    ".event.receive circle{fill:#f0935c}.event.other circle{fill:#a0a8b3}"
    ".arc{stroke:#7fb0ea}.line{stroke:#7fb0ea}"
    ".creation,.termination,.room,.connection,.end,.wakeup{stroke:#a3cc6a}"
    ".life.critical,.arc.critical,.line.critical{stroke:#ff6b7d}.event.critical "
    "circle{stroke:#ff6b7d}"
    ".wait0{fill:#a86428}.wait1{fill:#3f669c}.wait2{fill:#5a5f66}.wait3{fill:#7a5590}"
    ".wait4{fill:#8a6d1f}.wait5{fill:#8f3d3d}}";

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
    fprintf(picture->file,
            "\n<style>%s</style>\n<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" "
            "refY=\"4\" markerUnits=\"userSpaceOnUse\" markerWidth=\"9\" markerHeight=\"9\" "
            "orient=\"auto\">"
            "<path class=\"tip\" d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n"
            "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n"
            "<text class=\"heading\" x=\"12\" y=\"24\">",
            style);
    xml_text(picture->file, text);
    fputs("</text>\n", picture->file);
}

#define WAITS_IN_ROW 4 /* of the legend */

/* The rest of the legend's last row. */
static void draw_event_keys(const struct picture *picture, double x)
{
    static const struct {
        const char *shape;
        const char *text;
    } events[] = {{"send", "SEND"}, {"receive", "RECEIVE"}, {"other", "another event"}};

    for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
        fprintf(picture->file,
                "<g class=\"key event %s\"><circle cx=\"%.1f\" cy=\"87\" r=\"4\"/>"
                "<text x=\"%.1f\" y=\"91\">%s</text></g>\n",
                events[i].shape, x + 4, x + 14, events[i].text);
        x += 30 + (double)strlen(events[i].text) * LETTER;
    }
    fprintf(picture->file, "<text x=\"%.1f\" y=\"91\">12 us: CPU time between two events</text>\n",
            x);
}

static void draw_legend(const struct picture *picture)
{
    static const struct {
        const char *shape;
        const char *text;
    } arcs[] = {
        {"exact", "message, exact"},   {"ordered", "ordered"},
        {"inferred", "inferred"},      {"creation", "creation, connection, end, wakeup"},
        {"room", "buffer space made"}, {"critical", "critical path"},
    };
    double x = 12;

    fputs("<g id=\"legend\">\n", picture->file);
    for (size_t i = 0; i < ARRAY_SIZE(arcs); i++) {
        fprintf(picture->file,
                "<g class=\"key\"><path class=\"line %s\" d=\"M%.1f,46 h34\"/>"
                "<text x=\"%.1f\" y=\"50\">%s</text></g>\n",
                arcs[i].shape, x, x + 40, arcs[i].text);
        x += 60 + (double)strlen(arcs[i].text) * LETTER;
    }
    x = 12;
    for (int kind = 0; kind < WAIT_KIND_COUNT; kind++) {
        const char *name = graph_wait_name((enum wait_kind)kind);
        if (kind == WAITS_IN_ROW)
            x = 12;
        int y = kind < WAITS_IN_ROW ? 60 : 80;
        fprintf(picture->file,
                "<g class=\"key\"><rect class=\"wait%d\" x=\"%.1f\" y=\"%d\" width=\"14\" "
                "height=\"14\"/><text x=\"%.1f\" y=\"%d\">%s</text></g>\n",
                kind, x, y, x + 20, y + 11, name);
        x += 40 + (double)strlen(name) * LETTER;
    }
    draw_event_keys(picture, x);
    fputs("</g>\n", picture->file);
}

static void draw_columns(const struct picture *picture)
{
    const struct history_graph *graph = picture->graph;
    char text[GRAPH_TEXT_SIZE];

    for (size_t i = 0; i < graph->column_keys.count; i++) {
        double lines = (double)(graph->columns[i].line_count - 1) * LINE_WIDTH;
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

/* The smallest of 1, 2 and 5 times a power of ten that is at least `least`; ns. */
static double tick_step(double least)
{
    double step = 1;

    for (unsigned i = 0; step < least; i++)
        step *= i % 3 == 1 ? 2.5 : 2;
    return step;
}

/* The time scale, counted from the top of the picture. Its unit is the largest of which a step is at least a tenth. */
static void draw_scale(const struct picture *picture)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    double span = (double)(picture->end - picture->begin);
    double step = tick_step(span * TICK_GAP / picture->height);
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

static void draw_waits(const struct picture *picture)
{
    const struct history_graph *graph = picture->graph;
    char text[GRAPH_TEXT_SIZE];

    for (size_t i = 0; i < graph->wait_count; i++) {
        const struct graph_wait *wait = &graph->waits[i];
        double begin = time_y(picture, wait->begin);
        double height = time_y(picture, wait->end) - begin;
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
            event->critical && !event->by_edge ? " critical" : "", x, x, begin, end);
    if (end - begin >= 24 && used <= INT64_MAX) {
        show_duration(used, unit);
        fprintf(picture->file, "<text class=\"small\" x=\"%.1f\" y=\"%.2f\">%s</text>", x + 10,
                (begin + end) / 2 + 3, unit);
    }
    put_title(picture->file, text);
    fputs("</g>\n", picture->file);
}

static bool is_critical(const struct history_graph *graph, const struct graph_event *event,
                        const struct history_edge *edge)
{
    return event->critical && event->by_edge && edge == &graph->edges[event->edges + event->edge];
}

/* An arc within one line is bent; an arc from outside the picture is a short arrow. */
static void draw_arc(const struct picture *picture, const struct graph_event *event,
                     const struct history_edge *edge)
{
    size_t from = graph_find_event(picture->graph, edge->number);
    double x = line_x(picture, event->line);
    double y = time_y(picture, event->time);
    char text[GRAPH_TEXT_SIZE];

    fprintf(picture->file, "<path class=\"arc %s%s%s\" d=\"", edge_kind_name(edge->kind),
            from == GRAPH_NONE ? " outside" : "",
            is_critical(picture->graph, event, edge) ? " critical" : "");
    if (from == GRAPH_NONE) {
        fprintf(picture->file, "M%.1f,%.2f L%.1f,%.2f\">", x - 26, y - 8, x - 5, y - 1);
    } else {
        const struct graph_event *sender = &picture->graph->events[from];
        double from_x = line_x(picture, sender->line);
        double from_y = time_y(picture, sender->time);
        double side = x < from_x ? 5 : -5;
        if (sender->line == event->line)
            fprintf(picture->file, "M%.1f,%.2f Q%.1f,%.2f %.1f,%.2f\">", x, from_y, x - 30,
                    (y + from_y) / 2, x - 5, y);
        else
            fprintf(picture->file, "M%.1f,%.2f L%.1f,%.2f\">", from_x, from_y, x + side, y);
    }
    graph_describe_edge(picture->graph, event, edge, text);
    put_title(picture->file, text);
    fputs("</path>\n", picture->file);
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
            event->critical ? " critical" : "", event->number, line_x(picture, event->line),
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
    for (size_t i = 0; i < graph->event_count; i++)
        for (uint32_t k = 0; k < graph->events[i].edge_count; k++)
            draw_arc(picture, &graph->events[i], &graph->edges[graph->events[i].edges + k]);
    for (size_t i = 0; i < graph->event_count; i++)
        draw_event(picture, &graph->events[i]);
}

int history_graph_svg(const struct history_graph *graph, FILE *file)
{
    struct picture picture = {.graph = graph, .file = file};
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
