/* SPDX-License-Identifier: MIT */
/* elapsed_face.h: where the elapsed time went, in words. Used by the report, too. */
#ifndef DPM_ELAPSED_FACE_H
#define DPM_ELAPSED_FACE_H

#include "analysis/elapsed/elapsed.h"
#include "show/show.h"
#include "show/text/json.h"
#include "show/text/table.h"

#define ELAPSED_TEXT_SIZE 680

/* What a row stands for besides its process: "in compress (libz.so.1)", "fdatasync in fsync_fname", "to 10.0.0.1:80". */
void elapsed_what(const struct elapsed_row *row, char text[ELAPSED_TEXT_SIZE]);

/* The process: "postgres[12]", "python3 worker.py[12]@web1". */
void elapsed_process_text(const struct elapsed_row *row, char text[PLACED_PROCESS_SIZE]);

#define ELAPSED_THREAD_SIZE (PLACED_PROCESS_SIZE + STREAM_NAME_SIZE + 2)

/* The thread: "postgres[12]", "java[12] worker-*", or, if it has no name of its own, "python3[12] 17". */
void elapsed_thread_text(const struct elapsed_row *row, char text[ELAPSED_THREAD_SIZE]);

/* What a wait was for: as elapsed_kind_name, but "message", whose flight is only a part of the wait, and "child", which
 * may be monitored. */
const char *elapsed_wait_name(enum elapsed_kind kind);

/* One request, hop by hop. `which`: its heading. `all`: short hops, too. */
int elapsed_print_request(const struct elapsed_request *request, const char *which, FILE *file,
                          bool all);

/* What the processes of a run's account needed of each other, by files: a table with a heading, or nothing. */
int elapsed_print_files(const struct elapsed *elapsed, FILE *file, bool all);

#define ELAPSED_FEW_ROWS 30 /* of a table, without `all` */

/* What all requests, a typical one and the slowest one spent on each kind of thing, by process; most time first. */
#define ELAPSED_PATH_COLUMNS 7
extern const struct table_column elapsed_path_columns[ELAPSED_PATH_COLUMNS];

/* Gets the cells of a row. Returns 0 or a negative errno. */
typedef int elapsed_path_row(void *context, const char *const *cells);

/* At most `most` rows. Returns 0, -ENOMEM or what `add` returned; *ret_left_out: number of the other rows. */
int elapsed_path_rows(const struct elapsed_requests *requests, size_t most, elapsed_path_row *add,
                      void *context, size_t *ret_left_out);
int elapsed_print_path(const struct elapsed_requests *requests, FILE *file, bool all);

/* "process;spent on;what MICROSECONDS" */
void elapsed_path_folded(const struct elapsed_requests *requests, FILE *file);

/* New objects; NULL: out of memory. The machine of a row: null, if there is only one. */
json_t *elapsed_machine_json(const char *machine);
json_t *elapsed_path_json(const struct elapsed_requests *requests);
json_t *elapsed_files_json(const struct elapsed *elapsed);
json_t *elapsed_json(const struct elapsed *elapsed);
int elapsed_print_json(const struct elapsed *elapsed, const struct recorded *recorded, FILE *file);

#endif
