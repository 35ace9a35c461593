/* SPDX-License-Identifier: MIT */
/* view_probe.h: `dpm view probe` and `dpm view sense`. Private to command/. */
#ifndef DPM_VIEW_PROBE_H
#define DPM_VIEW_PROBE_H

#include "command/shared/command.h"

struct view_probe_options {
    uint64_t every;   /* probe: ns between two readings; 0: once */
    uint64_t count;   /* sense: end after so many records; 0: no limit */
    const char *when; /* sense: a predicate of the view language; NULL: none */
    bool changes;     /* sense: only what has changed */
    pid_t under;      /* sense: only in this process and what descends from it; 0: in all */
    bool json;
};

/* Reads expressions of a running process, and prints a line for each. Returns the exit status. */
int view_probe(const char *pid, char *const *expressions, size_t count,
               const struct view_probe_options *options);

/* Prints the values of expressions each time that a process reaches a place, until it ends or a signal comes; `of`: its id,
 * or with a '/' a program's file: then each process that executes it. Returns the exit status. `place` "-": the first expression is a variable, each of whose changes counts. */
int view_sense(const char *of, const char *place, char *const *expressions, size_t count,
               const struct view_probe_options *options);

/* Parses a process id. Returns -1 on success; else prints an error and returns the exit status. */
int view_process(const char *text, pid_t *ret_pid);

/* Prints a value as JSON has it: a number, a text in quotes, or null. */
struct sensor_value;
void view_print_json_value(const struct sensor_value *value);

/* Prints a text in quotes, as JSON has it and view_text_json makes it. */
void view_print_json_text(const char *text);

#endif
