/* SPDX-License-Identifier: MIT */
/* packet_check.c: see packet_check.h. */
#include "trace/packet_check.h"

#include <string.h>

const char *packet_wrong_header(const void *bytes, size_t size,
                                const struct trace_packet_header *expected)
{
    const unsigned char *found = bytes, *wanted = (const unsigned char *)expected;
    size_t at = 0;

    while (at < size && found[at] == wanted[at])
        at++;
    if (at == size)
        return NULL;
    if (at < offsetof(struct trace_packet_header, uuid))
        return "packet magic is wrong";
    if (at < offsetof(struct trace_packet_header, stream))
        return "the packet has another uuid than the trace";
    return "the packet belongs to another file";
}

const char *packet_wrong_context(const struct trace_packet_context *context, uint64_t least)
{
    if (context->packet_size % 64 != 0 || context->packet_size < TRACE_CONTENT * 8 ||
        context->packet_size > (uint64_t)TRACE_LAST_PACKET * 8)
        return "the packet's size is impossible";
    if (context->content_size % 64 != 0 || context->content_size < TRACE_CONTENT * 8 ||
        context->content_size > context->packet_size)
        return "the packet's content size is impossible";
    if (context->packet_seq_num < least || context->packet_seq_num == UINT64_MAX)
        return "the packet number is not larger than the one before";
    return NULL;
}

bool packet_ends(const void *packet)
{
    const struct trace_packet_header *header = packet;
    const struct trace_packet_context *context = (const struct trace_packet_context *)(header + 1);
    const char *record = (const char *)(context + 1);
    const char *content = (const char *)packet + context->content_size / 8;

    for (int i = 0; i < 2 && (size_t)(content - record) >= sizeof(struct end_record); i++) {
        unsigned id = ((const struct record_header *)record)->id;
        if (id == EVENT_END)
            return true;
        if (event_size(id) == 0)
            return false;
        record += event_size(id);
        if (record > content)
            return false;
    }
    return false;
}
