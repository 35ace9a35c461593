/* SPDX-License-Identifier: MIT */
/* critical_path_table.c: the critical path as text tables, and as folded stacks. See critical_path_face.h. */
#include "show/elapsed/elapsed_face.h"
#include "show/parallelism/critical_path_face.h"
#include "show/parallelism/parallelism_face.h"
#include "show/text/matching_face.h"
#include "show/text/table.h"
#include "show/text/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void critical_process_text(const struct critical_path *path, uint32_t process,
                           char text[PLACED_PROCESS_SIZE])
{
    const struct parallelism_process *is = &path->parallelism->processes[process];
    const char *machine = path->parallelism->machines <= 1 ? "" : is->machine_name;
    char label[PROCESS_LABEL_SIZE] = "";

    if (is->named_alike)
        process_label(is->name, is->command, label);
    show_placed_process(is->name, is->pid, label, machine, text);
}

#define FEW_ROWS 100

static size_t rows_of(size_t count, const struct show_options *options)
{
    return options->all || count <= FEW_ROWS ? count : FEW_ROWS;
}

static void print_left_out(size_t count, size_t shown, FILE *file)
{
    if (shown < count)
        fprintf(file, "(%zu more: --all)\n", count - shown);
}

/* ---- processes ---- */

static uint64_t on_path(const struct critical_process *process)
{
    return process->cpu + process->outside;
}

uint32_t *critical_order_processes(const struct critical_path *path)
{
    size_t count = path->parallelism->process_count;
    uint32_t *order = calloc(count + 1, sizeof(*order));

    for (uint32_t i = 0; order != NULL && i < count; i++) {
        const struct critical_process *is = &path->processes[i];
        uint32_t at = i;
        for (; at > 0; at--) {
            const struct critical_process *before = &path->processes[order[at - 1]];
            if (on_path(before) > on_path(is) ||
                (on_path(before) == on_path(is) && before->slack <= is->slack))
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    return order;
}

const struct table_column critical_process_columns[] = {
    {"PROCESS", false},
    {"CPU ON PATH", true},
    {"% OF PATH", true},
    {"WAITS ON IT", true, .rank = 1},
    {"% OF ITS CPU", true, .rank = 3},
    {"SLACK", true, .rank = 2},
};

static void point_at_texts(struct critical_row *row)
{
    for (size_t i = 0; i < CRITICAL_PROCESS_COLUMNS; i++)
        row->cells[i] = row->texts[i];
}

void critical_process_row(const struct critical_path *path, uint32_t index,
                          struct critical_row *row)
{
    const struct critical_process *process = &path->processes[index];

    critical_process_text(path, index, row->texts[0]);
    show_duration(process->cpu, row->texts[1]);
    show_percent(process->cpu, path->longest, row->texts[2]);
    show_duration(process->outside, row->texts[3]);
    show_percent(process->cpu, path->parallelism->processes[index].cpu, row->texts[4]);
    strcpy(row->texts[5], "-");
    if (process->has_slack)
        show_duration(process->slack, row->texts[5]);
    point_at_texts(row);
}

static int print_processes(const struct critical_path *path, FILE *file,
                           const struct show_options *options)
{
    size_t count = path->parallelism->process_count, shown = rows_of(count, options);
    uint32_t *order = critical_order_processes(path);
    struct critical_row row;
    struct table table;

    if (order == NULL)
        return -ENOMEM;
    int result = table_init(&table, file, critical_process_columns, CRITICAL_PROCESS_COLUMNS);
    table.whole = options->all;
    for (size_t i = 0; result == 0 && i < shown; i++) {
        critical_process_row(path, order[i], &row);
        result = table_add(&table, row.cells);
    }
    if (result == 0)
        result = table_print(&table, file);
    print_left_out(count, shown, file);
    table_done(&table);
    free(order);
    return result;
}

/* ---- arcs ---- */

static const char *arc_name(const struct critical_arcs *arc)
{
    return arc->kind != EDGE_EXACT ? edge_kind_name(arc->kind)
           : arc->path_kind == 0   ? "message"
                                   : path_kind_name(arc->path_kind);
}

static int add_arc_row(struct table *table, const struct critical_path *path,
                       const struct critical_arcs *arc)
{
    char from[PLACED_PROCESS_SIZE], to[PLACED_PROCESS_SIZE];
    char cells[4][UNIT_SIZE];

    critical_process_text(path, arc->from, from);
    critical_process_text(path, arc->to, to);
    show_count(arc->count, cells[0]);
    if (arc->kind == EDGE_EXACT)
        show_bytes(arc->bytes, cells[1]);
    else
        strcpy(cells[1], "-");
    show_duration(arc->delay, cells[2]);
    strcpy(cells[3], "-");
    if (arc->kind == EDGE_EXACT)
        show_duration(arc->in_flight, cells[3]);
    return table_add(
        table, (const char *[]){from, to, arc_name(arc), cells[0], cells[1], cells[2], cells[3]});
}

static int print_arcs(const struct critical_path *path, FILE *file,
                      const struct show_options *options)
{
    static const struct table_column columns[] = {
        {"FROM", false},
        {"TO", false},
        {"BY", false},
        {"TIMES", true, .rank = 1},
        {"BYTES", true, .rank = 3},
        {"DELAY", true},
        {"IN FLIGHT", true, .rank = 2},
    };
    size_t shown = rows_of(path->arc_count, options);
    struct table table;

    if (path->arc_count == 0)
        return 0;
    /* Threads of one process wait for each other, too. */
    fputs(path->threads ? "\nWhere it goes on, from thread to thread\n"
                        : "\nWhere it goes from process to process\n",
          file);
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));
    table.whole = options->all;
    for (size_t i = 0; result == 0 && i < shown; i++)
        result = add_arc_row(&table, path, &path->arcs[i]);
    if (result == 0)
        result = table_print(&table, file);
    print_left_out(path->arc_count, shown, file);
    table_done(&table);
    return result;
}

