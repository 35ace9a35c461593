/* SPDX-License-Identifier: MIT */
/*
 * packets_test.c: traces of random records, read packet by packet while they grow, and stored as copies.
 *
 *      random records --> writer --> TRACE --> packets --> copy --> COPY
 *                                      '-------- the same bytes ------'
 *
 * In between, packets come twice or not at all, the copier is killed, and the copy is read.
 */
#include "trace/packets.h"

#include "seeded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t seed;
static char folder[] = "/tmp/dpm-packets-XXXXXX";
static char trace_path[100], copy_path[100];

static int remove_one(const char *name, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(name);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- the world ---- */

#define STREAMS_MOST 20

static struct world {
    struct trace_writer *writer;
    uint64_t time;
    uint64_t records; /* appended, with MACHINE */
    uint32_t streams;
    uint32_t live[STREAMS_MOST];
    unsigned count;
} world;

/* What brings packets from the trace to the copy. */
static struct carrier {
    struct trace_packets *packets;
    struct trace_copy *copy;
    const struct trace_copy_limits *limits; /* of the copy; NULL: none */
    unsigned drops;                         /* of a hundred packets */
    uint64_t dropped;                       /* so far */
    uint64_t numbers[RING_COUNT];           /* the next one of each ring */
} carrier;

static void append(struct record_header *header)
{
    struct problem problem;

    header->time = world.time += 16;
    if (trace_writer_append(world.writer, header, &problem) < 0)
        fail_msg("%s", problem.text);
    world.records++;
}

static void append_stream(void)
{
    struct stream_record stream = {
        .header = {.id = EVENT_STREAM, .flags = RECORD_NO_STREAM, .stream = ++world.streams},
        .process = world.streams,
    };

    append(&stream.header);
    world.live[world.count++] = world.streams;
}

static void append_of(unsigned id, uint32_t stream)
{
    struct record record = {
        .header = {.id = (uint8_t)id, .stream = stream},
        .message = {.path = 1, .offset = (uint32_t)world.records, .bytes = 100},
    };

    append(&record.header);
}

static void happen(void)
{
    unsigned what = (unsigned)random_below(&seed, 100);

    if (world.count == 0 || (what < 4 && world.count < STREAMS_MOST)) {
        append_stream();
    } else if (what < 7 && world.count > 1) {
        unsigned index = (unsigned)random_below(&seed, world.count);
        append_of(EVENT_TERMINATION, world.live[index]);
        world.live[index] = world.live[--world.count];
    } else {
        append_of(what < 60 ? EVENT_SEND : EVENT_RECEIVE,
                  world.live[random_below(&seed, world.count)]);
    }
}

/* `files` 0: the trace is one pair of files; else it keeps the newest ones of at most that many, of `size` bytes in all. */
static void begin_world_of(uint32_t files, uint64_t size)
{
    const struct trace_limits limits = {.max_files = files};
    struct machine_record machine = {
        .header = {.time = 1000, .id = EVENT_MACHINE, .flags = RECORD_NO_STREAM}, .name = "host"};
    struct problem problem;

    remove_tree(trace_path);
    remove_tree(copy_path);
    carrier = (struct carrier){0};
    world = (struct world){.time = 1000, .records = 1};
    if (trace_writer_new(trace_path, &machine, size, &world.writer, &problem) < 0)
        fail_msg("%s", problem.text);
    if (files != 0 && trace_writer_keep_newest(world.writer, &limits, &machine, &problem) < 0)
        fail_msg("%s", problem.text);
}

static void begin_world(bool rotates)
{
    uint32_t files = 2 + (uint32_t)random_below(&seed, 6);

    begin_world_of(rotates ? files : 0, rotates ? 1 << 20 : 1 << 30);
}

static void flush(void)
{
    struct problem problem;

    assert_int_equal(trace_writer_flush(world.writer, &problem), 0);
}

static void end_world(void)
{
    struct problem problem;

    assert_int_equal(trace_writer_close(world.writer, END_COMPLETE, &problem), 0);
}

/* ---- reading packets, and storing them ---- */

static struct trace_packets *open_packets(const char *path)
{
    struct trace_packets *packets;
    struct problem problem;

    if (trace_packets_open(path, &packets, &problem) < 0)
        fail_msg("%s", problem.text);
    return packets;
}

static struct trace_copy *open_copy(const struct trace_packet *metadata,
                                    const struct trace_copy_limits *limits)
{
    struct trace_copy *copy;
    struct problem problem;

    if (trace_copy_open(copy_path, metadata->bytes, metadata->size, limits, &copy, &problem) < 0)
        fail_msg("%s", problem.text);
    return copy;
}

static void skip_to_copy(struct trace_packets *packets, const struct trace_copy *copy)
{
    const struct trace_position positions[RING_COUNT] = {
        trace_copy_position(copy, RING_CONTROL),
        trace_copy_position(copy, RING_DATA),
    };

    trace_packets_skip_to(packets, positions);
}

static void store(const struct trace_packet *packet)
{
    struct problem problem;

    if (packet->is_metadata && carrier.copy == NULL) {
        carrier.copy = open_copy(packet, carrier.limits);
    } else if (packet->is_metadata) {
        assert_true(trace_copy_metadata(carrier.copy, packet->bytes, packet->size, &problem) >= 0);
    } else if (packet->file == 0 && packet->number == 0 && packet->ring == RING_CONTROL &&
               carrier.drops > 0) {
        /* a copy cannot begin without MACHINE */
        assert_true(trace_copy_add(carrier.copy, packet->ring, packet->file, packet->bytes,
                                   packet->size, &problem) >= 0);
    } else if (random_below(&seed, 100) < carrier.drops) {
        carrier.dropped++;
    } else {
        int result = trace_copy_add(carrier.copy, packet->ring, packet->file, packet->bytes,
                                    packet->size, &problem);
        if (result < 0 && (carrier.drops == 0 || result != -ENODATA))
            fail_msg("%s", problem.text);
        carrier.dropped += result < 0;
    }
}

/* A whole trace, to be carried. */
static void make_trace(size_t events)
{
    begin_world(false);
    for (size_t i = 0; i < events; i++)
        happen();
    end_world();
    carrier.packets = open_packets(trace_path);
}

static int add_packet(const struct trace_packet *packet)
{
    struct problem problem;

    return trace_copy_add(carrier.copy, packet->ring, packet->file, packet->bytes, packet->size,
                          &problem);
}

/* Carries up to `most` packets. Returns how the reading ended. */
static int carry(uint64_t most)
{
    struct trace_packet packet;
    struct problem problem;
    int result = TRACE_PACKETS_ONE;

    for (uint64_t i = 0; result == TRACE_PACKETS_ONE && i < most; i++) {
        result = trace_packets_next(carrier.packets, &packet, &problem);
        if (result < 0)
            fail_msg("%s", problem.text);
        if (result == TRACE_PACKETS_ONE)
            store(&packet);
    }
    return result;
}

/* Another process goes on with the copy, or with the reading. */
static void restart(void)
{
    struct problem problem;
    unsigned what = (unsigned)random_below(&seed, 3);

    if (what > 0) {
        trace_packets_close(carrier.packets);
        carrier.packets = open_packets(trace_path);
        if (what == 2 && carrier.copy != NULL)
            skip_to_copy(carrier.packets, carrier.copy);
    }
    if (what == 1 || carrier.copy == NULL)
        return;
    struct trace_position before[RING_COUNT], after;
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++)
        before[ring] = trace_copy_position(carrier.copy, ring);
    uint64_t bytes = trace_copy_counts(carrier.copy).bytes;
    assert_int_equal(trace_copy_close(carrier.copy, &problem), 0);
    struct trace_packets *packets = open_packets(trace_path);
    struct trace_packet metadata;
    assert_int_equal(trace_packets_next(packets, &metadata, &problem), TRACE_PACKETS_ONE);
    carrier.copy = open_copy(&metadata, carrier.limits);
    trace_packets_close(packets);
    for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
        after = trace_copy_position(carrier.copy, ring);
        /* the files with the last packets of data may be removed */
        assert_true(after.known == before[ring].known ||
                    (carrier.limits != NULL && ring == RING_DATA && !after.known));
        assert_true(!after.known ||
                    (after.file == before[ring].file && after.number == before[ring].number));
    }
    assert_true(trace_copy_counts(carrier.copy).bytes >= bytes || carrier.limits != NULL);
}

