/* SPDX-License-Identifier: MIT */
/* filter_selected.c: what rules keep of the copies. See filter_selected.h. */
#include "filter/filter_selected.h"

#include "base/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_EVERY 1000000000ULL /* ns: what is written can be read then */

/* What an earlier run has selected of this copy is selected again; anything else of that name is not ours. */
static int make_way(const struct selection *selection, struct problem *problem)
{
    if (access(selection->path, F_OK) < 0)
        return 0;
    if (!selection->copy->resumed)
        return problem_set(problem, -EEXIST,
                           "%s: cannot be created: File exists; remove it or choose another folder",
                           selection->path);
    folder_remove(selection->path);
    return 0;
}

static int begin(const struct filter_selected *selected, struct selection *selection,
                 struct problem *problem)
{
    const char *path = selection->copy->path; /* NULL: rejected */
    struct source *source;

    if (path == NULL || !trace_has_records(path))
        return 0;
    free(selection->path);
    selection->path = NULL;
    if (asprintf(&selection->path, "%s%s", selected->folder, strrchr(path, '/')) < 0) {
        selection->path = NULL;
        return problem_set(problem, -ENOMEM, "out of memory");
    }
    int result = make_way(selection, problem);
    if (result == 0)
        result = trace_follow_copy(path, &source, problem);
    if (result < 0)
        return result;
    trace_follow_until_end(source, true);
    selection->begun = true;
    return selecting_open(&selection->selecting, source, selected->rules, selection->path, problem);
}

static int step(const struct filter_selected *selected, struct selection *selection, bool flushes,
                struct problem *problem)
{
    int result = selection->begun ? 0 : begin(selected, selection, problem);

    if (result < 0 || !selection->begun || selection->ended)
        return result;
    result = selecting_step(&selection->selecting, problem);
    if (result >= 0 && flushes)
        result = selecting_flush(&selection->selecting, problem) < 0 ? -EIO : result;
    selection->counts = rules_stage_counts(selection->selecting.stage);
    if (result != SOURCE_END)
        return result < 0 ? result : 0;
    selection->ended = true;
    return selecting_close(&selection->selecting, problem);
}

static int add_new(struct filter_selected *selected, const struct filter_copies *copies,
                   struct problem *problem)
{
    if (array_reserve(&selected->list, &selected->capacity, copies->count,
                      sizeof(*selected->list)) < 0)
        return problem_set(problem, -ENOMEM, "out of memory");
    for (; selected->count < copies->count; selected->count++)
        selected->list[selected->count] = (struct selection){.copy = copies->list[selected->count]};
    return 0;
}

int filter_selected_step(struct filter_selected *selected, const struct filter_copies *copies,
                         struct problem *problem)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    bool flushes = now - selected->flushed >= FLUSH_EVERY;
    int result = 0;

    if (selected->rules == NULL)
        return 0;
    if (selected->count < copies->count)
        result = add_new(selected, copies, problem);
    for (size_t i = 0; result == 0 && i < selected->count; i++)
        result = step(selected, &selected->list[i], flushes, problem);
    if (flushes)
        selected->flushed = now;
    return result;
}

int filter_selected_change(struct filter_selected *selected, const struct filter_copies *copies,
                           const struct rules *rules, struct problem *problem)
{
    int result = filter_selected_step(selected, copies, problem);

    for (size_t i = 0; result == 0 && i < selected->count; i++) {
        struct selection *selection = &selected->list[i];
        if (selection->begun && !selection->ended)
            result = selecting_change(&selection->selecting, rules, problem);
    }
    selected->rules = rules;
    return result;
}

void filter_selected_mark(struct filter_selected *selected, const struct filter_copies *copies)
{
    struct problem ignored;

    if (selected->rules != NULL && selected->count < copies->count)
        add_new(selected, copies, &ignored); /* without memory the next step fails */
    for (size_t i = 0; i < selected->count; i++)
        selected->list[i].mark = selected->list[i].copy->newest;
}

/* Records come in order of time: after one that is as late as the mark, none from before it is missing. */
int filter_selected_reached_mark(struct filter_selected *selected, struct problem *problem)
{
    int result = 0;

    for (size_t i = 0; i < selected->count; i++) {
        const struct selection *selection = &selected->list[i];
        if (selection->mark > 0 && !selection->ended &&
            (!selection->begun || selection->selecting.latest < selection->mark))
            return 0;
    }
    for (size_t i = 0; result == 0 && i < selected->count; i++)
        if (selected->list[i].begun && !selected->list[i].ended)
            result = selecting_flush(&selected->list[i].selecting, problem);
    return result < 0 ? result : 1;
}

const struct selection *filter_selected_find(const struct filter_selected *selected,
                                             const struct copy *copy)
{
    for (size_t i = 0; i < selected->count; i++)
        if (selected->list[i].copy == copy)
            return &selected->list[i];
    return NULL;
}

/* Records of control wait for data that may still come (trace_follow_copy): now none will. */
static int select_rest(struct selecting *selecting, struct problem *problem)
{
    int result = selecting->stage == NULL ? 0 : selecting_step(selecting, problem);
    int closed = selecting_close(selecting, result < 0 ? NULL : problem);

    return result < 0 ? result : closed;
}

int filter_selected_close(struct filter_selected *selected, struct problem *problem)
{
    int first = 0;

    for (size_t i = 0; i < selected->count; i++) {
        struct selection *selection = &selected->list[i];
        int result = 0;
        if (selection->begun && !selection->ended)
            result = select_rest(&selection->selecting, first == 0 ? problem : NULL);
        first = first == 0 ? result : first;
        free(selection->path);
    }
    free(selected->list);
    return first;
}
