/* SPDX-License-Identifier: MIT */
/*
 * slices_svg.c: the slices of step sharing as an SVG 1.1 picture (thesis, figure 5.5). See show.h.
 *
 *      title, legend
 *      machine 1
 *      A[12]        |####1/2####|#########1#########|            the darker, the faster
 *      B[13]        |####1/2####|                   |####1####|
 *                   0           5 ms                10 ms
 */
#include "show/show.h"
#include "show/text/xml.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEFT    260
#define WIDTH   1000 /* of the time axis */
#define TOP     90
#define LANE    30
#define BAR     20
#define MACHINE 26 /* height of its heading */
#define MARGIN  50
#define TICK    90

struct picture {
    const struct parallelism *parallelism;
    const struct parallelism_slices *slices;
    FILE *file;
    double end;      /* of the time */
    double fastest;  /* rate, at least 1 */
    double height;   /* with all lanes */
    uint32_t *order; /* [lane]: from top to bottom */
    double *y;       /* [lane]: its middle */
};

/* Each colour has a counterpart for dark backgrounds. Not by CSS variables, which many SVG viewers lack. */
static const char style[] =
    "svg{color-scheme:light dark}.paper{fill:#fff}.tip{fill:#333}"
    "text{font-family:sans-serif;font-size:12px;fill:#222}"
    ".heading{font-size:15px;font-weight:bold}.machine{font-weight:bold}"
    ".small{font-size:10px;fill:#555}.life{stroke:#777}.slice{stroke:#ddd}"
    ".bar{fill:#1f4e8c}.rate{font-size:10px;text-anchor:middle;paint-order:stroke;stroke:#fff;"
    "stroke-width:3px}"
    ".arc{fill:none;stroke:#b3440e;stroke-width:1.2;marker-end:url(#head)}"
    ".order{stroke:#5b7f2b;stroke-dasharray:5 3}\n"
    "@media screen and (prefers-color-scheme:dark){"
    ".paper{fill:#15181c}.tip{fill:#c9ced6}text{fill:#e4e7eb}.small{fill:#9aa4b1}"
    ".life{stroke:#8a93a0}.slice{stroke:#363c45}.bar{fill:#7fb0ea}.rate{stroke:#15181c}"
    ".arc{stroke:#f0935c}.order{stroke:#a3cc6a}}";

static double time_x(const struct picture *picture, double time)
{
    return LEFT + (picture->end > 0 ? WIDTH * time / picture->end : 0);
}

/* Lanes of a machine are adjacent, in the order in which they began. */
static void place_lanes(struct picture *picture)
{
    const struct parallelism_slices *slices = picture->slices;
    double y = TOP;

    for (uint32_t i = 0; i < slices->lane_count; i++) {
        uint32_t at = i;
        for (; at > 0 && slices->lanes[picture->order[at - 1]].machine > slices->lanes[i].machine;
             at--)
            picture->order[at] = picture->order[at - 1];
        picture->order[at] = i;
    }
    for (uint32_t i = 0; i < slices->lane_count; i++) {
        uint32_t lane = picture->order[i];
        if (i == 0 || slices->lanes[lane].machine != slices->lanes[picture->order[i - 1]].machine)
            y += MACHINE;
        picture->y[lane] = y + LANE / 2.0;
        y += LANE;
    }
    picture->height = y;
}

static void draw_head(const struct picture *picture, const char *assignment)
{
    double height = picture->height + MARGIN;
    char time[UNIT_SIZE];

    show_duration((uint64_t)picture->end, time);
    fprintf(picture->file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
            "viewBox=\"0 0 %d %.0f\">\n<style>%s</style>\n"
            "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
            "markerUnits=\"userSpaceOnUse\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">"
            "<path class=\"tip\" d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n"
            "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n"
            "<text class=\"heading\" x=\"12\" y=\"24\">Step sharing, ",
            LEFT + WIDTH + MARGIN, height, LEFT + WIDTH + MARGIN, height, style);
    xml_text(picture->file, assignment);
    fprintf(
        picture->file,
        ": %u slice%s in %s</text>\n"
        "<text x=\"12\" y=\"46\">A bar is a thread that runs or waits for a processor: the "
        "darker, the faster it advances; 1/2: at half the speed. Without a bar it waits.</text>\n"
        "<text x=\"12\" y=\"64\">Arrows are messages; dashed: creations, ends, buffer space, "
        "connections and wakeups. The time is simulated, not that of the recording.</text>\n",
        picture->slices->count, picture->slices->count == 1 ? "" : "s", time);
}

static void draw_scale(const struct picture *picture)
{
    double step = show_tick_step(picture->end * TICK / WIDTH);
    char text[UNIT_SIZE];

    for (uint32_t i = 0; i < picture->slices->count; i++) {
        double x = time_x(picture, picture->slices->ends[i]);
        fprintf(picture->file,
                "<line class=\"slice\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%d\" y2=\"%.0f\"/>\n", x, x,
                TOP + MACHINE, picture->height);
    }
    for (double time = 0; time <= picture->end; time += step) {
        show_duration((uint64_t)time, text);
        fprintf(picture->file,
                "<text class=\"small\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
                time_x(picture, time), picture->height + 18, text);
    }
}

