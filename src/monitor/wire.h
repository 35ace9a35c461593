/* SPDX-License-Identifier: MIT */
/*
 * wire.h: what central and resident monitors say to each other, as JSON: plans and values. docs/control-protocol.md has
 * the messages.
 *
 *      {"top": "central", "period": 0, "instances": [{"collection": "traced", "evaluated": "sensor"}, ...]}
 *      [25, "full", null]      values, by reference or by target
 */
#ifndef DPM_WIRE_H
#define DPM_WIRE_H

#include "view/planner.h"

#include <jansson.h>
#include <sys/types.h>

/* Both return NULL when out of memory. */
json_t *wire_plan(const struct view *view, const struct view_plan *plan);
json_t *wire_values(const struct view_value *values, size_t count);

/* A text, without a character that was cut at its end since texts have at most WIRE_TEXT_MOST bytes. NULL: it is not UTF-8, or out of
 * memory. */
#define WIRE_TEXT_MOST 127
json_t *wire_text(const char *text);

/* Each returns 0, or -EINVAL if the JSON is not what the function above makes. Texts of values stay those of `from`. */
int wire_take_plan(json_t *from, const struct view *view, struct view_plan *ret_plan);
int wire_take_values(json_t *from, size_t count, struct view_value *ret_values);

/* What a central monitor asks of a resident one, in order:
 *      ["open", row, view, plan]   ["close", row]              a share of a row
 *      ["bind", row, entity, pid]                              the process that an entity of the row is; 0: none any more
 *      ["probe", row, entity, number]  ["release", row, entity]    as in struct view_monitor_calls
 *      ["read", row, entity]                                   now; the answer comes as values
 *      ["turn", view, on]          ["constant", view, index, value]
 */
enum row_step_kind {
    STEP_OPEN,
    STEP_CLOSE,
    STEP_BIND,
    STEP_PROBE,
    STEP_RELEASE,
    STEP_READ,
    STEP_TURN,
    STEP_CONSTANT,
    STEP_KINDS,
};

struct row_step {
    enum row_step_kind kind;
    uint32_t row;  /* not for TURN, CONSTANT */
    uint32_t view; /* OPEN, TURN, CONSTANT */
    const struct view_plan *plan;
    uint32_t entity;
    pid_t pid;
    uint32_t number; /* PROBE */
    bool on;
    uint32_t index; /* of a constant */
    double value;
};

/* NULL when out of memory. */
json_t *wire_step(const struct view_file *file, const struct row_step *step);

/* `ret_plan`: the plan of STEP_OPEN, to which *ret_step points then. Returns 0, or -EINVAL with a line in `problem` that names
 * the member and its value: it is not a step with views of this file. Whether there are such rows and entities is not checked. */
int wire_take_step(json_t *from, const struct view_file *file, struct row_step *ret_step,
                   struct view_plan *ret_plan, struct problem *problem);

/* How often values of an instance of a row change, and what becomes of them, per second, in the last second. */
struct row_rate {
    double changes;     /* negative: not measured, since not every change was traced */
    double records;     /* that the resident monitor read from sensors */
    double handed;      /* ... and handed over to the central one */
    double lost;        /* that it could not read in time */
    bool sensor_passes; /* as in struct view_placed */
};

/* [ROW, ENTITY, CHANGES, RECORDS, HANDED, LOST, SENSOR_PASSES]. NULL when out of memory. */
json_t *wire_rate(uint32_t row, uint32_t entity, const struct row_rate *rate);
int wire_take_rate(json_t *from, uint32_t *ret_row, uint32_t *ret_entity,
                   struct row_rate *ret_rate);

/* A member that is a whole number from 0 to `most`: 0 or -EINVAL. */
int wire_take_number(json_t *from, const char *key, uint64_t most, uint64_t *ret_number);

#endif
