/* SPDX-License-Identifier: MIT */
/*
 * collector_standing.c: sensors that stand before the processes are there.
 *
 *      file /usr/bin/queued --> sensors, in every process that executes it      (one collection that stands)
 *                                   | records, by process id
 *                 process 812 ------+----> its collection
 *                 process 813, not found yet: held, until its collection takes them, even if it has ended meanwhile
 *                 process 814, no instance: dropped after 2 s, and muted in the kernel
 */
#include "monitor/collector_sensors.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- records ---- */

/* Returns whether there was memory. */
static bool append(struct records *records, const struct sensor_record *record)
{
    if (array_reserve(&records->list, &records->capacity, records->count + 1, sizeof(*record)) < 0)
        return false;
    records->list[records->count++] = *record;
    return true;
}

void standing_hold(struct sensing *sensing, const struct sensor_record *record)
{
    if (sensing->held.count >= HELD_MOST || !append(&sensing->held, record))
        sensing->unheld++;
}

/* All that has come so far, in order: what is read from now on is later. */
static void drain(struct sensing *sensing)
{
    struct sensor_record record;

    while (sensors_next(sensing->sensors, &record) > 0)
        if (!append(&sensing->queue, &record)) {
            sensing->unheld++;
            return;
        }
}

static bool is_of(const struct sensing *sensing, const struct sensor_record *record,
                  const struct collection *collection, pid_t pid)
{
    return record->command == SENSOR_NEW_VAL && (collection->wish.pid != 0 || record->pid == pid) &&
           sensing->by_number[record->sensor].collection == collection;
}

/* Moves what is of a process from one list to the other. Without memory it stays. */
static void move_records(const struct sensing *sensing, struct records *from,
                         const struct collection *collection, struct records *to)
{
    const struct collection *with =
        collection->standing != NULL ? collection->standing : collection;
    size_t kept = 0;

    for (size_t i = 0; i < from->count; i++)
        if (!is_of(sensing, &from->list[i], with, collection->wish.pid) ||
            !append(to, &from->list[i]))
            from->list[kept++] = from->list[i];
    from->count = kept;
}

void standing_take(struct sensing *sensing, const struct collection *collection,
                   struct records *ret_records)
{
    drain(sensing);
    *ret_records = (struct records){0};
    move_records(sensing, &sensing->held, collection, ret_records);
    move_records(sensing, &sensing->queue, collection, ret_records);
}

void standing_expire(struct sensing *sensing)
{
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    struct records *held = &sensing->held;
    size_t count = 0;

    while (count < held->count && held->list[count].time + HELD_FOR < now)
        count++;
    for (size_t i = 0; i < count; i++) {
        struct collection *standing = sensing->by_number[held->list[i].sensor].collection;
        bool first = true; /* of its process */
        for (size_t k = 0; k < i && first; k++)
            first = held->list[k].pid != held->list[i].pid;
        for (size_t k = 0; standing != NULL && first && k < standing->sensor_count; k++)
            sensor_mute(standing->sensors[k], held->list[i].pid, true);
        sensing->muted = true;
    }
    held->count -= count;
    memmove(held->list, held->list + count, held->count * sizeof(*held->list));
}

static bool has_waiting(const struct sensing *sensing, const struct records *records, pid_t pid)
{
    for (size_t i = 0; i < records->count; i++) {
        const struct sensor_record *record = &records->list[i];
        const struct collection *of = record->command == SENSOR_NEW_VAL
                                          ? sensing->by_number[record->sensor].collection
                                          : NULL;
        if (record->pid == pid && of != NULL && of->wish.pid == 0)
            return true;
    }
    return false;
}

bool standing_holds(void *self, pid_t pid)
{
    struct sensing *sensing = self;

    if (sensing->standing_count == 0)
        return false;
    drain(sensing); /* it may have ended just now */
    return has_waiting(sensing, &sensing->held, pid) || has_waiting(sensing, &sensing->queue, pid);
}

