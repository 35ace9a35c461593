/* SPDX-License-Identifier: MIT */
/* carried.c: what a later file of a trace must say again. See carried.h. */
#include "trace/carried.h"

#include "base/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Records of one type by their numbers. An entry begins with its record; the ID of a free one is 0. */
struct shelf {
    struct lookup numbers;
    struct pool pool;
    size_t size; /* of a record */
};

/* Names and images outlive their use by one file: whoever records them says them again after that. */
struct used {
    bool now;     /* since the last file began, or by a stream */
    bool always;  /* a cgroup whose limits are recorded */
    uint8_t idle; /* files for which nothing has used it */
};

struct kept_name {
    struct name_record record;
    struct used used;
};

struct kept_image {
    struct image_record record;
    struct used used;
};

#define IDLE_MOST 2

enum { STREAMS, PATHS, IMAGES, NAMES, COMMANDS, FLAGS, SHELVES };

struct carried {
    struct shelf shelves[SHELVES];
};

/* ---- shelves ---- */

static void *find(const struct shelf *shelf, uint64_t number)
{
    uint32_t index = lookup_find(&shelf->numbers, number);

    return index == LOOKUP_NONE ? NULL : pool_at(&shelf->pool, index);
}

/* The entry of that number, made if there is none. NULL: out of memory. */
static void *find_or_add(struct shelf *shelf, uint64_t number)
{
    void *found = find(shelf, number);

    if (found != NULL)
        return found;
    int64_t index = pool_take(&shelf->pool);
    if (index < 0)
        return NULL;
    if (lookup_set(&shelf->numbers, number, (uint32_t)index) < 0) {
        pool_give(&shelf->pool, (uint32_t)index);
        return NULL;
    }
    return pool_at(&shelf->pool, (uint32_t)index);
}

static void drop(struct shelf *shelf, uint64_t number)
{
    uint32_t index = lookup_find(&shelf->numbers, number);

    if (index == LOOKUP_NONE)
        return;
    lookup_remove(&shelf->numbers, number);
    pool_give(&shelf->pool, index);
}

/* The next entry from `*at` on; NULL: there is none. */
static void *next_entry(const struct shelf *shelf, uint32_t *at)
{
    while (*at < shelf->pool.used) {
        struct record_header *entry = pool_at(&shelf->pool, (*at)++);
        if (entry->id != 0)
            return entry;
    }
    return NULL;
}

static int keep(struct shelf *shelf, uint64_t number, const struct record_header *header)
{
    void *entry = find_or_add(shelf, number);

    if (entry == NULL)
        return -ENOMEM;
    memcpy(entry, header, shelf->size);
    return 0;
}

/* ---- names and images ---- */

static uint64_t name_key(uint32_t kind, uint64_t number)
{
    return (uint64_t)kind << 60 ^ number;
}

static int keep_image(struct carried *carried, const struct image_record *record)
{
    struct shelf *shelf = &carried->shelves[IMAGES];
    int result = keep(shelf, record->image, &record->header);

    if (result == 0)
        ((struct kept_image *)find(shelf, record->image))->used = (struct used){.now = true};
    return result;
}

static int keep_name(struct carried *carried, const struct name_record *record)
{
    struct shelf *shelf = &carried->shelves[NAMES];
    uint64_t key = name_key(record->kind, record->number);

    if (record->kind == NAME_COMMAND)
        return keep(&carried->shelves[COMMANDS], record->number, &record->header);
    int result = keep(shelf, key, &record->header);
    if (result == 0)
        ((struct kept_name *)find(shelf, key))->used =
            (struct used){.now = true,
                          .always = record->kind == NAME_RULE || record->kind == NAME_OBJECT ||
                                    record->kind == NAME_UNMETERED || record->kind == NAME_SHARED};
    return result;
}

/* A CGROUP may come again after any time, and only the first one has a NAME. */
static void note_cgroup(struct carried *carried, const struct cgroup_record *cgroup)
{
    struct kept_name *name = find(&carried->shelves[NAMES], name_key(NAME_CGROUP, cgroup->cgroup));

    if (name != NULL)
        name->used.always = true;
}

static void use_name(struct carried *carried, uint32_t kind, uint64_t number)
{
    struct kept_name *name = find(&carried->shelves[NAMES], name_key(kind, number));

    if (name != NULL)
        name->used.now = true;
}

