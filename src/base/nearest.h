/* SPDX-License-Identifier: MIT */
/* nearest.h: which known word a user may have meant. */
#ifndef DPM_NEAREST_H
#define DPM_NEAREST_H

#include <stddef.h>

/* The word nearest to `typed` by edit distance: letters inserted, removed, replaced, or exchanged with the next. It is
 * all zero at first. */
struct nearest {
    const char *typed;
    size_t length;
    const char *word; /* NULL: none is near enough */
    size_t distance;
};

/* Considers a word. It is near enough if at most a third of the letters differ. */
void nearest_add(struct nearest *nearest, const char *word);

#define NEAREST_TEXT_SIZE 80

/* "; did you mean 'stats'?"; "" if no word is near enough. `before`: what stands before words, e.g. "--". */
void nearest_text(const struct nearest *nearest, const char *before, char text[NEAREST_TEXT_SIZE]);

#endif