/* "1", "1/3", "0.67" */
static void rate_text(double rate, char text[UNIT_SIZE])
{
    double parts = 1 / rate;

    if (fabs(parts - 1) < 1e-9)
        snprintf(text, UNIT_SIZE, "1");
    else if (fabs(parts - round(parts)) < 1e-9)
        snprintf(text, UNIT_SIZE, "1/%.0f", parts);
    else
        snprintf(text, UNIT_SIZE, "%.2f", rate);
}

static void draw_bar(const struct picture *picture, uint32_t lane, uint32_t slice)
{
    const struct parallelism_slices *slices = picture->slices;
    double rate = slices->rates[(size_t)slice * slices->lane_count + lane];
    double begin = slice == 0 ? 0 : slices->ends[slice - 1];
    double x = time_x(picture, begin), width = time_x(picture, slices->ends[slice]) - x;
    char text[UNIT_SIZE], from[UNIT_SIZE], time[UNIT_SIZE];

    if (rate == 0)
        return;
    rate_text(rate, text);
    show_duration((uint64_t)begin, from);
    show_duration((uint64_t)(slices->ends[slice] - begin), time);
    fprintf(picture->file,
            "<g><rect class=\"bar\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" "
            "fill-opacity=\"%.2f\"/><title>slice %u: rate %s, from %s for %s</title>",
            x, picture->y[lane] - BAR / 2.0, width < 0.5 ? 0.5 : width, BAR,
            0.1 + 0.8 * rate / picture->fastest, slice + 1, text, from, time);
    if (width > 8.0 * (double)strlen(text))
        fprintf(picture->file, "<text class=\"rate\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                x + width / 2, picture->y[lane] + 4, text);
    fputs("</g>\n", picture->file);
}

static void draw_lane(const struct picture *picture, uint32_t place)
{
    const struct parallelism_lane *lanes = picture->slices->lanes;
    uint32_t index = picture->order[place];
    const struct parallelism_lane *lane = &lanes[index];
    const struct parallelism_process *process = &picture->parallelism->processes[lane->process];
    char who[PROCESS_NAME_SIZE], machine[MACHINE_NAME_SIZE + 1];

    if (place == 0 || lane->machine != lanes[picture->order[place - 1]].machine) {
        show_text(lane->machine_name, MACHINE_NAME_SIZE, machine);
        fprintf(picture->file, "<text class=\"machine\" x=\"12\" y=\"%.1f\">",
                picture->y[index] - LANE / 2.0 - 6);
        xml_text(picture->file, machine);
        fputs("</text>\n", picture->file);
    }
    show_process_of(process->name, process->pid, process->command, process->named_alike, who);
    fprintf(picture->file, "<text x=\"24\" y=\"%.1f\">", picture->y[index] + 4);
    xml_text(picture->file, who);
    fprintf(picture->file,
            "</text>\n<line class=\"life\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
            time_x(picture, lane->begin), time_x(picture, lane->end), picture->y[index],
            picture->y[index]);
    for (uint32_t i = 0; i < picture->slices->count; i++)
        draw_bar(picture, index, i);
}

static void draw_arc(const struct picture *picture, const struct parallelism_slice_arc *arc)
{
    double from = picture->y[arc->from], to = picture->y[arc->to];
    double side = from < to ? 1 : -1;
    char sent[UNIT_SIZE], came[UNIT_SIZE];

    show_duration((uint64_t)arc->sent, sent);
    show_duration((uint64_t)arc->came, came);
    fprintf(
        picture->file,
        "<path class=\"arc%s\" d=\"M%.2f,%.1f L%.2f,%.1f\"><title>%s, %s to %s</title></path>\n",
        arc->message ? "" : " order", time_x(picture, arc->sent), from + side * BAR / 4,
        time_x(picture, arc->came), to - side * BAR / 4, arc->message ? "message" : "order", sent,
        came);
}

static void draw(struct picture *picture, const char *assignment)
{
    const struct parallelism_slices *slices = picture->slices;

    for (size_t i = 0; i < (size_t)slices->count * slices->lane_count; i++)
        picture->fastest = fmax(picture->fastest, slices->rates[i]);
    picture->end = slices->count == 0 ? 0 : slices->ends[slices->count - 1];
    place_lanes(picture);
    draw_head(picture, assignment);
    draw_scale(picture);
    for (uint32_t i = 0; i < slices->lane_count; i++)
        draw_lane(picture, i);
    for (uint32_t i = 0; i < slices->arc_count; i++)
        draw_arc(picture, &slices->arcs[i]);
    fputs("</svg>\n", picture->file);
}

int show_parallelism_slices(const struct parallelism *parallelism, const char *assignment,
                            FILE *file)
{
    const struct parallelism_slices *slices = parallelism->slices;
    struct picture picture = {
        .parallelism = parallelism, .slices = slices, .file = file, .fastest = 1};
    int result = -ENOMEM;

    picture.order = calloc((size_t)slices->lane_count + 1, sizeof(*picture.order));
    picture.y = calloc((size_t)slices->lane_count + 1, sizeof(*picture.y));
    if (picture.order != NULL && picture.y != NULL) {
        draw(&picture, assignment);
        result = 0;
    }
    free(picture.order);
    free(picture.y);
    return result;
}
