/* SPDX-License-Identifier: MIT */
/* model.c: the information model in SQLite. See model.h. */
#include "view/model_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char schema[] =
    "CREATE TABLE types(type INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE);"
    "CREATE TABLE attributes(type INTEGER, name TEXT COLLATE NOCASE, PRIMARY KEY(type, name));"
    "CREATE TABLE instances(instance INTEGER PRIMARY KEY AUTOINCREMENT, type INTEGER, number "
    "INTEGER,"
    " name TEXT COLLATE NOCASE, machine TEXT COLLATE NOCASE, process INTEGER,"
    " from_instance INTEGER, to_instance INTEGER, ended INTEGER DEFAULT 0);"
    "CREATE INDEX instances_name ON instances(type, name);"
    "CREATE INDEX instances_number ON instances(type, number);"
    "CREATE INDEX instances_ends ON instances(from_instance, to_instance);"
    "CREATE TABLE stored(instance INTEGER, attribute TEXT COLLATE NOCASE, value,"
    " time INTEGER, machine TEXT, process INTEGER, PRIMARY KEY(instance, attribute))"
    " WITHOUT ROWID;";

#define LIVING "SELECT instance FROM instances WHERE ended = 0 AND type ="
/* "nginx 71" */
#define WITH_NUMBER(i)                                                                             \
    "CASE " i ".number WHEN 0 THEN " i ".name ELSE trim(" i ".name || ' ' || " i ".number) END"
#define THE_TYPE "(SELECT type FROM types WHERE name = ?1)"

static const char *const texts[STATEMENTS] = {
    [FIND_TYPE] = "SELECT type FROM types WHERE name = ?1",
    [ADD_TYPE] = "INSERT INTO types(name) VALUES(?1)",
    [FIND_INSTANCE] = "SELECT instance FROM instances WHERE type = ?1 AND name = ?3 AND number = ?2"
                      " AND machine IS ?4 AND process IS ?5",
    [ADD_INSTANCE] = "INSERT INTO instances(type, number, name, machine, process)"
                     " VALUES(?1, ?2, ?3, ?4, ?5)",
    [FIND_RELATION] = "SELECT instance FROM instances WHERE from_instance = ?2 AND"
                      " to_instance = ?3 AND type = ?1",
    [ADD_RELATION] =
        "INSERT INTO instances(type, number, name, from_instance, to_instance)"
        " SELECT ?1, 0, a.name || ' -> ' || b.name, ?2, ?3 FROM instances a, instances b"
        " WHERE a.instance = ?2 AND b.instance = ?3",
    [END_INSTANCE] = "UPDATE instances SET ended = ?2 WHERE instance = ?1",
    [FORGET_INSTANCE] = "DELETE FROM instances WHERE instance = ?1 AND ended = 1",
    [FORGET_VALUES] = "DELETE FROM stored WHERE instance = ?1",
    [SET_VALUE] = "INSERT OR REPLACE INTO stored VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [REMOVE_VALUE] = "DELETE FROM stored WHERE instance = ?1 AND attribute = ?2",
    [GET_VALUE] =
        "SELECT value, time, machine, process FROM stored WHERE instance = ?1 AND attribute = ?2",
    [FIND_ONLY] = LIVING THE_TYPE " LIMIT 2",
    [FIND_NUMBER] = LIVING THE_TYPE " AND number = ?2 LIMIT 2",
    [FIND_NAME] =
        LIVING THE_TYPE " AND (name = ?2 OR machine || ':' || name = ?2 COLLATE NOCASE) LIMIT 2",
    [FIND_PAIR] = "SELECT i.instance FROM instances i"
                  " JOIN instances a ON a.instance = i.from_instance"
                  " JOIN instances b ON b.instance = i.to_instance"
                  " WHERE i.ended = 0 AND i.type = " THE_TYPE
                  " AND (a.name = ?2 OR a.machine || ':' || a.name = ?2 COLLATE NOCASE)"
                  " AND (b.name = ?3 OR b.machine || ':' || b.name = ?3 COLLATE NOCASE) LIMIT 2",
    [EACH_INSTANCE] = "SELECT i.instance, coalesce(" WITH_NUMBER("a") " || ' -> ' || " WITH_NUMBER(
        "b") ", " WITH_NUMBER("i") ") FROM instances i LEFT JOIN instances a ON a.instance = "
                                   "i.from_instance"
                                   " LEFT JOIN instances b ON b.instance = i.to_instance"
                                   " WHERE i.ended = 0 AND i.type = " THE_TYPE
                                   " ORDER BY i.instance",
    [KNOWN_ATTRIBUTE] = "SELECT 1 FROM attributes WHERE name = ?2 AND"
                        " type = (SELECT type FROM instances WHERE instance = ?1)",
    [ADD_ATTRIBUTE] = "INSERT INTO attributes(type, name)"
                      " SELECT type, ?2 FROM instances WHERE instance = ?1",
};