static void use(struct carried *carried, const struct stream_record *stream)
{
    struct kept_image *image = find(&carried->shelves[IMAGES], stream->image);

    if (image != NULL)
        image->used.now = true;
    use_name(carried, NAME_USER, stream->user);
    use_name(carried, NAME_CGROUP, stream->cgroup);
}

/* Whether it is to be said again. */
static bool is_used(struct used *used)
{
    used->idle = used->now || used->always ? 0 : used->idle + 1;
    used->now = false;
    return used->idle < IDLE_MOST;
}

void carried_forget(struct carried *carried)
{
    struct kept_image *image;
    struct kept_name *name;
    struct stream_record *stream;

    for (uint32_t at = 0; (stream = next_entry(&carried->shelves[STREAMS], &at)) != NULL;)
        use(carried, stream);
    for (uint32_t at = 0; (image = next_entry(&carried->shelves[IMAGES], &at)) != NULL;)
        if (!is_used(&image->used))
            drop(&carried->shelves[IMAGES], image->record.image);
    for (uint32_t at = 0; (name = next_entry(&carried->shelves[NAMES], &at)) != NULL;)
        if (!is_used(&name->used))
            drop(&carried->shelves[NAMES], name_key(name->record.kind, name->record.number));
}

/* ---- streams ---- */

/* A new process has its creator's command line. */
static int inherit_command(struct carried *carried, const struct stream_record *stream)
{
    struct shelf *commands = &carried->shelves[COMMANDS];
    const struct stream_record *parent = find(&carried->shelves[STREAMS], stream->parent);
    const struct name_record *command = parent == NULL ? NULL : find(commands, parent->process);

    if (command == NULL || find(commands, stream->process) != NULL)
        return 0;
    struct name_record own = *command;
    own.number = stream->process;
    return keep(commands, own.number, &own.header);
}

static int keep_stream(struct carried *carried, const struct stream_record *stream)
{
    struct shelf *streams = &carried->shelves[STREAMS];
    const struct stream_record *known = find(streams, stream->header.stream);
    struct stream_record record = *stream;
    int result = 0;

    if (known == NULL && stream->header.stream == stream->process)
        result = inherit_command(carried, stream);
    if (known != NULL && record_proc_time(&stream->header) == 0) /* only its content is new */
        record.header.proc_time_and_pc = known->header.proc_time_and_pc;
    return result < 0 ? result : keep(streams, stream->header.stream, &record.header);
}

/* It has ended, or is not metered any longer. */
static void forget_process(struct carried *carried, uint32_t process)
{
    drop(&carried->shelves[STREAMS], process);
    drop(&carried->shelves[COMMANDS], process);
    drop(&carried->shelves[FLAGS], process);
}

/* The first thread of a process stays until the process ends: its name is the process's. */
static void end_stream(struct carried *carried, const struct record *record)
{
    struct shelf *streams = &carried->shelves[STREAMS];
    const struct stream_record *stream = find(streams, record->header.stream);

    if (stream == NULL)
        return;
    uint32_t process = stream->process;
    if (record->termination.last || process != record->header.stream)
        drop(streams, record->header.stream);
    if (record->termination.last)
        forget_process(carried, process);
}

/* A program that gains privilege is not metered. It has one thread: the others ended in its EXEC. */
static void leave_process(struct carried *carried, uint32_t number)
{
    const struct stream_record *stream = find(&carried->shelves[STREAMS], number);

    if (stream == NULL)
        return;
    uint32_t process = stream->process;
    drop(&carried->shelves[STREAMS], number);
    forget_process(carried, process);
}

static void note_cpu_time(struct carried *carried, const struct record_header *header)
{
    struct stream_record *stream = find(&carried->shelves[STREAMS], header->stream);
    uint64_t now = record_proc_time(header);

    if (stream == NULL || proc_time_used(record_proc_time(&stream->header), now) == 0)
        return;
    stream->header.proc_time_and_pc =
        (stream->header.proc_time_and_pc & ~PROC_TIME_MASK) | (now & PROC_TIME_MASK);
}

/* ---- paths ---- */

/* Positions are modulo 2^32. */
static void move_to(uint32_t *position, uint32_t next)
{
    if ((int32_t)(next - *position) > 0)
        *position = next;
}

