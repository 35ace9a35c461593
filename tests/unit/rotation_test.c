/* SPDX-License-Identifier: MIT */
/*
 * rotation_test.c: traces that keep only the newest records, with random records and limits.
 *
 *      random world --> writer --> files --> reader --> records
 *           '------------- what was written --------------^  a suffix of it, and every identity that it needs
 *
 * The files are read at random moments, as a kill would leave them, and at the end.
 */
#include "trace/trace.h"

#include "seeded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LIVE_MOST    40
#define USERS        5
#define NUMBERS_MOST 200000

static uint64_t seed;
static char folder[] = "/tmp/dpm-rotation-XXXXXX";
static char path[200];

union any_record {
    struct record_header header;
    struct record record;
    struct stream_record stream;
    struct path_record path;
    struct image_record image;
    struct name_record name;
    struct flags_record flags;
    struct begin_record begin;
    struct end_record end;
    char bytes[RECORD_SIZE_MOST];
};

/* ---- the world ---- */

struct live_stream {
    uint32_t number, process, image;
    uint64_t cpu;
};

struct live_path {
    uint32_t number, out, in;
};

static struct world {
    struct trace_writer *writer;
    struct machine_record machine;
    uint64_t time;
    uint32_t streams, paths, images; /* numbers given out */
    struct live_stream live[LIVE_MOST];
    struct live_path open[LIVE_MOST];
    unsigned live_count, open_count;
    bool named[USERS];
    uint32_t files;
    bool full;
    union any_record *written; /* [count]; the first one is MACHINE */
    size_t capacity, count;
} world;

static int remove_one(const char *name, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(name);
}

static void remember(const struct record_header *header)
{
    assert_int_equal(
        array_reserve(&world.written, &world.capacity, world.count + 1, sizeof(*world.written)), 0);
    memcpy(&world.written[world.count++], header, event_size(header->id));
}

static void append(struct record_header *header)
{
    struct problem problem;

    if (world.full)
        return;
    /* no two are equal: the reader merges both streams by time; there is time for a beginning between them */
    header->time = world.time += 16;
    int result = trace_writer_append(world.writer, header, &problem);
    if (result == -EFBIG || result == -EISDIR) {
        world.full = true;
        return;
    }
    if (result < 0)
        fail_msg("%s", problem.text);
    remember(header);
}

static void append_event(unsigned id, struct live_stream *stream, uint32_t number, uint32_t offset,
                         uint32_t bytes)
{
    struct record record = {
        .header = {.id = (uint8_t)id,
                   .stream = stream->number,
                   .proc_time_and_pc = (stream->cpu += random_below(&seed, 1000))},
        .message = {.path = number, .offset = offset, .bytes = bytes},
    };

    append(&record.header);
}

static void begin_stream(void)
{
    struct image_record image = {.header = {.id = EVENT_IMAGE, .flags = RECORD_NO_STREAM},
                                 .image = ++world.images};
    uint32_t user = (uint32_t)random_below(&seed, USERS);
    struct name_record name = {.header = {.id = EVENT_NAME, .flags = RECORD_NO_STREAM},
                               .number = user,
                               .kind = NAME_USER,
                               .name = "somebody"};
    struct live_stream *creator =
        world.live_count == 0 ? NULL : &world.live[random_below(&seed, world.live_count)];
    struct live_stream *made = &world.live[world.live_count];

    if (trace_writer_files(world.writer) != world.files)
        memset(world.named, 0, sizeof(world.named));
    world.files = trace_writer_files(world.writer);
    bool thread = creator != NULL && random_below(&seed, 2) == 0;
    *made = (struct live_stream){.number = ++world.streams, .process = world.streams};
    made->process = thread ? creator->process : made->number;
    made->image = thread ? creator->image : image.image;
    append(&image.header);
    if (!world.named[user])
        append(&name.header);
    world.named[user] = true;
    struct stream_record record = {
        .header = {.id = EVENT_STREAM, .flags = RECORD_NO_STREAM, .stream = made->number},
        .process = made->process,
        .parent = creator == NULL ? 0 : creator->number,
        .user = user,
        .image = made->image,
    };
    append(&record.header);
    world.live_count++;
    struct flags_record flags = {.header = {.id = EVENT_FLAGS, .flags = RECORD_NO_STREAM},
                                 .process = made->process};
    if (random_below(&seed, 4) == 0)
        append(&flags.header);
}

