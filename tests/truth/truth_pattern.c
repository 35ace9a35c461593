/* SPDX-License-Identifier: MIT */
/*
 * truth_pattern.c: the contents of messages identify their sender and position.
 *
 * A writer's bytes are words of 8. The word at offset 8n of writer w:
 *
 *            bit 7    bits 6-3   bits 2-0
 *      byte  +-------+----------+--------------+
 *      0     | 1     | w        | bits 0-2 of n |     the first byte of a word is marked,
 *      1     | 0     | w        | bits 3-5 of n |     every byte names its writer:
 *      ...   | 0     | w        | ...           |     a reader that joins in anywhere, or finds
 *      7     | 0     | w        | bits 21-23    |     writers mixed byte by byte, can tell
 *            +-------+----------+--------------+
 *
 * Offsets count per writing stream and socket, modulo 2^27; on sockets with message boundaries each message begins at
 * the next multiple of 8.
 */
#include "truth.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WORD_SIZE        8u
#define OFFSET_LIMIT     ((uint64_t)1 << 27)
#define OFFSET_NOT_KNOWN UINT64_MAX

/* The part of a log line that is being built: consecutive bytes of one writer. */
struct part {
    uint32_t writer; /* thread id */
    uint64_t offset;
    uint64_t bytes;
    bool any_before;
};

static uint8_t pattern_byte(unsigned writer, uint64_t offset)
{
    uint64_t word = offset / WORD_SIZE;
    unsigned place = (unsigned)(offset % WORD_SIZE);

    return (uint8_t)((place == 0 ? 0x80 : 0) | (writer << 3) | ((word >> (3 * place)) & 7));
}

static unsigned byte_writer(uint8_t byte)
{
    return (byte >> 3) & 15;
}

static bool byte_is_marked(uint8_t byte)
{
    return (byte & 0x80) != 0;
}

void pattern_fill(uint8_t *bytes, unsigned writer, uint64_t offset, size_t length)
{
    if (offset + length > OFFSET_LIMIT)
        truth_fail("this stream has sent too much on one socket: use a smaller --scale");
    for (size_t i = 0; i < length; i++)
        bytes[i] = pattern_byte(writer, offset + i);
}

static void part_end(struct part *part)
{
    if (part->bytes == 0)
        return;
    if (part->offset == OFFSET_NOT_KNOWN)
        journal_print("%s%" PRIu32 ":?:%" PRIu64, part->any_before ? "," : "", part->writer,
                      part->bytes);
    else
        journal_print("%s%" PRIu32 ":%" PRIu64 ":%" PRIu64, part->any_before ? "," : "",
                      part->writer, part->offset, part->bytes);
    part->any_before = true;
    part->bytes = 0;
}

static void part_add(struct part *part, uint32_t writer, uint64_t offset)
{
    bool goes_on = part->bytes != 0 && part->writer == writer &&
                   (offset == OFFSET_NOT_KNOWN ? part->offset == OFFSET_NOT_KNOWN
                                               : part->offset + part->bytes == offset);

    if (!goes_on) {
        part_end(part);
        part->writer = writer;
        part->offset = offset;
    }
    part->bytes++;
}

static _Noreturn void fail_at(const struct end *end, const char *what, size_t place)
{
    truth_fail("inode %" PRIu64 ": byte %zu of what was received is wrong: %s", end->inode, place,
               what);
}

static void check_writer(const struct end *end, uint8_t byte, size_t place)
{
    if (byte_writer(byte) >= atomic_load(&end->scene->writer_count))
        fail_at(end, "from nobody who sent", place);
}

static uint32_t writer_tid(const struct end *end, unsigned writer)
{
    return atomic_load(&end->scene->writers[writer]);
}

/* The only reader of a byte stream knows what the next byte of every writer must be. */
static void check_alone(struct end *end, const uint8_t *bytes, size_t length, struct part *part)
{
    for (size_t i = 0; i < length; i++) {
        check_writer(end, bytes[i], i);
        unsigned writer = byte_writer(bytes[i]);
        uint64_t offset = end->expected[writer];
        if (bytes[i] != pattern_byte(writer, offset))
            fail_at(end, "not the writer's next byte", i);
        part_add(part, writer_tid(end, writer), offset);
        end->expected[writer]++;
    }
}

void pattern_check_passed_on(struct end *end, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        check_writer(end, bytes[i], i);
        unsigned writer = byte_writer(bytes[i]);
        if (bytes[i] != pattern_byte(writer, end->taken + i))
            fail_at(end, "not the writer's next byte", i);
    }
    journal_print(" [%" PRIu32 ":%" PRIu64 ":%zu]\n", end->only_sender, end->taken, length);
    end->taken += length;
}

/* The indexes in `bytes` of one writer's bytes. */
struct places {
    const uint8_t *bytes;
    uint32_t *place;
    size_t count;
};

static uint8_t place_byte(const struct places *places, size_t i)
{
    return places->bytes[places->place[i]];
}

/* Index of the next marked byte, or the count. */
static size_t find_mark(const struct places *places, size_t from)
{
    while (from < places->count && !byte_is_marked(place_byte(places, from)))
        from++;
    return from;
}

