/* SPDX-License-Identifier: MIT */
/*
 * trace_test.c: what was written is read, whatever happens to the files in between:
 *
 *      random records --> writer --> files --> cut, flip, kill, fill the disk --> reader --> records
 *             |                                                  \--> repair --> reader, babeltrace2
 *             +--> array (the model) ------------------ compare ---------------------------^
 */
#include "seeded.h"
#include "trace/trace_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NO_LIMIT (UINT64_C(1) << 40)

static char scratch[100];

/* A name in the scratch directory; valid until the fourth call after this one. */
static const char *in_scratch(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % ARRAY_SIZE(paths)];

    snprintf(path, PATH_MAX, "%s/%s", scratch, name);
    return path;
}

/* ---- lists of records ---- */

union any_record {
    struct record_header header;
    struct record event;
    struct stream_record stream;
    struct path_record path;
    struct image_record image;
    struct machine_record machine;
    struct end_record end;
    unsigned char bytes[sizeof(struct machine_record)];
};

struct list {
    union any_record *records;
    size_t count;
    size_t capacity;
};

static void list_add(struct list *list, const struct record_header *record)
{
    assert_int_equal(
        array_reserve(&list->records, &list->capacity, list->count + 1, sizeof(*list->records)), 0);
    memcpy(&list->records[list->count++], record, event_size(record->id));
}

static void list_done(struct list *list)
{
    free(list->records);
    memset(list, 0, sizeof(*list));
}

static enum ring_id ring_of(const union any_record *record)
{
    return event_type(record->header.id)->ring;
}

/* The order in which records of one trace are read: by time, control first, END last. Records of one stream are in
 * their own order, which in the model is the order of their addresses. */
static int compare_records(const void *one, const void *other)
{
    const union any_record *a = *(const union any_record *const *)one;
    const union any_record *b = *(const union any_record *const *)other;

    if (a->header.time != b->header.time)
        return a->header.time < b->header.time ? -1 : 1;
    if ((a->header.id == EVENT_END) != (b->header.id == EVENT_END))
        return a->header.id == EVENT_END ? 1 : -1;
    if (ring_of(a) != ring_of(b))
        return ring_of(a) < ring_of(b) ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Checks that `found` equals the model, from the first to the last record. */
static void check_same(const struct list *model, const struct list *found)
{
    const union any_record **expected = calloc(model->count, sizeof(*expected));

    assert_int_equal(found->count, model->count);
    for (size_t i = 0; i < model->count; i++)
        expected[i] = &model->records[i];
    qsort(expected, model->count, sizeof(*expected), compare_records);
    for (size_t i = 0; i < model->count; i++)
        assert_memory_equal(found->records[i].bytes, expected[i]->bytes,
                            event_size(expected[i]->header.id));
    free(expected);
}

/* Leaves only the first counts[ring] records of each stream. */
static void keep_first(struct list *list, const size_t counts[RING_COUNT])
{
    size_t seen[RING_COUNT] = {0};
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++)
        if (seen[ring_of(&list->records[i])]++ < counts[ring_of(&list->records[i])])
            list->records[kept++] = list->records[i];
    list->count = kept;
}

/* ---- random records ---- */

struct maker {
    uint64_t state;
    uint64_t times[RING_COUNT];
};

/* Types that the writer makes itself. */
static bool is_of_writer(unsigned id)
{
    return id == EVENT_MACHINE || id == EVENT_END || id == EVENT_CLASS || id == EVENT_BEGIN;
}

/* A random record that the writer accepts, with any content, not earlier than the previous one. Equal times are
 * frequent, within a stream and between streams. */
static void make_record(struct maker *maker, union any_record *ret_record)
{
    unsigned id;

    do
        id = 1 + (unsigned)random_below(&maker->state, EVENT_ID_END - 1);
    while (is_of_writer(id));
    enum ring_id ring = event_type(id)->ring;

    for (size_t i = 0; i < sizeof(*ret_record); i += 8) {
        uint64_t number = random_number(&maker->state);
        memcpy(ret_record->bytes + i, &number, sizeof(number));
    }
    maker->times[ring] += random_below(&maker->state, 4);
    ret_record->header.id = (uint8_t)id;
    ret_record->header.time = maker->times[ring];
}

static struct machine_record example_machine(uint64_t time)
{
    struct machine_record machine = {
        .header.time = time, .machine_id = {1, 2, 3}, .boot_id = {4, 5, 6}, .meter_flags = 0xfff};

    strcpy(machine.name, "host");
    strcpy(machine.system, "Linux x86_64");
    strcpy(machine.addresses, "192.0.2.1 2001:db8::1");
    return machine;
}

/* Begins a trace whose MACHINE is the model's first record. */
static struct trace_writer *begin(const char *path, uint64_t max_size, struct list *model)
{
    struct machine_record machine = example_machine(0);
    struct problem problem = {""};
    struct trace_writer *writer = NULL;

    if (trace_writer_new(path, &machine, max_size, &writer, &problem) < 0)
        fail_msg("%s", problem.text);
    machine.header.id = EVENT_MACHINE;
    machine.header.flags = RECORD_NO_STREAM;
    list_add(model, &machine.header);
    return writer;
}

static void append(struct trace_writer *writer, const union any_record *record, struct list *model)
{
    struct problem problem = {""};

    if (trace_writer_append(writer, &record->header, &problem) < 0)
        fail_msg("%s", problem.text);
    list_add(model, &record->header);
}

static void append_random(struct trace_writer *writer, struct maker *maker, size_t count,
                          struct list *model)
{
    union any_record record;

    for (size_t i = 0; i < count; i++) {
        make_record(maker, &record);
        append(writer, &record, model);
    }
}

static void finish(struct trace_writer *writer, enum end_reason reason)
{
    struct problem problem = {""};

    if (trace_writer_close(writer, reason, &problem) < 0)
        fail_msg("%s", problem.text);
}

/* ---- reading ---- */

struct reading {
    int result; /* 0, or the error of opening or reading */
    struct list list;
    int64_t *wall; /* wall-clock times of the records of `list` */
    size_t wall_capacity;
    struct source_state state;
    uint64_t partial;
    struct problem problem;
};

static void check_promises(const struct record_header *header, uint64_t *time)
{
    assert_true(event_size(header->id) != 0);
    assert_true(header->time >= *time);
    *time = header->time;
}

/* Reads a source to its end or first error, and checks the guarantees of trace.h. */
static struct reading read_source(struct source *source)
{
    struct reading reading = {0};
    struct event event;
    uint64_t complete;
    uint64_t time = 0;

    while ((reading.result = source->next(source, &event, &complete, &reading.problem)) > 0) {
        check_promises(event.header, &time);
        assert_int_equal(event.origin, 0);
        list_add(&reading.list, event.header);
        assert_int_equal(array_reserve(&reading.wall, &reading.wall_capacity, reading.list.count,
                                       sizeof(*reading.wall)),
                         0);
        reading.wall[reading.list.count - 1] =
            (int64_t)(event.header->time + (uint64_t)event.wall_offset);
    }
    if (reading.result < 0)
        assert_string_not_equal(reading.problem.text, "");
    reading.state = source->states[0];
    reading.partial = trace_partial_tail(source, 0);
    assert_int_equal(reading.state.records, reading.list.count);
    return reading;
}

static struct reading read_trace(const char *path)
{
    struct reading reading = {0};
    struct source *source;

    reading.result = trace_open(&path, 1, &source, &reading.problem);
    if (reading.result < 0) {
        assert_string_not_equal(reading.problem.text, "");
        return reading;
    }
    reading = read_source(source);
    trace_close(source);
    return reading;
}

static void reading_done(struct reading *reading)
{
    list_done(&reading->list);
    free(reading->wall);
}

/* Reads a whole trace: the model's records, then END with that reason. Returns END's lost. */
static uint64_t check_whole(const char *path, const struct list *model, unsigned reason)
{
    struct reading reading = read_trace(path);

    if (reading.result < 0)
        fail_msg("%s", reading.problem.text);
    assert_true(reading.list.count > 0);
    const struct end_record *end = &reading.list.records[reading.list.count - 1].end;
    assert_int_equal(end->header.id, EVENT_END);
    assert_int_equal(end->records, reading.list.count);
    assert_int_equal(end->reason, reason);
    assert_true(reading.state.complete);
    assert_false(reading.state.being_written);
    assert_int_equal(reading.state.end_reason, reason);
    assert_int_equal(reading.state.lost, end->lost);
    assert_int_equal(reading.partial, 0);
    reading.list.count--;
    check_same(model, &reading.list);
    uint64_t lost = reading.state.lost;
    reading_done(&reading);
    return lost;
}

