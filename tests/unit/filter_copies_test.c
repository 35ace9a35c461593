/* SPDX-License-Identifier: MIT */
/* filter_copies_test.c: copies of traces in a folder: each machine, recording and trace has one of its own, which the next
 * filter finds again, whatever else is in the folder. */
#include "filter/filter_copies.h"

#include "base/folder.h"
#include "seeded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TRACES 24

static uint64_t seed;
static char base[] = "/tmp/dpm-copies-XXXXXX";
static char folder[100];

/* Metadata of traces, by their own writer: each has a uuid of its own. */
static char *metadata[TRACES];
static size_t lengths[TRACES];

/* The first packet of control of the first trace. */
static void *control;
static size_t control_length;

static void make_metadata(unsigned index)
{
    struct machine_record machine = {
        .header = {.time = 1000, .id = EVENT_MACHINE, .flags = RECORD_NO_STREAM}, .name = "host"};
    struct trace_packet packet;
    struct trace_packets *packets;
    struct trace_writer *writer;
    struct problem problem;
    char path[200];

    snprintf(path, sizeof(path), "%s/trace", base);
    assert_int_equal(trace_writer_new(path, &machine, 1 << 20, &writer, &problem), 0);
    assert_int_equal(trace_writer_close(writer, END_COMPLETE, &problem), 0);
    assert_int_equal(trace_packets_open(path, &packets, &problem), 0);
    assert_int_equal(trace_packets_next(packets, &packet, &problem), TRACE_PACKETS_ONE);
    assert_true(packet.is_metadata);
    lengths[index] = packet.size;
    metadata[index] = malloc(packet.size + 1);
    assert_non_null(metadata[index]);
    memcpy(metadata[index], packet.bytes, packet.size);
    metadata[index][packet.size] = '\0';
    if (index == 0) {
        assert_int_equal(trace_packets_next(packets, &packet, &problem), TRACE_PACKETS_ONE);
        assert_true(!packet.is_metadata && packet.ring == RING_CONTROL);
        control_length = packet.size;
        control = malloc(packet.size);
        assert_non_null(control);
        memcpy(control, packet.bytes, packet.size);
    }
    trace_packets_close(packets);
    folder_remove(path);
}

static void uuid_of(unsigned index, uint8_t uuid[16])
{
    const char *at = strstr(metadata[index], "uuid = \"");
    unsigned digits = 0;

    assert_non_null(at);
    for (at += 8; *at != '"'; at++)
        if (*at != '-') {
            unsigned value;
            char digit[2] = {*at, '\0'};
            sscanf(digit, "%x", &value);
            uuid[digits / 2] = (uint8_t)(digits % 2 == 0 ? value << 4 : uuid[digits / 2] | value);
            digits++;
        }
    assert_int_equal(digits, 32);
}

static struct fabric_packet packet_of(const char *machine, const char *recording, unsigned trace)
{
    struct fabric_packet packet = {
        .machine = machine,
        .recording = recording,
        .part = FABRIC_METADATA,
        .bytes = metadata[trace],
        .size = lengths[trace],
    };

    uuid_of(trace, packet.place.uuid);
    return packet;
}

static struct filter_copies resumed(const char *prefix)
{
    struct filter_copies copies = {.folder = folder, .prefix = prefix};
    struct problem problem;

    if (filter_copies_resume(&copies, &problem) < 0)
        fail_msg("%s", problem.text);
    return copies;
}

static void closed(struct filter_copies *copies)
{
    struct problem problem;

    assert_int_equal(filter_copies_close(copies, &problem), 0);
}

static const char *pick(const char *const *list, size_t count)
{
    return list[random_below(&seed, count)];
}

/* Filters come and go; each finds what the earlier ones have stored, under the same paths. */
static void the_next_filter_finds_them(void **unused)
{
    static const char *const machines[] = {"web1", "web2", "2", "a-b"};
    static const char *const recordings[] = {"main", "other", "2", "22", "x-2"};
    char paths[TRACES][200] = {""};
    const char *machine_of[TRACES], *recording_of[TRACES];

    (void)unused;
    for (unsigned round = 0; round < 6; round++) {
        struct problem problem;
        folder_remove(folder);
        struct filter_copies copies = resumed(NULL);
        assert_int_equal(copies.count, 0);
        for (unsigned trace = 0; trace < TRACES; trace++) {
            struct copy *copy;
            machine_of[trace] = pick(machines, ARRAY_SIZE(machines));
            recording_of[trace] = pick(recordings, ARRAY_SIZE(recordings));
            struct fabric_packet packet = packet_of(machine_of[trace], recording_of[trace], trace);
            assert_null(filter_copies_find(&copies, &packet));
            if (filter_copies_create(&copies, &packet, &copy, &problem) < 0)
                fail_msg("%s", problem.text);
            snprintf(paths[trace], sizeof(paths[trace]), "%s", copy->path);
            assert_ptr_equal(filter_copies_find(&copies, &packet), copy);
            if (random_below(&seed, 3) == 0) {
                closed(&copies);
                copies = resumed(NULL);
            }
            for (unsigned earlier = 0; earlier <= trace; earlier++) {
                packet = packet_of(machine_of[earlier], recording_of[earlier], earlier);
                copy = filter_copies_find(&copies, &packet);
                assert_non_null(copy);
                assert_string_equal(copy->path, paths[earlier]);
                assert_string_equal(copy->recording, recording_of[earlier]);
                for (unsigned other = 0; other < earlier; other++)
                    assert_string_not_equal(paths[other], paths[earlier]);
            }
        }
        assert_int_equal(copies.count, TRACES);
        closed(&copies);
    }
}

