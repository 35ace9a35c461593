/* SPDX-License-Identifier: MIT */
/*
 * stream_file.c: reads one file of a trace. See stream_file.h.
 *
 *      file:    | packet | packet | packet | packet | partial |
 *                        |<-- window -->|                        pread, at most 1 MiB
 *                          ^record                               the file's next record
 *
 * Everything in a file is checked before use: a packet's header when the packet is entered, a record's type, size and
 * time when it becomes the file's next record.
 */
#include "trace/stream_file.h"

#include "trace/packet_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_SIZE TRACE_PACKET_SIZE /* grows to TRACE_LAST_PACKET if a packet needs it */

/* ---- files ---- */

int trace_file_open(int directory, const char *path, const char *name, int flags,
                    uint64_t *ret_size, struct problem *problem)
{
    struct stat status;
    /* O_NONBLOCK: the name may lead to a FIFO, and opening that would wait for a writer. */
    int file = openat(directory, name, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int error;

    if (file < 0) {
        error = -errno;
        return problem_set(problem, error, "%s/%s: cannot be opened: %s%s", path, name,
                           strerror(-error),
                           error == -ENOENT   ? "; is this a complete trace?"
                           : error == -EMFILE ? "; raise ulimit -n"
                                              : "");
    }
    if (fstat(file, &status) < 0) {
        error = problem_set(problem, -errno, "%s/%s: cannot be examined: %s", path, name,
                            strerror(errno));
        close(file);
        return error;
    }
    if (!S_ISREG(status.st_mode)) {
        close(file);
        return problem_set(
            problem, -EINVAL,
            "%s/%s: not a regular file, so not a trace of dpm; name a directory that dpm made",
            path, name);
    }
    *ret_size = (uint64_t)status.st_size;
    return file;
}

int trace_file_read(int file, void *buffer, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(file, (char *)buffer + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return -ENODATA;
        done += (size_t)got;
    }
    return 0;
}

int stream_file_damaged(const struct stream_file *file, uint64_t offset, const char *what,
                        struct problem *problem)
{
    return problem_set(problem, -EBADMSG,
                       "%s: at byte %" PRIu64 ": %s: the file is damaged here; restore it from a "
                       "copy",
                       file->name, offset, what);
}

/* ---- windows ---- */

static int grow_window(struct stream_file *file, size_t size)
{
    size_t capacity = size > WINDOW_SIZE ? TRACE_LAST_PACKET : WINDOW_SIZE;

    /* A small file needs no large window. */
    if (capacity > file->size)
        capacity = (size_t)file->size;
    if (capacity <= file->capacity)
        return 0;
    free(file->window);
    file->window = malloc(capacity);
    file->capacity = file->window == NULL ? 0 : capacity;
    file->filled = 0;
    return file->window == NULL ? -ENOMEM : 0;
}

/* Reads bytes offset .. offset + size, which the file must have, into the window, and returns where they are. The
 * window's previous contents become invalid. */
static int show(struct stream_file *file, uint64_t offset, size_t size,
                const unsigned char **ret_bytes, struct problem *problem)
{
    if (offset < file->window_offset || offset + size > file->window_offset + file->filled) {
        int result = grow_window(file, size);
        if (result < 0)
            return problem_set(problem, result, "%s: out of memory", file->name);
        uint64_t left = file->size - offset;
        file->filled = 0;
        file->window_offset = offset;
        size_t wanted = left < file->capacity ? (size_t)left : file->capacity;
        result = trace_file_read(file->file, file->window, wanted, offset);
        if (result == -ENODATA)
            return problem_set(problem, result, "%s: became shorter while it was read; try again",
                               file->name);
        if (result < 0)
            return problem_set(problem, result, "%s: at byte %" PRIu64 ": cannot be read: %s",
                               file->name, offset, strerror(-result));
        file->filled = wanted;
    }
    *ret_bytes = file->window + (offset - file->window_offset);
    return 0;
}

/* ---- packets ---- */

/* Whether everything from `offset` to the end of the file is zero: 1, 0 or a negative errno. A power failure can leave
 * such a tail. Holes of any size are skipped. */
static int is_zero_to_end(struct stream_file *file, uint64_t offset, struct problem *problem)
{
    while (offset < file->size) {
        off_t data = lseek(file->file, (off_t)offset, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return 1;
        if (data >= 0)
            offset = (uint64_t)data;
        if (offset >= file->size)
            return 1;
        uint64_t left = file->size - offset;
        size_t size = left < TRACE_PAGE_SIZE ? (size_t)left : TRACE_PAGE_SIZE;
        const unsigned char *bytes;
        int result = show(file, offset, size, &bytes, problem);
        if (result < 0)
            return result;
        for (size_t i = 0; i < size; i++)
            if (bytes[i] != 0)
                return 0;
        offset += size;
    }
    return 1;
}

/* Goes to the beginning of a file. */
static void go_to_file(struct stream_file *file, uint32_t at)
{
    char name[TRACE_FILE_NAME_SIZE];

    file->at = at;
    file->file = file->files[at];
    file->size = file->sizes_of_files[at];
    file->next = file->window_offset = 0;
    file->filled = 0;
    file->here = file->numbers[at];
    file->hole = at > 0 && file->here != file->numbers[at - 1] + 1;
    file->repeats = at > 0 && !file->hole && file->ring == RING_CONTROL;
    trace_file_name(file->ring, file->here, name);
    snprintf(file->name, sizeof(file->name), "%s/%s", file->trace, name);
}

static int load_packet(struct stream_file *file, struct problem *problem);

/* What is left at file->next is not a whole packet: goes to the next file. That of the last file is the partial tail. */
static int end_file(struct stream_file *file, struct problem *problem)
{
    if (file->at + 1 < file->count && file->next < file->size)
        return stream_file_damaged(file, file->next, "the packet is cut, but there are later files",
                                   problem);
    if (file->at + 1 < file->count) {
        go_to_file(file, file->at + 1);
        return load_packet(file, problem);
    }
    file->partial = file->size - file->next;
    file->record = NULL;
    file->record_size = 0;
    return 0;
}

/* Packets of a copy have not arrived. If that concerns the end of a control file, the next one tells what is valid. */
static void note_missing(struct stream_file *file, uint64_t packets)
{
    file->missing += packets;
    if (file->repeats) {
        file->repeats = false;
        file->hole = true;
    }
}

static void enter_packet(struct stream_file *file, const unsigned char *bytes,
                         const struct trace_packet_context *context)
{
    if (context->events_discarded > file->discarded)
        file->discarded = context->events_discarded;
    file->wall_offset = (int64_t)(context->real_time - context->monotonic);
    file->written = context->monotonic;
    if (file->numbered && context->packet_seq_num > file->packets)
        note_missing(file, context->packet_seq_num - file->packets);
    file->packets = context->packet_seq_num + 1;
    file->numbered = true;
    file->next += context->packet_size / 8;
    file->record = bytes + TRACE_CONTENT;
    file->content = bytes + context->content_size / 8;
}

/* Enters the packet at file->next. Returns 1, 0 at the end of the file, or a negative errno. */
static int load_packet(struct stream_file *file, struct problem *problem)
{
    uint64_t left = file->size - file->next;
    size_t size = left < TRACE_CONTENT ? (size_t)left : TRACE_CONTENT;
    size_t head = size < sizeof(file->header) ? size : sizeof(file->header);
    const unsigned char *bytes;
    int result;

    if (left == 0)
        return end_file(file, problem);
    result = show(file, file->next, size, &bytes, problem);
    if (result < 0)
        return result;
    const char *what = packet_wrong_header(bytes, head, &file->header);
    if (what != NULL) {
        result = is_zero_to_end(file, file->next, problem);
        if (result < 0)
            return result;
        return result == 0 ? stream_file_damaged(file, file->next, what, problem)
                           : end_file(file, problem);
    }
    if (size < TRACE_CONTENT)
        return end_file(file, problem);
    struct trace_packet_context context;
    memcpy(&context, bytes + sizeof(file->header), sizeof(context));
    const char *wrong = packet_wrong_context(&context, file->numbered ? file->packets : 0);
    if (wrong != NULL)
        return stream_file_damaged(file, file->next, wrong, problem);
    if (context.packet_size / 8 > left)
        return end_file(file, problem);
    result = show(file, file->next, (size_t)(context.packet_size / 8), &bytes, problem);
    if (result < 0)
        return result;
    enter_packet(file, bytes, &context);
    return 1;
}

/* ---- records ---- */

uint64_t stream_file_offset(const struct stream_file *file)
{
    return file->window_offset + (uint64_t)(file->record - file->window);
}

static int record_damaged(const struct stream_file *file, struct problem *problem)
{
    const struct record_header *header = (const struct record_header *)file->record;
    size_t left = (size_t)(file->content - file->record);
    char what[100];

    if (left < sizeof(*header) || file->sizes[header->id] > left)
        snprintf(what, sizeof(what), "the packet ends within a record");
    else if (header->id == EVENT_CLASS)
        snprintf(what, sizeof(what), "a CLASS is cut, impossible, or contradicts an earlier one");
    else if (file->sizes[header->id] == 0)
        snprintf(what, sizeof(what), "a record has type %u, which this file cannot have",
                 header->id);
    else
        snprintf(what, sizeof(what), "time goes back from %" PRIu64 " to %" PRIu64, file->time,
                 header->time);
    return stream_file_damaged(file, stream_file_offset(file), what, problem);
}

/* The next record is a CLASS, or of a class: notes the class, or gives the record the ID of its type. Returns the
 * record's size; 0: it is impossible; or -ENOMEM. */
static int resolve_class(struct stream_file *file, size_t left)
{
    /* the window is memory of our own */
    struct record_header *header = (struct record_header *)(uintptr_t)file->record;
    const struct class *class = classes_find(file->classes, header->id);

    if (header->id == EVENT_CLASS) {
        if (file->classes == NULL)
            file->classes = calloc(1, sizeof(*file->classes));
        if (file->classes == NULL)
            return -ENOMEM;
        const struct record *record = (const struct record *)header;
        bool possible = left >= sizeof(*record) && classes_note(file->classes, record);
        return possible && file->sizes[record->class.type] != 0 ? (int)sizeof(*record) : 0;
    }
    if (class == NULL || file->sizes[class->type] > left)
        return 0;
    header->id = class->type;
    file->absent = class->absent;
    class_clear_fields(class->type, class->absent, header);
    return file->sizes[class->type];
}

/* Checks the record at file->record. */
static inline int take_record(struct stream_file *file, struct problem *problem)
{
    const struct record_header *header = (const struct record_header *)file->record;
    size_t left = (size_t)(file->content - file->record);

    if (left < sizeof(*header))
        return record_damaged(file, problem);
    size_t size = file->sizes[header->id];
    file->absent = 0;
    if (size == 0) {
        int resolved = resolve_class(file, left);
        if (resolved < 0)
            return problem_set(problem, resolved, "%s: out of memory", file->name);
        size = (size_t)resolved;
    }
    if (size == 0 || size > left || header->time < file->time)
        return record_damaged(file, problem);
    file->record_size = size;
    file->time = header->time;
    return 0;
}

/* Skips what a later file repeats. */
static int skip_repeated(struct stream_file *file, struct problem *problem)
{
    uint64_t left = 2; /* MACHINE and BEGIN */
    int result = 0;

    file->repeats = false;
    for (uint64_t i = 0; i < left && result == 0 && file->record != NULL; i++) {
        const struct record_header *header = (const struct record_header *)file->record;
        if (header->id != (i == 0 ? EVENT_MACHINE : EVENT_BEGIN) && i < 2)
            return stream_file_damaged(file, stream_file_offset(file),
                                       "the file does not begin with MACHINE and BEGIN", problem);
        if (i == 1)
            left += ((const struct begin_record *)header)->repeated;
        result = stream_file_next(file, problem);
    }
    return result;
}

int stream_file_begin(struct stream_file *file, struct problem *problem)
{
    int result;

    if (file->record_size != 0)
        file->last = stream_file_offset(file) - file->record_size;
    do /* a packet without records is allowed */
        result = load_packet(file, problem);
    while (result > 0 && file->record == file->content);
    if (result > 0)
        result = take_record(file, problem);
    return result == 0 && file->repeats && file->record != NULL ? skip_repeated(file, problem)
                                                                : result;
}

int stream_file_next(struct stream_file *file, struct problem *problem)
{
    file->record += file->record_size;
    if (file->record == file->content)
        return stream_file_begin(file, problem);
    return take_record(file, problem);
}

/* ---- the file ---- */

static int open_files(struct stream_file *file, int directory, struct problem *problem)
{
    char name[TRACE_FILE_NAME_SIZE];

    for (uint32_t i = 0; i < file->count; i++) {
        trace_file_name(file->ring, file->numbers[i], name);
        file->files[i] = trace_file_open(directory, file->trace, name, O_RDONLY,
                                         &file->sizes_of_files[i], problem);
        if (file->files[i] < 0)
            return file->files[i];
        if (file->sizes_of_files[i] > INT64_MAX - TRACE_LAST_PACKET)
            return problem_set(problem, -EFBIG, "%s/%s: too large", file->trace, name);
    }
    return 0;
}

int stream_file_open(struct stream_file *file, int directory, const char *trace, enum ring_id ring,
                     const struct trace_numbers *numbers, const uint8_t uuid[TRACE_UUID_SIZE],
                     struct problem *problem)
{
    trace_name(trace, file->trace);
    file->ring = ring;
    file->count = numbers->count;
    file->numbers = calloc(file->count, sizeof(*file->numbers));
    file->files = malloc(file->count * sizeof(*file->files));
    file->sizes_of_files = calloc(file->count, sizeof(*file->sizes_of_files));
    for (uint32_t i = 0; file->files != NULL && i < file->count; i++)
        file->files[i] = -1;
    if (file->files == NULL || file->sizes_of_files == NULL || file->numbers == NULL)
        return problem_set(problem, -ENOMEM, "%s: out of memory", trace);
    memcpy(file->numbers, numbers->at, file->count * sizeof(*file->numbers));
    int result = open_files(file, directory, problem);
    if (result < 0)
        return result;
    file->header = packet_header(uuid, ring);
    file->numbered = stream_file_has_all(file);
    go_to_file(file, 0);
    return 0;
}

int stream_file_look_again(struct stream_file *file, struct problem *problem)
{
    struct stat status;

    if (fstat(file->file, &status) < 0)
        return problem_set(problem, -errno, "%s: cannot be examined: %s", file->name,
                           strerror(errno));
    if ((uint64_t)status.st_size < file->size)
        return problem_set(problem, -ENODATA, "%s: became shorter while it was read", file->name);
    file->size = file->sizes_of_files[file->at] = (uint64_t)status.st_size;
    file->filled = 0; /* what was read behind the last packet may have been half of the next one */
    return 0;
}

/* Only the last file is kept open: a trace may be followed for years. */
int stream_file_go_on(struct stream_file *file, int descriptor, uint32_t number, bool gap,
                      struct problem *problem)
{
    for (uint32_t i = 0; i < file->count; i++)
        close(file->files[i]);
    file->files[0] = descriptor;
    file->numbers[0] = number;
    file->count = 1;
    file->sizes_of_files[0] = 0;
    go_to_file(file, 0);
    file->hole = gap;
    file->repeats = !gap && file->ring == RING_CONTROL;
    return stream_file_look_again(file, problem);
}

void stream_file_rewind(struct stream_file *file)
{
    struct stream_file begun = {
        .sizes = file->sizes,
        .window = file->window,
        .capacity = file->capacity,
        .files = file->files,
        .sizes_of_files = file->sizes_of_files,
        .numbers = file->numbers,
        .count = file->count,
        .numbered = file->count > 0 && stream_file_has_all(file),
        .header = file->header,
        .ring = file->ring,
        .file = -1,
    };

    free(file->classes);
    memcpy(begun.trace, file->trace, sizeof(begun.trace));
    *file = begun;
    if (file->count > 0)
        go_to_file(file, 0);
}

void stream_file_close(struct stream_file *file)
{
    for (uint32_t i = 0; file->files != NULL && i < file->count; i++)
        if (file->files[i] >= 0)
            close(file->files[i]);
    free(file->files);
    free(file->sizes_of_files);
    free(file->numbers);
    free(file->window);
    free(file->classes);
}
