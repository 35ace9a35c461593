/* SPDX-License-Identifier: MIT */
/* page_states.c: the state diagram of requests. See page.h. */
#include "show/causality/causality_face.h"
#include "show/page/page_private.h"
#include "show/text/json.h"

#include <stdlib.h>

#define ARCS_SHOWN 30

static json_t *state_json(const void *context, size_t index)
{
    const struct causality_diagram *diagram = context;
    const struct causality_state *state = &diagram->states[index];
    char letter[STATE_TEXT_SIZE], after[STATE_TEXT_SIZE], name[STATE_TEXT_SIZE] = "";

    if (state->length == 0)
        return json_pack("{s:s, s:s, s:s}", "letter", "", "after", "", "name", "requestor");
    state_text(state, letter, after);
    letter_name(diagram->causality, letter, name);
    return json_pack("{s:s, s:s, s:s}", "letter", letter, "after", after, "name", name);
}

static json_t *moment_json(const void *context, size_t index)
{
    const uint32_t *moments = context;

    return json_count(moments[index]);
}

static json_t *arc_json(const void *context, size_t index)
{
    const struct causality_diagram *diagram = context;
    const struct causality_arc *arc = &diagram->arcs[index];

    return json_pack(
        "{s:i, s:i, s:o, s:o, s:o}", "from", (int)arc->from, "to", (int)arc->to, "count",
        json_count(arc->count), "of", json_count(arc->of), "moments",
        json_array_of(arc->moments, arc->moments == NULL ? 0 : CAUSALITY_MOMENTS, moment_json));
}

static int by_count(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

    return a > b ? -1 : a < b;
}

/* Thousands of processes may receive requests: the arcs from requestors have at least so many, or are left out. */
static uint64_t least_requests(const struct causality_diagram *diagram)
{
    uint64_t *counts = calloc(diagram->arc_count + 1, sizeof(*counts));
    size_t count = 0;

    for (size_t i = 0; counts != NULL && i < diagram->arc_count; i++)
        if (diagram->arcs[i].from == 0)
            counts[count++] = diagram->arcs[i].count;
    if (count > ARCS_SHOWN)
        qsort(counts, count, sizeof(*counts), by_count);
    uint64_t least = count > ARCS_SHOWN ? counts[ARCS_SHOWN - 1] : 0;
    free(counts);
    return least;
}

static json_t *arcs_json(const struct causality_diagram *diagram, size_t *ret_left_out)
{
    uint64_t least = least_requests(diagram);
    json_t *list = json_array();
    size_t entries = 0;

    for (size_t i = 0; list != NULL && i < diagram->arc_count; i++) {
        const struct causality_arc *arc = &diagram->arcs[i];
        if (arc->from == 0 && (arc->count < least || entries++ >= ARCS_SHOWN)) {
            ++*ret_left_out;
        } else if (json_array_append_new(list, arc_json(diagram, i)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* `shift`: of the first interval against the chart's beginning, ns. */
static json_t *diagram_json(const struct causality_diagram *diagram, int64_t shift)
{
    size_t left_out = diagram->left_out_arcs;
    json_t *arcs = arcs_json(diagram, &left_out);

    return json_pack("{s:o, s:o, s:o, s:I, s:o}", "states",
                     json_array_of(diagram, diagram->state_count, state_json), "arcs", arcs,
                     "left_out", json_count(left_out), "begin", (json_int_t)shift, "width",
                     json_count(diagram->causality->moment_width));
}

static int64_t shift_of(const struct report *report)
{
    return report->lanes == NULL
               ? 0
               : (int64_t)(report->causality->moments_begin - report->lanes->begin);
}

json_t *page_states_json(const struct report *report)
{
    const struct causality *causality = report->causality;
    struct causality_diagram diagram;
    const char **room = NULL;

    if (causality == NULL || causality->replies == 0)
        return json_null();
    json_t *json = causality_diagram_make(causality, ARCS_SHOWN, &diagram, &room) < 0
                       ? NULL
                       : diagram_json(&diagram, shift_of(report));
    causality_diagram_done(&diagram, room);
    return json;
}
