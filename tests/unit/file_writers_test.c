/* SPDX-License-Identifier: MIT */
/*
 * file_writers_test.c: which WRITEs a READ of another process has edges from.
 *
 *      lives of processes, from a seed --+-- records --> history --> events, edges
 *                                        |                              |
 *                                        '-- last writer of each byte --- compared
 *
 * The world below keeps the last writer of each byte of each file. Some threads are held back: they receive a message whose
 * SEND is recorded only later, so that their WRITEs are handed out late.
 */
#include "meter/shared/message.h"
#include "tapes.h"

#define STREAMS 7 /* 1 to 6 use files, 7 sends */
#define SENDER  7
#define FILES   3 /* names; each is made anew now and then */
#define LARGEST 1024
#define MOST    20000 /* records */

static const uint32_t process_of[STREAMS + 1] = {0, 1, 2, 3, 1, 5, 5, 7};

struct last {
    uint32_t stream; /* 0: nothing was written there */
    uint32_t sequence;
    uint64_t time;
    bool mapped;
};

struct expected {
    uint32_t sequence, bytes;
    bool any, doubtful;
};

struct world {
    uint64_t random;
    uint32_t size; /* of a file */
    struct tape tape;
    uint64_t now;
    uint32_t sequence[STREAMS + 1];
    struct last files[FILES][LARGEST];
    uint32_t mapped_from[FILES], mapped_to[FILES]; /* the part that writable mappings cover */
    uint32_t generation[FILES];
    uint32_t paths[STREAMS + 1][FILES]; /* 0: not opened since it was made */
    uint32_t last_path;
    uint32_t received[STREAMS + 1]; /* bytes of its connection: as received, and as sent */
    uint32_t sent[STREAMS + 1];
    /* what READs shall have edges from, by their stream and sequence */
    struct reads {
        uint32_t stream, sequence;
        struct expected of[STREAMS + 1];
    } * reads;
    size_t read_count, read_capacity;
    uint32_t edges;
};

static uint32_t pick(struct world *world, uint32_t below)
{
    return (uint32_t)random_below(&world->random, below);
}

static uint32_t path_of(struct world *world, uint32_t stream, uint32_t file)
{
    uint32_t *path = &world->paths[process_of[stream]][file];

    if (*path != 0)
        return *path;
    struct path_record record = {
        .header = {.time = ++world->now, .id = EVENT_PATH, .flags = RECORD_NO_STREAM},
        .path = *path = ++world->last_path,
        .kind = PATH_FILE,
        .inode = 100 + file,
        .start_in = world->generation[file],
        .name = "/a/file",
    };
    tape_add(&world->tape, &record);
    return *path;
}

static struct record *use(struct world *world, uint32_t stream, enum event_id id, uint32_t file,
                          uint32_t from, uint32_t bytes)
{
    uint32_t path = path_of(world, stream, file);
    struct record *record = add_message(&world->tape, ++world->now, id, stream,
                                        world->sequence[stream]++, path, from, bytes);

    record->message.span = pick(world, 4) == 0 ? pick(world, 20) : 0;
    return record;
}

static void write_to(struct world *world, uint32_t stream, uint32_t file)
{
    uint32_t from = pick(world, world->size), bytes = 1 + pick(world, world->size - from);
    bool mapped = pick(world, 10) == 0;

    if (world->size > 64) { /* many small ones, often one behind the other */
        bytes = 1 + pick(world, 3);
        from = from % (world->size - bytes);
    }
    struct record *record = use(world, stream, EVENT_WRITE, file, from, bytes);
    record->header.flags = mapped ? RECORD_MAPPED : 0;
    for (uint32_t i = from; i < from + bytes; i++)
        world->files[file][i] = (struct last){stream, record->header.sequence, world->now, mapped};
    if (!mapped)
        return;
    if (world->mapped_to[file] == 0 || from < world->mapped_from[file])
        world->mapped_from[file] = from;
    if (from + bytes > world->mapped_to[file])
        world->mapped_to[file] = from + bytes;
}

