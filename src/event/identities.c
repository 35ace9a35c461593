/* SPDX-License-Identifier: MIT */
/*
 * identities.c: remembers the identity records of every origin, found again by number.
 *
 *      (kind, origin, number) --intern--> index --> entries[index] --> copy of the latest record
 *
 * Numbers come from a file and may be anything: nothing is sized by them.
 */
#include "event/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct identities {
    struct intern numbers;
    struct intern long_numbers; /* of 64 bits: their index here stands for them in `numbers` */
    void **entries;             /* by interned index */
    size_t capacity;
};

int identities_new(struct identities **ret_identities)
{
    struct identities *identities = calloc(1, sizeof(*identities));

    if (identities == NULL)
        return -ENOMEM;
    *ret_identities = identities;
    return 0;
}

void identities_free(struct identities *identities)
{
    if (identities == NULL)
        return;
    for (uint32_t index = 0; index < identities->numbers.count; index++)
        free(identities->entries[index]);
    free(identities->entries);
    intern_done(&identities->numbers);
    intern_done(&identities->long_numbers);
    free(identities);
}

/* Origins are traces named on a command line: 2^24 is never reached (trace_open refuses more). */
static uint64_t key_of(enum event_id id, uint32_t origin, uint32_t number)
{
    return (uint64_t)id << 56 | (uint64_t)(origin & 0xffffff) << 32 | number;
}

/* Users and cgroups are numbered alike: the last bit tells them apart. -ENOENT: no such index. */
static int64_t name_number(int64_t index, uint32_t kind)
{
    if (index < 0 || index > INT32_MAX || (kind != NAME_USER && kind != NAME_CGROUP))
        return -ENOENT;
    return index << 1 | (kind == NAME_CGROUP);
}

/* Below 0: out of memory, or the record says nothing. */
static int64_t number_of(struct identities *identities, const struct record_header *header)
{
    const struct name_record *name = (const struct name_record *)header;
    int64_t index;

    switch (header->id) {
    case EVENT_STREAM:
        return header->stream;
    case EVENT_PATH:
        return ((const struct path_record *)header)->path;
    case EVENT_IMAGE:
        return ((const struct image_record *)header)->image;
    case EVENT_NAME:
        index = intern_add(&identities->long_numbers, name->number);
        return index < 0 ? index : name_number(index, name->kind);
    default:
        return 0;
    }
}

static bool is_identity(unsigned id)
{
    return id == EVENT_STREAM || id == EVENT_PATH || id == EVENT_IMAGE || id == EVENT_MACHINE ||
           id == EVENT_NAME;
}

int identities_add(struct identities *identities, const struct event *event)
{
    const struct record_header *header = event->header;

    if (!is_identity(header->id))
        return 0;
    size_t size = event_size(header->id);
    int64_t number = number_of(identities, header);
    if (number < 0)
        return number == -ENOENT ? 0 : (int)number;
    int64_t index =
        intern_add(&identities->numbers, key_of(header->id, event->origin, (uint32_t)number));
    if (index < 0)
        return (int)index;
    if (array_reserve(&identities->entries, &identities->capacity, (size_t)index + 1,
                      sizeof(*identities->entries)) < 0)
        return -ENOMEM;
    if (identities->entries[index] == NULL) {
        identities->entries[index] = malloc(size);
        if (identities->entries[index] == NULL)
            return -ENOMEM;
    }
    memcpy(identities->entries[index], header, size);
    /* These are handed out as texts. */
    if (header->id == EVENT_NAME)
        ((struct name_record *)identities->entries[index])->name[NAME_SIZE - 1] = '\0';
    if (header->id == EVENT_IMAGE)
        ((struct image_record *)identities->entries[index])->name[IMAGE_NAME_SIZE - 1] = '\0';
    return 0;
}

static const void *find(const struct identities *identities, enum event_id id, uint32_t origin,
                        uint32_t number)
{
    int64_t index = intern_find(&identities->numbers, key_of(id, origin, number));

    /* After an -ENOMEM a number may be known without its entry. */
    return index < 0 || (size_t)index >= identities->capacity ? NULL : identities->entries[index];
}

const struct machine_record *identities_machine(const struct identities *identities,
                                                uint32_t origin)
{
    return find(identities, EVENT_MACHINE, origin, 0);
}

const struct stream_record *identities_stream(const struct identities *identities, uint32_t origin,
                                              uint32_t stream)
{
    return find(identities, EVENT_STREAM, origin, stream);
}

const struct path_record *identities_path(const struct identities *identities, uint32_t origin,
                                          uint32_t path)
{
    return find(identities, EVENT_PATH, origin, path);
}

const struct image_record *identities_image(const struct identities *identities, uint32_t origin,
                                            uint32_t image)
{
    return find(identities, EVENT_IMAGE, origin, image);
}

static const char *find_name(const struct identities *identities, enum name_kind kind,
                             uint32_t origin, uint64_t number)
{
    int64_t known = name_number(intern_find(&identities->long_numbers, number), kind);
    const struct name_record *record =
        known < 0 ? NULL : find(identities, EVENT_NAME, origin, (uint32_t)known);

    return record == NULL || record->name[0] == '\0' ? NULL : record->name;
}

const char *identities_user_name(const struct identities *identities, uint32_t origin,
                                 uint32_t user)
{
    return find_name(identities, NAME_USER, origin, user);
}

const char *identities_cgroup_name(const struct identities *identities, uint32_t origin,
                                   uint64_t cgroup)
{
    return find_name(identities, NAME_CGROUP, origin, cgroup);
}

const char *identities_program(const struct identities *identities, uint32_t origin, uint32_t image)
{
    const struct image_record *record = identities_image(identities, origin, image);

    if (record == NULL)
        return NULL;
    const char *slash = strrchr(record->name, '/');
    const char *program = slash == NULL ? record->name : slash + 1;
    return *program == '\0' ? NULL : program;
}