static void names_are_those_of_machines(void **unused)
{
    static const struct {
        const char *prefix, *recording, *name; /* NULL: not wanted */
    } cases[] = {
        {NULL, "main", "web1"},
        {NULL, "other", "web1.other"},
        {"f1-", "f1-sort", "web1.sort"},
        {"f1-", "f1-main", "web1"},
        {"f1-", "f1-", NULL},
        {"f1-", "sort", NULL},
        {"f1-", "f2-sort", NULL},
        {"main-", "main", "web1"},
        {"main-", "main-sort", "web1.sort"},
        {"main-", "sort", NULL},
        {"main-", "mainsort", NULL},
        {"main-", "f2-main", NULL},
        {"main-", "main-", NULL},
        {"x", "x", NULL},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct problem problem;
        struct copy *copy;
        folder_remove(folder);
        struct filter_copies copies = resumed(cases[i].prefix);
        assert_int_equal(filter_copies_wants(&copies, cases[i].recording), cases[i].name != NULL);
        if (cases[i].name != NULL) {
            struct fabric_packet packet = packet_of("web1", cases[i].recording, 0);
            assert_int_equal(filter_copies_create(&copies, &packet, &copy, &problem), 0);
            assert_string_equal(strrchr(copy->path, '/') + 1, cases[i].name);
            closed(&copies);
            copies = resumed(cases[i].prefix);
            copy = filter_copies_find(&copies, &packet);
            assert_non_null(copy);
            assert_string_equal(copy->recording, cases[i].recording);
        }
        closed(&copies);
    }
}

