/* SPDX-License-Identifier: MIT */
/*
 * causality_lines.h: compares the results of two algorithms, with one line for each occurrence.
 *
 *      "transition AB>C"      after the letters AB next to C, once; as often as it has occurred
 */
#ifndef DPM_CAUSALITY_LINES_H
#define DPM_CAUSALITY_LINES_H

#include "causality_world.h"

#define LINE_SIZE 256

struct lines {
    char (*text)[LINE_SIZE];
    size_t count, capacity;
};

static inline void add_line(struct lines *lines, const char *kind, const char *text)
{
    assert_int_equal(array_reserve(&lines->text, &lines->capacity, lines->count + 1, LINE_SIZE), 0);
    assert_true(snprintf(lines->text[lines->count++], LINE_SIZE, "%s %s", kind, text) < LINE_SIZE);
}

/* The last `context` letters of a string, or all of them after those before. */
static inline void add_transition(struct lines *lines, const char *before, const char *text,
                                  unsigned context, const char *next)
{
    char line[LINE_SIZE];
    size_t length = strlen(text);
    bool whole = length < context;

    snprintf(line, sizeof(line), "%s%s>%s", whole ? before : "",
             whole ? text : text + length - context, next);
    add_line(lines, "transition", line);
}

static inline void add_transitions_of(struct lines *lines, const struct causality *result)
{
    for (size_t i = 0; i < result->transition_count; i++) {
        const struct causality_transition *row = &result->transitions[i];
        char text[LINE_SIZE] = "";
        for (unsigned k = 0; k < row->length; k++)
            strcat(text, row->context[k]);
        strcat(text, ">");
        strcat(text, row->next == NULL ? "reply" : row->next);
        for (uint64_t k = 0; k < row->count; k++)
            add_line(lines, "transition", text);
    }
}

static inline int compare_lines(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* Asserts that both are the same, and frees them. */
static inline void assert_same_lines(struct lines *found, struct lines *naive)
{
    qsort(naive->text, naive->count, LINE_SIZE, compare_lines);
    qsort(found->text, found->count, LINE_SIZE, compare_lines);
    for (size_t i = 0; i < naive->count && i < found->count; i++)
        assert_string_equal(found->text[i], naive->text[i]);
    assert_int_equal(found->count, naive->count);
    free(naive->text);
    free(found->text);
}

#endif
