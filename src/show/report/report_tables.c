/* SPDX-License-Identifier: MIT */
/*
 * report_tables.c: the first rows of the tables of each analysis, and which command shows all of them. See
 * report_face.h.
 *
 *      Processes             dpm stats
 *      Who sent to whom      dpm stats --by pair
 *      Connections           dpm stats --by path
 *      Parallelism           dpm parallelism
 *      The longest path      dpm path
 *      Ways of requests      dpm causality
 */
#include "analysis/statistics/statistics_figures.h"
#include "show/parallelism/critical_path_face.h"
#include "show/parallelism/parallelism_face.h"
#include "show/report/report_face.h"
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- making tables ---- */

static struct report_table *begin_table(struct report_content *content, enum report_part part,
                                        const char *title, const char *command,
                                        const struct table_column *columns, size_t column_count)
{
    struct report_table *table = &content->tables[content->table_count++];

    *table = (struct report_table){.part = part,
                                   .title = title,
                                   .command = command,
                                   .columns = columns,
                                   .column_count = column_count};
    return table;
}

static void add_row(struct report_content *content, struct report_table *table,
                    const char *const *cells)
{
    const char **kept = arena_allocate(&content->memory, table->column_count * sizeof(*kept));

    if (kept == NULL || array_reserve(&table->rows, &table->row_capacity, table->row_count + 1,
                                      sizeof(*table->rows)) < 0) {
        content->failed = true;
        return;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        size_t size = strlen(cells[i]) + 1;
        char *text = arena_allocate(&content->memory, size);
        if (text == NULL) {
            content->failed = true;
            return;
        }
        memcpy(text, cells[i], size);
        kept[i] = text;
    }
    table->rows[table->row_count++].cells = kept;
}

static size_t first_rows(const struct report_content *content, struct report_table *table,
                         size_t count)
{
    size_t shown = count < content->most ? count : content->most;

    table->left_out = count - shown;
    return shown;
}

static void quantile_text(const struct histogram *times, double share, char text[UNIT_SIZE])
{
    if (histogram_bars(times) == 0)
        strcpy(text, "-");
    else
        show_duration(histogram_quantile(times, share), text);
}

static void sum_text(const struct histogram *times, char text[UNIT_SIZE])
{
    if (histogram_bars(times) == 0)
        strcpy(text, "-");
    else
        show_duration(histogram_sum(times), text);
}

/* ---- communication ---- */

static int add_processes(const struct communication *communication, struct report_content *content)
{
    static const struct table_column columns[] = {
        {"PROCESS", false}, {"CREATED BY", false}, {"CPU TIME", true}, {"%", true},
        {"SENT", true},     {"BYTES SENT", true},  {"RECEIVED", true}, {"BYTES RECEIVED", true},
    };
    struct report_table *table =
        begin_table(content, REPORT_COMMUNICATION, "Processes", "dpm stats --all --sort cpu",
                    columns, ARRAY_SIZE(columns));
    const struct communication_process **rows = ordered_processes(communication, ORDER_CPU);
    size_t shown = first_rows(content, table, communication->process_count);
    char name[PROCESS_TEXT_SIZE], parent[PROCESS_TEXT_SIZE], cpu[UNIT_SIZE], share[UNIT_SIZE];
    struct traffic_text sent, received;

    if (rows == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < shown; i++) {
        process_text(communication, (uint32_t)(rows[i] - communication->processes), name);
        strcpy(parent, "-");
        if (rows[i]->parent != NO_PROCESS)
            process_text(communication, rows[i]->parent, parent);
        show_duration(rows[i]->cpu, cpu);
        show_percent(rows[i]->cpu, communication->cpu, share);
        traffic_text(&rows[i]->sent, &sent);
        traffic_text(&rows[i]->received, &received);
        add_row(content, table,
                (const char *[]){name, parent, cpu, share, sent.messages, sent.bytes,
                                 received.messages, received.bytes});
    }
    free(rows);
    return 0;
}

