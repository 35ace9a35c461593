/* SPDX-License-Identifier: MIT */
/*
 * causality_states.c: finds the states of requests in the transitions, and their texts. See causality_face.h. (B. P.
 * Miller, figure 5.19: "the state of a request: the transition arcs represent message deliveries, and the states
 * represent the process currently performing the request".)
 *
 *      (requestor) A --> B, 27 times        state "A after requestor", and an arc (27) to "B after A"
 */
#include "show/causality/causality_face.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ARCS 100

/* ---- states ---- */

static bool is_context(const struct causality_state *state, const char *const *context,
                       unsigned length)
{
    if (state->length != length)
        return false;
    for (unsigned i = 0; i < length; i++)
        if (strcmp(state->context[i], context[i]) != 0)
            return false;
    return true;
}

/* The index of a state; adds it if it is new. Linear search, because diagrams are small. */
static size_t find_state(struct causality_diagram *diagram, const char *const *context,
                         unsigned length)
{
    for (size_t i = 0; i < diagram->state_count; i++)
        if (is_context(&diagram->states[i], context, length))
            return i;
    diagram->states[diagram->state_count] =
        (struct causality_state){.context = context, .length = length};
    return diagram->state_count++;
}

/* The context after a transition: its letters and the next one, limited to the context length. With length 2, context
 * (A, B) and next C give (B, C). `room` has space for one letter more than the context length. */
static unsigned next_context(const struct causality *causality,
                             const struct causality_transition *transition, const char **room)
{
    unsigned length = transition->length;

    memcpy(room, transition->context, length * sizeof(*room));
    room[length++] = transition->next;
    if (length <= causality->context)
        return length;
    memmove(room, room + 1, (length - 1) * sizeof(*room));
    return length - 1;
}

static void add_arc(struct causality_diagram *diagram, size_t from, size_t to, uint64_t count,
                    uint64_t of, const uint32_t *moments)
{
    diagram->arcs[diagram->arc_count++] = (struct causality_arc){from, to, count, of, moments};
}

/* ---- choosing arcs ---- */

static int compare_counts(const void *left, const void *right)
{
    const struct causality_transition *a = *(const struct causality_transition *const *)left;
    const struct causality_transition *b = *(const struct causality_transition *const *)right;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a < b ? -1 : a > b;
}

static const struct causality_transition **largest(const struct causality *causality)
{
    const struct causality_transition **rows =
        calloc(causality->transition_count + 1, sizeof(struct causality_transition *));

    for (size_t i = 0; rows != NULL && i < causality->transition_count; i++)
        rows[i] = &causality->transitions[i];
    if (rows != NULL)
        qsort(rows, causality->transition_count, sizeof(*rows), compare_counts);
    return rows;
}

static void add_transition(struct causality_diagram *diagram,
                           const struct causality_transition *row, const char **room)
{
    size_t from = find_state(diagram, row->context, row->length);

    if (row->next == NULL) {
        add_arc(diagram, from, 0, row->count, 0, row->moments);
        return;
    }
    unsigned length = next_context(diagram->causality, row, room);
    add_arc(diagram, from, find_state(diagram, room, length), row->count, row->of, row->moments);
}

/* Adds the arcs from the requestor: how many requests enter at each process. Their signatures begin with its letter. */
static void add_request_arcs(struct causality_diagram *diagram)
{
    for (size_t i = 0; i < diagram->causality->entry_count; i++) {
        const struct causality_entry *entry = &diagram->causality->entries[i];
        size_t state = diagram->causality->context == 1 ? find_state(diagram, entry->context + 1, 1)
                                                        : find_state(diagram, entry->context, 2);
        add_arc(diagram, 0, state, entry->requests, diagram->causality->requests, entry->moments);
    }
}

/* ---- layers ---- */

static void place_states(struct causality_diagram *diagram)
{
    bool changed = true;

    for (size_t i = 1; i < diagram->state_count; i++)
        diagram->states[i].layer = UINT32_MAX;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < diagram->arc_count; i++) {
            const struct causality_state *from = &diagram->states[diagram->arcs[i].from];
            struct causality_state *to = &diagram->states[diagram->arcs[i].to];
            if (from->layer != UINT32_MAX && to->layer > from->layer + 1) {
                to->layer = from->layer + 1;
                changed = true;
            }
        }
    }
    for (size_t i = 0; i < diagram->state_count; i++) {
        struct causality_state *state = &diagram->states[i];
        if (state->layer == UINT32_MAX)
            state->layer = 1; /* the arcs that lead to it are not drawn */
        for (size_t k = 0; k < i; k++)
            state->place += diagram->states[k].layer == state->layer;
        if (state->layer + 1 > diagram->layers)
            diagram->layers = state->layer + 1;
    }
}

