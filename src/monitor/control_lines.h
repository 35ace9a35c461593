/* SPDX-License-Identifier: MIT */
/*
 * control_lines.h: the run-time interface of a running monitor, for adaptation controllers (section II.C): lines of JSON, each a
 * request, which has one answer.
 *
 *      {"id": 1, "method": "threshold", "params": {"view": "Queue-size", "constant": 1, "value": 20}}
 *      {"id": 1, "result": null}    or    {"id": 1, "error": "..."}
 */
#ifndef DPM_CONTROL_LINES_H
#define DPM_CONTROL_LINES_H

#include "monitor/monitor.h"

struct control_lines;

struct control_lines_calls {
    void *context;
    /* The answer to a request of `client`, without a line end; may call nothing here. */
    void (*answer)(void *context, uint64_t client, const char *text);
};

/* `file` and `monitor` must outlive it. Returns 0 or -ENOMEM. */
int control_lines_new(const struct view_file *file, struct monitor *monitor,
                      const struct control_lines_calls *calls, struct control_lines **ret_lines);
void control_lines_free(struct control_lines *lines); /* NULL is allowed */

/* A line of a client, whatever it is; it is answered at once, or a probe when its value has come. */
void control_lines_take(struct control_lines *lines, uint64_t client, const char *line,
                        size_t size);

/* A row has changed (struct monitor_calls). */
void control_lines_changed(struct control_lines *lines, const struct view_change *change);

/* The answer to a probe (struct monitor_calls). */
void control_lines_answered(struct control_lines *lines, uint64_t question,
                            const struct view_value *value, uint64_t time);

#endif