int model_problem(struct view_model *model, struct problem *problem)
{
    int code = sqlite3_errcode(model->database);

    return problem_set(problem, (code & 0xff) == SQLITE_NOMEM ? -ENOMEM : -EIO,
                       "the database of views: %s", sqlite3_errmsg(model->database));
}

sqlite3_stmt *model_statement(struct view_model *model, enum statement which)
{
    sqlite3_stmt **statement = &model->statements[which];

    if (*statement == NULL)
        sqlite3_prepare_v3(model->database, texts[which], -1, SQLITE_PREPARE_PERSISTENT, statement,
                           NULL);
    else
        sqlite3_reset(*statement);
    return *statement;
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
}

/* One integer, or 0 if there is no row; resets the statement. */
static int64_t one_number(struct view_model *model, sqlite3_stmt *statement,
                          struct problem *problem)
{
    int64_t number = 0;
    int code = statement == NULL ? SQLITE_ERROR : sqlite3_step(statement);

    if (code == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    else if (code != SQLITE_DONE)
        return model_problem(model, problem);
    sqlite3_reset(statement);
    return number;
}

static int run(struct view_model *model, sqlite3_stmt *statement, struct problem *problem)
{
    int64_t result = one_number(model, statement, problem);

    return result < 0 ? (int)result : 0;
}

static int execute(struct view_model *model, const char *sql, struct problem *problem)
{
    return sqlite3_exec(model->database, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : model_problem(model, problem);
}

int view_model_new(struct view_model **ret_model, struct problem *problem)
{
    struct view_model *model = calloc(1, sizeof(*model));

    if (model == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for the database of views");
    int result = sqlite3_open_v2(":memory:", &model->database,
                                 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK
                     ? execute(model, schema, problem)
                     : model_problem(model, problem);
    if (result < 0) {
        view_model_free(model);
        return result;
    }
    *ret_model = model;
    return 0;
}

void view_model_free(struct view_model *model)
{
    if (model == NULL)
        return;
    for (size_t i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(model->statements[i]);
    sqlite3_close(model->database);
    free(model->text);
    free(model->machine);
    free(model);
}

/* ---- types ---- */

static bool is_own_table(const char *name)
{
    static const char *const own[] = {"types", "attributes", "instances", "stored"};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (view_same_name(own[i], name))
            return true;
    return strncmp(name, "sqlite_", 7) == 0;
}

/* The table of a type, made anew when it gets an attribute. */
static int make_table(struct view_model *model, int64_t type, struct problem *problem)
{
    sqlite3_stmt *columns = NULL;
    sqlite3_str *sql = sqlite3_str_new(model->database);
    char *name = NULL;

    sqlite3_prepare_v2(model->database,
                       "SELECT t.name, a.name FROM types t LEFT JOIN attributes a USING(type)"
                       " WHERE type = ?1 ORDER BY a.rowid",
                       -1, &columns, NULL);
    sqlite3_bind_int64(columns, 1, type);
    while (sqlite3_step(columns) == SQLITE_ROW) {
        const char *attribute = (const char *)sqlite3_column_text(columns, 1);
        if (name == NULL) {
            name = sqlite3_mprintf("%s", sqlite3_column_text(columns, 0));
            sqlite3_str_appendf(sql, "CREATE VIEW \"%w\" AS SELECT instance, number, name", name);
        }
        if (attribute != NULL)
            sqlite3_str_appendf(sql,
                                ", (SELECT value FROM stored s WHERE s.instance = i.instance AND"
                                " attribute = %Q) AS \"%w\"",
                                attribute, attribute);
    }
    sqlite3_str_appendf(sql,
                        ", machine AS place, process AS place_process, ended,"
                        " (SELECT max(time) FROM stored s WHERE s.instance = i.instance) AS time,"
                        " from_instance, to_instance FROM instances i WHERE type = %lld",
                        (long long)type);
    sqlite3_finalize(columns);
    char *made = sqlite3_str_finish(sql);
    char *dropped = name == NULL ? NULL : sqlite3_mprintf("DROP VIEW IF EXISTS \"%w\"", name);
    int result = made == NULL || dropped == NULL
                     ? problem_set(problem, -ENOMEM, "out of memory for the database of views")
                     : execute(model, dropped, problem);
    /* a type with the name of one of the tables above, or with a thousand attributes, has no table of its own */
    if (result == 0 && !is_own_table(name))
        sqlite3_exec(model->database, made, NULL, NULL, NULL);
    sqlite3_free(made);
    sqlite3_free(dropped);
    sqlite3_free(name);
    return result;
}

static int64_t type_of(struct view_model *model, const char *name, struct problem *problem)
{
    sqlite3_stmt *statement = model_statement(model, FIND_TYPE);

    bind_text(statement, 1, name);
    int64_t type = one_number(model, statement, problem);
    if (type != 0)
        return type;
    statement = model_statement(model, ADD_TYPE);
    bind_text(statement, 1, name);
    int result = run(model, statement, problem);
    type = sqlite3_last_insert_rowid(model->database);
    if (result == 0)
        result = make_table(model, type, problem);
    return result < 0 ? result : type;
}

/* ---- instances ---- */

static void bind_place(sqlite3_stmt *statement, int index, const struct view_place *place)
{
    if (place == NULL || place->machine == NULL)
        sqlite3_bind_null(statement, index);
    else
        bind_text(statement, index, place->machine);
    if (place == NULL || place->process == 0)
        sqlite3_bind_null(statement, index + 1);
    else
        sqlite3_bind_int64(statement, index + 1, place->process);
}

static int check_room(const struct view_model *model, struct problem *problem)
{
    return model->count < VIEW_INSTANCES_MOST
               ? 0
               : problem_set(problem, -ENOSPC, "the database of views is full: it has %d instances",
                             VIEW_INSTANCES_MOST);
}

static int64_t added(struct view_model *model)
{
    model->count++;
    return sqlite3_last_insert_rowid(model->database);
}

int64_t view_model_instance(struct view_model *model, const char *type, uint32_t number,
                            const char *name, const struct view_place *place,
                            struct problem *problem)
{
    static const enum statement both[] = {FIND_INSTANCE, ADD_INSTANCE};
    int64_t the_type = type_of(model, type, problem), found = 0;

    if (the_type < 0)
        return the_type;
    for (size_t i = 0; i < ARRAY_SIZE(both) && found == 0; i++) {
        int result = both[i] == ADD_INSTANCE ? check_room(model, problem) : 0;
        if (result < 0)
            return result;
        sqlite3_stmt *statement = model_statement(model, both[i]);
        sqlite3_bind_int64(statement, 1, the_type);
        sqlite3_bind_int64(statement, 2, number);
        bind_text(statement, 3, name);
        bind_place(statement, 4, place);
        found = one_number(model, statement, problem);
    }
    return found != 0 ? found : added(model);
}

int64_t view_model_relate(struct view_model *model, const char *type, int64_t from, int64_t to,
                          struct problem *problem)
{
    static const enum statement both[] = {FIND_RELATION, ADD_RELATION};
    int64_t the_type = type_of(model, type, problem), found = 0;

    if (the_type < 0)
        return the_type;
    for (size_t i = 0; i < ARRAY_SIZE(both) && found == 0; i++) {
        int result = both[i] == ADD_RELATION ? check_room(model, problem) : 0;
        if (result < 0)
            return result;
        sqlite3_stmt *statement = model_statement(model, both[i]);
        sqlite3_bind_int64(statement, 1, the_type);
        sqlite3_bind_int64(statement, 2, from);
        sqlite3_bind_int64(statement, 3, to);
        found = one_number(model, statement, problem);
    }
    return found != 0 ? found : added(model);
}

int view_model_end(struct view_model *model, int64_t instance, bool ended, struct problem *problem)
{
    sqlite3_stmt *statement = model_statement(model, END_INSTANCE);

    sqlite3_bind_int64(statement, 1, instance);
    sqlite3_bind_int(statement, 2, ended);
    return run(model, statement, problem);
}

int view_model_forget(struct view_model *model, int64_t instance, struct problem *problem)
{
    sqlite3_stmt *statement = model_statement(model, FORGET_INSTANCE);

    sqlite3_bind_int64(statement, 1, instance);
    int result = run(model, statement, problem);
    if (result < 0 || sqlite3_changes(model->database) == 0)
        return result;
    model->count--;
    statement = model_statement(model, FORGET_VALUES);
    sqlite3_bind_int64(statement, 1, instance);
    return run(model, statement, problem);
}

int64_t view_model_find(struct view_model *model, const struct view_entity *entity)
{
    enum statement which = entity->index == VIEW_ONLY           ? FIND_ONLY
                           : entity->index == VIEW_NUMBER_INDEX ? FIND_NUMBER
                           : entity->other == NULL              ? FIND_NAME
                                                                : FIND_PAIR;
    sqlite3_stmt *statement = model_statement(model, which);

    bind_text(statement, 1, entity->object);
    if (which == FIND_NUMBER)
        sqlite3_bind_int64(statement, 2, entity->number);
    if (which == FIND_NAME || which == FIND_PAIR)
        bind_text(statement, 2, entity->name);
    if (which == FIND_PAIR)
        bind_text(statement, 3, entity->other);
    if (statement == NULL || sqlite3_step(statement) != SQLITE_ROW)
        return -ENOENT;
    int64_t found = sqlite3_column_int64(statement, 0);
    bool several = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_reset(statement);
    return several ? -E2BIG : found;
}

int view_model_each(struct view_model *model, const char *type, view_each *each, void *context,
                    struct problem *problem)
{
    sqlite3_stmt *statement = model_statement(model, EACH_INSTANCE);
    int code, result = 0;

    if (statement == NULL)
        return model_problem(model, problem);
    bind_text(statement, 1, type);
    while (result >= 0 && (code = sqlite3_step(statement)) == SQLITE_ROW)
        result = each(context, sqlite3_column_int64(statement, 0),
                      (const char *)sqlite3_column_text(statement, 1));
    sqlite3_reset(statement);
    return result < 0 ? problem_set(problem, result, "views: %s", strerror(-result)) : 0;
}

/* ---- values ---- */

/* Notes a new attribute of the instance's type. */
static int know_attribute(struct view_model *model, int64_t instance, const char *attribute,
                          struct problem *problem)
{
    sqlite3_stmt *statement = model_statement(model, KNOWN_ATTRIBUTE);

    sqlite3_bind_int64(statement, 1, instance);
    bind_text(statement, 2, attribute);
    int64_t known = one_number(model, statement, problem);
    if (known != 0)
        return known < 0 ? (int)known : 0;
    statement = model_statement(model, ADD_ATTRIBUTE);
    sqlite3_bind_int64(statement, 1, instance);
    bind_text(statement, 2, attribute);
    int result = run(model, statement, problem);
    sqlite3_stmt *type = NULL;
    sqlite3_prepare_v2(model->database, "SELECT type FROM instances WHERE instance = ?1", -1, &type,
                       NULL);
    sqlite3_bind_int64(type, 1, instance);
    int64_t number = one_number(model, type, problem);
    sqlite3_finalize(type);
    if (result == 0 && number > 0)
        result = make_table(model, number, problem);
    return result;
}

int view_model_set(struct view_model *model, int64_t instance, const char *attribute,
                   const struct view_value *value, uint64_t time, const struct view_place *place,
                   struct problem *problem)
{
    int result = know_attribute(model, instance, attribute, problem);

    if (result < 0)
        return result;
    sqlite3_stmt *statement =
        model_statement(model, value->kind == VIEW_UNKNOWN ? REMOVE_VALUE : SET_VALUE);
    sqlite3_bind_int64(statement, 1, instance);
    bind_text(statement, 2, attribute);
    if (value->kind == VIEW_IS_NUMBER)
        sqlite3_bind_double(statement, 3, value->number);
    else if (value->kind == VIEW_IS_TEXT)
        bind_text(statement, 3, value->text);
    if (value->kind != VIEW_UNKNOWN) {
        sqlite3_bind_int64(statement, 4, (int64_t)time);
        bind_place(statement, 5, place);
    }
    return run(model, statement, problem);
}

/* Of a value: columns 2 and 3. */
static struct view_place place_of(struct view_model *model, sqlite3_stmt *statement)
{
    const unsigned char *machine = sqlite3_column_text(statement, 2);

    free(model->machine);
    model->machine = machine == NULL ? NULL : strdup((const char *)machine);
    return (struct view_place){model->machine, (uint32_t)sqlite3_column_int64(statement, 3)};
}

int view_model_get(struct view_model *model, int64_t instance, const char *attribute,
                   struct view_value *ret_value, uint64_t *ret_time, struct view_place *ret_place)
{
    sqlite3_stmt *statement = model_statement(model, GET_VALUE);
    struct view_value value = {.kind = VIEW_UNKNOWN};

    if (statement == NULL)
        return model_problem(model, NULL);
    sqlite3_bind_int64(statement, 1, instance);
    bind_text(statement, 2, attribute);
    if (sqlite3_step(statement) == SQLITE_ROW) {
        if (sqlite3_column_type(statement, 0) == SQLITE_TEXT) {
            free(model->text);
            model->text = strdup((const char *)sqlite3_column_text(statement, 0));
            value.kind = model->text == NULL ? VIEW_UNKNOWN : VIEW_IS_TEXT;
            value.text = model->text;
        } else if (sqlite3_column_type(statement, 0) == SQLITE_FLOAT) {
            value.kind = VIEW_IS_NUMBER;
            value.number = sqlite3_column_double(statement, 0);
        }
        if (ret_time != NULL)
            *ret_time = (uint64_t)sqlite3_column_int64(statement, 1);
        if (ret_place != NULL)
            *ret_place = place_of(model, statement);
    }
    sqlite3_reset(statement); /* else no type could get an attribute */
    *ret_value = value;
    return 0;
}

/* ---- as a whole ---- */

int view_model_begin(struct view_model *model, struct problem *problem)
{
    return execute(model, "BEGIN", problem);
}

int view_model_commit(struct view_model *model, struct problem *problem)
{
    for (size_t i = 0; i < STATEMENTS; i++)
        sqlite3_reset(model->statements[i]);
    return execute(model, "COMMIT", problem);
}
