/* SPDX-License-Identifier: MIT */
/*
 * report_html.c: the report as one self-contained page, which loads nothing. See show.h.
 *
 *      the verdict: the first finding, in one sentence
 *      chart of time, and the rows of `dpm why` as its legend
 *      requests: the median one and the slowest one
 *      five more findings, the others folded
 *      map, flame graph, critical path, request paths, history
 *      tables
 *      what the result is based on
 *      the data (JSON), and the script that draws them (show/page)
 *
 * Everything that is a sentence or a table is here, and stands without the script. All but the scripts is also XML. All text is
 * escaped, because names come from the recorded programs, and a policy (CSP) allows no other script or style than ours.
 */
#include "show/elapsed/elapsed_face.h"
#include "show/page/page.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/xml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines of text ---- */

/* Prints lines of text, each as a paragraph. */
static int put_lines(const struct report *report,
                     void (*print)(const struct communication *communication, FILE *file),
                     FILE *file)
{
    char *text = NULL;
    size_t size;
    FILE *lines = open_memstream(&text, &size);

    if (lines == NULL)
        return -ENOMEM;
    print(report->communication, lines);
    bool failed = ferror(lines) != 0;
    int result = fclose(lines) != 0 || failed ? -ENOMEM : 0;
    char *rest = text;
    for (char *line; result == 0 && (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] == '\0')
            continue;
        fputs("<p>", file);
        xml_text(file, line);
        fputs("</p>\n", file);
    }
    free(text);
    return result;
}

static void print_heading(const struct communication *communication, FILE *file)
{
    print_statistics_heading(communication, file, &(struct show_options){0});
}

static void put_swatch(enum elapsed_kind kind, FILE *file)
{
    fprintf(file, "<span class=\"swatch\" data-kind=\"%s\" aria-hidden=\"true\"></span>%s",
            elapsed_kind_key(kind), elapsed_kind_name(kind));
}

/* ---- findings ---- */

/* Where the page shows what a finding says: the lane of its process, or a section. */
static void target_of(const struct report *report, const struct report_finding *finding,
                      char target[PAGE_ID_SIZE], const char **ret_words)
{
    static const struct {
        const char *key, *target, *words;
    } sections[] = {
        {"critical", "critical-path", "critical path"},
        {"path_in_flight", "critical-path", "critical path"},
        {"request_paths", "request-paths", "request paths"},
        {"parallelism", "parallelism", "parallelism"},
        {"uneven_load", "parallelism", "parallelism"},
        {"one_thread", "parallelism", "parallelism"},
        {"edges_missing", "parallelism", "parallelism"},
        {"late_sender", "map", "map"},
        {"late_receiver", "map", "map"},
        {"blocked_sender", "map", "map"},
        {"service_time", "map", "map"},
        {"request_latency", "map", "map"},
        {"nagle", "map", "map"},
        {"connection_per_request", "map", "map"},
        {"pool", "map", "map"},
        {"retransmits", "map", "map"},
        {"dropped", "map", "map"},
    };
    const struct report_values *values = finding->values;

    strcpy(target, "tables");
    *ret_words = "tables";
    for (size_t i = 0; values != NULL && i < ARRAY_SIZE(sections); i++)
        if (strcmp(values->key, sections[i].key) == 0) {
            snprintf(target, PAGE_ID_SIZE, "%s", sections[i].target);
            *ret_words = sections[i].words;
            return;
        }
    if (values == NULL || values->of.process_count == 0)
        return;
    const struct communication_process *process =
        &report->communication->processes[values->of.processes[0]];
    char lane[PAGE_ID_SIZE];
    if (page_process_lane_id(report, process, lane)) {
        memcpy(target, lane, sizeof(lane));
        *ret_words = "chart";
    }
}

/* Sections that a report without their analyses lacks. */
static bool has_section(const struct report *report, const char *target)
{
    if (strcmp(target, "critical-path") == 0)
        return report->path != NULL;
    if (strcmp(target, "request-paths") == 0)
        return report->causality != NULL && report->causality->replies > 0;
    return strcmp(target, "parallelism") != 0 || report->parallelism != NULL;
}

/* The lanes of the processes on both sides of what a finding is about: the script finds their arc in the map. */
static void put_sides(const struct report *report, const struct report_values *values, FILE *file)
{
    char lanes[2][PAGE_ID_SIZE];

    if (values == NULL || values->of.process_count < 2)
        return;
    for (unsigned i = 0; i < 2; i++) {
        const struct communication_process *process =
            &report->communication->processes[values->of.processes[i]];
        if (!page_process_lane_id(report, process, lanes[i]))
            return;
    }
    fprintf(file, " data-sides=\"%s %s\"", lanes[0], lanes[1]);
}