/* Checks that a trace is rejected with this error, and that the message names the cause. */
static void check_refused(const char *path, int error, const char *text)
{
    struct reading reading = read_trace(path);

    assert_int_equal(reading.result, error);
    if (strstr(reading.problem.text, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, reading.problem.text);
    assert_null(strchr(reading.problem.text, '\n'));
    reading_done(&reading);
}

/* ---- files ---- */

struct bytes {
    unsigned char *bytes;
    size_t size;
};

static const char *file_of(const char *path, const char *name)
{
    static char file[PATH_MAX];

    snprintf(file, sizeof(file), "%s/%s", path, name);
    return file;
}

static struct bytes load(const char *path, const char *name)
{
    struct bytes bytes = {0};
    struct stat status;
    int file = open(file_of(path, name), O_RDONLY | O_CLOEXEC);

    assert_true(file >= 0);
    assert_int_equal(fstat(file, &status), 0);
    bytes.size = (size_t)status.st_size;
    bytes.bytes = malloc(bytes.size + 1);
    assert_non_null(bytes.bytes);
    assert_int_equal(trace_file_read(file, bytes.bytes, bytes.size, 0), 0);
    close(file);
    return bytes;
}

static void store(const char *path, const char *name, const void *bytes, size_t size)
{
    int file = open(file_of(path, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
}

static void cut(const char *path, const char *name, size_t size)
{
    assert_int_equal(truncate(file_of(path, name), (off_t)size), 0);
}

static uint64_t size_of_trace(const char *path)
{
    static const char *const names[] = {"metadata", "control", "data"};
    uint64_t size = 0;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct stat status;
        assert_int_equal(stat(file_of(path, names[i]), &status), 0);
        size += (uint64_t)status.st_size;
    }
    return size;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A stream file, parsed into packets. */
struct packets {
    struct {
        size_t begin, content, end;
        size_t records;
        uint64_t discarded;
    } list[64];
    size_t count;
};

static size_t count_records(const unsigned char *bytes, size_t size)
{
    size_t count = 0;

    for (size_t at = 0; at < size; at += event_size(bytes[at + 8]), count++)
        assert_true(event_size(bytes[at + 8]) > 0);
    return count;
}

/* The packets of a file, which must end with a whole one. */
static struct packets find_packets(const struct bytes *file)
{
    struct packets packets = {.count = 0};
    size_t at = 0;

    while (at < file->size) {
        struct trace_packet_context context;
        assert_true(file->size - at >= TRACE_CONTENT);
        assert_true(packets.count < ARRAY_SIZE(packets.list));
        memcpy(&context, file->bytes + at + sizeof(struct trace_packet_header), sizeof(context));
        size_t content = (size_t)context.content_size / 8;
        packets.list[packets.count].begin = at;
        packets.list[packets.count].content = at + content;
        packets.list[packets.count].records =
            count_records(file->bytes + at + TRACE_CONTENT, content - TRACE_CONTENT);
        packets.list[packets.count].discarded = context.events_discarded;
        at += (size_t)context.packet_size / 8;
        packets.list[packets.count++].end = at;
        assert_true(at <= file->size);
    }
    return packets;
}

static void append_one_of_each_stream(struct trace_writer *writer, struct maker *maker,
                                      struct list *model)
{
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        union any_record record = {
            .event.header = {.id = ring == RING_DATA ? EVENT_SEND : EVENT_CONNECT,
                             .time = maker->times[ring]}};
        append(writer, &record, model);
    }
}

/* A small trace of several packets in both streams, with lost records. */
static void write_small(const char *path, uint64_t seed, struct list *model)
{
    struct maker maker = {.state = seed};
    struct trace_writer *writer = begin(path, NO_LIMIT, model);

    for (uint64_t packet = 1; packet <= 2; packet++) {
        append_one_of_each_stream(writer, &maker, model);
        append_random(writer, &maker, 10, model);
        trace_writer_lost(writer, RING_CONTROL, packet);
        trace_writer_lost(writer, RING_DATA, 10 * packet);
        assert_int_equal(trace_writer_flush(writer, NULL), 0);
    }
    finish(writer, END_COMPLETE);
}

/* ---- round trip ---- */

/* The control records alone are those of the model, in its order, and END. */
static void check_control(const char *path, const struct list *model)
{
    struct problem problem;
    struct source *source;
    struct event event;
    uint64_t complete;

    assert_int_equal(trace_open_control(&path, 1, &source, &problem), 0);
    for (size_t i = 0; i < model->count; i++) {
        if (ring_of(&model->records[i]) != RING_CONTROL)
            continue;
        assert_int_equal(source->next(source, &event, &complete, &problem), SOURCE_RECORD);
        assert_memory_equal(event.header, model->records[i].bytes, event_size(event.header->id));
    }
    assert_int_equal(source->next(source, &event, &complete, &problem), SOURCE_RECORD);
    assert_int_equal(event.header->id, EVENT_END);
    assert_int_equal(source->next(source, &event, &complete, &problem), SOURCE_END);
    trace_close(source);
}

static void test_what_is_written_is_read(void **unused)
{
    struct maker maker = {.state = seed_of_run("round trip")};

    (void)unused;
    for (uint64_t round = 0; round < rounds_of_run(40); round++) {
        struct list model = {0};
        const char *path = in_scratch("round-trip");
        struct trace_writer *writer = begin(path, NO_LIMIT, &model);
        uint64_t lost[RING_COUNT] = {0};

        memset(maker.times, 0, sizeof(maker.times));
        for (uint64_t parts = random_below(&maker.state, 6); parts > 0; parts--) {
            append_random(writer, &maker, random_below(&maker.state, 1500), &model);
            enum ring_id ring = (enum ring_id)random_below(&maker.state, RING_COUNT);
            lost[ring] += random_below(&maker.state, 1000);
            trace_writer_lost(writer, ring, lost[ring]);
            if (random_below(&maker.state, 2) == 0)
                assert_int_equal(trace_writer_flush(writer, NULL), 0);
        }
        finish(writer, END_COMPLETE);
        assert_int_equal(check_whole(path, &model, END_COMPLETE),
                         lost[RING_CONTROL] + lost[RING_DATA]);
        check_control(path, &model);
        remove_tree(path);
        list_done(&model);
    }
}

/* Loss counts that exceed 2^32 while a trace is being written, for each stream and for both together. */
static void test_losses_pass_32_bits(void **unused)
{
    static const uint64_t steps[] = {UINT32_MAX - 1,   UINT32_MAX, 1ULL << 32,
                                     (1ULL << 32) + 7, 1ULL << 33, 1ULL << 40};
    const char *path = in_scratch("losses");
    struct list model = {0};

    (void)unused;
    for (size_t count = 1; count <= ARRAY_SIZE(steps); count++) {
        struct maker maker = {.state = count};
        struct trace_writer *writer = begin(path, NO_LIMIT, &model);
        for (size_t i = 0; i < count; i++) {
            append_random(writer, &maker, 100, &model);
            trace_writer_lost(writer, RING_DATA, steps[i]);
            trace_writer_lost(writer, RING_CONTROL, steps[i] / 2);
            assert_int_equal(trace_writer_flush(writer, NULL), 0);
        }
        finish(writer, END_COMPLETE);
        assert_int_equal(check_whole(path, &model, END_COMPLETE),
                         steps[count - 1] + steps[count - 1] / 2);
        remove_tree(path);
        list_done(&model);
    }
}

/* The count of skipped hooks in LOST is known as the trace is read; full rings and DISCARDED do not count. */
static void test_skipped_hooks_are_counted(void **unused)
{
    const struct record lost[] = {
        {.header.id = EVENT_LOST, .lost = {UINT32_MAX, RING_DATA, LOST_SKIPPED}},
        {.header.id = EVENT_LOST, .lost = {100, RING_DATA, LOST_RING_FULL}},
        {.header.id = EVENT_DISCARDED, .lost = {1000, RING_DATA, LOST_SKIPPED}},
        {.header.id = EVENT_LOST, .lost = {3, RING_DATA, LOST_SKIPPED}},
    };
    const char *path = in_scratch("skipped");
    struct list model = {0};

    (void)unused;
    struct trace_writer *writer = begin(path, NO_LIMIT, &model);
    for (size_t i = 0; i < ARRAY_SIZE(lost); i++) {
        union any_record record = {.event = lost[i]};
        append(writer, &record, &model);
    }
    trace_writer_lost(writer, RING_DATA, UINT32_MAX + 103ULL);
    finish(writer, END_COMPLETE);
    struct reading reading = read_trace(path);
    assert_true(reading.state.skipped == UINT32_MAX + 3ULL);
    assert_true(reading.state.lost == UINT32_MAX + 103ULL);
    reading_done(&reading);
    list_done(&model);
    remove_tree(path);
}

/* The result must not depend on where windows and packets end: there is more than one window of each. */
static void test_a_trace_of_many_windows_is_read(void **unused)
{
    struct maker maker = {.state = seed_of_run("many windows")};
    struct list model = {0};
    const char *path = in_scratch("windows");
    struct trace_writer *writer = begin(path, NO_LIMIT, &model);

    (void)unused;
    append_random(writer, &maker, 40000, &model);
    finish(writer, END_COMPLETE);
    assert_true(size_of_trace(path) > 2u << 20);
    assert_int_equal(check_whole(path, &model, END_COMPLETE), 0);
    remove_tree(path);
    list_done(&model);
}

static void test_packets_are_whole_pages_and_full(void **unused)
{
    const size_t in_packet = (TRACE_PACKET_SIZE - TRACE_CONTENT) / sizeof(struct record);
    struct list model = {0};
    const char *path = in_scratch("packets");
    struct trace_writer *writer = begin(path, NO_LIMIT, &model);
    union any_record record = {.event.header = {.id = EVENT_SEND, .time = 1}};

    (void)unused;
    for (size_t i = 0; i < 3 * in_packet + 1; i++)
        append(writer, &record, &model);
    finish(writer, END_COMPLETE);
    struct bytes data = load(path, "data");
    struct packets packets = find_packets(&data);
    assert_int_equal(packets.count, 4);
    assert_int_equal(packets.list[2].end, 3 * TRACE_PACKET_SIZE);
    assert_int_equal(data.size, 3 * TRACE_PACKET_SIZE + TRACE_PAGE_SIZE);
    /* 49 bytes a record at most. */
    assert_true(TRACE_PACKET_SIZE < 49 * in_packet);
    assert_int_equal(check_whole(path, &model, END_COMPLETE), 0);
    free(data.bytes);
    list_done(&model);
    remove_tree(path);
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void test_wall_clock_time_is_known(void **unused)
{
    struct list model = {0};
    const char *path = in_scratch("wall");
    union any_record record = {.event.header = {.id = EVENT_SEND}};
    uint64_t before = read_clock(CLOCK_REALTIME);
    struct trace_writer *writer = begin(path, NO_LIMIT, &model);

    (void)unused;
    record.header.time = read_clock(CLOCK_MONOTONIC);
    append(writer, &record, &model);
    finish(writer, END_COMPLETE);
    uint64_t after = read_clock(CLOCK_REALTIME);
    struct reading reading = read_trace(path);
    assert_int_equal(reading.list.count, 3);
    /* The two clocks are not read at the same instant: a millisecond of tolerance. */
    assert_in_range((uint64_t)reading.wall[1], before - 1000000, after + 1000000);
    reading_done(&reading);
    list_done(&model);
    remove_tree(path);
}

/* ---- what the writer rejects ---- */

static void check_append_refused(struct trace_writer *writer, unsigned id, uint64_t time)
{
    union any_record record = {.header = {.id = (uint8_t)id, .time = time}};
    struct problem problem = {""};

    assert_int_equal(trace_writer_append(writer, &record.header, &problem), -EINVAL);
    assert_string_not_equal(problem.text, "");
}

static void test_the_writer_refuses_what_would_break_the_trace(void **unused)
{
    struct list model = {0};
    const char *path = in_scratch("refuses");
    union any_record record = {.event.header = {.id = EVENT_SEND, .time = 5}};
    struct trace_writer *writer = begin(path, NO_LIMIT, &model);

    (void)unused;
    append(writer, &record, &model);
    check_append_refused(writer, 0, 6);
    check_append_refused(writer, EVENT_CLASS, 6);
    check_append_refused(writer, EVENT_BEGIN, 6);
    check_append_refused(writer, EVENT_ID_END, 6);
    check_append_refused(writer, 255, 6);
    check_append_refused(writer, EVENT_MACHINE, 6);
    check_append_refused(writer, EVENT_END, 6);
    check_append_refused(writer, EVENT_SEND, 4);
    /* The other stream has its own time, and a rejected record leaves no trace. */
    record.header.id = EVENT_CONNECT;
    record.header.time = 4;
    append(writer, &record, &model);
    finish(writer, END_COMPLETE);
    check_whole(path, &model, END_COMPLETE);
    list_done(&model);
    remove_tree(path);
}

static void test_a_new_trace_spoils_nothing(void **unused)
{
    struct machine_record machine = example_machine(0);
    struct problem problem = {""};
    struct trace_writer *writer = NULL;
    const char *path = in_scratch("present");

    (void)unused;
    assert_int_equal(mkdir(path, 0700), 0);
    store(path, "data", "precious", 8);
    assert_int_equal(trace_writer_new(path, &machine, NO_LIMIT, &writer, &problem), -EEXIST);
    assert_non_null(strstr(problem.text, path));
    struct bytes data = load(path, "data");
    assert_memory_equal(data.bytes, "precious", 8);
    free(data.bytes);
    remove_tree(path);
    assert_int_equal(trace_writer_new(path, &machine, 65535, &writer, &problem), -EINVAL);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(trace_writer_new(in_scratch("no/such"), &machine, NO_LIMIT, &writer, &problem),
                     -ENOENT);
    assert_null(writer);
    assert_int_equal(trace_writer_close(NULL, END_COMPLETE, NULL), 0);
}

/* ---- repairing ---- */

static struct trace_repair repair(const char *path)
{
    struct problem problem = {""};
    struct trace_repair done = {0};

    if (trace_repair(path, &done, &problem) < 0)
        fail_msg("%s", problem.text);
    return done;
}

/* Repairs a readable trace; checks that only the partial tail is removed. */
static void check_repair(const char *path)
{
    struct reading before = read_trace(path);

    assert_int_equal(before.result, 0);
    struct trace_repair done = repair(path);
    assert_int_equal(done.trimmed, before.partial);
    assert_int_equal(done.end_written, !before.state.complete);
    if (before.list.records[before.list.count - 1].header.id == EVENT_END)
        before.list.count--;
    uint64_t lost =
        check_whole(path, &before.list, before.state.complete ? END_COMPLETE : END_REPAIRED);
    assert_int_equal(lost, before.state.lost);
    done = repair(path);
    assert_int_equal(done.trimmed, 0);
    assert_false(done.end_written);
    reading_done(&before);
}

/* ---- limits: largest size, full disk ---- */

/* Appends random records until one is rejected with `error`. */
static void append_until(struct trace_writer *writer, struct maker *maker, int error,
                         struct list *model, const char *path, uint64_t max_size)
{
    union any_record record;
    struct problem problem = {""};
    int result;

    for (;;) {
        make_record(maker, &record);
        result = trace_writer_append(writer, &record.header, &problem);
        if (result < 0)
            break;
        list_add(model, &record.header);
        if (random_below(&maker->state, 100) == 0) {
            result = trace_writer_flush(writer, &problem);
            assert_true(size_of_trace(path) <= max_size);
        }
        if (result < 0)
            break;
        assert_true(model->count < 1000000);
    }
    assert_int_equal(result, error);
    assert_non_null(strstr(problem.text, path));
    if (error == -EFBIG && max_size != NO_LIMIT) {
        char says[128];
        snprintf(says, sizeof(says),
                 "its largest size, %u KiB, and ends here; allow more (--store all --max-size N)",
                 (unsigned)(max_size >> 10));
        assert_non_null(strstr(problem.text, says));
    }
    assert_int_equal(trace_writer_append(writer, &record.header, &problem), -EPIPE);
}

/* Sets the record before END: at its place in time among the others, or after them. Returns the resulting record. */
static struct record set_last(struct trace_writer *writer, struct maker *maker)
{
    uint64_t end = trace_writer_last_time(writer, RING_CONTROL);
    struct record cost = {.header = {.time = random_below(&maker->state, 2 * end + 2),
                                     .id = EVENT_COST,
                                     .flags = RECORD_NO_STREAM},
                          .cost = {.cpu = random_number(&maker->state), .wakeups = 7, .hook = 500}};

    trace_writer_set_last(writer, &cost);
    if (cost.header.time < end)
        cost.header.time = end;
    return cost;
}

static void test_the_largest_size_is_kept(void **unused)
{
    struct maker maker = {.state = seed_of_run("largest size")};

    (void)unused;
    for (uint64_t round = 0; round < rounds_of_run(40); round++) {
        struct list model = {0};
        const char *path = in_scratch("size");
        uint64_t max_size = 65536 + random_below(&maker.state, round < 10 ? 2 : 400000);
        struct trace_writer *writer = begin(path, max_size, &model);

        memset(maker.times, 0, sizeof(maker.times));
        if (round % 3 == 1)
            set_last(writer, &maker); /* another one will take its place */
        append_until(writer, &maker, -EFBIG, &model, path, max_size);
        if (round % 3 > 0) {
            const struct record last = set_last(writer, &maker);
            list_add(&model, &last.header);
        }
        finish(writer, END_COMPLETE);
        assert_true(size_of_trace(path) <= max_size);
        /* Every accepted record is there, and hardly any space is left: two pages and a record. */
        assert_int_equal(check_whole(path, &model, END_SIZE), 0);
        assert_true(size_of_trace(path) + 3 * TRACE_PAGE_SIZE > max_size);
        list_done(&model);
        remove_tree(path);
    }
}

/* After a failed write: whole packets, a correct count of the missing records, and the right reason. */
static void check_after_failure(const char *path, struct list *model)
{
    size_t counts[RING_COUNT];
    size_t appended = model->count;

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        struct bytes file = load(path, trace_file_names[ring]);
        struct packets packets = find_packets(&file);
        counts[ring] = 0;
        for (size_t i = 0; i < packets.count; i++)
            counts[ring] += packets.list[i].records;
        free(file.bytes);
    }
    counts[RING_CONTROL]--; /* END */
    keep_first(model, counts);
    assert_true(model->count < appended);
    assert_int_equal(check_whole(path, model, END_DISK), appended - model->count);
}

static void test_a_file_size_limit_ends_the_trace_in_order(void **unused)
{
    struct maker maker = {.state = seed_of_run("file size limit")};
    struct rlimit before;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

    (void)unused;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (unsigned round = 0; round < 10; round++) {
        struct list model = {0};
        const char *path = in_scratch("limit");
        struct trace_writer *writer = begin(path, NO_LIMIT, &model);
        struct rlimit limit = {40000 + random_below(&maker.state, 300000), before.rlim_max};

        memset(maker.times, 0, sizeof(maker.times));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        append_until(writer, &maker, -EFBIG, &model, path, NO_LIMIT);
        /* One of the files is at its limit; END needs a page in `control`. */
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        finish(writer, END_COMPLETE);
        check_after_failure(path, &model);
        list_done(&model);
        remove_tree(path);
    }
    signal(SIGXFSZ, handler);
}

/* Fills the rest of a file system. */
static void fill(const char *path)
{
    static const char zeros[4096];
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(file >= 0);
    while (write(file, zeros, sizeof(zeros)) > 0)
        ;
    close(file);
}

/* Records until the disk at `disk` is full. If there is no space even for END, freeing some and repairing the trace
 * must help. */
static void check_full_disk(const char *disk, const char *path, struct maker *maker)
{
    struct list model = {0};
    struct problem problem = {""};
    struct trace_writer *writer = begin(path, NO_LIMIT, &model);

    memset(maker->times, 0, sizeof(maker->times));
    append_until(writer, maker, -ENOSPC, &model, path, NO_LIMIT);
    int result = trace_writer_close(writer, END_COMPLETE, &problem);
    struct reading reading = read_trace(path);
    assert_int_equal(reading.result, 0);
    assert_int_equal(reading.partial, 0);
    if (reading.state.complete) {
        check_after_failure(path, &model);
    } else {
        assert_int_equal(result, -ENOSPC);
        assert_non_null(strstr(problem.text, path));
        assert_int_equal(mount("dpm-test", disk, "tmpfs", MS_REMOUNT, "size=400k"), 0);
        check_repair(path);
    }
    reading_done(&reading);
    list_done(&model);
    remove_tree(path);
    assert_int_equal(mount("dpm-test", disk, "tmpfs", MS_REMOUNT, "size=300k"), 0);
}

static void test_a_full_disk_ends_the_trace_in_order(void **unused)
{
    struct maker maker = {.state = seed_of_run("full disk")};
    struct machine_record machine = example_machine(0);
    struct problem problem = {""};
    struct trace_writer *writer;
    char disk[sizeof(scratch) + 20];
    char path[sizeof(scratch) + 20];

    (void)unused;
    snprintf(disk, sizeof(disk), "%s/disk", scratch);
    snprintf(path, sizeof(path), "%s/disk/trace", scratch);
    assert_int_equal(mkdir(disk, 0700), 0);
    if (mount("dpm-test", disk, "tmpfs", 0, "size=300k") < 0) {
        print_message("# cannot mount a small file system: %s\n", strerror(errno));
        skip();
    }
    for (unsigned round = 0; round < 20; round++)
        check_full_disk(disk, path, &maker);
    fill(in_scratch("disk/filling"));
    assert_int_equal(trace_writer_new(path, &machine, NO_LIMIT, &writer, &problem), -ENOSPC);
    assert_non_null(strstr(problem.text, "disk/trace"));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(umount(disk), 0);
}

/* ---- damage: every cut, every flip ---- */

/* What a cut of one file must leave; the other file is whole. */
struct expected_cut {
    size_t counts[RING_COUNT]; /* records read of each stream, END included */
    uint64_t discarded[RING_COUNT];
    size_t partial;
};

static struct expected_cut expect_cut(const struct packets packets[RING_COUNT], enum ring_id ring,
                                      size_t size)
{
    struct expected_cut expected = {.partial = size};

    for (enum ring_id each = 0; each < RING_COUNT; each++)
        for (size_t i = 0; i < packets[each].count; i++) {
            if (each == ring && packets[each].list[i].end > size)
                break;
            expected.counts[each] += packets[each].list[i].records;
            expected.discarded[each] = packets[each].list[i].discarded;
            if (each == ring)
                expected.partial = size - packets[each].list[i].end;
        }
    return expected;
}

static void check_cut(const char *path, const struct list *whole, const struct expected_cut *cut_,
                      const struct expected_cut *uncut)
{
    struct reading reading = read_trace(path);
    bool has_end = cut_->counts[RING_CONTROL] == uncut->counts[RING_CONTROL];
    size_t missing = uncut->counts[RING_DATA] - cut_->counts[RING_DATA];

    if (cut_->counts[RING_CONTROL] == 0) {
        assert_int_equal(reading.result, -ENODATA);
    } else {
        struct list expected = {0};
        if (reading.result < 0)
            fail_msg("%s", reading.problem.text);
        for (size_t i = 0; i < whole->count; i++)
            list_add(&expected, &whole->records[i].header);
        keep_first(&expected, cut_->counts);
        check_same(&expected, &reading.list);
        list_done(&expected);
        assert_int_equal(reading.partial, cut_->partial);
        assert_int_equal(reading.state.complete, has_end && missing == 0);
        assert_int_equal(reading.state.end_reason, has_end && missing == 0 ? END_COMPLETE : 0);
        /* With END, its count includes records that the cut removed; otherwise the packets' count is used. */
        assert_int_equal(reading.state.lost,
                         has_end ? uncut->discarded[RING_CONTROL] + uncut->discarded[RING_DATA] +
                                       missing
                                 : cut_->discarded[RING_CONTROL] + cut_->discarded[RING_DATA]);
    }
    reading_done(&reading);
}

static void load_trace(const char *path, struct bytes files[RING_COUNT],
                       struct packets packets[RING_COUNT])
{
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        files[ring] = load(path, trace_file_names[ring]);
        packets[ring] = find_packets(&files[ring]);
    }
}

static void test_a_trace_cut_anywhere_is_read_up_to_the_cut(void **unused)
{
    uint64_t state = seed_of_run("cut");
    struct list model = {0};
    struct bytes files[RING_COUNT];
    struct packets packets[RING_COUNT];
    const char *path = in_scratch("cut");

    (void)unused;
    write_small(path, random_number(&state), &model);
    load_trace(path, files, packets);
    struct reading whole = read_trace(path);
    struct expected_cut uncut = expect_cut(packets, RING_DATA, files[RING_DATA].size);
    assert_int_equal(uncut.counts[RING_CONTROL] + uncut.counts[RING_DATA], whole.list.count);
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        for (size_t size = files[ring].size + 1; size-- > 0;) {
            if (!is_tried(&state))
                continue;
            struct expected_cut expected = expect_cut(packets, ring, size);
            cut(path, trace_file_names[ring], size);
            check_cut(path, &whole.list, &expected, &uncut);
        }
        store(path, trace_file_names[ring], files[ring].bytes, files[ring].size);
        free(files[ring].bytes);
    }
    reading_done(&whole);
    list_done(&model);
    remove_tree(path);
}

