/* SPDX-License-Identifier: MIT */
/*
 * report_drawings.c: the drawings of the report's HTML page. See report_face.h.
 *
 *      matrix (messages)   graph (bytes)                parallelism
 *            a  b  c           a ===== b                one-each     max      |========    | 2.5
 *       a    .  #  +             \   /                  as-recorded  sharing  |======      | 1.7
 *       b    #  .  .               c                    one-machine  sharing  |===         | 1.0
 *       c    +  .  .
 */
#include "analysis/findings/traffic_graph.h"
#include "show/parallelism/parallelism_face.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/xml.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MATRIX_NODES 40
#define MATRIX_WORDS 12 /* up to this many nodes cells show numbers; beyond it only colours */
#define GRAPH_NODES  24
#define GRAPH_LABELS 12 /* labels, for the heaviest arcs */

#define LEAST_WEIGHT 0.08 /* least weight of any traffic, so that it stays visible */

double traffic_weight(uint64_t part, uint64_t most)
{
    if (part == 0)
        return 0;
    return part >= most ? 1 : fmax(LEAST_WEIGHT, sqrt(show_share(part, most)));
}

/* A graph, and the result that its nodes refer to. */
struct traffic_drawing {
    struct traffic_graph graph;
    const struct communication *communication;
};

static void node_text(const struct traffic_drawing *drawing, size_t node,
                      char text[PARTY_TEXT_SIZE])
{
    const struct traffic_graph *graph = &drawing->graph;

    if (graph->others > 0 && node == graph->count - 1)
        strcpy(text, "others");
    else
        party_text(drawing->communication, &graph->nodes[node].party, text);
}

static void put_node_text(const struct traffic_drawing *drawing, size_t node, FILE *file)
{
    char text[PARTY_TEXT_SIZE];

    node_text(drawing, node, text);
    xml_text(file, text);
}

static void sent_text(const struct traffic_drawing *drawing, size_t from, size_t to, FILE *file)
{
    const struct traffic_graph *graph = &drawing->graph;
    const struct traffic *sent = &graph->sent[from * graph->count + to];
    char messages[UNIT_SIZE], bytes[UNIT_SIZE];

    show_count(sent->messages, messages);
    show_bytes(sent->bytes, bytes);
    put_node_text(drawing, from, file);
    xml_text(file, " to ");
    put_node_text(drawing, to, file);
    fprintf(file, ": %s messages, %s", messages, bytes);
}

static void others_note(const struct traffic_graph *graph, FILE *file)
{
    if (graph->others > 0)
        fprintf(file, "<p class=\"note\">The %zu with most traffic; %zu others are one.</p>\n",
                graph->count - 1, graph->others);
}

static int draw_traffic(const struct communication *communication, size_t most,
                        void (*put)(const struct traffic_drawing *drawing, FILE *file), FILE *file)
{
    struct traffic_drawing drawing = {.communication = communication};
    int result = traffic_graph_make(communication, most, &drawing.graph);

    if (result == 0) {
        others_note(&drawing.graph, file);
        put(&drawing, file);
    }
    traffic_graph_done(&drawing.graph);
    return result;
}

/* ---- the matrix ---- */

static void put_cell(const struct traffic_drawing *drawing, size_t from, size_t to, FILE *file)
{
    const struct traffic_graph *graph = &drawing->graph;
    const struct traffic *sent = &graph->sent[from * graph->count + to];
    double weight = traffic_weight(sent->messages, graph->most.messages);
    char messages[UNIT_SIZE];

    if (sent->messages == 0) {
        fputs("<td></td>", file);
        return;
    }
    fprintf(file, "<td%s style=\"background:rgba(42,111,187,%.2f)\" title=\"",
            weight > 0.6 ? " class=\"strong\"" : "", weight);
    sent_text(drawing, from, to, file);
    fputs("\">", file);
    show_count(sent->messages, messages);
    if (graph->count <= MATRIX_WORDS)
        fputs(messages, file);
    fputs("</td>", file);
}

static void put_matrix(const struct traffic_drawing *drawing, FILE *file)
{
    const struct traffic_graph *graph = &drawing->graph;

    fprintf(file, "<div class=\"wide\"><table class=\"matrix%s\">\n<tr><th>from \\ to</th>",
            graph->count > MATRIX_WORDS ? " small" : "");
    for (size_t to = 0; to < graph->count; to++) {
        fputs("<th class=\"column\"><span>", file);
        put_node_text(drawing, to, file);
        fputs("</span></th>", file);
    }
    fputs("</tr>\n", file);
    for (size_t from = 0; from < graph->count; from++) {
        fputs("<tr><th>", file);
        put_node_text(drawing, from, file);
        fputs("</th>", file);
        for (size_t to = 0; to < graph->count; to++)
            put_cell(drawing, from, to, file);
        fputs("</tr>\n", file);
    }
    fputs("</table></div>\n", file);
}