static void put_finding(const struct report *report, const struct report_finding *finding,
                        FILE *file)
{
    char target[PAGE_ID_SIZE];
    const char *words;

    target_of(report, finding, target, &words);
    fprintf(file, "<li><strong>%s</strong><span>", finding->topic);
    xml_text(file, finding->text);
    if (has_section(report, target)) {
        fprintf(file, " <a href=\"#%s\" aria-label=\"%s: %s\"", target, finding->topic, words);
        if (strcmp(target, "map") == 0)
            put_sides(report, finding->values, file);
        fprintf(file, ">%s</a>", words);
    }
    fputs("</span></li>\n", file);
}

#define FINDINGS_SHOWN 5 /* besides the verdict */

/* Shares of the time are also rows of the account, above. What else was found comes first. */
static size_t order_findings(const struct report_content *content, bool has_account,
                             const struct report_finding **order)
{
    size_t count = 0;

    for (unsigned turn = 0; turn < 2; turn++)
        for (size_t i = 1; i < content->finding_count; i++) {
            bool row = has_account && strcmp(content->findings[i].topic, "Time") == 0;
            if (row == (turn == 1))
                order[count++] = &content->findings[i];
        }
    return count;
}

static int put_findings(const struct report *report, const struct report_content *content,
                        FILE *file)
{
    const struct report_finding **order = calloc(content->finding_count + 1, sizeof(*order));

    if (order == NULL)
        return -ENOMEM;
    size_t count = order_findings(content, page_account(report) != NULL, order);
    size_t shown = count < FINDINGS_SHOWN ? count : FINDINGS_SHOWN;
    if (count > 0)
        fputs("<section id=\"findings\">\n<h2>What else was found</h2>\n<ul class=\"findings\">\n",
              file);
    for (size_t i = 0; i < shown; i++)
        put_finding(report, order[i], file);
    if (shown < count) {
        fprintf(file,
                "</ul>\n<details><summary>%zu more finding%s</summary>\n<ul class=\"findings\">\n",
                count - shown, count - shown == 1 ? "" : "s");
        for (size_t i = shown; i < count; i++)
            put_finding(report, order[i], file);
    }
    if (count > 0)
        fprintf(file, "</ul>%s\n</section>\n", shown < count ? "</details>" : "");
    free(order);
    return 0;
}

/* ---- the account: the legend of the chart ---- */

static void put_account_row(const struct report *report, const struct elapsed_row *row,
                            size_t index, uint64_t all, FILE *file)
{
    char who[ELAPSED_THREAD_SIZE], what[ELAPSED_TEXT_SIZE], share[UNIT_SIZE], time[UNIT_SIZE];
    char lane[PAGE_ID_SIZE];
    bool linked =
        row->pid != 0 && page_lane_id(report, row->origin, row->process, row->label, lane);

    elapsed_thread_text(row, who);
    elapsed_what(row, what);
    show_percent(row->time, all, share);
    show_duration(row->time, time);
    fprintf(file, "<tr id=\"why-%zu\"><td class=\"figures share\">", index + 1);
    xml_text(file, share);
    fprintf(file, "%%</td><td class=\"figures\">%s</td><td>", time);
    put_swatch(row->kind, file);
    fputs("</td><td>", file);
    if (linked)
        fprintf(file, "<a href=\"#%s\">", lane);
    xml_text(file, who);
    fprintf(file, "%s</td><td class=\"long\">", linked ? "</a>" : "");
    xml_text(file, what);
    fputs("</td></tr>\n", file);
}

static void put_account_rows(const struct report *report, const struct elapsed_account *account,
                             size_t from, size_t to, const char *caption, FILE *file)
{
    fprintf(file,
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table>\n"
            "<caption>%s</caption>\n<thead><tr><th scope=\"col\" class=\"figures\">Share</th>"
            "<th scope=\"col\" class=\"figures\">Time</th><th scope=\"col\">Spent on</th>"
            "<th scope=\"col\">Process</th><th scope=\"col\">Where</th></tr></thead>\n<tbody>\n",
            caption, caption);
    for (size_t i = from; i < to; i++)
        put_account_row(report, &account->rows[i], i, account->time, file);
    fputs("</tbody></table></div>\n", file);
}

#define ACCOUNT_SHOWN 7

