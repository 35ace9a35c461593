/* SPDX-License-Identifier: MIT */
/*
 * stream.h: reads the stream of packets that `dpm run --filter`, `dpm acquire --filter` and `dpm filter --filter` hand to a
 * program's standard input. It needs nothing but the C library.
 *
 *      struct dpm_stream stream = {0};
 *      const struct record_header *header;
 *
 *      while ((header = dpm_next(&stream)) != NULL)
 *          if (header->id == EVENT_SEND)
 *              bytes += ((const struct record *)header)->message.bytes;
 *
 * Records are those of dpm/record.h. They come as they stand in the trace: within each of its two rings by time, and what a record
 * refers to (STREAM, PATH ...) before it. docs/trace-format.md describes the stream.
 */
#ifndef DPM_STREAM_H
#define DPM_STREAM_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dpm/record.h>

#define DPM_PACKET_MAGIC     0xC1FC1FC1u
#define DPM_METADATA_MAGIC   0x75D11D57u
#define DPM_PACKET_SIZE_MOST (2u << 20)

/* One trace of the stream. */
struct dpm_origin {
    uint8_t uuid[16];
    uint64_t next[RING_COUNT]; /* number of the packet that is expected */
    uint64_t lost[RING_COUNT];
    uint8_t types[RING_COUNT][256 - EVENT_CLASS_FIRST]; /* of classes of records that lack fields */
    uint64_t absent[RING_COUNT][256 - EVENT_CLASS_FIRST];
};

/* All zero, but for `file`, before the first call. */
struct dpm_stream {
    int file; /* 0: standard input */

    /* of the record that dpm_next has returned */
    uint64_t
        absent; /* fields that it lacks; their bytes are 0. Bit n: field n of the header; 8 + n: field n of the body */
    int64_t wall_offset; /* ns to add to its time for the wall clock, since 1970 */
    uint32_t
        origin; /* which trace it is from: 0, 1 ... Numbers of streams and paths are those of the trace */

    /* so far */
    uint64_t records, packets;
    uint64_t missed;   /* packets that never came: numbers that were left out */
    uint64_t lost;     /* records that the meter could not write */
    const char *error; /* dpm_next has returned NULL: why; NULL: the stream has ended */

    /* private */
    unsigned char *packet;
    uint32_t ring; /* of the packet */
    size_t at, end, capacity;
    struct dpm_origin *origins;
    uint32_t origin_count;
    uint64_t copy[RECORD_SIZE_MOST / 8]; /* of a record of a class, with the ID of its type */
};

/* The size of a record with this ID, in bytes; 0: there is no such type. */
static inline size_t dpm_record_size(unsigned id)
{
    switch (id) {
    case EVENT_STREAM:
        return sizeof(struct stream_record);
    case EVENT_PATH:
        return sizeof(struct path_record);
    case EVENT_IMAGE:
        return sizeof(struct image_record);
    case EVENT_MACHINE:
        return sizeof(struct machine_record);
    case EVENT_END:
        return sizeof(struct end_record);
    case EVENT_MODULE:
        return sizeof(struct module_record);
    case EVENT_PROCEDURE:
        return sizeof(struct procedure_record);
    case EVENT_NAME:
        return sizeof(struct name_record);
    case EVENT_FLAGS:
        return sizeof(struct flags_record);
    case EVENT_SUMMARY:
        return sizeof(struct summary_record);
    case EVENT_CGROUP:
        return sizeof(struct cgroup_record);
    case EVENT_BEGIN:
        return sizeof(struct begin_record);
    case EVENT_DECISION:
        return sizeof(struct decision_record);
    default:
        return id > 0 && id < EVENT_ID_END ? sizeof(struct record) : 0;
    }
}

/* Frees what the stream has allocated. */
static inline void dpm_done(struct dpm_stream *stream)
{
    free(stream->packet);
    free(stream->origins);
    memset(stream, 0, sizeof(*stream));
}

/* ---- private ---- */

static inline int dpm_fail(struct dpm_stream *stream, const char *error)
{
    stream->error = error;
    return 0;
}

/* Reads `size` bytes behind those that are there. Returns how many there were; fewer: the stream has ended. */
static inline size_t dpm_read(struct dpm_stream *stream, size_t from, size_t size)
{
    size_t got = 0;

    while (got < size) {
        ssize_t some = read(stream->file, stream->packet + from + got, size - got);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            stream->error = "the stream cannot be read";
        if (some <= 0)
            break;
        got += (size_t)some;
    }
    return got;
}

static inline int dpm_reserve(struct dpm_stream *stream, size_t size)
{
    unsigned char *packet =
        size <= stream->capacity ? stream->packet : (unsigned char *)realloc(stream->packet, size);

    if (packet == NULL)
        return dpm_fail(stream, "out of memory");
    stream->packet = packet;
    stream->capacity = size > stream->capacity ? size : stream->capacity;
    return 1;
}

static inline uint32_t dpm_u32(const unsigned char *at)
{
    uint32_t number;

    memcpy(&number, at, sizeof(number));
    return number;
}

static inline uint64_t dpm_u64(const unsigned char *at)
{
    uint64_t number;

    memcpy(&number, at, sizeof(number));
    return number;
}