static bool has_others(const struct live_stream *stream)
{
    for (unsigned i = 0; i < world.live_count; i++)
        if (&world.live[i] != stream && world.live[i].process == stream->process)
            return true;
    return false;
}

static void end_stream(unsigned index)
{
    struct live_stream *stream = &world.live[index];
    struct record record = {
        .header = {.id = EVENT_TERMINATION,
                   .stream = stream->number,
                   .proc_time_and_pc = stream->cpu},
        .termination.last = !has_others(stream),
    };

    append(&record.header);
    *stream = world.live[--world.live_count];
}

static void begin_path(void)
{
    struct live_path *made = &world.open[world.open_count++];
    static const uint8_t kinds[] = {PATH_TCP, PATH_UNIX_STREAM, PATH_PIPE};

    *made = (struct live_path){.number = ++world.paths,
                               .out = (uint32_t)random_number(&seed),
                               .in = (uint32_t)random_number(&seed)};
    struct path_record record = {
        .header = {.id = EVENT_PATH, .flags = RECORD_NO_STREAM},
        .path = made->number,
        .kind = kinds[random_below(&seed, ARRAY_SIZE(kinds))],
        .start_out = made->out,
        .start_in = made->in,
    };
    append(&record.header);
}

static void end_path(unsigned index)
{
    append_event(EVENT_DESTROYPATH, &world.live[0], world.open[index].number, 0, 0);
    world.open[index] = world.open[--world.open_count];
}

static void exchange(void)
{
    struct live_stream *stream = &world.live[random_below(&seed, world.live_count)];
    struct live_path *end = &world.open[random_below(&seed, world.open_count)];
    uint32_t bytes = 1 + (uint32_t)random_below(&seed, 100000);

    if (random_below(&seed, 2) == 0) {
        append_event(EVENT_SEND, stream, end->number, end->out, bytes);
        end->out += bytes;
    } else {
        append_event(EVENT_RECEIVE, stream, end->number, end->in, bytes);
        end->in += bytes;
    }
}

static void append_cost(void)
{
    struct record cost = {.header = {.id = EVENT_COST, .flags = RECORD_NO_STREAM},
                          .cost = {.cpu = world.time, .wakeups = (uint32_t)world.count}};

    append(&cost.header);
}

/* One random thing happens. `calm`: mostly messages. */
static void happen(unsigned calm)
{
    unsigned what = (unsigned)random_below(&seed, 100 + calm);

    world.time += random_below(&seed, 3) == 0 ? 0 : random_below(&seed, 1000);
    if (world.live_count == 0 || (what < 10 && world.live_count < LIVE_MOST))
        begin_stream();
    else if (world.open_count == 0 || (what < 20 && world.open_count < LIVE_MOST))
        begin_path();
    else if (what < 28 && world.live_count > 1)
        end_stream((unsigned)random_below(&seed, world.live_count));
    else if (what < 36)
        end_path((unsigned)random_below(&seed, world.open_count));
    else if (what == 37)
        append_cost();
    else
        exchange();
}

static void begin_world(uint64_t max_size, const struct trace_limits *limits)
{
    union any_record *written = world.written;
    size_t capacity = world.capacity;
    struct problem problem;

    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    world = (struct world){.written = written, .capacity = capacity, .time = 1000, .files = 1};
    world.machine = (struct machine_record){
        .header = {.time = 1000, .id = EVENT_MACHINE, .flags = RECORD_NO_STREAM}, .name = "host"};
    if (trace_writer_new(path, &world.machine, max_size, &world.writer, &problem) < 0 ||
        trace_writer_keep_newest(world.writer, limits, &world.machine, &problem) < 0)
        fail_msg("%s", problem.text);
    remember(&world.machine.header);
}

/* ---- what the files say ---- */

/* What was valid after the first `count` records. */
struct state {
    uint64_t cpu[NUMBERS_MOST];
    uint32_t out[NUMBERS_MOST], in[NUMBERS_MOST];
    bool stream[NUMBERS_MOST], path[NUMBERS_MOST];
    uint32_t process[NUMBERS_MOST]; /* of each stream */
    bool ended[NUMBERS_MOST];       /* processes */
};

