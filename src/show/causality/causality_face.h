/* SPDX-License-Identifier: MIT */
/* causality_face.h: tables, JSON and state diagrams of request paths, and their shared texts. Private to show/. */
#ifndef DPM_CAUSALITY_FACE_H
#define DPM_CAUSALITY_FACE_H

#include "show/show.h"

int show_causality_tables(const struct causality *causality, FILE *file,
                          const struct causality_face *face);
int show_causality_json(const struct causality *causality, FILE *file);

/* ---- the state diagram: causality_states.c builds it, causality_svg.c and causality_dot.c draw it ---- */

/*
 *      requestor --> A after requestor --> B after A --> A after B
 *          ^                                                |
 *          '------------------------------------------------'
 */

#define STATE_TEXT_SIZE 512

/* A server process that holds a request, having received it along `context`. State 0 is the requestor. */
struct causality_state {
    const char *const *context;
    unsigned length; /* 0: the requestor */
    unsigned layer;  /* fewest messages from the requestor */
    size_t place;    /* index within its layer */
};

struct causality_arc {
    size_t from, to; /* states; the requestor is 0 */
    uint64_t count;
    uint64_t of;             /* messages that left `from`; 0: the arc is replies */
    const uint32_t *moments; /* [CAUSALITY_MOMENTS] of `count`, by time; NULL: not known */
};

struct causality_diagram {
    const struct causality *causality;
    struct causality_state *states;
    size_t state_count;
    struct causality_arc *arcs;
    size_t arc_count;
    uint64_t left_out; /* messages on arcs that are not drawn */
    size_t left_out_arcs;
    unsigned layers;
};

/* The `most` most frequent arcs (0: 100) and their states. Returns 0 or -ENOMEM; call causality_diagram_done in both cases. */
int causality_diagram_make(const struct causality *causality, size_t most,
                           struct causality_diagram *diagram, const char ***ret_room);
void causality_diagram_done(struct causality_diagram *diagram, const char **room);

/* ---- coordinates of the diagram: causality_routes.c ---- */

#define DIAGRAM_STATE_WIDE 190
#define DIAGRAM_STATE_HIGH 50

struct diagram_point {
    double x, y;
};

#define ROUTE_POINTS 6

struct diagram_route {
    /* Bezier curve of 4 points; else a polyline of horizontal and vertical segments. */
    bool curved;
    unsigned count;
    struct diagram_point at[ROUTE_POINTS];
    struct diagram_point words; /* centre of their baseline */
    double words_wide;
};

struct diagram_routes {
    struct diagram_point *states; /* upper left corners */
    struct diagram_route *arcs;
    struct diagram_point size;
};

/* Returns 0 or -ENOMEM. Free with diagram_routes_done. */
int diagram_routes_find(const struct causality_diagram *diagram, struct diagram_routes *ret_routes);
void diagram_routes_done(struct diagram_routes *routes);

int causality_diagram_svg(const struct causality_diagram *diagram, FILE *file);
int causality_diagram_dot(const struct causality_diagram *diagram, FILE *file);

/* "A" and the rest of the context: "after requestor", "after BC"; "" if the context is one letter. */
void state_text(const struct causality_state *state, char letter[STATE_TEXT_SIZE],
                char after[STATE_TEXT_SIZE]);

/* "nginx[12]"; "nginx[12] and 3 others" if several processes share the letter; "nginx (4)" if letters are programs. */
void letter_name(const struct causality *causality, const char *letter, char text[STATE_TEXT_SIZE]);

/* "27 % (924)"; for replies "924". */
void arc_text(const struct causality_arc *arc, char text[STATE_TEXT_SIZE]);

/* A request signature with what is repeated three times or more written once: "D(BC)x11BD". At most `size` bytes. */
#define SIGNATURE_SIZE 1200
void signature_fold(const char *signature, char *text, size_t size);

/* "Paths of causality: 12 requests ..." */
void diagram_title(const struct causality_diagram *diagram, char text[STATE_TEXT_SIZE]);

#endif
