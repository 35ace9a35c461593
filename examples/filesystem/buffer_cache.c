/* SPDX-License-Identifier: MIT */
/* buffer_cache.c: buffers of a file and the locations of its blocks; see the picture in buffer_cache.h. */
#include "buffer_cache.h"

#include <errno.h>
#include <stdlib.h>

struct file *file_new(uint32_t number, bool is_new, unsigned buffer_count)
{
    struct file *file = calloc(1, sizeof(*file) + buffer_count * sizeof(file->buffers[0]));
    if (!file)
        return NULL;
    file->number = number;
    file->buffer_count = buffer_count;
    file->descriptor_known = is_new;
    file->descriptor_dirty = is_new;
    return file;
}

struct buffer *file_buffer(struct file *file, uint32_t block)
{
    static uint64_t uses;
    for (unsigned index = 0; index < file->buffer_count; index++) {
        struct buffer *buffer = &file->buffers[index];
        if (buffer->used && buffer->block == block) {
            buffer->last_use = ++uses;
            return buffer;
        }
    }
    return NULL;
}

struct buffer *file_victim(struct file *file)
{
    struct buffer *victim = &file->buffers[0];
    for (unsigned index = 0; index < file->buffer_count; index++) {
        struct buffer *buffer = &file->buffers[index];
        if (!buffer->used)
            return buffer;
        if (buffer->last_use < victim->last_use)
            victim = buffer;
    }
    return victim;
}

unsigned file_dirty(struct file *file, struct buffer **ret_oldest)
{
    unsigned count = 0;
    *ret_oldest = NULL;
    for (unsigned index = 0; index < file->buffer_count; index++) {
        struct buffer *buffer = &file->buffers[index];
        if (!buffer->used || !buffer->dirty)
            continue;
        if (!*ret_oldest || buffer->last_use < (*ret_oldest)->last_use)
            *ret_oldest = buffer;
        count++;
    }
    return count;
}

bool file_maps(const struct file *file, uint32_t block)
{
    return block < DIRECT_BLOCKS || file->pointers_known || file->descriptor.indirect == 0;
}

uint32_t file_map(const struct file *file, uint32_t block)
{
    return block < DIRECT_BLOCKS ? file->descriptor.direct[block]
                                 : file->pointers[block - DIRECT_BLOCKS];
}

int file_allocate(struct file *file, uint32_t block, uint32_t *next_free)
{
    if (*next_free + 2 > BLOCKS_LIMIT)
        return -ENOSPC;
    if (block < DIRECT_BLOCKS) {
        file->descriptor.direct[block] = (*next_free)++;
        file->descriptor_dirty = true;
        return 0;
    }
    if (file->descriptor.indirect == 0) {
        file->descriptor.indirect = (*next_free)++;
        file->descriptor_dirty = true;
        file->pointers_known = true;
    }
    file->pointers[block - DIRECT_BLOCKS] = (*next_free)++;
    file->pointers_dirty = true;
    return 0;
}