static void replay(struct state *state, size_t count)
{
    memset(state, 0, sizeof(*state));
    for (size_t i = 0; i < count; i++) {
        const union any_record *any = &world.written[i];
        uint32_t stream = any->header.stream, end = any->record.message.path;
        switch (any->header.id) {
        case EVENT_STREAM:
            state->stream[stream] = true;
            state->process[stream] = any->stream.process;
            break;
        case EVENT_PATH:
            state->path[any->path.path] = true;
            state->out[any->path.path] = any->path.start_out;
            state->in[any->path.path] = any->path.start_in;
            break;
        case EVENT_TERMINATION:
            state->stream[stream] = false;
            if (any->record.termination.last)
                state->ended[state->process[stream]] = true;
            break;
        case EVENT_EXEC: /* which leaves it */
            state->stream[stream] = false;
            state->ended[state->process[stream]] = true;
            break;
        case EVENT_DESTROYPATH:
            state->path[end] = false;
            break;
        case EVENT_SEND:
            state->out[end] += any->record.message.bytes;
            break;
        case EVENT_RECEIVE:
            state->in[end] += any->record.message.bytes;
            break;
        default:
            break;
        }
        if (record_is_of_stream(&any->header) && any->header.id != EVENT_STREAM)
            state->cpu[stream] = record_proc_time(&any->header);
    }
}

struct reading {
    size_t next; /* index in `written` of the record that must come next */
    uint64_t oldest, newest;
    uint32_t repeated;
    uint64_t records, removed;
    uint32_t reason; /* of END */
    bool ended;
    bool streams[NUMBERS_MOST], paths[NUMBERS_MOST], images[NUMBERS_MOST], users[USERS];
};

/* The beginning says what is valid: everything that lives, and as it is. */
static void check_repeated(const union any_record *any, const struct state *state)
{
    if (any->header.id == EVENT_STREAM && state->stream[any->header.stream])
        assert_int_equal(record_proc_time(&any->header), state->cpu[any->header.stream]);
    if (any->header.id == EVENT_FLAGS)
        assert_false(state->ended[any->flags.process]);
    if (any->header.id != EVENT_PATH)
        return;
    assert_true(state->path[any->path.path]);
    assert_int_equal(any->path.start_out, state->out[any->path.path]);
    assert_int_equal(any->path.start_in, state->in[any->path.path]);
    assert_true(any->header.flags & RECORD_OLDER);
}

static void check_identities(const struct reading *reading, const union any_record *any)
{
    if (any->header.id == EVENT_STREAM) {
        assert_true(reading->images[any->stream.image]);
        assert_true(reading->users[any->stream.user]);
    }
    if (record_is_of_stream(&any->header) && any->header.id != EVENT_STREAM)
        assert_true(reading->streams[any->header.stream]);
    if (any->header.id == EVENT_SEND || any->header.id == EVENT_RECEIVE ||
        any->header.id == EVENT_DESTROYPATH)
        assert_true(reading->paths[any->record.message.path]);
}

static void note_identity(struct reading *reading, const union any_record *any)
{
    if (any->header.id == EVENT_STREAM)
        reading->streams[any->header.stream] = true;
    if (any->header.id == EVENT_PATH)
        reading->paths[any->path.path] = true;
    if (any->header.id == EVENT_IMAGE)
        reading->images[any->image.image] = true;
    if (any->header.id == EVENT_NAME && any->name.kind == NAME_USER)
        reading->users[any->name.number] = true;
}

static void check_written(struct reading *reading, const union any_record *any)
{
    union any_record expected;

    assert_true(reading->next < world.count);
    expected = world.written[reading->next];
    if (expected.header.id == EVENT_COST)
        expected.record.cost = any->record.cost; /* counts from the first file that is left */
    assert_memory_equal(&expected, any, event_size(any->header.id));
    reading->next++;
}

static struct reading reading;
static struct state state;

static void begin_at(const union any_record *any)
{
    reading.removed = any->begin.records;
    reading.repeated = any->begin.repeated;
    reading.next = any->begin.records;
    assert_int_equal(any->begin.began, 1000);
    replay(&state, any->begin.records);
}

static void take(const union any_record *any, size_t index)
{
    if (index == 0)
        reading.oldest = any->header.time;
    reading.newest = any->header.time;
    if (index == 1 && any->header.id == EVENT_BEGIN)
        begin_at(any);
    else if (index > 1 && index < 2 + reading.repeated)
        check_repeated(any, &state);
    assert_true(any->header.id != EVENT_BEGIN || index == 1);
    check_identities(&reading, any);
    note_identity(&reading, any);
}

