/* SPDX-License-Identifier: MIT */
/*
 * files.c: what processes read from files and write to them. See files.h.
 *
 *      READ of path 7 --paths--> row: process, device, inode --at the end--> communication_file
 *
 * A process may have several paths to one file, one after the other: they share a row.
 */
#include "analysis/statistics/files.h"

#include "analysis/statistics/rows.h"
#include "meter/shared/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting ---- */

static bool is_of(const struct file_row *row, uint32_t origin, uint32_t process,
                  const struct path_record *path)
{
    return row->origin == origin && row->sums.process == process && row->inode == path->inode &&
           row->device == path->network;
}

static const char *name_of(struct communication *rows, const struct path_record *path)
{
    char text[ENDPOINT_SIZE];

    endpoint_local(path, text);
    return communication_keep_text(rows, text);
}

/* Index of a row; MOST_FILES: there are too many; or -ENOMEM. In the rare case of a hash collision, the later one uses
 * the next key. */
static int64_t find_row(struct files *files, struct communication *rows, uint32_t origin,
                        uint32_t process, const struct path_record *path)
{
    const uint64_t parts[] = {number_key(origin, process), path->network, path->inode};

    for (uint64_t key = hash_bytes(0, parts, sizeof(parts));; key++) {
        uint32_t count = files->keys.count;
        int64_t index =
            count >= MOST_FILES ? intern_find(&files->keys, key) : intern_add(&files->keys, key);
        if (index < 0)
            return count >= MOST_FILES ? MOST_FILES : -ENOMEM;
        if (array_reserve(&files->rows, &files->capacity, (size_t)index + 1, sizeof(*files->rows)) <
            0)
            return -ENOMEM;
        struct file_row *row = &files->rows[index];
        if (index == count) {
            *row = (struct file_row){
                .origin = origin,
                .device = path->network,
                .inode = path->inode,
                .sums = {.process = process, .name = name_of(rows, path)},
            };
            if (row->sums.name == NULL)
                return -ENOMEM;
        }
        if (is_of(row, origin, process, path))
            return index;
    }
}

static struct communication_file *sums_at(struct files *files, int64_t index)
{
    return index == MOST_FILES ? &files->others : &files->rows[index].sums;
}

static int count_use(struct file_use *use, const struct record *record)
{
    use->calls++;
    use->bytes += record->message.bytes;
    return histogram_add(&use->times, message_span(record), HISTOGRAM_SOME);
}

int files_count(struct files *files, const struct identities *identities,
                struct communication *rows, uint32_t origin, uint32_t process,
                const struct record *record)
{
    const struct path_record *path = identities_path(identities, origin, record->message.path);

    if (path == NULL || path->kind != PATH_FILE)
        return 0;
    int64_t index = find_row(files, rows, origin, process, path);
    if (index < 0)
        return (int)index;
    struct communication_file *sums = sums_at(files, index);
    switch (record->header.id) {
    case EVENT_READ:
        return count_use(&sums->reads, record);
    case EVENT_WRITE:
        return count_use(&sums->writes, record);
    default:
        /* what was opened before or by another process is only met */
        sums->opens += (record->header.flags & RECORD_OLDER) == 0;
        return lookup_set(&files->paths, number_key(origin, record->message.path), (uint32_t)index);
    }
}

void files_end(struct files *files, uint32_t origin, const struct record *record)
{
    uint64_t key = number_key(origin, record->message.path);
    uint32_t index = lookup_find(&files->paths, key);

    if (index == LOOKUP_NONE)
        return;
    sums_at(files, index)->closes += record->message.bytes;
    lookup_remove(&files->paths, key);
}

void file_rows_done(struct communication_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        histogram_done(&files[i].reads.times);
        histogram_done(&files[i].writes.times);
    }
}