static void carrier_done(void)
{
    struct problem problem;

    trace_packets_close(carrier.packets);
    assert_int_equal(trace_copy_close(carrier.copy, &problem), 0);
    carrier = (struct carrier){0};
}

/* ---- comparing ---- */

static size_t load(const char *path, const char *name, char **ret_bytes)
{
    char file_name[500];
    struct stat status;

    snprintf(file_name, sizeof(file_name), "%s/%s", path, name);
    int file = open(file_name, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(fstat(file, &status), 0);
    *ret_bytes = malloc((size_t)status.st_size + 1);
    assert_non_null(*ret_bytes);
    assert_int_equal(read(file, *ret_bytes, (size_t)status.st_size), status.st_size);
    close(file);
    return (size_t)status.st_size;
}

/* Every file of the trace is in the copy, byte for byte. Returns how many. */
static unsigned check_identical(void)
{
    DIR *list = opendir(trace_path);
    const struct dirent *entry;
    unsigned files = 0;

    assert_non_null(list);
    while ((entry = readdir(list)) != NULL) {
        char *original, *copied;
        if (entry->d_name[0] == '.')
            continue;
        size_t size = load(trace_path, entry->d_name, &original);
        assert_int_equal(load(copy_path, entry->d_name, &copied), size);
        assert_memory_equal(original, copied, size);
        free(original);
        free(copied);
        files++;
    }
    closedir(list);
    return files;
}

/* Reads a trace to its end. *ret_new: records, without those that files repeat; NULL is allowed. */
static struct source_state read_trace(const char *path, uint64_t *ret_new)
{
    struct source *source;
    struct problem problem;
    struct event event;
    uint64_t complete, time = 0, repeated = 0;
    int result = trace_open(&path, 1, &source, &problem);

    if (result < 0)
        fail_msg("%s", problem.text);
    while ((result = source->next(source, &event, &complete, &problem)) == SOURCE_RECORD) {
        assert_true(event.header->time >= time);
        time = event.header->time;
        if (event.header->id == EVENT_BEGIN)
            repeated += 2 + ((const struct begin_record *)event.header)->repeated;
    }
    if (result < 0)
        fail_msg("%s", problem.text);
    struct source_state state = source->states[0];
    trace_close(source);
    if (ret_new != NULL)
        *ret_new = state.records - repeated;
    return state;
}

static struct source_state read_all(const char *path)
{
    return read_trace(path, NULL);
}

/* ---- tests ---- */

/* A trace grows, and is copied at random moments: the copy is readable at any time, and at last the same. */
static void a_copy_is_identical(void **unused)
{
    unsigned files = 0;
    uint64_t packets = 0;

    (void)unused;
    seed = seed_of_run("identical");
    for (uint64_t round = 0; round < rounds_of_run(30); round++) {
        size_t steps = random_below(&seed, 30000);
        struct problem problem;
        begin_world(round % 2 == 0);
        carrier.packets = open_packets(trace_path);
        for (size_t i = 0; i < steps; i++) {
            happen();
            if (random_below(&seed, 300) == 0)
                flush();
            if (random_below(&seed, 400) == 0)
                assert_int_not_equal(carry(random_below(&seed, 20)), TRACE_PACKETS_END);
            if (random_below(&seed, 1000) == 0)
                restart();
            if (random_below(&seed, 1000) == 0 && carrier.copy != NULL &&
                trace_copy_position(carrier.copy, RING_CONTROL).known)
                assert_false(read_all(copy_path).complete);
        }
        end_world();
        assert_int_equal(carry(UINT64_MAX), TRACE_PACKETS_END);
        assert_true(trace_copy_ended(carrier.copy));
        struct trace_packet packet;
        assert_int_equal(trace_packets_next(carrier.packets, &packet, &problem), TRACE_PACKETS_END);
        packets += trace_copy_counts(carrier.copy).stored;
        uint64_t overtaken = trace_packets_overtaken(carrier.packets);
        carrier_done();
        files += check_identical();
        uint64_t new;
        struct source_state state = read_trace(copy_path, &new);
        assert_true(state.complete);
        assert_int_equal(new + state.lost + state.removed, world.records + 1);
        assert_int_equal(state.missing_packets > 0, state.lost > 0);
        assert_true(overtaken > 0 || state.lost == 0);
    }
    print_message("# files: %u, packets: %" PRIu64 "\n", files, packets);
}

/* A reader of the copy counts the records of packets that never come. */
static void missing_packets_are_counted(void **unused)
{
    uint64_t dropped = 0, lost = 0;

    (void)unused;
    seed = seed_of_run("missing");
    for (uint64_t round = 0; round < rounds_of_run(40); round++) {
        bool rotates = round % 2 == 0;
        size_t steps = 1000 + random_below(&seed, 30000);
        begin_world(rotates);
        carrier = (struct carrier){.packets = open_packets(trace_path),
                                   .drops = (unsigned)random_below(&seed, 40)};
        for (size_t i = 0; i < steps; i++) {
            happen();
            if (random_below(&seed, 200) == 0)
                flush();
            if (random_below(&seed, 400) == 0)
                carry(UINT64_MAX);
        }
        end_world();
        assert_int_equal(carry(UINT64_MAX), TRACE_PACKETS_END);
        bool ended = trace_copy_ended(carrier.copy);
        uint64_t missing = trace_copy_counts(carrier.copy).missing;
        dropped += carrier.dropped;
        carrier_done();
        uint64_t new;
        struct source_state state = read_trace(copy_path, &new);
        /* no number shows that the last packets of data are missing: the trace then counts as cut */
        assert_true(state.complete == ended || (state.missing_packets == 0 && state.lost > 0));
        assert_true(state.missing_packets >= missing);
        if (ended) {
            assert_int_equal(new + state.lost + state.removed, world.records + 1);
            assert_true(state.lost == 0 || state.missing_packets > 0 || !state.complete);
        }
        lost += state.lost;
        struct trace_repair repair;
        struct problem problem;
        if (trace_repair(copy_path, &repair, &problem) < 0)
            fail_msg("%s", problem.text);
        struct source_state repaired = read_all(copy_path);
        assert_true(repaired.complete);
        assert_int_equal(repaired.records, state.records + !ended);
        assert_int_equal(repaired.lost, state.lost);
    }
    assert_true(dropped > 0 && lost > 0);
    print_message("# dropped packets: %" PRIu64 ", lost records: %" PRIu64 "\n", dropped, lost);
}

static void cut(const char *name, uint64_t size)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", copy_path, name);
    assert_int_equal(truncate(path, (off_t)size), 0);
}