/* Everything that lives is said again. */
static void check_all_repeated(void)
{
    for (size_t i = 0; i < NUMBERS_MOST; i++) {
        assert_true(!state.stream[i] || reading.streams[i]);
        assert_true(!state.path[i] || reading.paths[i]);
    }
}

/* Reads the trace as far as it goes. */
static void check_trace(uint64_t max_age, bool ends)
{
    const char *const paths[] = {path};
    struct source *source;
    struct problem problem;
    union any_record any;
    struct event event;
    uint64_t complete;
    size_t block = 0; /* records at the beginning that are repeated */
    int result = trace_open(paths, 1, &source, &problem);

    if (result < 0)
        fail_msg("%s", problem.text);
    memset(&reading, 0, sizeof(reading));
    reading.next = 1; /* after MACHINE */
    for (size_t i = 0;
         (result = source->next(source, &event, &complete, &problem)) == SOURCE_RECORD; i++) {
        memset(&any, 0, sizeof(any));
        memcpy(&any, event.header, event_size(event.header->id));
        take(&any, i);
        if (i == 0)
            assert_int_equal(any.header.id, EVENT_MACHINE);
        if (i == 1 && any.header.id == EVENT_BEGIN)
            block = 2 + any.begin.repeated;
        reading.ended = reading.ended || any.header.id == EVENT_END;
        if (any.header.id == EVENT_END)
            reading.reason = any.end.reason;
        if (i >= block && i > 0 && any.header.id != EVENT_END)
            check_written(&reading, &any);
    }
    if (result < 0)
        fail_msg("%s", problem.text);
    if (block > 0)
        check_all_repeated();
    assert_int_equal(reading.ended, ends);
    assert_int_equal(source->states[0].complete, ends);
    assert_int_equal(source->states[0].lost, 0);
    assert_int_equal(source->states[0].removed, reading.removed);
    assert_int_equal(trace_partial_tail(source, 0), 0);
    if (max_age != 0 && reading.removed > 0)
        assert_true(reading.newest - reading.oldest <= max_age);
    if (ends)
        assert_int_equal(reading.next, world.count);
    assert_int_equal(trace_rewind(source, &problem), 0);
    size_t again = 0;
    while (source->next(source, &event, &complete, &problem) == SOURCE_RECORD)
        again++;
    assert_int_equal(again, source->states[0].records);
    trace_close(source);
}

static void check_bounds(uint64_t max_size, uint32_t max_files)
{
    DIR *list = opendir(path);
    const struct dirent *entry;
    struct stat status;
    uint64_t bytes = 0;
    uint32_t pairs = 0;
    char name[500];

    assert_non_null(list);
    while ((entry = readdir(list)) != NULL) {
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        assert_int_equal(stat(name, &status), 0);
        bytes += S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
        pairs += strncmp(entry->d_name, "control", strlen("control")) == 0;
        assert_int_not_equal(strncmp(entry->d_name, ".c", 2), 0);
    }
    closedir(list);
    assert_true(bytes <= max_size);
    assert_true(pairs <= max_files);
}

/* ---- the tests ---- */

static void the_newest_are_kept(void **unused)
{
    (void)unused;
    seed = seed_of_run("newest");
    for (unsigned round = 0; round < 40; round++) {
        uint64_t max_size = (1 + random_below(&seed, 3)) << 20;
        struct trace_limits limits = {
            .max_files = random_below(&seed, 2) == 0 ? 0 : 2 + (uint32_t)random_below(&seed, 20),
            .max_age = random_below(&seed, 2) == 0 ? 0 : 1 + random_below(&seed, 10000000),
        };
        uint32_t files = limits.max_files != 0 ? limits.max_files : limits.max_age == 0 ? 16 : 32;
        size_t steps = random_below(&seed, 60000);
        unsigned calm = (unsigned)random_below(&seed, 2000);
        struct problem problem;
        begin_world(max_size, &limits);
        for (size_t i = 0; i < steps; i++) {
            happen(calm);
            if (random_below(&seed, 50) == 0)
                assert_int_equal(trace_writer_flush(world.writer, &problem), 0);
            if (random_below(&seed, 10000) == 0) {
                check_trace(0, false);
                check_bounds(max_size, files);
            }
        }
        assert_false(world.full);
        assert_int_equal(trace_writer_close(world.writer, END_COMPLETE, &problem), 0);
        check_bounds(max_size, files);
        check_trace(limits.max_age, true);
    }
}