static uint64_t oldest_in(const struct sensing *sensing, const struct records *records)
{
    uint64_t oldest = 0;

    for (size_t i = 0; i < records->count; i++) {
        const struct sensor_record *record = &records->list[i];
        if (record->command != SENSOR_NEW_VAL)
            continue;
        const struct collection *of = sensing->by_number[record->sensor].collection;
        if (of != NULL && of->wish.pid == 0 && standing_taker(of, record->pid) == NULL &&
            (oldest == 0 || record->time < oldest))
            oldest = record->time;
    }
    return oldest;
}

uint64_t standing_oldest(void *self)
{
    struct sensing *sensing = self;

    if (sensing->standing_count == 0)
        return 0;
    drain(sensing);
    uint64_t held = oldest_in(sensing, &sensing->held);
    uint64_t queued = oldest_in(sensing, &sensing->queue);
    return held == 0 || (queued != 0 && queued < held) ? queued : held;
}

/* ---- those that stand ---- */

/* The identity of a file; inode 0: it cannot be asked. */
static struct file_identity identity_of(const char *path)
{
    struct stat status;

    return stat(path, &status) < 0
               ? (struct file_identity){0}
               : (struct file_identity){file_device(status.st_dev), status.st_ino};
}

static bool is_for(const struct collection *standing, const struct collect_wish *wish)
{
    return standing->wish.conditions == wish->conditions && standing->wish.entity == wish->entity;
}

static struct collection *find(const struct sensing *sensing, const struct collect_wish *wish,
                               const struct file_identity *file)
{
    for (size_t i = 0; i < sensing->standing_count; i++) {
        struct collection *standing = sensing->standing[i];
        if (is_for(standing, wish) && file_is_same(&standing->file, file))
            return standing;
    }
    return NULL;
}

static struct collection *find_in(const struct sensing *sensing, const struct records *records,
                                  const struct collect_wish *wish)
{
    for (size_t i = 0; i < records->count; i++) {
        struct collection *standing = sensing->by_number[records->list[i].sensor].collection;
        if (standing != NULL && is_for(standing, wish) &&
            is_of(sensing, &records->list[i], standing, wish->pid))
            return standing;
    }
    return NULL;
}

/* Of a process that has ended: the one that has records of it; without any, none of its program is wrong. */
static struct collection *find_ended(struct sensing *sensing, const struct collect_wish *wish)
{
    drain(sensing);
    struct collection *standing = find_in(sensing, &sensing->held, wish);
    if (standing == NULL)
        standing = find_in(sensing, &sensing->queue, wish);
    for (size_t i = 0; i < sensing->standing_count && standing == NULL; i++)
        if (is_for(sensing->standing[i], wish) && !sensing->standing[i]->failed)
            standing = sensing->standing[i];
    return standing;
}

static int switch_all(struct collection *standing, bool on, struct problem *problem)
{
    int result = 0;

    for (size_t i = 0; i < standing->sensor_count && result == 0; i++) {
        sensor_pass_next(standing->sensors[i]);
        result = sensor_switch(standing->sensors[i], on, problem);
    }
    standing->on = on && result == 0;
    standing->since = clock_now(CLOCK_MONOTONIC);
    return result;
}

static int make(struct sensing *sensing, struct collection *standing, const char *path,
                struct problem *problem)
{
    standing->program = calloc(1, sizeof(*standing->program));
    if (standing->program == NULL)
        return problem_set(problem, -ENOMEM, "out of memory");
    int result = sensor_program_open_file(path, &standing->program->opened, problem);
    if (result == 0)
        result = collection_fill_list(standing, problem);
    if (result == 0)
        result = collection_add_sensors(sensing, standing, problem);
    return result == 0 ? switch_all(standing, true, problem) : result;
}

static void undo(struct sensing *sensing, struct collection *standing)
{
    collection_remove_sensors(sensing, standing);
    if (standing->program != NULL)
        sensor_program_close(standing->program->opened);
    free(standing->program);
    standing->program = NULL;
}

