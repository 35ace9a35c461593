/* SPDX-License-Identifier: MIT */
/*
 * identities.c: stores the identity records of every origin, to be found by number.
 *
 *      (kind, origin, number) --intern--> index --> entries[index] --> copy of the latest record
 *      paths and streams: the same, in tables of their own, as they can be forgotten
 *      (device, inode) of an image's file ------------------> its module
 *      (module or image: its index, address) --intern-------> its procedure
 *      (user or cgroup: the index of its number) -----------> its name
 *      process: its number ----------------------------------> its command line, forgotten with its first stream
 *
 * Numbers come from a file and may have any value: nothing is sized by them.
 */
#include "event/event.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Copies of records, by interned index. */
struct entries {
    struct intern keys;
    void **records;
    size_t capacity;
};

/* The users that still need a record. */
enum needed_by {
    NEEDED_BY_FIRST = 1,  /* the user that added it */
    NEEDED_BY_SECOND = 2, /* identities_keep_path */
};

/* A free list: each piece of memory begins with the address of the next. */
struct spare {
    void *first; /* NULL: none */
};

/* Copies of records of one type that can be forgotten. */
struct passing {
    struct entries entries;
    uint8_t *needed; /* by index: bits of enum needed_by */
    size_t needed_capacity;
    struct spare whole;
    struct spare nameless; /* pieces without space for a name: kept_size() */
    uint32_t forgotten;    /* keys without a record */
};

struct identities {
    struct arena memory; /* of the copies */
    struct passing paths;
    struct passing streams;
    struct passing commands; /* NAMEs, by the number of the process */
    bool hides_secrets;      /* in them */
    /* [IDENTITIES_FADING] keys of ended paths and streams, used in rotation; NULL: none yet */
    uint64_t *fading;
    uint32_t fading_next;
    struct entries numbered;
    struct entries files;       /* modules, by a hash of device and inode */
    struct entries procedures;  /* by a hash of module or image and address */
    struct intern long_numbers; /* 64-bit numbers: their index here stands for them in `numbered` */
};

static void entries_done(struct entries *entries)
{
    free(entries->records);
    intern_done(&entries->keys);
}

static void passing_done(struct passing *passing)
{
    entries_done(&passing->entries);
    free(passing->needed);
}

/* NUL-terminates the texts that are returned as strings. */
static void end_text(struct record_header *header)
{
    if (header->id == EVENT_NAME)
        ((struct name_record *)header)->name[NAME_SIZE - 1] = '\0';
    if (header->id == EVENT_IMAGE)
        ((struct image_record *)header)->name[IMAGE_NAME_SIZE - 1] = '\0';
}

static bool is_nameless(const struct record_header *header)
{
    return header->id == EVENT_PATH && !path_may_have_name((const struct path_record *)header);
}

/* The number of bytes that are stored. The name is half of a PATH record, and most paths cannot have one. */
static size_t kept_size(const struct record_header *header)
{
    return is_nameless(header) ? offsetof(struct path_record, name) : event_size(header->id);
}

/* Stores a copy of the record. It replaces an older one with the same key, which has the same type and size. */
static int keep_record(struct identities *identities, struct entries *entries, uint64_t key,
                       const struct record_header *header)
{
    size_t size = kept_size(header);
    int64_t index = intern_add(&entries->keys, key);

    if (index < 0)
        return (int)index;
    if (array_reserve(&entries->records, &entries->capacity, (size_t)index + 1,
                      sizeof(*entries->records)) < 0)
        return -ENOMEM;
    if (entries->records[index] == NULL) {
        entries->records[index] = arena_allocate(&identities->memory, size);
        if (entries->records[index] == NULL)
            return -ENOMEM;
    }
    memcpy(entries->records[index], header, size);
    end_text(entries->records[index]);
    return 0;
}

static const void *entries_get(const struct entries *entries, uint64_t key)
{
    int64_t index = intern_find(&entries->keys, key);

    /* After an -ENOMEM a key may exist without its record. */
    return index < 0 || (size_t)index >= entries->capacity ? NULL : entries->records[index];
}

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
    passing_done(&identities->paths);
    passing_done(&identities->streams);
    passing_done(&identities->commands);
    free(identities->fading);
    entries_done(&identities->numbered);
    entries_done(&identities->files);
    entries_done(&identities->procedures);
    intern_done(&identities->long_numbers);
    arena_done(&identities->memory);
    free(identities);
}