/* After a kill, repair closes the trace; it then says what a whole trace says. */
static void a_kill_leaves_a_trace(void **unused)
{
    const struct trace_limits limits = {0};
    struct trace_repair repair;
    struct problem problem;
    char name[500];

    (void)unused;
    seed = seed_of_run("kill");
    for (unsigned round = 0; round < 10; round++) {
        begin_world(1 << 20, &limits);
        for (size_t i = 0; i < 30000 + random_below(&seed, 1000); i++)
            happen(100);
        assert_int_equal(trace_writer_flush(world.writer, &problem), 0);
        struct trace_writer *writer = world.writer;
        /* between the two removals of a pair; between the data file and the control file of the next one */
        DIR *list = opendir(path);
        const struct dirent *entry;
        unsigned least = UINT32_MAX, most = 0, number;
        while ((entry = readdir(list)) != NULL)
            if (sscanf(entry->d_name, "control.%u", &number) == 1) {
                least = number < least ? number : least;
                most = number > most ? number : most;
            }
        closedir(list);
        snprintf(name, sizeof(name), "%s/control.%u", path, least);
        assert_int_equal(unlink(name), 0);
        assert_true(trace_has_records(path)); /* although the first files are gone */
        assert_false(trace_has_records(folder));
        snprintf(name, sizeof(name), "%s/data.%u", path, most + 1);
        fclose(fopen(name, "w"));
        snprintf(name, sizeof(name), "%s/.control.next", path);
        fclose(fopen(name, "w"));
        check_trace(0, false);
        assert_int_equal(trace_repair(path, &repair, &problem), -EBUSY);
        /* the writer's END goes into a copy that nobody reads: let it go */
        char copy[300], command[1200];
        snprintf(copy, sizeof(copy), "%s-copy", path);
        snprintf(command, sizeof(command), "rm -rf '%s' && cp -r '%s' '%s'", copy, path, copy);
        assert_int_equal(system(command), 0);
        assert_int_equal(trace_writer_close(writer, END_COMPLETE, &problem), 0);
        snprintf(command, sizeof(command), "rm -rf '%s' && mv '%s' '%s'", path, copy, path);
        assert_int_equal(system(command), 0);
        if (trace_repair(path, &repair, &problem) < 0)
            fail_msg("%s", problem.text);
        assert_true(repair.end_written);
        check_trace(0, true);
        /* babeltrace2 reads it, too */
        snprintf(command, sizeof(command),
                 "! command -v babeltrace2 > /dev/null 2>&1 || { babeltrace2 '%s' > '%s/list' 2> "
                 "'%s/errors' && test ! -s '%s/errors' && "
                 "test $(grep -c ' BEGIN: ' '%s/list') = %u; }",
                 path, folder, folder, folder, folder, most - least);
        assert_int_equal(system(command), 0);
        /* a slow copy has a control file of which the data were removed meanwhile */
        snprintf(name, sizeof(name), "%s/data.%u", path, least + 1);
        assert_int_equal(unlink(name), 0);
        check_trace(0, true);
    }
}

/* ---- following ---- */

static struct following {
    struct source *source;
    size_t next;       /* index in `written` of the record that must come next */
    uint64_t repeated; /* still to come */
    uint64_t overtaken, begins;
    bool machine; /* came last */
} following;

/* A record comes once and in order, unless its file was removed unread; and that is counted. */
static void follow_record(const struct record_header *header)
{
    union any_record any;

    memset(&any, 0, sizeof(any));
    memcpy(&any, header, event_size(header->id));
    if (any.header.id == EVENT_BEGIN) {
        assert_true(following.machine);
        assert_true(any.begin.records > following.next);
        following.overtaken += any.begin.records - following.next;
        following.next = any.begin.records;
        following.repeated = any.begin.repeated;
        following.begins++;
        assert_int_equal(following.source->states[0].overtaken, following.overtaken);
    } else if (following.repeated > 0) {
        following.repeated--;
    } else if (any.header.id != EVENT_MACHINE && any.header.id != EVENT_END) {
        assert_true(following.next < world.count);
        assert_memory_equal(&world.written[following.next], &any, event_size(any.header.id));
        following.next++;
    }
    following.machine = any.header.id == EVENT_MACHINE;
}