static void copies_are_those_of_recordings(void **unused)
{
    static const struct {
        const char *name, *recording;
        bool is;
    } cases[] = {
        {"web1", "main", true},         {"web1.2", "main", true},
        {"web1.sort", "main", false},   {"web1.sort", "sort", true},
        {"web1.sort.2", "sort", true},  {"web1.sort2", "sort", false},
        {"web1.sort.x", "sort", false}, {"web1", "sort", false},
        {"web1.sort", "so", false},     {"web1.2.2", "main", false},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(filter_is_copy_of(cases[i].name, cases[i].recording), cases[i].is);
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void make_folder(const char *name)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* Nothing of it is changed, nothing waits, and copies of these names get others. */
static void what_else_is_there_stays(void **unused)
{
    static char large[(1 << 20) + 10];
    struct problem problem;
    struct copy *copy;
    struct stat status;
    char path[200];

    (void)unused;
    folder_remove(folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    write_file("web1", "text", 4);
    make_folder("web2");
    make_folder("web3");
    snprintf(path, sizeof(path), "%s/web3/metadata", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    make_folder("web4");
    memset(large, 'x', sizeof(large));
    write_file("web4/metadata", large, sizeof(large));
    make_folder("web5");
    write_file("web5/metadata", "uuid = \"2f1f4c0e\";", 18);
    make_folder("web6");
    write_file("web6/metadata", "uuid = \"zz", 10);
    snprintf(path, sizeof(path), "%s/web7", folder);
    assert_int_equal(symlink("/", path), 0);
    make_folder("not a name");
    write_file("not a name/metadata", metadata[0], lengths[0]);
    struct filter_copies copies = resumed(NULL);
    assert_int_equal(copies.count, 0);
    for (unsigned i = 1; i <= 7; i++) {
        char machine[8], expected[16];
        snprintf(machine, sizeof(machine), "web%u", i);
        snprintf(expected, sizeof(expected), i == 2 ? "web%u" : "web%u.2", i);
        struct fabric_packet packet = packet_of(machine, "main", i);
        if (filter_copies_create(&copies, &packet, &copy, &problem) < 0)
            fail_msg("%s", problem.text);
        assert_string_equal(strrchr(copy->path, '/') + 1, expected);
    }
    closed(&copies);
    snprintf(path, sizeof(path), "%s/web4/metadata", folder);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, sizeof(large));
}

/* Metadata are any bytes of any machine. */
static void bad_metadata_are_refused(void **unused)
{
    struct problem problem;
    struct copy *copy;

    (void)unused;
    folder_remove(folder);
    struct filter_copies copies = resumed(NULL);
    for (unsigned round = 0; round < 300; round++) {
        struct fabric_packet packet = packet_of("web1", "main", 0);
        char *bytes = malloc(packet.size + 1);
        assert_non_null(bytes);
        memcpy(bytes, packet.bytes, packet.size);
        packet.bytes = bytes;
        if (round % 3 == 0)
            packet.size = random_below(&seed, packet.size);
        for (unsigned i = 0; round % 3 != 0 && i < 1 + round % 50; i++)
            bytes[random_below(&seed, packet.size)] = (char)random_number(&seed);
        int result = filter_copies_create(&copies, &packet, &copy, &problem);
        assert_true(result == 0 || result == -EBADMSG || result == -EBUSY);
        assert_true(result == 0 || strchr(problem.text, '\n') == NULL);
        free(bytes);
    }
    closed(&copies);
}

/* A machine may begin traces under one name for ever: the error is not one of the folder, which would end the filter. */
static void names_come_to_an_end(void **unused)
{
    struct fabric_packet packet = packet_of("web1", "main", 0);
    struct problem problem = {""};
    struct copy *copy;
    char path[200];

    (void)unused;
    folder_remove(folder);
    struct filter_copies copies = resumed(NULL);
    for (unsigned i = 1; i < 1000; i++) {
        snprintf(path, sizeof(path), "%s/web1.%u", folder, i);
        if (i == 1)
            *strrchr(path, '.') = '\0';
        assert_int_equal(mkdir(path, 0700), 0);
        strcat(path, "/x");
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(filter_copies_create(&copies, &packet, &copy, &problem), -EEXIST);
    assert_non_null(strstr(problem.text, "999 traces"));
    copy = filter_copies_reject(&copies, &packet, problem.text);
    assert_true(copy != NULL && copy->rejected && copy->path == NULL);
    assert_ptr_equal(filter_copies_find(&copies, &packet), copy);
    packet = packet_of("web2", "main", 1);
    assert_int_equal(filter_copies_create(&copies, &packet, &copy, &problem), 0);
    closed(&copies);
    folder_remove(folder);
}

/* ---- few open files ---- */

#define FILLERS 64

static struct rlimit usual;
static int fillers[FILLERS], filled;

static void release_files(int count)
{
    while (count-- > 0)
        close(fillers[--filled]);
}

/* From now on, so many files can be opened. */
static void leave_files(int count)
{
    int last = 0;

    for (filled = 0; filled < FILLERS; filled++) {
        fillers[filled] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fillers[filled] >= 0);
        last = fillers[filled] > last ? fillers[filled] : last;
    }
    const struct rlimit limit = {.rlim_cur = (rlim_t)last + 1, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    release_files(count);
}

static void leave_usual_files(void)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    release_files(filled);
}

/* However few files can be opened: a trace that begins gets its files, and one that does not leaves nothing. */
static void without_files_no_trace_begins(void **unused)
{
    struct fabric_packet packet = packet_of("web1", "main", 0);
    struct problem problem = {""};
    struct copy *copy = NULL;
    char path[200];

    (void)unused;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    folder_remove(folder);
    struct filter_copies copies = resumed(NULL);
    for (int count = 0; count <= 40; count++) {
        leave_files(count);
        int result = filter_copies_create(&copies, &packet, &copy, &problem);
        leave_usual_files();
        if (result == 0)
            break;
        assert_int_equal(result, -EMFILE);
        assert_non_null(strstr(problem.text, strerror(EMFILE)));
        snprintf(path, sizeof(path), "%s/web1", folder);
        assert_int_equal(access(path, F_OK), -1);
        snprintf(path, sizeof(path), "%s/web1.2", folder);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_int_equal(copies.count, 1);
    leave_files(0);
    int result = trace_copy_add(copy->trace, RING_CONTROL, 0, control, control_length, &problem);
    leave_usual_files();
    assert_int_equal(result, 1);
    closed(&copies);
}

static int begin(void **unused)
{
    (void)unused;
    seed = seed_of_run("copies");
    if (mkdtemp(base) == NULL)
        return -1;
    snprintf(folder, sizeof(folder), "%s/folder", base);
    for (unsigned i = 0; i < TRACES; i++)
        make_metadata(i);
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < TRACES; i++)
        free(metadata[i]);
    free(control);
    folder_remove(base);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_filter_finds_them),
        cmocka_unit_test(names_are_those_of_machines),
        cmocka_unit_test(copies_are_those_of_recordings),
        cmocka_unit_test(what_else_is_there_stays),
        cmocka_unit_test(bad_metadata_are_refused),
        cmocka_unit_test(names_come_to_an_end),
        cmocka_unit_test(without_files_no_trace_begins),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
