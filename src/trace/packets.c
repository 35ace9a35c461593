/* SPDX-License-Identifier: MIT */
/*
 * packets.c: reads a trace packet by packet while it grows. See packets.h.
 *
 *      control   | 0 | 1 |   | 2 |           each packet says when it was written (monotonic), so the next one of both files
 *      data          | 0 | 1 |   | 2 |       is known: control 0, data 0, control 1 ...
 *
 * A file is looked at before the metadata: what describes a packet was written before it.
 */
#include "trace/packets.h"

#include "trace/packet_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_TRIES 100 /* to open files before the writer removes them */

/* One of the two files that are being read. */
struct packet_file {
    int file;
    uint64_t size;    /* when it was last looked at */
    uint64_t next;    /* offset of the next packet */
    uint64_t bytes;   /* of the next packet; 0: it is not known, or not whole */
    uint64_t number;  /* of it */
    uint64_t written; /* when: no packet was written before the one before it */
    uint64_t least;   /* smallest number that may come */
    struct trace_position skip;
};

struct trace_packets {
    struct packet_file files[RING_COUNT];
    uint32_t here; /* number of the pair */
    int directory;
    uint8_t uuid[TRACE_UUID_SIZE];
    uint64_t overtaken;
    bool opened;
    bool ended;
    struct stat metadata; /* as it was when it was last returned */
    char *text;
    void *packet; /* [TRACE_LAST_PACKET] the one returned last */
    int failed;
    struct problem problem;
    char name[TRACE_NAME_SIZE];
};

/* ---- packets of one file ---- */

static int damaged(const struct trace_packets *packets, enum ring_id ring, const char *what,
                   struct problem *problem)
{
    char name[TRACE_FILE_NAME_SIZE];

    trace_file_name(ring, packets->here, name);
    return problem_set(problem, -EBADMSG,
                       "%s/%s: at byte %llu: %s: the file is damaged here; restore it from a copy",
                       packets->name, name, (unsigned long long)packets->files[ring].next, what);
}

static int cannot_read(const struct trace_packets *packets, enum ring_id ring, int error,
                       struct problem *problem)
{
    return problem_set(problem, error, "%s/%s: cannot be read: %s", packets->name,
                       trace_file_names[ring],
                       error == -ENODATA ? "it became shorter" : strerror(-error));
}

static int look_at_size(struct trace_packets *packets, enum ring_id ring, struct problem *problem)
{
    struct packet_file *file = &packets->files[ring];
    struct stat status;

    if (fstat(file->file, &status) < 0)
        return cannot_read(packets, ring, -errno, problem);
    if ((uint64_t)status.st_size < file->size)
        return cannot_read(packets, ring, -ENODATA, problem);
    file->size = (uint64_t)status.st_size;
    return 0;
}

/* Looks for the next packet: file->bytes. */
static int find_packet(struct trace_packets *packets, enum ring_id ring, struct problem *problem)
{
    struct packet_file *file = &packets->files[ring];
    const struct trace_packet_header expected = packet_header(packets->uuid, ring);
    struct trace_packet_context context;
    const char *wrong;

    if (file->bytes != 0)
        return 0;
    int result = look_at_size(packets, ring, problem);
    if (result < 0)
        return result;
    result =
        packet_look(file->file, file->size, file->next, &expected, file->least, &context, &wrong);
    if (result < 0)
        return wrong == NULL ? cannot_read(packets, ring, result, problem)
                             : damaged(packets, ring, wrong, problem);
    if (result == 0)
        return 0;
    file->bytes = context.packet_size / 8;
    file->number = context.packet_seq_num;
    if (context.monotonic > file->written)
        file->written = context.monotonic;
    return 0;
}

static void leave_packet(struct packet_file *file)
{
    file->next += file->bytes;
    file->least = file->number + 1;
    file->bytes = 0;
}

/* ---- pairs of files ---- */

static void close_pair(struct trace_packets *packets)
{
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        if (packets->files[ring].file >= 0)
            close(packets->files[ring].file);
        packets->files[ring].file = -1;
    }
}

static int open_pair(struct trace_packets *packets, uint32_t number, struct problem *problem)
{
    int files[RING_COUNT];
    int result = trace_pair_open(packets->directory, packets->name, number, files, problem);

    if (result < 0)
        return result;
    close_pair(packets);
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        struct packet_file *file = &packets->files[ring];
        file->file = files[ring];
        file->size = file->next = file->bytes = file->written = 0;
    }
    packets->here = number;
    packets->opened = true;
    return 0;
}

/* The pair to go to, or to begin with: when the last packet of control was sent, all of earlier pairs had been. */
static uint32_t choose_pair(const struct trace_packets *packets,
                            const struct trace_numbers *numbers)
{
    const struct trace_position *skip = &packets->files[RING_CONTROL].skip;

    if (packets->opened)
        return trace_numbers_after(numbers, packets->here);
    if (!skip->known || skip->file == 0)
        return numbers->at[0];
    uint32_t found = trace_numbers_after(numbers, skip->file - 1);
    return found == skip->file - 1 ? trace_numbers_last(numbers) : found;
}