/* The last files of the copy, cut anywhere as a kill or a full disk may leave them. */
static void a_cut_copy_goes_on(void **unused)
{
    (void)unused;
    seed = seed_of_run("cut");
    for (uint64_t round = 0; round < rounds_of_run(120); round++) {
        char name[RING_COUNT][32];
        uint32_t last = 0;
        begin_world(round % 3 == 0);
        carrier.packets = open_packets(trace_path);
        for (size_t i = 0; i < 6000; i++) {
            happen();
            if (random_below(&seed, 300) == 0)
                flush();
            if (random_below(&seed, 100) == 0)
                carry(UINT64_MAX);
        }
        end_world();
        carry(UINT64_MAX);
        last = trace_copy_position(carrier.copy, RING_CONTROL).file;
        carrier_done();
        check_identical();
        for (enum ring_id ring = 0; ring < RING_COUNT; ring++) {
            static const char *const names[] = {"control", "data"};
            static const int around[] = {0, 1, -1, 23, 24, 87, 88, 89, 4000};
            char *bytes;
            if (last == 0)
                snprintf(name[ring], sizeof(name[ring]), "%s", names[ring]);
            else
                snprintf(name[ring], sizeof(name[ring]), "%s.%u", names[ring], last);
            size_t size = load(copy_path, name[ring], &bytes);
            free(bytes);
            /* in control: not what a pair repeats, which has no name until it is complete */
            size_t least = ring == RING_CONTROL ? TRACE_PAGE_SIZE * (last == 0 ? 1 : 4) : 0;
            if (size <= least)
                continue;
            size_t at =
                least + random_below(&seed, (size - least) / TRACE_PAGE_SIZE + 1) * TRACE_PAGE_SIZE;
            at += (size_t)around[random_below(&seed, ARRAY_SIZE(around))];
            if (at >= least && at < size)
                cut(name[ring], at);
        }
        carrier.packets = open_packets(trace_path);
        carry(1);
        skip_to_copy(carrier.packets, carrier.copy);
        assert_int_equal(carry(UINT64_MAX), TRACE_PACKETS_END);
        assert_int_equal(trace_copy_counts(carrier.copy).missing, 0);
        carrier_done();
        check_identical();
    }
}

