/* SPDX-License-Identifier: MIT */
/*
 * symbols.c: notes images, streams and PCs during a recording, and names the PCs at its end. See symbols.h.
 *
 *      stream number --streams--> note: image, numbers in /proc
 *      image number ---images---> image: the address of its text --> module: the open file
 *      a PC of the program is (module, offset in its text): one place for all processes that execute it
 *      a PC of a library is (image, PC) --mappings of the process--> (module, offset in the file)
 *
 * All tables are limited. What does not fit is counted among the PCs without a name.
 */
#include "symbols/symbols_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STREAMS_MOST  (1u << 20)
#define IMAGES_MOST   65535u /* an image's index (16 bits) and a PC (48 bits) make one 64-bit key */
#define MODULES_MOST  256u   /* each keeps a file open */
#define PLACES_MOST   (1u << 17)
#define MAPPINGS_KEPT 16u
#define READS_MOST    8u /* times an image's mappings are read: it may load libraries later */

#define NO_MODULE (-1)

/*
 * Numbers under which /proc may have a stream. Its own comes first, since a process whose main thread has ended has no
 * files there. In another PID namespace than the machine's, dpm sees only the inner number; the others are then those
 * of strangers or of nobody. So whatever is found must be the image's file, at its address.
 */
#define NUMBERS 3

struct stream_note {
    uint32_t image; /* index; IMAGES_MOST: not known */
    pid_t numbers[NUMBERS];
};

struct image {
    uint32_t number;
    uint64_t load;
    struct file_identity identity;
    int module;                  /* of its program, or NO_MODULE */
    struct image_record *record; /* kept until the STREAM that executes it */
    unsigned reads;              /* how often its mappings were read */
};

struct kept_mappings {
    uint32_t image; /* number; 0: none */
    struct mappings mappings;
};

struct symbols {
    struct intern stream_numbers;
    struct stream_note *streams;
    size_t stream_capacity;
    struct intern image_numbers;
    struct image *images;
    size_t image_capacity;
    struct intern program_places;
    struct intern other_places; /* of libraries, and of programs without a module */
    struct intern data_places;
    uint64_t *locks; /* [number of the object]: its address; 0: no lock */
    size_t lock_room;
    struct module modules[MODULES_MOST];
    int module_count;
    struct kept_mappings kept[MAPPINGS_KEPT];
    unsigned next_kept;
    uint64_t time;      /* the latest of all records */
    uint64_t forgotten; /* PCs that did not fit, each time they occurred */
    uint64_t unknown;   /* distinct PCs in programs whose file is not available */
    uint64_t named;     /* distinct PCs in programs that have a PROCEDURE */
    int naming_module;  /* the one being named, or named next */
    struct naming naming;
    union naming_record record;
};

int symbols_new(struct symbols **ret_symbols)
{
    struct symbols *symbols = calloc(1, sizeof(*symbols));

    if (symbols == NULL)
        return -ENOMEM;
    *ret_symbols = symbols;
    return 0;
}

void symbols_free(struct symbols *symbols)
{
    if (symbols == NULL)
        return;
    naming_end(&symbols->naming);
    for (int i = 0; i < symbols->module_count; i++) {
        close(symbols->modules[i].file);
        free(symbols->modules[i].places);
    }
    for (unsigned i = 0; i < MAPPINGS_KEPT; i++)
        mappings_done(&symbols->kept[i].mappings);
    for (uint32_t i = 0; i < symbols->image_numbers.count && i < symbols->image_capacity; i++)
        free(symbols->images[i].record);
    intern_done(&symbols->stream_numbers);
    intern_done(&symbols->image_numbers);
    intern_done(&symbols->program_places);
    intern_done(&symbols->other_places);
    intern_done(&symbols->data_places);
    free(symbols->locks);
    free(symbols->streams);
    free(symbols->images);
    free(symbols);
}

/* ---- files ---- */

