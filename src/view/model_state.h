/* SPDX-License-Identifier: MIT */
/* model_state.h: the database behind a model. Private to view/. */
#ifndef DPM_VIEW_MODEL_STATE_H
#define DPM_VIEW_MODEL_STATE_H

#include "view/model.h"

#include <sqlite3.h>

enum statement {
    FIND_TYPE,
    ADD_TYPE,
    FIND_INSTANCE,
    ADD_INSTANCE,
    FIND_RELATION,
    ADD_RELATION,
    END_INSTANCE,
    FORGET_INSTANCE,
    FORGET_VALUES,
    SET_VALUE,
    REMOVE_VALUE,
    GET_VALUE,
    FIND_ONLY,
    FIND_NUMBER,
    FIND_NAME,
    FIND_PAIR,
    EACH_INSTANCE,
    KNOWN_ATTRIBUTE,
    ADD_ATTRIBUTE,
    STATEMENTS,
};

struct view_model {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENTS];
    int64_t count; /* of instances */
    char *text;    /* the latest that view_model_get returned */
    char *machine; /* the same */
};

/* Writes the latest error of the database to the problem. Returns -ENOMEM or -EIO. */
int model_problem(struct view_model *model, struct problem *problem);

/* The statement, ready to be bound; NULL: an error of the database. */
sqlite3_stmt *model_statement(struct view_model *model, enum statement which);

#endif
