/* SPDX-License-Identifier: MIT */
/* statistics_table.c: the communication statistics as tables for people. See show.h. */
#include "show/show.h"
#include "show/statistics/statistics_face.h"
#include "show/statistics/statistics_words.h"
#include "show/text/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_PROCEDURES 20 /* rows, unless all are asked for */

static void add_traffic(struct traffic *sum, const struct traffic *more)
{
    sum->messages += more->messages;
    sum->bytes += more->bytes;
}

/* ---- processes ---- */

/* The user or container of a process; "-" if its identity was lost. */
static void attribute_text(const struct communication_process *process, enum communication_by by,
                           char text[NAME_TEXT_SIZE])
{
    char name[NAME_SIZE];

    strcpy(text, "-");
    if (process->pid == 0)
        return;
    communication_group_name(process, by, name);
    show_text(name, NAME_SIZE, text);
}

/* Whether processes have different ones, so that a column of them tells something. */
static bool attribute_differs(const struct communication *communication, enum communication_by by)
{
    char first[NAME_TEXT_SIZE] = "";
    char text[NAME_TEXT_SIZE];

    if (communication->by != BY_PROCESS)
        return false;
    for (size_t i = 0; i < communication->process_count; i++) {
        if (communication->processes[i].pid == 0)
            continue;
        attribute_text(&communication->processes[i], by, text);
        if (first[0] == '\0')
            strcpy(first, text);
        else if (strcmp(first, text) != 0)
            return true;
    }
    return false;
}

static int add_process(struct table *table, const struct communication *communication,
                       const struct communication_process *process)
{
    char name[NAME_TEXT_SIZE];
    char size[UNIT_SIZE];
    char user[NAME_TEXT_SIZE];
    char container[NAME_TEXT_SIZE];
    char pid[UNIT_SIZE] = "-";
    char parent[PROCESS_TEXT_SIZE] = "-";
    char machine[MACHINE_TEXT_SIZE];
    char cpu[UNIT_SIZE];
    char shares[2][UNIT_SIZE];
    char failed[UNIT_SIZE];
    struct traffic_text sent;
    char rate[UNIT_SIZE];
    struct traffic_text received;

    name_text(process, name);
    show_bytes((uint64_t)show_rate(process->sent.bytes, communication->duration), rate);
    show_percent(process->cpu, communication->cpu, shares[0]);
    show_percent(process->sent.bytes, communication->sent.bytes, shares[1]);
    show_count(process->failed_sends + process->failed_receives, failed);
    if (process->pid != 0)
        snprintf(pid, sizeof(pid), "%u", process->pid);
    if (process->parent != NO_PROCESS)
        process_text(communication, process->parent, parent);
    machine_text(communication, process->machine, machine);
    show_count(process->group_size, size);
    attribute_text(process, BY_USER, user);
    attribute_text(process, BY_CONTAINER, container);
    show_duration(process->cpu, cpu);
    traffic_text(&process->sent, &sent);
    traffic_text(&process->received, &received);
    return table_add(table, (const char *[]){name, size, pid, parent, machine, user, container, cpu,
                                             shares[0], sent.messages, sent.bytes, shares[1], rate,
                                             received.messages, received.bytes, failed});
}

static int add_other_processes(struct table *table, const struct communication *communication,
                               const struct communication_process *const *rows, size_t count)
{
    struct traffic sum[2] = {{0}};
    uint64_t cpu_sum = 0;
    uint64_t size_sum = 0;
    uint64_t failed_sum = 0;
    char name[UNIT_SIZE];
    char size[UNIT_SIZE];
    char cpu[UNIT_SIZE];
    char shares[2][UNIT_SIZE];
    char failed[UNIT_SIZE];
    struct traffic_text sent;
    struct traffic_text received;

    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        add_traffic(&sum[0], &rows[i]->sent);
        add_traffic(&sum[1], &rows[i]->received);
        cpu_sum += rows[i]->cpu;
        size_sum += rows[i]->group_size;
        failed_sum += rows[i]->failed_sends + rows[i]->failed_receives;
    }
    others_text(count, name);
    show_count(size_sum, size);
    show_duration(cpu_sum, cpu);
    show_percent(cpu_sum, communication->cpu, shares[0]);
    show_percent(sum[0].bytes, communication->sent.bytes, shares[1]);
    show_count(failed_sum, failed);
    traffic_text(&sum[0], &sent);
    traffic_text(&sum[1], &received);
    return table_add(table, (const char *[]){name, size, "", "", "", "", "", cpu, shares[0],
                                             sent.messages, sent.bytes, shares[1], "",
                                             received.messages, received.bytes, failed});
}