/* The process that copies is killed at any moment; the next one goes on. */
static void a_killed_copier_is_replaced(void **unused)
{
    unsigned kills = 0;

    (void)unused;
    seed = seed_of_run("kill");
    begin_world(false);
    for (size_t i = 0; i < 200000; i++) {
        happen();
        if (random_below(&seed, 500) == 0)
            flush();
    }
    end_world();
    for (unsigned round = 0; round < 8; round++) {
        int status = 1;
        remove_tree(copy_path);
        while (status != 0) {
            pid_t child = fork();
            if (child == 0) {
                carrier.packets = open_packets(trace_path);
                carry(1);
                skip_to_copy(carrier.packets, carrier.copy);
                carry(UINT64_MAX);
                _exit(trace_copy_ended(carrier.copy) ? 0 : 1);
            }
            usleep((useconds_t)random_below(&seed, 6000));
            kill(child, SIGKILL);
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(status == 0 || WIFSIGNALED(status));
            kills += status != 0;
            /* however slow the machine is, this ends */
            if (status != 0 && random_below(&seed, 10) == 0) {
                carrier.packets = open_packets(trace_path);
                carry(1);
                skip_to_copy(carrier.packets, carrier.copy);
                carry(UINT64_MAX);
                assert_true(trace_copy_ended(carrier.copy));
                carrier_done();
                status = 0;
            }
        }
        check_identical();
    }
    print_message("# kills: %u\n", kills);
}

