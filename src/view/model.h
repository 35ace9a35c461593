/* SPDX-License-Identifier: MIT */
/*
 * model.h: the information model (section III): entities and relationships, with attributes on both; a main-memory
 * database that holds analysed values, never records.
 *
 *      type ------ instance ----------- value
 *      process     nginx, Process-Id 71    cpu = 0.31, since 12.5 s, at (web1, process 71)
 *      Communicates-With   nginx -> redis-server    frequency = 120
 *
 * Each type is also a table for queries, with a column for each of its attributes: SELECT name, cpu FROM process.
 * Only the latest value of each attribute is kept. Built-in types: see figures.h. A view is a type, too: the set of
 * rows for which it is active.
 */
#ifndef DPM_VIEW_MODEL_H
#define DPM_VIEW_MODEL_H

#include "view/view.h"

struct view_model;

/* Where a value was seen. */
struct view_place {
    const char *machine; /* NULL: unknown */
    uint32_t process;    /* its id; 0: none */
};

#define VIEW_INSTANCES_MOST                                                                        \
    100000 /* of a model, with those that have ended and are not forgotten */

/* All functions below return 0 or a positive result, or a negative errno: -ENOMEM, -EINVAL, -EIO (a database error),
 * with a line in the problem, which may be NULL. */
int view_model_new(struct view_model **ret_model, struct problem *problem);
void view_model_free(struct view_model *model);

/* The instance of a type with this number and name, which is created if it does not exist; so is the type. Two
 * instances are the same if type, number, name and place are. Returns it (> 0); -ENOSPC: there are too many. */
int64_t view_model_instance(struct view_model *model, const char *type, uint32_t number,
                            const char *name, const struct view_place *place,
                            struct problem *problem);

/* The same for a relationship between two instances; its name is theirs. */
int64_t view_model_relate(struct view_model *model, const char *type, int64_t from, int64_t to,
                          struct problem *problem);

/* The instance leaves its set (its values can still be queried), or comes back. */
int view_model_end(struct view_model *model, int64_t instance, bool ended, struct problem *problem);

/* Removes an instance that has left its set, with its values; one that is in its set stays. No relationship may have it. */
int view_model_forget(struct view_model *model, int64_t instance, struct problem *problem);

/* Stores a value: VIEW_UNKNOWN removes it. `time`: ns. */
int view_model_set(struct view_model *model, int64_t instance, const char *attribute,
                   const struct view_value *value, uint64_t time, const struct view_place *place,
                   struct problem *problem);

/* Texts live until the next call for this model. Unknown values: VIEW_UNKNOWN. `ret_time` and `ret_place` may be NULL. */
int view_model_get(struct view_model *model, int64_t instance, const char *attribute,
                   struct view_value *ret_value, uint64_t *ret_time, struct view_place *ret_place);

/* Finds the instance that an entity of a view refers to, which is not VIEW_EACH. -ENOENT: there is none; -E2BIG:
 * several. A name may be preceded by its machine: "web1:nginx". */
int64_t view_model_find(struct view_model *model, const struct view_entity *entity);

/* Calls `each` for the living instances of a type, in order of their creation, until it returns a negative errno.
 * `each` may not change the model. */
typedef int view_each(void *context, int64_t instance, const char *name);
int view_model_each(struct view_model *model, const char *type, view_each *each, void *context,
                    struct problem *problem);

/* Several changes as one: faster. */
int view_model_begin(struct view_model *model, struct problem *problem);
int view_model_commit(struct view_model *model, struct problem *problem);

/* Writes the model to a file, a database of SQLite, which gets its name when it is complete. */
int view_model_save(struct view_model *model, const char *name, struct problem *problem);

/* Runs a query that only reads, on a saved model or (`model`) one in memory, and hands over each row as text; NULL
 * stands for an unknown value. The first row is the names of the columns. `row` returns 0, or a negative errno, which
 * ends the query. */
typedef int view_row(void *context, const char *const *cells, size_t count);
int view_model_query(struct view_model *model, const char *sql, view_row *row, void *context,
                     struct problem *problem);

/* Opens a saved model, to query only. */
int view_model_open(const char *file, struct view_model **ret_model, struct problem *problem);

#endif
