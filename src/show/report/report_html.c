/* SPDX-License-Identifier: MIT */
/*
 * report_html.c: the report as one self-contained page: no network access, no scripts. See show.h.
 *
 *      heading, findings
 *      traffic: matrix, graph, tables
 *      parallelism: bars, table
 *      the critical path: tables, an interval of the program history
 *      requests: states, table
 *      what the result is based on
 *
 * The page is also valid XML. All text is escaped, because names come from the recorded programs. The history and the
 * state diagram are pictures with their own styles, so the page embeds them as objects (base64), not as inline SVG.
 */
#include "show/report/report_face.h"
#include "show/statistics/statistics_face.h"
#include "show/text/xml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c1f24;--paper:#fff;--quiet:#5b6470;--line:#d5dae1;"
    "--blue:#2a6fbb}\n"
    "@media screen and "
    "(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--paper:#15181c;--quiet:#9aa4b1;"
    "--line:#363c45;--blue:#6aa5e8}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:70rem;margin:2rem auto;padding:0 1.5rem}\n"
    "h1{font-size:1.6rem;margin:0}h2{font-size:1.25rem;margin:2.2rem 0 .5rem;"
    "border-bottom:1px solid var(--line)}h3{font-size:1rem;margin:1.4rem 0 .3rem}\n"
    "dl{display:grid;grid-template-columns:8rem 1fr;gap:.3rem 1rem}dt{font-weight:600}"
    "dd{margin:0}\n"
    "dt.first,dd.first{border-top:1px solid var(--line);padding-top:.3rem}\n"
    ".note{color:var(--quiet);margin:.3rem 0}code{font:13px ui-monospace,monospace}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;"
    "font-size:13px}\n"
    "th,td{padding:.2rem .6rem;text-align:left;border-bottom:1px solid var(--line);"
    "white-space:nowrap}th{font-weight:600}.figures{text-align:right}\n"
    ".matrix td{border:1px solid var(--line);text-align:right;min-width:1.2rem;"
    "print-color-adjust:exact;-webkit-print-color-adjust:exact}.matrix .strong{color:#fff}\n"
    ".matrix .column span{writing-mode:vertical-rl;transform:rotate(180deg);font-weight:600}"
    ".matrix .column{vertical-align:bottom;padding:.3rem}.small td{padding:0}"
    ".small .column{padding:.3rem 0}\n"
    "svg{max-width:100%;height:auto;overflow:visible}svg text{font:12px "
    "system-ui,sans-serif;fill:var(--ink)}\n"
    ".arc path,.arc circle{fill:none;stroke:var(--blue);stroke-opacity:.65}"
    ".arc .head{fill:var(--blue);stroke:none}.arc:hover path{stroke-opacity:1}\n"
    ".node{fill:var(--ink)}.node.silent{fill:var(--paper);stroke:var(--quiet);stroke-width:2}\n"
    "svg .label{font-size:11px;text-anchor:middle;paint-order:stroke;stroke:var(--paper);"
    "stroke-width:4px}\n"
    ".bar{fill:var(--blue)}.bar.sharing{fill-opacity:.7}.frame{fill:none;stroke:var(--line)}\n"
    ".drawing{background:var(--paper);overflow:auto;max-height:85vh;border:1px solid var(--line)}\n"
    "@media print{body{max-width:none;margin:0;font-size:11px}.drawing{max-height:none;"
    "overflow:visible;border:0}.drawing object{max-width:100%;height:auto}"
    "h2,h3{break-after:avoid}tr,svg{break-inside:avoid}}\n";

/* ---- parts made as text or as a picture ---- */

struct part {
    FILE *file;
    char *text;
    size_t size;
};

static int part_begin(struct part *part)
{
    *part = (struct part){0};
    part->file = open_memstream(&part->text, &part->size);
    return part->file == NULL ? -ENOMEM : 0;
}

/* Ends the writing of a part. Call part_done in any case. */
static int part_end(struct part *part)
{
    bool failed = ferror(part->file) != 0;

    return fclose(part->file) != 0 || failed ? -ENOMEM : 0;
}

static void put_base64(const char *bytes, size_t size, FILE *file)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < size; i += 3) {
        uint32_t word = 0;
        for (size_t k = 0; k < 3; k++)
            word = word << 8 | (i + k < size ? (unsigned char)bytes[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            fputc(i + k > size ? '=' : digits[word >> (18 - 6 * k) & 63], file);
    }
}

static void put_picture(const struct part *part, const char *what, FILE *file)
{
    fputs("<div class=\"drawing\"><object type=\"image/svg+xml\" data=\"data:image/svg+xml;base64,",
          file);
    put_base64(part->text, part->size, file);
    fprintf(file, "\">%s</object></div>\n", what);
}

static int put_history(const struct history_graph *graph, FILE *file)
{
    struct part part;
    int result = part_begin(&part);

    if (result < 0)
        return result;
    result = history_graph_write(graph, GRAPH_SVG, part.file);
    if (part_end(&part) < 0)
        result = -ENOMEM;
    if (result == 0)
        put_picture(&part, "The program history", file);
    free(part.text);
    return result;
}

static int put_states(const struct causality *causality, FILE *file)
{
    struct part part;
    int result = part_begin(&part);

    if (result < 0)
        return result;
    result = show_causality_diagram(causality, GRAPH_SVG, 30, part.file);
    if (part_end(&part) < 0)
        result = -ENOMEM;
    if (result == 0)
        put_picture(&part, "The states of requests", file);
    free(part.text);
    return result;
}

/* Prints lines of text, each as a paragraph. */
static int put_lines(const struct report *report,
                     void (*print)(const struct communication *communication, FILE *file),
                     FILE *file)
{
    struct part part;
    int result = part_begin(&part);

    if (result < 0)
        return result;
    print(report->communication, part.file);
    result = part_end(&part);
    char *rest = part.text;
    for (char *line; result == 0 && (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] == '\0')
            continue;
        fputs("<p>", file);
        xml_text(file, line);
        fputs("</p>\n", file);
    }
    free(part.text);
    return result;
}