/* ---- procedures ---- */

void critical_procedure_text(const struct critical_procedure *procedure, char *text, size_t size)
{
    const char *slash = strrchr(procedure->module, '/');
    const char *module = slash == NULL ? procedure->module : slash + 1;
    char name[PROCEDURE_NAME_SIZE + 1], file[MODULE_NAME_SIZE + 1];

    show_text(procedure->name, PROCEDURE_NAME_SIZE, name);
    show_text(module, MODULE_NAME_SIZE, file);
    if (name[0] != '\0')
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, "[%s]", file[0] == '\0' ? "unknown" : file);
}

const struct table_column critical_procedure_columns[] = {
    {"PROCESS", false}, {"UP TO A CALL IN", false}, {"CPU ON PATH", true}, {"% OF PATH", true}};

void critical_procedure_row(const struct critical_path *path,
                            const struct critical_procedure *procedure, struct critical_row *row)
{
    critical_process_text(path, procedure->process, row->texts[0]);
    critical_procedure_text(procedure, row->texts[1], sizeof(row->texts[1]));
    show_duration(procedure->cpu, row->texts[2]);
    show_percent(procedure->cpu, path->longest, row->texts[3]);
    point_at_texts(row);
}

static int print_procedures(const struct critical_path *path, FILE *file,
                            const struct show_options *options)
{
    size_t shown = rows_of(path->procedure_count, options);
    struct critical_row row;
    struct table table;

    if (path->procedure_count == 0)
        return 0;
    fputs("\nProcedures on it\n", file);
    int result = table_init(&table, file, critical_procedure_columns, CRITICAL_PROCEDURE_COLUMNS);
    for (size_t i = 0; result == 0 && i < shown; i++) {
        critical_procedure_row(path, &path->procedures[i], &row);
        result = table_add(&table, row.cells);
    }
    if (result == 0)
        result = table_print(&table, file);
    print_left_out(path->procedure_count, shown, file);
    table_done(&table);
    return result;
}

/* ---- what if ---- */

/* Percentage by which the critical path becomes shorter; negative if it becomes longer. */
static void show_shorter(uint64_t longest, uint64_t becomes, char text[UNIT_SIZE])
{
    char percent[UNIT_SIZE];
    bool longer = becomes > longest;

    show_percent(longer ? becomes - longest : longest - becomes, longest, percent);
    snprintf(text, UNIT_SIZE, "%s%.*s", longer ? "-" : "", UNIT_SIZE - 2, percent);
}