static int find_module(const struct symbols *symbols, struct file_identity identity)
{
    for (int i = 0; i < symbols->module_count; i++)
        if (symbols->modules[i].identity.device == identity.device &&
            symbols->modules[i].identity.inode == identity.inode)
            return i;
    return NO_MODULE;
}

/* Takes ownership of an open file. */
static int add_module(struct symbols *symbols, struct file_identity identity, int file)
{
    if (file < 0)
        return NO_MODULE;
    if (symbols->module_count == MODULES_MOST) {
        close(file);
        return NO_MODULE;
    }
    struct module *module = &symbols->modules[symbols->module_count];
    module->identity = identity;
    module->file = file;
    program_file_name(file, module->name);
    return symbols->module_count++;
}

static void look_for_program(struct symbols *symbols, struct image *image,
                             const pid_t numbers[NUMBERS])
{
    if (image->record == NULL)
        return;
    image->module = find_module(symbols, image->identity);
    for (unsigned i = 0; i < NUMBERS && image->module == NO_MODULE; i++)
        image->module =
            add_module(symbols, image->identity, program_file_open(image->record, numbers[i]));
    free(image->record);
    image->record = NULL;
}

/* ---- identities ---- */

static void note_image(struct symbols *symbols, const struct image_record *record)
{
    if (symbols->image_numbers.count == IMAGES_MOST)
        return;
    int64_t index = intern_add(&symbols->image_numbers, record->image);
    if (index < 0 || array_reserve(&symbols->images, &symbols->image_capacity, (size_t)index + 1,
                                   sizeof(*symbols->images)) < 0)
        return;
    struct image *image = &symbols->images[index];
    free(image->record);
    *image = (struct image){
        .number = record->image,
        .load = record->load,
        .identity = {record->device, record->inode},
        .module = NO_MODULE,
        .record = malloc(sizeof(*record)),
    };
    if (image->record != NULL)
        *image->record = *record;
}

/* The image with that number, or NULL. */
static struct image *find_image(const struct symbols *symbols, uint32_t number)
{
    int64_t index = intern_find(&symbols->image_numbers, number);

    return index < 0 || (size_t)index >= symbols->image_capacity ? NULL : &symbols->images[index];
}

static void note_stream(struct symbols *symbols, const struct stream_record *record)
{
    if (symbols->stream_numbers.count == STREAMS_MOST)
        return;
    int64_t index = intern_add(&symbols->stream_numbers, record->header.stream);
    if (index < 0 || array_reserve(&symbols->streams, &symbols->stream_capacity, (size_t)index + 1,
                                   sizeof(*symbols->streams)) < 0)
        return;
    struct image *image = find_image(symbols, record->image);
    symbols->streams[index] = (struct stream_note){
        .image = image == NULL ? IMAGES_MOST : (uint32_t)(image - symbols->images),
        .numbers = {(pid_t)record->tid, (pid_t)record->pid, (pid_t)record->pid_inside},
    };
    if (image != NULL)
        look_for_program(symbols, image, symbols->streams[index].numbers);
}

static const struct stream_note *find_stream(const struct symbols *symbols, uint32_t number)
{
    int64_t index = intern_find(&symbols->stream_numbers, number);

    return index < 0 || (size_t)index >= symbols->stream_capacity ? NULL : &symbols->streams[index];
}

/* ---- places ---- */

/* Adds a key to a table of places. Returns whether it is new. */
static bool is_new(struct symbols *symbols, struct intern *table, uint64_t key)
{
    uint32_t before = table->count;

    if (before == PLACES_MOST) {
        symbols->forgotten += intern_find(table, key) < 0;
        return false;
    }
    int64_t index = intern_add(table, key);
    symbols->forgotten += index < 0;
    return index == before;
}

static void add_place(struct module *module, struct place place)
{
    if (array_reserve(&module->places, &module->capacity, module->count + 1,
                      sizeof(*module->places)) == 0)
        module->places[module->count++] = place;
}