/* Reads up to `most` records. Returns how the source ended. */
static int follow(uint64_t most)
{
    struct problem problem;
    struct event event;
    uint64_t complete;
    int result = SOURCE_RECORD;

    for (uint64_t i = 0; result == SOURCE_RECORD && i < most; i++) {
        result = following.source->next(following.source, &event, &complete, &problem);
        if (result < 0)
            fail_msg("%s", problem.text);
        if (result == SOURCE_RECORD)
            follow_record(event.header);
    }
    return result;
}

/* Reads on. If nothing was left to read, there is more only when the source's descriptor says so. */
static void follow_as_told(uint64_t most, bool *nothing_left)
{
    struct pollfd file = {.fd = source_descriptor(following.source), .events = POLLIN};
    bool silent = file.fd >= 0 && *nothing_left && poll(&file, 1, 0) == 0;
    uint64_t next = following.next;
    int result = follow(most);

    assert_int_not_equal(result, SOURCE_END);
    *nothing_left = result == SOURCE_NONE_YET;
    if (silent)
        assert_true(*nothing_left && following.next == next);
    if (*nothing_left && file.fd >= 0)
        assert_int_equal(poll(&file, 1, 0), 0);
}

static void a_reader_follows(void **unused)
{
    struct problem problem;
    uint64_t overtaken = 0;

    (void)unused;
    seed = seed_of_run("follow");
    for (unsigned round = 0; round < 40; round++) {
        const struct trace_limits limits = {.max_files = 2 + (uint32_t)random_below(&seed, 10)};
        size_t steps = random_below(&seed, 40000);
        uint64_t most = 1 + random_below(&seed, 3000);
        unsigned calm = (unsigned)random_below(&seed, 1000);
        bool nothing_left = false;
        begin_world(1 << 20, &limits);
        following = (struct following){.next = 1};
        if (trace_follow(path, &following.source, &problem) < 0)
            fail_msg("%s", problem.text);
        for (size_t i = 0; i < steps; i++) {
            happen(calm);
            if (random_below(&seed, 300) == 0)
                assert_int_equal(trace_writer_flush(world.writer, &problem), 0);
            if (random_below(&seed, 500) == 0)
                follow_as_told(most, &nothing_left);
        }
        assert_int_equal(trace_writer_close(world.writer, END_COMPLETE, &problem), 0);
        assert_int_equal(follow(UINT64_MAX), SOURCE_END);
        assert_int_equal(following.next, world.count);
        assert_true(following.source->states[0].complete);
        assert_false(following.source->states[0].being_written);
        assert_int_equal(following.source->states[0].overtaken, following.overtaken);
        assert_int_equal(following.source->states[0].missing_packets, 0);
        overtaken += following.overtaken;
        trace_close(following.source);
    }
    print_message("# overtaken: %" PRIu64 "\n", overtaken);
}

/* What happens after a file was looked at; NULL: nothing. */
static void (*after_look)(void);

/* The reader's: the linker finds it here before the C library. */
int fstat(int file, struct stat *status)
{
    int result = fstatat(file, "", status, AT_EMPTY_PATH);
    void (*happens)(void) = after_look;

    after_look = NULL;
    if (happens != NULL)
        happens();
    return result;
}

static void write_the_rest(void)
{
    struct problem problem;

    for (unsigned i = 0; i < 1000; i++)
        happen(500);
    assert_int_equal(trace_writer_close(world.writer, END_COMPLETE, &problem), 0);
}

/* Data are looked at before control, which then has END already. */
static void the_end_comes_between_two_looks(void **unused)
{
    const struct trace_limits limits = {.max_files = 4};
    struct problem problem;

    (void)unused;
    seed = seed_of_run("end");
    begin_world(1 << 24, &limits);
    following = (struct following){.next = 1};
    if (trace_follow(path, &following.source, &problem) < 0)
        fail_msg("%s", problem.text);
    for (unsigned i = 0; i < 1000; i++)
        happen(500);
    assert_int_equal(trace_writer_flush(world.writer, &problem), 0);
    assert_int_equal(follow(UINT64_MAX), SOURCE_NONE_YET);
    after_look = write_the_rest;
    assert_int_equal(follow(UINT64_MAX), SOURCE_END);
    assert_int_equal(following.next, world.count);
    assert_true(following.source->states[0].complete);
    assert_int_equal(following.source->states[0].lost, 0);
    trace_close(following.source);
}

