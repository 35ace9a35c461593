/* SPDX-License-Identifier: MIT */
/*
 * causality_dot.c: the state diagram as a graph for Graphviz, in the language DOT. See
 * causality_face.h.
 *
 *      digraph { s0 [label="requestors"]; s0 -> s1; s1 -> s2 [label="27 % (924)"]; ... }
 */
#include "show/causality/causality_face.h"

#include "show/text/xml.h"

static void write_state(const struct causality_diagram *diagram, size_t index, FILE *file)
{
    const struct causality_state *state = &diagram->states[index];
    char letter[STATE_TEXT_SIZE], after[STATE_TEXT_SIZE], name[STATE_TEXT_SIZE];
    char label[3 * STATE_TEXT_SIZE + 8];

    state_text(state, letter, after);
    letter_name(diagram->causality, letter, name);
    snprintf(label, sizeof(label), "%s%s%s%s%s", letter, name[0] == '\0' ? "" : " ", name,
             after[0] == '\0' ? "" : ", ", after);
    fprintf(file, "  s%zu [label=", index);
    dot_string(file, label);
    fputs(index == 0 ? ", shape=ellipse];\n" : "];\n", file);
}

static void write_arc(const struct causality_diagram *diagram, size_t index, FILE *file)
{
    const struct causality_arc *arc = &diagram->arcs[index];
    char text[STATE_TEXT_SIZE];

    arc_text(arc, text);
    fprintf(file, "  s%zu -> s%zu [label=", arc->from, arc->to);
    dot_string(file, text);
    fprintf(file, ", penwidth=%.1f%s];\n", 1 + 4 * show_share(arc->count, arc->of),
            arc->of == 0 ? ", style=dashed" : "");
}

int causality_diagram_dot(const struct causality_diagram *diagram, FILE *file)
{
    char title[STATE_TEXT_SIZE];

    diagram_title(diagram, title);
    fputs("digraph causality {\n  rankdir=LR;\n  labelloc=t;\n  label=", file);
    dot_string(file, title);
    fputs(";\n  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11];\n"
          "  edge [fontname=\"sans-serif\", fontsize=10];\n",
          file);
    for (size_t i = 0; i < diagram->state_count; i++)
        write_state(diagram, i, file);
    for (size_t i = 0; i < diagram->arc_count; i++)
        write_arc(diagram, i, file);
    fputs("}\n", file);
    return 0;
}
