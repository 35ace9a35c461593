/* SPDX-License-Identifier: MIT */
/* trace_formats_test.c: traces of format 2, and records that lack fields (trace/classes.h). */
#include "trace/trace.h"

#include "seeded.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char folder[100];

static const char *trace_path(const char *file)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/trace%s%s", folder, file[0] == '\0' ? "" : "/", file);
    return path;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_trace(void)
{
    nftw(trace_path(""), remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static char *load(const char *file, size_t *ret_size)
{
    FILE *stream = fopen(trace_path(file), "r");
    static char bytes[1 << 20];

    assert_non_null(stream);
    *ret_size = fread(bytes, 1, sizeof(bytes) - 1, stream);
    bytes[*ret_size] = '\0';
    fclose(stream);
    return bytes;
}

static void store(const char *file, const char *bytes, size_t size)
{
    FILE *stream = fopen(trace_path(file), "w");

    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
}

static const struct machine_record machine = {
    .header.time = 1,
    .machine_id = {1, 2, 3},
    .boot_id = {4, 5},
    .meter_flags = METER_FLAG_PC | EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_WAKEUP),
    .kinds_left_out = METER_UDP,
    .cpus = 7,
    .meter = METER_PTRACE,
    .name = "host",
    .system = "Linux",
    .addresses = "192.0.2.1",
};

static struct trace_writer *begin(void)
{
    struct trace_writer *writer = NULL;
    struct problem problem = {""};

    remove_trace();
    if (trace_writer_new(trace_path(""), &machine, UINT64_MAX / 2, &writer, &problem) < 0)
        fail_msg("%s", problem.text);
    return writer;
}

static struct source *reopen(void)
{
    const char *path = trace_path("");
    struct source *source = NULL;
    struct problem problem = {""};

    if (trace_open(&path, 1, &source, &problem) < 0)
        fail_msg("%s", problem.text);
    return source;
}

static struct event next(struct source *source)
{
    struct event event;
    struct problem problem = {""};
    uint64_t complete;

    if (source->next(source, &event, &complete, &problem) != SOURCE_RECORD)
        fail_msg("no further record: %s", problem.text);
    return event;
}

/* ---- format 2 ---- */

/* Rewrites a trace of today, whose first packet holds MACHINE alone, as format 2 had it: 8 bytes less of MACHINE. */
static void make_format_2(void)
{
    size_t size;
    char *bytes = load("metadata", &size);
    char *format = strstr(bytes, "trace_format = 3;");

    assert_non_null(format);
    format[strlen("trace_format = ")] = '2';
    store("metadata", bytes, size);
    bytes = load("control", &size);
    struct trace_packet_context *context =
        (struct trace_packet_context *)(bytes + sizeof(struct trace_packet_header));
    assert_int_equal(context->content_size, (88 + sizeof(struct machine_record)) * 8);
    context->content_size -= 64;
    uint32_t flags = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_WAKEUP) | 1u << 31;
    char *record = bytes + 88;
    memcpy(record + 64, &flags, sizeof(flags));
    memmove(record + 68, record + 72, 12); /* kindsLeftOut, cpus, meter */
    memmove(record + 80, record + 88, 384);
    memset(record + 464, 0, 8);
    store("control", bytes, size);
}

static void test_format_2_is_read(void **unused)
{
    struct trace_writer *writer = begin();
    const struct record send = {.header = {.time = 5, .id = EVENT_SEND, .stream = 1},
                                .message = {.path = 1, .bytes = 10}};

    (void)unused;
    assert_int_equal(trace_writer_append(writer, &send.header, NULL), 0);
    assert_int_equal(trace_writer_close(writer, END_COMPLETE, NULL), 0);
    make_format_2();
    for (unsigned pass = 0; pass < 2; pass++) {
        struct source *source = reopen();
        if (pass == 1) {
            next(source);
            assert_int_equal(trace_rewind(source, NULL), 0);
        }
        struct event event = next(source);
        struct machine_record expected = machine;
        expected.header.id = EVENT_MACHINE;
        expected.header.flags = RECORD_NO_STREAM;
        assert_memory_equal(event.header, &expected, sizeof(expected));
        event = next(source);
        assert_memory_equal(event.header, &send, sizeof(send));
        assert_int_equal(next(source).header->id, EVENT_END);
        trace_close(source);
    }
}

/* ---- records that lack fields ---- */