static bool has_shared_rows(const struct communication *communication)
{
    for (size_t i = 0; i < communication->process_count; i++)
        if (communication->processes[i].group != NULL)
            return true;
    return false;
}

static bool has_failed_calls(const struct communication *communication)
{
    for (size_t i = 0; i < communication->process_count; i++)
        if (communication->processes[i].failed_sends + communication->processes[i].failed_receives >
            0)
            return true;
    return false;
}

static int print_processes(const struct communication *communication, FILE *file,
                           const struct show_options *options)
{
    static const struct {
        const char *title;
        const char *heading;
    } words[] = {
        [BY_PROCESS] = {"Processes", "PROCESS"},
        [BY_USER] = {"Users", "USER"},
        [BY_CONTAINER] = {"Containers", "CONTAINER"},
        [BY_PROGRAM] = {"Programs", "PROGRAM"},
        [BY_MACHINE] = {"Machines", "MACHINE"},
        [BY_NAMESPACE] = {"PID namespaces", "NAMESPACE"},
    };
    bool groups = communication->by != BY_PROCESS;
    const struct table_column columns[] = {
        {words[communication->by].heading, false},
        {groups || has_shared_rows(communication) ? "PROCESSES" : NULL, true},
        {groups ? NULL : "PID", true},
        {groups ? NULL : "PARENT", false},
        {communication->machine_count > 1 && communication->by != BY_MACHINE ? "MACHINE" : NULL,
         false},
        {attribute_differs(communication, BY_USER) ? "USER" : NULL, false},
        {attribute_differs(communication, BY_CONTAINER) ? "CONTAINER" : NULL, false},
        {"CPU TIME", true},
        {"%", true},
        {"SENT", true},
        {"BYTES SENT", true},
        {"%", true},
        {groups ? "PER S" : NULL, true},
        {"RECEIVED", true},
        {"BYTES RECEIVED", true},
        {has_failed_calls(communication) ? "FAILED" : NULL, true},
    };
    size_t shown = shown_rows(communication->process_count, options);
    const struct communication_process **rows = ordered_processes(communication, options->order);
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    if (!groups)
        table.leading = has_shared_rows(communication) ? 3 : 2; /* up to PID */
    if (rows == NULL)
        result = -ENOMEM;
    for (size_t i = 0; result == 0 && i < shown; i++)
        result = add_process(&table, communication, rows[i]);
    if (result == 0)
        result = add_other_processes(&table, communication, rows + shown,
                                     communication->process_count - shown);
    if (result == 0) {
        print_title(file, words[communication->by].title);
        result = table_print(&table, file);
    }
    table_done(&table);
    free(rows);
    return result;
}

/* ---- pairs ---- */

static int add_pair(struct table *table, const struct communication *communication,
                    const struct communication_pair *pair)
{
    char from[PARTY_TEXT_SIZE];
    char to[PARTY_TEXT_SIZE];
    char where[UNIT_SIZE];
    char share[UNIT_SIZE];
    char rate[UNIT_SIZE];
    char sizes[3][UNIT_SIZE];
    struct traffic_text sent;

    show_percent(pair->sent.bytes, pair->from_bytes, share);
    show_bytes((uint64_t)show_rate(pair->sent.bytes, communication->duration), rate);
    show_bytes(histogram_quantile(&pair->sizes, 0.5), sizes[0]);
    show_bytes(histogram_quantile(&pair->sizes, 0.99), sizes[1]);
    show_bytes(histogram_max(&pair->sizes), sizes[2]);
    party_text(communication, &pair->from, from);
    party_text(communication, &pair->to, to);
    traffic_text(&pair->sent, &sent);
    snprintf(where, sizeof(where), "%s%s", pair->local ? "local" : "remote",
             pair->shared ? ", shared" : "");
    return table_add(table, (const char *[]){from, to, sent.messages, sent.bytes, share, rate,
                                             sizes[0], sizes[1], sizes[2], where});
}

