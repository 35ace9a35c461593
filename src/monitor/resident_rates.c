/* SPDX-License-Identifier: MIT */
/*
 * resident_rates.c: how often values change here, and what becomes of them.
 *
 *      sensor: 44000 changes --conditions--> 4400 records --read--> 4400 --conditions--> 40 handed over
 *                                        '-> lost: the ring was full
 */
#include "monitor/resident_private.h"

#include <math.h>

#define DIFFERS_SHARE 0.1 /* what differs by less, and by less than ... */
#define DIFFERS_LEAST 0.5 /* ... so many a second, is not told again */

static bool differs(double one, double other)
{
    return fabs(one - other) > DIFFERS_SHARE * fabs(other) + DIFFERS_LEAST;
}

static bool rate_differs(const struct row_rate *one, const struct row_rate *other)
{
    return differs(one->changes, other->changes) || differs(one->records, other->records) ||
           differs(one->handed, other->handed) || differs(one->lost, other->lost) ||
           (one->lost > 0) != (other->lost > 0) || /* whether it is more than can be read */
           one->sensor_passes != other->sensor_passes;
}

static void rate_part(struct part *part, uint64_t now, resident_told_rate *told, void *context)
{
    struct collected_counts counts = {0}, before = part->rated.counts;
    bool counted = part->collector->counted != NULL &&
                   part->collector->counted(part->collector->self, part->collection, &counts);
    uint64_t since = part->rated.time, handed = part->handed - part->rated.handed;

    part->rated.time = now;
    part->rated.handed = part->handed;
    part->rated.counts = counts;
    if (since == 0 || now <= since)
        return;
    double seconds = (double)(now - since) / 1e9;
    bool all = counted && part->on && part->how.traced && part->since <= since;
    const struct row_rate rate = {
        .changes = all ? (double)(counts.changes - before.changes) / seconds : -1,
        .records = (double)(counts.records - before.records) / seconds,
        .handed = (double)handed / seconds,
        .lost = (double)(counts.lost - before.lost) / seconds,
        .sensor_passes = counts.sensor_passes};
    if (!rate_differs(&rate, &part->rated.told))
        return;
    part->rated.told = rate;
    told(context, part->share->row, part->entity, &rate);
}

void resident_rates(struct resident *resident, resident_told_rate *told, void *context)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);

    for (size_t i = 0; i < resident->share_capacity; i++)
        for (size_t k = 0; resident->shares[i] != NULL && k < VIEW_ENTITIES_MOST; k++)
            if (resident->shares[i]->parts[k].collection != NULL)
                rate_part(&resident->shares[i]->parts[k], now, told, context);
}
