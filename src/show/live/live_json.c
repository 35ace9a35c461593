/* SPDX-License-Identifier: MIT */
/* live_json.c: a snapshot as a line of JSON. Keys are stable; dpm-stats(1) describes them. See live_face.h. */
#include "show/elapsed/elapsed_face.h"
#include "show/live/live_face.h"
#include "show/statistics/statistics_face.h"
#include "show/text/json.h"

#include <errno.h>
#include <string.h>

/* Sets "sent.messages" in the object "sent". */
static int set(json_t *object, const char *key, json_t *value)
{
    const char *dot = strchr(key, '.');
    char outer[24];

    if (dot == NULL)
        return json_object_set_new(object, key, value);
    snprintf(outer, sizeof(outer), "%.*s", (int)(dot - key), key);
    json_t *inner = json_object_get(object, outer);
    if (inner == NULL) {
        inner = json_object();
        json_object_set_new(object, outer, inner);
    }
    return json_object_set_new(inner, dot + 1, value);
}

/* A median of nothing. */
static bool is_known(const struct live_row *row, const uint64_t *values, unsigned value)
{
    return (value != LIVE_MEDIAN && value != LIVE_P99) ||
           (row->rows == 1 && (values[value] > 0 || values[LIVE_REQUESTS] > 0));
}

static int set_waits(json_t *object, const char *key, const uint64_t *values)
{
    json_t *waits = json_object();

    for (unsigned kind = 0; kind < ELAPSED_KIND_COUNT; kind++)
        if (values[LIVE_WAITS + kind] > 0)
            json_object_set_new(waits, elapsed_kind_key((enum elapsed_kind)kind),
                                json_count(values[LIVE_WAITS + kind]));
    return json_object_set_new(object, key, waits);
}

static int set_values(json_t *object, const struct live_row *row, enum live_table table)
{
    int result = 0;

    for (unsigned i = 0; i < LIVE_WAITS; i++) {
        const struct live_value_kind *kind = live_value_kind(i);
        if ((kind->tables >> table & 1) == 0)
            continue;
        json_t *value = !is_known(row, row->interval, i) ? json_null()
                        : i == LIVE_CORRECTION           ? json_integer((int64_t)row->interval[i])
                                                         : json_count(row->interval[i]);
        result |= set(object, kind->key, value);
    }
    if ((live_value_kind(LIVE_WAITS)->tables >> table & 1) != 0)
        result |= set_waits(object, "waits_ns", row->interval) |
                  set_waits(object, "waits_so_far_ns", row->so_far);
    return result;
}

static json_t *wait_json(const struct live_wait *wait)
{
    if (wait->time == 0)
        return json_null();
    return json_pack("{s: s, s: o, s: o, s: o}", "kind", elapsed_kind_key(wait->kind), "time_ns",
                     json_count(wait->time), "since_ns",
                     wait->since == 0 ? json_null() : json_count(wait->since), "what",
                     wait->what[0] == '\0' ? json_null() : json_text(wait->what, LIVE_WHAT_SIZE));
}

static json_t *row_json(const struct live_row *row, enum live_table table, const char *machine)
{
    json_t *object = json_object();
    bool ends = table == LIVE_PAIRS || table == LIVE_CONNECTIONS;
    int result = 0;

    if (row->key != 0) {
        result |= json_object_set_new(object, ends ? "from" : "name",
                                      json_text(row->name, LIVE_NAME_SIZE));
        if (ends)
            result |= json_object_set_new(object, "to", json_text(row->other, LIVE_NAME_SIZE));
        if (table == LIVE_CONNECTIONS) {
            result |= json_object_set_new(object, "kind", json_string(path_kind_name(row->kind)));
            result |=
                json_object_set_new(object, "address", json_text(row->address, LIVE_NAME_SIZE));
        }
        if (!ends && machine != NULL)
            result |= json_object_set_new(
                object, "machine", json_text(machine, sizeof(((struct live_machine *)0)->name)));
        if (row->pid != 0)
            result |= json_object_set_new(object, "pid", json_count(row->pid));
        if (!ends)
            result |= json_object_set_new(object, "waits_for", wait_json(&row->wait));
    } else {
        result |= json_object_set_new(object, "rows", json_count(row->rows));
    }
    result |= set_values(object, row, table);
    if (result == 0)
        return object;
    json_decref(object);
    return NULL;
}