static bool is_padding(const struct packets *packets, size_t at)
{
    for (size_t i = 0; i < packets->count; i++)
        if (at >= packets->list[i].content && at < packets->list[i].end)
            return true;
    return false;
}

/* Reads a trace with one wrong byte. In the padding it does no harm. Elsewhere it may go unnoticed if it is a
 * possible value; read_trace checks the guarantees. */
static void check_flip(const char *path, const struct list *whole, bool padding)
{
    struct reading reading = read_trace(path);

    if (padding) {
        assert_int_equal(reading.result, 0);
        assert_true(reading.state.complete);
        check_same(whole, &reading.list);
    }
    if (reading.result < 0)
        assert_non_null(strstr(reading.problem.text, "/flip/"));
    assert_true(reading.list.count <= whole->count + 1);
    reading_done(&reading);
}

static void flip_file(const char *path, const struct list *whole, enum ring_id ring,
                      const struct bytes *bytes, const struct packets *packets, uint64_t *state)
{
    int file = open(file_of(path, trace_file_names[ring]), O_WRONLY | O_CLOEXEC);

    assert_true(file >= 0);
    for (size_t at = 0; at < bytes->size; at++) {
        if (!is_tried(state))
            continue;
        const uint8_t flips[] = {0xff, (uint8_t)(1u << random_below(state, 8)),
                                 (uint8_t)(1 + random_below(state, 254))};
        for (size_t i = 0; i < ARRAY_SIZE(flips); i++) {
            uint8_t wrong = bytes->bytes[at] ^ flips[i];
            assert_int_equal(pwrite(file, &wrong, 1, (off_t)at), 1);
            check_flip(path, whole, is_padding(packets, at));
        }
        assert_int_equal(pwrite(file, bytes->bytes + at, 1, (off_t)at), 1);
    }
    close(file);
}