static void read_from(struct world *world, uint32_t stream, uint32_t file)
{
    uint32_t from = pick(world, world->size), bytes = pick(world, world->size - from + 1);
    struct record *record = use(world, stream, EVENT_READ, file, from, bytes);
    uint64_t began = record->header.time - record->message.span;
    struct reads reads = {.stream = stream, .sequence = record->header.sequence};
    uint64_t latest[STREAMS + 1] = {0};
    bool may_differ[STREAMS + 1] = {0};

    for (uint32_t i = from; i < from + bytes; i++) {
        const struct last *last = &world->files[file][i];
        struct expected *of = &reads.of[last->stream];
        if (last->stream == 0 || process_of[last->stream] == process_of[stream])
            continue;
        of->bytes++;
        may_differ[last->stream] |= i >= world->mapped_from[file] && i < world->mapped_to[file];
        if (of->any && last->time < latest[last->stream])
            continue;
        *of =
            (struct expected){last->sequence, of->bytes, true, last->mapped || last->time > began};
        latest[last->stream] = last->time;
    }
    for (uint32_t i = 1; i <= STREAMS; i++)
        reads.of[i].doubtful |= may_differ[i];
    assert_int_equal(
        array_reserve(&world->reads, &world->read_capacity, world->read_count + 1, sizeof(reads)),
        0);
    world->reads[world->read_count++] = reads;
}

static void shorten(struct world *world, uint32_t stream, uint32_t file)
{
    bool by_open = pick(world, 2) == 0;
    uint32_t length = by_open ? 0 : pick(world, world->size);
    struct record *record =
        use(world, stream, by_open ? EVENT_CREATEPATH : EVENT_WRITE, file, length, 0);

    record->header.flags = RECORD_TRUNCATED;
    memset(&world->files[file][length], 0, (world->size - length) * sizeof(struct last));
    for (uint32_t i = 0; i < length; i++)
        if (world->files[file][i].stream != 0)
            return;
    world->mapped_from[file] = world->mapped_to[file] = 0; /* nothing is known of the file */
}

/* Another file gets the inode. */
static void make_anew(struct world *world, uint32_t file)
{
    world->generation[file]++;
    memset(world->files[file], 0, sizeof(world->files[file]));
    world->mapped_from[file] = world->mapped_to[file] = 0;
    for (uint32_t i = 1; i <= STREAMS; i++)
        world->paths[i][file] = 0;
}

/* Receives a byte whose SEND is not recorded yet. */
static void receive(struct world *world, uint32_t stream)
{
    add_message(&world->tape, ++world->now, EVENT_RECEIVE, stream, world->sequence[stream]++,
                1000 + stream, world->received[stream]++, 1);
}

static void send_to(struct world *world, uint32_t stream)
{
    struct record *record =
        add_message(&world->tape, ++world->now, EVENT_SEND, SENDER, world->sequence[SENDER]++,
                    2000 + stream, world->sent[stream]++, 1);

    record->message.span = 1000000; /* it was visible long before */
}

static void step(struct world *world)
{
    uint32_t stream = 1 + pick(world, STREAMS - 1), file = pick(world, FILES);
    uint32_t what = pick(world, 32);

    if (world->size > 64 && what < 2 && pick(world, 40) > 0)
        what = 31; /* else it never comes to many pieces */
    switch (what) {
    case 0:
        shorten(world, stream, file);
        break;
    case 1:
        make_anew(world, file);
        break;
    case 2:
    case 3:
        if (world->received[stream] - world->sent[stream] < 2)
            receive(world, stream);
        break;
    case 4:
    case 5:
    case 6:
        if (world->sent[stream] < world->received[stream])
            send_to(world, stream);
        break;
    default:
        if (pick(world, 3) == 0)
            read_from(world, stream, file);
        else
            write_to(world, stream, file);
    }
}

static void world_new(struct world *world, uint64_t seed, uint32_t size)
{
    *world = (struct world){.random = seed, .size = size, .now = 2000000};
    tape_init(&world->tape);
    add_machine(&world->tape, world->now, 1, METER_EVENT_FLAGS);
    for (uint32_t i = 1; i <= STREAMS; i++)
        add_stream(&world->tape, ++world->now, i, process_of[i], 0);
    for (uint32_t i = 1; i < STREAMS; i++) {
        add_unix(&world->tape, ++world->now, 1000 + i, PATH_UNIX_STREAM, 10 + i, 20 + i);
        add_unix(&world->tape, ++world->now, 2000 + i, PATH_UNIX_STREAM, 20 + i, 10 + i);
    }
    for (unsigned i = 0; i < 2000 && world->tape.count < MOST; i++)
        step(world);
    for (uint32_t i = 1; i < STREAMS; i++)
        while (world->sent[i] < world->received[i])
            send_to(world, i);
}

static const struct reads *find_reads(const struct world *world, const struct record *record)
{
    for (size_t i = 0; i < world->read_count; i++)
        if (world->reads[i].stream == record->header.stream &&
            world->reads[i].sequence == record->header.sequence)
            return &world->reads[i];
    fail();
    return NULL;
}

