/* SPDX-License-Identifier: MIT */
/* critical_path_json.c: the critical path as JSON; dpm-path(1) describes the keys. */
#include "show/elapsed/elapsed_face.h"
#include "show/parallelism/critical_path_face.h"
#include "show/text/json.h"
#include "show/text/matching_face.h"

static json_t *process_json(const void *context, size_t index)
{
    const struct critical_path *path = context;
    const struct parallelism_process *is = &path->parallelism->processes[index];
    const struct critical_process *process = &path->processes[index];

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", json_text(is->name, STREAM_NAME_SIZE),
        "command", is->command == NULL ? json_null() : json_text(is->command, NAME_SIZE), "machine",
        elapsed_machine_json(path->parallelism->machines > 1 ? is->machine_name : ""), "pid",
        json_count(is->pid), "cpu_ns", json_count(is->cpu), "path_cpu_ns", json_count(process->cpu),
        "path_outside_ns", json_count(process->outside), "slack_ns",
        process->has_slack ? json_count(process->slack) : json_null());
}

static json_t *arc_json(const void *context, size_t index)
{
    const struct critical_path *path = context;
    const struct critical_arcs *arc = &path->arcs[index];

    return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "from", json_count(arc->from), "to",
                     json_count(arc->to), "kind",
                     arc->kind != EDGE_EXACT ? edge_kind_name(arc->kind)
                     : arc->path_kind == 0   ? "message"
                                             : path_kind_name(arc->path_kind),
                     "count", json_count(arc->count), "bytes", json_count(arc->bytes), "delay_ns",
                     json_count(arc->delay), "in_flight_ns", json_count(arc->in_flight));
}

static json_t *procedure_json(const void *context, size_t index)
{
    const struct critical_path *path = context;
    const struct critical_procedure *procedure = &path->procedures[index];

    return json_pack("{s:o, s:o, s:o, s:o}", "process", json_count(procedure->process), "name",
                     json_text(procedure->name, PROCEDURE_NAME_SIZE), "module",
                     json_text(procedure->module, MODULE_NAME_SIZE), "path_cpu_ns",
                     json_count(procedure->cpu));
}

static json_t *what_if_json(const void *context, size_t index)
{
    const struct critical_path *path = context;
    const struct what_if *what_if = &path->what_ifs[index];
    const struct parallelism_process *processes = path->parallelism->processes;

    return json_pack(
        "{s:o, s:o, s:f, s:o, s:o, s:f}", "process",
        json_text(processes[what_if->process].name, STREAM_NAME_SIZE), "to",
        what_if->speed > 0 ? json_null() : json_text(processes[what_if->to].name, STREAM_NAME_SIZE),
        "speed", what_if->speed, "path_ns", json_count(what_if->longest), "tmax_ns",
        json_count(what_if->whole), "P", critical_factor(what_if->total, what_if->whole));
}

static json_t *carrier_json(const struct critical_path *path)
{
    const struct critical_carrier *carrier = &path->carrier;

    return carrier->process == NO_PARENT
               ? json_null()
               : json_pack("{s:o, s:b, s:o, s:o}", "process", json_count(carrier->process), "alone",
                           carrier->alone, "path_cpu_ns", json_count(carrier->cpu),
                           "twice_as_fast_path_ns", json_count(carrier->longest));
}

static json_t *requests_json(const struct elapsed *elapsed)
{
    return elapsed != NULL && elapsed_is_of_requests(elapsed)
               ? elapsed_path_json(&elapsed->requests)
               : json_null();
}

int show_critical_path_json(const struct critical_path *path, const struct elapsed *elapsed,
                            const struct recorded *recorded, FILE *file)
{
    const struct parallelism *parallelism = path->parallelism;
    json_t *trace = json_pack(
        "{s:o, s:o, s:o, s:b, s:o, s:o}", "events", json_count(parallelism->matching.events),
        "own_cost", own_cost_json(&parallelism->matching.own_cost), "lost",
        json_count(recorded->lost), "complete", recorded->complete, "duration_ns",
        json_count(parallelism->duration), "matching", matching_json(&parallelism->matching));
    json_t *all = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, "
        "s:o}",
        "trace", trace, "files", elapsed == NULL ? json_array() : elapsed_files_json(elapsed),
        "requests", requests_json(elapsed), "T_ns", json_count(parallelism->total), "tmax_ns",
        json_count(path->whole), "ends", critical_end_key(path->end), "path_ns",
        json_count(path->longest), "elapsed_ns", json_count(path->elapsed), "in_flight_ns",
        json_count(path->in_flight), "flights_unknown", json_count(path->unknown_flights),
        "carrier", carrier_json(path), "cpu_ns", json_count(path->cpu), "delay_ns",
        json_count(path->delay), "outside_ns", json_count(path->outside), "events",
        json_count(path->events), "processes",
        json_array_of(path, parallelism->process_count, process_json), "arcs",
        json_array_of(path, path->arc_count, arc_json), "procedures",
        json_array_of(path, path->procedure_count, procedure_json), "what_if",
        json_array_of(path, path->what_if_count, what_if_json));
    int result = json_print(all, JSON_INDENT(1), file);

    fputc('\n', file);
    return result;
}
