/* SPDX-License-Identifier: MIT */
/* critical_path_face.h: tables and JSON of the critical path. Private to show/. */
#ifndef DPM_CRITICAL_PATH_FACE_H
#define DPM_CRITICAL_PATH_FACE_H

#include "show/show.h"
#include "show/text/table.h"

/* "gzip[123]"; with several machines "gzip[123]@web1" */
void critical_process_text(const struct critical_path *path, uint32_t process,
                           char text[PLACED_PROCESS_SIZE]);

#define CRITICAL_PROCEDURE_TEXT (PROCEDURE_NAME_SIZE + MODULE_NAME_SIZE)

/* "connection_send"; "[file]" if the procedure has no name. */
void critical_procedure_text(const struct critical_procedure *procedure, char *text, size_t size);

/* Indexes of processes: those with the largest share of the path first, then those with the least slack. The caller
 * frees it; NULL: out of memory. */
uint32_t *critical_order_processes(const struct critical_path *path);

/* One row of a table that dpm path and dpm report share: columns, and texts of the cells. */
#define CRITICAL_PROCESS_COLUMNS   6
#define CRITICAL_PROCEDURE_COLUMNS 4

extern const struct table_column critical_process_columns[CRITICAL_PROCESS_COLUMNS];
extern const struct table_column critical_procedure_columns[CRITICAL_PROCEDURE_COLUMNS];

struct critical_row {
    const char *cells[CRITICAL_PROCESS_COLUMNS];
    char texts[CRITICAL_PROCESS_COLUMNS][CRITICAL_PROCEDURE_TEXT];
};

void critical_process_row(const struct critical_path *path, uint32_t index,
                          struct critical_row *row);
void critical_procedure_row(const struct critical_path *path,
                            const struct critical_procedure *procedure, struct critical_row *row);

int show_critical_path_tables(const struct critical_path *path, const struct recorded *recorded,
                              FILE *file, const struct show_options *options);
/* `elapsed`: NULL, or for the path of its requests. */
int show_critical_path_json(const struct critical_path *path, const struct elapsed *elapsed,
                            const struct recorded *recorded, FILE *file);

/* P = T / t_max. */
double critical_factor(uint64_t total, uint64_t whole);

/* "command", "work", "busiest", "longest": stable. */
const char *critical_end_key(enum critical_end end);

#endif
