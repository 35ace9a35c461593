/* SPDX-License-Identifier: MIT */
/*
 * compare_log.c: reads the logs of truth-program: a folder of <tid>-<start>.log, each one stream.
 */
#include "compare.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Reads "9", "pipe:9" or "fifo:9"; returns the rest of the text, or NULL. */
static const char *read_inode(const char *text, struct operation *operation)
{
    static const char *const prefixes[OBJECT_COUNT] = {"", "pipe:", "fifo:"};
    int used = 0;

    for (unsigned object = OBJECT_PIPE; object < OBJECT_COUNT; object++)
        if (strncmp(text, prefixes[object], strlen(prefixes[object])) == 0)
            operation->object = (enum object)object;
    text += strlen(prefixes[operation->object]);
    if (sscanf(text, "%" SCNu64 "%n", &operation->inode, &used) != 1)
        return NULL;
    return text + used;
}

/* Reads one of "71:80:20", "71:?:20", "?:20"; returns the rest of the text, or NULL. */
static const char *read_part(const char *text, struct part *part)
{
    int used = 0;

    *part = (struct part){.placed = true};
    if (sscanf(text, "%" SCNu32 ":%" SCNu64 ":%" SCNu64 "%n", &part->writer, &part->place,
               &part->bytes, &used) == 3)
        return text + used;
    *part = (struct part){0};
    if (sscanf(text, "%" SCNu32 ":?:%" SCNu64 "%n", &part->writer, &part->bytes, &used) == 2)
        return text + used;
    *part = (struct part){0};
    if (sscanf(text, "?:%" SCNu64 "%n", &part->bytes, &used) == 1)
        return text + used;
    return NULL;
}

/* Reads " [part,part...]", " []" or " [eof]". */
static int read_parts(const char *text, struct operation *operation)
{
    size_t capacity = 0;
    struct part part;

    operation->end_of_file = strcmp(text, " [eof]") == 0;
    if (operation->end_of_file || strcmp(text, " []") == 0)
        return 0;
    if (strncmp(text, " [", 2) != 0)
        return -EINVAL;
    for (text++; *text == '[' || *text == ',';) {
        text = read_part(text + 1, &part);
        if (text == NULL)
            return -EINVAL;
        reserve(&operation->parts, &capacity, operation->part_count + 1, sizeof(*operation->parts));
        operation->parts[operation->part_count++] = part;
    }
    return strcmp(text, "]") == 0 ? 0 : -EINVAL;
}

static int read_message(struct stream *stream, enum operation_kind kind, const char *rest,
                        struct operation **ret_operation)
{
    char call[32];
    struct operation read = {.kind = kind};
    int used = 0;

    rest = read_inode(rest, &read);
    if (rest == NULL || sscanf(rest, " %" SCNu64 " %31s %" SCNu64 " %" SCNu64 "%n", &read.bytes,
                               call, &read.cpu_first, &read.cpu_last, &used) != 4)
        return -EINVAL;
    rest += used;
    if (read.cpu_first > read.cpu_last)
        return -EINVAL;
    int result = kind == OPERATION_RECEIVE ? read_parts(rest, &read) : *rest == 0 ? 0 : -EINVAL;
    if (result < 0) {
        free(read.parts);
        return result;
    }
    if (read.part_count > 0 && read.parts[0].placed) {
        read.writer = read.parts[0].writer;
        read.place = read.parts[0].place;
    }
    read.jumps = strstr(call, "+waitall") != NULL;
    read.packet = strstr(call, "+packet") != NULL;
    read.name = text_copy(call);
    *ret_operation = stream_add(stream, kind);
    **ret_operation = read;
    return 0;
}

static int read_create(struct stream *stream, const char *rest, struct operation **ret_operation)
{
    char what[16];
    uint32_t child;
    int used = 0;

    if (sscanf(rest, "%" SCNu32 " %15s%n", &child, what, &used) != 2 || rest[used] != 0)
        return -EINVAL;
    if (strcmp(what, "thread") != 0 && strcmp(what, "process") != 0)
        return -EINVAL;
    *ret_operation = stream_add(stream, OPERATION_CREATEPROCESS);
    (*ret_operation)->number = child;
    (*ret_operation)->thread = what[0] == 't';
    return 0;
}

static int read_termination(struct stream *stream, const char *rest,
                            struct operation **ret_operation)
{
    uint32_t status;
    int used = 0;

    if (sscanf(rest, "%" SCNu32 "%n", &status, &used) != 1 || rest[used] != 0)
        return -EINVAL;
    *ret_operation = stream_add(stream, OPERATION_TERMINATION);
    (*ret_operation)->number = status;
    return 0;
}

