/* SPDX-License-Identifier: MIT */
/*
 * rotation.c: a trace that keeps only the newest records, in several files for each stream.
 *
 *      control    control.1   control.2  <-- being written      each pair of files covers the same time
 *      data       data.1      data.2
 *      removed    MACHINE, BEGIN, identities that are still valid, records ...
 *
 * A file of `control` but the first begins by saying again what is valid (carried.h). So the oldest pair can be removed at
 * any time, and what is left reads like a recording that began later. These records are written into a hidden file first,
 * which gets its name when they are complete: a kill leaves either the whole pair or nothing of it.
 *
 *      max_size >= committed + what the next file would have to repeat
 */
#include "trace/carried.h"
#include "trace/writer_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FILES_USUAL 16u        /* a pair has this part of size and age, if no number is asked for */
#define FILE_LEAST  (1u << 16) /* bytes; smaller pairs are not worth their beginning */

static const char hidden[] = ".control.next";

/* The two files of a time. */
struct pair {
    uint64_t begin; /* time of its first record */
    uint64_t bytes;
};

struct rotation {
    struct trace_limits limits;
    struct carried *carried;
    struct machine_record machine;
    uint64_t began; /* the recording */
    uint64_t cpu;   /* as in the latest COST */
    uint32_t wakeups;
    struct pair *pairs; /* [count], the last one is being written */
    size_t capacity, count;
    uint32_t first; /* number of pairs[0] */
    uint64_t block; /* bytes that the current pair repeats */
    uint64_t due;   /* time at which to look again */
    bool settled;   /* no more new files */
};

void trace_file_name(enum ring_id ring, uint32_t number, char ret_name[TRACE_FILE_NAME_SIZE])
{
    if (number == 0)
        snprintf(ret_name, TRACE_FILE_NAME_SIZE, "%s", trace_file_names[ring]);
    else
        snprintf(ret_name, TRACE_FILE_NAME_SIZE, "%s.%u", trace_file_names[ring], number);
}

/* Into how many pairs size and age are divided. */
static uint32_t shares(const struct rotation *rotation)
{
    return rotation->limits.max_files == 0 ? FILES_USUAL : rotation->limits.max_files;
}

static struct pair *current(struct rotation *rotation)
{
    return &rotation->pairs[rotation->count - 1];
}

/* Bytes of the current pair so far. */
static uint64_t bytes_now(const struct trace_writer *writer)
{
    uint64_t bytes = 0;

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        bytes += writer->streams[ring].file_size + writer->streams[ring].room;
    return bytes;
}

/* Whether the current files hold more than what they repeat. */
static bool holds_any(const struct trace_writer *writer)
{
    return bytes_now(writer) > writer->rotation->block;
}

/* What packets take beyond the records in them. */
static uint64_t packets_extra(uint64_t bytes)
{
    return bytes / 32 + (uint64_t)2 * TRACE_PAGE_SIZE;
}

/* What the next file would repeat. */
static uint64_t reserve(const struct rotation *rotation)
{
    uint64_t bytes = carried_bytes(rotation->carried) + sizeof(struct machine_record) +
                     sizeof(struct begin_record);

    return rotation->settled ? 0 : bytes + packets_extra(bytes);
}

/* Whether there is space for `bytes` beside what is committed. */
static bool fits(const struct trace_writer *writer, uint64_t committed, uint64_t bytes)
{
    uint64_t kept = committed + reserve(writer->rotation);

    return kept <= writer->max_size && bytes <= writer->max_size - kept;
}

static bool has_space(const struct trace_writer *writer, uint64_t bytes)
{
    return fits(writer, writer->committed, bytes);
}

/* ---- removing ---- */

static void remove_oldest(struct trace_writer *writer)
{
    struct rotation *rotation = writer->rotation;

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        char name[TRACE_FILE_NAME_SIZE];
        trace_file_name(ring, rotation->first, name);
        unlinkat(writer->directory, name, 0);
    }
    writer->committed -= rotation->pairs[0].bytes;
    rotation->count--;
    rotation->first++;
    memmove(rotation->pairs, rotation->pairs + 1, rotation->count * sizeof(*rotation->pairs));
}

