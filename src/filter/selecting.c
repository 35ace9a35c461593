/* SPDX-License-Identifier: MIT */
/* selecting.c: selection rules between two traces. See selecting.h. */
#include "filter/selecting.h"

#include <errno.h>

/* These the writer makes itself; BEGIN is of a trace in several files, which the result is not. */
static bool is_made_by_writer(unsigned id)
{
    return id == EVENT_MACHINE || id == EVENT_END || id == EVENT_CLASS || id == EVENT_BEGIN;
}

int selecting_open(struct selecting *selecting, struct source *source, const struct rules *rules,
                   const char *output, struct problem *problem)
{
    *selecting = (struct selecting){.output = output, .source = source};
    if (rules_stage_new(rules, &selecting->stage) < 0)
        return problem_set(problem, -ENOMEM, "out of memory for the selection rules");
    return 0;
}

static int begin(struct selecting *selecting, const struct event *event, struct problem *problem)
{
    if (event->header->id != EVENT_MACHINE)
        return problem_set(problem, -EINVAL, "the trace does not begin with MACHINE");
    return trace_writer_new_of_past(selecting->output, (const struct machine_record *)event->header,
                                    UINT64_MAX, event->wall_offset, &selecting->writer, problem);
}

static int write_selected(struct selecting *selecting, struct problem *problem)
{
    struct event event;
    int result = 0;

    while (result == 0 && rules_stage_get(selecting->stage, &event)) {
        if (selecting->writer == NULL)
            result = begin(selecting, &event, problem);
        if (result < 0 || is_made_by_writer(event.header->id))
            continue;
        trace_writer_wall_offset(selecting->writer, event.wall_offset);
        result =
            trace_writer_append_without(selecting->writer, event.header, event.absent, problem);
    }
    return result;
}

static void note_lost(struct selecting *selecting, const struct record_header *header)
{
    const struct record *record = (const struct record *)header;
    const struct source_state *state = &selecting->source->states[0];

    if (header->id == EVENT_LOST && record->lost.ring == RING_CONTROL)
        selecting->lost_control += record->lost.count;
    if (selecting->writer == NULL)
        return;
    uint64_t control =
        selecting->lost_control < state->lost ? selecting->lost_control : state->lost;
    trace_writer_lost(selecting->writer, RING_CONTROL, control);
    trace_writer_lost(selecting->writer, RING_DATA, state->lost - control);
}

/* What the rules removed last is counted. */
static int write_end(struct selecting *selecting, struct problem *problem)
{
    int result = rules_stage_end(selecting->stage, problem);

    selecting->ended = true;
    return result == 0 ? write_selected(selecting, problem) : result;
}

int selecting_step(struct selecting *selecting, struct problem *problem)
{
    struct event event = {0};
    uint64_t complete;
    int result, written;

    while ((result = selecting->source->next(selecting->source, &event, &complete, problem)) ==
           SOURCE_RECORD) {
        selecting->latest = event.header->time;
        result = rules_stage_put(selecting->stage, &event, problem);
        if (result == 0)
            result = write_selected(selecting, problem);
        if (result < 0)
            return result;
        note_lost(selecting, event.header);
    }
    if (result != SOURCE_END || selecting->ended)
        return result;
    written = write_end(selecting, problem);
    if (written == 0 && selecting->writer == NULL)
        written = problem_set(problem, -EINVAL, "the trace has no records");
    return written < 0 ? written : result;
}

/* The FLAGS of the new rules has the time of the latest record: what comes is never older. */
int selecting_change(struct selecting *selecting, const struct rules *rules,
                     struct problem *problem)
{
    int result = rules_stage_change(selecting->stage, rules, selecting->latest, problem);

    return result < 0 ? result : write_selected(selecting, problem);
}

int selecting_flush(struct selecting *selecting, struct problem *problem)
{
    return selecting->writer == NULL ? 0 : trace_writer_flush(selecting->writer, problem);
}

/* What was cut does not become whole. */
static enum end_reason reason_of(const struct source_state *state)
{
    return state->complete ? state->end_reason : END_REPAIRED;
}

static void release(struct selecting *selecting)
{
    rules_stage_free(selecting->stage);
    trace_close(selecting->source);
    *selecting = (struct selecting){0};
}

int selecting_close(struct selecting *selecting, struct problem *problem)
{
    static const struct record_header none = {0};
    int result = 0, closed = 0;

    if (selecting->source != NULL && selecting->writer != NULL) {
        if (!selecting->ended)
            result = write_end(selecting, problem);
        note_lost(selecting, &none);
        closed = trace_writer_close(selecting->writer, reason_of(&selecting->source->states[0]),
                                    result < 0 ? NULL : problem);
    }
    release(selecting);
    return result < 0 ? result : closed;
}

void selecting_discard(struct selecting *selecting)
{
    trace_writer_discard(selecting->writer, selecting->output);
    release(selecting);
}