static int add_pairs(const struct communication *communication, struct report_content *content)
{
    static const struct table_column columns[] = {
        {"FROM", false},           {"TO", false},   {"MESSAGES", true},
        {"BYTES", true},           {"%", true},     {"RECEIVER WAITED", true},
        {"MESSAGES WAITED", true}, {"LATE", false},
    };
    struct report_table *table =
        begin_table(content, REPORT_COMMUNICATION, "Who sent to whom", "dpm stats --all --by pair",
                    columns, ARRAY_SIZE(columns));
    const struct communication_pair **rows = ordered_pairs(communication, ORDER_BYTES);
    size_t shown = first_rows(content, table, communication->pair_count);
    char from[PARTY_TEXT_SIZE], to[PARTY_TEXT_SIZE], share[UNIT_SIZE], waits[2][UNIT_SIZE];
    struct traffic_text sent;

    if (rows == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < shown; i++) {
        party_text(communication, &rows[i]->from, from);
        party_text(communication, &rows[i]->to, to);
        traffic_text(&rows[i]->sent, &sent);
        show_percent(rows[i]->sent.bytes, communication->local.bytes + communication->remote.bytes,
                     share);
        sum_text(&rows[i]->times.of[TIME_RECEIVER_WAIT], waits[0]);
        sum_text(&rows[i]->times.of[TIME_MESSAGE_WAIT], waits[1]);
        const char *late = pair_waited(rows[i]) == 0 ? "-"
                           : sender_is_late(rows[i]) ? "the sender"
                                                     : "the receiver";
        add_row(
            content, table,
            (const char *[]){from, to, sent.messages, sent.bytes, share, waits[0], waits[1], late});
    }
    free(rows);
    return 0;
}

static int add_paths(const struct communication *communication, struct report_content *content)
{
    static const struct table_column columns[] = {
        {"PATH", false},          {"LOCAL", false},     {"REMOTE", false}, {"BYTES SENT", true},
        {"BYTES RECEIVED", true}, {"ANSWER P50", true}, {"P99", true},     {"RTT", true},
        {"SENT AGAIN", true},
    };
    struct report_table *table =
        begin_table(content, REPORT_COMMUNICATION, "Connections", "dpm stats --all --by path",
                    columns, ARRAY_SIZE(columns));
    const struct communication_path **rows = ordered_paths(communication, ORDER_BYTES);
    size_t shown = first_rows(content, table, communication->path_count);
    char ends[2][END_TEXT_SIZE], cells[4][UNIT_SIZE];
    struct traffic_text sent, received;

    if (rows == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < shown; i++) {
        const struct histogram *of = rows[i]->times.of;
        const struct histogram *answers =
            histogram_bars(&of[TIME_REQUEST]) > 0 ? &of[TIME_REQUEST] : &of[TIME_RESPONSE];
        const struct network *network = &rows[i]->network;
        end_text(communication, &rows[i]->ends[0], rows[i]->local, ends[0]);
        end_text(communication, &rows[i]->ends[1], rows[i]->remote, ends[1]);
        traffic_text(&rows[i]->sent, &sent);
        traffic_text(&rows[i]->received, &received);
        quantile_text(answers, 0.5, cells[0]);
        quantile_text(answers, 0.99, cells[1]);
        strcpy(cells[2], "-");
        strcpy(cells[3], "-");
        if (network->known) {
            show_duration(network->round_trip, cells[2]);
            show_count(network->retransmitted, cells[3]);
        }
        add_row(content, table,
                (const char *[]){path_kind_name(rows[i]->kind), ends[0], ends[1], sent.bytes,
                                 received.bytes, cells[0], cells[1], cells[2], cells[3]});
    }
    free(rows);
    return 0;
}

/* ---- parallelism and the longest path ---- */

bool report_tells_row(const struct parallelism *parallelism, size_t row)
{
    const struct parallelism_row *is = &parallelism->rows[row];

    if (is->step == STEP_SHARING || row == 0)
        return true;
    return is->longest != parallelism->rows[0].longest;
}

static void add_parallelism(const struct parallelism_runs *runs, struct report_content *content)
{
    static const struct table_column with_threads[] = {
        {"ASSIGNMENT", false},    {"STEP", false}, {"P", true},
        {"P OF PROCESSES", true}, {"T_MAX", true},
    };
    static const struct table_column columns[] = {
        {"ASSIGNMENT", false}, {"STEP", false}, {"P", true}, {NULL, true}, {"T_MAX", true},
    };
    bool threads = runs->at[0].processes != NULL;
    const struct parallelism *of = runs->at[0].threads;
    struct report_table *table =
        begin_table(content, REPORT_PARALLELISM, "Parallelism", "dpm parallelism",
                    threads ? with_threads : columns, ARRAY_SIZE(columns));
    char cells[3][UNIT_SIZE];

    for (size_t i = 0; i < of->row_count; i++) {
        if (!report_tells_row(of, i))
            continue;
        snprintf(cells[0], UNIT_SIZE, "%.2f", parallelism_spread(runs, i, false).median);
        snprintf(cells[1], UNIT_SIZE, "%.2f", parallelism_spread(runs, i, true).median);
        show_duration(of->rows[i].longest, cells[2]);
        add_row(content, table,
                (const char *[]){runs->options->assignments[of->rows[i].assignment].name,
                                 parallelism_step_name(of->rows[i].step), cells[0], cells[1],
                                 cells[2]});
    }
}

