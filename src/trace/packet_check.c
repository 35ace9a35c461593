/* SPDX-License-Identifier: MIT */
/* packet_check.c: see packet_check.h. */
#include "trace/packet_check.h"

#include <errno.h>
#include <string.h>

struct trace_packet_header packet_header(const uint8_t uuid[TRACE_UUID_SIZE], enum ring_id ring)
{
    struct trace_packet_header header = {.magic = TRACE_MAGIC, .stream = ring};

    memcpy(header.uuid, uuid, TRACE_UUID_SIZE);
    return header;
}

int packet_look(int file, uint64_t size, uint64_t offset,
                const struct trace_packet_header *expected, uint64_t least,
                struct trace_packet_context *ret_context, const char **ret_wrong)
{
    struct {
        struct trace_packet_header header;
        struct trace_packet_context context;
    } head;

    *ret_wrong = NULL;
    if (size - offset < sizeof(head))
        return 0;
    int result = trace_file_read(file, &head, sizeof(head), offset);
    if (result < 0)
        return result;
    if (head.header.magic == 0)
        return 0; /* zeros that a power failure has left */
    *ret_wrong = packet_wrong_header(&head.header, sizeof(head.header), expected);
    if (*ret_wrong == NULL)
        *ret_wrong = packet_wrong_context(&head.context, least);
    if (*ret_wrong != NULL)
        return -EBADMSG;
    *ret_context = head.context;
    return head.context.packet_size / 8 <= size - offset;
}

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
    const struct trace_packet_context *context = packet_context(packet);
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
