/* SPDX-License-Identifier: MIT */
/* matching_face.h: what became of messages, which every result stands on, and what the recording itself
 * cost. Private to show/. */
#ifndef DPM_MATCHING_FACE_H
#define DPM_MATCHING_FACE_H

#include "history/history.h"

#include <jansson.h>
#include <stdio.h>

/* One line, behind an empty one; nothing if there were no messages. Then a line for each limit that was met. */
void print_matching(const struct history_counts *counts, FILE *file);

/* {exact, ordered, inferred, external, unselected, unmatched_sends, unmatched_receives, forgotten_streams,
 * forgotten_ranges}; NULL: out of memory. */
json_t *matching_json(const struct history_counts *counts);

/* One line on what DPM itself has cost in a recording of so many ns, behind an empty one; nothing if that
 * is not known. How much of a CPU that was is told of recordings of at least 5 s. */
void print_own_cost(const struct own_cost *cost, uint64_t duration, FILE *file);

/* {cpu_ns, records_per_wakeup, bpf_ns_per_record}, or null; NULL: out of memory. */
json_t *own_cost_json(const struct own_cost *cost);

#endif
