/* SPDX-License-Identifier: MIT */
/*
 * ring_reader_test.c: two rings and a loader's own records, read only through file descriptors: in order of time, none
 * before it is safe, and the end after the loader's last ones.
 */
#include "meter/rings/ring_reader.h"

#include <linux/bpf.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define RING_SIZE 4096u
#define SLOT      (sizeof(struct record) + BPF_RINGBUF_HDR_SZ)

/* A ring as in the kernel: a page for each position, then the data. */
struct kernel {
    int descriptor;
    unsigned long *producer;
    char *data;
};

struct world {
    struct kernel kernels[RING_COUNT];
    struct ring_reader reader;
    uint64_t begun;
    unsigned looks, notes, ends;
    uint64_t told_lost;
    bool add_at_look;
};

static void kernel_open(struct kernel *kernel)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 2 * page + 2 * RING_SIZE;

    kernel->descriptor = memfd_create("ring", MFD_CLOEXEC);
    assert_true(kernel->descriptor >= 0);
    assert_int_equal(ftruncate(kernel->descriptor, (off_t)size), 0);
    char *all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, kernel->descriptor, 0);
    assert_true(all != MAP_FAILED);
    kernel->producer = (unsigned long *)(all + page);
    kernel->data = all + 2 * page;
}

static struct record record_at(uint64_t time, uint32_t id, uint32_t sequence)
{
    return (struct record){
        .header = {.time = time, .id = (uint8_t)id, .sequence = sequence, .stream = 1}};
}

/* Reserves and, unless it is `busy`, commits. */
static void put(struct world *world, enum ring_id ring, uint64_t time, uint32_t sequence, bool busy)
{
    struct kernel *kernel = &world->kernels[ring];
    struct record record = record_at(world->begun + time, EVENT_SEND, sequence);
    char *at = kernel->data + *kernel->producer;

    memcpy(at + BPF_RINGBUF_HDR_SZ, &record, sizeof(record));
    *(uint32_t *)at = sizeof(record) | (busy ? BPF_RINGBUF_BUSY_BIT : 0);
    *kernel->producer += SLOT;
}

static int look(void *loader)
{
    struct world *world = loader;

    world->looks++;
    if (!world->add_at_look)
        return 0;
    world->add_at_look = false;
    struct record record = record_at(clock_now(CLOCK_MONOTONIC), EVENT_LOST, 100);
    record.lost.reason = LOST_SKIPPED;
    return ring_reader_add(&world->reader, &record.header);
}

static int note(void *loader, const struct record_header *record)
{
    struct world *world = loader;

    (void)record;
    world->notes++;
    return 0;
}

static int end(void *loader, uint64_t time, const uint64_t told_lost[RING_COUNT])
{
    struct world *world = loader;
    struct record record = record_at(time, EVENT_SEND, 200);

    world->ends++;
    world->told_lost = told_lost[RING_DATA];
    return ring_reader_add(&world->reader, &record.header);
}

static int set_up(void **state)
{
    static struct world world;

    world = (struct world){.begun = clock_now(CLOCK_MONOTONIC) - 1000000};
    world.reader.extra = (struct ring_extra){&world, look, note, end};
    for (unsigned i = 0; i < RING_COUNT; i++) {
        kernel_open(&world.kernels[i]);
        assert_int_equal(ring_reader_open(&world.reader, (enum ring_id)i,
                                          world.kernels[i].descriptor, RING_SIZE),
                         0);
    }
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    ring_reader_close(&world->reader);
    for (unsigned i = 0; i < RING_COUNT; i++)
        close(world->kernels[i].descriptor);
    return 0;
}

/* Reads as far as possible: numbers of records, "1 2 3", and how it ended. */
static int read_all(struct world *world, char text[200])
{
    struct problem problem;
    struct event event;
    uint64_t complete;
    size_t length = 0;
    int result;

    text[0] = '\0';
    while ((result = ring_reader_next(&world->reader, &event, &complete, &problem)) ==
           SOURCE_RECORD)
        length += (size_t)snprintf(text + length, 200 - length, "%s%u", length > 0 ? " " : "",
                                   event.header->sequence);
    return result;
}

