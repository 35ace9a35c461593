/* SPDX-License-Identifier: MIT */
/*
 * resident_begun.c: processes that have begun a short time ago: for how long they ran without sensors, which ended before they
 * were found, and which of these are known nevertheless, since sensors stood before they began.
 */
#include "monitor/resident_private.h"

#include "base/process.h"

#include <stdio.h>

struct begun *begun_find(struct resident *resident, pid_t pid)
{
    for (size_t i = 0; i < resident->begun_count; i++) {
        struct begun *begun = &resident->begun_list[(resident->begun_first + i) % BEGUN_MOST];
        if (begun->pid == pid)
            return begun;
    }
    return NULL;
}

/* The oldest make room; one that was not found until then counts as unseen. */
static struct begun *begun_add(struct resident *resident, pid_t pid)
{
    if (resident->begun_count == BEGUN_MOST) {
        const struct begun *oldest = &resident->begun_list[resident->begun_first];
        resident->unseen +=
            !oldest->seen && oldest->on == 0 && !instances_lives(resident->instances, oldest->pid);
        resident->begun_first = (resident->begun_first + 1) % BEGUN_MOST;
        resident->begun_count--;
    }
    struct begun *begun =
        &resident->begun_list[(resident->begun_first + resident->begun_count++) % BEGUN_MOST];
    *begun = (struct begun){.pid = pid};
    return begun;
}

static void count_start(struct resident *resident, const struct begun *begun)
{
    uint64_t late = begun->on - begun->time;

    resident->late_starts++;
    if (late > resident->latest_start)
        resident->latest_start = late;
}

/* A process that has ended: whether sensors that stood before it began have records of it. */
static bool is_held(const struct resident *resident, pid_t pid)
{
    for (size_t i = 0; i < resident->options.collector_count; i++)
        if (resident->collectors[i].holds != NULL &&
            resident->collectors[i].holds(resident->collectors[i].self, pid))
            return true;
    return false;
}

void begun_heard(void *context, const struct collected_beginning *beginning)
{
    struct resident *resident = context;
    const pid_t pid = beginning->pid;
    struct begun *begun = begun_find(resident, pid);

    if (!instances_may_begin(resident->instances, beginning->name, &beginning->file)) {
        if (begun != NULL) { /* it executes another program */
            resident->unseen += !begun->seen && begun->on == 0 && is_held(resident, pid);
            begun->seen = true;
        }
        return;
    }
    if (begun == NULL)
        begun = begun_add(resident, pid);
    else if (begun->time == 0 &&
             begun->on > beginning->time) /* it was found before this was heard */
        count_start(resident, &(struct begun){.time = beginning->time, .on = begun->on});
    begun->time = beginning->time;
    begun->covered = beginning->covered;
    begun->file = beginning->file;
    snprintf(begun->name, sizeof(begun->name), "%s", beginning->name);
    if (resident->scan > resident->scanned + SCAN_LEAST)
        resident->scan = resident->scanned + SCAN_LEAST;
}

bool begun_wants_only(const struct resident *resident)
{
    const struct view_file *file = resident->options.file;

    for (size_t i = 0; i < file->view_count; i++)
        for (size_t k = 0; k < file->views[i].entity_count; k++)
            if (file->views[i].entities[k].builtin == VIEW_PROGRAM &&
                file->views[i].entities[k].index == VIEW_ONLY)
                return true;
    return false;
}

/* One that has ended appears. */
static void insert_ended(struct resident *resident, const struct begun *begun, uint64_t now)
{
    instances_insert(resident->instances, begun->pid, begun->name, &begun->file);
    if (resident->scan > now + SCAN_LEAST)
        resident->scan = now + SCAN_LEAST;
}

bool begun_look(struct resident *resident, uint64_t now)
{
    size_t count = resident->begun_count;
    bool only = begun_wants_only(resident), alone = false;

    resident->begun_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct begun begun = resident->begun_list[(resident->begun_first + i) % BEGUN_MOST];
        bool seen = begun.seen || begun.on != 0 || instances_lives(resident->instances, begun.pid);
        uint64_t since = begun.time != 0 ? begun.time : begun.on;
        bool gone = !seen && !process_lives(begun.pid); /* or a zombie */
        bool held = gone && is_held(resident, begun.pid);
        bool waits = only && held &&
                     (alone || instances_has_other(resident->instances, begun.name, &begun.file));
        if (held && !waits) {
            insert_ended(resident, &begun, now);
            alone = only;
        } else if (gone && !held) {
            resident->unseen += !begun.covered;
        } else if (now < since + BEGUN_FOR) {
            resident->begun_list[(resident->begun_first + resident->begun_count++) % BEGUN_MOST] =
                begun;
        } else {
            resident->unseen += held; /* too many have ended, or one lives for long */
        }
    }
    return alone;
}

/* Its sensors are on; `since`: sensors that stand have been since then; 0: its own, now. */
void begun_sensed(struct resident *resident, pid_t pid, uint64_t since)
{
    struct begun *begun = begun_find(resident, pid);
    bool known = begun != NULL;

    if (known && begun->on != 0)
        return;
    if (!known)
        begun = begun_add(resident, pid);
    begun->on = since != 0 ? since : clock_now(CLOCK_MONOTONIC);
    if (known && begun->on > begun->time)
        count_start(resident, begun);
}

bool begun_waits(const struct resident *resident)
{
    for (size_t i = 0; i < resident->begun_count; i++) {
        const struct begun *begun = &resident->begun_list[(resident->begun_first + i) % BEGUN_MOST];
        if (!begun->seen && begun->on == 0 && is_held(resident, begun->pid))
            return true;
    }
    return false;
}

uint64_t begun_until(const struct resident *resident, uint64_t now)
{
    uint64_t until = now;

    for (size_t i = 0; i < resident->begun_count; i++) {
        const struct begun *begun = &resident->begun_list[(resident->begun_first + i) % BEGUN_MOST];
        bool seeks = !begun->seen || instances_lives(resident->instances, begun->pid);
        if (begun->time != 0 && begun->time < until && begun->on == 0 && seeks &&
            is_held(resident, begun->pid))
            until = begun->time;
    }
    return until;
}
