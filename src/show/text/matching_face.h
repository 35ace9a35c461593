/* SPDX-License-Identifier: MIT */
/* matching_face.h: how many messages were matched, which every result depends on, and the recording's overhead. Private
 * to show/. */
#ifndef DPM_MATCHING_FACE_H
#define DPM_MATCHING_FACE_H

#include "history/history.h"

#include <jansson.h>
#include <stdio.h>

/* Prints an empty line and one line of counts, then a line for each limit that was exceeded. No messages: no counts. */
void print_matching(const struct history_counts *counts, FILE *file);

/* If selection rules were in force: an empty line, and what that means: "Selection rules removed events: WHAT". */
void print_selection(const struct history_counts *counts, const char *what, FILE *file);

/* {exact, ordered, inferred, external, not_found, unselected, unmatched_sends, unmatched_receives, forgotten_streams,
 * forgotten_ranges, rules}; NULL: out of memory. */
json_t *matching_json(const struct history_counts *counts);

/* Prints an empty line and one line on DPM's own overhead; nothing if that is not known. `duration`: of the recording,
 * ns. The share of a CPU is given for recordings of at least 5 s. */
void print_own_cost(const struct own_cost *cost, uint64_t duration, FILE *file);

/* {cpu_ns, load_cpu_ns, records, records_per_wakeup, bpf_ns_per_record, bpf_ns}, or null if not known; NULL: out of memory. */
json_t *own_cost_json(const struct own_cost *cost);

#endif
