/* SPDX-License-Identifier: MIT */
/*
 * raw_trace.c: makes traces of raw records. See filter.h.
 *
 *      RAW --raw_records--> records by machine and time --raw_events--> events --rules_stage--> trace writer --> TRACE
 */
#include "base/folder.h"
#include "filter/filter.h"
#include "filter/raw_events.h"
#include "trace/trace.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct converting {
    struct raw_records records;
    struct raw_events events;
    struct raw_values values;
    size_t next;               /* index of the first record of the next machine */
    struct rules_stage *stage; /* of the machine */
    struct trace_writer *writer;
    struct filter_raw_result result;
};

static int write_selected(struct converting *converting, struct problem *problem)
{
    struct event event;
    int result = 0;

    while (result == 0 && rules_stage_get(converting->stage, &event))
        if (event.header->id != EVENT_MACHINE)
            result = trace_writer_append_without(converting->writer, event.header, event.absent,
                                                 problem);
    return result;
}

static int put(struct converting *converting, const struct record_header *header, uint64_t absent,
               struct problem *problem)
{
    const struct event event = {.header = header, .absent = absent};
    int result = rules_stage_put(converting->stage, &event, problem);

    return result < 0 ? result : write_selected(converting, problem);
}

static int convert_record(struct converting *converting, size_t index, struct problem *problem)
{
    struct raw_events *events = &converting->events;
    const struct record_header *header;
    uint64_t absent;
    int result = raw_events_make(events, index, &absent, problem);

    raw_record_values(&converting->records, &converting->records.list[index], &converting->values);
    while (result == 0 && (header = record_queue_peek(&events->made)) != NULL) {
        result = put(converting, header, event_is_metered(header->id) ? absent : 0, problem);
        record_queue_take(&events->made);
    }
    return result;
}

static int convert_records(struct converting *converting, struct problem *problem)
{
    const struct raw_records *records = &converting->records;
    uint32_t machine = records->list[converting->next].machine;
    int result = 0;

    rules_stage_raw(converting->stage, &converting->values);
    while (result == 0 && converting->next < records->count &&
           records->list[converting->next].machine == machine)
        result = convert_record(converting, converting->next++, problem);
    if (result == 0)
        result = rules_stage_end(converting->stage, problem);
    return result == 0 ? write_selected(converting, problem) : result;
}

static void add_counts(struct converting *converting)
{
    struct rules_counts counts = rules_stage_counts(converting->stage);

    converting->result.counts.selected += counts.selected;
    converting->result.counts.unselected += counts.unselected;
    converting->result.counts.reduced += counts.reduced;
}

static int convert_machine(struct converting *converting, const struct rules *rules,
                           const char *output, struct problem *problem)
{
    struct machine_record record;
    int result = 0;

    if (raw_events_machine(&converting->events, converting->next, &record) < 0 ||
        rules_stage_new(rules, &converting->stage) < 0)
        result = problem_set(problem, -ENOMEM, "out of memory for raw records");
    if (result == 0)
        result =
            trace_writer_new_of_past(output, &record, UINT64_MAX, 0, &converting->writer, problem);
    if (result == 0)
        result = put(converting, &record.header, 0, problem);
    if (result == 0)
        result = convert_records(converting, problem);
    if (result == 0) {
        add_counts(converting);
        /* what was cut does not become whole */
        result = trace_writer_close(
            converting->writer, converting->records.cut > 0 ? END_REPAIRED : END_COMPLETE, problem);
    } else {
        trace_writer_discard(converting->writer, output);
    }
    converting->writer = NULL;
    rules_stage_free(converting->stage);
    converting->stage = NULL;
    return result;
}

static int convert_machines(struct converting *converting, const struct rules *rules,
                            const char *output, struct problem *problem)
{
    char path[PATH_MAX], name[RAW_NAME_SIZE];
    int result = 0;

    if (mkdir(output, 0700) < 0)
        return problem_set(problem, -errno, "%s: cannot be created: %s%s", output, strerror(errno),
                           errno == EEXIST ? "; remove it or choose another name" : "");
    for (uint32_t i = 0; result == 0 && i < converting->records.machine_count; i++) {
        raw_events_machine_name(&converting->records, i, name);
        result = (size_t)snprintf(path, sizeof(path), "%s/%s", output, name) < sizeof(path)
                     ? convert_machine(converting, rules, path, problem)
                     : problem_set(problem, -ENAMETOOLONG, "%s: the name is too long", output);
    }
    if (result < 0)
        folder_remove(output);
    return result;
}

static void note_result(struct converting *converting, struct filter_raw_result *ret_result)
{
    const struct raw_events *events = &converting->events;

    converting->result.machines = converting->records.machine_count;
    converting->result.left_out = events->left_out;
    if (events->some_left_out != NULL)
        snprintf(converting->result.some_left_out, sizeof(converting->result.some_left_out),
                 "%.60s", events->some_left_out->name);
    converting->result.unknown = converting->records.unknown;
    converting->result.some_unknown = converting->records.some_unknown;
    converting->result.cut = converting->records.cut;
    *ret_result = converting->result;
}

int filter_raw(const char *path, const struct descriptions *descriptions, const struct rules *rules,
               const char *output, struct filter_raw_result *ret_result, struct problem *problem)
{
    struct converting *converting = calloc(1, sizeof(*converting));
    struct rules *all = NULL;

    if (converting == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for raw records");
    int result = raw_records_read(&converting->records, descriptions, path, problem);
    if (result == 0 && rules == NULL)
        result = rules_parse("", "", 0, &all, problem);
    rules = rules == NULL ? all : rules;
    raw_events_begin(&converting->events, &converting->records);
    if (result == 0)
        result = converting->records.machine_count == 1
                     ? convert_machine(converting, rules, output, problem)
                     : convert_machines(converting, rules, output, problem);
    if (result == 0)
        note_result(converting, ret_result);
    raw_events_done(&converting->events);
    raw_records_done(&converting->records);
    rules_free(all);
    free(converting);
    return result;
}