static int read_failed(struct stream *stream, const char *rest)
{
    char what[16];
    uint64_t count;
    int used = 0;

    if (sscanf(rest, "%15s %" SCNu64 "%n", what, &count, &used) != 2)
        return -EINVAL;
    bool pipe = strcmp(rest + used, " pipe") == 0;
    if (!pipe && rest[used] != 0)
        return -EINVAL;
    if (strcmp(what, "SEND") == 0) {
        stream->failed_sends += count;
        stream->failed_pipe_sends += pipe ? count : 0;
    } else if (strcmp(what, "RECEIVE") == 0) {
        stream->failed_receives += count;
        stream->failed_pipe_receives += pipe ? count : 0;
    } else {
        return -EINVAL;
    }
    return 0;
}

static int read_rest(struct stream *stream, enum operation_kind kind, const char *rest,
                     struct operation **ret_operation)
{
    switch (kind) {
    case OPERATION_SEND:
    case OPERATION_RECEIVE:
        return read_message(stream, kind, rest, ret_operation);
    case OPERATION_CREATEPROCESS:
        return read_create(stream, rest, ret_operation);
    case OPERATION_TERMINATION:
        return read_termination(stream, rest, ret_operation);
    case OPERATION_EXEC:
        *ret_operation = stream_add(stream, kind);
        (*ret_operation)->name = text_copy(rest);
        return *rest == 0 ? -EINVAL : 0;
    default:
        *ret_operation = stream_add(stream, kind);
        return *rest == 0 ? 0 : -EINVAL;
    }
}

/* Reads one line, without its newline, and modifies it. */
static int read_line(struct stream *stream, char *line, uint64_t number)
{
    struct operation *operation = NULL;
    char *rest = strchr(line, ' ');

    if (rest != NULL)
        *rest++ = 0;
    else
        rest = line + strlen(line);
    if (strcmp(line, "FAILED") == 0)
        return read_failed(stream, rest);
    for (unsigned kind = 0; kind < OPERATION_KIND_COUNT; kind++) {
        if (strcmp(line, operation_names[kind]) != 0)
            continue;
        int result = read_rest(stream, (enum operation_kind)kind, rest, &operation);
        if (operation != NULL)
            operation->line = number;
        return result;
    }
    return -EINVAL;
}

static int read_lines(struct stream *stream, FILE *file, struct problem *problem)
{
    char *line = NULL;
    size_t size = 0;
    uint64_t number = 0;
    ssize_t length;
    int result = 0;

    while (result == 0 && (length = getline(&line, &size, file)) >= 0) {
        number++;
        if (length > 0 && line[length - 1] == '\n')
            line[length - 1] = 0;
        if (read_line(stream, line, number) < 0)
            result = problem_set(problem, -EINVAL, "%s:%" PRIu64 ": not a line of a log: %s",
                                 stream->label, number, line);
    }
    free(line);
    if (result == 0 && ferror(file))
        result = problem_set(problem, -EIO, "%s: cannot be read", stream->label);
    if (result == 0 &&
        (stream->count == 0 || stream->operations[stream->count - 1].kind != OPERATION_TERMINATION))
        result =
            problem_set(problem, -EINVAL, "%s: does not end with TERMINATION: did the program end?",
                        stream->label);
    return result;
}

/* When it was written, in CLOCK_MONOTONIC ns. */
static uint64_t time_of_file(FILE *file)
{
    struct stat status;

    if (fstat(fileno(file), &status) != 0)
        return UINT64_MAX;
    uint64_t written =
        (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    return written + clock_now(CLOCK_MONOTONIC) - clock_now(CLOCK_REALTIME);
}

static int read_file(const char *folder, const char *name, struct side *side,
                     struct problem *problem)
{
    uint32_t tid;
    uint64_t start;
    int used = 0;
    char path[4096];

    if (sscanf(name, "%" SCNu32 "-%" SCNu64 ".log%n", &tid, &start, &used) != 2 || used == 0 ||
        name[used] != 0)
        return problem_set(problem, -EINVAL, "%s/%s: is not named <tid>-<start>.log", folder, name);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return problem_set(problem, -errno, "%s: %s", path, strerror(errno));
    struct stream *stream = side_add(side);
    stream->tid = tid;
    stream->start = start;
    stream->label = text_copy(path);
    int result = read_lines(stream, file, problem);
    stream->ended = time_of_file(file);
    fclose(file);
    return result;
}

int log_read(const char *folder, struct side *side, struct problem *problem)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    int result = 0;

    if (directory == NULL)
        return problem_set(problem, -errno, "%s: %s", folder, strerror(errno));
    while (result == 0 && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            result = read_file(folder, entry->d_name, side, problem);
    closedir(directory);
    if (result == 0 && side->count == 0)
        result = problem_set(problem, -ENOENT, "%s: holds no log", folder);
    side_sort(side);
    return result;
}
