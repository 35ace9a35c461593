/* SPDX-License-Identifier: MIT */
/* page_states.c: the state diagram of requests, and request signatures without repetitions. See page.h. */
#include "show/causality/causality_face.h"
#include "show/page/page_private.h"
#include "show/text/json.h"

#include <stdlib.h>
#include <string.h>

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

static json_t *arc_json(const void *context, size_t index)
{
    const struct causality_diagram *diagram = context;
    const struct causality_arc *arc = &diagram->arcs[index];

    return json_pack("{s:i, s:i, s:o, s:o}", "from", (int)arc->from, "to", (int)arc->to, "count",
                     json_count(arc->count), "of", json_count(arc->of));
}

static json_t *diagram_json(const struct causality_diagram *diagram)
{
    return json_pack("{s:o, s:o, s:o}", "states",
                     json_array_of(diagram, diagram->state_count, state_json), "arcs",
                     json_array_of(diagram, diagram->arc_count, arc_json), "left_out",
                     json_count(diagram->left_out_arcs));
}

json_t *page_states_json(const struct causality *causality)
{
    struct causality_diagram diagram;
    const char **room = NULL;

    if (causality == NULL || causality->replies == 0)
        return json_null();
    json_t *json = causality_diagram_make(causality, ARCS_SHOWN, &diagram, &room) < 0
                       ? NULL
                       : diagram_json(&diagram);
    causality_diagram_done(&diagram, room);
    return json;
}

/* ---- signatures ---- */

/* Characters of the next letter: "B", "B12", "...". */
static size_t letter_size(const char *at)
{
    size_t size = at[0] == '.' ? strspn(at, ".") : at[0] != '\0';

    while (at[0] != '.' && at[size] >= '0' && at[size] <= '9')
        size++;
    return size;
}

static size_t letters_size(const char *at, size_t letters)
{
    size_t size = 0;

    for (size_t i = 0; i < letters; i++) {
        size_t next = letter_size(at + size);
        if (next == 0)
            return 0;
        size += next;
    }
    return size;
}

static size_t repetitions(const char *at, size_t size)
{
    size_t count = 1;

    while (strncmp(at + count * size, at, size) == 0)
        count++;
    return count;
}

#define PERIOD_MOST 8 /* letters */

void page_fold_signature(const char *signature, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (const char *at = signature; *at != '\0' && used + 1 < size;) {
        size_t best = letter_size(at), times = 1;
        for (size_t letters = 1; letters <= PERIOD_MOST; letters++) {
            size_t length = letters_size(at, letters), count;
            if (length == 0)
                break;
            count = repetitions(at, length);
            if (count >= 3 && count * length > times * best) {
                best = length;
                times = count;
            }
        }
        if (times > 1)
            used += (size_t)snprintf(text + used, size - used, "(%.*s)\u00d7%zu", (int)best, at, times);
        else
            used += (size_t)snprintf(text + used, size - used, "%.*s", (int)best, at);
        at += times * best;
    }
}