/* While it is written, a copy is like a trace that is recorded. */
static void a_copy_is_followed(void **unused)
{
    struct source *source = NULL;
    struct problem problem;
    struct event event;
    uint64_t complete, records = 0;
    int result = SOURCE_NONE_YET;

    (void)unused;
    seed = seed_of_run("followed");
    begin_world(true);
    carrier.packets = open_packets(trace_path);
    for (size_t i = 0; i < 60000; i++) {
        happen();
        if (random_below(&seed, 100) == 0)
            flush();
        if (random_below(&seed, 100) == 0)
            carry(UINT64_MAX);
        if (carrier.copy == NULL || random_below(&seed, 200) > 0)
            continue;
        struct trace_repair repair;
        assert_int_equal(trace_repair(copy_path, &repair, &problem), -EBUSY);
        const char *path = copy_path;
        if (source == NULL)
            assert_int_equal(trace_follow(path, &source, &problem), 0);
        while ((result = source->next(source, &event, &complete, &problem)) == SOURCE_RECORD)
            records++;
        assert_int_equal(result, SOURCE_NONE_YET);
    }
    end_world();
    assert_int_equal(carry(UINT64_MAX), TRACE_PACKETS_END);
    carrier_done();
    while ((result = source->next(source, &event, &complete, &problem)) == SOURCE_RECORD)
        records++;
    assert_int_equal(result, SOURCE_END);
    assert_int_equal(records, world.records + 1);
    assert_int_equal(source->states[0].lost, 0);
    assert_int_equal(source->states[0].overtaken, 0);
    assert_true(source->states[0].complete);
    trace_close(source);
}

static void must_follow_copy(struct source **ret_source)
{
    struct problem problem;

    if (trace_follow_copy(copy_path, ret_source, &problem) < 0)
        fail_msg("%s", problem.text);
}

/* What a followed trace is said to be complete to is never taken back, whenever it is looked at; and a copy whose writer
 * was killed may be continued. */
static void completeness_holds(void **unused)
{
    (void)unused;
    seed = seed_of_run("complete");
    for (uint64_t round = 0; round < rounds_of_run(20); round++) {
        struct source *source = NULL;
        struct problem problem;
        struct event event;
        uint64_t complete, known = 0, records = 0;
        const char *path = copy_path;
        int result = SOURCE_NONE_YET;
        begin_world(false);
        carrier.packets = open_packets(trace_path);
        for (size_t i = 0; i < 20000; i++) {
            happen();
            if (random_below(&seed, 100) == 0)
                flush();
            if (random_below(&seed, 50) == 0)
                carry(random_below(&seed, 4)); /* perhaps control without its data */
            if (random_below(&seed, 300) == 0)
                restart();
            if (carrier.copy == NULL || random_below(&seed, 50) > 0 ||
                !trace_copy_position(carrier.copy, RING_CONTROL).known)
                continue;
            if (source == NULL) {
                assert_int_equal(trace_follow(path, &source, &problem), 0);
                trace_follow_until_end(source, true);
            }
            while ((result = source->next(source, &event, &complete, &problem)) == SOURCE_RECORD) {
                assert_true(event.header->time >= known);
                records++;
            }
            assert_int_equal(result, SOURCE_NONE_YET);
            assert_true(complete >= known && complete <= world.time);
            known = complete;
        }
        end_world();
        assert_int_equal(carry(UINT64_MAX), TRACE_PACKETS_END);
        carrier_done();
        while ((result = source->next(source, &event, &complete, &problem)) == SOURCE_RECORD) {
            assert_true(event.header->time >= known);
            records++;
        }
        assert_int_equal(result, SOURCE_END);
        assert_int_equal(records, world.records + 1);
        assert_true(known > 0);
        trace_close(source);
    }
}

