/* SPDX-License-Identifier: MIT */
/*
 * picture.h: a picture of the program history, drawn while traces are read. Private to control/.
 *
 *      history --> every event --> chosen? on the critical path? --> history_graph --> SVG, DOT
 */
#ifndef DPM_PICTURE_H
#define DPM_PICTURE_H

#include "analysis/parallelism/critical_path.h"
#include "control/dump_choice.h"
#include "control/traces.h"
#include "show/show.h"

struct picture {
    /* to be set by the caller: */
    struct graph_choice choice;    /* but for its `accepts` */
    struct dump_choice *processes; /* only events of these; NULL: of all */
    /* what was drawn: */
    struct identities *identities;
    struct history_graph *graph; /* NULL: nothing yet */
    /* while it is drawn: */
    const struct traces *traces;
    const struct critical_path_reading *path;
    bool accepted; /* the event that is being drawn */
};

/* Draws what is read of the traces from now on, of which nothing has been read; and marks what is on the path in its
 * second reading, whose analysis comes before this one. `path`: or NULL. Returns 0, or -ENOMEM with a line in `problem`. */
int picture_begin(struct picture *picture, struct traces *traces,
                  const struct critical_path_reading *path, struct problem *problem);
struct analysis picture_analysis(struct picture *picture);
void picture_done(struct picture *picture);

/* ---- options ---- */

/* What --from, --to and --most of a command were given: as option_number. */
int picture_from(const char *command, struct graph_choice *choice);
int picture_to(const char *command, struct graph_choice *choice);
int picture_most(const char *command, struct graph_choice *choice);

/* What a file is by its name's ending: .svg a picture, .dot or .gv a graph for Graphviz. */
bool picture_format(const char *file, enum graph_format *ret_format);

/* The same of the file that an option was given: as option_number. */
int picture_file(const char *command, const char *option, enum graph_format *ret_format);

#endif