static int print_pairs(const struct communication *communication, FILE *file,
                       const struct show_options *options)
{
    const struct table_column columns[] = {
        {"FROM", false}, {"TO", false}, {"MESSAGES", true}, {"BYTES", true}, {"%", true},
        {"PER S", true}, {"P50", true}, {"P99", true},      {"MAX", true},   {"WHERE", false},
    };
    const struct communication_pair **rows = ordered_pairs(communication, options->order);
    size_t shown = shown_rows(communication->pair_count, options);
    struct traffic sum = {0};
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    if (rows == NULL)
        result = -ENOMEM;
    for (size_t i = 0; result == 0 && i < communication->pair_count; i++) {
        if (i < shown)
            result = add_pair(&table, communication, rows[i]);
        else
            add_traffic(&sum, &rows[i]->sent);
    }
    if (result == 0 && shown < communication->pair_count) {
        char name[UNIT_SIZE];
        struct traffic_text text;
        others_text(communication->pair_count - shown, name);
        traffic_text(&sum, &text);
        result = table_add(
            &table, (const char *[]){name, "", text.messages, text.bytes, "", "", "", "", "", ""});
    }
    if (result == 0) {
        print_title(file, "Who sent to whom");
        result = table_print(&table, file);
    }
    table_done(&table);
    free(rows);
    return result;
}

/* ---- paths ---- */

static int add_path(struct table *table, const struct communication *communication,
                    const struct communication_path *path)
{
    char local[END_TEXT_SIZE];
    char remote[END_TEXT_SIZE];
    char dropped[UNIT_SIZE];
    char connections[UNIT_SIZE];
    char times[2][UNIT_SIZE] = {"", ""};
    char network[3][UNIT_SIZE] = {"", "", ""};
    /* the client's view holds the server's and the way; where it is not metered the server's must do */
    const struct histogram *answers = histogram_bars(&path->times.of[TIME_REQUEST]) > 0
                                          ? &path->times.of[TIME_REQUEST]
                                          : &path->times.of[TIME_RESPONSE];
    struct traffic_text sent;
    struct traffic_text received;

    if (histogram_bars(answers) > 0) {
        show_duration(histogram_quantile(answers, 0.5), times[0]);
        show_duration(histogram_quantile(answers, 0.99), times[1]);
    }
    if (path->network.known) {
        show_duration(path->network.round_trip, network[0]);
        show_count(path->network.retransmitted, network[1]);
        show_bytes(path->network.unacknowledged, network[2]);
    }
    show_count(path->connections, connections);
    end_text(communication, &path->ends[0], path->local, local);
    end_text(communication, &path->ends[1], path->remote, remote);
    traffic_text(&path->sent, &sent);
    traffic_text(&path->received, &received);
    show_count(path->dropped, dropped);
    return table_add(table, (const char *[]){path_kind_name(path->kind), local, remote, connections,
                                             sent.messages, sent.bytes, received.messages,
                                             received.bytes, times[0], times[1], network[0],
                                             network[1], network[2], dropped});
}

static int add_other_paths(struct table *table, const struct traffic sum[2], uint64_t dropped_sum,
                           size_t count)
{
    char name[UNIT_SIZE];
    char dropped[UNIT_SIZE];
    struct traffic_text sent;
    struct traffic_text received;

    if (count == 0)
        return 0;
    others_text(count, name);
    traffic_text(&sum[0], &sent);
    traffic_text(&sum[1], &received);
    show_count(dropped_sum, dropped);
    return table_add(table, (const char *[]){name, "", "", "", sent.messages, sent.bytes,
                                             received.messages, received.bytes, "", "", "", "", "",
                                             dropped});
}

static bool has_answers(const struct communication *communication)
{
    for (size_t i = 0; i < communication->path_count; i++)
        if (histogram_bars(&communication->paths[i].times.of[TIME_REQUEST]) > 0 ||
            histogram_bars(&communication->paths[i].times.of[TIME_RESPONSE]) > 0)
            return true;
    return false;
}

static bool has_network(const struct communication *communication)
{
    for (size_t i = 0; i < communication->path_count; i++)
        if (communication->paths[i].network.known)
            return true;
    return false;
}

static bool has_in_flight(const struct communication *communication)
{
    for (size_t i = 0; i < communication->path_count; i++)
        if (communication->paths[i].network.unacknowledged > 0)
            return true;
    return false;
}