static int add_path(const struct critical_path *path, struct report_content *content)
{
    static const struct table_column columns[] = {
        {"PROCESS", false},    {"CPU ON PATH", true},  {"% OF PATH", true},
        {"WAITS ON IT", true}, {"% OF ITS CPU", true}, {"SLACK", true},
    };
    struct report_table *table = begin_table(content, REPORT_PATH, "The longest path",
                                             "dpm path --all", columns, ARRAY_SIZE(columns));
    uint32_t *order = critical_order_processes(path);
    size_t shown = first_rows(content, table, path->parallelism->process_count);
    char name[PROCESS_NAME_SIZE], cells[5][UNIT_SIZE];

    if (order == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < shown; i++) {
        const struct critical_process *process = &path->processes[order[i]];
        critical_process_text(path, order[i], name);
        show_duration(process->cpu, cells[0]);
        show_percent(process->cpu, path->longest, cells[1]);
        show_duration(process->outside, cells[2]);
        show_percent(process->cpu, path->parallelism->processes[order[i]].cpu, cells[3]);
        strcpy(cells[4], "-");
        if (process->has_slack)
            show_duration(process->slack, cells[4]);
        add_row(content, table,
                (const char *[]){name, cells[0], cells[1], cells[2], cells[3], cells[4]});
    }
    free(order);
    return 0;
}

static void add_procedures(const struct critical_path *path, struct report_content *content)
{
    static const struct table_column columns[] = {
        {"PROCESS", false},
        {"UP TO A CALL IN", false},
        {"CPU ON PATH", true},
        {"% OF PATH", true},
    };
    char process[PROCESS_NAME_SIZE], name[CRITICAL_PROCEDURE_TEXT], cells[2][UNIT_SIZE];

    if (path->procedure_count == 0)
        return;
    struct report_table *table = begin_table(content, REPORT_PATH, "Procedures on the longest path",
                                             "dpm path --all", columns, ARRAY_SIZE(columns));
    size_t shown = first_rows(content, table, path->procedure_count);
    for (size_t i = 0; i < shown; i++) {
        critical_process_text(path, path->procedures[i].process, process);
        critical_procedure_text(&path->procedures[i], name, sizeof(name));
        show_duration(path->procedures[i].cpu, cells[0]);
        show_percent(path->procedures[i].cpu, path->longest, cells[1]);
        add_row(content, table, (const char *[]){process, name, cells[0], cells[1]});
    }
}

/* ---- requests ---- */

static int add_requests(const struct causality *causality, struct report_content *content)
{
    static const struct table_column columns[] = {
        {"STRING", false}, {"COUNT", true}, {"%", true},        {"P50", true},
        {"P99", true},     {"MAX", true},   {"LETTERS", false},
    };
    struct report_table *table = begin_table(content, REPORT_REQUESTS, "Ways that requests took",
                                             "dpm causality --all", columns, ARRAY_SIZE(columns));
    const struct causality_path **rows = causality_commonest(causality);
    size_t shown = first_rows(content, table, causality->path_count);
    char cells[5][UNIT_SIZE], letters[REPORT_LETTERS_SIZE];
    uint64_t all = 0;

    if (rows == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < causality->path_count; i++)
        all += rows[i]->count;
    for (size_t i = 0; i < shown; i++) {
        report_letters(causality, rows[i]->string, letters, sizeof(letters));
        show_count(rows[i]->count, cells[0]);
        show_percent(rows[i]->count, all, cells[1]);
        quantile_text(&rows[i]->latency, 0.5, cells[2]);
        quantile_text(&rows[i]->latency, 0.99, cells[3]);
        show_duration(histogram_max(&rows[i]->latency), cells[4]);
        add_row(content, table,
                (const char *[]){rows[i]->string, cells[0], cells[1], cells[2], cells[3], cells[4],
                                 letters});
    }
    free(rows);
    return 0;
}

int report_tabulate(const struct report *report, struct report_content *content)
{
    int result = add_processes(report->communication, content);

    if (result == 0)
        result = add_pairs(report->communication, content);
    if (result == 0)
        result = add_paths(report->communication, content);
    if (result == 0 && report->parallelism != NULL)
        add_parallelism(report->parallelism, content);
    if (result == 0 && report->path != NULL)
        result = add_path(report->path, content);
    if (result == 0 && report->path != NULL)
        add_procedures(report->path, content);
    if (result == 0 && report->causality != NULL && report->causality->path_count > 0)
        result = add_requests(report->causality, content);
    return result < 0 || content->failed ? -ENOMEM : 0;
}
