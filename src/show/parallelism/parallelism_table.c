/* SPDX-License-Identifier: MIT */
/* parallelism_table.c: the parallelism of a computation, as recorded and predicted, as text tables. See
 * parallelism_face.h. */
#include "show/parallelism/parallelism_face.h"
#include "show/text/matching_face.h"
#include "show/text/table.h"
#include "show/text/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- several runs ---- */

static const struct parallelism *run_of(const struct parallelism_runs *runs, size_t run,
                                        bool processes)
{
    const struct parallelism_run *at = &runs->at[run];

    return processes && at->processes != NULL ? at->processes : at->threads;
}

static double factor_of(const struct parallelism_runs *runs, size_t run, size_t row, bool processes)
{
    const struct parallelism *parallelism = run_of(runs, run, processes);

    return parallelism_factor(&parallelism->rows[row]);
}

/* The run with the median P; the lower one of an even number of runs. Equal values count in order of runs. */
static size_t middle_run(const struct parallelism_runs *runs, size_t row, bool processes)
{
    for (size_t i = 0; i < runs->count; i++) {
        double factor = factor_of(runs, i, row, processes);
        size_t before = 0;
        for (size_t k = 0; k < runs->count; k++) {
            double other = factor_of(runs, k, row, processes);
            before += other < factor || (other == factor && k < i);
        }
        if (before == (runs->count - 1) / 2)
            return i;
    }
    return 0;
}

const struct parallelism *parallelism_median(const struct parallelism_runs *runs, size_t row,
                                             bool processes)
{
    return run_of(runs, middle_run(runs, row, processes), processes);
}

struct spread parallelism_spread(const struct parallelism_runs *runs, size_t row, bool processes)
{
    struct spread spread = {.least = factor_of(runs, 0, row, processes)};

    spread.greatest = spread.least;
    spread.median = factor_of(runs, middle_run(runs, row, processes), row, processes);
    for (size_t i = 1; i < runs->count; i++) {
        double factor = factor_of(runs, i, row, processes);
        spread.least = factor < spread.least ? factor : spread.least;
        spread.greatest = factor > spread.greatest ? factor : spread.greatest;
    }
    return spread;
}

/* ---- P ---- */

static bool has_threads(const struct parallelism_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        if (runs->at[i].processes != NULL)
            return true;
    return false;
}

static int add_factor_row(struct table *table, const struct parallelism_runs *runs, size_t row)
{
    const struct parallelism *middle = parallelism_median(runs, row, false);
    const struct parallelism_row *is = &middle->rows[row];
    struct spread threads = parallelism_spread(runs, row, false);
    struct spread processes = parallelism_spread(runs, row, true);
    char cells[6][UNIT_SIZE];

    snprintf(cells[0], UNIT_SIZE, "%.2f", threads.median);
    snprintf(cells[1], UNIT_SIZE, "%.2f", processes.median);
    snprintf(cells[2], UNIT_SIZE, "%.2f", threads.least);
    snprintf(cells[3], UNIT_SIZE, "%.2f", threads.greatest);
    show_percent((uint64_t)(threads.median * 1e6), middle->streams * 1000000ULL, cells[4]);
    show_duration(is->longest, cells[5]);
    return table_add(table, (const char *[]){is->step == STEP_MAX
                                                 ? runs->options->assignments[is->assignment].name
                                                 : "",
                                             parallelism_step_name(is->step), cells[0], cells[1],
                                             cells[2], cells[3], cells[4], cells[5]});
}

static int print_factors(const struct parallelism_runs *runs, FILE *file, bool all)
{
    const struct table_column columns[] = {
        {"ASSIGNMENT", false},
        {"STEP", false},
        {"P", true},
        {has_threads(runs) ? "P OF PROCESSES" : NULL, true},
        {runs->count > 1 ? "LEAST" : NULL, true, .rank = 2},
        {runs->count > 1 ? "GREATEST" : NULL, true, .rank = 2},
        {"% OF STREAMS", true, .rank = 3},
        {"T_MAX", true},
    };
    struct table table;
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));

    table.whole = all;
    for (size_t i = 0; result == 0 && i < runs->at[0].threads->row_count; i++)
        result = add_factor_row(&table, runs, i);
    if (result == 0)
        result = table_print(&table, file);
    table_done(&table);
    return result;
}

/* ---- processes ---- */

static int by_cpu(const void *a, const void *b)
{
    const struct parallelism_process *const *left = a, *const *right = b;

    if ((*left)->cpu != (*right)->cpu)
        return (*left)->cpu < (*right)->cpu ? 1 : -1;
    return *left < *right ? -1 : 1;
}