static void limits_are_checked(void **unused)
{
    const struct trace_limits limits = {0};
    struct problem problem;
    struct trace_writer *writer;

    (void)unused;
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(trace_writer_new(path, &world.machine, 1 << 19, &writer, &problem), 0);
    assert_int_equal(trace_writer_keep_newest(writer, &limits, &world.machine, &problem), -EINVAL);
    trace_writer_discard(writer, path);
}

/* ---- records that lack fields ---- */

#define LACKING_MOST 60000

static uint64_t absent_of[LACKING_MOST]; /* by the number of the record, in `sequence` */

/* Random messages and terminations; what they lack, and whether files are begun, is chosen at random. */
static void write_lacking(size_t count, size_t sets)
{
    struct problem problem;

    for (size_t i = 0; i < count; i++) {
        uint64_t set = random_below(&seed, sets);
        /* SEND, RECEIVE, MESSAGEQUEUED are of the data ring, the others of the control ring */
        static const uint8_t types[] = {EVENT_SEND, EVENT_RECEIVE, EVENT_MESSAGEQUEUED,
                                        EVENT_TERMINATION, EVENT_DESTROYPATH};
        struct record record = {
            .header = {.time = world.time += 1 + random_below(&seed, 100),
                       .id = types[set % ARRAY_SIZE(types)],
                       .stream = 1,
                       .sequence = (uint32_t)i},
            .message = {.path = 1, .offset = (uint32_t)i, .bytes = (uint32_t)random_number(&seed)},
        };
        absent_of[i] = set == 0 ? 0 : (set % 15 + 1) << 8;
        if (trace_writer_append_without(world.writer, &record.header, absent_of[i], &problem) < 0)
            fail_msg("%s", problem.text);
    }
}

/* What is left is the end of what was written, each record without its own fields. */
static size_t read_lacking(size_t count)
{
    const char *const paths[] = {path};
    struct source *source;
    struct problem problem;
    struct event event;
    uint64_t complete;
    size_t read = 0, next = 0;

    if (trace_open(paths, 1, &source, &problem) < 0)
        fail_msg("%s", problem.text);
    while (source->next(source, &event, &complete, &problem) == SOURCE_RECORD) {
        if (!event_is_metered(event.header->id))
            continue;
        next = read++ == 0 ? event.header->sequence : next + 1;
        assert_int_equal(event.header->sequence, next);
        assert_int_equal(event.absent, absent_of[next]);
    }
    assert_true(source->states[0].complete);
    assert_int_equal(source->states[0].lost, 0);
    assert_int_equal(next, count - 1);
    trace_close(source);
    return read;
}

/* Each file says again what its records lack. */
static void records_may_lack_fields(void **unused)
{
    struct problem problem;

    (void)unused;
    seed = seed_of_run("lacking");
    for (unsigned round = 0; round < 4; round++) {
        const struct trace_limits limits = {.max_files = round % 2 == 0 ? 0 : 3};
        size_t count = 1 + random_below(&seed, LACKING_MOST);
        begin_world(TRACE_SMALLEST_KEPT, &limits);
        write_lacking(count, 1 + random_below(&seed, 60));
        assert_int_equal(trace_writer_close(world.writer, END_COMPLETE, &problem), 0);
        check_bounds(TRACE_SMALLEST_KEPT, round % 2 == 0 ? 32 : 3);
        size_t read = read_lacking(count);
        print_message("# %zu of %zu records\n", read, count);
    }
}

/* Files that are full early make none of the others older: what has the space and the age stays. */
static void a_burst_removes_nothing_else(void **unused)
{
    const struct trace_limits limits = {.max_age = 1000000000};
    struct problem problem;

    (void)unused;
    seed = seed_of_run("burst");
    begin_world(4 << 20, &limits);
    for (size_t i = 0; i < 42500; i++) {
        if (i < 2000 || i >= 42000)
            world.time += limits.max_age / 1000;
        happen(1000);
    }
    assert_int_equal(trace_writer_close(world.writer, END_COMPLETE, &problem), 0);
    check_bounds(4 << 20, 32);
    check_trace(limits.max_age, true);
    assert_true(reading.removed > 0);
    assert_true(reading.newest - reading.oldest >= limits.max_age / 10 * 9);
}

