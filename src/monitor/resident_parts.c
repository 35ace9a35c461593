/* SPDX-License-Identifier: MIT */
/* resident_parts.c: values of instances on their way, and switching what collects them. See resident.h. */
#include "monitor/resident_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- values ---- */

/* Keeps what has come. Returns whether anything is new. */
static bool keep_values(struct part *part, const struct view_value *values)
{
    const struct view *view = resident_view(part->share);
    bool changed = !part->has_last;

    for (size_t i = 0; i < view->reference_count; i++)
        if (view->references[i].entity == part->entity)
            changed = view_keep(&part->last[i], &values[i]) || changed;
    part->has_last = true;
    return changed;
}

static struct view_value look(void *context, uint32_t reference)
{
    return ((const struct view_value *)context)[reference];
}

static void values_of_last(const struct part *part, struct view_value *values)
{
    for (size_t i = 0; i < resident_view(part->share)->reference_count; i++)
        values[i] = (struct view_value){
            .kind = part->last[i].kind, .number = part->last[i].number, .text = part->last[i].text};
}

/* Values leave this part: for the predicate here, or for the central monitor. */
static void part_hand_over(struct part *part, uint64_t time, struct view_value *values)
{
    struct share *share = part->share;
    struct resident *resident = share->resident;
    uint64_t wall = time + (uint64_t)resident->wall;
    bool first = part->first;

    /* the clocks were compared anew in between: what is later stays so, unless the wall clock was set back */
    if (time >= part->last_time && wall < part->last_wall &&
        part->last_wall - wall <= MONITOR_CLOCK_STEP)
        wall = part->last_wall;
    part->first = false;
    part->last_time = time;
    part->last_wall = wall;
    if (share->monitor != NULL) {
        if (view_monitor_record(share->monitor, part->entity, wall, part->probe, look, values) < 0)
            resident_note(resident, "out of memory for a value of view %s",
                          resident_view(share)->name);
        return;
    }
    bool here = share->plan.parts[part->entity].evaluates != VIEW_IN_CENTRAL;
    if (here && !part->how.filtered) {
        bool passes = view_filter_passes(&part->filter, &resident->conditions[share->view],
                                         part->entity, look, values);
        if (!passes && !first) {
            resident->filtered++;
            return;
        }
    }
    part->handed++;
    resident->calls.record(resident->calls.context, share->row, part->entity, wall, part->probe,
                           values);
}

void part_take(struct part *part, uint64_t time, const struct view_value *values)
{
    struct view_value copy[VIEW_REFERENCES_MOST];

    if (part->period != 0)
        part->known = time;
    part->waits = part->unclear = false;
    if (!keep_values(part, values) && !part->first)
        return;
    values_of_last(part, copy);
    part_hand_over(part, time, copy);
}

void part_take_unknown(struct part *part, uint64_t time)
{
    struct view_value unknown[VIEW_REFERENCES_MOST] = {{0}};

    if (keep_values(part, unknown))
        part_hand_over(part, time, unknown);
}

void part_values_came(void *context, uint64_t time, const struct view_value *values)
{
    struct part *part = context;
    const struct resident_calls *calls = &part->share->resident->calls;

    if (part->asked) {
        part->asked = false;
        calls->answer(calls->context, part->share->row, part->entity,
                      time + (uint64_t)part->share->resident->wall, values);
        return;
    }
    /* records that were made before it was switched off may still be in the ring, even if it is on again */
    if (!part_is_wanted(part) || time < part->since)
        return;
    if (part->period != 0 && !part->first) {
        reading_wait(part, time, values);
        return;
    }
    readings_before(part, time);
    part_take(part, time, values);
}

/* Since when its process has no values. Usually since now. But another one may have been the object's only process before the end
 * of this was noticed, so that its records wait; and one that was found after its end has ended soon after its last record. */
static uint64_t end_of(const struct part *part)
{
    const struct view_entity *entity = &resident_view(part->share)->entities[part->entity];
    uint64_t now = clock_now(CLOCK_MONOTONIC), last = part->last_time, next = 0;

    if (part->collector->oldest != NULL && entity->builtin == VIEW_PROGRAM &&
        entity->index == VIEW_ONLY)
        next = part->collector->oldest(part->collector->self);
    if (next > last && next <= now)
        return next - last > 2 * WALL_DOUBT ? next - WALL_DOUBT : last + (next - last) / 2;
    return part->how.ended && last != 0 ? last + WALL_DOUBT : now;
}

/* The instance has no values any more. */
void part_forget(struct part *part)
{
    struct view_value unknown[VIEW_REFERENCES_MOST] = {{0}};

    reading_forget(part);
    part->first = true;
    part->has_last = false;
    keep_values(part, unknown);
    part_hand_over(part, end_of(part), unknown);
    part->has_last = false;
    part->filter = (struct view_filter){false};
}

/* ---- switching ---- */

bool part_is_wanted(const struct part *part)
{
    const struct share *share = part->share;

    return !share->resident->off[share->view] &&
           (share->plan.parts[part->entity].collection != VIEW_PROBED || part->armed);
}

void part_read(struct part *part)
{
    int result = part->collector->read(part->collector->self, part->collection);

    part->share->resident->reads += result == 0;
    part->share->resident->unread += result < 0 && result != -ENOTSUP && result != -ESRCH;
}