void files_done(struct files *files)
{
    for (uint32_t i = 0; i < files->keys.count; i++)
        file_rows_done(&files->rows[i].sums, 1);
    file_rows_done(&files->others, 1);
    lookup_done(&files->paths);
    intern_done(&files->keys);
    free(files->rows);
    memset(files, 0, sizeof(*files));
}

/* ---- results ---- */

static int add_use(struct file_use *sum, const struct file_use *more)
{
    sum->calls += more->calls;
    sum->bytes += more->bytes;
    return histogram_merge(&sum->times, &more->times, HISTOGRAM_SOME);
}

static int add_sums(struct communication_file *sum, const struct communication_file *more)
{
    sum->opens += more->opens;
    sum->closes += more->closes;
    return add_use(&sum->reads, &more->reads) < 0 || add_use(&sum->writes, &more->writes) < 0
               ? -ENOMEM
               : 0;
}

/* Adds a row with the sums of `from`. The result has space for it. */
static int add_row(struct communication *result, const struct communication_file *from,
                   uint32_t process, const char *name)
{
    struct communication_file *row = &result->files[result->file_count++];

    *row = (struct communication_file){.process = process,
                                       .name = communication_keep_text(result, name)};
    return row->name == NULL ? -ENOMEM : add_sums(row, from);
}

static uint64_t time_in(const struct communication_file *file)
{
    return histogram_sum(&file->reads.times) + histogram_sum(&file->writes.times);
}

/* Most bytes first, then most time. */
static int compare_files(const void *left, const void *right)
{
    const struct communication_file *a = left, *b = right;
    uint64_t a_bytes = a->reads.bytes + a->writes.bytes, b_bytes = b->reads.bytes + b->writes.bytes;

    if (a_bytes != b_bytes)
        return a_bytes > b_bytes ? -1 : 1;
    if (time_in(a) != time_in(b))
        return time_in(a) > time_in(b) ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void sort_files(struct communication *result)
{
    if (result->file_count > 0)
        qsort(result->files, result->file_count, sizeof(*result->files), compare_files);
}

static bool is_used(const struct communication_file *file)
{
    return file->opens + file->reads.calls + file->writes.calls > 0;
}

int files_build(const struct files *files, struct communication *result)
{
    int error = 0;

    result->files = calloc((size_t)files->keys.count + 1, sizeof(*result->files));
    if (result->files == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < files->keys.count && error == 0; i++)
        error = add_row(result, &files->rows[i].sums, files->rows[i].sums.process,
                        files->rows[i].sums.name);
    if (error == 0 && is_used(&files->others))
        error = add_row(result, &files->others, NO_PROCESS, "*");
    sort_files(result);
    return error;
}

static int compare_names(const void *left, const void *right)
{
    const struct communication_file *a = left, *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Merges rows of the same process, or group, and the same name. */
static int unite(struct communication *result)
{
    struct communication_file *rows = result->files;
    size_t united = 0;
    int error = 0;

    if (result->file_count > 0)
        qsort(rows, result->file_count, sizeof(*rows), compare_names);
    for (size_t i = 0; i < result->file_count; i++)
        if (united > 0 && compare_names(&rows[united - 1], &rows[i]) == 0) {
            if (error == 0)
                error = add_sums(&rows[united - 1], &rows[i]);
            file_rows_done(&rows[i], 1);
        } else {
            rows[united++] = rows[i];
        }
    result->file_count = united;
    return error;
}

int files_group(const struct communication *from, const uint32_t *group_of,
                struct communication *result)
{
    int error = 0;

    result->files = calloc(from->file_count + 1, sizeof(*result->files));
    result->file_count = 0;
    if (result->files == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < from->file_count && error == 0; i++) {
        uint32_t process = from->files[i].process;
        error =
            add_row(result, &from->files[i], process == NO_PROCESS ? NO_PROCESS : group_of[process],
                    from->files[i].name);
    }
    if (error == 0)
        error = unite(result);
    sort_files(result);
    return error;
}
