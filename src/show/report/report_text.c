/* SPDX-License-Identifier: MIT */
/*
 * report_text.c: the report of a recording as text and as JSON. See show.h.
 *
 *      heading
 *      TOPIC        a sentence, in lines of 78 columns or fewer,
 *                   for each finding
 *      tables, each with the command that shows the whole table
 *      what the result is based on
 */
#include "show/report/report_face.h"
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/json.h"
#include "show/text/matching_face.h"
#include "show/text/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- sentences ---- */

#define TOPIC_WIDTH 13
#define LINE_WIDTH  78

/* Width of a text, one column per character. */
static size_t width_of(const char *text, size_t size)
{
    size_t width = 0;

    for (size_t i = 0; i < size; i++)
        width += (text[i] & 0xc0) != 0x80;
    return width;
}

/* Bytes of the next word; a number and its unit are one word. */
static size_t word_size(const char *text)
{
    size_t size = strcspn(text, " ");

    if (text[0] >= '0' && text[0] <= '9' && text[size] == ' ')
        size += 1 + strcspn(text + size + 1, " ");
    return size;
}

static void print_wrapped(const char *text, FILE *file)
{
    size_t column = TOPIC_WIDTH, width_of_line = terminal_width(file);

    if (width_of_line == 0 || width_of_line > LINE_WIDTH)
        width_of_line = LINE_WIDTH;

    while (*text != '\0') {
        size_t size = word_size(text);
        size_t width = width_of(text, size);
        if (column > TOPIC_WIDTH && column + 1 + width > width_of_line) {
            fprintf(file, "\n%*s", TOPIC_WIDTH, "");
            column = TOPIC_WIDTH;
        } else if (column > TOPIC_WIDTH) {
            fputc(' ', file);
            column++;
        }
        fwrite(text, 1, size, file);
        column += width;
        text += size + strspn(text + size, " ");
    }
    fputc('\n', file);
}

static void print_finding(const struct report_content *content, size_t index, FILE *file)
{
    const struct report_finding *finding = &content->findings[index];
    bool same = index > 0 && strcmp(finding[-1].topic, finding->topic) == 0;

    fprintf(file, "%-*s", TOPIC_WIDTH, same ? "" : finding->topic);
    print_wrapped(finding->text, file);
}

static void print_findings(const struct report_content *content, FILE *file)
{
    for (size_t i = 0; i < content->finding_count; i++)
        print_finding(content, i, file);
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;

    for (; (text = strchr(text, '\n')) != NULL; text++)
        lines++;
    return lines;
}

/* How many lines a finding takes, or -ENOMEM. */
static int64_t lines_of_finding(const struct report_content *content, size_t index)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (file == NULL)
        return -ENOMEM;
    print_finding(content, index, file);
    int64_t lines = fclose(file) == EOF ? -ENOMEM : (int64_t)lines_of(text);
    free(text);
    return lines;
}

static bool is_of_account(const struct report_finding *finding)
{
    return finding->values != NULL && strcmp(finding->values->key, "elapsed") == 0;
}

/* Lines of the first finding after the account of the time, if it says what to act on; 0: it does not. Or -ENOMEM. */
static int64_t lines_to_act_on(const struct report_content *content)
{
    size_t index = 0;

    while (index < content->finding_count && is_of_account(&content->findings[index]))
        index++;
    const struct report_finding *finding = &content->findings[index];
    return index < content->finding_count && finding->values != NULL && finding->values->acts
               ? lines_of_finding(content, index)
               : 0;
}

/* Prints the first findings, as many as fit into so many lines; always one. The small parts of the account of the time make
 * room for what a person can act on. Returns how many, or -ENOMEM. */
static int64_t print_first_findings(const struct report_content *content, int64_t lines, FILE *file)
{
    int64_t printed = 0, to_act_on = lines_to_act_on(content);
    bool account_ends = false;

    if (to_act_on < 0)
        return to_act_on;
    for (size_t i = 0; i < content->finding_count; i++) {
        int64_t takes = lines_of_finding(content, i);
        bool of_account = is_of_account(&content->findings[i]);
        if (takes < 0)
            return takes;
        if (of_account && account_ends)
            continue;
        if (printed > 0 && takes > lines - (of_account ? to_act_on : 0)) {
            account_ends = true;
            if (of_account)
                continue;
            break;
        }
        print_finding(content, i, file);
        lines -= takes;
        printed++;
    }
    return printed;
}

int show_report_findings(const struct report *report, FILE *file)
{
    struct report_content content = {0};
    int result = report_find(report, &content);

    if (result == 0) {
        print_findings(&content, file);
        result = strcmp(content.findings[0].topic, FOUND_NOTHING) != 0;
    }
    report_content_done(&content);
    return result;
}

/* ---- tables ---- */

/* `says_more`: with the command that shows all of it. */
static int print_table(const struct report_table *from, const struct report *report, bool says_more,
                       FILE *file)
{
    char words[UNIT_SIZE] = "more of it";
    struct table table;
    int result = table_init(&table, file, from->columns, from->column_count);

    table.whole = report->all;
    for (size_t i = 0; result == 0 && i < from->row_count; i++)
        result = table_add(&table, from->rows[i].cells);
    if (result == 0) {
        print_title(file, from->title);
        result = table_print(&table, file);
    }
    table_done(&table);
    if (!says_more)
        return result;
    if (from->left_out > 0)
        snprintf(words, sizeof(words), "%zu more", from->left_out);
    print_where_more_is(file, words, from->command, report->traces);
    return result;
}