static void put_account(const struct report *report, FILE *file)
{
    const struct elapsed_account *account = page_account(report);
    bool of_requests = account != NULL && account != &report->elapsed->run;

    if (account == NULL || account->row_count == 0)
        return;
    size_t most = account->row_count < PAGE_ROWS ? account->row_count : PAGE_ROWS;
    size_t shown = most < ACCOUNT_SHOWN ? most : ACCOUNT_SHOWN;
    put_account_rows(report, account, 0, shown,
                     of_requests ? "What the time of requests was spent on (dpm why)"
                                 : "What the elapsed time was spent on (dpm why)",
                     file);
    if (shown == most)
        return;
    fprintf(file, "<details><summary>%zu more row%s</summary>\n", most - shown,
            most - shown == 1 ? "" : "s");
    put_account_rows(report, account, shown, most, "Further rows", file);
    if (most < account->row_count)
        fprintf(file, "<p class=\"note\">%zu more: <code>dpm why --all</code></p>\n",
                account->row_count - most);
    fputs("</details>\n", file);
}

/* ---- lanes as a table: for readers without a script, or without eyes ---- */

static bool kind_is_used(const struct lanes *lanes, unsigned kind)
{
    uint64_t sum = lanes->others.time[kind];

    for (size_t i = 0; i < lanes->count; i++)
        sum += lanes->list[i].time[kind];
    return sum > 0;
}

static void put_lane_row(const struct lanes *lanes, size_t index, FILE *file)
{
    const struct lane *lane = index < lanes->count ? &lanes->list[index] : &lanes->others;
    char id[PAGE_ID_SIZE], text[PAGE_LANE_SIZE], time[UNIT_SIZE];
    uint64_t account = 0;

    page_lane_id_of(lanes, index, id);
    page_lane_text(lane, text);
    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
        account += lane->account[kind];
    show_percent(account, lanes->account, time);
    fprintf(file, "<tr id=\"%s\"><th scope=\"row\">", id);
    xml_text(file, index < lanes->count ? text : "others");
    fprintf(file, "</th><td class=\"figures\">%u</td><td class=\"figures\">",
            lane->processes - lane->passing);
    xml_text(file, time);
    fputs("%</td>", file);
    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
        if (kind_is_used(lanes, kind)) {
            show_duration(lane->time[kind], time);
            fprintf(file, "<td class=\"figures\">%s</td>", lane->time[kind] == 0 ? "" : time);
        }
    fputs("</tr>\n", file);
}

static void put_lanes(const struct lanes *lanes, FILE *file)
{
    static const char caption[] = "Time of threads, and share of the account";

    fprintf(
        file,
        "<details id=\"lanes-table\"><summary>The chart as a table</summary>\n"
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
        "<table class=\"sortable\">\n<caption>%s</caption>\n<thead><tr><th scope=\"col\">Lane</th>"
        "<th scope=\"col\" class=\"figures\">Processes</th>"
        "<th scope=\"col\" class=\"figures\">Account</th>",
        caption, caption);
    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
        if (kind_is_used(lanes, kind))
            fprintf(file, "<th scope=\"col\" class=\"figures\">%s</th>",
                    elapsed_kind_name((enum elapsed_kind)kind));
    fputs("</tr></thead>\n<tbody>\n", file);
    for (size_t i = 0; i < lanes->count + (lanes->others.processes > 0); i++)
        put_lane_row(lanes, i, file);
    fputs("</tbody></table></div></details>\n", file);
}

static void put_time(const struct report *report, FILE *file)
{
    if (report->elapsed == NULL)
        return;
    fputs("<section id=\"time\" aria-label=\"Time\">\n", file);
    if (report->lanes != NULL)
        fputs("<div id=\"chart\"></div>\n", file);
    put_account(report, file);
    if (report->lanes != NULL)
        put_lanes(report->lanes, file);
    fputs("</section>\n", file);
    if (report->elapsed->requests.count > 0)
        fputs("<section id=\"requests\">\n<h2>The median request and the slowest</h2>\n"
              "<div id=\"waterfalls\"></div>\n</section>\n",
              file);
}

/* ---- tables ---- */

static bool is_empty(const char *cell)
{
    return cell == NULL || cell[0] == '\0' || strcmp(cell, "-") == 0;
}

/* A column that says something; the first one always does. */
static bool has_column(const struct report_table *table, size_t column)
{
    if (table->columns[column].heading == NULL)
        return false;
    if (column == 0)
        return true;
    for (size_t i = 0; i < table->row_count; i++)
        if (!is_empty(table->rows[i].cells[column]))
            return true;
    return false;
}