static int find_states(struct causality_diagram *diagram, size_t most, const char **room)
{
    const struct causality *causality = diagram->causality;
    const struct causality_transition **rows = largest(causality);

    if (rows == NULL)
        return -ENOMEM;
    diagram->state_count = 1; /* state 0 is the requestor */
    add_request_arcs(diagram);
    for (size_t i = 0; i < causality->transition_count; i++) {
        if (i < most) {
            add_transition(diagram, rows[i], room + i * (CAUSALITY_LENGTH_MOST + 1));
            continue;
        }
        diagram->left_out_arcs++;
        diagram->left_out += rows[i]->count;
    }
    free(rows);
    place_states(diagram);
    return 0;
}

int causality_diagram_make(const struct causality *causality, size_t most,
                           struct causality_diagram *diagram, const char ***ret_room)
{
    size_t shown = most == 0 ? MOST_ARCS : most, entries = causality->entry_count;

    if (shown > causality->transition_count)
        shown = causality->transition_count;
    *diagram = (struct causality_diagram){.causality = causality};
    *ret_room = calloc((shown + 1) * (CAUSALITY_LENGTH_MOST + 1), sizeof(**ret_room));
    diagram->states = calloc(2 * shown + entries + 2, sizeof(*diagram->states));
    diagram->arcs = calloc(shown + entries + 1, sizeof(*diagram->arcs));
    if (*ret_room == NULL || diagram->states == NULL || diagram->arcs == NULL)
        return -ENOMEM;
    return find_states(diagram, shown, *ret_room);
}

void causality_diagram_done(struct causality_diagram *diagram, const char **room)
{
    free(room);
    free(diagram->states);
    free(diagram->arcs);
}

int show_causality_diagram(const struct causality *causality, enum graph_format format, size_t most,
                           FILE *file)
{
    struct causality_diagram diagram;
    const char **room;
    int result = causality_diagram_make(causality, most, &diagram, &room);

    if (result == 0)
        result = format == GRAPH_SVG ? causality_diagram_svg(&diagram, file)
                                     : causality_diagram_dot(&diagram, file);
    causality_diagram_done(&diagram, room);
    return result;
}

int show_causality(const struct causality *causality, FILE *file, const struct causality_face *face)
{
    return face->json ? show_causality_json(causality, file)
                      : show_causality_tables(causality, file, face);
}

/* ---- texts ---- */

void letter_name(const struct causality *causality, const char *letter, char text[STATE_TEXT_SIZE])
{
    const struct causality_process *first = NULL;
    char name[STREAM_NAME_SIZE + 1], who[PROCESS_NAME_SIZE];
    size_t others = 0;

    for (size_t i = 0; i < causality->process_count; i++) {
        if (strcmp(causality->processes[i].letter, letter) != 0)
            continue;
        others += first != NULL;
        first = first == NULL ? &causality->processes[i] : first;
    }
    text[0] = '\0';
    if (first == NULL)
        return;
    show_text(first->name, STREAM_NAME_SIZE, name);
    show_process_of(first->name, first->pid, first->command, first->named_alike, who);
    if (causality->by_program)
        snprintf(text, STATE_TEXT_SIZE, "%s (%zu)", name, others + 1);
    else if (others > 0)
        snprintf(text, STATE_TEXT_SIZE, "%s and %zu other%s", who, others, others == 1 ? "" : "s");
    else
        snprintf(text, STATE_TEXT_SIZE, "%s", who);
}

void state_text(const struct causality_state *state, char letter[STATE_TEXT_SIZE],
                char after[STATE_TEXT_SIZE])
{
    size_t used = 0;

    after[0] = '\0';
    if (state->length == 0) {
        strcpy(letter, "requestors");
        return;
    }
    snprintf(letter, STATE_TEXT_SIZE, "%s", state->context[state->length - 1]);
    for (unsigned i = 0; i + 1 < state->length; i++)
        used += (size_t)snprintf(after + used, STATE_TEXT_SIZE - used, "%s%s",
                                 i == 0 ? "after " : "", state->context[i]);
}

void arc_text(const struct causality_arc *arc, char text[STATE_TEXT_SIZE])
{
    char count[UNIT_SIZE], share[UNIT_SIZE];

    show_count(arc->count, count);
    show_percent(arc->count, arc->of, share);
    if (arc->of == 0)
        snprintf(text, STATE_TEXT_SIZE, "%s", count);
    else
        snprintf(text, STATE_TEXT_SIZE, "%s %% (%s)", share, count);
}

void diagram_title(const struct causality_diagram *diagram, char text[STATE_TEXT_SIZE])
{
    char requests[COUNTED_SIZE], events[COUNTED_SIZE], messages[COUNTED_SIZE], lost[UNIT_SIZE];
    const bool one = diagram->left_out_arcs == 1;
    size_t used;

    show_counted(diagram->causality->requests, "request", requests);
    show_counted(diagram->causality->events, "event", events);
    show_count(diagram->causality->lost, lost);
    used = (size_t)snprintf(text, STATE_TEXT_SIZE, "Paths of causality: %s; %s, %s lost", requests,
                            events, lost);
    if (diagram->left_out_arcs == 0)
        return;
    show_counted(diagram->left_out, "message", messages);
    snprintf(text + used, STATE_TEXT_SIZE - used, "; %zu way%s with %s %s left out",
             diagram->left_out_arcs, one ? "" : "s", messages, one ? "is" : "are");
}
