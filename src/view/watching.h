/* SPDX-License-Identifier: MIT */
/*
 * watching.h: evaluates views over a model: directly, without a plan. Each view has a row, or with [*] one for each
 * instance.
 *
 *      inactive --predicate true--> active: APPEARED, a notification --false or unknown--> GONE
 *                                      '-- a value differs: CHANGED
 *
 * The model gets a type with the view's name, whose instances are the active rows.
 */
#ifndef DPM_VIEW_WATCHING_H
#define DPM_VIEW_WATCHING_H

#include "view/model.h"

enum view_change_kind {
    VIEW_APPEARED, /* the row became active: NOTIFY sends its values */
    VIEW_CHANGED,
    VIEW_GONE,
    VIEW_UNCLEAR, /* what it is, is not known; APPEARED or GONE follow */
};

struct view_change {
    enum view_change_kind kind;
    const struct view *view;
    const char *row; /* name of the instance that [*] stands for; "": the view's only row */
    uint64_t time;
    const struct view_value *values; /* of the targets, in their order */
    bool notifies;                   /* a notification is sent of it; of a recording: would be */
};

struct view_watch;

/* `changed` may not call the watch. A note is a line for the user, once for each: a view's instance that is not
 * clear. Both `file` and `model` must outlive the watch. Returns 0 or a negative errno with a line in `problem`:
 * -EINVAL if a view has the name of a type that exists. */
struct view_watch_calls {
    void *context;
    void (*changed)(void *context, const struct view_change *change);
    void (*note)(void *context, const char *line);
};

int view_watch_new(const struct view_file *file, struct view_model *model,
                   const struct view_watch_calls *calls, struct view_watch **ret_watch,
                   struct problem *problem);
void view_watch_free(struct view_watch *watch);

/* Evaluates all views with the model's values. `time`, ns, is that of these values. */
int view_watch_evaluate(struct view_watch *watch, uint64_t time, struct problem *problem);

#endif