static int print_paths(const struct communication *communication, FILE *file,
                       const struct show_options *options)
{
    bool network = has_network(communication);
    const struct table_column columns[] = {
        {"PATH", false},
        {"LOCAL", false},
        {"REMOTE", false},
        {communication->connections > communication->path_count ? "CONNECTIONS" : NULL, true},
        {"SENT", true},
        {"BYTES SENT", true},
        {"RECEIVED", true},
        {"BYTES RECEIVED", true},
        {has_answers(communication) ? "ANSWER P50" : NULL, true},
        {has_answers(communication) ? "P99" : NULL, true},
        {network ? "RTT" : NULL, true},
        {network ? "SENT AGAIN" : NULL, true},
        {has_in_flight(communication) ? "IN FLIGHT" : NULL, true},
        {communication->dropped > 0 ? "DROPPED" : NULL, true},
    };
    const struct communication_path **rows = ordered_paths(communication, options->order);
    size_t shown = shown_rows(communication->path_count, options);
    struct traffic sum[2] = {{0}};
    uint64_t dropped = 0;
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    if (rows == NULL)
        result = -ENOMEM;
    for (size_t i = 0; result == 0 && i < communication->path_count; i++) {
        const struct communication_path *path = rows[i];
        if (i < shown) {
            result = add_path(&table, communication, path);
        } else {
            add_traffic(&sum[0], &path->sent);
            add_traffic(&sum[1], &path->received);
            dropped += path->dropped;
        }
    }
    if (result == 0)
        result = add_other_paths(&table, sum, dropped, communication->path_count - shown);
    if (result == 0) {
        print_title(file, "Paths");
        result = table_print(&table, file);
    }
    table_done(&table);
    free(rows);
    return result;
}

/* ---- procedures ---- */

static int print_procedures(const struct communication *communication, FILE *file,
                            const struct show_options *options)
{
    const struct table_column columns[] = {
        {"PROCEDURE", false}, {"MODULE", false},  {"SENT", true},
        {"BYTES SENT", true}, {"RECEIVED", true}, {"BYTES RECEIVED", true},
    };
    size_t shown = options->all || communication->procedure_count < MOST_PROCEDURES
                       ? communication->procedure_count
                       : MOST_PROCEDURES;
    struct table table;

    /* what procedures are called stands at the end of a recording */
    if (communication->procedure_count == 0 || options->live)
        return 0;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; result == 0 && i < shown; i++) {
        const struct communication_procedure *row = &communication->procedures[i];
        char name[PROCEDURE_NAME_SIZE + 1];
        char module[MODULE_NAME_SIZE + 1];
        struct traffic_text sent;
        struct traffic_text received;
        const char *slash = strrchr(row->module, '/');
        show_text(row->name[0] == '\0' ? "?" : row->name, PROCEDURE_NAME_SIZE, name);
        show_text(slash == NULL ? row->module : slash + 1, MODULE_NAME_SIZE, module);
        traffic_text(&row->sent, &sent);
        traffic_text(&row->received, &received);
        result = table_add(&table, (const char *[]){name, module, sent.messages, sent.bytes,
                                                    received.messages, received.bytes});
    }
    if (result == 0) {
        print_title(file, "Procedures");
        result = table_print(&table, file);
    }
    table_done(&table);
    return result;
}

/* ---- all of it ---- */

/* Tables in the order in which they are shown; some have nothing to show. */
static const struct {
    enum show_table part;
    int (*print)(const struct communication *communication, FILE *file,
                 const struct show_options *options);
} tables[] = {
    {TABLE_PROCESSES, print_processes},
    {TABLE_PROCESSES, print_process_rates},
    {TABLE_PROCESSES, print_answer_table},
    {TABLE_PROCESSES, print_queue_table},
    {TABLE_PAIRS, print_pairs},
    {TABLE_PAIRS, print_pair_rates},
    {TABLE_PAIRS, print_late_table},
    {TABLE_PATHS, print_paths},
    {TABLE_PATHS, print_path_rates},
    {TABLE_PATHS, print_path_wait_table},
    {TABLE_PROCEDURES, print_procedures},
};

int print_statistics_tables(const struct communication *communication, FILE *file,
                            const struct show_options *options)
{
    int result = 0;

    for (size_t i = 0; i < ARRAY_SIZE(tables) && result == 0 && !ferror(file); i++)
        if (options->table == TABLE_ALL || options->table == tables[i].part)
            result = tables[i].print(communication, file, options);
    if (result == 0 && !ferror(file) && communication->interval != 0)
        result = print_interval_table(communication, file);
    if (result == 0 && !ferror(file) && options->histogram)
        result = print_histogram_bars(communication, file, options);
    return result;
}

int show_statistics_tables(const struct communication *communication, FILE *file,
                           const struct show_options *options)
{
    print_statistics_heading(communication, file, options);
    int result = print_statistics_tables(communication, file, options);
    if (result == 0 && !ferror(file))
        print_statistics_grounds(communication, file);
    return result;
}

int show_statistics(const struct communication *communication, FILE *file,
                    const struct show_options *options)
{
    return options->json  ? show_statistics_json(communication, file, options)
           : options->csv ? show_statistics_csv(communication, file, options)
                          : show_statistics_tables(communication, file, options);
}