#define LONG_CELL 48 /* characters: such a cell may take several lines */

static void put_cell(const struct report_table *table, const struct report_row *row, size_t column,
                     FILE *file)
{
    const char *text = row->cells[column] == NULL ? "" : row->cells[column];
    const char *kind = table->columns[column].figures ? " class=\"figures\""
                       : strlen(text) > LONG_CELL     ? " class=\"long\""
                                                      : "";

    fprintf(file, column == 0 ? "<th scope=\"row\"%s>" : "<td%s>", kind);
    xml_text(file, text);
    fputs(column == 0 ? "</th>" : "</td>", file);
}

static void put_head(const struct report_table *table, FILE *file)
{
    fputs("<thead><tr>", file);
    for (size_t i = 0; i < table->column_count; i++) {
        if (!has_column(table, i))
            continue;
        fprintf(file, "<th scope=\"col\"%s>",
                table->columns[i].figures ? " class=\"figures\"" : "");
        xml_text(file, table->columns[i].heading);
        fputs("</th>", file);
    }
    fputs("</tr></thead>\n", file);
}

static void put_table(const struct report_table *table, const char *traces, FILE *file)
{
    if (table->row_count == 0)
        return;
    fprintf(file,
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
            "<table class=\"sortable\">\n<caption>%s</caption>\n",
            table->title, table->title);
    put_head(table, file);
    fputs("<tbody>\n", file);
    for (size_t i = 0; i < table->row_count; i++) {
        fputs("<tr>", file);
        for (size_t k = 0; k < table->column_count; k++)
            if (has_column(table, k))
                put_cell(table, &table->rows[i], k, file);
        fputs("</tr>\n", file);
    }
    fputs("</tbody></table></div>\n", file);
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

/* ---- sections ---- */

struct section {
    const char *id, *title;
    bool there;
};

static void put_section(const struct section *section, const char *inner, FILE *file)
{
    fprintf(file, "<section id=\"%s\">\n<h2>%s</h2>\n%s", section->id, section->title, inner);
}

enum { MAP, FLAME, PATH, PARALLELISM, REQUESTS, HISTORY, TABLES, SECTIONS };

static void find_sections(const struct report *report, struct section sections[SECTIONS])
{
    const struct section all[SECTIONS] = {
        [MAP] = {"map", "Who talks to whom", true},
        [FLAME] = {"flame", "All time of all threads", report->lanes != NULL},
        [PATH] = {"critical-path", "What limits the speed: the critical path",
                  report->path != NULL},
        [PARALLELISM] = {"parallelism", "Would more processors help?", report->parallelism != NULL},
        [REQUESTS] = {"request-paths", "Paths of requests through the programs",
                      report->causality != NULL && report->causality->replies > 0},
        [HISTORY] = {"history", "Events and messages", report->graph != NULL},
        [TABLES] = {"tables", "Tables", true},
    };

    memcpy(sections, all, sizeof(all));
}

static void put_sections(const struct report *report, const struct report_content *content,
                         FILE *file)
{
    struct section sections[SECTIONS];

    find_sections(report, sections);
    put_section(&sections[MAP], "<div id=\"map-drawing\"></div>\n</section>\n", file);
    if (sections[FLAME].there)
        put_section(&sections[FLAME], "<div id=\"flame-drawing\"></div>\n</section>\n", file);
    if (sections[PATH].there) {
        put_section(&sections[PATH], "", file);
        put_tables(content, REPORT_PATH, report->traces, file);
        fputs("</section>\n", file);
    }
    if (sections[PARALLELISM].there) {
        put_section(
            &sections[PARALLELISM],
            "<p class=\"note\">P is the speedup over one processor. Step max: each thread has "
            "a processor, messages take no time; sharing: threads share the processors of "
            "the assignment.</p>\n",
            file);
        put_tables(content, REPORT_PARALLELISM, report->traces, file);
        fputs("</section>\n", file);
    }
    if (sections[REQUESTS].there) {
        put_section(&sections[REQUESTS], "<div id=\"states\"></div>\n", file);
        put_tables(content, REPORT_REQUESTS, report->traces, file);
        fputs("</section>\n", file);
    }
    if (sections[HISTORY].there)
        put_section(&sections[HISTORY], "<div id=\"history-drawing\"></div>\n</section>\n", file);
    put_section(&sections[TABLES], "", file);
    put_tables(content, REPORT_COMMUNICATION, report->traces, file);
    fputs("</section>\n", file);
}

static void put_contents(const struct report *report, const struct report_content *content,
                         FILE *file)
{
    struct section sections[SECTIONS];

    find_sections(report, sections);
    fputs("<nav aria-label=\"Contents\"><ul>", file);
    if (report->elapsed != NULL)
        fputs("<li><a href=\"#time\">Time</a></li>", file);
    if (report->elapsed != NULL && report->elapsed->requests.count > 0)
        fputs("<li><a href=\"#requests\">Requests</a></li>", file);
    if (content->finding_count > 1)
        fputs("<li><a href=\"#findings\">Findings</a></li>", file);
    static const char *const words[SECTIONS] = {
        "Map", "Flame graph", "Critical path", "Parallelism", "Request paths", "History", "Tables"};
    for (unsigned i = 0; i < SECTIONS; i++)
        if (sections[i].there)
            fprintf(file, "<li><a href=\"#%s\">%s</a></li>", sections[i].id, words[i]);
    fputs("<li><a href=\"#recording\">Recording</a></li></ul></nav>\n", file);
}

/* ---- the verdict ---- */

static bool is_unit(const char *text)
{
    static const char *const units[] = {"ns", "us", "ms", "s", "min", "h", "B", "KiB", "MiB"};
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (length == strlen(units[i]) && strncmp(text, units[i], length) == 0)
            return true;
    return false;
}

/* What is in parentheses is lighter, and a line does not end between a figure and its unit. */
static void decorate(const char *escaped, FILE *file)
{
    unsigned depth = 0;

    for (const char *at = escaped; *at != '\0'; at++) {
        if (*at == '(' && depth++ == 0)
            fputs("<span class=\"aside\">", file);
        if (*at == ' ' && at > escaped && at[-1] >= '0' && at[-1] <= '9' && is_unit(at + 1))
            fputs("\u00a0", file);
        else
            fputc(*at, file);
        if (*at == ')' && depth > 0 && --depth == 0)
            fputs("</span>", file);
    }
    if (depth > 0)
        fputs("</span>", file);
}

static int put_verdict(const char *text, FILE *file)
{
    char *escaped = NULL;
    size_t size;
    FILE *memory = open_memstream(&escaped, &size);

    if (memory == NULL)
        return -ENOMEM;
    xml_text(memory, text);
    int result = fclose(memory) != 0 ? -ENOMEM : 0;
    fputs("<h1>", file);
    if (result == 0)
        decorate(escaped, file);
    fputs("</h1>\n", file);
    free(escaped);
    return result;
}

/* ---- everything together ---- */

static void put_head_of_page(const char *subject, FILE *file)
{
    fprintf(file,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"UTF-8\"/>\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\"/>\n"
            "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>DPM report: ",
            page_policy);
    xml_text(file, subject);
    fprintf(file, "</title>\n<style>%s</style>\n</head>\n<body>\n", page_style);
    fputs("<svg id=\"marks\" aria-hidden=\"true\"><defs><marker id=\"head\" viewBox=\"0 0 10 10\" "
          "refX=\"9\" "
          "refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" "
          "orient=\"auto\"><path d=\"M0,0 L10,5 L0,10 z\"/></marker></defs></svg>\n",
          file);
}

static int put_data(const struct report *report, FILE *file)
{
    fputs("<script type=\"application/json\" id=\"data\">", file);
    int result = page_print(page_json(report), file);
    fprintf(file, "</script>\n<script>%s</script>\n<script>%s</script>\n</body>\n</html>\n",
            page_library, page_script);
    return result;
}

static int put_page(const struct report *report, const struct report_content *content, FILE *file)
{
    const char *subject = report->traces == NULL ? "a recording without a trace" : report->traces;

    put_head_of_page(subject, file);
    fputs("<header class=\"top\"><p><strong>", file);
    xml_text(file, subject);
    fputs("</strong></p>\n", file);
    int result = put_lines(report, print_heading, file);
    put_contents(report, content, file);
    fputs("</header>\n<main>\n", file);
    if (result == 0)
        result = put_verdict(content->findings[0].text, file);
    fputs("<noscript><p class=\"note\">The drawings need JavaScript; findings and tables do "
          "not.</p></noscript>\n",
          file);
    put_time(report, file);
    if (result == 0)
        result = put_findings(report, content, file);
    put_sections(report, content, file);
    fputs("<section id=\"recording\">\n<h2>About the recording</h2>\n", file);
    if (result == 0)
        result = put_lines(report, print_statistics_grounds, file);
    fputs("</section>\n</main>\n", file);
    return result < 0 ? result : put_data(report, file);
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
