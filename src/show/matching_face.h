/* SPDX-License-Identifier: MIT */
/* matching_face.h: what became of messages, which every result stands on. Private to show/. */
#ifndef DPM_MATCHING_FACE_H
#define DPM_MATCHING_FACE_H

#include "history/history.h"

#include <jansson.h>
#include <stdio.h>

/* One line, behind an empty one; nothing if there were no messages. */
void print_matching(const struct history_counts *counts, FILE *file);

/* {exact, ordered, inferred, external, unselected, unmatched_sends, unmatched_receives}; NULL: out of memory. */
json_t *matching_json(const struct history_counts *counts);

#endif
