/* SPDX-License-Identifier: MIT */
/*
 * trace_example.h: for targets that read traces: a directory for one, and an example of its packets. They have no padding,
 * since mutations of padding are useless.
 */
#ifndef DPM_TRACE_EXAMPLE_H
#define DPM_TRACE_EXAMPLE_H

#include "base/folder.h"
#include "fuzz.h"
#include "trace/trace_internal.h"

#include <string.h>

static const uint8_t uuid[TRACE_UUID_SIZE] = {0xd0, 0x0d, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static char directory[64];

static void remove_directory(void)
{
    folder_remove(directory);
}

/* Returns whether it is new. */
static inline bool make_directory(void)
{
    if (directory[0] != '\0')
        return false;
    /* In memory if possible. */
    strcpy(directory, "/dev/shm/dpm-fuzz-XXXXXX");
    if (mkdtemp(directory) == NULL) {
        strcpy(directory, "/tmp/dpm-fuzz-XXXXXX");
        if (mkdtemp(directory) == NULL)
            abort();
    }
    atexit(remove_directory);
    return true;
}

struct example {
    uint8_t *bytes;
    size_t size;
    size_t packet; /* where the current packet begins */
    uint64_t time;
    uint64_t packets[RING_COUNT];
};

static void begin_packet(struct example *example)
{
    example->packet = example->size;
    example->size += TRACE_CONTENT;
}

/* Adds a record, whose time is one later than that of the last one. */
static void add_bytes(struct example *example, const void *record, size_t size)
{
    struct record_header header;

    memcpy(&header, record, sizeof(header));
    header.time = ++example->time;
    memcpy(example->bytes + example->size, record, size);
    memcpy(example->bytes + example->size, &header, sizeof(header));
    example->size += size;
}

/* Adds a record that is all zero after its header. */
static void add_record(struct example *example, enum event_id id)
{
    union {
        struct record_header header;
        char bytes[RECORD_SIZE_MOST];
    } record;

    memset(&record, 0, sizeof(record));
    record.header = (struct record_header){.id = id, .sequence = 7, .stream = 1};
    add_bytes(example, &record, event_size(id));
}

static void add_end(struct example *example, uint64_t records)
{
    const struct end_record end = {
        .header = {.id = EVENT_END}, .records = records, .lost = 5, .reason = END_COMPLETE};

    add_bytes(example, &end, sizeof(end));
}

/* Returns the packet's size. */
static size_t finish_packet(struct example *example, enum ring_id ring)
{
    size_t size = example->size - example->packet;
    /* Aligned on the stack: the input may begin at any address. */
    uint64_t packet[256];

    PROMISE(size <= sizeof(packet));
    memcpy(packet, example->bytes + example->packet, size);
    struct trace_packet_context *context =
        trace_packet_finish(packet, uuid, ring, size, size, example->time);
    context->packet_seq_num = example->packets[ring]++;
    context->events_discarded = 2 * example->packets[ring];
    context->monotonic = example->time;
    context->real_time = 1000;
    memcpy(example->bytes + example->packet, packet, size);
    return size;
}

#endif