/* How often to read what is not traced: so that a value is never older than the view allows. */
static uint64_t period_of(const struct part *part)
{
    const struct share *share = part->share;
    const struct view *view = resident_view(share);
    uint64_t every = share->resident->options.every;

    if (share->plan.period > 0 && share->plan.period < (double)every)
        every = (uint64_t)share->plan.period;
    if (view->has_correct && view->correct / 2 < every)
        every = view->correct / 2;
    return every < 1000000 ? 1000000 : every;
}

/* Reads periodically from now on. `why`: what was wished for is not possible; "": this is what the plan says. */
void part_sample_instead(struct part *part, const char *why)
{
    const struct view *view = resident_view(part->share);
    char name[VIEW_ENTITY_SIZE];

    part->how.traced = part->how.filtered = false;
    part->period = period_of(part);
    view_entity_text(&view->entities[part->entity], name);
    if (why[0] != '\0')
        resident_note(
            part->share->resident,
            "view %s: %s, process %d: read every %.3g ms, changes in between are missed: %s",
            view->name, name, part->pid, (double)part->period / 1e6, why);
}

/* First the sensor, then the value, so that no change between them is missed. */
void part_switch_on(struct part *part)
{
    struct problem problem = {""};
    struct resident *resident = part->share->resident;

    if (part->collection == NULL)
        return;
    part->first = true;
    part->filter = (struct view_filter){false};
    if (!part->on)
        part->since =
            part->how.since != 0 && !part->was_on ? part->how.since : clock_now(CLOCK_MONOTONIC);
    part->was_on = true;
    if (part->how.traced && !part->on &&
        part->collector->turn(part->collector->self, part->collection, true, &problem) < 0)
        part_sample_instead(part, problem.text);
    part->on = true;
    part->sample = part->period == 0 ? 0 : clock_now(CLOCK_MONOTONIC) + part->period;
    if (part->period != 0 && part->sample < resident->next)
        resident->next = part->sample;
    part_read(part);
}

void part_switch_off(struct part *part)
{
    if (part->collection == NULL || !part->on)
        return;
    part->on = false;
    part->sample = 0;
    if (part->how.traced)
        part->collector->turn(part->collector->self, part->collection, false, NULL);
}

void resident_turn(struct resident *resident, uint32_t view, bool on)
{
    if (resident->off[view] == !on)
        return;
    resident->off[view] = !on;
    for (size_t i = 0; i < resident->options.collector_count; i++)
        if (resident->collectors[i].rest != NULL)
            resident->collectors[i].rest(resident->collectors[i].self, &resident->conditions[view],
                                         !on);
    for (size_t i = 0; i < resident->share_capacity; i++) {
        struct share *share = resident->shares[i];
        for (size_t k = 0;
             share != NULL && share->view == view && k < resident_view(share)->entity_count; k++) {
            struct part *part = &share->parts[k];
            if (part_is_wanted(part))
                part_switch_on(part);
            else if (part->on) {
                part_switch_off(part);
                part_forget(part);
            }
        }
    }
}

/* An instance that is not there, or cannot be collected, has an answer, too: a predicate with OR may not need it. */
void part_probe(struct part *part, uint32_t number)
{
    struct view_value unknown[VIEW_REFERENCES_MOST] = {{0}};

    part->armed = true;
    part->probe = number;
    if (part->collection == NULL) {
        part->first = true;
        part_hand_over(part, clock_now(CLOCK_MONOTONIC), unknown);
    } else if (part_is_wanted(part)) {
        part_switch_on(part);
    }
}

void part_release(struct part *part)
{
    part->armed = false;
    part->has_last = false;
    reading_forget(part);
    part_switch_off(part);
}

void part_answer(struct part *part)
{
    struct resident *resident = part->share->resident;
    struct view_value unknown[VIEW_REFERENCES_MOST] = {{0}};

    part->asked = part->collection != NULL;
    if (part->collection != NULL)
        part_read(part);
    if (part->collection != NULL && !part->asked)
        return; /* answered */
    part->asked = false;
    resident->calls.answer(resident->calls.context, part->share->row, part->entity,
                           clock_now(CLOCK_MONOTONIC) + (uint64_t)resident->wall, unknown);
}

/* If its sensor cannot evaluate the conditions as they are now, they are evaluated here. */
static void refilter(struct part *part)
{
    struct problem problem = {""};

    if (!part->how.filtered ||
        part->collector->refilter(part->collector->self, part->collection, &problem) == 0)
        return;
    part->how.filtered = false;
    if (problem.text[0] != '\0')
        resident_note(part->share->resident, "view %s: %s; all its records are read instead",
                      resident_view(part->share)->name, problem.text);
}

void resident_constants_changed(struct resident *resident, uint32_t view)
{
    for (size_t i = 0; i < resident->share_capacity; i++) {
        struct share *share = resident->shares[i];
        for (size_t k = 0;
             share != NULL && share->view == view && k < resident_view(share)->entity_count; k++) {
            struct part *part = &share->parts[k];
            if (part->collection == NULL || !part->on)
                continue;
            refilter(part);
            part->filter = (struct view_filter){false};
            part->first = true; /* the value that was refused so far may be accepted now */
            part_read(part);
        }
    }
}
