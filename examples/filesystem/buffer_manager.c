/* SPDX-License-Identifier: MIT */
/*
 * buffer_manager.c: keeps copies of blocks in memory, and the locations of blocks on the disk.
 *
 *     request ──► advance() ──┬─ all that it needs is here ──────────► answer
 *                    ▲        └─ something is missing: ask the disk ┐
 *                    └──── the block is stored ◄────────────────────┘
 *
 * A request that lacks a block asks the disk for it and is then restarted; it gets one step further each time, until
 * nothing is missing. A request that lacks nothing at the first attempt is a cache hit. Requests for one file come one
 * at a time (the request interpreter ensures this); requests for several files are in progress at the same time.
 *
 * Written data stay here until their buffer is needed for another block, too many buffers of the file are dirty, or the
 * file is closed.
 */
#include "buffer_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WAITS 1 /* advance(): the disk has been asked */

static struct process process;
static struct file *files[FILES_LIMIT + 1];
static uint32_t next_free = FIRST_FREE;

/* ---- the disk ---- */

static int ask_disk(struct file *file, enum message_type type, uint32_t block, const void *data,
                    size_t size, enum awaited awaits)
{
    static struct message message;
    memset(&message, 0, MESSAGE_HEADER);
    message.type = (uint8_t)type;
    message.user = file->request.user;
    message.file = file->number;
    message.position = block;
    message.size = MESSAGE_HEADER;
    if (data) {
        memset(message.data, 0, BLOCK_SIZE);
        memcpy(message.data, data, size);
        message.size = MESSAGE_HEADER + BLOCK_SIZE;
    }
    file->awaits = awaits;
    file->asked_disk = true;
    const int error = process_send(&process, DISK_INTERFACE, &message);
    return error < 0 ? error : WAITS;
}

static int read_from_disk(struct file *file, uint32_t block, enum awaited awaits)
{
    return ask_disk(file, MESSAGE_READ_BLOCK, block, NULL, 0, awaits);
}

static int write_to_disk(struct file *file, uint32_t block, const void *data, size_t size)
{
    return ask_disk(file, MESSAGE_WRITE_BLOCK, block, data, size, AWAITS_WRITTEN);
}

static int write_buffer(struct file *file, struct buffer *buffer)
{
    buffer->dirty = false;
    return write_to_disk(file, file_map(file, buffer->block), buffer->data, BLOCK_SIZE);
}

/* Stores the disk's answer where it was needed. */
static int take_from_disk(struct file *file, const struct message *message)
{
    const enum awaited awaited = file->awaits;
    file->awaits = AWAITS_NOTHING;
    if (message->error)
        return message->error;
    if (awaited != AWAITS_WRITTEN && message->size != MESSAGE_HEADER + BLOCK_SIZE)
        return -EIO;
    switch (awaited) {
    case AWAITS_DESCRIPTOR:
        memcpy(&file->descriptor, message->data, sizeof(file->descriptor));
        file->descriptor_known = true;
        return 0;
    case AWAITS_INDIRECT:
        memcpy(file->pointers, message->data, sizeof(file->pointers));
        file->pointers_known = true;
        return 0;
    case AWAITS_BUFFER:
        memcpy(file->filling->data, message->data, BLOCK_SIZE);
        file->filling->used = true;
        return 0;
    case AWAITS_WRITTEN:
        return 0;
    default:
        return -EPROTO;
    }
}

/* ---- requests: 0 done, WAITS, or a negative errno ---- */

/* A buffer with the block in it. A block that was never written is zeros; a write request allocates its location on
 * the disk. */
static int get_buffer(struct file *file, uint32_t block, struct buffer **ret_buffer)
{
    struct buffer *buffer = file_buffer(file, block);
    if (buffer) {
        *ret_buffer = buffer;
        return 0;
    }
    if (!file_maps(file, block))
        return read_from_disk(file, file->descriptor.indirect, AWAITS_INDIRECT);
    buffer = file_victim(file);
    if (buffer->used && buffer->dirty)
        return write_buffer(file, buffer);
    buffer->used = false;
    buffer->block = block;
    if (file_map(file, block)) {
        file->filling = buffer;
        return read_from_disk(file, file_map(file, block), AWAITS_BUFFER);
    }
    memset(buffer->data, 0, BLOCK_SIZE);
    buffer->used = true;
    *ret_buffer = file_buffer(file, block);
    return 0;
}