/* Origins are traces named on a command line: 2^24 is never reached (trace_open refuses more). */
static uint64_t key_of(enum event_id id, uint32_t origin, uint32_t number)
{
    return (uint64_t)id << 56 | (uint64_t)(origin & 0xffffff) << 32 | number;
}

static uint32_t number_of(const struct record_header *header)
{
    switch (header->id) {
    case EVENT_STREAM:
        return header->stream;
    case EVENT_PATH:
        return ((const struct path_record *)header)->path;
    case EVENT_IMAGE:
        return ((const struct image_record *)header)->image;
    case EVENT_MODULE:
        return ((const struct module_record *)header)->module;
    default:
        return 0;
    }
}

static bool is_numbered(unsigned id)
{
    return id == EVENT_IMAGE || id == EVENT_MACHINE || id == EVENT_MODULE;
}

/* ---- what can be forgotten ---- */

static struct passing *passing_of(struct identities *identities, unsigned id)
{
    return id == EVENT_PATH ? &identities->paths : id == EVENT_STREAM ? &identities->streams : NULL;
}

static struct spare *spare_of(struct passing *passing, const struct record_header *header)
{
    return is_nameless(header) ? &passing->nameless : &passing->whole;
}

/* Returns NULL if the list is empty. */
static void *take_spare(struct spare *spare)
{
    void *piece = spare->first;

    if (piece != NULL)
        memcpy(&spare->first, piece, sizeof(spare->first));
    return piece;
}

static void give_spare(struct spare *spare, void *piece)
{
    memcpy(piece, &spare->first, sizeof(spare->first));
    spare->first = piece;
}

static int keep_passing(struct identities *identities, struct passing *passing, uint64_t key,
                        const struct record_header *header)
{
    struct entries *entries = &passing->entries;
    uint32_t known = entries->keys.count;
    int64_t index = intern_add(&entries->keys, key);

    if (index < 0)
        return (int)index;
    if (array_reserve(&entries->records, &entries->capacity, (size_t)index + 1,
                      sizeof(*entries->records)) < 0 ||
        array_reserve(&passing->needed, &passing->needed_capacity, (size_t)index + 1,
                      sizeof(*passing->needed)) < 0)
        return -ENOMEM;
    if (entries->records[index] == NULL && index < known && passing->forgotten > 0)
        passing->forgotten--;
    passing->needed[index] |= NEEDED_BY_FIRST;
    if (entries->records[index] == NULL)
        entries->records[index] = take_spare(spare_of(passing, header));
    else if (kept_size(entries->records[index]) != kept_size(header))
        return 0; /* a path keeps its kind, and callers may hold this pointer */
    return keep_record(identities, entries, key, header);
}

/* Rebuilds the table without the forgotten keys. The records do not move. */
static void clear_forgotten(struct passing *passing)
{
    struct entries *entries = &passing->entries;
    uint32_t count = entries->keys.count;
    uint32_t kept = 0;
    struct intern keys = {0};

    for (uint32_t i = 0; i < count; i++)
        if (entries->records[i] != NULL && intern_add(&keys, entries->keys.keys[i]) < 0) {
            intern_done(&keys); /* try again later */
            return;
        }
    for (uint32_t i = 0; i < count; i++)
        if (entries->records[i] != NULL) {
            passing->needed[kept] = passing->needed[i];
            entries->records[kept++] = entries->records[i];
        }
    memset(passing->needed + kept, 0, passing->needed_capacity - kept);
    memset(entries->records + kept, 0, (entries->capacity - kept) * sizeof(*entries->records));
    intern_done(&entries->keys);
    entries->keys = keys;
    passing->forgotten = 0;
}

#define FORGOTTEN_LEAST 1024 /* keys without a record are removed when there are this many ... */

/* The index of a key that has a record, or -ENOENT. */
static int64_t find_passing(const struct passing *passing, uint64_t key)
{
    int64_t index = intern_find(&passing->entries.keys, key);

    return entries_get(&passing->entries, key) == NULL ? -ENOENT : index;
}