/* Reads the process's mappings, and checks that they are the image's: its program must be where the image says. */
static int read_mappings(const struct image *image, pid_t pid, struct mappings *ret_mappings)
{
    int result = mappings_read(pid, ret_mappings);

    if (result < 0)
        return result;
    const struct mapping *text = mappings_find(ret_mappings, image->load);
    if (text != NULL && text->file.inode == image->identity.inode &&
        text->file.device == image->identity.device)
        return 0;
    mappings_done(ret_mappings);
    return -ESRCH;
}

/* The mapping that contains a PC of a stream that executes the image, or NULL. */
static const struct mapping *find_mapping(struct symbols *symbols, struct image *image,
                                          const pid_t numbers[NUMBERS], uint64_t pc)
{
    struct kept_mappings *kept = NULL;
    struct mappings mappings;
    int result = -ESRCH;

    for (unsigned i = 0; i < MAPPINGS_KEPT && kept == NULL; i++)
        if (symbols->kept[i].image == image->number)
            kept = &symbols->kept[i];
    const struct mapping *found = kept == NULL ? NULL : mappings_find(&kept->mappings, pc);
    if (found != NULL || image->reads == READS_MOST)
        return found;
    image->reads++;
    for (unsigned i = 0; i < NUMBERS && result < 0; i++)
        result = read_mappings(image, numbers[i], &mappings);
    if (result < 0)
        return NULL;
    if (kept == NULL)
        kept = &symbols->kept[symbols->next_kept++ % MAPPINGS_KEPT];
    mappings_done(&kept->mappings);
    *kept = (struct kept_mappings){image->number, mappings};
    return mappings_find(&kept->mappings, pc);
}

/* Without the privilege for map_files there is only the name. It may lead to another file by now, which is checked. */
static int open_by_name(const struct mapping *mapping, pid_t pid)
{
    char name[PATH_MAX], path[PATH_MAX + 32];

    if (!mapping_name(pid, mapping, name))
        return -ENOENT;
    snprintf(path, sizeof(path), "/proc/%d/root%s", pid, name);
    int file = program_file_open_path(path, mapping->file);
    return file >= 0 ? file : program_file_open_path(name, mapping->file);
}

static int open_mapped_of(const struct mapping *mapping, pid_t pid)
{
    char path[96];

    /* leads to the mapped file, wherever its name leads by now */
    snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
             (unsigned long long)mapping->begin, (unsigned long long)mapping->end);
    int file = program_file_open_path(path, mapping->file);
    return file >= 0 ? file : open_by_name(mapping, pid);
}

static int open_mapped(struct symbols *symbols, const struct mapping *mapping,
                       const pid_t numbers[NUMBERS])
{
    int module = find_module(symbols, mapping->file);

    for (unsigned i = 0; i < NUMBERS && module == NO_MODULE; i++)
        module = add_module(symbols, mapping->file, open_mapped_of(mapping, numbers[i]));
    return module;
}

static void add_library_place(struct symbols *symbols, struct image *image,
                              const pid_t numbers[NUMBERS], uint64_t pc)
{
    const struct mapping *mapping = find_mapping(symbols, image, numbers, pc);
    int module = mapping == NULL ? NO_MODULE : open_mapped(symbols, mapping, numbers);

    if (module != NO_MODULE)
        add_place(&symbols->modules[module], (struct place){
                                                 .pc = pc,
                                                 .offset = pc - mapping->begin + mapping->offset,
                                                 .image = image->number,
                                             });
}

static void note_pc(struct symbols *symbols, const struct record_header *header, uint64_t pc)
{
    const struct stream_note *stream = find_stream(symbols, header->stream);
    uint32_t index = stream == NULL ? IMAGES_MOST : stream->image;
    struct image *image = index == IMAGES_MOST ? NULL : &symbols->images[index];
    bool library = (header->flags & RECORD_LIBRARY) != 0;

    if (image != NULL && !library && image->module != NO_MODULE) {
        uint64_t offset = pc - image->load;
        uint64_t key = (uint64_t)image->module << 48 | (offset & 0xffffffffffffULL);
        if (is_new(symbols, &symbols->program_places, key))
            add_place(&symbols->modules[image->module], (struct place){.offset = offset});
        return;
    }
    if (!is_new(symbols, &symbols->other_places, (uint64_t)index << 48 | pc))
        return;
    if (!library)
        symbols->unknown++;
    else if (image != NULL)
        add_library_place(symbols, image, stream->numbers, pc);
}

