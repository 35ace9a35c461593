/* SPDX-License-Identifier: MIT */
/*
 * readings.h: analyses that read the same traces more than once. Private to control/.
 *
 *      traces --> each thread is a stream --+           traces --> graph, the path in it --+
 *      traces --> each process is one ------+--> P      traces --> its events, a picture --+--> the path
 *                 (if one had threads)
 */
#ifndef DPM_READINGS_H
#define DPM_READINGS_H

#include "control/traces.h"
#include "show/show.h"

enum streams { STREAMS_BOTH, STREAMS_THREADS, STREAMS_PROCESSES };

/* Fills *run, whose results are the caller's to free, in any case. Errors:
 * those of traces_open and parallelism_read_history. */
int read_parallelism(const struct trace_names *names, struct parallelism_options *options,
                     enum streams streams, struct parallelism_run *run, struct problem *problem);

/* A picture of the history with the path in it, made while the path's events are read. */
struct path_picture {
    struct graph_choice choice; /* to be set by the caller */
    struct identities *identities;
    struct history_graph *graph; /* NULL: none is wanted */
    struct traces *traces;       /* that are being read */
};

/* What --from, --to and --most of a command were given: as option_number. */
int picture_from(const char *command, struct graph_choice *choice);
int picture_to(const char *command, struct graph_choice *choice);
int picture_most(const char *command, struct graph_choice *choice);

/* What a file is by its name's ending: .svg a picture, .dot or .gv a graph for Graphviz. */
bool picture_format(const char *file, enum graph_format *ret_format);

/* The same of the file that an option was given: as option_number. */
int picture_file(const char *command, const char *option, enum graph_format *ret_format);

/* From now on it is wanted. Returns 0 or -ENOMEM with a line in `problem`. */
int path_picture_want(struct path_picture *picture, struct problem *problem);
void path_picture_done(struct path_picture *picture);

/* Errors: those of traces_open, critical_path_find and
 * critical_path_attribute. */
int read_path(const struct trace_names *names, struct critical_path_options *options,
              struct path_picture *picture, struct critical_path **ret_path,
              struct recorded *ret_recorded, struct problem *problem);

/* What reports show of it: a machine for each stream, messages that take no time, and who is worth making quicker.
 * Errors: those of read_path. */
int read_longest_path(const struct trace_names *names, struct path_picture *picture,
                      struct critical_path **ret_path, struct problem *problem);

/* Errors: those of traces_open and causality_read_history. */
int read_requests(const struct trace_names *names, struct causality **ret_causality,
                  struct problem *problem);

#endif