/* ... and they are an eighth of all keys. */
static void forget(struct passing *passing, uint64_t key, enum needed_by whom)
{
    struct entries *entries = &passing->entries;
    int64_t index = find_passing(passing, key);

    if (index < 0)
        return;
    passing->needed[index] &= (uint8_t)~whom;
    if (passing->needed[index] != 0)
        return;
    give_spare(spare_of(passing, entries->records[index]), entries->records[index]);
    entries->records[index] = NULL;
    if (++passing->forgotten >= FORGOTTEN_LEAST && passing->forgotten * 8 >= entries->keys.count &&
        entries->keys.count <= entries->capacity)
        clear_forgotten(passing);
}

/* The key of the command line of the process whose first stream has this key. */
static uint64_t key_of_command(uint64_t key_of_stream)
{
    return (key_of_stream & ~(0xffULL << 56)) | (uint64_t)EVENT_NAME << 56;
}

static void forget_key(struct identities *identities, uint64_t key)
{
    struct passing *passing = passing_of(identities, (unsigned)(key >> 56));

    if (passing != NULL) /* 0: an unused entry of `fading` */
        forget(passing, key, NEEDED_BY_FIRST);
    if (passing == &identities->streams)
        forget(&identities->commands, key_of_command(key), NEEDED_BY_FIRST);
}

static void fade(struct identities *identities, uint64_t key)
{
    if (identities->fading == NULL)
        identities->fading = calloc(IDENTITIES_FADING, sizeof(*identities->fading));
    if (identities->fading == NULL) {
        forget_key(identities, key);
        return;
    }
    uint64_t *oldest = &identities->fading[identities->fading_next++ % IDENTITIES_FADING];
    forget_key(identities, *oldest);
    *oldest = key;
}

void identities_forget_path(struct identities *identities, uint32_t origin, uint32_t path)
{
    forget_key(identities, key_of(EVENT_PATH, origin, path));
}

void identities_keep_path(struct identities *identities, uint32_t origin, uint32_t path)
{
    struct passing *paths = &identities->paths;
    int64_t index = find_passing(paths, key_of(EVENT_PATH, origin, path));

    if (index >= 0)
        paths->needed[index] |= NEEDED_BY_SECOND;
}

void identities_release_path(struct identities *identities, uint32_t origin, uint32_t path)
{
    forget(&identities->paths, key_of(EVENT_PATH, origin, path), NEEDED_BY_SECOND);
}

void identities_fade_path(struct identities *identities, uint32_t origin, uint32_t path)
{
    fade(identities, key_of(EVENT_PATH, origin, path));
}

void identities_fade_stream(struct identities *identities, uint32_t origin, uint32_t stream)
{
    fade(identities, key_of(EVENT_STREAM, origin, stream));
}

void identities_fade(struct identities *identities, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;

    if (record->header.id == EVENT_TERMINATION)
        identities_fade_stream(identities, event->origin, record->header.stream);
    if (record->header.id == EVENT_DESTROYPATH && (event->absent & EVENT_BODY_FIELD_BIT(0)) == 0)
        identities_fade_path(identities, event->origin, record->message.path);
}

/* ---- names ---- */

/* Users and cgroups share one numbering: the last bit is 1 for cgroups. Returns -ENOENT if there is no such index. */
static int64_t name_number(int64_t index, uint32_t kind)
{
    if (index < 0 || index > INT32_MAX || (kind != NAME_USER && kind != NAME_CGROUP))
        return -ENOENT;
    return index << 1 | (kind == NAME_CGROUP);
}

/* Rules and objects have the numbers that name_number does not reach. */
static uint32_t rule_number(uint64_t number)
{
    return 0xc0000000u | ((uint32_t)number & 0xffffff);
}

static uint32_t object_number(uint64_t number)
{
    return 0xc1000000u | ((uint32_t)number & 0xffffff);
}

static const struct name_record *find_command(const struct identities *identities, uint32_t origin,
                                              uint32_t process)
{
    return entries_get(&identities->commands.entries, key_of(EVENT_NAME, origin, process));
}

static int add_command(struct identities *identities, uint32_t origin,
                       const struct name_record *name)
{
    struct name_record copy;

    if (name->number > UINT32_MAX)
        return 0;
    if (identities->hides_secrets) {
        copy = *name;
        copy.name[NAME_SIZE - 1] = '\0';
        command_hide_secrets(copy.name);
        name = &copy;
    }
    return keep_passing(identities, &identities->commands,
                        key_of(EVENT_NAME, origin, (uint32_t)name->number), &name->header);
}

