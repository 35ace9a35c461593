/* SPDX-License-Identifier: MIT */
/* model_file.c: the information model as a file, and queries. See model.h. */
#include "base/result_file.h"
#include "view/model_state.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies everything into another database. */
static int copy_into(struct view_model *model, sqlite3 *to)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", model->database, "main");

    if (backup != NULL) {
        sqlite3_backup_step(backup, -1);
        sqlite3_backup_finish(backup);
    }
    return sqlite3_errcode(to);
}

int view_model_save(struct view_model *model, const char *name, struct problem *problem)
{
    struct result_file file;
    sqlite3 *to = NULL;
    int result = result_file_begin(&file, name);

    if (result < 0)
        return problem_set(problem, result, "%s: %s", name, strerror(-result));
    if (sqlite3_open_v2(file.path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
            SQLITE_OK ||
        copy_into(model, to) != SQLITE_OK)
        result = problem_set(problem, -EIO, "%s: %s", name, sqlite3_errmsg(to));
    sqlite3_close(to);
    int ended = result_file_end(&file, result);
    return result == 0 && ended < 0 ? problem_set(problem, ended, "%s: %s", name, strerror(-ended))
                                    : result;
}

int view_model_open(const char *file, struct view_model **ret_model, struct problem *problem)
{
    struct view_model *model = calloc(1, sizeof(*model));
    int64_t types = 0;

    if (model == NULL)
        return problem_set(problem, -ENOMEM, "%s: out of memory", file);
    if (sqlite3_open_v2(file, &model->database, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        types = problem_set(problem, -EIO, "%s: %s", file, sqlite3_errmsg(model->database));
    else if (model_statement(model, EACH_INSTANCE) == NULL)
        types = problem_set(problem, -EINVAL, "%s: no database of views (%s)", file,
                            sqlite3_errmsg(model->database));
    if (types < 0) {
        view_model_free(model);
        return (int)types;
    }
    *ret_model = model;
    return 0;
}

/* Nothing but reading: no other files, no changes. */
static int authorize(void *context, int action, const char *one, const char *two, const char *three,
                     const char *four)
{
    (void)context, (void)one, (void)two, (void)three, (void)four;
    return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
                   action == SQLITE_RECURSIVE
               ? SQLITE_OK
               : SQLITE_DENY;
}

#define COLUMNS_MOST 1000
#define NUMBER_SIZE  32

/* SQLite gives 15 digits of a number, which may be another one: then as many as it takes. */
static const char *cell_text(sqlite3_stmt *query, int column, char text[NUMBER_SIZE])
{
    bool real = sqlite3_column_type(query, column) == SQLITE_FLOAT;
    double number = real ? sqlite3_column_double(query, column) : 0;
    const char *given = (const char *)sqlite3_column_text(query, column);

    if (!real || given == NULL || strtod(given, NULL) == number)
        return given;
    bool whole = number == rint(number) && fabs(number) <= 0x1p53;
    snprintf(text, NUMBER_SIZE, whole ? "%.1f" : "%.17g", number);
    return text;
}

static int hand_over(sqlite3_stmt *query, bool names, view_row *row, void *context)
{
    char numbers[COLUMNS_MOST][NUMBER_SIZE];
    const char *cells[COLUMNS_MOST];
    int count = sqlite3_column_count(query);

    count = count < COLUMNS_MOST ? count : COLUMNS_MOST;
    for (int i = 0; i < count; i++)
        cells[i] = names ? sqlite3_column_name(query, i) : cell_text(query, i, numbers[i]);
    return row(context, cells, (size_t)count);
}

static int read_rows(struct view_model *model, sqlite3_stmt *query, view_row *row, void *context,
                     struct problem *problem)
{
    int code = SQLITE_ROW, result = hand_over(query, true, row, context);

    while (result == 0 && (code = sqlite3_step(query)) == SQLITE_ROW)
        result = hand_over(query, false, row, context);
    if (result < 0)
        return problem_set(problem, result, "the query: %s", strerror(-result));
    return code == SQLITE_DONE ? 0 : model_problem(model, problem);
}

int view_model_query(struct view_model *model, const char *sql, view_row *row, void *context,
                     struct problem *problem)
{
    sqlite3_stmt *query = NULL;
    const char *rest = NULL;
    int result;

    sqlite3_set_authorizer(model->database, authorize, NULL);
    if (sqlite3_prepare_v2(model->database, sql, -1, &query, &rest) != SQLITE_OK)
        result = problem_set(problem, -EINVAL, "the query: %s", sqlite3_errmsg(model->database));
    else if (query == NULL || rest[strspn(rest, " \t\r\n;")] != '\0')
        result = problem_set(problem, -EINVAL, "the query: give one SELECT");
    else
        result = read_rows(model, query, row, context, problem);
    sqlite3_finalize(query);
    sqlite3_set_authorizer(model->database, NULL, NULL);
    return result;
}
