/* SPDX-License-Identifier: MIT */
/* parallelism_json.c: the parallelism of a computation, as recorded and predicted, as JSON; dpm-parallelism(1)
 * describes the keys. */
#include "show/parallelism/parallelism_face.h"
#include "show/text/json.h"
#include "show/text/matching_face.h"

static json_t *waits_json(const struct waits *waits)
{
    return json_pack("{s:o, s:o, s:o}", "count", json_count(waits->count), "time_ns",
                     json_count(waits->time), "elapsed_ns", json_count(waits->covered));
}

static json_t *row_json(const void *context, size_t row)
{
    const struct parallelism_runs *runs = context;
    const struct parallelism *middle = parallelism_median(runs, row, false);
    const struct parallelism_row *is = &middle->rows[row];
    struct spread threads = parallelism_spread(runs, row, false);
    struct spread processes = parallelism_spread(runs, row, true);

    return json_pack("{s:s, s:s, s:o, s:o, s:f, s:f, s:f, s:o, s:f, s:f}", "assignment",
                     runs->options->assignments[is->assignment].name, "step",
                     parallelism_step_name(is->step), "T_ns", json_count(is->total), "tmax_ns",
                     json_count(is->longest), "P", threads.median, "P_share",
                     middle->streams == 0 ? 0 : threads.median / middle->streams, "P_processes",
                     processes.median, "tmax_processes_ns",
                     json_count(parallelism_median(runs, row, true)->rows[row].longest), "P_least",
                     threads.least, "P_greatest", threads.greatest);
}

static json_t *efficiency_json(const void *context, size_t assignment)
{
    const struct parallelism_runs *runs = context;
    struct parallelism_efficiency efficiency;

    parallelism_efficiency(runs->at[0].threads, (uint32_t)assignment, &efficiency);
    return json_pack("{s:s, s:f, s:f, s:f}", "assignment",
                     runs->options->assignments[assignment].name, "load_balance",
                     efficiency.load_balance, "serialisation", efficiency.serialisation, "transfer",
                     efficiency.transfer);
}

static json_t *process_json(const void *context, size_t index)
{
    const struct parallelism_runs *runs = context;
    const struct parallelism *first = runs->at[0].threads;
    const struct parallelism_process *process = &first->processes[index];

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
        json_text(process->name, STREAM_NAME_SIZE), "command",
        process->command == NULL ? json_null() : json_text(process->command, NAME_SIZE), "pid",
        json_count(process->pid), "machine", json_count(process->machine), "streams",
        json_count(process->streams), "cpu_ns", json_count(process->cpu), "tmax_ns",
        first->has_process_paths ? json_count(process->longest) : json_null(), "turns",
        json_count(process->turns.count), "synchronous", json_count(process->turns.synchronous));
}

static json_t *path_json(const void *context, size_t index)
{
    const struct parallelism_runs *runs = context;
    const struct parallelism *first = runs->at[0].threads;
    const struct parallelism_path *path = &first->paths[index];
    const struct parallelism_process *process = &first->processes[path->process];

    return json_pack(
        "{s:o, s:o, s:s, s:o, s:o, s:o}", "process", json_text(process->name, STREAM_NAME_SIZE),
        "pid", json_count(process->pid), "kind", path_kind_name(path->kind), "address",
        json_text(path->address, sizeof(path->address)), "turns", json_count(path->turns.count),
        "synchronous", json_count(path->turns.synchronous));
}

static json_t *machine_json(const void *context, size_t process)
{
    const struct parallelism_search *search = context;

    return json_count(search->machines[process]);
}

static json_t *search_json(const void *context, size_t index)
{
    const struct parallelism_runs *runs = context;
    const struct parallelism *first = runs->at[0].threads;
    const struct parallelism_search *search = &first->searches[index];

    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "assignment",
                     runs->options->assignments[search->assignment].name, "machines",
                     json_array_of(search, first->process_count, machine_json), "tried",
                     json_count(search->trials), "tmax_ns", json_count(search->longest), "bound_ns",
                     json_count(search->bound));
}

static json_t *other_load_json(const void *context, size_t machine)
{
    const struct parallelism_runs *runs = context;
    const struct parallelism_other_load *load = &runs->at[0].threads->other_loads[machine];

    return json_pack("{s:o, s:o, s:o}", "machine", json_text(load->name, MACHINE_NAME_SIZE), "cpus",
                     json_count(load->cpus), "tasks",
                     load->known ? json_real(load->tasks) : json_null());
}

static bool are_complete(const struct parallelism_runs *runs)
{
    bool complete = true;

    for (size_t i = 0; i < runs->count; i++)
        complete = complete && runs->at[i].recorded.complete;
    return complete;
}

static json_t *trace_json(const struct parallelism_runs *runs)
{
    const struct parallelism *first = runs->at[0].threads;

    return json_pack(
        "{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "runs",
        json_count(runs->count), "events", json_count(first->matching.events), "lost",
        json_count(runs->at[0].recorded.lost), "complete", are_complete(runs), "duration_ns",
        json_count(first->duration), "streams", json_count(first->streams), "machines",
        json_count(first->machines), "message_arcs", json_count(first->messages), "other_arcs",
        json_count(first->other_arcs), "outside", waits_json(&first->outside), "asleep",
        waits_json(&first->asleep), "locks", waits_json(&first->locks), "own_cost",
        own_cost_json(&first->matching.own_cost), "stretches", json_count(first->stretches),
        "messages_only", runs->options->messages_only, "matching", matching_json(&first->matching));
}

int show_parallelism_json(const struct parallelism_runs *runs, FILE *file)
{
    const struct parallelism *first = runs->at[0].threads;
    json_t *all =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o}}", "trace", trace_json(runs),
                  "other_load", json_array_of(runs, first->other_load_count, other_load_json),
                  "searches", json_array_of(runs, first->search_count, search_json), "rows",
                  json_array_of(runs, first->row_count, row_json), "efficiency",
                  json_array_of(runs, runs->options->assignment_count, efficiency_json),
                  "processes", json_array_of(runs, first->process_count, process_json), "paths",
                  json_array_of(runs, first->path_count, path_json), "other_paths", "turns",
                  json_count(first->other_turns.count), "synchronous",
                  json_count(first->other_turns.synchronous));
    int result = json_print(all, JSON_INDENT(1), file);

    fputc('\n', file);
    return result;
}