int html_matrix(const struct report *report, FILE *file)
{
    return draw_traffic(report->communication, MATRIX_NODES, put_matrix, file);
}

/* ---- the graph of processes: nodes on an ellipse, arcs bend towards its middle ---- */

#define WIDTH    900.0
#define HEIGHT   500.0
#define RADIUS_X 270.0
#define RADIUS_Y 200.0

struct point {
    double x, y;
};

static struct point place(const struct traffic_graph *graph, size_t node, double out)
{
    double angle = 2 * M_PI * (double)node / (double)graph->count - M_PI / 2;

    return (struct point){WIDTH / 2 + (RADIUS_X + out) * cos(angle),
                          HEIGHT / 2 + (RADIUS_Y + out) * sin(angle)};
}

/* Control point of the arc: the midpoint of its ends, moved sideways to the right of its direction. */
static struct point bend(struct point from, struct point to)
{
    return (struct point){(from.x + to.x) / 2 - (to.y - from.y) * 0.12,
                          (from.y + to.y) / 2 + (to.x - from.x) * 0.12};
}

/* The point at this distance from `at`, on the line from `at` to `from`. */
static struct point before(struct point at, struct point from, double distance)
{
    double x = from.x - at.x, y = from.y - at.y, length = hypot(x, y);

    if (length < 1)
        return at;
    return (struct point){at.x + x / length * distance, at.y + y / length * distance};
}

static void put_arc(const struct traffic_drawing *drawing, size_t from, size_t to, FILE *file)
{
    const struct traffic_graph *graph = &drawing->graph;
    const struct traffic *sent = &graph->sent[from * graph->count + to];
    double width = 0.5 + 6 * traffic_weight(sent->bytes, graph->most.bytes);
    struct point begin = place(graph, from, 0), end = place(graph, to, 0);
    struct point middle = bend(begin, end);

    fputs("<g class=\"arc\"><title>", file);
    sent_text(drawing, from, to, file);
    fputs("</title>", file);
    if (from == to) {
        struct point out = place(graph, from, -30);
        fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"18\" stroke-width=\"%.1f\"/></g>\n",
                out.x, out.y, width);
        return;
    }
    end = before(end, middle, 10 + 2 * width);
    begin = before(begin, middle, 9);
    fprintf(file, "<path d=\"M%.1f,%.1f Q%.1f,%.1f %.1f,%.1f\" stroke-width=\"%.1f\"/>", begin.x,
            begin.y, middle.x, middle.y, end.x, end.y, width);
    struct point tip = before(place(graph, to, 0), middle, 9);
    double x = tip.x - end.x, y = tip.y - end.y, length = hypot(x, y), half = 2 + width;
    if (length > 0)
        fprintf(file, "<path class=\"head\" d=\"M%.1f,%.1f L%.1f,%.1f L%.1f,%.1f z\"/>", tip.x,
                tip.y, end.x - y / length * half, end.y + x / length * half,
                end.x + y / length * half, end.y - x / length * half);
    fputs("</g>\n", file);
}

#define SHORT 160 /* px */

static void put_arc_label(const struct traffic_graph *graph, size_t from, size_t to, FILE *file)
{
    struct point begin = place(graph, from, 0), end = place(graph, to, 0);
    struct point middle = bend(begin, end);
    char bytes[UNIT_SIZE];

    if (from == to)
        middle = begin = end = place(graph, from, -48);
    show_bytes(graph->sent[from * graph->count + to].bytes, bytes);
    /* nearer to the sender, but not on top of it */
    double at = hypot(end.x - begin.x, end.y - begin.y) < SHORT ? 0.5 : 0.33, left = 1 - at;
    fprintf(file, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
            begin.x * left * left + middle.x * 2 * left * at + end.x * at * at,
            begin.y * left * left + middle.y * 2 * left * at + end.y * at * at, bytes);
}

#define MOST_LETTERS 28

/* Prints as much of a name as fits. The matrix has the full name, and so has the tooltip. */
static void put_name(const char *name, FILE *file)
{
    char text[MOST_LETTERS * 4 + 4];
    size_t letters = 0, size = 0;

    for (; name[size] != '\0'; size++)
        if ((name[size] & 0xc0) != 0x80 && ++letters > MOST_LETTERS)
            break;
    if (name[size] == '\0') {
        xml_text(file, name);
        return;
    }
    snprintf(text, sizeof(text), "%.*s...", (int)size, name);
    xml_text(file, text);
    fputs("<title>", file);
    xml_text(file, name);
    fputs("</title>", file);
}

