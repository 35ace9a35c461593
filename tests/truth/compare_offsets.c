/* SPDX-License-Identifier: MIT */
/*
 * compare_offsets.c: do the ranges of every path and direction tile?
 *
 *      start      SEND       SEND    SEND                  bytes: no gap, no overlap; a stream's
 *      |----------)[---------)[------)     end of file     own ranges in its own order
 *      start      1          2       3                     messages: consecutive numbers
 *
 * With several senders, the ranges are in the order in which the calls ended, which need not be the order of the bytes:
 * they tile all the same. On a pipe with packets, the unread rest of a packet is discarded, and the next range may
 * begin after it. A FIFO that is opened again continues after an end of file.
 */
#include "compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const direction_names[DIRECTION_COUNT] = {"SEND", "RECEIVE"};

struct direction_check {
    const struct dump *dump;
    struct findings *findings;
    const struct path *path;
    enum direction direction;
};

static const struct operation *operation_of(const struct direction_check *check,
                                            const struct range *range)
{
    return &check->dump->side.streams[range->stream].operations[range->operation];
}

static bool is_end_of_file(const struct direction_check *check, const struct range *range)
{
    return operation_of(check, range)->end_of_file;
}

/* Whether the log decides between an empty message and an end of file, which has no number. */
static bool can_be_told(const struct direction_check *check, const struct ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (check->path->counts_messages && ranges->list[i].bytes == 0 &&
            operation_of(check, &ranges->list[i])->logged == NULL)
            return false;
    return true;
}

/* Empty ranges come first, so that they never overlap a range that begins at the same offset. */
static int order_ranges(const void *left, const void *right)
{
    const struct range *a = left;
    const struct range *b = right;

    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Call it before the ranges are sorted: then the ranges of one stream are in its own order. */
static bool check_order(const struct direction_check *check, const struct ranges *ranges)
{
    for (size_t i = 1; i < ranges->count; i++) {
        const struct range *last = &ranges->list[i - 1];
        const struct range *range = &ranges->list[i];
        if (last->stream != range->stream || last->offset <= range->offset)
            continue;
        differ(check->findings,
               "%s: %s offsets go back within %s: %" PRIu64 " (line %" PRIu64 ") after %" PRIu64
               " (line %" PRIu64 ")",
               check->path->label, direction_names[check->direction],
               check->dump->side.streams[range->stream].label, range->offset, range->line,
               last->offset, last->line);
        return false;
    }
    return true;
}

static void differ_at(const struct direction_check *check, const char *what, uint64_t expected,
                      const struct range *range)
{
    differ(check->findings,
           "%s: %s: %s: offset %" PRIu64 " in line %" PRIu64 ", expected %" PRIu64
           " (start %" PRIu32 ")",
           check->path->label, direction_names[check->direction], what, range->offset, range->line,
           expected, check->path->start[check->direction]);
}

#define MOST_GONE 65536

/* The discarded bytes of packets that were read in part: of one packet, or, while their write is in progress, of
 * several. */
static uint64_t gone_before(const struct direction_check *check, const struct range *range,
                            uint64_t expected)
{
    if (!operation_of(check, range)->packet || range->offset <= expected ||
        range->offset - expected > MOST_GONE)
        return 0;
    return range->offset - expected;
}

/* Whether the range follows the previous one. */
static bool check_range(const struct direction_check *check, const struct range *range,
                        uint64_t expected)
{
    if (range->offset == expected)
        return true;
    differ_at(check, range->offset > expected ? "a gap" : "an overlap", expected, range);
    return false;
}

static bool ranges_have_only_ends(const struct direction_check *check)
{
    const struct ranges *ranges = &check->path->ranges[check->direction];

    for (size_t i = 0; i < ranges->count; i++)
        if (!is_end_of_file(check, &ranges->list[i]))
            return false;
    return true;
}

/* With other readers, the end can be seen before the last data of those readers are counted. */
static bool check_end_of_file(const struct direction_check *check, const struct range *range,
                              uint64_t end, bool one_reader)
{
    uint64_t start = check->path->start[check->direction];

    if (check->path->older && ranges_have_only_ends(check))
        return true;
    if (check->path->object == OBJECT_FIFO)
        one_reader = false;
    end += gone_before(check, range, end);
    if (range->offset == end || (!one_reader && range->offset >= start && range->offset < end))
        return true;
    differ_at(check, "the end of file is not where the data end", end, range);
    return false;
}

bool ranges_have_one_stream(const struct ranges *ranges)
{
    for (size_t i = 1; i < ranges->count; i++)
        if (ranges->list[i].stream != ranges->list[0].stream)
            return false;
    return true;
}

/* When metering begins while several streams are sending over an old UNIX stream or writing into an old pipe, the
 * bytes cannot be counted exactly. On a UNIX stream, the meter corrects the count when the queue is first empty, and
 * says so. Bytes that were already in a pipe may be counted twice: the call that wrote them then overlaps writes of
 * other streams, and all of these are marked doubtful. */
#define MOST_MENDED 2

static bool may_be_mended(const struct direction_check *check, bool one_stream,
                          const struct range *range, uint64_t expected)
{
    if (!check->path->older || check->direction != DIRECTION_OUT || one_stream)
        return false;
    if (check->path->object == OBJECT_SOCKET)
        return strcmp(check->path->kind, "unix-stream") == 0;
    return range->offset < expected && operation_of(check, range)->doubtful;
}

/* Only the first difference of a path is reported; the rest follow from it. */
static void check_direction(const struct direction_check *check, struct ranges *ranges)
{
    uint64_t expected = check->path->start[check->direction];
    uint64_t start = expected + (check->path->older ? BEFORE_START : 0);
    unsigned mended = 0;

    if (ranges->count > 0 && check->path->only != DIRECTION_COUNT &&
        check->path->only != check->direction) {
        differ(check->findings, "%s: a %s at the end of a pipe that has the other direction",
               check->path->label, direction_names[check->direction]);
        return;
    }
    if (ranges->count == 0 || !can_be_told(check, ranges) || !check_order(check, ranges))
        return;
    qsort(ranges->list, ranges->count, sizeof(*ranges->list), order_ranges);
    bool one_stream = ranges_have_one_stream(ranges);
    expected = start;
    for (size_t i = 0; i < ranges->count; i++) {
        const struct range *range = &ranges->list[i];
        if (is_end_of_file(check, range))
            continue;
        if (check->path->older && range->offset < start) {
            /* calls that were in progress when metering began, and bytes of other senders between them */
            if (range->offset + range->bytes > start)
                expected = range->offset + range->bytes;
            continue;
        }
        expected += gone_before(check, range, expected);
        if (range->offset != expected && may_be_mended(check, one_stream, range, expected) &&
            mended++ < MOST_MENDED)
            expected = range->offset;
        else if (!check_range(check, range, expected))
            return;
        expected += check->path->counts_messages ? 1 : range->bytes;
    }
    for (size_t i = 0; i < ranges->count; i++)
        if (is_end_of_file(check, &ranges->list[i]) &&
            !check_end_of_file(check, &ranges->list[i], expected, one_stream))
            return;
}

void offsets_check(struct dump *dump, struct findings *findings)
{
    for (size_t i = 0; i < dump->path_count; i++) {
        struct path *path = &dump->paths[i];
        if (!path->known || path->has_identities)
            continue; /* reported already; compare_identity.c checks it */
        for (unsigned k = 0; k < DIRECTION_COUNT; k++) {
            struct direction_check check = {dump, findings, path, (enum direction)k};
            check_direction(&check, &path->ranges[k]);
        }
    }
}