/* All records of a copy come in order of time, although its packets come one by one; none is held back for ever. */
static void records_of_a_copy_come_in_order(void **unused)
{
    (void)unused;
    seed = seed_of_run("order");
    for (uint64_t round = 0; round < rounds_of_run(30); round++) {
        struct source *source = NULL;
        struct problem problem;
        struct event event;
        uint64_t complete, time = 0, records = 0, repeated = 0;
        int result = SOURCE_NONE_YET;
        begin_world(round % 2 == 0);
        carrier.packets = open_packets(trace_path);
        for (size_t i = 0; i < 20000 || result != SOURCE_END; i++) {
            if (i < 20000)
                happen();
            if (i < 20000 && random_below(&seed, 100) == 0)
                flush();
            if (i == 20000)
                end_world();
            if (random_below(&seed, 50) == 0 || i > 20000)
                carry(random_below(&seed, 4));
            if (carrier.copy == NULL || random_below(&seed, 50) > 0 ||
                !trace_copy_position(carrier.copy, RING_CONTROL).known)
                continue;
            if (source == NULL)
                must_follow_copy(&source);
            while ((result = source->next(source, &event, &complete, &problem)) == SOURCE_RECORD) {
                assert_true(event.header->time >= time);
                time = event.header->time;
                records++;
                if (event.header->id == EVENT_BEGIN)
                    repeated += 2 + ((const struct begin_record *)event.header)->repeated;
            }
            assert_true(result >= 0);
        }
        carrier_done();
        assert_int_equal(records - repeated + source->states[0].lost + source->states[0].removed +
                             source->states[0].overtaken,
                         world.records + 1);
        trace_close(source);
    }
}

/* Two cannot write one copy, and nothing else is taken for one. */
static void what_is_no_copy_is_refused(void **unused)
{
    struct trace_packet metadata;
    struct trace_copy *copy, *other;
    struct problem problem;
    char *text;

    (void)unused;
    seed = seed_of_run("refused");
    begin_world(false);
    struct trace_packets *packets = open_packets(trace_path);
    assert_int_equal(trace_packets_next(packets, &metadata, &problem), TRACE_PACKETS_ONE);
    copy = open_copy(&metadata, NULL);
    assert_int_equal(
        trace_copy_open(copy_path, metadata.bytes, metadata.size, NULL, &other, &problem), -EBUSY);
    assert_int_equal(
        trace_copy_open(trace_path, metadata.bytes, metadata.size, NULL, &other, &problem),
        -EBUSY); /* the recorder writes it */
    assert_int_equal(trace_copy_open(folder, metadata.bytes, metadata.size, NULL, &other, &problem),
                     -EEXIST);
    assert_int_equal(
        trace_copy_open("/dev/null", metadata.bytes, metadata.size, NULL, &other, &problem),
        -EEXIST);
    assert_int_equal(
        trace_copy_open("/nowhere/at/all", metadata.bytes, metadata.size, NULL, &other, &problem),
        -ENOENT);
    trace_copy_close(copy, &problem);
    /* that of another trace */
    size_t size = load(trace_path, "metadata", &text);
    char *uuid = strstr(text, "uuid = \"");
    assert_non_null(uuid);
    uuid[8] = uuid[8] == '0' ? '1' : '0';
    assert_int_equal(trace_copy_open(copy_path, text, size, NULL, &other, &problem), -EEXIST);
    assert_int_equal(trace_copy_open(copy_path, "no metadata", 11, NULL, &other, &problem),
                     -EBADMSG);
    assert_int_equal(trace_copy_open(copy_path, text, 0, NULL, &other, &problem), -EBADMSG);
    free(text);
    trace_packets_close(packets);
    end_world();
}

/* A packet that is not one of the next ones leaves no trace in the copy. */
static void impossible_packets_are_refused(void **unused)
{
    struct trace_packet packet;
    struct problem problem;
    uint64_t refused = 0;

    (void)unused;
    seed = seed_of_run("impossible");
    make_trace(5000);
    while (trace_packets_next(carrier.packets, &packet, &problem) == TRACE_PACKETS_ONE) {
        if (!packet.is_metadata) {
            char *bytes = malloc(packet.size + 1);
            assert_non_null(bytes);
            memcpy(bytes + 1, packet.bytes, packet.size); /* not aligned */
            static const size_t heads[] = {0, 5, 20, 24 + 23, 24 + 30};
            size_t at = heads[random_below(&seed, ARRAY_SIZE(heads))];
            bytes[1 + at] ^= 1;
            uint64_t before = trace_copy_counts(carrier.copy).bytes;
            const struct {
                int error;
                unsigned ring;
                uint32_t file;
                const void *bytes;
                size_t size;
            } wrong[] = {
                {-EBADMSG, packet.ring, packet.file, bytes + 1, packet.size},
                {-EBADMSG, packet.ring, packet.file, packet.bytes, packet.size - 1},
                {-EBADMSG, packet.ring, packet.file, packet.bytes, 20},
                {-EBADMSG, 1 - packet.ring, packet.file, packet.bytes, packet.size},
                {-EBADMSG, 77, packet.file, packet.bytes, packet.size},
                {-EBADMSG, packet.ring, UINT32_MAX, packet.bytes, packet.size},
                {-ENODATA, packet.ring, 3, packet.bytes, packet.size},
            };
            for (size_t i = 0; i < ARRAY_SIZE(wrong); i++, refused++)
                assert_int_equal(trace_copy_add(carrier.copy, (enum ring_id)wrong[i].ring,
                                                wrong[i].file, wrong[i].bytes, wrong[i].size,
                                                &problem),
                                 wrong[i].error);
            assert_int_equal(trace_copy_counts(carrier.copy).bytes, before);
            free(bytes);
        }
        store(&packet);
        if (!packet.is_metadata)
            store(&packet); /* a double */
    }
    assert_int_equal(trace_copy_counts(carrier.copy).refused, refused);
    assert_int_equal(trace_copy_counts(carrier.copy).doubles,
                     trace_copy_counts(carrier.copy).stored);
    carrier_done();
    check_identical();
}