static int add_what_if_row(struct table *table, const struct critical_path *path,
                           const struct what_if *what_if)
{
    const struct parallelism_process *processes = path->parallelism->processes;
    char what[128], from[STREAM_NAME_SIZE + 1], to[STREAM_NAME_SIZE + 1];
    char cells[3][UNIT_SIZE];

    show_text(processes[what_if->process].name, STREAM_NAME_SIZE, from);
    show_text(processes[what_if->to].name, STREAM_NAME_SIZE, to);
    if (what_if->speed > 0)
        snprintf(what, sizeof(what), "%s %.4g times as fast", from, what_if->speed);
    else
        snprintf(what, sizeof(what), "no delay from %s to %s", from, to);
    show_duration(what_if->longest, cells[0]);
    snprintf(cells[1], UNIT_SIZE, "%.2f", critical_factor(what_if->total, what_if->whole));
    show_shorter(path->longest, what_if->longest, cells[2]);
    return table_add(table, (const char *[]){what, cells[0], cells[1], cells[2]});
}

static int print_what_ifs(const struct critical_path *path, FILE *file)
{
    static const struct table_column columns[] = {
        {"WITH", false}, {"LENGTH", true}, {"P", true}, {"% SHORTER", true}};
    struct table table;

    if (path->what_if_count == 0)
        return 0;
    fputs("\nWhat it would be\n", file);
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; result == 0 && i < path->what_if_count; i++)
        result = add_what_if_row(&table, path, &path->what_ifs[i]);
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    return result;
}

/* ---- everything together ---- */

double critical_factor(uint64_t total, uint64_t whole)
{
    return whole == 0 ? 0 : (double)total / (double)whole;
}

const char *critical_end_key(enum critical_end end)
{
    static const char *const keys[] = {
        [END_COMMAND] = "command",
        [END_OF_WORK] = "work",
        [END_BUSIEST] = "busiest",
        [END_LONGEST] = "longest",
    };

    return keys[end];
}

/* What was in flight is no part of the path: a model of other machines has delays of its own. */
static void print_flights(const struct critical_path *path, FILE *file)
{
    char time[UNIT_SIZE], share[UNIT_SIZE], elapsed[UNIT_SIZE], unknown[COUNTED_SIZE];

    show_duration(path->in_flight, time);
    show_duration(path->elapsed, elapsed);
    show_percent(path->in_flight, path->elapsed, share);
    if (path->in_flight > 0)
        fprintf(file,
                "Messages on it were in flight for %s as recorded, %s%% of the elapsed %s: that is "
                "not part of its length, nor of predictions.\n",
                time, share, elapsed);
    show_counted(path->unknown_flights, "message", unknown);
    if (path->unknown_flights > 0)
        fprintf(file, "For %s on it, no record shows the time in flight.\n", unknown);
}

static void print_heading(const struct critical_path *path, FILE *file)
{
    static const char *const ends[] = {
        [END_COMMAND] = "It ends with the command.",
        [END_OF_WORK] =
            "It ends with the last work for others; helpers that only sleep are not on it.",
        [END_BUSIEST] = "It ends with the thread that used most CPU time.",
        [END_LONGEST] = "It is the longest path of the whole graph (t_max).",
    };
    char texts[6][UNIT_SIZE];

    show_duration(path->longest, texts[0]);
    show_duration(path->cpu, texts[1]);
    show_duration(path->delay, texts[2]);
    show_duration(path->outside, texts[3]);
    show_duration(path->elapsed, texts[4]);
    show_duration(path->whole, texts[5]);
    fprintf(file,
            "The critical path takes %s of %s elapsed: %s of CPU time, %s of message delays of the "
            "model, %s of waits that no metered process ended. %s P = %.2f (t_max %s).\n",
            texts[0], texts[4], texts[1], texts[2], texts[3], ends[path->end],
            critical_factor(path->total, path->whole), texts[5]);
    print_flights(path, file);
    fputc('\n', file);
}