int show_report_text(const struct report *report, FILE *file)
{
    struct report_content content = {.most = REPORT_ROWS};
    int result = report_find(report, &content);

    if (result == 0)
        result = report_tabulate(report, &content);
    if (result == 0) {
        print_statistics_heading(report->communication, file, &(struct show_options){0});
        print_title(file, "What was found");
        print_findings(&content, file);
        if (content.aside > 0 && !report->all)
            fprintf(file, "(%zu more, which %s: --all)\n", content.aside,
                    content.aside == 1 ? "explains nothing or repeats these"
                                       : "explain nothing or repeat these");
    }
    for (size_t i = 0; i < content.table_count && result == 0 && !ferror(file); i++)
        result = print_table(&content.tables[i], report, true, file);
    if (result == 0)
        print_statistics_grounds(report->communication, file);
    report_content_done(&content);
    return result;
}

/* ---- at the end of a recording ---- */

/* Whatever else there is, it fits on a screen of 40 lines. */
#define RECORDED_LINES 11 /* of findings */
#define RECORDED_ROWS  5  /* of processes, and of pairs */

/* The first findings, the heaviest processes and pairs, and how to see the rest. */
static int show_recorded_briefly(const struct report *report, FILE *file)
{
    struct report_content content = {.most = RECORDED_ROWS};
    int result = report_find(report, &content);
    int64_t shown = 0;

    if (result == 0)
        result = report_tabulate_heaviest(report, &content);
    if (result == 0) {
        print_title(file, "What was found");
        shown = print_first_findings(&content, RECORDED_LINES, file);
        result = shown < 0 ? (int)shown : 0;
    }
    for (size_t i = 0; i < content.table_count && result == 0 && !ferror(file); i++)
        result = print_table(&content.tables[i], report, false, file);
    if (result == 0 && !ferror(file)) {
        char words[2 * UNIT_SIZE] = "more of it";
        size_t left = content.finding_count - (size_t)shown;
        print_statistics_grounds(report->communication, file);
        if (left > 0)
            snprintf(words, sizeof(words), "%zu more finding%s", left, left == 1 ? "" : "s");
        print_where_more_is(file, words, "dpm report", report->traces);
    }
    report_content_done(&content);
    return result;
}

int show_recorded(const struct report *report, FILE *file)
{
    const struct show_options options = {0};
    bool all = report->path != NULL && report->causality != NULL;

    print_statistics_heading(report->communication, file, &options);
    if (report->traces != NULL) /* else there is no other way to see the rest */
        return show_recorded_briefly(report, file);
    print_title(file, "What was found");
    int result = show_report_findings(report, file);
    if (result > 0)
        print_where_more_is(
            file, all ? "more of it" : "parallelism, the critical path, waits and requests",
            "dpm report", report->traces);
    if (result >= 0)
        result = print_statistics_tables(report->communication, file, &options);
    if (result == 0 && !ferror(file))
        print_statistics_grounds(report->communication, file);
    return result;
}

/* ---- JSON ---- */

static json_t *process_json(const void *context, size_t index)
{
    const struct report_values *values = context;

    return json_count(values->of.processes[index]);
}

static json_t *finding_json(const struct report_finding *finding)
{
    const struct report_values *values = finding->values;

    return json_pack(
        "{s:s, s:s, s:s, s:b, s:o, s:o, s:o}", "topic", finding->topic, "text", finding->text,
        "kind", values == NULL ? "nothing" : values->key, "aside", values != NULL && values->aside,
        "share", values != NULL && values->of.share > 0 ? json_real(values->of.share) : json_null(),
        "ns", values != NULL && values->of.has_time ? json_count(values->of.time) : json_null(),
        "processes",
        json_array_of(values, values == NULL ? 0 : values->of.process_count, process_json));
}

static json_t *findings_json(const struct report_content *content)
{
    json_t *list = json_array();
    int result = list == NULL ? -1 : 0;

    for (size_t i = 0; i < content->finding_count && result == 0; i++)
        result = json_array_append_new(list, finding_json(&content->findings[i]));
    if (result == 0)
        return list;
    json_decref(list);
    return NULL;
}

static int print_findings_json(const struct report *report, FILE *file)
{
    struct report_content content = {0};
    struct report with_all = *report;

    with_all.all = true;
    int result = report_find(&with_all, &content);
    json_t *list = result == 0 ? findings_json(&content) : NULL;

    fputs("{\"findings\": ", file);
    if (result == 0)
        result = json_print(list, JSON_INDENT(1), file);
    report_content_done(&content);
    return result;
}

int show_report_json(const struct report *report, FILE *file)
{
    const struct show_options options = {.json = true};
    int result = print_findings_json(report, file);

    fputs(",\n\"statistics\": ", file);
    if (result == 0)
        result = show_statistics(report->communication, file, &options);
    if (result == 0 && report->parallelism != NULL) {
        fputs(",\n\"parallelism\": ", file);
        result = show_parallelism(report->parallelism, file, &options);
    }
    if (result == 0 && report->path != NULL) {
        fputs(",\n\"path\": ", file);
        result =
            show_critical_path(report->path, report->elapsed, &report->recorded, file, &options);
    }
    if (result == 0 && report->causality != NULL) {
        fputs(",\n\"causality\": ", file);
        result = show_causality(report->causality, file, &(struct causality_face){.json = true});
    }
    if (result == 0 && report->elapsed != NULL) {
        fputs(",\n\"why\": ", file);
        result =
            show_elapsed(report->elapsed, &report->recorded, file, &options, ELAPSED_VIEW_BEST);
    }
    fputs("}\n", file);
    return result;
}