static bool is_too_old(const struct rotation *rotation, uint64_t time)
{
    uint64_t most = rotation->limits.max_age;

    return most != 0 && time > rotation->pairs[0].begin && time - rotation->pairs[0].begin > most;
}

/* If no number is asked for, size and age limit it: no more than FILES_USUAL have their full size, and no more than that
 * their full age. */
static bool is_beyond_count(const struct rotation *rotation)
{
    return rotation->limits.max_files != 0 && rotation->count > rotation->limits.max_files;
}

/* Whether removing leads to space at last. If not even the newest pair has any, although it holds nothing but what is
 * valid, the recording ends: with what is kept. */
static bool removing_helps(const struct trace_writer *writer)
{
    const struct rotation *rotation = writer->rotation;
    uint64_t older = 0;

    for (size_t i = 0; i + 1 < rotation->count; i++)
        older += rotation->pairs[i].bytes;
    return holds_any(writer) || fits(writer, writer->committed - older, TRACE_PAGE_SIZE);
}

static void remove_what_is_beyond(struct trace_writer *writer, uint64_t time)
{
    struct rotation *rotation = writer->rotation;

    while (rotation->count > 1 && (is_beyond_count(rotation) || is_too_old(rotation, time) ||
                                   (!has_space(writer, TRACE_PAGE_SIZE) && removing_helps(writer))))
        remove_oldest(writer);
}

/* ---- new files ---- */

/* Each packet begins later than the one before: babeltrace2 puts packets that begin at one time in any order. */
static int put_again(void *context, const struct record_header *record)
{
    struct trace_writer *writer = context;
    size_t size = event_size(record->id);

    if (writer->streams[RING_CONTROL].used + size > TRACE_PACKET_SIZE)
        writer->least_time++;
    writer->repeated++;
    return writer_put(writer, RING_CONTROL, record, size, NULL);
}

/* When the next files begin: later than all before, and, if possible, so early that the record of this time need not
 * become later by what put_again adds. */
static uint64_t time_to_begin(const struct trace_writer *writer, uint64_t time)
{
    uint64_t packets = 2 + reserve(writer->rotation) / (TRACE_PACKET_SIZE / 2), least = 0;

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        uint64_t last = trace_writer_last_time(writer, ring);
        least = last + 1 > least ? last + 1 : least;
    }
    return time > packets && time - packets > least ? time - packets : least;
}

static int count_one(void *context, const struct record_header *record)
{
    (void)record;
    ++*(uint32_t *)context;
    return 0;
}

/* Writes what is valid into the new control file. */
static int repeat(struct trace_writer *writer, uint64_t time)
{
    struct rotation *rotation = writer->rotation;
    struct begin_record begin = {
        .header = {.time = time, .id = EVENT_BEGIN, .flags = RECORD_NO_STREAM},
        .began = rotation->began,
        .records = writer->accepted - writer->repeated,
        .lost_control = writer->streams[RING_CONTROL].discarded,
        .lost_data = writer->streams[RING_DATA].discarded,
        .cpu = rotation->cpu,
        .wakeups = rotation->wakeups,
    };

    carried_forget(rotation->carried);
    carried_each(rotation->carried, time, count_one, &begin.repeated);
    rotation->machine.header.time = time;
    int result = put_again(writer, &rotation->machine.header);
    if (result == 0)
        result = put_again(writer, &begin.header);
    if (result == 0)
        result = carried_each(rotation->carried, time, put_again, writer);
    writer->least_time++;
    return result < 0 ? result : writer_write_buffers(writer, NULL);
}

static int say_numbered(struct trace_writer *writer, struct problem *problem)
{
    trace_metadata_set_format(writer->metadata, writer->metadata_size, TRACE_FORMAT_NUMBERED);
    return writer_replace_metadata(writer, problem);
}

/* From now on, packets of the ring go into this file. The one before stays open. */
static void take_file(struct trace_writer *writer, enum ring_id ring, int file)
{
    struct stream_buffer *stream = &writer->streams[ring];

    stream->file = file;
    stream->file_size = 0;
    memset(writer->said[ring], 0, sizeof(writer->said[ring]));
}

