/* SPDX-License-Identifier: MIT */
/* followed.c: the history of a running recording. See followed.h. */
#include "recorder/followed.h"

#include <errno.h>
#include <stdlib.h>

static int followed_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                         struct problem *problem)
{
    struct followed *followed = (struct followed *)source;
    const struct record_header *record = record_queue_peek(&followed->queue);

    (void)problem;
    if (record == NULL || followed->budget == 0) {
        if (record == NULL && followed->ended)
            return SOURCE_END;
        /* records in the queue are not older than its first, but some may have the same time */
        *ret_complete = record == NULL ? followed->complete : record->time - 1;
        return SOURCE_NONE_YET;
    }
    uint64_t absent = 0;
    if (record->id == EVENT_CLASS) {
        absent = ((const struct record *)record)->class.absent;
        record_queue_take(&followed->queue);
        record = record_queue_peek(&followed->queue);
    }
    record_queue_take(&followed->queue);
    followed->budget--;
    followed->state.records++;
    if (record->id == EVENT_END) {
        followed->state.complete = true;
        followed->state.end_reason = ((const struct end_record *)record)->reason;
    }
    if (record->id == EVENT_DISCARDED)
        followed->state.unselected += ((const struct record *)record)->lost.count;
    *ret_event = (struct event){record, 0, followed->wall_offset, absent};
    return SOURCE_RECORD;
}

int followed_new(struct followed **ret_followed, struct problem *problem)
{
    struct followed *followed = calloc(1, sizeof(*followed));
    struct source *source = &followed->source;

    if (followed == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for interval reports");
    followed->source = (struct source){followed_next, 1, &followed->state};
    int result = history_new(&source, 1, &followed->history, problem);
    if (result < 0) {
        followed_free(followed);
        return result;
    }
    *ret_followed = followed;
    return 0;
}

void followed_free(struct followed *followed)
{
    if (followed == NULL)
        return;
    history_free(followed->history);
    record_queue_done(&followed->queue);
    free(followed);
}

void followed_add(struct followed *followed, const struct record_header *record,
                  int64_t wall_offset)
{
    if (followed == NULL || followed->error < 0)
        return;
    followed->wall_offset = wall_offset;
    followed->added++;
    followed->last_time = record->time;
    followed->error = record_queue_add(&followed->queue, record);
}

/* In the queue, a CLASS says what the next record lacks. */
void followed_add_event(struct followed *followed, const struct event *event)
{
    if (followed != NULL && followed->error == 0 && event->absent != 0) {
        const struct record class = {
            .header = {.time = event->header->time, .id = EVENT_CLASS, .flags = RECORD_NO_STREAM},
            .class = {.type = event->header->id, .absent = event->absent},
        };
        followed->error = record_queue_add(&followed->queue, &class.header);
    }
    followed_add(followed, event->header, event->wall_offset);
}

bool followed_lags(const struct followed *followed)
{
    return followed != NULL && record_queue_peek(&followed->queue) != NULL;
}

void followed_end(struct followed *followed, const struct record *cost, enum end_reason reason)
{
    if (followed == NULL)
        return;
    struct record last = *cost;
    last.header.time = followed->last_time;
    followed_add(followed, &last.header, followed->wall_offset);
    const struct end_record end = {
        .header = {.time = followed->last_time, .id = EVENT_END, .flags = RECORD_NO_STREAM},
        .records = followed->added + 1,
        .lost = followed->state.lost,
        .reason = reason,
    };
    followed_add(followed, &end.header, followed->wall_offset);
    followed->ended = true;
}

int followed_read(struct followed *followed, const struct analysis *analyses, size_t count,
                  struct problem *problem)
{
    if (followed->error < 0)
        return problem_set(problem, followed->error, "out of memory for interval reports");
    followed->budget = FOLLOWED_MOST;
    return analyses_read(followed->history, analyses, count, problem);
}