/* Goes to the next pair of files: 1, 0: there is none, or a negative errno. */
static int go_to_pair(struct trace_packets *packets, struct problem *problem)
{
    struct trace_numbers numbers;

    for (int i = 0;; i++) {
        int result = trace_numbers_find(packets->directory, packets->name, &numbers, problem);
        if (result < 0)
            return result;
        uint32_t next = choose_pair(packets, &numbers);
        if (packets->opened && next == packets->here)
            return 0;
        result = open_pair(packets, next, problem);
        if (result != -ENOENT || i == OPEN_TRIES)
            return result < 0 ? result : 1;
    }
}

static bool is_being_written(const struct trace_packets *packets)
{
    int file = packets->files[RING_CONTROL].file;

    if (flock(file, LOCK_SH | LOCK_NB) == 0) {
        flock(file, LOCK_UN);
        return false;
    }
    return errno == EWOULDBLOCK;
}

/* ---- which packet is next ---- */

static bool is_stored(const struct trace_packets *packets, enum ring_id ring)
{
    const struct packet_file *file = &packets->files[ring];

    return file->bytes != 0 && file->skip.known && file->number <= file->skip.number;
}

/* Finds the next packet of a file after the position to begin at. */
static int find_wanted(struct trace_packets *packets, enum ring_id ring, struct problem *problem)
{
    int result = find_packet(packets, ring, problem);

    while (result == 0 && is_stored(packets, ring)) {
        leave_packet(&packets->files[ring]);
        result = find_packet(packets, ring, problem);
    }
    return result;
}

/* Reads the next packet of a file into packets->packet. */
static int read_packet(struct trace_packets *packets, enum ring_id ring, struct problem *problem)
{
    const struct packet_file *file = &packets->files[ring];
    int result = trace_file_read(file->file, packets->packet, file->bytes, file->next);

    return result < 0 ? cannot_read(packets, ring, result, problem) : 0;
}

/* Whether the next packet of data was written before the next one of control, and is to be returned before it. END is the
 * last packet: that which dpm repair writes has no clock of its own. */
static int data_come_first(struct trace_packets *packets, struct problem *problem)
{
    const struct packet_file *control = &packets->files[RING_CONTROL];
    const struct packet_file *data = &packets->files[RING_DATA];

    if (control->bytes == 0 || data->bytes == 0)
        return data->bytes != 0;
    if (data->written < control->written)
        return 1;
    if (control->bytes > TRACE_PAGE_SIZE)
        return 0;
    int result = read_packet(packets, RING_CONTROL, problem);
    return result < 0 ? result : packet_ends(packets->packet);
}

/* The ring whose packet is next; RING_COUNT: none in these files; or a negative errno. */
static int choose_ring(struct trace_packets *packets, struct problem *problem)
{
    /* data after control: then no data are missed that were written before this packet of control; and the other way */
    int result = find_wanted(packets, RING_CONTROL, problem);

    if (result == 0)
        result = find_wanted(packets, RING_DATA, problem);
    if (result == 0 && packets->files[RING_DATA].bytes != 0)
        result = find_wanted(packets, RING_CONTROL, problem);
    if (result == 0)
        result = data_come_first(packets, problem);
    if (result < 0)
        return result;
    if (result > 0)
        return RING_DATA;
    return packets->files[RING_CONTROL].bytes != 0 ? RING_CONTROL : RING_COUNT;
}

/* The same, in these files or in later ones. */
static int advance(struct trace_packets *packets, struct problem *problem)
{
    for (;;) {
        int ring = choose_ring(packets, problem);
        if (ring != RING_COUNT)
            return ring;
        struct trace_numbers numbers;
        int result = trace_numbers_find(packets->directory, packets->name, &numbers, problem);
        if (result < 0 || trace_numbers_last(&numbers) <= packets->here)
            return result < 0 ? result : RING_COUNT;
        /* a later pair means that these files have their last packets; some may have come just before */
        ring = choose_ring(packets, problem);
        if (ring != RING_COUNT)
            return ring;
        for (enum ring_id each = 0; each < RING_COUNT; each++)
            if (packets->files[each].next < packets->files[each].size)
                return damaged(packets, each, "the packet is cut, but there are later files",
                               problem);
        result = go_to_pair(packets, problem);
        if (result <= 0)
            return result < 0 ? result : RING_COUNT;
    }
}

/* ---- returning ---- */

