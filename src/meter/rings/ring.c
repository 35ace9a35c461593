/* SPDX-License-Identifier: MIT */
/*
 * ring.c: reads one BPF ring buffer in order of time. See ring.h for the picture.
 *
 * The order is exact, because the meter takes a record's time after it has reserved the record's space. The reader
 * notes the time T, then reads the producer's position. If every record before that position is finished, each record
 * that it has not seen was reserved after T, and has a later time. If one is still being written (an interrupt may
 * delay it for long), T stays as it was, and the next collection tries again.
 */
#include "meter/rings/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int ring_open(struct ring *ring, int map_fd, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    memset(ring, 0, sizeof(*ring));
    ring->size = size;
    ring->consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
    if (ring->consumer == MAP_FAILED) {
        ring->consumer = NULL;
        return -errno;
    }
    void *producer = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, map_fd, (off_t)page);
    if (producer == MAP_FAILED) {
        int error = -errno;
        ring_close(ring);
        return error;
    }
    ring->producer = producer;
    ring->data = (const char *)producer + page;
    ring->read = __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE);
    return 0;
}

void ring_close(struct ring *ring)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (ring->consumer != NULL)
        munmap(ring->consumer, page);
    if (ring->producer != NULL)
        munmap((void *)ring->producer, page + 2 * ring->size);
    free(ring->entries);
    memset(ring, 0, sizeof(*ring));
}

/* Releases the space of records handed out, up to the first one that is still waiting. */
void ring_release(struct ring *ring)
{
    uint64_t keep = ring->read;

    for (size_t i = ring->first; i < ring->count; i++)
        if (ring->entries[i].position < keep)
            keep = ring->entries[i].position;
    if (ring->first < ring->count)
        memmove(ring->entries, ring->entries + ring->first,
                (ring->count - ring->first) * sizeof(*ring->entries));
    ring->count -= ring->first;
    ring->first = 0;
    __atomic_store_n(ring->consumer, keep, __ATOMIC_RELEASE);
}

/* Records arrive nearly in order, so insertion from the end moves few. */
static int insert(struct ring *ring, uint64_t time, uint64_t position)
{
    int result =
        array_reserve(&ring->entries, &ring->capacity, ring->count + 1, sizeof(*ring->entries));
    if (result < 0)
        return result;
    size_t at = ring->count++;
    for (; at > ring->first && ring->entries[at - 1].time > time; at--)
        ring->entries[at] = ring->entries[at - 1];
    ring->entries[at] = (struct ring_entry){time, position};
    return 0;
}

int ring_collect(struct ring *ring)
{
    uint64_t before = clock_now(CLOCK_MONOTONIC);

    ring_release(ring);
    uint64_t end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
    while (ring->read < end) {
        const char *header = ring->data + (ring->read & (ring->size - 1));
        uint32_t length = __atomic_load_n((const uint32_t *)header, __ATOMIC_ACQUIRE);
        if (length & BPF_RINGBUF_BUSY_BIT)
            return 0;
        if ((length & BPF_RINGBUF_DISCARD_BIT) == 0) {
            const struct record_header *record =
                (const struct record_header *)(header + BPF_RINGBUF_HDR_SZ);
            int result = insert(ring, record->time, ring->read);
            if (result < 0)
                return result;
        }
        length &= ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        ring->read += (length + BPF_RINGBUF_HDR_SZ + 7) & ~7u;
    }
    ring->complete = before;
    return 0;
}

uint64_t ring_waiting(const struct ring *ring)
{
    uint64_t end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);

    return ring->count - ring->first +
           (end - ring->read) / (sizeof(struct record) + BPF_RINGBUF_HDR_SZ);
}

const struct record_header *ring_peek(const struct ring *ring)
{
    if (ring->first == ring->count)
        return NULL;
    uint64_t position = ring->entries[ring->first].position;
    return (const struct record_header *)(ring->data + (position & (ring->size - 1)) +
                                          BPF_RINGBUF_HDR_SZ);
}

void ring_take(struct ring *ring)
{
    ring->first++;
}
