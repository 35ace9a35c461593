/* SPDX-License-Identifier: MIT */
/*
 * stream_fuzz.c: the input is the stream that a custom filter reads. Whatever it is, the public header returns whole records of known
 * types, or ends with a reason.
 */
#include "filter/packet_stream.h"
#include "fuzz.h"
#include "trace_example.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int file = memfd_create("stream", MFD_CLOEXEC), result;
    struct packet_stream *stream;
    struct event event;
    struct problem problem = {""};
    uint64_t sum = 0, count = 0;

    PROMISE(file >= 0 && write(file, bytes, size) == (ssize_t)size);
    PROMISE(lseek(file, 0, SEEK_SET) == 0 && packet_stream_new(file, &stream) == 0);
    while ((result = packet_stream_next(stream, &event, &problem)) > 0) {
        size_t bytes_there = event_size(event.header->id);
        PROMISE(bytes_there != 0 && ++count <= size / sizeof(struct record_header));
        for (size_t i = 0; i < bytes_there; i++)
            sum += ((const uint8_t *)event.header)[i];
    }
    PROMISE(result == 0 || (result == -EBADMSG && problem.text[0] != '\0'));
    PROMISE(sum <= UINT64_MAX);
    packet_stream_free(stream);
    close(file);
    return 0;
}

/* Metadata, a packet of identities with a class, one of messages. */
size_t fuzz_example(uint8_t *bytes, size_t room)
{
    struct example example = {.bytes = bytes};
    const struct record class = {
        .header = {.id = EVENT_CLASS},
        .class = {.number = EVENT_CLASS_FIRST, .type = EVENT_SEND, .absent = 1 << 10}};
    struct record reduced = {.header = {.id = EVENT_CLASS_FIRST, .stream = 1}};
    const uint32_t metadata[10] = {0x75D11D57u, [6] = 0, [7] = 40 * 8};

    if (room < 4096)
        return 0;
    memcpy(bytes, metadata, sizeof(metadata));
    memcpy(bytes + 4, uuid, sizeof(uuid));
    example.size = sizeof(metadata);
    begin_packet(&example);
    add_record(&example, EVENT_MACHINE);
    add_record(&example, EVENT_PATH);
    add_bytes(&example, &class, sizeof(class));
    finish_packet(&example, RING_CONTROL);
    begin_packet(&example);
    add_record(&example, EVENT_SEND);
    add_bytes(&example, &reduced, sizeof(reduced));
    finish_packet(&example, RING_DATA);
    begin_packet(&example);
    add_end(&example, 6);
    finish_packet(&example, RING_CONTROL);
    return example.size;
}