/* Also with the fewest files, most of the age is kept at any time. */
static void half_of_the_age_is_kept_by_two_files(void **unused)
{
    const struct trace_limits limits = {.max_files = 2, .max_age = 10000000};
    struct problem problem;

    (void)unused;
    seed = seed_of_run("age");
    for (unsigned round = 0; round < 20; round++) {
        begin_world(4 << 20, &limits);
        while (world.time < 2 * limits.max_age + random_below(&seed, limits.max_age))
            happen(1000);
        assert_int_equal(trace_writer_close(world.writer, END_COMPLETE, &problem), 0);
        check_bounds(4 << 20, 2);
        check_trace(limits.max_age, true);
        assert_true(reading.newest - reading.oldest >= limits.max_age / 10 * 4);
    }
}

/* Identities that fill the trace end it: nothing is written beyond its size, and the newest records stay. */
static void identities_that_do_not_fit_end_it(void **unused)
{
    const struct trace_limits limits = {0};
    struct problem problem;

    (void)unused;
    seed = seed_of_run("full");
    begin_world(1 << 20, &limits);
    for (uint32_t number = 1; number < 100000 && !world.full; number++) {
        struct path_record record = {.header = {.id = EVENT_PATH, .flags = RECORD_NO_STREAM},
                                     .path = number,
                                     .kind = PATH_TCP};
        world.time++;
        append(&record.header);
    }
    assert_true(world.full);
    assert_int_equal(trace_writer_close(world.writer, END_COMPLETE, &problem), 0);
    check_bounds(1 << 20, 16);
    check_trace(0, true);
    assert_true(world.count - reading.removed > 100);
}

/* A process whose next program is not metered does not live on in later files. */
static void a_process_that_is_left_is_forgotten(void **unused)
{
    const struct trace_limits limits = {.max_files = 2};
    struct problem problem;

    (void)unused;
    seed = seed_of_run("left");
    begin_world(1 << 20, &limits);
    begin_stream();
    const struct live_stream left = world.live[0];
    struct record exec = {
        .header = {.id = EVENT_EXEC, .stream = left.number, .proc_time_and_pc = left.cpu},
        .exec = {.left = 1},
    };
    append(&exec.header);
    world.live_count = 0;
    for (size_t i = 0; i < 60000; i++)
        happen(1000);
    assert_int_equal(trace_writer_close(world.writer, END_COMPLETE, &problem), 0);
    check_trace(0, true);
    assert_true(reading.removed > world.count / 4);
    assert_false(reading.streams[left.number]);
}

/* If the next pair cannot be begun, even with all that it repeats, the trace ends in order with the one before. */
static void a_pair_that_cannot_begin_leaves_nothing(void **unused)
{
    const struct trace_limits limits = {0};
    struct problem problem;
    char control[sizeof(path) + 16], data[sizeof(path) + 16];

    (void)unused;
    seed = seed_of_run("obstacle");
    begin_world(4 << 20, &limits);
    snprintf(control, sizeof(control), "%s/control.1", path);
    snprintf(data, sizeof(data), "%s/data.1", path);
    assert_int_equal(mkdir(control, 0700), 0);
    for (size_t i = 0; i < 100000 && !world.full; i++)
        happen(1000);
    assert_true(world.full);
    assert_int_equal(trace_writer_close(world.writer, END_COMPLETE, &problem), 0);
    assert_int_equal(rmdir(control), 0);
    assert_int_not_equal(access(data, F_OK), 0);
    check_bounds(4 << 20, 1);
    check_trace(0, true);
    assert_int_equal(reading.reason, END_DISK);
    assert_int_equal(reading.removed, 0);
}

static int begin(void **unused)
{
    (void)unused;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/trace", folder);
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    free(world.written);
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_are_kept),
        cmocka_unit_test(a_kill_leaves_a_trace),
        cmocka_unit_test(a_reader_follows),
        cmocka_unit_test(the_end_comes_between_two_looks),
        cmocka_unit_test(records_may_lack_fields),
        cmocka_unit_test(limits_are_checked),
        cmocka_unit_test(a_burst_removes_nothing_else),
        cmocka_unit_test(half_of_the_age_is_kept_by_two_files),
        cmocka_unit_test(identities_that_do_not_fit_end_it),
        cmocka_unit_test(a_process_that_is_left_is_forgotten),
        cmocka_unit_test(a_pair_that_cannot_begin_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