static int access_record(struct file *file, const struct message *request)
{
    const uint32_t block = request->position / RECORDS_PER_BLOCK;
    const size_t offset = request->position % RECORDS_PER_BLOCK * RECORD_SIZE;
    struct buffer *buffer = NULL, *oldest;
    if (block >= FILE_BLOCKS)
        return -EFBIG;
    int error = get_buffer(file, block, &buffer);
    if (error != 0)
        return error;
    if (request->type == MESSAGE_READ) {
        memcpy(file->request.data, buffer->data + offset, RECORD_SIZE);
        return 0;
    }
    if (!buffer->dirty && file_dirty(file, &oldest) >= process.shared->settings.dirty_buffers)
        return write_buffer(file, oldest);
    if (!file_map(file, block) && (error = file_allocate(file, block, &next_free)) < 0)
        return error;
    memcpy(buffer->data + offset, request->data, RECORD_SIZE);
    buffer->dirty = true;
    return 0;
}

/* Writes everything to the disk, one block after the other; the descriptor last, so that it never points to missing
 * data. */
static int flush(struct file *file)
{
    struct buffer *oldest;
    if (file_dirty(file, &oldest))
        return write_buffer(file, oldest);
    if (file->pointers_dirty) {
        file->pointers_dirty = false;
        return write_to_disk(file, file->descriptor.indirect, file->pointers,
                             sizeof(file->pointers));
    }
    if (file->descriptor_dirty) {
        file->descriptor_dirty = false;
        return write_to_disk(file, 1 + file->number, &file->descriptor, sizeof(file->descriptor));
    }
    return 0;
}

static int advance(struct file *file)
{
    if (!file->descriptor_known)
        return read_from_disk(file, 1 + file->number, AWAITS_DESCRIPTOR);
    switch (file->request.type) {
    case MESSAGE_ATTACH:
        return 0;
    case MESSAGE_READ:
    case MESSAGE_WRITE:
        return access_record(file, &file->request);
    case MESSAGE_FLUSH:
        return flush(file);
    default:
        return -EINVAL;
    }
}

/* ---- messages ---- */

static void count_access(const struct file *file)
{
    if (file->request.user < USER_FIRST ||
        (file->request.type != MESSAGE_READ && file->request.type != MESSAGE_WRITE))
        return;
    if (file->asked_disk)
        process.counts->misses++;
    else
        process.counts->hits++;
}

static int answer(struct message *message, unsigned to, int error)
{
    message_answer(message, error, message->type == MESSAGE_READ ? RECORD_SIZE : 0);
    return process_send(&process, to, message);
}

/* Continues the file's request, and answers it when it is done. */
static int go_on(struct file *file, int error)
{
    const unsigned to = file->request.from;
    if (error == 0)
        error = advance(file);
    if (error == WAITS || error == -ECONNRESET)
        return error;
    count_access(file);
    file->busy = false;
    const int sent = answer(&file->request, to, error);
    if (file->request.type == MESSAGE_FLUSH || (file->request.type == MESSAGE_ATTACH && error)) {
        files[file->number] = NULL;
        free(file);
    }
    return sent;
}

static int take_request(struct message *message)
{
    if (message->file > FILES_LIMIT)
        return answer(message, message->from, -EBADF);
    struct file *file = files[message->file];
    if (message->type == MESSAGE_ATTACH && !file) {
        file = file_new(message->file, message->position == 1, process.shared->settings.buffers);
        files[message->file] = file;
        if (!file)
            return answer(message, message->from, -ENOMEM);
    }
    if (!file || file->busy)
        return answer(message, message->from, file ? -EBUSY : -EBADF);
    memcpy(&file->request, message, message->size);
    file->busy = true;
    file->asked_disk = false;
    return go_on(file, 0);
}

static int take_answer(const struct message *message)
{
    struct file *file = message->file <= FILES_LIMIT ? files[message->file] : NULL;
    if (!file || !file->busy)
        return -EPROTO;
    return go_on(file, take_from_disk(file, message));
}

int main(int argument_count, char **arguments)
{
    static struct message message;
    int error;

    process_begin(&process, argument_count, arguments, 2);
    if ((error = process_connect(&process, DISK_INTERFACE)) < 0)
        return process_end(&process, error);
    while ((error = process_receive(&process, &message)) > 0) {
        error = message.from == DISK_INTERFACE ? take_answer(&message) : take_request(&message);
        if (error < 0)
            break;
    }
    return process_end(&process, error);
}