static void check_read(struct world *world, const struct history_event *event, size_t offset)
{
    const struct reads *reads = find_reads(world, (const struct record *)event->event.header);
    struct expected found[STREAMS + 1] = {0};
    bool small = world->size <= 64;

    for (uint32_t i = 0; i < event->edge_count; i++) {
        const struct history_edge *edge = &event->edges[i];
        const uint64_t *value = history_value_at(edge->value, offset);
        if (edge->kind != EDGE_FILE)
            continue;
        assert_int_equal(edge->id, EVENT_WRITE);
        assert_false(found[edge->stream].any);
        assert_true(edge->number < event->number);
        assert_non_null(value);
        assert_int_equal(*value, edge->number);
        found[edge->stream] = (struct expected){edge->sequence, edge->bytes, true, edge->doubtful};
        world->edges++;
    }
    for (uint32_t i = 1; i <= STREAMS; i++) {
        const struct expected *wanted = &reads->of[i];
        assert_int_equal(found[i].any, wanted->any);
        assert_int_equal(found[i].bytes, wanted->bytes);
        if (small) {
            assert_int_equal(found[i].sequence, wanted->sequence);
            assert_int_equal(found[i].doubtful, wanted->doubtful);
        } else {
            assert_true(found[i].sequence >= wanted->sequence);
        }
    }
}

/* Returns how many edges there were. */
static uint32_t check_world(uint64_t seed, uint32_t size)
{
    struct history_event event;
    struct history_counts counts;
    struct history *history;
    struct problem problem;
    struct world world;
    int result;

    world_new(&world, seed, size);
    struct source *source = &world.tape.source;
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    size_t offset = history_keep_values(history, sizeof(uint64_t), EVENT_FLAG(EVENT_WRITE));
    while ((result = history_next(history, &event, &problem)) == SOURCE_RECORD) {
        uint64_t *value = history_value_at(event.value, offset);
        if (event.event.header->id == EVENT_WRITE && value != NULL)
            *value = event.number;
        if (event.event.header->id == EVENT_READ)
            check_read(&world, &event, offset);
    }
    assert_int_equal(result, SOURCE_END);
    history_counts(history, &counts);
    assert_int_equal(counts.file_edges, world.edges);
    assert_int_equal(counts.forgotten_pieces, 0);
    assert_int_equal(counts.stalls, 0);
    history_free(history);
    tape_done(&world.tape);
    free(world.reads);
    return world.edges;
}

static void test_random(void **state)
{
    uint64_t random = seed_of_run("small files"), edges = 0;

    (void)state;
    for (uint64_t i = 0; i < rounds_of_run(100); i++)
        edges += check_world(random_number(&random), 1 + (uint32_t)random_below(&random, 64));
    assert_true(edges > 1000);
}

/* In many pieces: the threads and the bytes are the same, the WRITE may be a later one of the thread. */
static void test_pieces(void **state)
{
    uint64_t random = seed_of_run("many pieces"), edges = 0;

    (void)state;
    for (uint64_t i = 0; i < rounds_of_run(50); i++)
        edges += check_world(random_number(&random), LARGEST);
    assert_true(edges > 1000);
}

/* A file of more pieces than are kept forgets the one that was written first, and says so. */
static void test_forgets(void **state)
{
    const uint32_t pieces = 5000;
    struct history_event event;
    struct history_counts counts;
    struct history *history;
    struct problem problem;
    struct tape tape;
    uint64_t time = 10;
    uint32_t edges = 0;

    (void)state;
    tape_init(&tape);
    add_machine(&tape, time, 1, METER_EVENT_FLAGS);
    add_stream(&tape, ++time, 1, 1, 0);
    add_stream(&tape, ++time, 2, 2, 0);
    for (uint32_t i = 1; i <= 2; i++) {
        struct path_record record = {
            .header = {.time = ++time, .id = EVENT_PATH, .flags = RECORD_NO_STREAM},
            .path = i,
            .kind = PATH_FILE,
            .inode = 7};
        tape_add(&tape, &record);
    }
    for (uint32_t i = 0; i < pieces; i++)
        add_message(&tape, ++time, EVENT_WRITE, 1, i, 1, 2 * i, 1);
    for (uint32_t i = 0; i < pieces; i++)
        add_message(&tape, ++time, EVENT_READ, 2, i, 2, 2 * i, 1);
    struct source *source = &tape.source;
    assert_int_equal(history_new(&source, 1, &history, &problem), 0);
    while (history_next(history, &event, &problem) == SOURCE_RECORD)
        for (uint32_t i = 0; i < event.edge_count; i++) {
            assert_int_equal(event.edges[i].sequence, event.event.header->sequence);
            edges++;
        }
    history_counts(history, &counts);
    assert_int_equal(edges + counts.forgotten_pieces, pieces);
    assert_int_equal(edges, 4096);
    history_free(history);
    tape_done(&tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_forgets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
