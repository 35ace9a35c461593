/* SPDX-License-Identifier: MIT */
/*
 * filter_trace.c: selects records of a finished trace. See filter.h.
 *
 *      TRACE --trace_open--> source --> rules_stage --> trace writer --> TRACE2
 */
#include "filter/filter.h"
#include "trace/trace.h"

#include <errno.h>
#include <stddef.h>

struct filtering {
    const char *output;
    struct source *source;
    struct rules_stage *stage;
    struct trace_writer *writer;
    uint64_t
        lost_control; /* of the lost records: those of the control ring, as LOST records report */
};

/* These the writer makes itself; BEGIN is of a trace in several files, which the result is not. */
static bool is_made_by_writer(unsigned id)
{
    return id == EVENT_MACHINE || id == EVENT_END || id == EVENT_CLASS || id == EVENT_BEGIN;
}

static int begin(struct filtering *filtering, const struct event *event, struct problem *problem)
{
    if (event->header->id != EVENT_MACHINE)
        return problem_set(problem, -EINVAL, "the trace does not begin with MACHINE");
    return trace_writer_new_of_past(filtering->output, (const struct machine_record *)event->header,
                                    UINT64_MAX, event->wall_offset, &filtering->writer, problem);
}

static int write_selected(struct filtering *filtering, struct problem *problem)
{
    struct event event;
    int result = 0;

    while (result == 0 && rules_stage_get(filtering->stage, &event)) {
        if (filtering->writer == NULL)
            result = begin(filtering, &event, problem);
        if (result < 0 || is_made_by_writer(event.header->id))
            continue;
        trace_writer_wall_offset(filtering->writer, event.wall_offset);
        result =
            trace_writer_append_without(filtering->writer, event.header, event.absent, problem);
    }
    return result;
}

static void note_lost(struct filtering *filtering, const struct record_header *header)
{
    const struct record *record = (const struct record *)header;
    const struct source_state *state = &filtering->source->states[0];

    if (header->id == EVENT_LOST && record->lost.ring == RING_CONTROL)
        filtering->lost_control += record->lost.count;
    if (filtering->writer == NULL)
        return;
    uint64_t control =
        filtering->lost_control < state->lost ? filtering->lost_control : state->lost;
    trace_writer_lost(filtering->writer, RING_CONTROL, control);
    trace_writer_lost(filtering->writer, RING_DATA, state->lost - control);
}

static int filter_records(struct filtering *filtering, struct problem *problem)
{
    struct event event = {0};
    uint64_t complete;
    int result;

    while ((result = filtering->source->next(filtering->source, &event, &complete, problem)) ==
           SOURCE_RECORD) {
        result = rules_stage_put(filtering->stage, &event, problem);
        if (result == 0)
            result = write_selected(filtering, problem);
        if (result < 0)
            return result;
        note_lost(filtering, event.header);
    }
    if (result == SOURCE_END)
        result = rules_stage_end(filtering->stage, problem);
    if (result == 0)
        result = write_selected(filtering, problem);
    if (result == 0 && filtering->writer == NULL)
        result = problem_set(problem, -EINVAL, "the trace has no records");
    return result;
}

/* What was cut does not become whole. */
static enum end_reason reason_of(const struct source_state *state)
{
    return state->complete ? state->end_reason : END_REPAIRED;
}

int filter_trace(const char *trace, const struct rules *rules, const char *output,
                 struct filter_trace_result *ret_result, struct problem *problem)
{
    struct filtering filtering = {.output = output};
    int result = trace_open(&trace, 1, &filtering.source, problem);

    if (result == 0 && rules_stage_new(rules, &filtering.stage) < 0)
        result = problem_set(problem, -ENOMEM, "out of memory for the selection rules");
    if (result == 0)
        result = filter_records(&filtering, problem);
    if (result < 0) {
        trace_writer_discard(filtering.writer, output);
    } else {
        const struct source_state *state = &filtering.source->states[0];
        static const struct record_header none = {0};
        note_lost(&filtering, &none);
        *ret_result = (struct filter_trace_result){.counts = rules_stage_counts(filtering.stage),
                                                   .state = *state};
        result = trace_writer_close(filtering.writer, reason_of(state), problem);
    }
    rules_stage_free(filtering.stage);
    trace_close(filtering.source);
    return result;
}
