/* SPDX-License-Identifier: MIT */
/* filter_test.c: packets that agents publish become copies that are byte for byte their traces: with filters that come and go,
 * and machines that publish anything. Needs nats-server. */
#include "filter/filter.h"

#include "base/folder.h"
#include "fabric_world.h"
#include "seeded.h"

#define need_server(context)                                                                       \
    if (*(context) == NULL)                                                                        \
    skip()

static struct world world;
static struct fabric *reader; /* the filter's */
static uint64_t seed;
static char base[] = "/tmp/dpm-filter-XXXXXX";
static char trace_path[100], folder[100];

/* ---- a trace, and its packets ---- */

static struct trace_writer *writer;
static uint64_t now;

static void append(uint8_t id, uint32_t stream)
{
    struct problem why;
    struct stream_record created = {
        .header = {.time = now, .id = EVENT_STREAM, .flags = RECORD_NO_STREAM, .stream = stream},
        .process = stream};
    struct record record = {.header = {.time = now, .id = id, .stream = stream},
                            .message = {.path = 1, .bytes = 100}};

    now += 16;
    if (trace_writer_append(writer, id == EVENT_STREAM ? &created.header : &record.header, &why) <
        0)
        fail_msg("%s", why.text);
}

static void make_trace(unsigned events)
{
    struct machine_record machine = {
        .header = {.time = 1000, .id = EVENT_MACHINE, .flags = RECORD_NO_STREAM}, .name = "web1"};
    uint32_t streams = 0;

    folder_remove(trace_path);
    now = 2000;
    must(trace_writer_new(trace_path, &machine, 1 << 26, &writer, &problem));
    for (unsigned i = 0; i < events; i++) {
        bool creates = streams == 0 || random_below(&seed, 50) == 0;
        append(creates ? EVENT_STREAM : EVENT_SEND,
               creates ? ++streams : 1 + (uint32_t)random_below(&seed, streams));
        if (random_below(&seed, 400) == 0)
            must(trace_writer_flush(writer, &problem));
    }
    must(trace_writer_close(writer, END_COMPLETE, &problem));
}

static void let_agent_work(int timeout_ms)
{
    struct pollfd polled = {.fd = fabric_descriptor(world.agent), .events = POLLIN};
    struct fabric_message message;

    poll(&polled, 1, timeout_ms);
    while (fabric_next(world.agent, &message) == 1)
        fabric_message_done(&message);
}

static void hand_over(struct fabric_publisher *publisher, enum fabric_part part,
                      const struct fabric_place *place, const void *bytes, size_t size)
{
    int result;

    while ((result = fabric_publish(publisher, part, place, bytes, size)) == -EAGAIN)
        let_agent_work(1000);
    assert_int_equal(result, 0);
}

/* All of the trace, in its order. */
static void publish_trace(const char *recording)
{
    struct fabric_publisher *publisher;
    struct trace_packets *packets;
    struct trace_packet packet;
    uint64_t versions = 0;

    must(fabric_publisher_new(world.agent, recording, 0, &publisher, &problem));
    must(trace_packets_open(trace_path, &packets, &problem));
    while (trace_packets_next(packets, &packet, &problem) == TRACE_PACKETS_ONE) {
        struct fabric_place place = {.file = packet.file,
                                     .number = packet.is_metadata ? versions++ : packet.number};
        memcpy(place.uuid, packet.uuid, sizeof(place.uuid));
        hand_over(publisher,
                  packet.is_metadata            ? FABRIC_METADATA
                  : packet.ring == RING_CONTROL ? FABRIC_CONTROL
                                                : FABRIC_DATA,
                  &place, packet.bytes, packet.size);
    }
    must(fabric_settle(world.agent, LONG_MS, &problem));
    trace_packets_close(packets);
    fabric_publisher_free(publisher);
}

/* ---- the filter ---- */

static struct filter *begin_filter(const char *where)
{
    const struct filter_options options = {.folder = where, .durable = "filter1"};
    struct filter *filter;

    must(filter_new(reader, &options, &filter, &problem));
    return filter;
}

static struct filter_copy only_copy(const struct filter *filter, const char *recording)
{
    struct filter_copy copy = {.machine = NULL}, found = {.machine = NULL};

    for (size_t i = 0; i < filter_count(filter); i++) {
        filter_look(filter, i, &copy);
        if (strcmp(copy.recording, recording) == 0)
            found = copy;
    }
    assert_non_null(found.machine);
    return found;
}