static void test_a_trace_with_any_byte_wrong_keeps_the_promises(void **unused)
{
    uint64_t state = seed_of_run("flip");
    struct list model = {0};
    struct bytes files[RING_COUNT];
    struct packets packets[RING_COUNT];
    const char *path = in_scratch("flip");

    (void)unused;
    write_small(path, random_number(&state), &model);
    load_trace(path, files, packets);
    struct reading whole = read_trace(path);
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        flip_file(path, &whole.list, ring, &files[ring], &packets[ring], &state);
        free(files[ring].bytes);
    }
    assert_int_equal(check_whole(path, &model, END_COMPLETE), 22);
    reading_done(&whole);
    list_done(&model);
    remove_tree(path);
}

/* The bytes that identify a packet must be checked: no flip in them may go unnoticed. */
static void test_wrong_packet_headers_are_seen(void **unused)
{
    struct list model = {0};
    const char *path = in_scratch("header");

    (void)unused;
    write_small(path, seed_of_run("header"), &model);
    struct bytes data = load(path, "data");
    size_t second = find_packets(&data).list[0].end;
    const struct {
        size_t at;
        const char *text;
    } wrong[] = {
        {0, "packet magic is wrong"},
        {3, "packet magic is wrong"},
        {4, "uuid"},
        {19, "uuid"},
        {20, "another file"},
        {24 + 16 + 7, "content size is impossible"},
        {24 + 24 + 7, "packet's size is impossible"},
        {24 + 32, "packet number"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char place[40];
        snprintf(place, sizeof(place), "header/data: at byte %zu:", second);
        data.bytes[second + wrong[i].at] ^= 1;
        store(path, "data", data.bytes, data.size);
        check_refused(path, -EBADMSG, wrong[i].text);
        check_refused(path, -EBADMSG, place);
        data.bytes[second + wrong[i].at] ^= 1;
    }
    store(path, "data", data.bytes, data.size);
    assert_int_equal(check_whole(path, &model, END_COMPLETE), 22);
    free(data.bytes);
    list_done(&model);
    remove_tree(path);
}

static void test_any_metadata_is_survived(void **unused)
{
    uint64_t state = seed_of_run("metadata");
    struct list model = {0};
    const char *path = in_scratch("metadata");

    (void)unused;
    write_small(path, random_number(&state), &model);
    struct bytes metadata = load(path, "metadata");
    for (size_t at = 0; at < metadata.size; at++) {
        if (!is_tried(&state))
            continue;
        unsigned char right = metadata.bytes[at];
        metadata.bytes[at] ^= (unsigned char)(1 + random_below(&state, 255));
        store(path, "metadata", metadata.bytes, metadata.size);
        metadata.bytes[at] = right;
        struct reading reading = read_trace(path);
        assert_true(reading.result < 0 || reading.state.complete);
        reading_done(&reading);
    }
    store(path, "metadata", metadata.bytes, metadata.size);
    for (size_t size = metadata.size; size-- > 0;) {
        if (!is_tried(&state))
            continue;
        cut(path, "metadata", size);
        struct reading reading = read_trace(path);
        assert_true(reading.result < 0 || reading.state.complete);
        reading_done(&reading);
    }
    free(metadata.bytes);
    list_done(&model);
    remove_tree(path);
}

/* ---- what is no trace, or is invalid ---- */

static void replace_text(const char *path, const char *from, const char *to)
{
    struct bytes metadata = load(path, "metadata");
    unsigned char *at = memmem(metadata.bytes, metadata.size, from, strlen(from));

    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
    store(path, "metadata", metadata.bytes, metadata.size);
    free(metadata.bytes);
}

static void test_what_is_no_trace_is_refused_in_one_line(void **unused)
{
    struct list model = {0};
    const char *path = in_scratch("other");
    const char *empty = in_scratch("empty");

    (void)unused;
    check_refused(in_scratch("nothing"), -ENOENT, "nothing: cannot be opened");
    assert_int_equal(mkdir(empty, 0700), 0);
    check_refused(empty, -ENOENT, "empty/metadata: cannot be opened");
    store(empty, "metadata", "", 0);
    check_refused(empty, -EINVAL, "not a trace of dpm");
    store(empty, "metadata", "/* CTF 1.8 */ env { tracer_name = \"other\"; };", 46);
    check_refused(empty, -EINVAL, "not a trace of dpm");
    write_small(path, 1, &model);
    check_refused(file_of(path, "data"), -ENOTDIR, "a trace is a directory");
    replace_text(path, "trace_format = 3;", "trace_format = 5;");
    check_refused(path, -EPROTONOSUPPORT, "the trace has format 5, this dpm reads formats 2 to 4");
    replace_text(path, "trace_format = 5;", "trace_format = 1;");
    check_refused(path, -EPROTONOSUPPORT, "the trace has format 1, this dpm reads formats 2 to 4");
    replace_text(path, "trace_format = 1;", "trace_format = 3;");
    assert_int_equal(unlink(file_of(path, "data")), 0);
    check_refused(path, -ENOENT, "other/data: cannot be opened");
    /* Opening a FIFO must not wait. */
    assert_int_equal(mkfifo(file_of(path, "data"), 0600), 0);
    check_refused(path, -EINVAL, "other/data: not a regular file");
    assert_int_equal(unlink(file_of(path, "data")), 0);
    assert_int_equal(mkdir(file_of(path, "data"), 0700), 0);
    check_refused(path, -EINVAL, "other/data: not a regular file");
    list_done(&model);
    remove_tree(path);
    remove_tree(empty);
}

static void test_an_unreadable_trace_is_refused(void **unused)
{
    struct list model = {0};
    const char *path = in_scratch("unreadable");

    (void)unused;
    write_small(path, 1, &model);
    assert_int_equal(chmod(file_of(path, "control"), 0), 0);
    if (geteuid() != 0) {
        check_refused(path, -EACCES, "unreadable/control: cannot be opened: Permission denied");
    } else { /* nothing is unreadable for root: test as another user */
        assert_int_equal(chmod(scratch, 0711), 0);
        assert_int_equal(seteuid(65534), 0);
        check_refused(path, -EACCES, "unreadable: cannot be opened: Permission denied");
        assert_int_equal(seteuid(0), 0);
    }
    list_done(&model);
    remove_tree(path);
    assert_int_equal(trace_open(NULL, 0, NULL, NULL), -EINVAL);
    trace_close(NULL);
}

static void test_files_of_two_traces_are_not_mixed(void **unused)
{
    struct list model = {0};
    const char *path = in_scratch("one");
    const char *other = in_scratch("two");

    (void)unused;
    write_small(path, 1, &model);
    write_small(other, 1, &model);
    struct bytes data = load(other, "data");
    store(path, "data", data.bytes, data.size);
    check_refused(path, -EBADMSG,
                  "one/data: at byte 0: the packet has another uuid than the trace");
    free(data.bytes);
    list_done(&model);
    remove_tree(path);
    remove_tree(other);
}

static void set_packet_number(unsigned char *packet, uint64_t number)
{
    memcpy(packet + sizeof(struct trace_packet_header) +
               offsetof(struct trace_packet_context, packet_seq_num),
           &number, sizeof(number));
}

/* Takes packet `from` of `control`, gives it this number, and appends it. */
static void append_packet(const char *path, const struct bytes *control, size_t from,
                          uint64_t number)
{
    struct packets packets = find_packets(control);
    size_t size = packets.list[from].end - packets.list[from].begin;
    unsigned char *longer = malloc(control->size + size);

    assert_non_null(longer);
    memcpy(longer, control->bytes, control->size);
    memcpy(longer + control->size, control->bytes + packets.list[from].begin, size);
    set_packet_number(longer + control->size, number);
    store(path, "control", longer, control->size + size);
    free(longer);
}

static void test_packets_out_of_order_are_refused(void **unused)
{
    struct list model = {0};
    const char *path = in_scratch("order");

    (void)unused;
    write_small(path, 1, &model);
    struct bytes control = load(path, "control");
    struct packets packets = find_packets(&control);
    assert_int_equal(packets.count, 4);
    /* END again: */
    append_packet(path, &control, 3, 4);
    check_refused(path, -EBADMSG, "a record follows END");
    /* A packet that is duplicated (one that is missing is no damage: packets_test.c): */
    append_packet(path, &control, 3, 3);
    check_refused(path, -EBADMSG, "packet number is not larger");
    append_packet(path, &control, 3, UINT64_MAX);
    check_refused(path, -EBADMSG, "packet number is not larger");
    /* Without END, an early packet after a late one: */
    control.size = packets.list[2].end;
    append_packet(path, &control, 1, 3);
    check_refused(path, -EBADMSG, "order/control: at byte");
    check_refused(path, -EBADMSG, "time goes back");
    /* A trace that does not begin with its machine: */
    size_t first = packets.list[0].end;
    set_packet_number(control.bytes + first, 0);
    store(path, "control", control.bytes + first, packets.list[1].end - first);
    check_refused(path, -EBADMSG, "the first record is not MACHINE");
    free(control.bytes);
    list_done(&model);
    remove_tree(path);
}

/* ---- packets of other writers ---- */

/* Appends a packet of `count` SENDs, `size` bytes long in all, to `data`. */
static void add_packet(struct bytes *data, const struct bytes *control, uint64_t number,
                       size_t count, size_t size, struct list *model)
{
    union any_record record = {.event.header = {.id = EVENT_SEND, .time = 1000 + number}};
    struct trace_packet_context context = {
        .content_size = (TRACE_CONTENT + count * sizeof(record.event)) * 8,
        .packet_size = size * 8,
        .packet_seq_num = number,
    };

    data->bytes = realloc(data->bytes, data->size + size);
    assert_non_null(data->bytes);
    unsigned char *packet = data->bytes + data->size;
    memset(packet, 0, size);
    memcpy(packet, control->bytes, sizeof(struct trace_packet_header));
    packet[offsetof(struct trace_packet_header, stream)] = RING_DATA;
    memcpy(packet + sizeof(struct trace_packet_header), &context, sizeof(context));
    for (size_t i = 0; i < count; i++) {
        record.event.message.bytes = (uint32_t)i;
        memcpy(packet + TRACE_CONTENT + i * sizeof(record.event), &record, sizeof(record.event));
        list_add(model, &record.header);
    }
    data->size += size;
}

static void test_packets_of_any_allowed_size_are_read(void **unused)
{
    const size_t most = (TRACE_LAST_PACKET - TRACE_CONTENT) / sizeof(struct record);
    struct list model = {0};
    struct bytes data = {0};
    const char *path = in_scratch("sizes");

    (void)unused;
    finish(begin(path, NO_LIMIT, &model), END_COMPLETE);
    cut(path, "control", TRACE_PAGE_SIZE); /* without END, which counts the records */
    struct bytes control = load(path, "control");
    add_packet(&data, &control, 0, 1, TRACE_CONTENT + 48, &model);
    add_packet(&data, &control, 1, most, TRACE_LAST_PACKET, &model);
    add_packet(&data, &control, 2, 0, TRACE_CONTENT, &model);
    add_packet(&data, &control, 3, 0, 200, &model);
    add_packet(&data, &control, 4, 2, 100000, &model);
    add_packet(&data, &control, 5, most, TRACE_LAST_PACKET, &model);
    store(path, "data", data.bytes, data.size);
    struct reading reading = read_trace(path);
    if (reading.result < 0)
        fail_msg("%s", reading.problem.text);
    check_same(&model, &reading.list);
    assert_int_equal(reading.partial, 0);
    reading_done(&reading);
    add_packet(&data, &control, 6, 1, TRACE_LAST_PACKET + 8, &model);
    store(path, "data", data.bytes, data.size);
    check_refused(path, -EBADMSG, "the packet's size is impossible");
    free(data.bytes);
    free(control.bytes);
    list_done(&model);
    remove_tree(path);
}

/* A packet whose records do not end where its content ends: no part of a record is returned. The file ends there
 * too, so that a sanitizer detects reading beyond it. */
static void test_a_record_must_end_within_its_packet(void **unused)
{
    struct list model = {0};
    const char *path = in_scratch("within");

    (void)unused;
    finish(begin(path, NO_LIMIT, &model), END_COMPLETE);
    cut(path, "control", TRACE_PAGE_SIZE);
    struct bytes control = load(path, "control");
    for (size_t missing = 8; missing < sizeof(struct record); missing += 8) {
        struct bytes data = {0};
        add_packet(&data, &control, 0, 3, TRACE_CONTENT + 3 * sizeof(struct record), &model);
        struct trace_packet_context context;
        unsigned char *at = data.bytes + sizeof(struct trace_packet_header);
        memcpy(&context, at, sizeof(context));
        context.content_size -= missing * 8;
        context.packet_size -= missing * 8;
        memcpy(at, &context, sizeof(context));
        store(path, "data", data.bytes, data.size - missing);
        check_refused(path, -EBADMSG, "the packet ends within a record");
        struct reading reading = read_trace(path);
        assert_int_equal(reading.list.count, 1 + 2);
        reading_done(&reading);
        free(data.bytes);
    }
    free(control.bytes);
    list_done(&model);
    remove_tree(path);
}

/* ---- several traces ---- */

enum { TRACES = 5 };

/* Checks one merged record against separate readings of the traces: it is the earliest of the next ones, and the
 * first of equally early ones. */
static void check_merged(const struct event *event, const struct reading readings[TRACES],
                         size_t at[TRACES])
{
    size_t first = TRACES;

    for (size_t i = 0; i < TRACES; i++) {
        if (at[i] == readings[i].list.count)
            continue;
        if (first == TRACES || readings[i].wall[at[i]] < readings[first].wall[at[first]])
            first = i;
    }
    assert_true(first < TRACES);
    assert_int_equal(event->origin, first);
    const union any_record *expected = &readings[first].list.records[at[first]++];
    assert_memory_equal(event->header, expected, event_size(expected->header.id));
}

/* Equal wall-clock times are made frequent: all packets have the same pair of clocks. */
static void set_clocks(const char *path, uint64_t real_time)
{
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        struct bytes file = load(path, trace_file_names[ring]);
        struct packets packets = find_packets(&file);
        for (size_t i = 0; i < packets.count; i++) {
            uint64_t clocks[2] = {0, real_time};
            memcpy(file.bytes + packets.list[i].begin + TRACE_CONTENT - sizeof(clocks), clocks,
                   sizeof(clocks));
        }
        store(path, trace_file_names[ring], file.bytes, file.size);
        free(file.bytes);
    }
}

