/* SPDX-License-Identifier: MIT */
/*
 * resident_readings.c: values that are read periodically, next to others that are traced. A reading waits until all records of
 * earlier times were handed over. And it is compared with what happened within CORRECT of it only: if this machine was too busy
 * to read in time, and the value has changed meanwhile, then it is unknown in between.
 *
 *      CORRECT TO WITHIN 25 MS     read: 3 at 10.300 ... 9 at 10.380             handed over: 3 at 10.300
 *                                traced:      1 at 10.320, 0 at 10.360                        1 at 10.320
 *                                                                                       unknown at 10.325
 *                                                                                             0 at 10.360
 *                                                                                             9 at 10.380
 *
 * If the second reading is the same as the first, the value is taken for unchanged, as between any two readings.
 */
#include "monitor/resident_private.h"

/* How long after its time a reading counts. What cannot be read as often as CORRECT wants is not in time by its plan, which says so. */
static uint64_t counts_for(const struct part *part)
{
    const struct view *view = resident_view(part->share);

    if (!view->has_correct)
        return UINT64_MAX;
    return view->correct > 2 * part->period ? view->correct : 2 * part->period;
}

static bool is_too_late(const struct part *part, uint64_t time)
{
    return part->known != 0 && !part->unclear && time > part->known &&
           time - part->known > counts_for(part);
}

static void values_of_reading(const struct part *part, struct view_value *values)
{
    for (size_t i = 0; i < resident_view(part->share)->reference_count; i++)
        values[i] = (struct view_value){.kind = part->reading[i].kind,
                                        .number = part->reading[i].number,
                                        .text = part->reading[i].text};
}

void reading_wait(struct part *part, uint64_t time, const struct view_value *values)
{
    const struct view *view = resident_view(part->share);

    for (size_t i = 0; i < view->reference_count; i++)
        if (view->references[i].entity == part->entity)
            view_keep(&part->reading[i], &values[i]);
    part->reading_time = time;
    part->waits = true;
    part->share->resident->waiting = true;
}

void reading_forget(struct part *part)
{
    part->waits = false;
    part->unclear = false;
    part->known = 0;
}

static bool has_changed(const struct part *part)
{
    const struct view *view = resident_view(part->share);

    for (size_t i = 0; i < view->reference_count; i++) {
        struct view_kept last = part->last[i];
        const struct view_value value = {.kind = part->reading[i].kind,
                                         .number = part->reading[i].number,
                                         .text = part->reading[i].text};
        if (view->references[i].entity == part->entity && view_keep(&last, &value))
            return true;
    }
    return false;
}

/* From when its earlier reading does not count any more, until the next one. */
static void set_unclear(struct part *part)
{
    part->unclear = true;
    part_take_unknown(part, part->known + counts_for(part));
}

/* Whether the central monitor compares it with values of other machines. */
static bool is_compared_elsewhere(const struct share *share)
{
    for (size_t i = 0; i < resident_view(share)->entity_count; i++)
        if (share->parts[i].pid == 0)
            return share->monitor == NULL;
    return false;
}

static void take(struct part *part)
{
    struct view_value values[VIEW_REFERENCES_MOST];

    readings_before(part, part->reading_time);
    if (!part->waits) /* it was no different, which another one needed to know */
        return;
    if (is_too_late(part, part->reading_time) && is_compared_elsewhere(part->share) &&
        has_changed(part))
        set_unclear(part);
    values_of_reading(part, values);
    part_take(part, part->reading_time, values);
}

/* Something happened at this time, which the latest reading does not count for. */
static void settle(struct part *part)
{
    if (!part->waits)
        part_read(part);
    if (part->waits && !has_changed(part)) {
        part->waits = false;
        part->known = part->reading_time;
    } else {
        set_unclear(part);
    }
}

void readings_before(struct part *part, uint64_t time)
{
    struct share *share = part->share;

    for (size_t i = 0; i < resident_view(share)->entity_count; i++) {
        struct part *other = &share->parts[i];
        if (other == part || other->period == 0 || !other->on)
            continue;
        if (other->waits && other->reading_time < time)
            take(other);
        else if (is_too_late(other, time))
            settle(other);
    }
}

void readings_take(struct resident *resident)
{
    if (!resident->waiting)
        return;
    resident->waiting = false;
    for (size_t i = 0; i < resident->share_capacity; i++)
        for (size_t k = 0; resident->shares[i] != NULL && k < VIEW_ENTITIES_MOST; k++)
            if (resident->shares[i]->parts[k].waits)
                take(&resident->shares[i]->parts[k]);
}