static int make_data(struct trace_writer *writer, uint32_t number, struct problem *problem)
{
    char name[TRACE_FILE_NAME_SIZE];

    trace_file_name(RING_DATA, number, name);
    int file = writer_make_file(writer, name, problem);
    if (file >= 0)
        take_file(writer, RING_DATA, file);
    return file < 0 ? file : 0;
}

static int make_control(struct trace_writer *writer, uint32_t number, uint64_t time,
                        struct problem *problem)
{
    char name[TRACE_FILE_NAME_SIZE];

    trace_file_name(RING_CONTROL, number, name);
    int file = writer_make_file(writer, hidden, problem);
    if (file < 0)
        return file;
    (void)flock(file, LOCK_EX | LOCK_NB);
    take_file(writer, RING_CONTROL, file);
    int result = repeat(writer, time);
    if (result == 0 && renameat(writer->directory, hidden, writer->directory, name) < 0)
        result = -errno;
    if (result < 0) {
        unlinkat(writer->directory, hidden, 0);
        return writer_stop_for_disk(writer, RING_CONTROL, result, problem);
    }
    return 0;
}

/* The next pair could not be begun: the trace ends with the one before, as if this one had not been tried. */
static void go_back(struct trace_writer *writer, const struct trace_writer *before, uint32_t number)
{
    char name[TRACE_FILE_NAME_SIZE];

    trace_file_name(RING_DATA, number, name);
    if (writer->streams[RING_DATA].file != before->streams[RING_DATA].file)
        unlinkat(writer->directory, name, 0);
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        if (writer->streams[ring].file != before->streams[ring].file)
            close(writer->streams[ring].file);
    *writer = *before;
    writer->stopped = END_DISK;
}

/* Ends the current pair of files and begins the next one. */
static int begin_files(struct trace_writer *writer, uint64_t time, struct problem *problem)
{
    struct rotation *rotation = writer->rotation;
    uint32_t number = rotation->first + (uint32_t)rotation->count;

    if (array_reserve(&rotation->pairs, &rotation->capacity, rotation->count + 1,
                      sizeof(*rotation->pairs)) < 0)
        return problem_set(problem, -ENOMEM, "%s: out of memory", writer->name);
    int result = writer_write_buffers(writer, problem);
    if (result == 0 && number == 1)
        result = say_numbered(writer, problem);
    if (result < 0)
        return result;
    current(rotation)->bytes = bytes_now(writer);
    time = time_to_begin(writer, time);
    const struct trace_writer before = *writer;
    writer->least_time = time;
    result = make_data(writer, number, problem);
    if (result == 0)
        result = make_control(writer, number, time, problem);
    if (result < 0) {
        go_back(writer, &before, number);
        return result;
    }
    /* the old file stays locked until the new one has its name: the trace is being written all the time */
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        close(before.streams[ring].file);
    writer->streams[RING_CONTROL].last_time = before.streams[RING_CONTROL].last_time;
    rotation->block = bytes_now(writer);
    rotation->pairs[rotation->count++] = (struct pair){.begin = time};
    return 0;
}

/* ---- when ---- */

static bool is_full(const struct trace_writer *writer)
{
    const struct rotation *rotation = writer->rotation;
    uint64_t limit = writer->max_size / shares(rotation);
    uint64_t bytes = bytes_now(writer) - rotation->block;

    limit = limit < FILE_LEAST ? FILE_LEAST : limit;
    return bytes >= limit && bytes >= rotation->block;
}

static uint64_t age_of_files(const struct rotation *rotation)
{
    return rotation->limits.max_age / shares(rotation);
}

static bool is_aged(const struct trace_writer *writer, uint64_t time)
{
    const struct rotation *rotation = writer->rotation;
    uint64_t begin = rotation->pairs[rotation->count - 1].begin;

    return rotation->limits.max_age != 0 && time > begin && time - begin > age_of_files(rotation);
}

static void set_due(struct rotation *rotation)
{
    const struct trace_limits *limits = &rotation->limits;
    uint64_t end = current(rotation)->begin + age_of_files(rotation);
    uint64_t oldest = rotation->pairs[0].begin + limits->max_age;

    rotation->due = limits->max_age == 0 || rotation->settled ? UINT64_MAX
                    : end < oldest                            ? end
                                                              : oldest;
}