static void test_traces_are_merged_by_wall_clock_time(void **unused)
{
    struct maker maker = {.state = seed_of_run("merge")};
    char paths[TRACES][sizeof(scratch) + 20];
    const char *names[TRACES];
    struct reading readings[TRACES];
    size_t at[TRACES] = {0};
    struct source *source;
    struct problem problem;
    struct event event;
    uint64_t complete;
    size_t total = 0;
    int result;

    (void)unused;
    for (size_t i = 0; i < TRACES; i++) {
        struct list model = {0};
        snprintf(paths[i], sizeof(paths[i]), "%s/merge%zu", scratch, i);
        names[i] = paths[i];
        memset(maker.times, 0, sizeof(maker.times));
        struct trace_writer *writer = begin(paths[i], NO_LIMIT, &model);
        append_random(writer, &maker, random_below(&maker.state, 800), &model);
        trace_writer_lost(writer, RING_DATA, i);
        finish(writer, END_COMPLETE);
        /* The last two are unchanged, far in the future of the others. */
        if (i < 3)
            set_clocks(paths[i], 20 * i);
        readings[i] = read_trace(paths[i]);
        assert_int_equal(readings[i].result, 0);
        total += readings[i].list.count;
        list_done(&model);
    }
    assert_int_equal(trace_open(names, TRACES, &source, &problem), 0);
    assert_int_equal(source->origins, TRACES);
    for (; (result = source->next(source, &event, &complete, &problem)) > 0; total--)
        check_merged(&event, readings, at);
    assert_int_equal(result, SOURCE_END);
    assert_int_equal(total, 0);
    for (size_t i = 0; i < TRACES; i++) {
        assert_true(source->states[i].complete);
        assert_int_equal(source->states[i].records, readings[i].list.count);
        assert_int_equal(source->states[i].lost, i);
        reading_done(&readings[i]);
        remove_tree(paths[i]);
    }
    trace_close(source);
}