void identities_hide_secrets(struct identities *identities)
{
    identities->hides_secrets = true;
}

/* A process begins with the command line of its creator. */
static int inherit_command(struct identities *identities, uint32_t origin,
                           const struct stream_record *stream)
{
    const struct stream_record *creator =
        stream->header.stream == stream->process && stream->parent != 0 &&
                find_command(identities, origin, stream->process) == NULL
            ? identities_stream(identities, origin, stream->parent)
            : NULL;
    const struct name_record *command =
        creator == NULL ? NULL : find_command(identities, origin, creator->process);

    if (command == NULL)
        return 0;
    struct name_record copy = *command;
    copy.number = stream->process;
    return add_command(identities, origin, &copy);
}

static int add_name(struct identities *identities, uint32_t origin, const struct name_record *name)
{
    if (name->kind == NAME_COMMAND)
        return add_command(identities, origin, name);
    if (name->kind == NAME_RULE)
        return keep_record(identities, &identities->numbered,
                           key_of(EVENT_NAME, origin, rule_number(name->number)), &name->header);
    if (name->kind == NAME_OBJECT)
        return keep_record(identities, &identities->numbered,
                           key_of(EVENT_NAME, origin, object_number(name->number)), &name->header);
    if (name->kind == NAME_UNMETERED || name->kind == NAME_SHARED)
        return 0; /* no record refers to it */
    int64_t index = intern_add(&identities->long_numbers, name->number);
    int64_t number = name_number(index, name->kind);

    if (index < 0)
        return (int)index;
    return number < 0 ? 0
                      : keep_record(identities, &identities->numbered,
                                    key_of(EVENT_NAME, origin, (uint32_t)number), &name->header);
}

/* ---- where procedures are ---- */

/* A file has too many parts for a 64-bit key: the key is a hash, and the caller compares what it finds. */
static uint64_t key_of_file(uint32_t origin, uint32_t device, uint64_t inode)
{
    uint64_t hash = (uint64_t)origin << 32 | device;

    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ULL + inode;
    return (hash ^ hash >> 32) * 0x94d049bb133111ebULL;
}

static const struct module_record *find_file(const struct identities *identities, uint32_t origin,
                                             const struct image_record *image)
{
    const struct module_record *module =
        entries_get(&identities->files, key_of_file(origin, image->device, image->inode));

    return module != NULL && module->device == image->device && module->inode == image->inode
               ? module
               : NULL;
}

/* An address in a module, or for a library's procedure a PC in an image. */
static uint64_t key_of_address(enum event_id id, uint32_t origin, uint32_t number, uint64_t address)
{
    const uint64_t place[] = {key_of(id, origin, number), address};

    return hash_bytes(0, place, sizeof(place));
}

static int add_procedure(struct identities *identities, uint32_t origin,
                         const struct procedure_record *procedure)
{
    bool own = procedure->image == 0;
    uint64_t key = key_of_address(own ? EVENT_MODULE : EVENT_IMAGE, origin,
                                  own ? procedure->module : procedure->image, procedure->address);

    return keep_record(identities, &identities->procedures, key, &procedure->header);
}

int identities_add(struct identities *identities, const struct event *event)
{
    const struct record_header *header = event->header;
    const struct module_record *module = (const struct module_record *)header;
    int result = 0;

    struct passing *passing = passing_of(identities, header->id);
    if (header->id == EVENT_STREAM)
        result = inherit_command(identities, event->origin, (const struct stream_record *)header);
    if (result == 0 && passing != NULL)
        result = keep_passing(identities, passing,
                              key_of(header->id, event->origin, number_of(header)), header);
    if (is_numbered(header->id))
        result = keep_record(identities, &identities->numbered,
                             key_of(header->id, event->origin, number_of(header)), header);
    if (result == 0 && header->id == EVENT_MODULE)
        result = keep_record(identities, &identities->files,
                             key_of_file(event->origin, module->device, module->inode), header);
    if (header->id == EVENT_PROCEDURE)
        result = add_procedure(identities, event->origin, (const struct procedure_record *)header);
    if (header->id == EVENT_NAME)
        result = add_name(identities, event->origin, (const struct name_record *)header);
    return result;
}