/* Fields that a selection may remove: those of the body, and load, procTime and PC. */
static uint64_t removable(const struct event_type *type)
{
    uint64_t fields = 1 << 2 | 1 << 5 | 1 << 6;

    for (size_t i = 0; type->fields[i].name != NULL; i++)
        fields |= EVENT_BODY_FIELD_BIT(i);
    return fields;
}

struct expected {
    union {
        struct record_header header;
        char bytes[RECORD_SIZE_MOST];
    } record;
    uint64_t absent;
};

static void clear(struct expected *expected, const struct event_type *type)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        const struct event_field *field = event_absent_field(type, bit);
        if (expected->absent >> bit & 1)
            memset(expected->record.bytes + field->offset, 0, field->size);
    }
}

#define RECORDS 400
#define SETS    40 /* different sets of fields at most, so that each ring has room for its classes */

static void write_random(struct trace_writer *writer, uint64_t *state, struct expected *list)
{
    uint64_t sets[SETS];
    uint8_t types[SETS];

    for (unsigned i = 0; i < SETS; i++) {
        do
            types[i] = (uint8_t)(1 + random_below(state, EVENT_ID_END - 1));
        while (types[i] == EVENT_MACHINE || types[i] == EVENT_END || types[i] == EVENT_CLASS ||
               types[i] == EVENT_BEGIN);
        sets[i] = random_number(state) & removable(event_type(types[i]));
        if (random_below(state, 4) == 0)
            sets[i] = 0;
    }
    for (unsigned i = 0; i < RECORDS; i++) {
        unsigned set = (unsigned)random_below(state, SETS);
        struct expected *expected = &list[i];
        for (size_t at = 0; at < sizeof(expected->record); at++)
            expected->record.bytes[at] = (char)random_number(state);
        expected->record.header.id = types[set];
        expected->record.header.time = 10 + i;
        expected->absent = sets[set];
        struct problem problem = {""};
        if (trace_writer_append_without(writer, &expected->record.header, expected->absent,
                                        &problem) < 0)
            fail_msg("%s", problem.text);
        clear(expected, event_type(types[set]));
        if (random_below(state, 50) == 0)
            assert_int_equal(trace_writer_flush(writer, NULL), 0);
    }
}

static void check_random(struct source *source, const struct expected *list)
{
    assert_int_equal(next(source).header->id, EVENT_MACHINE);
    for (unsigned i = 0; i < RECORDS; i++) {
        struct event event;
        do {
            event = next(source);
            if (event.header->id == EVENT_CLASS)
                assert_int_equal(event.absent, 0);
        } while (event.header->id == EVENT_CLASS);
        assert_int_equal(event.absent, list[i].absent);
        assert_memory_equal(event.header, list[i].record.bytes, event_size(event.header->id));
    }
    assert_int_equal(next(source).header->id, EVENT_END);
}

static void test_fields_are_absent(void **unused)
{
    uint64_t state = seed_of_run("classes");
    struct expected *list = calloc(RECORDS, sizeof(*list));

    (void)unused;
    for (unsigned round = 0; round < 20; round++) {
        struct trace_writer *writer = begin();
        write_random(writer, &state, list);
        assert_int_equal(trace_writer_close(writer, END_COMPLETE, NULL), 0);
        struct source *source = reopen();
        check_random(source, list);
        assert_int_equal(trace_rewind(source, NULL), 0);
        check_random(source, list);
        trace_close(source);
    }
    free(list);
}

static void append_send(struct trace_writer *writer, uint64_t absent, int expected,
                        const char *text)
{
    const struct record send = {.header = {.time = 5, .id = EVENT_SEND, .stream = 1}};
    struct problem problem = {""};

    assert_int_equal(trace_writer_append_without(writer, &send.header, absent, &problem), expected);
    assert_non_null(strstr(problem.text, text));
}

static void test_what_identifies_a_record_is_never_absent(void **unused)
{
    struct trace_writer *writer = begin();

    (void)unused;
    for (unsigned bit = 0; bit < 64; bit++) {
        bool possible = (removable(event_type(EVENT_SEND)) >> bit & 1) != 0;
        append_send(writer, 1ull << bit, possible ? 0 : -EINVAL,
                    possible ? "" : "a SEND cannot lack these fields");
    }
    assert_int_equal(trace_writer_close(writer, END_COMPLETE, NULL), 0);
}

