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

/* Both return NULL when out of memory. */
json_t *wire_plan(const struct view *view, const struct view_plan *plan);
json_t *wire_values(const struct view_value *values, size_t count);

/* Each returns 0, or -EINVAL if the JSON is not what the function above makes. Texts of values stay those of `from`. */
int wire_take_plan(json_t *from, const struct view *view, struct view_plan *ret_plan);
int wire_take_values(json_t *from, size_t count, struct view_value *ret_values);

/* A member that is a whole number from 0 to `most`: 0 or -EINVAL. */
int wire_take_number(json_t *from, const char *key, uint64_t most, uint64_t *ret_number);

#endif
