/* SPDX-License-Identifier: MIT */
/*
 * elapsed_files.c: by which files what the run waited for depends on each other. See elapsed.h.
 *
 *      cc1   ===== 2.1 s =====o WRITE /w/a.s
 *      as                          o READ /w/a.s == 60 ms == o WRITE /w/a.o          cc1 > as: /w/a.s
 *      ld                                                        o READ /w/a.o       as > ld: /w/a.o
 *
 * Inferred, as the edges are (file_writers.c). No read waits for a file: make has started ld when as had ended.
 */
#include "analysis/elapsed/elapsed_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS_MOST 65536u /* pairs of processes; later ones are left out */

/* Of two details only the process matters. */
struct input {
    uint32_t from, to; /* details, index + 1 */
    uint32_t path;     /* of the reader: file of the latest bytes ... */
    uint64_t of_path;  /* ... and how many there were in a row */
    uint64_t most;     /* the same of the file with most */
    uint64_t bytes, reads;
    const char *name; /* of that file */
};

static uint64_t process_key(const struct detail *detail)
{
    return number_key(detail->origin, detail->process_number);
}

static int name_file(struct elapsed_analysis *analysis, struct input *input, uint32_t origin)
{
    const struct path_record *path =
        identities_path(history_identities(analysis->history), origin, input->path);
    char text[ENDPOINT_SIZE] = "";

    if (path != NULL)
        endpoint_local(path, text);
    if (input->name != NULL && strcmp(input->name, text) == 0)
        return 0;
    size_t size = strlen(text) + 1;
    char *kept = arena_allocate(&analysis->texts, size);
    if (kept == NULL)
        return -ENOMEM;
    input->name = memcpy(kept, text, size);
    return 0;
}

static int add_bytes(struct elapsed_analysis *analysis, struct input *input,
                     const struct history_event *event, uint32_t bytes)
{
    const struct record *record = (const struct record *)event->event.header;

    if (input->path != record->message.path)
        input->of_path = 0;
    input->path = record->message.path;
    input->of_path += bytes;
    input->bytes += bytes;
    input->reads++;
    if (input->of_path <= input->most)
        return 0;
    input->most = input->of_path;
    return name_file(analysis, input, event->event.origin);
}

/* NULL: out of memory, or there are too many. */
static struct input *input_of(struct elapsed_analysis *analysis, uint32_t from, uint32_t to)
{
    const uint64_t keys[] = {process_key(&analysis->details[from - 1]),
                             process_key(&analysis->details[to - 1])};
    uint32_t before = analysis->input_keys.count;
    uint64_t key = hash_bytes(0, keys, sizeof(keys));
    int64_t index = before < INPUTS_MOST ? intern_add(&analysis->input_keys, key)
                                         : intern_find(&analysis->input_keys, key);

    if (index < 0 || array_reserve(&analysis->inputs, &analysis->input_room, (size_t)index + 1,
                                   sizeof(*analysis->inputs)) < 0)
        return NULL;
    if (index == before)
        analysis->inputs[index] = (struct input){.from = from, .to = to};
    return &analysis->inputs[index];
}

int elapsed_note_inputs(struct elapsed_analysis *analysis, const struct history_event *event)
{
    const struct elapsed_thread *reader =
        elapsed_find_thread(analysis, event->event.origin, event->event.header->stream);
    uint32_t to =
        reader == NULL || reader->latest == 0 ? 0 : interval_at(analysis, reader->latest)->computes;

    for (uint32_t i = 0; i < event->edge_count && to != 0; i++) {
        const struct history_edge *edge = &event->edges[i];
        uint32_t source = edge->kind == EDGE_FILE ? elapsed_source_of(analysis, edge) : 0;
        uint32_t from = source == 0 ? 0 : interval_at(analysis, source)->computes;
        struct input *input = from == 0 ? NULL : input_of(analysis, from, to);
        if (input != NULL && add_bytes(analysis, input, event, edge->bytes) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* ---- those of the account ---- */

/* How much of an account each process has. */
struct shares {
    struct intern keys;
    uint64_t *times;
    size_t room;
};

static int add_share(struct shares *shares, const struct detail *detail, uint64_t time)
{
    uint32_t before = shares->keys.count;
    int64_t index = intern_add(&shares->keys, process_key(detail));

    if (index < 0 ||
        array_reserve(&shares->times, &shares->room, (size_t)index + 1, sizeof(*shares->times)) < 0)
        return -ENOMEM;
    shares->times[index] = (index == before ? 0 : shares->times[index]) + time;
    return 0;
}

static uint64_t share_of(const struct shares *shares, const struct detail *detail)
{
    int64_t index = intern_find(&shares->keys, process_key(detail));

    return index < 0 ? 0 : shares->times[index];
}

static int compare_files(const void *a, const void *b)
{
    const struct elapsed_file *one = a, *other = b;

    if (one->time != other->time)
        return one->time < other->time ? 1 : -1;
    return one->bytes == other->bytes ? 0 : one->bytes < other->bytes ? 1 : -1;
}

static int add_file(const struct elapsed_analysis *analysis, const struct input *input,
                    uint64_t time, struct elapsed *elapsed, size_t *room)
{
    if (array_reserve(&elapsed->files, room, elapsed->file_count + 1, sizeof(*elapsed->files)) < 0)
        return -ENOMEM;
    struct elapsed_file *file = &elapsed->files[elapsed->file_count++];
    *file = (struct elapsed_file){
        .from = elapsed_row_of(analysis, &(struct part){input->from, ELAPSED_NO_CPU, 0, 0}),
        .to = elapsed_row_of(analysis, &(struct part){input->to, ELAPSED_NO_CPU, 0, 0}),
        .time = time,
        .bytes = input->bytes,
        .reads = input->reads,
    };
    snprintf(file->name, sizeof(file->name), "%s", input->name == NULL ? "" : input->name);
    return 0;
}

int elapsed_find_files(const struct elapsed_analysis *analysis, const struct part *parts,
                       size_t count, struct elapsed *elapsed)
{
    struct shares shares = {0};
    size_t room = 0;
    int result = 0;

    for (size_t i = 0; i < count && result == 0 && analysis->input_keys.count > 0; i++)
        if (parts[i].detail != 0)
            result = add_share(&shares, &analysis->details[parts[i].detail - 1], parts[i].time);
    for (uint32_t i = 0; i < analysis->input_keys.count && result == 0; i++) {
        const struct input *input = &analysis->inputs[i];
        uint64_t time = share_of(&shares, &analysis->details[input->from - 1]);
        if (time > 0 && share_of(&shares, &analysis->details[input->to - 1]) > 0)
            result = add_file(analysis, input, time, elapsed, &room);
    }
    if (elapsed->file_count > 0)
        qsort(elapsed->files, elapsed->file_count, sizeof(*elapsed->files), compare_files);
    if (elapsed->file_count > ELAPSED_FILES_MOST)
        elapsed->file_count = ELAPSED_FILES_MOST;
    intern_done(&shares.keys);
    free(shares.times);
    return result;
}