static int stop_for_identities(struct trace_writer *writer, struct problem *problem)
{
    writer->stopped = END_SIZE;
    return problem_set(problem, -EFBIG,
                       "%s: running processes, open connections and their names take %" PRIu64
                       " bytes, too much for a largest size of %" PRIu64
                       " bytes: the trace ends here; allow more (--max-size) or record fewer kinds "
                       "of connections (--kinds)",
                       writer->name, carried_bytes(writer->rotation->carried), writer->max_size);
}

int rotation_advance(struct trace_writer *writer, uint64_t time, struct problem *problem)
{
    struct rotation *rotation = writer->rotation;
    int result = 0;

    if (rotation->settled)
        return 0; /* make_room finds out */
    if (holds_any(writer) && (is_full(writer) || is_aged(writer, time)))
        result = begin_files(writer, time, problem);
    if (result < 0)
        return result;
    remove_what_is_beyond(writer, time);
    if (!has_space(writer, TRACE_PAGE_SIZE) && holds_any(writer)) {
        result = begin_files(writer, time, problem);
        remove_what_is_beyond(writer, time);
    }
    set_due(rotation);
    if (result == 0 && !has_space(writer, TRACE_PAGE_SIZE))
        result = stop_for_identities(writer, problem);
    return result;
}

void rotation_end(struct trace_writer *writer, uint64_t time)
{
    while (writer->rotation->count > 1 && is_too_old(writer->rotation, time))
        remove_oldest(writer);
}

bool rotation_is_due(const struct trace_writer *writer, uint64_t time)
{
    return time > writer->rotation->due;
}

int rotation_note(struct trace_writer *writer, const struct record_header *record)
{
    struct rotation *rotation = writer->rotation;

    if (record->id == EVENT_COST) {
        rotation->cpu = ((const struct record *)record)->cost.cpu;
        rotation->wakeups = ((const struct record *)record)->cost.wakeups;
    }
    return carried_note(rotation->carried, record);
}

/* ---- the interface ---- */

uint32_t trace_writer_files(const struct trace_writer *writer)
{
    const struct rotation *rotation = writer->rotation;

    return rotation == NULL ? 1 : rotation->first + (uint32_t)rotation->count;
}

uint64_t trace_writer_settle(struct trace_writer *writer, uint64_t bytes)
{
    struct rotation *rotation = writer->rotation;

    if (rotation == NULL)
        return UINT64_MAX;
    rotation->settled = true;
    rotation->due = UINT64_MAX;
    while (rotation->count > 1 && !has_space(writer, bytes + packets_extra(bytes)))
        remove_oldest(writer);
    uint64_t left = writer->max_size - writer->committed;
    uint64_t extra = packets_extra(left);
    uint64_t usable = left > extra ? left - extra : 0;
    return usable < bytes ? usable : bytes;
}

int trace_writer_keep_newest(struct trace_writer *writer, const struct trace_limits *limits,
                             const struct machine_record *machine, struct problem *problem)
{
    struct rotation *rotation = calloc(1, sizeof(*rotation));

    if (writer->max_size < TRACE_SMALLEST_KEPT) {
        free(rotation);
        return problem_set(problem, -EINVAL,
                           "a trace that keeps only the newest must have at least 1 MiB");
    }
    if (rotation == NULL || carried_new(&rotation->carried) < 0 ||
        array_reserve(&rotation->pairs, &rotation->capacity, 1, sizeof(*rotation->pairs)) < 0) {
        rotation_free(rotation);
        return problem_set(problem, -ENOMEM, "%s: out of memory", writer->name);
    }
    rotation->limits = *limits;
    rotation->machine = *machine;
    rotation->machine.header.id = EVENT_MACHINE;
    rotation->machine.header.flags = RECORD_NO_STREAM;
    rotation->machine.header.stream = 0;
    rotation->began = machine->header.time;
    rotation->pairs[0].begin = machine->header.time;
    rotation->count = 1;
    writer->rotation = rotation;
    set_due(rotation);
    return 0;
}

void rotation_free(struct rotation *rotation)
{
    if (rotation == NULL)
        return;
    carried_free(rotation->carried);
    free(rotation->pairs);
    free(rotation);
}
