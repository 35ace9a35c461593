/* SPDX-License-Identifier: MIT */
/* packet_records.c: see packet_records.h. */
#include "filter/packet_records.h"

#include "trace/trace.h"

#define CONTENT (sizeof(struct trace_packet_header) + sizeof(struct trace_packet_context))

uint64_t packet_records(const void *packet, size_t size, struct packet_classes *classes)
{
    const struct trace_packet_context *context =
        (const void *)((const char *)packet + sizeof(struct trace_packet_header));
    uint32_t ring = ((const struct trace_packet_header *)packet)->stream;
    uint64_t count = 0;

    if (size < CONTENT || ring >= RING_COUNT || context->content_size / 8 > size)
        return 0;
    for (size_t at = CONTENT, end = context->content_size / 8;
         end - at >= sizeof(struct record_header);) {
        const struct record *record = (const void *)((const char *)packet + at);
        unsigned id = record->header.id;
        size_t bytes =
            event_size(id >= EVENT_CLASS_FIRST ? classes->types[ring][id - EVENT_CLASS_FIRST] : id);
        if (bytes == 0 || bytes > end - at)
            break;
        if (id == EVENT_CLASS && record->class.number >= EVENT_CLASS_FIRST &&
            record->class.number < 256)
            classes->types[ring][record->class.number - EVENT_CLASS_FIRST] =
                (uint8_t)record->class.type;
        count++;
        at += bytes;
    }
    return count;
}
