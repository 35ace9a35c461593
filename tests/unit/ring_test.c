/* SPDX-License-Identifier: MIT */
/*
 * ring_test.c: the ring's reader against a simulated kernel that reserves, stamps and commits records as several CPUs
 * do: interleaved, interrupted, out of order, now and then discarded. Records must come out in order of time, each
 * once, and never before it is safe.
 */
#include "meter/rings/ring.h"
#include "seeded.h"

#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define RING_SIZE 65536u
#define OPEN_MOST 6u
#define SLOT      (sizeof(struct record) + BPF_RINGBUF_HDR_SZ)

/* The kernel's side: positions, and the records reserved but not yet committed. */
struct kernel {
    unsigned long consumer, producer;
    char *data;
    struct open_record {
        uint64_t position;
        bool stamped;
    } open[OPEN_MOST];
    size_t open_count;
    uint32_t made;
    uint32_t discarded;
};

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The data area twice in a row, as the kernel maps it. */
static void kernel_open(struct kernel *kernel)
{
    int fd = memfd_create("ring", MFD_CLOEXEC);

    memset(kernel, 0, sizeof(*kernel));
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, RING_SIZE), 0);
    kernel->data = mmap(NULL, 2 * RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(kernel->data != MAP_FAILED);
    assert_true(mmap(kernel->data + RING_SIZE, RING_SIZE, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
    close(fd);
}

static uint32_t *header_at(struct kernel *kernel, uint64_t position)
{
    return (uint32_t *)(kernel->data + (position & (RING_SIZE - 1)));
}

static void reserve(struct kernel *kernel)
{
    uint64_t position = kernel->producer;

    if (kernel->open_count == OPEN_MOST || position + SLOT - kernel->consumer > RING_SIZE)
        return;
    *header_at(kernel, position) = sizeof(struct record) | BPF_RINGBUF_BUSY_BIT;
    kernel->producer += SLOT;
    kernel->open[kernel->open_count++] = (struct open_record){position, false};
}

/* Stamps a random open record, or commits one that is stamped. */
static void proceed(struct kernel *kernel, uint64_t *seed)
{
    if (kernel->open_count == 0)
        return;
    size_t which = random_below(seed, kernel->open_count);
    struct open_record *open = &kernel->open[which];
    struct record *record =
        (struct record *)((char *)header_at(kernel, open->position) + BPF_RINGBUF_HDR_SZ);
    if (!open->stamped) {
        open->stamped = true;
        record->header.time = now();
        record->header.sequence = kernel->made++;
        return;
    }
    bool discard = random_below(seed, 20) == 0;
    kernel->discarded += discard;
    record->header.flags = discard;
    *header_at(kernel, open->position) =
        sizeof(struct record) | (discard ? BPF_RINGBUF_DISCARD_BIT : 0);
    *open = kernel->open[--kernel->open_count];
}

/* Takes all complete records; checks their order; marks them. */
static uint32_t take_complete(struct ring *ring, uint64_t *last, bool *came)
{
    const struct record_header *record;
    uint32_t taken = 0;

    assert_int_equal(ring_collect(ring), 0);
    while ((record = ring_peek(ring)) != NULL && record->time <= ring->complete) {
        assert_true(record->time >= *last);
        assert_int_equal(record->flags, 0); /* not a discarded one */
        assert_false(came[record->sequence]);
        came[record->sequence] = true;
        *last = record->time;
        taken++;
        uint64_t waiting = ring_waiting(ring);
        ring_take(ring);
        assert_int_equal(ring_waiting(ring), waiting - 1);
    }
    return taken;
}

static void test_order(void **state)
{
    enum { STEPS = 200000 };
    uint64_t seed = seed_of_run("ring_test"), last = 0;
    bool *came = calloc(STEPS, sizeof(*came));
    struct kernel kernel;
    struct ring ring = {0};
    uint32_t taken = 0;

    (void)state;
    kernel_open(&kernel);
    ring.consumer = &kernel.consumer;
    ring.producer = &kernel.producer;
    ring.data = kernel.data;
    ring.size = RING_SIZE;
    for (int step = 0; step < STEPS; step++) {
        switch (random_below(&seed, 8)) {
        case 0:
        case 1:
        case 2:
            reserve(&kernel);
            break;
        case 3:
            if (random_below(&seed, 10) == 0)
                taken += take_complete(&ring, &last, came);
            break;
        default:
            proceed(&kernel, &seed);
        }
    }
    while (kernel.open_count > 0)
        proceed(&kernel, &seed);
    /* records that were handed out are released later */
    assert_true(ring_waiting(&ring) <= (kernel.producer - kernel.consumer) / SLOT);
    assert_true(ring_waiting(&ring) >= kernel.made - kernel.discarded - taken);
    taken += take_complete(&ring, &last, came);
    assert_int_equal(taken, kernel.made - kernel.discarded);
    assert_true(taken > STEPS / 20);
    assert_int_equal(ring_collect(&ring), 0);
    assert_int_equal(kernel.consumer, kernel.producer); /* all ring space is released */
    assert_int_equal(ring_waiting(&ring), 0);
    free(ring.entries);
    munmap(kernel.data, 2 * RING_SIZE);
    free(came);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