static void check_same(const char *path, const char *name)
{
    char command[300];

    snprintf(command, sizeof(command), "cmp -s %s/%s %s/%s", trace_path, name, path, name);
    assert_int_equal(system(command), 0);
}

/* Filters that end at any moment, in order or not, and one that goes on to the end. */
static void copies_are_the_traces(void **context)
{
    need_server(context);
    make_trace(60000);
    publish_trace("main");
    folder_remove(folder);
    struct filter *filter = begin_filter(folder);
    must(filter_expect(filter, "web1", "main"));
    while (!filter_complete(filter) || filter_left(filter, &problem) > 0) {
        must(filter_step(filter, 100, &problem));
        if (random_below(&seed, 3) > 0 || filter_complete(filter))
            continue;
        must(filter_close(filter, random_below(&seed, 2) == 0, &problem));
        filter = begin_filter(folder);
        must(filter_expect(filter, "web1", "main"));
    }
    struct filter_copy copy = only_copy(filter, "main");
    assert_true(copy.ended && !copy.full && filter_whole(filter));
    assert_int_equal(copy.missing + copy.refused, 0);
    check_same(copy.path, "metadata");
    check_same(copy.path, "control");
    check_same(copy.path, "data");
    must(filter_close(filter, true, &problem));
}

static void nothing_is_stored_without_a_folder(void **context)
{
    need_server(context);
    make_trace(5000);
    publish_trace("main");
    struct filter *filter = begin_filter(NULL);
    must(filter_expect(filter, "web1", "main"));
    while (filter_left(filter, &problem) > 0)
        must(filter_step(filter, 100, &problem));
    assert_true(filter_complete(filter));
    struct filter_copy copy = only_copy(filter, "main");
    assert_null(copy.path);
    assert_true(copy.packets > 0 && copy.bytes > 0);
    must(filter_close(filter, true, &problem));
    assert_int_equal(access(folder, F_OK), -1);
}

/* Nothing more is waited for; but that is not all of the trace. */
static void a_full_copy_is_not_whole(void **context)
{
    const struct filter_options options = {
        .folder = folder, .durable = "filter1", .limits = {.max_bytes = 300000}};
    struct filter *filter;

    need_server(context);
    folder_remove(folder);
    make_trace(60000);
    publish_trace("main");
    must(filter_new(reader, &options, &filter, &problem));
    must(filter_expect(filter, "web1", "main"));
    while (!filter_complete(filter) || filter_left(filter, &problem) > 0)
        must(filter_step(filter, 100, &problem));
    struct filter_copy copy = only_copy(filter, "main");
    assert_true(copy.full && copy.refused > 0);
    assert_false(filter_whole(filter));
    must(filter_close(filter, true, &problem));
}

/* All that the server has is acknowledged in the end. What was sent back comes again after 2 s, for 15 s. */
static void take_rest(struct filter *filter)
{
    uint64_t until = clock_now(CLOCK_MONOTONIC) + LONG_MS * 1000000ull;

    while (filter_left(filter, &problem) > 0 && clock_now(CLOCK_MONOTONIC) < until)
        must(filter_step(filter, 100, &problem));
    assert_int_equal(0, filter_left(filter, &problem));
}

/* Any bytes as packets and metadata: they are counted or dropped, and the copy of an honest recording is whole. */
static void what_is_no_packet_does_no_harm(void **context)
{
    struct fabric_publisher *publisher;
    struct fabric_place place = {.uuid = {1, 2, 3}};
    unsigned char bytes[5000];

    need_server(context);
    folder_remove(folder);
    make_trace(3000);
    must(fabric_publisher_new(world.agent, "evil", 0, &publisher, &problem));
    for (unsigned i = 0; i < 40; i++) {
        size_t size = 1 + (size_t)random_below(&seed, sizeof(bytes));
        for (size_t at = 0; at < size; at++)
            bytes[at] = (unsigned char)random_number(&seed);
        place.number = i;
        hand_over(publisher, (enum fabric_part)(i == 0 ? 0 : random_below(&seed, FABRIC_PARTS)),
                  &place, bytes, size);
    }
    fabric_settle(world.agent, LONG_MS, &problem);
    fabric_publisher_free(publisher);
    publish_trace("main");
    struct filter *filter = begin_filter(folder);
    must(filter_expect(filter, "web1", "main"));
    while (!filter_complete(filter))
        must(filter_step(filter, 100, &problem));
    struct filter_copy copy = only_copy(filter, "main");
    assert_int_equal(copy.missing + copy.refused, 0);
    check_same(copy.path, "control");
    check_same(copy.path, "data");
    take_rest(filter);
    copy = only_copy(filter, "evil");
    assert_true(copy.rejected && copy.path == NULL);
    assert_int_equal(copy.refused, 40);
    assert_non_null(strstr(copy.why, "metadata"));
    must(filter_close(filter, true, &problem));
}