/* Offset of the whole word that begins at index i, or OFFSET_NOT_KNOWN. */
static uint64_t read_word(const struct places *places, size_t i)
{
    uint64_t word = 0;

    if (i + WORD_SIZE > places->count)
        return OFFSET_NOT_KNOWN;
    for (unsigned place = 0; place < WORD_SIZE; place++) {
        if (byte_is_marked(place_byte(places, i + place)) != (place == 0))
            return OFFSET_NOT_KNOWN;
        word |= (uint64_t)(place_byte(places, i + place) & 7) << (3 * place);
    }
    return word * WORD_SIZE;
}

/* Finds the offsets of one writer's bytes, starting from the first whole word among them. With jumps, the bytes
 * before and after a jump are read separately; if a jump is in the middle of a word, some bytes of the last word
 * before it may belong to another word. */
static void find_offsets(const struct end *end, unsigned writer, const struct places *places,
                         bool may_jump, uint64_t *offsets)
{
    size_t i = 0;

    while (i < places->count) {
        size_t mark = find_mark(places, i);
        uint64_t start = read_word(places, mark);
        if (mark - i >= WORD_SIZE && !may_jump)
            fail_at(end, "a word without its mark", places->place[i]);
        if (start == OFFSET_NOT_KNOWN) {
            if (mark + WORD_SIZE <= places->count && !may_jump)
                fail_at(end, "a word that is broken", places->place[mark]);
            i = mark + 1; /* too few bytes */
            continue;
        }
        size_t head = may_jump ? 0 : mark - i;
        if (start < head)
            fail_at(end, "before the writer's first byte", places->place[i]);
        uint64_t offset = start - head;
        for (i = mark - head; i < places->count; i++, offset++) {
            if (place_byte(places, i) != pattern_byte(writer, offset))
                break;
            /* the first byte of a word is the same in many others */
            if (may_jump && offset % WORD_SIZE == 0 && read_word(places, i) != offset)
                break;
            offsets[places->place[i]] = offset;
        }
        if (i < places->count && !may_jump)
            fail_at(end, "not the writer's next byte", places->place[i]);
    }
}

/* One of several readers: each writer's bytes are consecutive, but may begin anywhere. */
static void check_joined(struct end *end, const uint8_t *bytes, size_t length, bool may_jump,
                         struct part *part)
{
    uint64_t *offsets = malloc((length + 1) * sizeof(*offsets));
    uint32_t *place = malloc((length + 1) * sizeof(*place));

    if (offsets == NULL || place == NULL)
        truth_fail("no memory to check %zu bytes", length);
    for (size_t i = 0; i < length; i++) {
        check_writer(end, bytes[i], i);
        offsets[i] = OFFSET_NOT_KNOWN;
    }
    for (unsigned writer = 0; writer < WRITER_LIMIT; writer++) {
        struct places places = {bytes, place, 0};
        for (size_t i = 0; i < length; i++)
            if (byte_writer(bytes[i]) == writer)
                place[places.count++] = (uint32_t)i;
        find_offsets(end, writer, &places, may_jump, offsets);
    }
    for (size_t i = 0; i < length; i++)
        part_add(part, writer_tid(end, byte_writer(bytes[i])), offsets[i]);
    free(offsets);
    free(place);
}

/* A message comes from one writer and begins with a whole word, unless it is shorter than one. */
static void check_message(struct end *end, const uint8_t *bytes, size_t length, struct part *part)
{
    uint64_t offset = OFFSET_NOT_KNOWN;
    unsigned writer = length == 0 ? 0 : byte_writer(bytes[0]);

    for (size_t i = 0; i < length; i++) {
        check_writer(end, bytes[i], i);
        if (byte_writer(bytes[i]) != writer || byte_is_marked(bytes[i]) != (i % WORD_SIZE == 0))
            fail_at(end, "not of the message it is in", i);
    }
    if (length >= WORD_SIZE) {
        uint64_t word = 0;
        for (unsigned place = 0; place < WORD_SIZE; place++)
            word |= (uint64_t)(bytes[place] & 7) << (3 * place);
        offset = word * WORD_SIZE;
        for (size_t i = 0; i < length; i++)
            if (bytes[i] != pattern_byte(writer, offset + i))
                fail_at(end, "not the writer's next byte", i);
        /* One writer's messages arrive in order; it may have sent to others in between. */
        if (!end->several_readers && offset < end->expected[writer])
            fail_at(end, "an older message after a newer one", 0);
        end->expected[writer] = offset + length;
    }
    for (size_t i = 0; i < length; i++)
        part_add(part, writer_tid(end, writer), offset == OFFSET_NOT_KNOWN ? offset : offset + i);
}

void pattern_check(struct end *end, const uint8_t *bytes, size_t length, bool may_jump)
{
    struct part part = {0};

    journal_print(" [");
    if (end->messages)
        check_message(end, bytes, length, &part);
    else if (end->several_readers)
        check_joined(end, bytes, length, may_jump, &part);
    else
        check_alone(end, bytes, length, &part);
    part_end(&part);
    journal_print("]\n");
}
