/* SPDX-License-Identifier: MIT */
/*
 * states.h: what has become of views, as JSON, for displays that ask again and again (dpm top, dpm live).
 *
 *      changed --view_states_add--> the latest changes, numbered: 17 Long active, 18 Long changed ... --.
 *      central monitor: rows, plans, machines that are late ------------------------------------------+--> {"views": [...],
 *      notifier: what was sent, and how much of it late ----------------------------------------------'     "changes": [...]}
 *
 * dpm-view(1), "State of views", describes the keys.
 */
#ifndef DPM_STATES_H
#define DPM_STATES_H

#include "monitor/monitor.h"

#include <jansson.h>

struct view_states;

/* `file` and `monitor` must outlive it. Returns 0 or -ENOMEM. */
int view_states_new(const struct view_file *file, struct monitor *monitor,
                    struct view_states **ret_states);
void view_states_free(struct view_states *states); /* NULL is allowed */

/* A row has changed. Without memory it is missed, and counted so. */
void view_states_add(struct view_states *states, const struct view_change *change);

/* The state now, with the changes after number `since`, at most 500. STATES_FIRST, or a number that was another monitor's: those
 * that are kept, and none are missed. NULL: out of memory. */
#define STATES_FIRST UINT64_MAX
json_t *view_states_json(const struct view_states *states, uint64_t since);

/* "active", "inactive", or "unknown": a machine is late, its first values under a new plan have not come, an instance is not there
 * or could be several, or the view is not `on`. */
struct central_row_state;
const char *view_row_state(const struct central_row_state *row, bool on);

/* A value: a number that is whole and at most 2^53 is an integer; what is unknown, or no number, is null. NULL: out of memory. */
json_t *view_value_json(const struct view_value *value);

/* As wire_text. What programs call themselves, and their texts, need not be UTF-8: then what is not ASCII becomes '?'. NULL: out of
 * memory. */
json_t *view_text_json(const char *text);

/* A plan of a view, as `dpm view explain --json` prints it. NULL: out of memory. */
json_t *view_plan_json(const struct view_conditions *conditions, const struct view_plan *plan);

#endif
