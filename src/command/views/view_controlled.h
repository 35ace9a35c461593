/* SPDX-License-Identifier: MIT */
/*
 * view_controlled.h: the run-time interface of a running monitor: a UNIX socket of mode 0600, for the adaptation
 * controller and `dpm view control`. Private to command/.
 *
 *      {"id": 1, "method": "threshold", "params": {"view": "Queue-size", "constant": 1, "value": 20}}     a line each
 *      {"id": 1, "result": null}    or    {"id": 1, "error": "..."}
 */
#ifndef DPM_VIEW_CONTROLLED_H
#define DPM_VIEW_CONTROLLED_H

#include "monitor/monitor.h"

struct view_controlled;

/* Listens. An existing socket file without a listener is replaced. Returns 0 or a negative errno with a
 * line in `problem`. */
int view_controlled_new(const char *path, const struct view_file *file, struct monitor *monitor,
                        struct view_controlled **ret_controlled, struct problem *problem);
void view_controlled_free(struct view_controlled *controlled); /* NULL is allowed */

/* Readable when view_controlled_work has something to do. */
int view_controlled_descriptor(const struct view_controlled *controlled);
void view_controlled_work(struct view_controlled *controlled);

/* A row has changed (struct monitor_calls). */
void view_controlled_changed(struct view_controlled *controlled, const struct view_change *change);

/* The answer to a probe (struct monitor_calls). */
void view_controlled_answered(struct view_controlled *controlled, uint64_t question,
                              const struct view_value *value, uint64_t time);

#endif