static void print_heading(const struct communication *communication, FILE *file)
{
    print_statistics_heading(communication, file, &(struct show_options){0});
}

/* ---- findings and tables ---- */

static void put_findings(const struct report_content *content, FILE *file)
{
    const char *before = "";

    fputs("<h2>What was found</h2>\n<dl>\n", file);
    for (size_t i = 0; i < content->finding_count; i++) {
        const struct report_finding *finding = &content->findings[i];
        bool same = strcmp(before, finding->topic) == 0;
        const char *first = same ? "" : " class=\"first\"";
        fprintf(file, "<dt%s>%s</dt><dd%s>", first, same ? "" : finding->topic, first);
        xml_text(file, finding->text);
        fputs("</dd>\n", file);
        before = finding->topic;
    }
    fputs("</dl>\n", file);
}

static void put_cells(const struct report_table *table, const struct report_row *row, FILE *file)
{
    const char *cell = row == NULL ? "th" : "td";

    fputs("<tr>", file);
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].heading == NULL)
            continue;
        fprintf(file, "<%s%s>", cell, table->columns[i].figures ? " class=\"figures\"" : "");
        xml_text(file, row == NULL ? table->columns[i].heading : row->cells[i]);
        fprintf(file, "</%s>", cell);
    }
    fputs("</tr>\n", file);
}

static void put_table(const struct report_table *table, const char *traces, FILE *file)
{
    fprintf(file, "<h3>%s</h3>\n<div class=\"wide\"><table>\n", table->title);
    put_cells(table, NULL, file);
    for (size_t i = 0; i < table->row_count; i++)
        put_cells(table, &table->rows[i], file);
    fputs("</table></div>\n", file);
    if (traces == NULL)
        return;
    fputs("<p class=\"note\">", file);
    if (table->left_out > 0)
        fprintf(file, "%zu more: ", table->left_out);
    fprintf(file, "<code>%s ", table->command);
    xml_text(file, traces);
    fputs("</code></p>\n", file);
}

static void put_tables(const struct report_content *content, enum report_part part,
                       const char *traces, FILE *file)
{
    for (size_t i = 0; i < content->table_count; i++)
        if (content->tables[i].part == part)
            put_table(&content->tables[i], traces, file);
}

/* ---- everything together ---- */

static int put_communication(const struct report *report, const struct report_content *content,
                             FILE *file)
{
    fputs("<h2>Who sends to whom</h2>\n<p class=\"note\">Messages; a stronger colour means more. "
          "Processes that communicate stand together.</p>\n",
          file);
    int result = html_matrix(report, file);
    fputs("<p class=\"note\">Bytes; a wider line means more. A hollow circle has no known "
          "traffic.</p>\n",
          file);
    if (result == 0)
        result = html_process_graph(report, file);
    put_tables(content, REPORT_COMMUNICATION, report->traces, file);
    return result;
}

static void put_parallelism(const struct report *report, const struct report_content *content,
                            FILE *file)
{
    if (report->parallelism == NULL)
        return;
    fputs("<h2>Would more processors help?</h2>\n", file);
    html_parallelism(report->parallelism, file);
    put_tables(content, REPORT_PARALLELISM, report->traces, file);
}

static int put_path(const struct report *report, const struct report_content *content, FILE *file)
{
    int result = 0;

    if (report->path == NULL)
        return 0;
    fputs("<h2>What limits the speed: the critical path</h2>\n", file);
    put_tables(content, REPORT_PATH, report->traces, file);
    if (report->graph == NULL)
        return 0;
    fprintf(file,
            "<h3>The program history, with the critical path in red</h3>\n<p class=\"note\">%zu "
            "events, "
            "of the busiest time if there are more; others: <code>dpm graph ",
            history_graph_events(report->graph));
    xml_text(file, report->traces);
    fputs("</code></p>\n", file);
    result = put_history(report->graph, file);
    return result;
}

static int put_requests(const struct report *report, const struct report_content *content,
                        FILE *file)
{
    if (report->causality == NULL || report->causality->replies == 0)
        return 0;
    fputs("<h2>Paths of requests through the processes</h2>\n", file);
    put_tables(content, REPORT_REQUESTS, report->traces, file);
    return put_states(report->causality, file);
}

static int put_page(const struct report *report, const struct report_content *content, FILE *file)
{
    const char *subject = report->traces == NULL ? "a recording without a trace" : report->traces;

    fprintf(file, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"UTF-8\"/>\n"
                  "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>DPM report: ");
    xml_text(file, subject);
    fprintf(file, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", style);
    xml_text(file, subject);
    fputs("</h1>\n", file);
    int result = put_lines(report, print_heading, file);
    put_findings(content, file);
    if (result == 0)
        result = put_communication(report, content, file);
    put_parallelism(report, content, file);
    if (result == 0)
        result = put_path(report, content, file);
    if (result == 0)
        result = put_requests(report, content, file);
    fputs("<h2>About the recording</h2>\n", file);
    if (result == 0)
        result = put_lines(report, print_statistics_grounds, file);
    fputs("</body>\n</html>\n", file);
    return result;
}

int show_report_html(const struct report *report, FILE *file)
{
    struct report_content content = {.most = REPORT_LONG};
    int result = report_find(report, &content);

    if (result == 0)
        result = report_tabulate(report, &content);
    if (result == 0)
        result = put_page(report, &content, file);
    report_content_done(&content);
    return result;
}