/* ---- cut traces repaired, and tried with another reader ---- */

static bool has_babeltrace(void)
{
    return system("command -v babeltrace2 >/dev/null 2>&1") == 0;
}

static void for_each_line(FILE *file, void (*line)(const char *text, void *data), void *data)
{
    char *text = NULL;
    size_t size = 0;

    while (getline(&text, &size, file) >= 0)
        line(text, data);
    free(text);
}

/* Runs babeltrace2 on a trace; passes each line of its output, then of its errors, to `line`. Returns its exit
 * status. */
static int run_babeltrace(const char *path, void (*line)(const char *text, void *data), void *data)
{
    char command[2 * PATH_MAX + 100];
    char complaints_path[sizeof(scratch) + 20];

    snprintf(complaints_path, sizeof(complaints_path), "%s/complaints", scratch);

    snprintf(command, sizeof(command), "babeltrace2 --clock-cycles --no-delta '%s' 2>'%s'", path,
             complaints_path);
    FILE *output = popen(command, "re");
    assert_non_null(output);
    for_each_line(output, line, data);
    int status = pclose(output);
    FILE *complaints = fopen(complaints_path, "re");
    assert_non_null(complaints);
    for_each_line(complaints, line, data);
    fclose(complaints);
    unlink(complaints_path);
    return status;
}

/* The line of an event begins with its time in brackets; any other line may be an error. */
static void count_event(const char *text, void *data)
{
    size_t *events = data;

    if (text[0] == '[')
        ++*events;
    else if (strstr(text, "ERROR") != NULL || strstr(text, "CAUSED") != NULL)
        print_message("# %s", text);
}

static void check_babeltrace_reads(const char *path)
{
    struct reading reading = read_trace(path);
    size_t events = 0;

    assert_int_equal(run_babeltrace(path, count_event, &events), 0);
    assert_int_equal(events, reading.list.count);
    reading_done(&reading);
}