/* Without places each store counts, which a process' own watchpoints find. Which process [2] will be is not known before. */
static bool may_stand(const struct sensing *sensing, const struct collect_wish *wish)
{
    const struct view_entity *entity = &wish->conditions->view->entities[wish->entity];

    return wish->standing && geteuid() == 0 && sensing_has_own_pids() && sensing->sensors != NULL &&
           collection_object(wish)->place_count > 0 &&
           (entity->index == VIEW_ONLY || entity->index == VIEW_EACH);
}

struct collection *standing_for(struct sensing *sensing, const struct collect_wish *wish,
                                const char *path, struct problem *problem)
{
    char executed[PATH_MAX];

    if (!may_stand(sensing, wish))
        return NULL;
    if (path == NULL) {
        snprintf(executed, sizeof(executed), "/proc/%d/exe", wish->pid);
        path = executed;
    }
    const struct file_identity file = identity_of(path);
    struct collection *standing =
        file.inode == 0 ? find_ended(sensing, wish) : find(sensing, wish, &file);
    if (standing != NULL || file.inode == 0)
        return standing == NULL || standing->failed ? NULL : standing;
    standing = calloc(1, sizeof(*standing));
    if (standing == NULL || array_reserve(&sensing->standing, &sensing->standing_capacity,
                                          sensing->standing_count + 1, sizeof(standing)) < 0) {
        free(standing);
        return NULL;
    }
    sensing->standing[sensing->standing_count++] = standing;
    *standing = (struct collection){.wish = *wish, .file = file};
    standing->wish.pid = 0;
    if (realpath(path, executed) != NULL)
        snprintf(standing->name, sizeof(standing->name), "%s", strrchr(executed, '/') + 1);
    struct problem why = {""};
    int result = make(sensing, standing, path, &why);
    standing->failed = result < 0;
    if (result == -ENOENT || result == -EINVAL)
        problem_set(problem, result, "%s", why.text);
    if (standing->failed)
        undo(sensing, standing);
    return standing->failed ? NULL : standing;
}

void standing_free_all(struct sensing *sensing)
{
    for (size_t i = 0; i < sensing->standing_count; i++) {
        undo(sensing, sensing->standing[i]);
        free(sensing->standing[i]);
    }
    free(sensing->standing);
    free(sensing->held.list);
    free(sensing->queue.list);
}

const char *standing_covers(const struct sensing *sensing, const struct file_identity *file,
                            uint64_t time)
{
    const char *name = NULL;

    for (size_t i = 0; i < sensing->standing_count; i++) {
        const struct collection *standing = sensing->standing[i];
        if (!file_is_same(&standing->file, file))
            continue;
        if (standing->failed || !standing->on || standing->since > time)
            return NULL;
        name = standing->name;
    }
    return name;
}

/* ---- takers ---- */

struct collection *standing_taker(const struct collection *standing, pid_t pid)
{
    struct collection *taker = standing->takers[(uint32_t)pid % TAKERS];

    while (taker != NULL && taker->wish.pid != pid)
        taker = taker->next;
    return taker;
}

void standing_leave(struct collection *collection)
{
    struct collection **at = &collection->standing->takers[(uint32_t)collection->wish.pid % TAKERS];

    while (*at != NULL && *at != collection)
        at = &(*at)->next;
    if (*at != NULL)
        *at = collection->next;
}

/* ---- struct collector ---- */

int standing_expect(void *self, const struct collect_wish *wish, const char *path,
                    struct problem *problem)
{
    struct problem why = {""};

    if (standing_for(self, wish, path, &why) != NULL)
        return 0;
    return problem_set(problem, why.text[0] != '\0' ? -EINVAL : -ENOTSUP, "%s", why.text);
}

void standing_rest(void *self, const struct view_conditions *conditions, bool off)
{
    struct sensing *sensing = self;

    for (size_t i = 0; i < sensing->standing_count; i++)
        if (sensing->standing[i]->wish.conditions == conditions && !sensing->standing[i]->failed)
            (void)switch_all(sensing->standing[i], !off, NULL);
}