static void test_there_are_only_so_many_classes(void **unused)
{
    struct trace_writer *writer = begin();
    uint64_t fields =
        removable(event_type(EVENT_SEND)); /* 7 fields: 127 sets, and one of another type */

    (void)unused;
    for (uint64_t set = fields; set != 0; set = (set - 1) & fields)
        append_send(writer, set, 0, "");
    const struct record block = {.header = {.time = 5, .id = EVENT_BLOCK, .stream = 1}};
    struct problem problem = {""};
    assert_int_equal(trace_writer_append_without(writer, &block.header, 1 << 8, &problem), 0);
    assert_int_equal(trace_writer_append_without(writer, &block.header, 1 << 9, &problem), -E2BIG);
    assert_non_null(strstr(problem.text, "remove fewer"));
    assert_int_equal(trace_writer_close(writer, END_COMPLETE, NULL), 0);
    struct source *source = reopen();
    for (unsigned i = 0; i < 1 + 2 * 128 + 1; i++)
        next(source);
    trace_close(source);
}

/* A CLASS that is impossible, or contradicts an earlier one, is damage. */
static void test_wrong_classes_are_refused(void **unused)
{
    static const struct {
        uint32_t number, type;
        uint64_t absent;
    } wrong[] = {
        {127, EVENT_SEND, 1 << 8},
        {256, EVENT_SEND, 1 << 8},
        {128, 0, 1 << 8},
        {128, EVENT_ID_END, 1 << 8},
        {128, EVENT_CLASS, 1 << 8},
        {128, EVENT_MACHINE, 1 << 8},
        {128, EVENT_SEND, 0},
        {128, EVENT_SEND, 1 << 12},
        {128, EVENT_SEND, 1},
        {128, EVENT_SEND, 1ull << 63},
        {128, EVENT_STREAM, 1 << 8},
        {129, EVENT_SEND, 1 << 8},
        {UINT32_MAX, EVENT_SEND, 1 << 8},
    };

    (void)unused;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct trace_writer *writer = begin();
        append_send(writer, 1 << 8, 0, "");
        assert_int_equal(trace_writer_close(writer, END_COMPLETE, NULL), 0);
        size_t size;
        char *bytes = load("data", &size);
        struct record *class = (struct record *)(bytes + 88);
        assert_int_equal(class->header.id, EVENT_CLASS);
        class->class.number = wrong[i].number;
        class->class.type = wrong[i].type;
        class->class.absent = wrong[i].absent;
        store("data", bytes, size);
        const char *path = trace_path("");
        struct source *source = NULL;
        struct problem problem = {""};
        struct event event;
        uint64_t complete;
        int result = trace_open(&path, 1, &source, &problem);
        while (result == 0 || result == SOURCE_RECORD) {
            result = source->next(source, &event, &complete, &problem);
            assert_int_not_equal(result, SOURCE_END);
        }
        assert_int_equal(result, -EBADMSG);
        assert_non_null(strstr(problem.text, "damaged here"));
        trace_close(source);
    }
}

static void test_babeltrace_reads_classes(void **unused)
{
    struct trace_writer *writer = begin();
    char command[PATH_MAX + 100], line[1000];

    (void)unused;
    append_send(writer, EVENT_BODY_FIELD_BIT(1) | EVENT_BODY_FIELD_BIT(3), 0, "");
    append_send(writer, 0, 0, "");
    assert_int_equal(trace_writer_close(writer, END_COMPLETE, NULL), 0);
    snprintf(command, sizeof(command), "babeltrace2 %s 2>&1", trace_path(""));
    FILE *output = popen(command, "r");
    bool without = false, whole = false;
    assert_non_null(output);
    while (fgets(line, sizeof(line), output) != NULL) {
        if (strstr(line, "not found") != NULL) {
            pclose(output);
            print_message("# babeltrace2 is not installed\n");
            skip();
        }
        if (strstr(line, " SEND: ") == NULL)
            continue;
        if (strstr(line,
                   "{ path = 0, unused36 = [ [0] = 0, [1] = 0, [2] = 0, [3] = 0 ], bytes = 0, "
                   "unused44 = ") != NULL)
            without = true;
        if (strstr(line, "{ path = 0, offset = 0, bytes = 0, span = 0 }") != NULL)
            whole = true;
    }
    assert_int_equal(pclose(output), 0);
    assert_true(without && whole);
}

static int make_folder(void **unused)
{
    (void)unused;
    strcpy(folder, "/tmp/dpm-formats-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **unused)
{
    (void)unused;
    remove_trace();
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format_2_is_read),
        cmocka_unit_test(test_fields_are_absent),
        cmocka_unit_test(test_what_identifies_a_record_is_never_absent),
        cmocka_unit_test(test_there_are_only_so_many_classes),
        cmocka_unit_test(test_wrong_classes_are_refused),
        cmocka_unit_test(test_babeltrace_reads_classes),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
