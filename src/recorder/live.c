/* SPDX-License-Identifier: MIT */
/* live.c: the history of a running recording. See live.h. */
#include "recorder/live.h"

#include <errno.h>
#include <stdlib.h>

static int live_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                     struct problem *problem)
{
    struct live *live = (struct live *)source;
    const struct record_header *record = record_queue_peek(&live->queue);

    (void)problem;
    if (record == NULL || live->budget == 0) {
        if (record == NULL && live->ended)
            return SOURCE_END;
        /* records in the queue are not older than its first, but some may have the same time */
        *ret_complete = record == NULL ? live->complete : record->time - 1;
        return SOURCE_NONE_YET;
    }
    uint64_t absent = 0;
    if (record->id == EVENT_CLASS) {
        absent = ((const struct record *)record)->class.absent;
        record_queue_take(&live->queue);
        record = record_queue_peek(&live->queue);
    }
    record_queue_take(&live->queue);
    live->budget--;
    live->state.records++;
    if (record->id == EVENT_END) {
        live->state.complete = true;
        live->state.end_reason = ((const struct end_record *)record)->reason;
    }
    if (record->id == EVENT_DISCARDED)
        live->state.unselected += ((const struct record *)record)->lost.count;
    *ret_event = (struct event){record, 0, live->wall_offset, absent};
    return SOURCE_RECORD;
}

int live_new(struct live **ret_live, struct problem *problem)
{
    struct live *live = calloc(1, sizeof(*live));
    struct source *source = &live->source;

    if (live == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for interval reports");
    live->source = (struct source){live_next, 1, &live->state};
    int result = history_new(&source, 1, &live->history, problem);
    if (result < 0) {
        live_free(live);
        return result;
    }
    *ret_live = live;
    return 0;
}

void live_free(struct live *live)
{
    if (live == NULL)
        return;
    history_free(live->history);
    record_queue_done(&live->queue);
    free(live);
}

void live_add(struct live *live, const struct record_header *record, int64_t wall_offset)
{
    if (live == NULL || live->error < 0)
        return;
    live->wall_offset = wall_offset;
    live->added++;
    live->last_time = record->time;
    live->error = record_queue_add(&live->queue, record);
}

/* In the queue, a CLASS says what the next record lacks. */
void live_add_event(struct live *live, const struct event *event)
{
    if (live != NULL && live->error == 0 && event->absent != 0) {
        const struct record class = {
            .header = {.time = event->header->time, .id = EVENT_CLASS, .flags = RECORD_NO_STREAM},
            .class = {.type = event->header->id, .absent = event->absent},
        };
        live->error = record_queue_add(&live->queue, &class.header);
    }
    live_add(live, event->header, event->wall_offset);
}

bool live_lags(const struct live *live)
{
    return live != NULL && record_queue_peek(&live->queue) != NULL;
}

void live_end(struct live *live, const struct record *cost, enum end_reason reason)
{
    if (live == NULL)
        return;
    struct record last = *cost;
    last.header.time = live->last_time;
    live_add(live, &last.header, live->wall_offset);
    const struct end_record end = {
        .header = {.time = live->last_time, .id = EVENT_END, .flags = RECORD_NO_STREAM},
        .records = live->added + 1,
        .lost = live->state.lost,
        .reason = reason,
    };
    live_add(live, &end.header, live->wall_offset);
    live->ended = true;
}

int live_read(struct live *live, const struct analysis *analyses, size_t count,
              struct problem *problem)
{
    if (live->error < 0)
        return problem_set(problem, live->error, "out of memory for interval reports");
    live->budget = LIVE_MOST;
    return analyses_read(live->history, analyses, count, problem);
}
