/* SPDX-License-Identifier: MIT */
/*
 * clocks.c: times of several machines, told in that of the first origin. See statistics_private.h.
 *
 *      time of origin + CLOCK_BASE + offset = time of the first origin's clock
 *
 * Before messages have gone both ways the offset is that of the clocks of the day, which may be hours wrong. When it is
 * known, or better than before, all times of that origin which are still to be compared with others are moved. Smaller
 * changes (clocks drift) are not worth that: the offset stays the same, so that within a machine differences are those of
 * its own clock, and between two machines they are corrected (clock_correction).
 */
#include "analysis/statistics/queues.h"

static void move(uint64_t *time, int64_t by)
{
    if (*time != 0)
        *time += (uint64_t)by;
}

/* Who has told when messages were sent, and when they came; 0: the times stay. */
static void move_queue(struct queue *queue, int64_t sent_by, int64_t came_by)
{
    if (queue == NULL)
        return;
    for (uint32_t i = queue->first; i < queue->count; i++) {
        struct queue_message *message = &queue->messages[i];
        move(&message->sent, sent_by);
        if (message->queued != 0)
            message->queued += (uint64_t)(message->told ? came_by : sent_by);
    }
    for (uint32_t i = 0; i < queue->arrival_count; i++)
        move(&queue->rest->arrivals[i].time, came_by);
}

static void move_path(struct statistics *statistics, struct statistics_path *path, uint32_t origin,
                      int64_t by)
{
    const struct statistics_path *partner =
        path->partner == NO_END ? NULL : path_at(statistics, path->partner);
    bool is_its = path->origin == origin,
         is_partners = partner != NULL && partner->origin == origin;

    move_queue(queue_at(statistics, path->outgoing), is_its ? by : 0, is_partners ? by : 0);
    if (!is_its)
        return;
    move_queue(queue_at(statistics, path->incoming), by, by);
    move(&path->closed, by);
}

static void move_process(struct statistics_process *process, int64_t by)
{
    move(&process->ended_at, by);
    move(&process->most_messages_at, by);
    move(&process->most_bytes_at, by);
}

static void find_latest_time(struct statistics *statistics)
{
    statistics->latest_time = 0;
    for (uint32_t i = 0; i < statistics->origin_count; i++) {
        const struct statistics_origin *origin = &statistics->origins[i];
        if (origin->seen && latest_time_of(origin) > statistics->latest_time)
            statistics->latest_time = latest_time_of(origin);
    }
}

#define TOLERATED 1000000 /* ns */

static bool is_tolerated(const struct statistics_origin *origin, int64_t offset)
{
    int64_t by;

    return !__builtin_sub_overflow(offset, origin->clock_offset, &by) && by <= TOLERATED &&
           by >= -TOLERATED;
}

static void set_clock(struct statistics_origin *origin, int64_t offset, uint32_t reference)
{
    origin->reference = reference;
    origin->clock_offset = offset;
}

int statistics_set_clock(struct statistics *statistics, uint32_t origin, int64_t offset,
                         uint32_t reference)
{
    struct statistics_origin *of = &statistics->origins[origin];

    of->exact_offset = offset;
    if (!of->seen)
        set_clock(of, offset, reference);
    if (of->reference == reference && is_tolerated(of, offset))
        return 0;
    int result = statistics_bring_in(statistics);
    if (result < 0)
        return result;
    int64_t by = (int64_t)((uint64_t)offset - (uint64_t)of->clock_offset);
    set_clock(of, offset, reference);
    for (uint32_t i = 0; i < statistics->paths.used; i++) {
        struct statistics_path *path = path_at(statistics, i);
        if (path->present)
            move_path(statistics, path, origin, by);
    }
    for (uint32_t i = 0; i < statistics->rows->process_count; i++)
        if (statistics->rows->processes[i].origin == origin)
            move_process(&statistics->processes[i], by);
    find_latest_time(statistics);
    return 0;
}