static void put_node(const struct traffic_drawing *drawing, size_t node, FILE *file)
{
    const struct traffic_graph *graph = &drawing->graph;
    struct point at = place(graph, node, 0), name = place(graph, node, 16);
    const char *anchor = fabs(name.x - WIDTH / 2) < 30 ? "middle"
                         : name.x > WIDTH / 2          ? "start"
                                                       : "end";
    char text[PARTY_TEXT_SIZE];
    bool silent = graph->nodes[node].traffic.messages == 0;

    fprintf(file,
            "<circle class=\"node%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"8\"/>"
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
            silent ? " silent" : "", at.x, at.y, name.x, name.y + (name.y > HEIGHT / 2 ? 9 : -1),
            anchor);
    node_text(drawing, node, text);
    put_name(text, file);
    fputs("</text>\n", file);
}

/* The least bytes that earn an arc a label. */
static uint64_t label_limit(const struct traffic_graph *graph)
{
    uint64_t largest[GRAPH_LABELS] = {0};

    for (size_t i = 0; i < graph->count * graph->count; i++) {
        uint64_t bytes = graph->sent[i].bytes;
        for (size_t k = 0; k < GRAPH_LABELS; k++) {
            uint64_t less = largest[k];
            if (bytes <= less)
                continue;
            largest[k] = bytes;
            bytes = less;
        }
    }
    uint64_t least = graph->most.bytes / 100 + 1;
    return largest[GRAPH_LABELS - 1] > least ? largest[GRAPH_LABELS - 1] : least;
}

static void put_graph(const struct traffic_drawing *drawing, FILE *file)
{
    const struct traffic_graph *graph = &drawing->graph;
    size_t count = graph->count;
    uint64_t limit = label_limit(graph);

    fprintf(file,
            "<svg class=\"graph\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
            "role=\"img\"><title>Who sends to whom</title>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    for (size_t i = 0; i < count * count; i++)
        if (graph->sent[i].messages > 0)
            put_arc(drawing, i / count, i % count, file);
    for (size_t i = 0; i < count; i++)
        put_node(drawing, i, file);
    for (size_t i = 0; i < count * count; i++)
        if (graph->sent[i].bytes >= limit)
            put_arc_label(graph, i / count, i % count, file);
    fputs("</svg>\n", file);
}

int html_process_graph(const struct report *report, FILE *file)
{
    return draw_traffic(report->communication, GRAPH_NODES, put_graph, file);
}

/* ---- parallelism ---- */

#define BAR_WIDTH  500.0
#define BAR_HEIGHT 22

static void put_bar(const struct parallelism_runs *runs, size_t row, double scale, int y,
                    FILE *file)
{
    const struct parallelism_row *is = &runs->at[0].threads->rows[row];
    double factor = parallelism_spread(runs, row, false).median;
    double width = factor / scale * BAR_WIDTH;

    fprintf(file, "<text x=\"0\" y=\"%d\">", y);
    xml_text(file, runs->options->assignments[is->assignment].name);
    fprintf(file,
            "</text><text x=\"110\" y=\"%d\">%s</text><rect class=\"frame\" x=\"180\" y=\"%d\" "
            "width=\"%.0f\" height=\"16\"/><rect class=\"bar %s\" x=\"180\" y=\"%d\" "
            "width=\"%.1f\" height=\"16\"/><text x=\"%.1f\" y=\"%d\">%.2f</text>\n",
            y, parallelism_step_name(is->step), y - 13, BAR_WIDTH, parallelism_step_name(is->step),
            y - 13, width, 188 + BAR_WIDTH, y, factor);
}

/* P at the full width of a bar: the number of streams, unless that would make all bars tiny. */
static double bar_scale(const struct parallelism_runs *runs)
{
    const struct parallelism *of = runs->at[0].threads;
    double greatest = 1;

    for (size_t i = 0; i < of->row_count; i++)
        greatest = fmax(greatest, parallelism_spread(runs, i, false).median);
    return of->streams <= 8 * greatest ? fmax(greatest, of->streams) : greatest;
}

void html_parallelism(const struct parallelism_runs *runs, FILE *file)
{
    const struct parallelism *of = runs->at[0].threads;
    double scale = bar_scale(runs);
    int rows = 0;

    for (size_t i = 0; i < of->row_count; i++)
        rows += report_tells_row(of, i);
    int height = rows * BAR_HEIGHT + 10;
    fprintf(file,
            "<p class=\"note\">P of %u threads; a whole bar is %.4g. Step max: each thread has a "
            "processor, messages take no time; sharing: threads share the processors of the "
            "assignment.</p>\n"
            "<svg class=\"bars\" viewBox=\"0 0 780 %d\" width=\"780\" height=\"%d\" role=\"img\">"
            "<title>Parallelism</title>\n",
            of->streams, scale, height, height);
    int y = 0;
    for (size_t i = 0; i < of->row_count; i++)
        if (report_tells_row(of, i))
            put_bar(runs, i, scale, y += BAR_HEIGHT, file);
    fputs("</svg>\n", file);
}