static void test_a_cut_trace_is_repaired(void **unused)
{
    uint64_t state = seed_of_run("repair");
    struct list model = {0};
    struct bytes files[RING_COUNT];
    struct packets packets[RING_COUNT];
    const char *path = in_scratch("repair");
    bool babeltrace = has_babeltrace();

    (void)unused;
    if (!babeltrace)
        print_message("# babeltrace2 is not there to try repaired traces\n");
    write_small(path, random_number(&state), &model);
    load_trace(path, files, packets);
    for (uint64_t round = 0; round < rounds_of_run(600); round++) {
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
            size_t least = ring == RING_CONTROL ? packets[ring].list[0].end : 0;
            size_t size = least + random_below(&state, files[ring].size - least + 1);
            /* Often one of the files is whole, or is cut between two packets. */
            if (random_below(&state, 3) == 0)
                size = files[ring].size;
            else if (random_below(&state, 3) == 0)
                size -= size % TRACE_PAGE_SIZE;
            store(path, trace_file_names[ring], files[ring].bytes, size);
        }
        check_repair(path);
        if (babeltrace && round % 100 == 0)
            check_babeltrace_reads(path);
    }
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        free(files[ring].bytes);
    list_done(&model);
    remove_tree(path);
}

/* A machine that loses power may leave zeros after the data that reached the disk. */
static void test_a_tail_of_zeros_is_a_cut(void **unused)
{
    static const off_t tails[] = {1, 87, 4096, 70000, 2 << 20, (off_t)1 << 42};
    struct list model = {0};
    const char *path = in_scratch("zeros");

    (void)unused;
    write_small(path, 1, &model);
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        const char *name = trace_file_names[ring];
        struct bytes file = load(path, name);
        for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
            if (truncate(file_of(path, name), (off_t)file.size + tails[i]) < 0)
                continue; /* a file system without files of this size */
            struct reading reading = read_trace(path);
            assert_int_equal(reading.result, 0);
            assert_true(reading.state.complete);
            assert_int_equal(reading.partial, tails[i]);
            reading_done(&reading);
            check_repair(path);
        }
        /* Zeros with data after them are no tail. */
        int written = open(file_of(path, name), O_WRONLY | O_CLOEXEC);
        assert_int_equal(pwrite(written, "x", 1, (off_t)file.size + 100000), 1);
        close(written);
        check_refused(path, -EBADMSG, "packet magic is wrong");
        cut(path, name, file.size);
        free(file.bytes);
    }
    assert_int_equal(check_whole(path, &model, END_COMPLETE), 22);
    list_done(&model);
    remove_tree(path);
}

static void check_not_repaired(const char *path, int error)
{
    struct bytes before[RING_COUNT];
    struct trace_repair done;
    struct problem problem = {""};

    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        before[ring] = load(path, trace_file_names[ring]);
    assert_int_equal(trace_repair(path, &done, &problem), error);
    assert_string_not_equal(problem.text, "");
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        struct bytes after = load(path, trace_file_names[ring]);
        assert_int_equal(after.size, before[ring].size);
        assert_memory_equal(after.bytes, before[ring].bytes, after.size);
        free(after.bytes);
        free(before[ring].bytes);
    }
}

static void test_repair_leaves_damage_alone(void **unused)
{
    struct list model = {0};
    const char *path = in_scratch("damage");

    (void)unused;
    write_small(path, 1, &model);
    struct bytes control = load(path, "control");
    struct packets packets = find_packets(&control);
    cut(path, "data", 5000); /* repair would have something to do */
    control.bytes[packets.list[1].begin] ^= 1;
    store(path, "control", control.bytes, control.size);
    check_not_repaired(path, -EBADMSG);
    control.bytes[packets.list[1].begin] ^= 1;
    control.bytes[packets.list[1].begin + TRACE_CONTENT + 8] = 0;
    store(path, "control", control.bytes, control.size);
    check_not_repaired(path, -EBADMSG);
    store(path, "control", control.bytes, 100);
    check_not_repaired(path, -ENODATA);
    free(control.bytes);
    list_done(&model);
    remove_tree(path);
}

static void test_a_trace_being_written_is_read_but_not_repaired(void **unused)
{
    struct maker maker = {.state = seed_of_run("being written")};
    struct list model = {0};
    const char *path = in_scratch("live");
    struct trace_writer *writer = begin(path, NO_LIMIT, &model);

    (void)unused;
    for (unsigned round = 0; round < 20; round++) {
        append_random(writer, &maker, 100, &model);
        assert_int_equal(trace_writer_flush(writer, NULL), 0);
        struct reading reading = read_trace(path);
        assert_int_equal(reading.result, 0);
        assert_false(reading.state.complete);
        assert_true(reading.state.being_written);
        check_same(&model, &reading.list);
        reading_done(&reading);
        check_not_repaired(path, -EBUSY);
    }
    finish(writer, END_COMPLETE);
    check_whole(path, &model, END_COMPLETE);
    assert_false(repair(path).end_written);
    list_done(&model);
    remove_tree(path);
}

static void test_a_trace_is_read_again_as_far_as_before(void **unused)
{
    struct maker maker = {.state = seed_of_run("again")};
    struct list model = {0};
    const char *path = in_scratch("again");
    struct trace_writer *writer = begin(path, NO_LIMIT, &model);
    struct problem problem;
    struct source *source;
    struct event event;
    uint64_t complete;

    (void)unused;
    append_random(writer, &maker, 30000, &model);
    assert_int_equal(trace_writer_flush(writer, NULL), 0);
    assert_int_equal(trace_open(&path, 1, &source, &problem), 0);
    struct list later = {0};
    for (unsigned round = 0; round < 5; round++) {
        for (uint64_t i = random_below(&maker.state, 30000); i > 0; i--)
            assert_int_equal(source->next(source, &event, &complete, &problem), SOURCE_RECORD);
        append_random(writer, &maker, 1000, &later);
        assert_int_equal(trace_writer_flush(writer, NULL), 0);
        assert_int_equal(trace_rewind(source, &problem), 0);
        struct reading reading = read_source(source);
        assert_int_equal(reading.result, 0);
        assert_true(reading.state.being_written);
        check_same(&model, &reading.list);
        reading_done(&reading);
        assert_int_equal(trace_rewind(source, &problem), 0);
    }
    trace_close(source);
    finish(writer, END_COMPLETE);
    list_done(&model);
    list_done(&later);
    remove_tree(path);
}

/* An error in a file names the file, the second time, too. */
static void test_a_file_has_its_name_when_it_is_read_again(void **unused)
{
    struct maker maker = {.state = seed_of_run("name")};
    struct list model = {0};
    const char *path = in_scratch("name");
    struct trace_writer *writer = begin(path, NO_LIMIT, &model);
    char data[PATH_MAX];
    struct problem problem;
    struct source *source;

    (void)unused;
    append_random(writer, &maker, 30000, &model);
    finish(writer, END_COMPLETE);
    assert_int_equal(trace_open(&path, 1, &source, &problem), 0);
    snprintf(data, sizeof(data), "%s/%s", path, trace_file_names[RING_DATA]);
    assert_int_equal(truncate(data, 100), 0);
    struct reading first = read_source(source);
    assert_int_equal(first.result, -ENODATA);
    assert_non_null(strstr(first.problem.text, data));
    reading_done(&first);
    assert_int_equal(trace_rewind(source, &problem), -ENODATA);
    assert_non_null(strstr(problem.text, data));
    trace_close(source);
    list_done(&model);
    remove_tree(path);
}

/* ---- kill -9 ---- */

/* Writes SENDs numbered 0, 1, 2 ... until it is killed; stops at a size that is quick to read. */
static void write_for_ever(const char *path, int started)
{
    struct machine_record machine = example_machine(0);
    struct trace_writer *writer;
    struct record record = {.header.id = EVENT_SEND};

    if (trace_writer_new(path, &machine, 1 << 20, &writer, NULL) < 0 || write(started, "x", 1) != 1)
        _exit(1);
    for (uint32_t number = 0; trace_writer_append(writer, &record.header, NULL) == 0; number++) {
        record.header.time = number + 1;
        record.header.sequence = number + 1;
        if (number % 5000 == 0)
            trace_writer_flush(writer, NULL);
    }
    pause();
}

static void test_a_killed_writer_leaves_a_trace(void **unused)
{
    uint64_t state = seed_of_run("kill");
    const char *path = in_scratch("killed");

    (void)unused;
    for (uint64_t round = 0; round < rounds_of_run(20); round++) {
        int started[2];
        char byte;
        int status;
        assert_int_equal(pipe2(started, O_CLOEXEC), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            write_for_ever(path, started[1]);
            _exit(1);
        }
        assert_int_equal(read(started[0], &byte, 1), 1);
        usleep((useconds_t)random_below(&state, 3000));
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        close(started[0]);
        close(started[1]);
        struct reading reading = read_trace(path);
        if (reading.result < 0)
            fail_msg("%s", reading.problem.text);
        assert_false(reading.state.complete);
        for (size_t i = 1; i < reading.list.count; i++)
            assert_int_equal(reading.list.records[i].header.sequence, i - 1);
        reading_done(&reading);
        check_repair(path);
        remove_tree(path);
    }
}