static void show_synchronous(const struct turns *turns, char text[UNIT_SIZE])
{
    if (turns->count == 0)
        strcpy(text, "-");
    else
        show_percent(turns->synchronous, turns->count, text);
}

static int add_process_row(struct table *table, const struct parallelism *parallelism,
                           const struct parallelism_process *process)
{
    char who[PROCESS_NAME_SIZE], cells[5][UNIT_SIZE];

    show_process_of(process->name, process->pid, process->command, process->named_alike, who);
    show_count(process->streams, cells[0]);
    show_duration(process->cpu, cells[1]);
    show_percent(process->cpu, parallelism->total, cells[2]);
    show_duration(process->longest, cells[3]);
    show_synchronous(&process->turns, cells[4]);
    return table_add(table,
                     (const char *[]){who, cells[0], cells[1], cells[2], cells[3], cells[4]});
}

#define FEW_ROWS 100

static int print_others(struct table *table, const struct parallelism *parallelism,
                        const struct parallelism_process **rows, size_t from)
{
    struct parallelism_process others = {0};
    char cells[4][UNIT_SIZE], who[64];

    for (size_t i = from; i < parallelism->process_count; i++) {
        others.streams += rows[i]->streams;
        others.cpu += rows[i]->cpu;
    }
    snprintf(who, sizeof(who), "others (%zu)", parallelism->process_count - from);
    show_count(others.streams, cells[0]);
    show_duration(others.cpu, cells[1]);
    show_percent(others.cpu, parallelism->total, cells[2]);
    return table_add(table, (const char *[]){who, cells[0], cells[1], cells[2], "-", "-"});
}

static int print_processes(const struct parallelism *parallelism, FILE *file,
                           const struct show_options *options)
{
    const struct table_column columns[] = {
        {"PROCESS", false},
        {"STREAMS", true},
        {"CPU TIME", true},
        {"%", true},
        {parallelism->has_process_paths ? "T_MAX" : NULL, true},
        {"% SYNCHRONOUS", true},
    };
    size_t count = parallelism->process_count;
    size_t most = options->all || count <= FEW_ROWS ? count : FEW_ROWS;
    const struct parallelism_process **rows = calloc(count + 1, sizeof(*rows));
    struct table table;

    if (rows == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        rows[i] = &parallelism->processes[i];
    qsort(rows, count, sizeof(*rows), by_cpu);
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; result == 0 && i < most; i++)
        result = add_process_row(&table, parallelism, rows[i]);
    if (result == 0 && most < count)
        result = print_others(&table, parallelism, rows, most);
    if (result == 0) {
        fputs("\nProcesses\n", file);
        result = table_print(&table, file);
    }
    table_done(&table);
    free(rows);
    return result;
}

/* ---- connections ---- */

static int by_turns(const void *a, const void *b)
{
    const struct parallelism_path *const *left = a, *const *right = b;

    if ((*left)->turns.count != (*right)->turns.count)
        return (*left)->turns.count < (*right)->turns.count ? 1 : -1;
    return *left < *right ? -1 : 1;
}

static int add_path_row(struct table *table, const struct parallelism *parallelism,
                        const struct parallelism_path *path)
{
    const struct parallelism_process *process = &parallelism->processes[path->process];
    char who[PROCESS_NAME_SIZE], address[ENDPOINT_SIZE + 1], cells[2][UNIT_SIZE];

    show_process_of(process->name, process->pid, process->command, process->named_alike, who);
    show_text(path->address, ENDPOINT_SIZE, address);
    show_count(path->turns.count, cells[0]);
    show_synchronous(&path->turns, cells[1]);
    return table_add(
        table, (const char *[]){who, path_kind_name(path->kind), address, cells[0], cells[1]});
}

static int add_other_paths(struct table *table, const struct parallelism *parallelism,
                           const struct parallelism_path **rows, size_t from)
{
    struct turns others = parallelism->other_turns;
    char cells[2][UNIT_SIZE];

    for (size_t i = from; i < parallelism->path_count; i++) {
        others.count += rows[i]->turns.count;
        others.synchronous += rows[i]->turns.synchronous;
    }
    if (others.count == 0)
        return 0;
    show_count(others.count, cells[0]);
    show_synchronous(&others, cells[1]);
    return table_add(table, (const char *[]){"others", "", "", cells[0], cells[1]});
}

#define FEW_PATHS 10

