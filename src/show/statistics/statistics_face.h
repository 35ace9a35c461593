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

/* The tables alone, without heading and grounds. Returns 0 or -ENOMEM. */
int print_statistics_tables(const struct communication *communication, FILE *file,
                            const struct show_options *options);

/* ---- statistics_grounds.c ---- */

/* What was recorded, one line; and what the result rests on, a paragraph each. */
void print_statistics_heading(const struct communication *communication, FILE *file,
                              const struct show_options *options);
void print_statistics_grounds(const struct communication *communication, FILE *file);

/* ---- distribution_table.c; return 0 or -ENOMEM ---- */

/* How long answers and waits take, by process; nothing where nothing did. */
int print_answer_table(const struct communication *communication, FILE *file,
                       const struct show_options *options);

/* What was sent in each stretch of time. */
int print_interval_table(const struct communication *communication, FILE *file);

/* Sizes and times of the first rows, as bars. */
int print_histogram_bars(const struct communication *communication, FILE *file,
                         const struct show_options *options);

#define DISTRIBUTION_CELLS 5 /* MEAN, P50, P90, P99, MAX */

/* Of no values each is "-". */
void distribution_text(const struct histogram *values, void (*show)(uint64_t, char[UNIT_SIZE]),
                       char cells[DISTRIBUTION_CELLS][UNIT_SIZE]);

/* ---- rate_table.c; return 0 or -ENOMEM ---- */

/* Rates and sizes of messages: of processes or groups, and of what else is shown alone. Nothing where they are not
 * asked for, or there are no messages. */
int print_process_rates(const struct communication *communication, FILE *file,
                        const struct show_options *options);
int print_pair_rates(const struct communication *communication, FILE *file,
                     const struct show_options *options);
int print_path_rates(const struct communication *communication, FILE *file,
                     const struct show_options *options);

/* ---- chosen_table.c ---- */

/* A table of those rows that have something to show in it. */
struct chosen_table {
    const char *title;
    const struct table_column *columns;
    size_t column_count;
    bool (*has)(const void *row);
    int (*add)(struct table *table, const struct communication *communication, const void *row);
};

/* Prints it, or nothing if no row has; frees `rows` (NULL: out of memory). Returns 0 or -ENOMEM. */
int print_chosen_table(const struct chosen_table *chosen, const struct communication *communication,
                       const void **rows, size_t count, FILE *file,
                       const struct show_options *options);

/* ---- waiting_table.c; return 0 or -ENOMEM ---- */

/* Messages in the queues of processes; who waits for whom. Nothing where nobody has received, or it is not known. */
int print_queue_table(const struct communication *communication, FILE *file,
                      const struct show_options *options);
int print_late_table(const struct communication *communication, FILE *file,
                     const struct show_options *options);

/* Where messages wait, and who for them. */
int print_path_wait_table(const struct communication *communication, FILE *file,
                          const struct show_options *options);

/* ---- statistics_order.c: rows in the order that was asked for ---- */

/* Each returns pointers to all rows, in order, that the caller frees; NULL: out of memory. */
const struct communication_process **ordered_processes(const struct communication *communication,
                                                       enum show_order order);
const struct communication_pair **ordered_pairs(const struct communication *communication,
                                                enum show_order order);
const struct communication_path **ordered_paths(const struct communication *communication,
                                                enum show_order order);

#endif