static int print_table(const struct live_snapshot *snapshot, enum live_table table, FILE *file)
{
    const struct live_rows *rows = &snapshot->tables[table];
    int result = 0;

    fprintf(file, ", \"%s\": [", live_table_name(table));
    for (size_t i = 0; result == 0 && i < rows->count; i++) {
        uint32_t machine = rows->at[i].machine;
        if (i > 0)
            fputs(", ", file);
        result = json_print(
            row_json(&rows->at[i], table,
                     machine < snapshot->machine_count ? snapshot->machines[machine].name : NULL),
            JSON_COMPACT, file);
    }
    fputc(']', file);
    if (result == 0 && rows->others.rows > 0) {
        fprintf(file, ", \"other_%s\": ", live_table_name(table));
        result = json_print(row_json(&rows->others, table, NULL), JSON_COMPACT, file);
    }
    return result;
}

static json_t *machine_json(const struct live_machine *machine)
{
    return json_pack("{s: o, s: o, s: b, s: b, s: o, s: o}", "name",
                     json_text(machine->name, sizeof(machine->name)), "silent_ns",
                     machine->last == UINT64_MAX ? json_null() : json_count(machine->last), "ended",
                     machine->ended, "complete", machine->complete, "cpus",
                     machine->cpus == 0 ? json_null() : json_count(machine->cpus), "cpu_share",
                     machine->cpu == NOT_KNOWN || machine->cpus == 0
                         ? json_null()
                         : json_real(show_share(machine->cpu, machine->elapsed * machine->cpus)));
}

static int print_interval(const struct live_snapshot *snapshot, FILE *file)
{
    json_t *whole = json_pack(
        "{s: o, s: o, s: o, s: o, s: o, s: o, s: o}", "length_ns", json_count(snapshot->length),
        "events", json_count(snapshot->new_events), "not_known_yet",
        json_count(snapshot->not_known_yet), "records", json_count(snapshot->records), "lost",
        json_count(snapshot->new_lost), "recorder_cpu_ns", json_count(snapshot->own_new),
        "reader_cpu_ns", json_count(snapshot->reader_new));
    char *text = whole == NULL ? NULL : json_dumps(whole, JSON_COMPACT);
    int result = text == NULL ? -ENOMEM : 0;

    json_decref(whole);
    if (result < 0)
        return result;
    fprintf(file, "\"interval\": %.*s, \"machine_states\": [", (int)strlen(text) - 1, text);
    free(text);
    for (size_t i = 0; result == 0 && i < snapshot->machine_count; i++) {
        fputs(i == 0 ? "" : ", ", file);
        result = json_print(machine_json(&snapshot->machines[i]), JSON_COMPACT, file);
    }
    fputc(']', file);
    for (unsigned table = 0; result == 0 && table < LIVE_TABLES; table++)
        result = print_table(snapshot, table, file);
    fputc('}', file);
    return result;
}

int show_live_json(const struct live_snapshot *snapshot, uint64_t dropped, FILE *file)
{
    json_t *time =
        json_pack("{s: o, s: o, s: I, s: b, s: o}", "number", json_count(snapshot->number),
                  "elapsed_ns", json_count(snapshot->time), "wall_ns", (json_int_t)snapshot->wall,
                  "last", snapshot->last, "lines_dropped", json_count(dropped));

    fputs("{\"time\": ", file);
    int result = json_print(time, JSON_COMPACT, file);
    fputs(", ", file);
    if (result == 0)
        result = print_interval(snapshot, file);
    fputs(", ", file);
    if (result == 0)
        result = print_statistics_members(snapshot->communication, LIVE_ROWS_MOST, file);
    fputs("}\n", file);
    return result;
}