static int print_paths(const struct parallelism *parallelism, FILE *file,
                       const struct show_options *options)
{
    static const struct table_column columns[] = {
        {"PROCESS", false},       {"KIND", false},         {"SERVER ADDRESS", false},
        {"SENDS ANSWERED", true}, {"% SYNCHRONOUS", true},
    };
    size_t count = parallelism->path_count,
           most = options->all || count < FEW_PATHS ? count : FEW_PATHS;
    const struct parallelism_path **rows = calloc(count + 1, sizeof(*rows));
    struct table table;

    if (rows == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        rows[i] = &parallelism->paths[i];
    qsort(rows, count, sizeof(*rows), by_turns);
    int result = table_init(&table, file, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; result == 0 && i < most && rows[i]->turns.count > 0; i++)
        result = add_path_row(&table, parallelism, rows[i]);
    if (result == 0)
        result = add_other_paths(&table, parallelism, rows, most);
    if (result == 0 && count > 0) {
        fputs("\nConnections\n", file);
        result = table_print(&table, file);
    }
    table_done(&table);
    free(rows);
    return result;
}

/* ---- notes ---- */

/* What had neither an event nor CPU time has no thread that counts in P. */
static void print_heading(const struct parallelism_runs *runs, FILE *file)
{
    const struct parallelism *first = runs->at[0].threads;
    char total[UNIT_SIZE], elapsed[UNIT_SIZE], streams[COUNTED_SIZE], processes[COUNTED_SIZE];
    char others[UNIT_SIZE], idle[UNIT_SIZE + 32] = "";
    uint64_t active = 0, threads = 0;

    for (size_t i = 0; i < first->process_count; i++) {
        active += first->processes[i].streams > 0;
        threads += first->processes[i].streams; /* not first->streams, which may be processes */
    }
    show_duration(first->total, total);
    show_duration(first->duration, elapsed);
    show_counted(threads, "thread", streams);
    show_counted(active, "process", processes);
    show_count(first->process_count - active, others);
    if (active < first->process_count)
        snprintf(idle, sizeof(idle), " (%s more did nothing)", others);
    fprintf(file, "T: %s of CPU time, %s in %s%s; elapsed: %s%s\n\n", total, streams, processes,
            idle, elapsed, runs->count > 1 ? " (first run)" : "");
}

static void print_efficiency(const struct parallelism_runs *runs, FILE *file)
{
    const struct parallelism *first = runs->at[0].threads;
    struct parallelism_efficiency efficiency;

    for (size_t i = 0; i < runs->options->assignment_count; i++) {
        parallelism_efficiency(first, (uint32_t)i, &efficiency);
        if (i == 0)
            fprintf(file,
                    "\nLoad balance %.2f, serialisation efficiency %.2f, transfer efficiency ",
                    efficiency.load_balance, efficiency.serialisation);
        fprintf(file, "%s%.2f (%s)", i == 0 ? "" : ", ", efficiency.transfer,
                runs->options->assignments[i].name);
    }
    fputs(".\n", file);
}

/* Prints which processes share a machine in an assignment that a search found. */
static void print_search(const struct parallelism_runs *runs,
                         const struct parallelism_search *search, FILE *file)
{
    const struct parallelism *first = runs->at[0].threads;
    const struct assignment *assignment = &runs->options->assignments[search->assignment];
    char who[PROCESS_NAME_SIZE], above[UNIT_SIZE];

    show_percent(search->longest - search->bound, search->bound, above);
    fprintf(file, "\n%s (best of %" PRIu32 " tried; at most %s%% longer than the best possible):\n",
            assignment->name, search->trials, above);
    for (uint32_t machine = 0; machine < assignment->per_machine; machine++) {
        const char *separator = "  ";
        for (size_t i = 0; i < first->process_count; i++) {
            if (search->machines[i] != machine)
                continue;
            const struct parallelism_process *is = &first->processes[i];
            show_process_of(is->name, is->pid, is->command, is->named_alike, who);
            fprintf(file, "%s%s", separator, who);
            separator = ", ";
        }
        if (*separator == ',')
            fputc('\n', file);
    }
}

static void print_results(const struct parallelism_runs *runs, FILE *file)
{
    print_efficiency(runs, file);
    for (size_t i = 0; i < runs->at[0].threads->search_count; i++)
        print_search(runs, &runs->at[0].threads->searches[i], file);
}

/* `word`: what each of them is; `what`: more of them, of any number. */
static void print_waits(FILE *file, const struct waits *waits, const char *word, const char *what)
{
    char count[COUNTED_SIZE], time[UNIT_SIZE];

    if (waits->count == 0)
        return;
    show_counted(waits->count, word, count);
    show_duration(waits->covered, time);
    fprintf(file, "%s %s: %s with at least one.\n", count, what, time);
}

/* What step sharing counts besides the computation. */
static void print_other_load(const struct parallelism_runs *runs, FILE *file)
{
    const struct parallelism *first = runs->at[0].threads;

    if (runs->options->other_load == OTHER_LOAD_GIVEN)
        fprintf(file, "Step sharing: %.3g other task%s a processor of each machine.\n",
                runs->options->other_tasks, runs->options->other_tasks == 1 ? " wants" : "s want");
    for (size_t i = 0; i < first->other_load_count; i++) {
        const struct parallelism_other_load *load = &first->other_loads[i];
        char name[MACHINE_NAME_SIZE + 1], cpus[COUNTED_SIZE] = "CPUs";
        show_text(load->name, MACHINE_NAME_SIZE, name);
        if (load->cpus > 0)
            show_counted(load->cpus, "CPU", cpus);
        if (load->known)
            fprintf(file,
                    "%s: while %s run used CPU time, %.1f other tasks ran or waited for its %s on "
                    "average; step sharing counts them.\n",
                    name, runs->count > 1 ? "the first" : "this", load->tasks, cpus);
        else
            fprintf(file, "%s: other load is unknown; step sharing counts none.\n", name);
    }
}

static bool has_delays(const struct parallelism_options *options)
{
    return options->delays.local.count + options->delays.remote.count +
               options->delays.between_count >
           0;
}

static void print_grounds(const struct parallelism_runs *runs, FILE *file)
{
    const struct parallelism *first = runs->at[0].threads;
    char edges[COUNTED_SIZE], events[COUNTED_SIZE], lost[UNIT_SIZE], others[UNIT_SIZE];

    show_counted(first->matching.events, "event", events);
    show_count(runs->at[0].recorded.lost, lost);
    show_counted(first->messages, "edge", edges);
    show_count(first->other_arcs, others);
    print_matching(&first->matching, file);
    print_selection(&first->matching, PARALLELISM_WITHOUT_EVENTS, file);
    fprintf(file,
            "\nBased on %s, %s lost; %s of messages, %s of creation, ends, buffer space, "
            "connections%s%s.\n",
            events, lost, edges, others,
            first->matching.file_edges > 0 ? ", wakeups and files" : " and wakeups",
            runs->options->messages_only ? " (left out: --edges messages)" : "");
    print_waits(file, &first->outside, "reply",
                first->matching.not_found > 0
                    ? "from peers that are unmonitored or were not found, counted by elapsed time"
                    : "from unmonitored peers, counted by elapsed time");
    print_waits(
        file, &first->asleep, "unexplained wait",
        "(timers, disks, unmonitored peers), counted by elapsed time (--edges messages: not "
        "counted)");
    print_waits(file, &first->locks, "wait",
                "of threads for each other, of unknown cause without WAKEUP: P is an upper bound");
    if (runs->options->appendix_a)
        fputs(
            "Step appendix-a: the thesis' appendix A as printed, which counts process time on all "
            "machines together; step sharing counts elapsed time.\n",
            file);
    print_other_load(runs, file);
    if (!has_delays(runs->options))
        fputs("Without delays messages take no time: step delay is the same as step max.\n", file);
    fputs("Other assignments: events are assumed to keep their order.\n", file);
    print_own_cost(&first->matching.own_cost, first->duration, file);
}

int show_parallelism_tables(const struct parallelism_runs *runs, FILE *file,
                            const struct show_options *options)
{
    struct folding folding;

    print_heading(runs, folding_begin(&folding, file));
    folding_end(&folding);
    int result = print_factors(runs, file, options->all);
    if (result == 0 && !ferror(file)) {
        print_results(runs, folding_begin(&folding, file));
        folding_end(&folding);
        result = print_processes(runs->at[0].threads, file, options);
    }
    if (result == 0 && !ferror(file))
        result = print_paths(runs->at[0].threads, file, options);
    if (result == 0 && !ferror(file)) {
        print_grounds(runs, folding_begin(&folding, file));
        folding_end(&folding);
    }
    return result;
}

int show_parallelism(const struct parallelism_runs *runs, FILE *file,
                     const struct show_options *options)
{
    return options->json ? show_parallelism_json(runs, file)
                         : show_parallelism_tables(runs, file, options);
}
