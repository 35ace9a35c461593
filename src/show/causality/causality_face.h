/* SPDX-License-Identifier: MIT */
/* causality_face.h: the faces of paths of causality, and words they share. Private to show/. */
#ifndef DPM_CAUSALITY_FACE_H
#define DPM_CAUSALITY_FACE_H

#include "show/show.h"

int show_causality_tables(const struct causality *causality, FILE *file,
                          const struct causality_face *face);
int show_causality_json(const struct causality *causality, FILE *file);

/* ---- the state diagram: causality_states.c finds, the other two draw ---- */

/*
 *      requestor --> A after requestor --> B after A --> A after B
 *          ^                                                |
 *          '------------------------------------------------'
 */

#define STATE_TEXT_SIZE 512

/* A server process that has a request along a context; or the requestor, which is the first. */
struct causality_state {
    const char *const *context;
    unsigned length; /* 0: the requestor */
    unsigned layer;  /* messages from the requestor, the fewest */
    size_t place;    /* in its layer */
};

struct causality_arc {
    size_t from, to; /* states; the requestor is 0 */
    uint64_t count;
    uint64_t of; /* of all that left; 0: replies */
};

struct causality_diagram {
    const struct causality *causality;
    struct causality_state *states;
    size_t state_count;
    struct causality_arc *arcs;
    size_t arc_count;
    uint64_t left_out; /* messages of arcs that are not drawn */
    size_t left_out_arcs;
    unsigned layers;
};

/* ---- the diagram in the plane: causality_routes.c ---- */

#define DIAGRAM_STATE_WIDE 190
#define DIAGRAM_STATE_HIGH 50

struct diagram_point {
    double x, y;
};

#define ROUTE_POINTS 6

struct diagram_route {
    bool
        curved; /* a Bezier curve of 4 points; else corners, the parts between them are upright or level */
    unsigned count;
    struct diagram_point at[ROUTE_POINTS];
    struct diagram_point words; /* the middle of their base line */
    double words_wide;
};

struct diagram_routes {
    struct diagram_point *states; /* upper left corners */
    struct diagram_route *arcs;
    struct diagram_point size;
};

/* Returns 0, or -ENOMEM. Free it with diagram_routes_done. */
int diagram_routes_find(const struct causality_diagram *diagram, struct diagram_routes *ret_routes);
void diagram_routes_done(struct diagram_routes *routes);

int causality_diagram_svg(const struct causality_diagram *diagram, FILE *file);
int causality_diagram_dot(const struct causality_diagram *diagram, FILE *file);

/* "A", and in what it has received: "after requestor", "after BC"; of more than 1 letter. */
void state_text(const struct causality_state *state, char letter[STATE_TEXT_SIZE],
                char after[STATE_TEXT_SIZE]);

/* "nginx[12]", or the program's name where its processes share the letter; several: "and 3 others".
 * */
void letter_name(const struct causality *causality, const char *letter, char text[STATE_TEXT_SIZE]);

/* "27 % (924)", of replies "924". */
void arc_text(const struct causality_arc *arc, char text[STATE_TEXT_SIZE]);

/* "Paths of causality: 12 requests ..." */
void diagram_title(const struct causality_diagram *diagram, char text[STATE_TEXT_SIZE]);

#endif
