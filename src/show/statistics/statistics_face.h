/* SPDX-License-Identifier: MIT */
/* statistics_face.h: the two faces of the communication statistics. Private to show/. */
#ifndef DPM_STATISTICS_FACE_H
#define DPM_STATISTICS_FACE_H

#include "show/show.h"
#include "show/text/table.h"

int show_statistics_tables(const struct communication *communication, FILE *file,
                           const struct show_options *options);
int show_statistics_json(const struct communication *communication, FILE *file,
                         const struct show_options *options);
int show_statistics_csv(const struct communication *communication, FILE *file,
                        const struct show_options *options);

/* ---- statistics_grounds.c ---- */

/* What was recorded, one line; and what the result rests on, a paragraph each. */
void print_statistics_heading(const struct communication *communication, FILE *file,
                              const struct show_options *options);
void print_statistics_grounds(const struct communication *communication, FILE *file);

/* ---- distribution_table.c; return 0 or -ENOMEM ---- */

/* What was sent in each interval. */
int print_interval_table(const struct communication *communication, FILE *file);

/* Sizes and times of the first rows, as bars. */
int print_histogram_bars(const struct communication *communication, FILE *file,
                         const struct show_options *options);

/* ---- statistics_order.c: rows in the order that was asked for ---- */

/* Each returns pointers to all rows, in order, which the caller frees; NULL: out of memory. */
const struct communication_process **ordered_processes(const struct communication *communication,
                                                       enum show_order order);

/* Those whose receivers or messages have waited longest first, whatever order was asked for. */
const struct communication_pair **pairs_by_wait(const struct communication *communication);

/* ns: the receiver for messages, and messages, or the sender without room, for the receiver. */
uint64_t pair_waited(const struct communication_pair *pair);

/* Of these two the sender waited longer. */
bool sender_is_blocked(const struct communication_pair *pair);

/* Of a pair that waited: its receiver has, rather than its messages or its sender. */
bool sender_is_late(const struct communication_pair *pair);

#endif