/* What does not fit is refused, and all that follows, but for END: it is counted as lost. */
static void a_copy_keeps_its_size(void **unused)
{
    const struct trace_copy_limits limits = {.max_bytes = 300000};
    struct trace_packet packet;
    struct problem problem;
    uint64_t refused = 0, after = 0;

    (void)unused;
    seed = seed_of_run("size");
    make_trace(20000);
    while (trace_packets_next(carrier.packets, &packet, &problem) == TRACE_PACKETS_ONE) {
        if (packet.is_metadata) {
            carrier.copy = open_copy(&packet, &limits);
            continue;
        }
        int result = add_packet(&packet);
        assert_true(result == 1 || result == -EFBIG);
        after += result == 1 && refused > 0;
        refused += result == -EFBIG;
    }
    assert_int_equal(after, 1);
    struct trace_copy_counts counts = trace_copy_counts(carrier.copy);
    assert_true(refused > 0);
    assert_int_equal(counts.refused, refused);
    assert_true(counts.bytes <= limits.max_bytes);
    assert_true(trace_copy_ended(carrier.copy));
    carrier_done();
    struct source_state state = read_all(copy_path);
    assert_int_equal(state.records + state.lost, world.records + 1);
    assert_true(state.lost > 0);
}

/* The names' numbers of a directory's control files: how many, the first one and the last one. */
static unsigned count_pairs(const char *path, unsigned *ret_first, unsigned *ret_last)
{
    DIR *list = opendir(path);
    const struct dirent *entry;
    unsigned count = 0;

    assert_non_null(list);
    *ret_first = UINT_MAX;
    *ret_last = 0;
    while ((entry = readdir(list)) != NULL) {
        unsigned number = 0;
        if (strcmp(entry->d_name, "control") != 0 &&
            sscanf(entry->d_name, "control.%u", &number) != 1)
            continue;
        *ret_first = number < *ret_first ? number : *ret_first;
        *ret_last = number > *ret_last ? number : *ret_last;
        count++;
    }
    closedir(list);
    return count;
}

/* Each file of the copy is one of the trace, which has all. */
static void check_part_of_trace(void)
{
    DIR *list = opendir(copy_path);
    const struct dirent *entry;

    assert_non_null(list);
    while ((entry = readdir(list)) != NULL) {
        char *original, *copied;
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "metadata") == 0)
            continue;
        size_t size = load(trace_path, entry->d_name, &original);
        assert_int_equal(load(copy_path, entry->d_name, &copied), size);
        assert_memory_equal(original, copied, size);
        free(original);
        free(copied);
    }
    closedir(list);
}

static struct trace_copy_limits random_limits(unsigned round)
{
    struct trace_copy_limits limits = {.newest = true};

    if (round % 3 == 0)
        limits.kept.max_files = 2 + (uint32_t)random_below(&seed, 5);
    if (round % 3 == 1)
        limits.max_bytes = 200000 + random_below(&seed, 600000);
    if (round % 3 == 2)
        limits.kept.max_age = 16 * (500 + random_below(&seed, 5000)); /* ns: records, 16 ns apart */
    return limits;
}

/* The oldest pair that is kept, if it is not the only one: nothing in it is as old as the limit, and a younger one would
 * do. */
static void check_age(uint64_t max_age)
{
    struct source *source;
    struct problem problem;
    struct event event;
    uint64_t complete;
    const char *path = copy_path;
    unsigned first, last;

    assert_int_equal(trace_open(&path, 1, &source, &problem), 0);
    assert_int_equal(source->next(source, &event, &complete, &problem), SOURCE_RECORD);
    if (count_pairs(copy_path, &first, &last) > 1)
        assert_true(world.time - event.header->time <= max_age + (uint64_t)16 * 2000);
    trace_close(source);
}