static void print_grounds(const struct critical_path *path, const struct recorded *recorded,
                          FILE *file)
{
    char events[UNIT_SIZE], all[UNIT_SIZE], missing[UNIT_SIZE];

    show_count(path->events, events);
    show_count(path->parallelism->matching.events, all);
    show_count(recorded->lost, missing);
    print_matching(&path->parallelism->matching, file);
    print_selection(&path->parallelism->matching, PARALLELISM_WITHOUT_EVENTS, file);
    fprintf(file,
            "\n%s of %s events %s on the path, %s lost. Predictions assume that events keep their "
            "order.\n",
            events, all, path->events == 1 ? "is" : "are", missing);
    print_own_cost(&path->parallelism->matching.own_cost, path->parallelism->duration, file);
}

int show_critical_path_tables(const struct critical_path *path, const struct recorded *recorded,
                              FILE *file, const struct show_options *options)
{
    struct folding folding;

    print_heading(path, folding_begin(&folding, file));
    folding_end(&folding);
    int result = print_processes(path, file, options);
    if (result == 0 && !ferror(file))
        result = print_arcs(path, file, options);
    if (result == 0 && !ferror(file))
        result = print_procedures(path, file, options);
    if (result == 0 && !ferror(file))
        result = print_what_ifs(path, file);
    if (result == 0 && !ferror(file)) {
        print_grounds(path, recorded, folding_begin(&folding, file));
        folding_end(&folding);
    }
    return result;
}

static void print_requests_grounds(const struct critical_path *path, FILE *file)
{
    const struct history_counts *matching = &path->parallelism->matching;
    struct folding folding;
    FILE *into = folding_begin(&folding, file);

    print_matching(matching, into);
    print_own_cost(&matching->own_cost, path->parallelism->duration, into);
    folding_end(&folding);
}

int show_critical_path(const struct critical_path *path, const struct elapsed *elapsed,
                       const struct recorded *recorded, FILE *file,
                       const struct show_options *options)
{
    if (options->json)
        return show_critical_path_json(path, elapsed, recorded, file);
    if (elapsed == NULL || !elapsed_is_of_requests(elapsed)) {
        int result = show_critical_path_tables(path, recorded, file, options);
        return result < 0 || elapsed == NULL || !elapsed->from_start
                   ? result
                   : elapsed_print_files(elapsed, file, options->all);
    }
    int result = show_elapsed(elapsed, recorded, file, options, ELAPSED_VIEW_PATH);
    if (result == 0)
        print_requests_grounds(path, file);
    return result;
}

/* ---- folded stacks ---- */

/* One process is one frame. */
static void print_process_frame(const struct critical_path *path, uint32_t process, FILE *file)
{
    char text[PLACED_PROCESS_SIZE];

    critical_process_text(path, process, text);
    show_frame(text, file);
}

static void print_folded(const struct critical_path *path, FILE *file)
{
    char name[CRITICAL_PROCEDURE_TEXT];

    for (size_t i = 0; i < path->procedure_count; i++) {
        if (path->procedures[i].cpu < 1000)
            continue;
        critical_procedure_text(&path->procedures[i], name, sizeof(name));
        print_process_frame(path, path->procedures[i].process, file);
        fputc(';', file);
        show_frame(name, file);
        fprintf(file, " %" PRIu64 "\n", path->procedures[i].cpu / 1000);
    }
    for (uint32_t i = 0; i < path->parallelism->process_count; i++) {
        if (path->processes[i].outside < 1000)
            continue;
        print_process_frame(path, i, file);
        fprintf(file, ";(waits_outside) %" PRIu64 "\n", path->processes[i].outside / 1000);
    }
    for (size_t i = 0; i < path->arc_count; i++) {
        if (path->arcs[i].delay < 1000)
            continue;
        print_process_frame(path, path->arcs[i].to, file);
        fputs(";(message_from_", file);
        print_process_frame(path, path->arcs[i].from, file);
        fprintf(file, ") %" PRIu64 "\n", path->arcs[i].delay / 1000);
    }
}

void show_critical_path_folded(const struct critical_path *path, const struct elapsed *elapsed,
                               FILE *file)
{
    if (elapsed != NULL && elapsed_is_of_requests(elapsed))
        elapsed_path_folded(&elapsed->requests, file);
    else
        print_folded(path, file);
}