/* ---- locks ---- */

static void note_name(struct symbols *symbols, const struct name_record *record)
{
    if (record->kind != NAME_OBJECT || record->what != WAIT_ON_LOCK ||
        record->number > NAMED_OBJECTS_MOST ||
        array_reserve(&symbols->locks, &symbols->lock_room, (size_t)record->number + 1,
                      sizeof(*symbols->locks)) < 0)
        return;
    symbols->locks[record->number] = strtoull(record->name, NULL, 16);
}

/* A lock on the stack or the heap is in no symbol; what lies before the program's text, in none of its data. */
static void note_lock(struct symbols *symbols, const struct record *record)
{
    const struct stream_note *stream = find_stream(symbols, record->header.stream);
    uint32_t index = stream == NULL ? IMAGES_MOST : stream->image;
    const struct image *image = index == IMAGES_MOST ? NULL : &symbols->images[index];
    uint64_t object = record->block.object;
    uint64_t address = object < symbols->lock_room ? symbols->locks[object] : 0;

    if (image == NULL || image->module == NO_MODULE || address < image->load)
        return;
    uint64_t offset = address - image->load;
    uint64_t key = (uint64_t)image->module << 48 | (offset & 0xffffffffffffULL);
    if (is_new(symbols, &symbols->data_places, key))
        add_place(&symbols->modules[image->module],
                  (struct place){.offset = offset, .is_data = true});
}

void symbols_note(struct symbols *symbols, const struct record_header *record)
{
    uint64_t pc = record_pc(record);

    if (symbols == NULL)
        return;
    if (record->time > symbols->time)
        symbols->time = record->time;
    if (record->id == EVENT_IMAGE)
        note_image(symbols, (const struct image_record *)record);
    else if (record->id == EVENT_STREAM)
        note_stream(symbols, (const struct stream_record *)record);
    else if (record->id == EVENT_NAME)
        note_name(symbols, (const struct name_record *)record);
    if (record->id == EVENT_BLOCK && !(record->flags & RECORD_NO_STREAM))
        note_lock(symbols, (const struct record *)record);
    if (pc != 0 && event_is_metered(record->id) && !(record->flags & RECORD_NO_STREAM))
        note_pc(symbols, record, pc);
}

/* ---- names ---- */

static const struct record_header *fill_record(struct symbols *symbols)
{
    struct record_header *header = &symbols->record.header;
    uint32_t number = (uint32_t)symbols->naming_module + 1;

    if (header->id == EVENT_MODULE) {
        symbols->record.module.module = number;
    } else {
        symbols->record.procedure.module = number;
        symbols->named += symbols->record.procedure.image == 0 && header->flags != NAMING_DATA;
    }
    header->time = symbols->time;
    header->flags = RECORD_NO_STREAM;
    return header;
}

const struct record_header *symbols_next(struct symbols *symbols)
{
    if (symbols == NULL)
        return NULL;
    for (; symbols->naming_module < symbols->module_count; symbols->naming_module++) {
        const struct module *module = &symbols->modules[symbols->naming_module];
        if (module->count == 0)
            continue;
        if (symbols->naming.pid == 0 && naming_begin(&symbols->naming, module) < 0)
            continue;
        if (naming_next(&symbols->naming, &symbols->record) > 0)
            return fill_record(symbols);
    }
    return NULL;
}

uint64_t symbols_unnamed(const struct symbols *symbols, uint64_t *ret_noted)
{
    if (symbols == NULL) {
        *ret_noted = 0;
        return 0;
    }
    uint64_t noted = symbols->program_places.count + symbols->unknown + symbols->forgotten;
    *ret_noted = noted;
    return noted - symbols->named;
}