static bool is_same_file(const struct stat *one, const struct stat *other)
{
    return one->st_ino == other->st_ino && one->st_size == other->st_size &&
           one->st_mtim.tv_sec == other->st_mtim.tv_sec &&
           one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

/* Returns the metadata if they are not those that were returned last: 1, 0 or a negative errno. */
static int give_metadata(struct trace_packets *packets, struct trace_packet *ret_packet,
                         struct problem *problem)
{
    struct stat status;
    uint8_t uuid[TRACE_UUID_SIZE];
    unsigned format;
    size_t length;
    char *text;

    if (fstatat(packets->directory, "metadata", &status, 0) < 0)
        return problem_set(problem, -errno, "%s/metadata: cannot be examined: %s", packets->name,
                           strerror(errno));
    if (is_same_file(&status, &packets->metadata))
        return 0;
    int result = trace_metadata_load(packets->directory, packets->name, &text, &length, uuid,
                                     &format, problem);
    if (result < 0)
        return result;
    free(packets->text);
    packets->text = text;
    packets->metadata = status;
    if (memcmp(uuid, packets->uuid, TRACE_UUID_SIZE) != 0)
        return problem_set(problem, -EBADMSG, "%s/metadata: the trace was replaced by another one",
                           packets->name);
    *ret_packet = (struct trace_packet){
        .is_metadata = true,
        .number = hash_bytes(0, text, length),
        .bytes = text,
        .size = length,
    };
    memcpy(ret_packet->uuid, uuid, TRACE_UUID_SIZE);
    return 1;
}

/* Packet numbers that are missing before the next one. */
static uint64_t missing_before(const struct packet_file *file)
{
    uint64_t least = file->least;

    if (file->skip.known && file->skip.number >= least)
        least = file->skip.number + 1;
    return file->number - least;
}

static int give_packet(struct trace_packets *packets, enum ring_id ring,
                       struct trace_packet *ret_packet, struct problem *problem)
{
    struct packet_file *file = &packets->files[ring];
    int result = read_packet(packets, ring, problem);

    if (result < 0)
        return result;
    *ret_packet = (struct trace_packet){
        .ring = ring,
        .file = packets->here,
        .number = file->number,
        .ends = ring == RING_CONTROL && packet_ends(packets->packet),
        .bytes = packets->packet,
        .size = file->bytes,
    };
    memcpy(ret_packet->uuid, packets->uuid, TRACE_UUID_SIZE);
    packets->ended = ret_packet->ends;
    packets->overtaken += missing_before(file);
    leave_packet(file);
    return 1;
}

/* No packet is there: will there be more? */
static int none(struct trace_packets *packets, int *ret_ring, struct problem *problem)
{
    if (packets->ended)
        return TRACE_PACKETS_END;
    if (is_being_written(packets))
        return TRACE_PACKETS_NONE_YET;
    /* it may have written its last packets just before */
    int ring = advance(packets, problem);
    if (ring < 0)
        return ring;
    if (ring == RING_COUNT)
        return is_being_written(packets) ? TRACE_PACKETS_NONE_YET : TRACE_PACKETS_END;
    *ret_ring = ring;
    return TRACE_PACKETS_ONE;
}

static int give_next(struct trace_packets *packets, struct trace_packet *ret_packet,
                     struct problem *problem)
{
    int result = packets->opened ? 1 : go_to_pair(packets, problem);
    int ring = result < 0 ? result : advance(packets, problem);

    if (ring < 0)
        return ring;
    int found = ring == RING_COUNT ? none(packets, &ring, problem) : TRACE_PACKETS_ONE;
    if (found < 0)
        return found;
    result = give_metadata(packets, ret_packet, problem);
    if (result != 0 || found != TRACE_PACKETS_ONE)
        return result != 0 ? result : found;
    return give_packet(packets, (enum ring_id)ring, ret_packet, problem);
}

int trace_packets_next(struct trace_packets *packets, struct trace_packet *ret_packet,
                       struct problem *problem)
{
    if (packets->failed == 0) {
        int result = give_next(packets, ret_packet, &packets->problem);
        if (result >= 0)
            return result;
        packets->failed = result;
    }
    return problem_set(problem, packets->failed, "%s", packets->problem.text);
}

/* ---- the interface ---- */

int trace_packets_open(const char *path, struct trace_packets **ret_packets,
                       struct problem *problem)
{
    struct trace_packets *packets = calloc(1, sizeof(*packets));
    unsigned format;

    if (packets == NULL)
        return problem_set(problem, -ENOMEM, "%s: out of memory", path);
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        packets->files[ring].file = -1;
    trace_name(path, packets->name);
    packets->packet = aligned_alloc(TRACE_PAGE_SIZE, TRACE_LAST_PACKET);
    packets->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = 0;
    if (packets->packet == NULL)
        result = problem_set(problem, -ENOMEM, "%s: out of memory", packets->name);
    else if (packets->directory < 0)
        result = problem_set(problem, -errno, "%s: cannot be opened: %s; a trace is a directory",
                             packets->name, strerror(errno));
    else
        result =
            trace_metadata_read(packets->directory, packets->name, packets->uuid, &format, problem);
    if (result < 0) {
        trace_packets_close(packets);
        return result;
    }
    *ret_packets = packets;
    return 0;
}

void trace_packets_close(struct trace_packets *packets)
{
    if (packets == NULL)
        return;
    close_pair(packets);
    if (packets->directory >= 0)
        close(packets->directory);
    free(packets->packet);
    free(packets->text);
    free(packets);
}

void trace_packets_skip_to(struct trace_packets *packets,
                           const struct trace_position positions[RING_COUNT])
{
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        packets->files[ring].skip = positions[ring];
}

uint64_t trace_packets_overtaken(const struct trace_packets *packets)
{
    return packets->overtaken;
}

const uint8_t *trace_packets_uuid(const struct trace_packets *packets)
{
    return packets->uuid;
}
