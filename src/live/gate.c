/* SPDX-License-Identifier: MIT */
/* gate.c: see gate.h. */
#include "live/gate.h"

#include <string.h>

/* The time of the record that it holds. */
static int64_t wall_of(const struct gate *gate)
{
    return (int64_t)gate->held.header->time + gate->held.wall_offset - gate->ahead;
}

static int fill(struct gate *gate, uint64_t *ret_complete, struct problem *problem)
{
    if (gate->holds)
        return SOURCE_RECORD;
    if (gate->ended)
        return SOURCE_END;
    int result = gate->of->next(gate->of, &gate->held, ret_complete, problem);
    gate->holds = result == SOURCE_RECORD;
    if (gate->holds) {
        gate->heard = gate->held_for = clock_now(CLOCK_MONOTONIC);
        memcpy(gate->record, gate->held.header, event_size(gate->held.header->id));
        gate->held.header = (const struct record_header *)gate->record;
    }
    gate->ended = result == SOURCE_END;
    return result;
}

static int next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                struct problem *problem)
{
    struct gate *gate = (struct gate *)source;
    int result = fill(gate, ret_complete, problem);

    if (result != SOURCE_RECORD)
        return result;
    if (wall_of(gate) > gate->until) {
        int64_t own = gate->until + gate->ahead - gate->held.wall_offset;
        *ret_complete = own > 0 ? (uint64_t)own : 0;
        return SOURCE_NONE_YET;
    }
    *ret_event = gate->held;
    gate->holds = false;
    return SOURCE_RECORD;
}

static int descriptor(const struct source *source)
{
    return source_descriptor(((const struct gate *)source)->of);
}

void gate_init(struct gate *gate, struct source *of)
{
    *gate = (struct gate){.source = {next, 1, of->states, descriptor},
                          .of = of,
                          .until = INT64_MIN,
                          .heard = clock_now(CLOCK_MONOTONIC)};
}

void gate_open(struct gate *gate, int64_t until)
{
    gate->until = until;
}

int gate_next_time(struct gate *gate, int64_t *ret_time, struct problem *problem)
{
    uint64_t complete;
    int result = fill(gate, &complete, problem);

    if (result < 0)
        return result;
    *ret_time = result == SOURCE_RECORD ? wall_of(gate) : INT64_MAX;
    return 0;
}

void gate_let_pass(struct gate *gate)
{
    if (!gate->is_tied && gate->holds && wall_of(gate) > gate->until)
        gate->ahead += wall_of(gate) - gate->until;
}

void gate_set_ahead(struct gate *gate, int64_t ahead)
{
    gate->ahead = ahead;
    gate->is_tied = true;
}