/* One that cannot get a copy under any name, or whose metadata are larger than its copy may be: the others go on. */
static void a_trace_without_a_place_ends_nothing(void **context)
{
    const struct filter_options options = {
        .folder = folder, .durable = "filter1", .limits = {.max_bytes = 100}};
    struct filter *filter;

    need_server(context);
    folder_remove(folder);
    make_trace(3000);
    publish_trace("main");
    must(filter_new(reader, &options, &filter, &problem));
    must(filter_expect(filter, "web1", "main"));
    take_rest(filter);
    struct filter_copy copy = only_copy(filter, "main");
    assert_true(copy.rejected && copy.refused > 0);
    assert_true(filter_complete(filter) && !filter_whole(filter));
    must(filter_close(filter, true, &problem));
}

#define LOST_PACKETS 300 /* more than the consumer holds */
#define LOST_TRACES  300

/* The server sends only so many packets that were not acknowledged: those of one machine must not hold up the others for good,
 * whether they are of one trace or of many. */
static void packets_without_metadata_do_not_stay(void **context)
{
    struct fabric_publisher *publisher;
    struct fabric_place place = {.uuid = {0}};
    struct filter_copy copy;
    uint64_t refused = 0;

    need_server(context);
    folder_remove(folder);
    make_trace(3000);
    must(fabric_publisher_new(world.agent, "lost", 0, &publisher, &problem));
    for (unsigned i = 0; i < LOST_PACKETS; i++) {
        place.number = i;
        hand_over(publisher, FABRIC_CONTROL, &place, "control", 7);
    }
    place.number = 0;
    for (unsigned i = 1; i <= LOST_TRACES; i++) {
        memcpy(place.uuid, &i, sizeof(i));
        hand_over(publisher, FABRIC_CONTROL, &place, "control", 7);
    }
    must(fabric_settle(world.agent, LONG_MS, &problem));
    fabric_publisher_free(publisher);
    struct filter *filter = begin_filter(folder);
    take_rest(filter);
    for (size_t i = 0; i < filter_count(filter); i++) {
        filter_look(filter, i, &copy);
        assert_true(copy.rejected);
        refused += copy.refused;
    }
    assert_int_equal(refused, LOST_PACKETS + LOST_TRACES);
    assert_true(filter_count(filter) <= 100);

    publish_trace("main");
    must(filter_expect(filter, "web1", "main"));
    while (!filter_complete(filter))
        must(filter_step(filter, 100, &problem));
    copy = only_copy(filter, "main");
    assert_int_equal(copy.missing + copy.refused, 0);
    check_same(copy.path, "control");
    check_same(copy.path, "data");
    must(filter_close(filter, true, &problem));
}

static int begin(void **context)
{
    bool works = world_begin_pair(&world, NULL);

    if (works)
        must(fabric_server_open(world.server, FABRIC_FILTER, &reader, &problem));
    *context = works ? &world : NULL;
    return 0;
}

static int end(void **context)
{
    (void)context;
    fabric_close(reader);
    reader = NULL;
    world_end(&world);
    folder_remove(folder);
    return 0;
}

static int begin_all(void **context)
{
    (void)context;
    seed = seed_of_run("filter");
    if (mkdtemp(base) == NULL)
        return -1;
    snprintf(trace_path, sizeof(trace_path), "%s/trace", base);
    snprintf(folder, sizeof(folder), "%s/folder", base);
    return 0;
}

static int end_all(void **context)
{
    (void)context;
    folder_remove(base);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_are_the_traces, begin, end),
        cmocka_unit_test_setup_teardown(nothing_is_stored_without_a_folder, begin, end),
        cmocka_unit_test_setup_teardown(a_full_copy_is_not_whole, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_packet_does_no_harm, begin, end),
        cmocka_unit_test_setup_teardown(a_trace_without_a_place_ends_nothing, begin, end),
        cmocka_unit_test_setup_teardown(packets_without_metadata_do_not_stay, begin, end),
    };

    return cmocka_run_group_tests(tests, begin_all, end_all);
}