static void test_order(void **state)
{
    struct world *world = *state;
    char text[200];

    put(world, RING_DATA, 30, 3, false);
    put(world, RING_DATA, 10, 1, false); /* on one processor times may run backwards */
    put(world, RING_CONTROL, 20, 2, false);
    put(world, RING_CONTROL, 30, 33, false);
    struct record own = record_at(world->begun + 25, EVENT_SEND, 25);
    assert_int_equal(ring_reader_add(&world->reader, &own.header), 0);
    assert_int_equal(read_all(world, text), SOURCE_NONE_YET);
    assert_string_equal(text, "1 2 25 33 3");
    assert_int_equal(world->notes, 5);
    assert_int_equal(ring_reader_made(&world->reader), 5);
}

/* A record that is still being written may get any time: nothing that has come since is safe. */
static void test_busy(void **state)
{
    struct world *world = *state;
    char text[200];

    assert_int_equal(read_all(world, text), SOURCE_NONE_YET);
    put(world, RING_DATA, 0, 1, true);
    put(world, RING_CONTROL, 10000000000, 2, false);
    assert_int_equal(read_all(world, text), SOURCE_NONE_YET);
    assert_string_equal(text, "");
    *(uint32_t *)world->kernels[RING_DATA].data = sizeof(struct record);
    assert_int_equal(read_all(world, text), SOURCE_NONE_YET);
    assert_string_equal(text, "1");
}

static void test_end(void **state)
{
    struct world *world = *state;
    struct record lost = record_at(world->begun, EVENT_LOST, 50);
    char text[200];

    lost.lost.ring = RING_DATA;
    lost.lost.reason = LOST_RING_FULL;
    lost.lost.count = 7;
    put(world, RING_DATA, 10, 1, false);
    assert_int_equal(ring_reader_add(&world->reader, &lost.header), 0);
    world->add_at_look = true;
    ring_reader_end(&world->reader);
    assert_int_equal(read_all(world, text), SOURCE_END);
    assert_string_equal(text, "50 1 100 200");
    assert_int_equal(world->ends, 1);
    assert_int_equal(world->told_lost, 7); /* without those of skipped hooks */
    assert_int_equal(read_all(world, text), SOURCE_END);
    assert_string_equal(text, "");
    assert_int_equal(world->ends, 1);
}

/* What was handed out leaves no ring full: a full one gets no record that wakes the reader. */
static void test_space(void **state)
{
    struct world *world = *state;
    char text[200];

    put(world, RING_CONTROL, 10, 1, false);
    put(world, RING_DATA, 20, 2, false);
    put(world, RING_DATA, 30, 3, false);
    assert_int_equal(read_all(world, text), SOURCE_NONE_YET);
    assert_string_equal(text, "1 2 3");
    for (unsigned i = 0; i < RING_COUNT; i++)
        assert_int_equal(*world->reader.rings[i].consumer, *world->kernels[i].producer);
}

static bool is_readable(int descriptor)
{
    struct pollfd file = {.fd = descriptor, .events = POLLIN};

    return poll(&file, 1, 0) == 1;
}

/* Its rings here are files, which wake nobody: events take their place. Like a ring, they remain readable. */
static void test_wake_ups(void **state)
{
    struct world *world = *state;
    int events[RING_COUNT];
    char text[200];

    assert_int_equal(ring_reader_descriptor(&world->reader), -1);
    for (unsigned i = 0; i < RING_COUNT; i++) {
        events[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        assert_true(events[i] >= 0);
        assert_int_equal(ring_reader_watch(&world->reader, events[i]), 0);
    }
    int descriptor = ring_reader_descriptor(&world->reader);
    assert_false(is_readable(descriptor));
    for (unsigned i = 0; i < 2 * RING_COUNT; i++) {
        assert_int_equal(eventfd_write(events[i % RING_COUNT], 1), 0);
        assert_true(is_readable(descriptor));
        assert_true(is_readable(descriptor));
        read_all(world, text); /* looks into both rings */
        assert_false(is_readable(descriptor));
    }
    for (unsigned i = 0; i < RING_COUNT; i++)
        close(events[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_busy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_space, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wake_ups, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