/* A copy that keeps the newest pairs has exactly the last ones of the trace, within its limits, at any time, whoever goes
 * on with it; and its reader knows how much was before them. */
static void a_copy_keeps_the_newest(void **unused)
{
    unsigned first, last, first_of_trace, last_of_trace, removals = 0;

    (void)unused;
    seed = seed_of_run("newest");
    for (unsigned round = 0; round < 18; round++) {
        const struct trace_copy_limits limits = random_limits(round);
        size_t steps = 5000 + random_below(&seed, 25000);
        begin_world_of(256, 16 << 20);
        carrier = (struct carrier){.packets = open_packets(trace_path), .limits = &limits};
        for (size_t i = 0; i < steps; i++) {
            happen();
            if (random_below(&seed, 300) == 0)
                flush();
            if (random_below(&seed, 400) == 0)
                carry(random_below(&seed, 40));
            if (random_below(&seed, 1000) == 0)
                restart();
            if (carrier.copy == NULL || random_below(&seed, 200) != 0 ||
                !trace_copy_position(carrier.copy, RING_CONTROL).known)
                continue;
            unsigned pairs = count_pairs(copy_path, &first, &last);
            assert_int_equal(pairs, last - first + 1);
            assert_true(limits.kept.max_files == 0 || pairs <= limits.kept.max_files + 1);
            assert_true(limits.max_bytes == 0 ||
                        trace_copy_counts(carrier.copy).bytes <= limits.max_bytes);
            read_all(copy_path);
        }
        end_world();
        assert_int_equal(carry(UINT64_MAX), TRACE_PACKETS_END);
        assert_true(trace_copy_ended(carrier.copy));
        carrier_done();
        unsigned pairs = count_pairs(copy_path, &first, &last);
        count_pairs(trace_path, &first_of_trace, &last_of_trace);
        assert_int_equal(last, last_of_trace);
        assert_int_equal(pairs, last - first + 1);
        assert_true(limits.kept.max_files == 0 || pairs == limits.kept.max_files ||
                    (first == 0 && pairs < limits.kept.max_files));
        if (limits.kept.max_age != 0)
            check_age(limits.kept.max_age);
        check_part_of_trace();
        uint64_t new;
        struct source_state state = read_trace(copy_path, &new);
        assert_true(state.complete);
        assert_int_equal(state.lost, 0);
        assert_int_equal(state.missing_packets, 0);
        assert_int_equal(new + state.removed, world.records + 1);
        assert_int_equal(state.removed > 0, first > 0);
        removals += first;
    }
    assert_true(removals > 0);
    print_message("# pairs removed: %u\n", removals);
}

/* A write that fails half way leaves whole packets only. */
static void a_full_disk_leaves_whole_packets(void **unused)
{
    const struct rlimit small = {100000, RLIM_INFINITY};
    struct rlimit usual;
    uint64_t failed = 0;
    struct trace_packet packet;
    struct problem problem;

    (void)unused;
    seed = seed_of_run("full");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    make_trace(20000);
    while (trace_packets_next(carrier.packets, &packet, &problem) == TRACE_PACKETS_ONE) {
        if (packet.is_metadata) {
            carrier.copy = open_copy(&packet, NULL);
            continue;
        }
        setrlimit(RLIMIT_FSIZE, &small);
        int result = add_packet(&packet);
        setrlimit(RLIMIT_FSIZE, &usual);
        (void)read_all(copy_path);
        if (result == 1)
            continue;
        assert_int_equal(result, -EFBIG);
        failed++;
        assert_int_equal(add_packet(&packet), 1);
    }
    assert_true(failed > 0);
    carrier_done();
    check_identical();
}

static int begin(void **unused)
{
    (void)unused;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(trace_path, sizeof(trace_path), "%s/trace", folder);
    snprintf(copy_path, sizeof(copy_path), "%s/copy", folder);
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_identical),
        cmocka_unit_test(missing_packets_are_counted),
        cmocka_unit_test(a_cut_copy_goes_on),
        cmocka_unit_test(a_killed_copier_is_replaced),
        cmocka_unit_test(a_copy_is_followed),
        cmocka_unit_test(completeness_holds),
        cmocka_unit_test(records_of_a_copy_come_in_order),
        cmocka_unit_test(what_is_no_copy_is_refused),
        cmocka_unit_test(impossible_packets_are_refused),
        cmocka_unit_test(a_copy_keeps_its_size),
        cmocka_unit_test(a_copy_keeps_the_newest),
        cmocka_unit_test(a_full_disk_leaves_whole_packets),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
