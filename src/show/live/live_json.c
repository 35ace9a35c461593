/* SPDX-License-Identifier: MIT */
/* live_json.c: a snapshot as a line of JSON. Keys are stable; dpm-stats(1) describes them. See live_face.h. */
#include "show/elapsed/elapsed_face.h"
#include "show/live/live_face.h"
#include "show/statistics/results.h"
#include "show/statistics/statistics_face.h"
#include "show/text/json.h"

#include <errno.h>
#include <inttypes.h>
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

/* Nor a median of nothing. */
static bool is_known(const struct live_row *row, const uint64_t *values, unsigned value)
{
    if (value == LIVE_MEDIAN || value == LIVE_P99)
        return row->rows == 1 && (values[value] > 0 || values[LIVE_REQUESTS] > 0);
    return live_row_knows(row, value);
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

/* Those of the whole recording. */
static int set_so_far(json_t *object, const struct live_row *row, enum live_table table)
{
    static const enum live_value values[] = {
        LIVE_CPU,      LIVE_SENT,   LIVE_SENT_BYTES, LIVE_RECEIVED,      LIVE_RECEIVED_BYTES,
        LIVE_REQUESTS, LIVE_MEDIAN, LIVE_P99,        LIVE_RECEIVER_WAIT, LIVE_QUEUE_DELAY};
    json_t *so_far = json_object();
    int result = 0;

    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        const struct live_value_kind *kind = live_value_kind(values[i]);
        if ((kind->tables >> table & 1) != 0)
            result |= set(so_far, kind->key,
                          is_known(row, row->so_far, values[i]) ? json_count(row->so_far[values[i]])
                                                                : json_null());
    }
    return result | json_object_set_new(object, "so_far", so_far);
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

/* Names may change, and come again: this stays. */
static int set_key(json_t *object, const char *name, uint64_t key)
{
    char text[17];

    snprintf(text, sizeof(text), "%016" PRIx64, key);
    return json_object_set_new(object, name, json_string(text));
}

/* The rows of its groups have these names. `prefix`: "from_", "to_", or "". An unmonitored peer has none. */
static int set_groups(json_t *object, const char *prefix, const struct communication *all,
                      uint32_t index)
{
    static const struct {
        enum live_table table;
        const char *key;
    } groups[] = {
        {LIVE_PROGRAMS, "program"}, {LIVE_CONTAINERS, "container"}, {LIVE_MACHINES, "machine"}};
    int result = 0;

    for (size_t i = 0; index < all->process_count && i < ARRAY_SIZE(groups); i++) {
        char key[24], name[LIVE_NAME_SIZE];
        snprintf(key, sizeof(key), "%s%s", prefix, groups[i].key);
        live_group_row_name(all, &all->processes[index], groups[i].table, name);
        result |= json_object_set_new(object, key, json_text(name, sizeof(name)));
        snprintf(key, sizeof(key), "%s%s_key", prefix, groups[i].key);
        result |=
            set_key(object, key, live_group_row_key(all, &all->processes[index], groups[i].table));
    }
    return result;
}

static json_t *row_json(const struct live_row *row, enum live_table table,
                        const struct live_snapshot *snapshot)
{
    const char *machine =
        row->machine < snapshot->machine_count ? snapshot->machines[row->machine].name : NULL;
    json_t *object = json_object();
    bool ends = table == LIVE_PAIRS || table == LIVE_CONNECTIONS;
    int result = 0;

    if (row->key != 0) {
        result |= json_object_set_new(object, ends ? "from" : "name",
                                      json_text(row->name, LIVE_NAME_SIZE));
        if (ends)
            result |= json_object_set_new(object, "to", json_text(row->other, LIVE_NAME_SIZE)) |
                      set_key(object, "from_key", row->ends[0]) |
                      set_key(object, "to_key", row->ends[1]) |
                      set_groups(object, "from_", snapshot->communication, row->process[0]) |
                      set_groups(object, "to_", snapshot->communication, row->process[1]);
        if (table == LIVE_CONNECTIONS) {
            result |= json_object_set_new(object, "kind", json_string(path_kind_name(row->kind)));
            result |=
                json_object_set_new(object, "address", json_text(row->address, LIVE_NAME_SIZE));
        }
        if (!ends && machine != NULL)
            result |= json_object_set_new(
                object, "machine", json_text(machine, sizeof(((struct live_machine *)0)->name)));
        if (!ends)
            result |= set_key(object, "key", row->key);
        if (table == LIVE_PROCESSES)
            result |= set_groups(object, "", snapshot->communication, row->process[0]);
        if (row->pid != 0)
            result |= json_object_set_new(object, "pid", json_count(row->pid));
        if (!ends)
            result |= json_object_set_new(object, "waits_for", wait_json(&row->wait)) |
                      json_object_set_new(object, "is_silent",
                                          json_boolean(live_is_silent(row, snapshot->length)));
    } else {
        result |= json_object_set_new(object, "rows", json_count(row->rows));
    }
    result |= set_values(object, row, table) | set_so_far(object, row, table);
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
        if (i > 0)
            fputs(", ", file);
        result = json_print(row_json(&rows->at[i], table, snapshot), JSON_COMPACT, file);
    }
    fputc(']', file);
    if (result == 0 && rows->others.rows > 0) {
        fprintf(file, ", \"other_%s\": ", live_table_name(table));
        result = json_print(row_json(&rows->others, table, snapshot), JSON_COMPACT, file);
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

/* Those of the interval. */
static int print_decisions(const struct live_snapshot *snapshot, FILE *file)
{
    const struct communication *all = snapshot->communication;
    const struct result_kind *kind = &result_kinds[RESULTS_DECISIONS];
    uint64_t new = snapshot->new_decisions;
    int result = 0;

    for (size_t i = all->decision_count - (new < all->decision_count ? new : all->decision_count);
         result == 0 && i < all->decision_count; i++) {
        const struct communication_decision *decision = &all->decisions[i];
        char text[DECISION_LINE_SIZE];
        json_t *json = result_json(kind, all, decision, false);
        show_decision(&decision->record, text);
        if (json_object_set_new(json, "text", json_string(text)) < 0) {
            json_decref(json);
            return -ENOMEM;
        }
        result = json_print(json, JSON_COMPACT, file);
        if (i + 1 < all->decision_count)
            fputs(", ", file);
    }
    return result;
}

static int print_interval(const struct live_snapshot *snapshot, FILE *file)
{
    json_t *whole = json_pack(
        "{s: o, s: b, s: o, s: o, s: o, s: o, s: o, s: o, s: o, s: o}", "length_ns",
        json_count(snapshot->length), "stands", snapshot->stands, "events",
        json_count(snapshot->new_events), "not_known_yet", json_count(snapshot->not_known_yet),
        "records", json_count(snapshot->records), "lost", json_count(snapshot->new_lost),
        "lost_so_far", json_count(snapshot->lost), "recorder_cpu_ns", json_count(snapshot->own_new),
        "recorder_share",
        snapshot->own_rate == NOT_KNOWN ? json_null() : json_real((double)snapshot->own_rate / 1e9),
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
    fputs("], \"decisions\": [", file);
    if (result == 0)
        result = print_decisions(snapshot, file);
    fputc(']', file);
    for (unsigned table = 0; result == 0 && table < LIVE_TABLES; table++)
        result = print_table(snapshot, table, file);
    fputc('}', file);
    return result;
}

/* ---- what a page needs to know first ---- */

static json_t *kind_json(const void *context, size_t index)
{
    (void)context;
    return json_pack("{s: s, s: s, s: s}", "key", elapsed_kind_key((enum elapsed_kind)index),
                     "name", elapsed_kind_name((enum elapsed_kind)index), "wait",
                     elapsed_wait_name((enum elapsed_kind)index));
}

static json_t *value_json(const void *context, size_t index)
{
    static const char *const units[] = {
        [LIVE_COUNT] = "count", [LIVE_BYTES] = "bytes", [LIVE_NS] = "ns"};
    const struct live_value_kind *kind = live_value_kind((unsigned)index);

    (void)context;
    return json_pack("{s: s, s: s, s: b, s: s}", "key", kind->key, "unit", units[kind->unit],
                     "moment", kind->is_moment, "meaning", kind->meaning);
}

int show_live_about(const struct show_about *about, FILE *file)
{
    json_t *json = json_pack("{s: o, s: o, s: f, s: s, s: s, s: i, s: o, s: o}", "subject",
                             json_text(about->subject, strlen(about->subject)), "interval_ns",
                             json_count(about->interval), "speed", about->speed, "why", about->why,
                             "not_recorded", about->not_recorded, "rows_most", LIVE_ROWS_MOST,
                             "kinds", json_array_of(NULL, ELAPSED_KIND_COUNT, kind_json), "values",
                             json_array_of(NULL, LIVE_WAITS, value_json));
    int result = json_print(json, JSON_COMPACT, file);

    fputc('\n', file);
    return result;
}

int show_live_json(const struct live_snapshot *snapshot, uint64_t dropped, bool whole, FILE *file)
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
    if (result == 0 && whole) {
        fputs(", ", file);
        result = print_statistics_members(snapshot->communication, LIVE_ROWS_MOST, file);
    }
    fputs("}\n", file);
    return result;
}