static const void *find(const struct identities *identities, enum event_id id, uint32_t origin,
                        uint32_t number)
{
    return entries_get(&identities->numbered, key_of(id, origin, number));
}

const struct machine_record *identities_machine(const struct identities *identities,
                                                uint32_t origin)
{
    return find(identities, EVENT_MACHINE, origin, 0);
}

const struct stream_record *identities_stream(const struct identities *identities, uint32_t origin,
                                              uint32_t stream)
{
    return entries_get(&identities->streams.entries, key_of(EVENT_STREAM, origin, stream));
}

const struct path_record *identities_path(const struct identities *identities, uint32_t origin,
                                          uint32_t path)
{
    return entries_get(&identities->paths.entries, key_of(EVENT_PATH, origin, path));
}

const struct image_record *identities_image(const struct identities *identities, uint32_t origin,
                                            uint32_t image)
{
    return find(identities, EVENT_IMAGE, origin, image);
}

/* The procedure at an address of a module's own text, or at a PC in an image's libraries. */
static const struct procedure_record *find_procedure(const struct identities *identities,
                                                     enum event_id id, uint32_t origin,
                                                     uint32_t number, uint64_t address)
{
    const struct procedure_record *procedure =
        entries_get(&identities->procedures, key_of_address(id, origin, number, address));

    return procedure != NULL && procedure->address == address ? procedure : NULL;
}

const struct procedure_record *identities_procedure(const struct identities *identities,
                                                    uint32_t origin, uint32_t stream, uint64_t pc,
                                                    const struct module_record **ret_module)
{
    const struct stream_record *of = identities_stream(identities, origin, stream);

    return of == NULL ? NULL
                      : identities_procedure_of(identities, origin, of->image, pc, ret_module);
}

const struct procedure_record *identities_procedure_of(const struct identities *identities,
                                                       uint32_t origin, uint32_t number,
                                                       uint64_t pc,
                                                       const struct module_record **ret_module)
{
    const struct image_record *image = identities_image(identities, origin, number);
    const struct procedure_record *procedure = NULL;

    if (image == NULL)
        return NULL;
    const struct module_record *module = find_file(identities, origin, image);
    if (module != NULL)
        procedure = find_procedure(identities, EVENT_MODULE, origin, module->module,
                                   pc - image->load + module->text);
    if (procedure == NULL)
        procedure = find_procedure(identities, EVENT_IMAGE, origin, number, pc);
    if (procedure != NULL && ret_module != NULL)
        *ret_module = find(identities, EVENT_MODULE, origin, procedure->module);
    return procedure;
}

static const char *find_name(const struct identities *identities, enum name_kind kind,
                             uint32_t origin, uint64_t number)
{
    int64_t known = name_number(intern_find(&identities->long_numbers, number), kind);
    const struct name_record *record =
        known < 0 ? NULL : find(identities, EVENT_NAME, origin, (uint32_t)known);

    return record == NULL || record->name[0] == '\0' ? NULL : record->name;
}

const char *identities_rule(const struct identities *identities, uint32_t origin, uint32_t number)
{
    const struct name_record *record = find(identities, EVENT_NAME, origin, rule_number(number));

    return record == NULL ? NULL : record->name;
}

enum wait_object identities_object(const struct identities *identities, uint32_t origin,
                                   uint32_t number, const char **ret_name)
{
    const struct name_record *record =
        number == 0 ? NULL : find(identities, EVENT_NAME, origin, object_number(number));

    *ret_name = record == NULL || record->name[0] == '\0' ? NULL : record->name;
    return record == NULL || record->what >= WAIT_ON_END ? WAIT_ON_NOT_KNOWN
                                                         : (enum wait_object)record->what;
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

const char *identities_command(const struct identities *identities, uint32_t origin,
                               uint32_t process)
{
    const struct name_record *record = find_command(identities, origin, process);

    return record == NULL || record->name[0] == '\0' ? NULL : record->name;
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

bool process_is_meant(const char *asked, uint32_t pid, const char name[STREAM_NAME_SIZE])
{
    char number[16];

    snprintf(number, sizeof(number), "%" PRIu32, pid);
    return strcmp(asked, number) == 0 || strncmp(asked, name, STREAM_NAME_SIZE - 1) == 0;
}
