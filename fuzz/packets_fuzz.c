/* SPDX-License-Identifier: MIT */
/*
 * packets_fuzz.c: the input is packets for a copy of a trace, with their rings and files, as a hostile sender may choose
 * them. Whatever they are, the copy has whole packets only, and goes on where it was when it is opened again.
 *
 *      | u32 size << 8 | file << 1 | ring | packet ... | u32 ... | packet ...
 */
#include "trace/packets.h"
#include "trace_example.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static char *metadata;
static size_t metadata_length;

static void remove_files(void)
{
    DIR *list = opendir(directory);
    const struct dirent *entry;

    while (list != NULL && (entry = readdir(list)) != NULL)
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
            unlinkat(dirfd(list), entry->d_name, 0);
    if (list != NULL)
        closedir(list);
}

static void free_metadata(void)
{
    free(metadata);
}

static void make_metadata(void)
{
    if (!make_directory())
        return;
    if (trace_metadata_make(uuid, "host", 0, &metadata, &metadata_length) < 0)
        abort();
    atexit(free_metadata);
}

static struct trace_copy *open_copy(void)
{
    const struct trace_copy_limits limits = {.max_bytes = 1 << 20};
    struct problem problem = {""};
    struct trace_copy *copy;
    int result = trace_copy_open(directory, metadata, metadata_length, &limits, &copy, &problem);

    if (result < 0)
        fprintf(stderr, "%s\n", problem.text);
    PROMISE(result == 0);
    return copy;
}

static void check_same(struct trace_position one, struct trace_position other)
{
    PROMISE(one.known == other.known);
    PROMISE(!one.known || (one.file == other.file && one.number == other.number));
}

/* Opened again, the copy is where it was. */
static struct trace_copy *open_again(struct trace_copy *copy)
{
    struct trace_position before[RING_COUNT];
    struct problem problem;
    bool ended = trace_copy_ended(copy);
    uint64_t bytes = trace_copy_counts(copy).bytes;

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        before[ring] = trace_copy_position(copy, ring);
    PROMISE(trace_copy_close(copy, &problem) == 0);
    copy = open_copy();
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        check_same(before[ring], trace_copy_position(copy, ring));
    PROMISE(trace_copy_ended(copy) == ended);
    PROMISE(trace_copy_counts(copy).bytes == bytes);
    return copy;
}

/* Its records may be wrong: then its readers say so. */
static void read_copy(void)
{
    const char *path = directory;
    struct problem problem = {""};
    struct source *source;
    struct event event;
    uint64_t complete;
    int result = trace_open(&path, 1, &source, &problem);

    if (result == 0) {
        while ((result = source->next(source, &event, &complete, &problem)) == SOURCE_RECORD)
            ;
        trace_close(source);
    }
    PROMISE(result >= 0 || problem.text[0] != '\0');
}

/* Readers of packets find as many as the copy has stored. */
static void read_packets(uint64_t stored)
{
    struct trace_packets *packets;
    struct trace_packet packet;
    struct problem problem = {""};
    uint64_t found = 0;

    PROMISE(trace_packets_open(directory, &packets, &problem) == 0);
    while (trace_packets_next(packets, &packet, &problem) == TRACE_PACKETS_ONE)
        found += !packet.is_metadata;
    PROMISE(found <= stored);
    trace_packets_close(packets);
}

static void add(struct trace_copy *copy, uint32_t head, const uint8_t *bytes, size_t size)
{
    struct problem problem = {""};
    struct trace_copy_counts before = trace_copy_counts(copy), after;
    int result =
        trace_copy_add(copy, (enum ring_id)(head & 1), head >> 1 & 0x7f, bytes, size, &problem);

    after = trace_copy_counts(copy);
    PROMISE(after.bytes <= 1 << 20);
    PROMISE(after.stored == before.stored + (result == 1));
    PROMISE(after.doubles == before.doubles + (result == 0));
    PROMISE(after.refused == before.refused + (result < 0));
    PROMISE(result == 1 || after.bytes <= before.bytes);
    PROMISE(result >= 0 || (problem.text[0] != '\0' && strchr(problem.text, '\n') == NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint64_t stored = 0;

    make_metadata();
    remove_files();
    struct trace_copy *copy = open_copy();
    for (unsigned i = 0; size > sizeof(uint32_t); i++) {
        uint32_t head;
        memcpy(&head, bytes, sizeof(head));
        bytes += sizeof(head);
        size -= sizeof(head);
        size_t part = head >> 8 < size ? head >> 8 : size;
        add(copy, head, bytes, part);
        bytes += part;
        size -= part;
        if (i % 3 == 0) {
            stored += trace_copy_counts(copy).stored;
            copy = open_again(copy);
        }
    }
    stored += trace_copy_counts(copy).stored;
    struct problem problem;
    PROMISE(trace_copy_close(copy, &problem) == 0);
    read_copy();
    read_packets(stored);
    return 0;
}

/* ---- the example ---- */

static void begin_headed(struct example *example)
{
    example->size += sizeof(uint32_t);
    begin_packet(example);
}

static void finish_headed(struct example *example, enum ring_id ring, uint32_t file)
{
    uint32_t head = (uint32_t)finish_packet(example, ring) << 8 | file << 1 | ring;

    memcpy(example->bytes + example->packet - sizeof(head), &head, sizeof(head));
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    const struct begin_record begin = {.header = {.id = EVENT_BEGIN}, .repeated = 2};
    struct example example = {.bytes = bytes};

    if (room < 16384)
        return 0;
    for (uint32_t file = 0; file < 3; file++) {
        begin_headed(&example);
        add_record(&example, EVENT_MACHINE);
        if (file > 0)
            add_bytes(&example, &begin, sizeof(begin));
        finish_headed(&example, RING_CONTROL, file);
        begin_headed(&example);
        add_record(&example, EVENT_STREAM);
        add_record(&example, EVENT_STREAM);
        finish_headed(&example, RING_CONTROL, file);
        begin_headed(&example);
        add_record(&example, EVENT_SEND);
        add_record(&example, EVENT_RECEIVE);
        finish_headed(&example, RING_DATA, file);
    }
    begin_headed(&example);
    add_record(&example, EVENT_COST);
    add_end(&example, 100);
    finish_headed(&example, RING_CONTROL, 2);
    return example.size;
}
