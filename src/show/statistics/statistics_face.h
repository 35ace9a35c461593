/* SPDX-License-Identifier: MIT */
/* statistics_face.h: tables, JSON and CSV of the communication statistics. Private to show/. */
#ifndef DPM_STATISTICS_FACE_H
#define DPM_STATISTICS_FACE_H

#include "show/show.h"
#include "show/text/table.h"

int show_statistics_tables(const struct communication *communication, FILE *file,
                           const struct show_options *options);
int show_statistics_json(const struct communication *communication, FILE *file,
                         const struct show_options *options);
/* The members of that object, on one line: of each list at most so many rows, the first ones. */
int print_statistics_members(const struct communication *communication, size_t most, FILE *file);
int show_statistics_csv(const struct communication *communication, FILE *file,
                        const struct show_options *options);

/* Prints the tables without heading and grounds. Returns 0 or -ENOMEM. */
int print_statistics_tables(const struct communication *communication, FILE *file,
                            const struct show_options *options);

/* ---- statistics_grounds.c ---- */

/* Heading: one line on what was recorded. Grounds: what the result is based on, one paragraph per fact. */
void print_statistics_heading(const struct communication *communication, FILE *file,
                              const struct show_options *options);
void print_statistics_grounds(const struct communication *communication, FILE *file);

/* ---- distribution_table.c; return 0 or -ENOMEM ---- */

/* What was sent in each interval. */
int print_interval_table(const struct communication *communication, FILE *file);

/* Sizes and times of the first rows, as bars. */
int print_histogram_bars(const struct communication *communication, FILE *file,
                         const struct show_options *options);

#endif
