/* SPDX-License-Identifier: MIT */
/*
 * causality_open.c: the requests that are open in a process, in the order in which they came.
 *
 *      process --open_ends[0]--> end --> end --> end      their requests wait for a call
 *              --open_ends[1]--> end --> end              these have called another process
 */
#include "analysis/causality/causality_private.h"

/* The process in whose list the end is; NULL: it is in none, or the process has ended. */
static struct causality_live_process *lister_of(const struct causality_analysis *analysis,
                                                const struct causality_end *end)
{
    if (end->listed.index_and_1 == 0)
        return NULL;
    struct causality_live_process *process =
        pool_at(&analysis->processes, end->listed.index_and_1 - 1);
    return process->life == end->listed.life ? process : NULL;
}

static struct causality_end *end_at(const struct causality_analysis *analysis, uint32_t index_and_1)
{
    return index_and_1 == 0 ? NULL : pool_at(&analysis->ends, index_and_1 - 1);
}

/* Adds an end to a list, after another one of it; NULL: as the first. */
static void list(const struct causality_analysis *analysis, struct causality_live_process *process,
                 struct causality_end *end, struct causality_end *after)
{
    struct open_list *list = &process->open_ends[end->has_called];
    uint32_t next_and_1 = after == NULL ? list->first_and_1 : after->next_and_1;
    struct causality_end *next = end_at(analysis, next_and_1);

    end->listed = (struct reference){process->index + 1, process->life};
    end->previous_and_1 = after == NULL ? 0 : after->index + 1;
    end->next_and_1 = next_and_1;
    *(after == NULL ? &list->first_and_1 : &after->next_and_1) = end->index + 1;
    *(next == NULL ? &list->last_and_1 : &next->previous_and_1) = end->index + 1;
}

static void list_last(const struct causality_analysis *analysis,
                      struct causality_live_process *process, struct causality_end *end)
{
    list(analysis, process, end, end_at(analysis, process->open_ends[end->has_called].last_and_1));
}

static void unlist(const struct causality_analysis *analysis, struct causality_end *end)
{
    struct causality_live_process *process = lister_of(analysis, end);

    end->listed = (struct reference){0};
    if (process == NULL)
        return;
    struct open_list *list = &process->open_ends[end->has_called];
    struct causality_end *previous = end_at(analysis, end->previous_and_1),
                         *next = end_at(analysis, end->next_and_1);
    *(previous == NULL ? &list->first_and_1 : &previous->next_and_1) = end->next_and_1;
    *(next == NULL ? &list->last_and_1 : &next->previous_and_1) = end->previous_and_1;
}

void parties_call(struct causality_analysis *analysis, struct causality_end *end)
{
    struct causality_live_process *process = lister_of(analysis, end);

    if (end->has_called || process == NULL)
        return;
    unlist(analysis, end);
    end->has_called = true;
    list_last(analysis, process, end);
}

static uint64_t came(const struct causality_analysis *analysis, const struct causality_end *end)
{
    const struct step *entry = step_of(analysis, end->entry);

    return entry == NULL ? 0 : entry->when;
}

/* It returns to its place among those that have not called. */
void parties_undo_call(struct causality_analysis *analysis, struct causality_end *end)
{
    struct causality_live_process *process = lister_of(analysis, end);

    unlist(analysis, end);
    end->has_called = false;
    if (process == NULL)
        return;
    struct causality_end *after = end_at(analysis, process->open_ends[0].last_and_1);
    for (unsigned i = 0; after != NULL && i < OPEN_LOOK_MOST; i++) {
        if (came(analysis, after) <= came(analysis, end))
            break;
        after = end_at(analysis, after->previous_and_1);
    }
    list(analysis, process, end, after);
}

/* The first end of a list whose request was received by this stream, or, if NULL, by any that still lives. */
static struct causality_end *first_open(const struct causality_analysis *analysis,
                                        const struct open_list *list,
                                        const struct causality_stream *by)
{
    struct causality_end *end = end_at(analysis, list->first_and_1);

    for (unsigned i = 0; end != NULL && i < OPEN_LOOK_MOST; i++) {
        const struct causality_stream *stream =
            pool_at(&analysis->streams, end->stream.index_and_1 - 1);
        if (stream->life == end->stream.life && (by == NULL || by == stream))
            return end;
        end = end_at(analysis, end->next_and_1);
    }
    return NULL;
}

struct causality_end *parties_longest_open(const struct causality_analysis *analysis,
                                           const struct causality_event *at)
{
    const struct causality_stream *by[] = {at->stream, at->stream, NULL, NULL};
    struct causality_end *end = NULL;

    for (unsigned i = 0; end == NULL && at->process->open > 0 && i < ARRAY_SIZE(by); i++)
        end = first_open(analysis, &at->process->open_ends[i & 1], by[i]);
    return end;
}

void parties_open(struct causality_analysis *analysis, const struct causality_event *at,
                  struct reference step)
{
    struct causality_end *end = at->end;
    uint32_t overlap = end->open ? end->overlap + 1 : 0;

    if (overlap > 0 && end->from_requestor) /* the next answer may be that of the earlier one */
        requests_note_answer(analysis, step_of(analysis, end->entry));
    parties_close(analysis, end);
    end->open = true;
    end->overlap = overlap;
    end->entry = end->latest = step;
    end->stream = (struct reference){at->stream->index + 1, at->stream->life};
    at->process->open++;
    at->stream->open++;
    end->has_called = end->guessed = false;
    if (!end->is_pipe) /* what came by a pipe is never answered */
        list_last(analysis, at->process, end);
}

void parties_close(struct causality_analysis *analysis, struct causality_end *end)
{
    if (!end->open)
        return;
    end->open = false;
    unlist(analysis, end);
    struct causality_stream *stream = pool_at(&analysis->streams, end->stream.index_and_1 - 1);
    if (stream->life != end->stream.life)
        return; /* it has ended, with all its open requests */
    stream->open--;
    ((struct causality_live_process *)pool_at(&analysis->processes, stream->process))->open--;
}
