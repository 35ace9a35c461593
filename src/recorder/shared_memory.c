/* SPDX-License-Identifier: MIT */
/*
 * shared_memory.c: memory that several metered processes may write to. See shared_memory.h.
 *
 *      /proc/12/maps   7f12..  rw-s  00:01 2051  /dev/zero (deleted)   --> object 1, first seen in process 12
 *      /proc/13/maps   7f12..  rw-s  00:01 2051  /dev/zero (deleted)   --> NAME of 12, NAME of 13
 *
 * A mapping that only one process has is nothing to report. What a mapping of a device shows is not memory of processes.
 */
#include "recorder/shared_memory.h"

#include "base/mapping.h"
#include "base/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OBJECTS   4096u
#define MOST_PROCESSES 64u /* of one object: others are not named */

struct object {
    char name[NAME_SIZE];
    uint32_t processes[MOST_PROCESSES];
    pid_t pids[MOST_PROCESSES];
    uint32_t count; /* 0: unused */
};

/* ---- /proc ---- */

/* What is mapped, in a line of /proc/PID/maps; NULL: a device, or nothing that has a name. */
static char *mapped_name(char *line)
{
    char *name = strchr(line, '/');

    line[strcspn(line, "\n")] = '\0';
    if (name == NULL)
        name = strchr(line, '[');
    if (name == NULL || strstr(name, "anon_inode:") != NULL)
        return NULL;
    bool device = strncmp(name, "/dev/", 5) == 0 && strncmp(name, "/dev/shm/", 9) != 0 &&
                  strncmp(name, "/dev/zero", 9) != 0 && strncmp(name, "/dev/hugepages/", 15) != 0;
    return device ? NULL : name;
}

/* ---- objects ---- */

/* Whether a process that had it still lives. Otherwise the inode may be that of another file by now. */
static bool is_held(const struct object *object)
{
    for (uint32_t i = 0; i < object->count; i++)
        if (kill(object->pids[i], 0) == 0 || errno == EPERM)
            return true;
    return object->count == 0;
}

static struct object *find_or_add(struct shared_memory *shared, const struct file_identity *file,
                                  const char *name)
{
    const uint64_t parts[] = {file->device, file->inode};
    uint64_t key = hash_bytes(0, parts, sizeof(parts));
    uint32_t found = lookup_find(&shared->objects, key);

    if (found != LOOKUP_NONE && is_held(pool_at(&shared->list, found)))
        return pool_at(&shared->list, found);
    shared->list.size = sizeof(struct object);
    int64_t index = shared->made < MOST_OBJECTS ? pool_take(&shared->list) : -1;
    if (index < 0 || lookup_set(&shared->objects, key, (uint32_t)index) < 0)
        return NULL;
    shared->made++;
    struct object *object = pool_at(&shared->list, (uint32_t)index);
    memcpy(object->name, name, strnlen(name, NAME_SIZE));
    return object;
}

static void tell(struct shared_memory *shared, const struct object *object, uint32_t number,
                 uint32_t process)
{
    if (array_reserve(&shared->told, &shared->capacity, shared->count + 1UL,
                      sizeof(*shared->told)) < 0)
        return;
    struct name_record *name = &shared->told[shared->count++];
    *name = (struct name_record){
        .header = {.id = EVENT_NAME, .flags = RECORD_NO_STREAM},
        .number = (uint64_t)number << 32 | process,
        .kind = NAME_SHARED,
    };
    memcpy(name->name, object->name, sizeof(name->name));
}

static uint32_t number_of(const struct shared_memory *shared, const struct object *object)
{
    uint32_t number = 0;

    while (pool_at(&shared->list, number) != object)
        number++;
    return number + 1;
}

static void note(struct shared_memory *shared, struct object *object, uint32_t process, pid_t pid)
{
    for (uint32_t i = 0; i < object->count; i++)
        if (object->processes[i] == process)
            return;
    if (object->count == MOST_PROCESSES)
        return;
    object->pids[object->count] = pid;
    object->processes[object->count++] = process;
    if (object->count < 2)
        return;
    uint32_t number = number_of(shared, object);
    if (object->count == 2)
        tell(shared, object, number, object->processes[0]);
    tell(shared, object, number, process);
}

void shared_memory_look(struct shared_memory *shared, uint32_t process, pid_t pid)
{
    FILE *maps = process_maps(pid);
    struct mapping mapping;
    char *line = NULL;
    size_t size = 0;

    while (maps != NULL && getline(&line, &size, maps) > 0) {
        if (!mapping_read(line, &mapping) || !mapping.shared || !mapping.writable ||
            mapping.file.inode == 0)
            continue;
        const char *name = mapped_name(line);
        struct object *object = name == NULL ? NULL : find_or_add(shared, &mapping.file, name);
        if (object != NULL)
            note(shared, object, process, pid);
    }
    free(line);
    if (maps != NULL)
        fclose(maps);
}

bool shared_memory_next(struct shared_memory *shared, uint64_t time, struct name_record *ret_name)
{
    if (shared->taken == shared->count) {
        shared->taken = shared->count = 0;
        return false;
    }
    *ret_name = shared->told[shared->taken++];
    ret_name->header.time = time;
    return true;
}

void shared_memory_free(struct shared_memory *shared)
{
    if (shared == NULL)
        return;
    lookup_done(&shared->objects);
    pool_done(&shared->list);
    free(shared->told);
    free(shared);
}