/* ---- other readers ---- */

struct babeltrace {
    const struct list *expected; /* one record for each time */
    size_t events;
    uint64_t discarded;
};

static void check_text(const char *line, const char *name, const char *value)
{
    char wanted[1000];

    snprintf(wanted, sizeof(wanted), " %s = %s", name, value);
    const char *found = strstr(line, wanted);
    if (found == NULL || strchr(", ", found[strlen(wanted)]) == NULL)
        fail_msg("no '%s' in %s", wanted, line);
}

static void write_bytes(const unsigned char *bytes, size_t count, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "[");

    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, size - length, "%s [%zu] = 0x%X",
                                   i > 0 ? "," : "", i, bytes[i]);
    snprintf(text + length, size - length, " ]");
}

static void check_field(const char *line, const struct event_field *field, const void *record)
{
    const char *name = field->name[0] == '_' ? field->name + 1 : field->name;
    const unsigned char *bytes = (const unsigned char *)record + field->offset;
    char value[800];

    switch (field->kind) {
    case FIELD_UNSIGNED:
    case FIELD_SPAN:
        snprintf(value, sizeof(value), "%" PRIu64, event_field_value(field, record));
        break;
    case FIELD_SIGNED:
        snprintf(value, sizeof(value), "%d", (int16_t)event_field_value(field, record));
        break;
    case FIELD_HEX:
        snprintf(value, sizeof(value), "0x%" PRIX64, event_field_value(field, record));
        break;
    case FIELD_TEXT:
        snprintf(value, sizeof(value), "\"%.*s\"", field->size, (const char *)bytes);
        break;
    case FIELD_BYTES:
        write_bytes(bytes, field->size, value, sizeof(value));
        break;
    }
    check_text(line, name, value);
}

/* The line must have the record's time, type and every field with its value. */
static void check_event_line(const char *line, const union any_record *record)
{
    const struct event_type *type = event_type(record->header.id);
    char wanted[60];

    snprintf(wanted, sizeof(wanted), "[%020" PRIu64 "] host %s: {", record->header.time,
             type->name);
    if (strncmp(line, wanted, strlen(wanted)) != 0)
        fail_msg("no '%s' in %s", wanted, line);
    for (const struct event_field *field = event_header_fields; field->name != NULL; field++)
        if (field->offset > offsetof(struct record_header, id))
            check_field(line, field, record);
    for (const struct event_field *field = type->fields; field->name != NULL; field++)
        check_field(line, field, record);
}

static void check_line(const char *line, void *data)
{
    struct babeltrace *babeltrace = data;
    const char *discarded = strstr(line, "Tracer discarded ");

    if (discarded != NULL)
        babeltrace->discarded += strtoull(discarded + strlen("Tracer discarded "), NULL, 10);
    if (line[0] != '[')
        return;
    assert_true(babeltrace->events < babeltrace->expected->count);
    check_event_line(line, &babeltrace->expected->records[babeltrace->events++]);
}

/* A record of type `id` whose every byte is known, and whose texts are printable. */
static void make_printable(struct maker *maker, unsigned id, union any_record *ret_record)
{
    const struct event_type *type = event_type(id);

    do
        make_record(maker, ret_record);
    while (ret_record->header.id != id);
    for (const struct event_field *field = type->fields; field->name != NULL; field++) {
        char *text = (char *)ret_record->bytes + field->offset;
        if (field->kind != FIELD_TEXT)
            continue;
        /* Not empty: babeltrace2 2.0.4 shows an empty text as that of an earlier event. */
        size_t length = 1 + random_below(&maker->state, field->size);
        memset(text, 0, field->size);
        for (size_t i = 0; i < length; i++)
            text[i] = (char)('a' + random_below(&maker->state, 26));
    }
}

static void test_babeltrace_reads_every_type_and_value(void **unused)
{
    struct maker maker = {.state = seed_of_run("babeltrace2")};
    struct list model = {0};
    const char *path = in_scratch("babeltrace");
    struct babeltrace babeltrace = {.expected = &model};
    uint64_t time = 0;

    (void)unused;
    if (!has_babeltrace()) {
        print_message("# babeltrace2 is not installed\n");
        skip();
    }
    struct trace_writer *writer = begin(path, NO_LIMIT, &model);
    for (unsigned round = 0; round < 30; round++) {
        for (unsigned id = 1; id < EVENT_ID_END; id++) {
            union any_record record;
            if (is_of_writer(id))
                continue;
            make_printable(&maker, id, &record);
            record.header.time = ++time; /* all different: the order is then that of the model */
            append(writer, &record, &model);
        }
        trace_writer_lost(writer, RING_DATA, 3 * round);
        trace_writer_lost(writer, RING_CONTROL, 100 * round);
        if (round % 2 == 0)
            assert_int_equal(trace_writer_flush(writer, NULL), 0);
    }
    /* END has the time of the last record, and babeltrace2 may show it before a record of `data` of that time. */
    union any_record last;
    make_printable(&maker, EVENT_NAME, &last);
    last.header.time = ++time;
    append(writer, &last, &model);
    finish(writer, END_COMPLETE);
    /* END, which the writer made: */
    struct reading reading = read_trace(path);
    list_add(&model, &reading.list.records[reading.list.count - 1].header);
    assert_int_equal(run_babeltrace(path, check_line, &babeltrace), 0);
    assert_int_equal(babeltrace.events, reading.list.count);
    /* It counts from packet to packet, and so from the first one on, in which none was lost. */
    assert_int_equal(babeltrace.discarded, 29 * 3 + 29 * 100);
    assert_int_equal(reading.state.lost, 29 * 3 + 29 * 100);
    reading_done(&reading);
    list_done(&model);
    remove_tree(path);
}

/* ---- all ---- */

static size_t count_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static size_t descriptors_before;

static int make_scratch(void **unused)
{
    (void)unused;
    strcpy(scratch, "/dev/shm/dpm-trace-XXXXXX");
    if (mkdtemp(scratch) == NULL) {
        strcpy(scratch, "/tmp/dpm-trace-XXXXXX");
        if (mkdtemp(scratch) == NULL)
            return -1;
    }
    descriptors_before = count_descriptors();
    return 0;
}

static int remove_scratch(void **unused)
{
    (void)unused;
    umount(in_scratch("disk")); /* left there by a failed test */
    remove_tree(scratch);
    return 0;
}

static void test_no_descriptor_is_left_open(void **unused)
{
    (void)unused;
    assert_int_equal(count_descriptors(), descriptors_before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_losses_pass_32_bits),
        cmocka_unit_test(test_skipped_hooks_are_counted),
        cmocka_unit_test(test_a_trace_of_many_windows_is_read),
        cmocka_unit_test(test_packets_are_whole_pages_and_full),
        cmocka_unit_test(test_wall_clock_time_is_known),
        cmocka_unit_test(test_the_writer_refuses_what_would_break_the_trace),
        cmocka_unit_test(test_a_new_trace_spoils_nothing),
        cmocka_unit_test(test_the_largest_size_is_kept),
        cmocka_unit_test(test_a_file_size_limit_ends_the_trace_in_order),
        cmocka_unit_test(test_a_full_disk_ends_the_trace_in_order),
        cmocka_unit_test(test_a_trace_cut_anywhere_is_read_up_to_the_cut),
        cmocka_unit_test(test_a_trace_with_any_byte_wrong_keeps_the_promises),
        cmocka_unit_test(test_wrong_packet_headers_are_seen),
        cmocka_unit_test(test_any_metadata_is_survived),
        cmocka_unit_test(test_what_is_no_trace_is_refused_in_one_line),
        cmocka_unit_test(test_an_unreadable_trace_is_refused),
        cmocka_unit_test(test_files_of_two_traces_are_not_mixed),
        cmocka_unit_test(test_packets_out_of_order_are_refused),
        cmocka_unit_test(test_packets_of_any_allowed_size_are_read),
        cmocka_unit_test(test_a_record_must_end_within_its_packet),
        cmocka_unit_test(test_traces_are_merged_by_wall_clock_time),
        cmocka_unit_test(test_a_cut_trace_is_repaired),
        cmocka_unit_test(test_a_tail_of_zeros_is_a_cut),
        cmocka_unit_test(test_repair_leaves_damage_alone),
        cmocka_unit_test(test_a_trace_being_written_is_read_but_not_repaired),
        cmocka_unit_test(test_a_trace_is_read_again_as_far_as_before),
        cmocka_unit_test(test_a_file_has_its_name_when_it_is_read_again),
        cmocka_unit_test(test_a_killed_writer_leaves_a_trace),
        cmocka_unit_test(test_babeltrace_reads_every_type_and_value),
        cmocka_unit_test(test_no_descriptor_is_left_open),
    };

    return cmocka_run_group_tests_name("trace", tests, make_scratch, remove_scratch);
}