static inline int dpm_find_origin(struct dpm_stream *stream, const unsigned char *uuid)
{
    uint32_t i = 0;

    while (i < stream->origin_count && memcmp(stream->origins[i].uuid, uuid, 16) != 0)
        i++;
    stream->origin = i;
    if (i < stream->origin_count)
        return 1;
    struct dpm_origin *origins =
        (struct dpm_origin *)realloc(stream->origins, (i + 1) * sizeof(*origins));
    if (origins == NULL)
        return dpm_fail(stream, "out of memory");
    stream->origins = origins;
    memset(&origins[i], 0, sizeof(origins[i]));
    memcpy(origins[i].uuid, uuid, 16);
    stream->origin_count++;
    return 1;
}

/* What the packet's header says. */
static inline int dpm_begin_packet(struct dpm_stream *stream)
{
    const unsigned char *packet = stream->packet;
    uint32_t ring = dpm_u32(packet + 20);
    uint64_t content = dpm_u64(packet + 40) / 8, number = dpm_u64(packet + 56);
    uint64_t lost = dpm_u64(packet + 64);

    if (ring >= RING_COUNT || content < 88 || content > stream->end)
        return dpm_fail(stream, "a packet is damaged");
    if (!dpm_find_origin(stream, packet + 4))
        return 0;
    struct dpm_origin *origin = &stream->origins[stream->origin];
    stream->ring = ring;
    if (number > origin->next[ring])
        stream->missed += number - origin->next[ring];
    origin->next[ring] = number + 1;
    if (lost > origin->lost[ring]) {
        stream->lost += lost - origin->lost[ring];
        origin->lost[ring] = lost;
    }
    stream->wall_offset = (int64_t)(dpm_u64(packet + 80) - dpm_u64(packet + 72));
    stream->at = 88;
    stream->end = content;
    stream->packets++;
    return 1;
}

/* Reads the next packet of records; metadata are skipped. Returns 0 at the end. */
static inline int dpm_next_packet(struct dpm_stream *stream)
{
    for (;;) {
        if (!dpm_reserve(stream, 88))
            return 0;
        size_t got = dpm_read(stream, 0, 37);
        if (got == 0)
            return 0;
        uint32_t magic = got < 37 ? 0 : dpm_u32(stream->packet);
        int is_metadata = magic == DPM_METADATA_MAGIC;
        if (magic == DPM_PACKET_MAGIC)
            got += dpm_read(stream, 37, 88 - 37);
        if (got < (is_metadata ? 37u : 88u) || (!is_metadata && magic != DPM_PACKET_MAGIC))
            return dpm_fail(stream, got < 37 ? "the stream ends inside a packet"
                                             : "this is not a stream of packets of DPM");
        uint64_t size =
            is_metadata ? dpm_u32(stream->packet + 28) / 8 : dpm_u64(stream->packet + 48) / 8;
        if (size < got || size > DPM_PACKET_SIZE_MOST)
            return dpm_fail(stream, "a packet is damaged");
        if (!dpm_reserve(stream, (size_t)size))
            return 0;
        if (dpm_read(stream, got, (size_t)size - got) < size - got)
            return dpm_fail(stream, "the stream ends inside a packet");
        stream->end = (size_t)size;
        if (!is_metadata)
            return dpm_begin_packet(stream);
    }
}

/* The record of a class gets the ID of its type. */
static inline const struct record_header *dpm_resolve(struct dpm_stream *stream, unsigned type,
                                                      const unsigned char *at, size_t size)
{
    struct record_header *header = (struct record_header *)stream->copy;

    memcpy(stream->copy, at, size);
    header->id = (uint8_t)type;
    return header;
}

static inline void dpm_note_class(struct dpm_origin *origin, uint32_t ring,
                                  const struct record *record)
{
    uint32_t number = record->class.number - EVENT_CLASS_FIRST;

    if (number >= 256 - EVENT_CLASS_FIRST)
        return;
    origin->types[ring][number] = (uint8_t)record->class.type;
    origin->absent[ring][number] = record->class.absent;
}

/* ---- reading ---- */

/* The next record, which is valid until the next call; NULL: the stream has ended, see `error`. */
static inline const struct record_header *dpm_next(struct dpm_stream *stream)
{
    while (stream->end - stream->at < sizeof(struct record_header))
        if (!dpm_next_packet(stream)) {
            stream->at = stream->end = 0;
            return NULL;
        }
    struct dpm_origin *origin = &stream->origins[stream->origin];
    const unsigned char *at = stream->packet + stream->at;
    const struct record_header *header = (const struct record_header *)(const void *)at;
    unsigned id = header->id, type = id;

    stream->absent = 0;
    if (id >= EVENT_CLASS_FIRST) {
        type = origin->types[stream->ring][id - EVENT_CLASS_FIRST];
        stream->absent = origin->absent[stream->ring][id - EVENT_CLASS_FIRST];
    }
    size_t size = dpm_record_size(type);
    if (size == 0 || size > stream->end - stream->at) {
        dpm_fail(stream, "a record has an unknown type: this program is older than the stream");
        stream->at = stream->end = 0;
        return NULL;
    }
    stream->at += size;
    stream->records++;
    if (type == EVENT_CLASS)
        dpm_note_class(origin, stream->ring, (const struct record *)header);
    return type == id ? header : dpm_resolve(stream, type, at, size);
}

#endif
