/* SPDX-License-Identifier: MIT */
/*
 * copy_newest.c: a copy of which only the newest pairs of files are kept. See packets.h.
 *
 *      control.3 data.3 | control.4 data.4 | control.5 data.5 | .control.6 data.6
 *      <-- removed when they are beyond the limits --> stays: the last one with a name, and what follows
 *
 * A pair begins by repeating what is still valid, so those before it can go at any time.
 */
#include "trace/copy_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int copy_newest_note(struct trace_copy *copy, const struct copy_pair *pair)
{
    if (!copy->limits.newest)
        return 0;
    if (array_reserve(&copy->earlier, &copy->earlier_capacity, copy->earlier_count + 1,
                      sizeof(*copy->earlier)) < 0)
        return -ENOMEM;
    copy->earlier[copy->earlier_count++] = *pair;
    return 0;
}

static uint64_t size_of(const struct trace_copy *copy, enum ring_id ring, uint32_t number)
{
    char name[TRACE_FILE_NAME_SIZE];
    struct stat status;

    trace_file_name(ring, number, name);
    return fstatat(copy->directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0
               ? 0
               : (uint64_t)status.st_size;
}

/* When the first record of a pair was made; 0: not known. */
static uint64_t begin_of(const struct trace_copy *copy, uint32_t number)
{
    const struct trace_packet_header expected = packet_header(copy->uuid, RING_CONTROL);
    struct trace_packet_context context;
    char name[TRACE_FILE_NAME_SIZE];
    const char *wrong;
    uint64_t size;

    trace_file_name(RING_CONTROL, number, name);
    int file =
        trace_file_open(copy->directory, copy->name, name, O_RDONLY | O_NOFOLLOW, &size, NULL);
    if (file < 0)
        return 0;
    int result = packet_look(file, size, 0, &expected, 0, &context, &wrong);
    close(file);
    return result > 0 ? context.timestamp_begin : 0;
}

int copy_newest_find(struct trace_copy *copy, const struct trace_numbers *numbers,
                     struct problem *problem)
{
    int result = 0;

    for (uint32_t i = 0; copy->limits.newest && result == 0 && i + !copy->hidden < numbers->count;
         i++) {
        uint32_t number = numbers->at[i];
        const struct copy_pair pair = {
            .number = number,
            .bytes = size_of(copy, RING_CONTROL, number) + size_of(copy, RING_DATA, number),
            .begin = begin_of(copy, number),
        };
        result = copy_newest_note(copy, &pair);
    }
    return result < 0 ? problem_set(problem, result, "%s: out of memory", copy->name) : 0;
}

static void remove_oldest(struct trace_copy *copy)
{
    const struct copy_pair *oldest = &copy->earlier[0];
    char name[TRACE_FILE_NAME_SIZE];

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        trace_file_name(ring, oldest->number, name);
        unlinkat(copy->directory, name, 0);
    }
    copy->counts.bytes -= oldest->bytes;
    copy->pairs--;
    memmove(copy->earlier, copy->earlier + 1, --copy->earlier_count * sizeof(*copy->earlier));
}

static bool is_beyond(const struct trace_copy *copy, uint64_t size, uint64_t time)
{
    const struct trace_copy_limits *limits = &copy->limits;
    uint64_t bytes = copy->counts.bytes + TRACE_PAGE_SIZE + size, begin = copy->earlier[0].begin;
    uint32_t most = limits->kept.max_files == 0 ? TRACE_FILES_MOST : limits->kept.max_files;

    return copy->pairs - copy->hidden > most ||
           (limits->max_bytes != 0 && bytes > limits->max_bytes) ||
           (limits->kept.max_age != 0 && begin != 0 && time > begin &&
            time - begin > limits->kept.max_age);
}

/* While the beginning of the last pair is not complete, the one before it is what readers have. */
void copy_newest_make_space(struct trace_copy *copy, uint64_t size, uint64_t time)
{
    while (copy->earlier_count > copy->hidden && is_beyond(copy, size, time))
        remove_oldest(copy);
}