/* A SEND or RECEIVE: the next one is behind it. The numbers of UDP's datagrams are the network's. */
static void move(struct carried *carried, const struct record *record)
{
    struct path_record *path = find(&carried->shelves[PATHS], record->message.path);

    if (path == NULL || path->kind == PATH_UDP || (record->header.flags & RECORD_END_OF_FILE))
        return;
    uint32_t next =
        record->message.offset + (kind_counts_messages(path->kind) ? 1 : record->message.bytes);
    move_to(record->header.id == EVENT_SEND ? &path->start_out : &path->start_in, next);
}

static int keep_path(struct carried *carried, const struct path_record *record)
{
    struct path_record path = *record;

    path.header.flags |= RECORD_OLDER;
    return keep(&carried->shelves[PATHS], record->path, &path.header);
}

/* ---- all ---- */

int carried_note(struct carried *carried, const struct record_header *header)
{
    const struct record *record = (const struct record *)header;

    switch (header->id) {
    case EVENT_STREAM:
        return keep_stream(carried, (const struct stream_record *)header);
    case EVENT_PATH:
        return keep_path(carried, (const struct path_record *)header);
    case EVENT_IMAGE:
        return keep_image(carried, (const struct image_record *)header);
    case EVENT_NAME:
        return keep_name(carried, (const struct name_record *)header);
    case EVENT_FLAGS:
        return keep(&carried->shelves[FLAGS], ((const struct flags_record *)header)->process,
                    header);
    case EVENT_CGROUP:
        note_cgroup(carried, (const struct cgroup_record *)header);
        return 0;
    case EVENT_TERMINATION:
        end_stream(carried, record);
        return 0;
    case EVENT_EXEC:
        if (record->exec.left)
            leave_process(carried, header->stream);
        break;
    case EVENT_DESTROYPATH:
        drop(&carried->shelves[PATHS], record->message.path);
        break;
    case EVENT_SEND:
    case EVENT_RECEIVE:
        move(carried, record);
        break;
    default:
        break;
    }
    if (record_is_of_stream(header))
        note_cpu_time(carried, header);
    return 0;
}

uint64_t carried_bytes(const struct carried *carried)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < SHELVES; i++)
        bytes += carried->shelves[i].numbers.count * carried->shelves[i].size;
    return bytes;
}

/* In the order in which they are said. */
static const uint8_t order[] = {FLAGS, NAMES, IMAGES, COMMANDS, STREAMS, PATHS};

int carried_each(struct carried *carried, uint64_t time,
                 int (*give)(void *context, const struct record_header *record), void *context)
{
    int result = 0;

    for (unsigned i = 0; i < sizeof(order) && result >= 0; i++) {
        const struct shelf *shelf = &carried->shelves[order[i]];
        struct record_header *record;
        for (uint32_t at = 0; result >= 0 && (record = next_entry(shelf, &at)) != NULL;) {
            record->time = time;
            result = give(context, record);
        }
    }
    return result;
}

int carried_new(struct carried **ret_carried)
{
    static const struct {
        size_t entry, record;
    } sizes[SHELVES] = {
        [STREAMS] = {sizeof(struct stream_record), sizeof(struct stream_record)},
        [PATHS] = {sizeof(struct path_record), sizeof(struct path_record)},
        [IMAGES] = {sizeof(struct kept_image), sizeof(struct image_record)},
        [NAMES] = {sizeof(struct kept_name), sizeof(struct name_record)},
        [COMMANDS] = {sizeof(struct name_record), sizeof(struct name_record)},
        [FLAGS] = {sizeof(struct flags_record), sizeof(struct flags_record)},
    };
    struct carried *carried = calloc(1, sizeof(*carried));

    if (carried == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < SHELVES; i++) {
        carried->shelves[i].pool.size = sizes[i].entry;
        carried->shelves[i].size = sizes[i].record;
    }
    *ret_carried = carried;
    return 0;
}

void carried_free(struct carried *carried)
{
    if (carried == NULL)
        return;
    for (unsigned i = 0; i < SHELVES; i++) {
        lookup_done(&carried->shelves[i].numbers);
        pool_done(&carried->shelves[i].pool);
    }
    free(carried);
}
