/* SPDX-License-Identifier: MIT */
/*
 * buffer_cache.h: the buffer manager's data of a file in use.
 *
 *     descriptor   direct[0..3] ──────────────────► data blocks 0 to 3
 *     (a block)    indirect ──► pointers[0..511] ─► data blocks 4 to 515
 *
 *     buffers[]    copies of data blocks; the least recently used is replaced
 *
 * Buffers belong to one file, so cache hits depend only on the requests for that file, not on the speed of other users:
 * counts are the same in every run.
 */
#ifndef BUFFER_CACHE_H
#define BUFFER_CACHE_H

#include "filesystem.h"

#define DIRECT_BLOCKS 4u
#define POINTERS      (BLOCK_SIZE / sizeof(uint32_t))
#define FILE_BLOCKS   (DIRECT_BLOCKS + (uint32_t)POINTERS)
#define FIRST_FREE    (1 + FILES_LIMIT)
#define BLOCKS_LIMIT  (1u << 22) /* a disk of 8 GiB */

struct buffer {
    uint32_t block; /* of the file */
    bool used;
    bool dirty;
    uint64_t last_use;
    uint8_t data[BLOCK_SIZE];
};

struct descriptor {
    uint32_t direct[DIRECT_BLOCKS]; /* blocks of the disk, 0: never written */
    uint32_t indirect;
};

/* What the request waits for from the disk. */
enum awaited {
    AWAITS_NOTHING,
    AWAITS_DESCRIPTOR,
    AWAITS_INDIRECT,
    AWAITS_BUFFER,
    AWAITS_WRITTEN,
};

struct file {
    uint32_t number;
    struct descriptor descriptor;
    uint32_t pointers[POINTERS];
    bool descriptor_known, descriptor_dirty;
    bool pointers_known, pointers_dirty;

    struct message request; /* the request in progress, if `busy` */
    bool busy;
    bool asked_disk; /* for this request */
    enum awaited awaits;
    struct buffer *filling; /* AWAITS_BUFFER */

    unsigned buffer_count;
    struct buffer buffers[];
};

/* A file with empty buffers, or NULL. */
struct file *file_new(uint32_t number, bool is_new, unsigned buffer_count);

/* The buffer with this block of the file, which becomes the most recently used; or NULL. */
struct buffer *file_buffer(struct file *file, uint32_t block);

/* A buffer for another block: an unused one, or the least recently used. */
struct buffer *file_victim(struct file *file);

/* How many buffers are dirty, and the least recently used of these (NULL: none). */
unsigned file_dirty(struct file *file, struct buffer **ret_oldest);

/* Whether the location of this block is known without asking the disk. */
bool file_maps(const struct file *file, uint32_t block);

/* The location of this block on the disk; 0: it was never written. Only if file_maps(). */
uint32_t file_map(const struct file *file, uint32_t block);

/* Gives the block the next free location on the disk, and the file an indirect block if it needs one. Returns 0 or
 * -ENOSPC. */
int file_allocate(struct file *file, uint32_t block, uint32_t *next_free);

#endif
