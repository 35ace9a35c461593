/* SPDX-License-Identifier: MIT */
/*
 * picture.h: a picture of the program history, drawn while traces are read. Private to command/.
 *
 *      history --> every event --> chosen? on the critical path? an answer? --> history_graph --> SVG, DOT
 */
#ifndef DPM_PICTURE_H
#define DPM_PICTURE_H

#include "analysis/parallelism/critical_path.h"
#include "command/reading/traces.h"
#include "command/shared/dump_choice.h"
#include "show/show.h"

struct picture {
    /* set by the caller: */
    struct graph_choice choice;    /* except `accepts` */
    struct dump_choice *processes; /* only events of these processes; NULL: all */
    /* result: */
    struct identities *identities;
    struct history_graph *graph; /* NULL: nothing drawn yet */
    /* while drawing: */
    const struct traces *traces;
    const struct critical_path_reading *path;
    struct parallelism_analysis *arcs; /* without a path: knows answers from outside */
    bool accepted;                     /* the event that is being drawn */
};

/* Starts a picture of the traces, which must be at their beginning. `path` (or NULL) marks the events on the critical
 * path. It must be in its second reading, and its analysis must precede this one. Returns 0, or -ENOMEM with a line in
 * `problem`. */
int picture_begin(struct picture *picture, struct traces *traces,
                  const struct critical_path_reading *path, struct problem *problem);
struct analysis picture_analysis(struct picture *picture);
void picture_done(struct picture *picture);

/* ---- options ---- */

/* Parses --most of a command. Returns as option_number does. */
int picture_most(const char *command, struct graph_choice *choice);

/* The format that a file name's suffix stands for: .svg (picture), .dot or .gv (graph for Graphviz). False: none of
 * these. */
bool picture_format(const char *file, enum graph_format *ret_format);

/* Parses an option whose argument is such a file name. Returns as option_number does. */
int picture_file(const char *command, const char *option, enum graph_format *ret_format);

#endif
