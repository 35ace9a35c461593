/* SPDX-License-Identifier: MIT */
/*
 * feeding_test.c: custom filters: what a filter took and missed is all that the trace has, whatever the filter does: it takes all,
 * is slow, never reads, ends at once or in the middle. And the public header reads the stream as the trace's own reader does.
 *
 *      random records --> trace writer --> trace --+-- trace reader ------------------> records
 *                                                  '-- feeding --pipe--> dpm_next ----> records     equal
 */
#include "base/folder.h"
#include "filter/feeding.h"
#include "filter/packet_stream.h"
#include "trace/trace.h"

#include "seeded.h"

#include <dpm/stream.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

static char scratch[] = "/tmp/feeding_XXXXXX";
static char path[64];
static uint64_t records_written;

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(scratch) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    folder_remove(scratch);
    return 0;
}

/* ---- a trace ---- */

static struct trace_writer *begin_trace(const char *name)
{
    const struct machine_record machine = {.header = {.time = 1}, .name = "here"};
    struct trace_writer *writer;
    struct problem problem = {""};

    snprintf(path, sizeof(path), "%s/%s", scratch, name);
    if (trace_writer_new(path, &machine, UINT64_MAX, &writer, &problem) < 0)
        fail_msg("%s", problem.text);
    records_written = 1;
    return writer;
}

static void add_records(struct trace_writer *writer, uint64_t count, uint64_t *seed)
{
    struct problem problem = {""};
    static uint64_t time = 10;

    for (uint64_t i = 0; i < count; i++) {
        struct record record = {.header = {.time = ++time, .id = EVENT_SEND, .stream = 1}};
        record.message.bytes = (uint32_t)random_below(seed, 1000);
        record.header.proc_time_and_pc = random_number(seed) & PROC_TIME_MASK;
        bool reduced = random_below(seed, 10) == 0;
        if (trace_writer_append_without(writer, &record.header,
                                        reduced ? EVENT_BODY_FIELD_BIT(2) : 0, &problem) < 0)
            fail_msg("%s", problem.text);
        records_written++;
    }
    /* a class of the other ring */
    struct record last = {.header = {.time = ++time, .id = EVENT_TERMINATION, .stream = 1}};
    assert_int_equal(trace_writer_append_without(writer, &last.header, 1 << 6, &problem), 0);
    records_written++;
}

static void end_trace(struct trace_writer *writer)
{
    struct problem problem;

    assert_int_equal(trace_writer_close(writer, END_COMPLETE, &problem), 0);
}

/* All records in the trace's files, as its END says. */
static uint64_t records_of_trace(void)
{
    const char *name = path;
    struct source *source;
    struct event event;
    struct problem problem;
    uint64_t complete, records = 0;

    assert_int_equal(trace_open(&name, 1, &source, &problem), 0);
    while (source->next(source, &event, &complete, &problem) == SOURCE_RECORD)
        if (event.header->id == EVENT_END)
            records = ((const struct end_record *)event.header)->records;
    trace_close(source);
    return records;
}

/* ---- filters ---- */

static struct feeding *feed_words(const char *const *words, int output)
{
    struct feeding *feeding;
    struct problem problem = {""};

    if (feeding_new(words, output, &feeding, &problem) < 0 ||
        feeding_add(feeding, path, &problem) < 0)
        fail_msg("%s", problem.text);
    return feeding;
}

static struct feeding *feed(const char *command)
{
    const char *const words[] = {"sh", "-c", command, NULL};

    return feed_words(words, STDOUT_FILENO);
}

static void check_sum(const struct feeding_result *result)
{
    assert_string_equal(result->wrong, "");
    assert_int_equal(result->records + result->missed_records, records_of_trace());
}

/* The command's filter of a finished trace of that many records. */
static struct feeding_result run_filter(const char *name, const char *command, uint64_t records)
{
    uint64_t seed = seed_of_run(name);
    struct trace_writer *writer = begin_trace(name);
    struct feeding_result result;

    add_records(writer, records, &seed);
    end_trace(writer);
    struct feeding *feeding = feed(command);
    /* only one that stands still has to be given up */
    feeding_be_patient(feeding, strcmp(name, "stopped") == 0 ? 300000000 : 60000000000);
    feeding_end(feeding, NULL, NULL, &result);
    check_sum(&result);
    return result;
}

static void test_takes_all(void **state)
{
    struct feeding_result result = run_filter("all", "cat > /dev/null", 50000);

    (void)state;
    assert_int_equal(result.missed_packets, 0);
    assert_true(result.packets > 30);
    assert_true(result.has_status && result.status == 0 && !result.killed);
}

/* Much more than fits into the pipe, a little at a time. */
static void test_is_slow(void **state)
{
    struct feeding_result result =
        run_filter("slow", "while [ $(head -c 300000 | wc -c) != 0 ]; do sleep 0.01; done", 60000);

    (void)state;
    assert_int_equal(result.missed_packets, 0);
    assert_false(result.killed);
}

static void test_never_reads(void **state)
{
    struct feeding_result result = run_filter("stopped", "kill -STOP $$", 60000);

    (void)state;
    assert_int_equal(result.packets, 0);
    assert_int_equal(result.records, 0);
    assert_true(result.killed);
}

static void test_ends_at_once(void **state)
{
    struct feeding_result result = run_filter("dead", "exit 3", 60000);

    (void)state;
    assert_int_equal(result.records, 0);
    assert_true(result.has_status && WEXITSTATUS(result.status) == 3 && !result.killed);
    assert_string_equal(result.why, "it had ended");
}

/* A packet of which it has read a part is missed. */
static void test_ends_in_the_middle(void **state)
{
    struct feeding_result result = run_filter("middle", "head -c 500000 > /dev/null", 60000);

    (void)state;
    assert_true(result.packets > 0 && result.missed_packets > 0);
    /* 48 bytes each, in packets with 88 bytes besides, after the metadata */
    assert_true(result.records < 500000 / 48);
    assert_true(result.records > 300000 / 48);
    assert_false(result.killed);
}

/* Words are what they are, for no shell takes them apart; and the output goes where it is to go. */
static void test_words(void **state)
{
    const char *const words[] = {"printf", "%s|", "it's", "$HOME *", "", NULL};
    const char *const missing[] = {"no-such-program", NULL};
    struct trace_writer *writer = begin_trace("words");
    struct feeding_result result;
    struct feeding *none;
    struct problem problem = {""};
    int ends[2];
    char text[64] = "";

    (void)state;
    end_trace(writer);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    feeding_end(feed_words(words, ends[1]), NULL, NULL, &result);
    assert_true(result.has_status && result.status == 0);
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
    assert_string_equal(text, "it's|$HOME *||");
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(feeding_new(missing, STDOUT_FILENO, &none, &problem), -ENOENT);
    assert_non_null(strstr(problem.text, "no-such-program"));
}

static bool at_once(void *context)
{
    (void)context;
    return true;
}

static void test_is_told_to_stop(void **state)
{
    uint64_t seed = seed_of_run("told");
    struct trace_writer *writer = begin_trace("told");
    struct feeding_result result;

    (void)state;
    add_records(writer, 60000, &seed);
    end_trace(writer);
    struct feeding *feeding = feed("sleep 1000");
    feeding_end(feeding, at_once, NULL, &result);
    check_sum(&result);
    assert_true(result.killed);
}

/* The writer is never held up: it goes on while a filter that reads nothing has a full pipe. */
static void test_writer_goes_on(void **state)
{
    uint64_t seed = seed_of_run("growing");
    struct trace_writer *writer = begin_trace("growing");
    struct feeding *feeding = feed("kill -STOP $$");
    struct problem problem;
    struct feeding_result result;

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        add_records(writer, 5000, &seed);
        assert_int_equal(trace_writer_flush(writer, &problem), 0);
    }
    end_trace(writer);
    feeding_be_patient(feeding, 100000000);
    feeding_end(feeding, NULL, NULL, &result);
    check_sum(&result);
    assert_true(result.missed_records > 100000);
}

/* ---- the stream ---- */

static void test_sizes(void **state)
{
    (void)state;
    for (unsigned id = 0; id < 256; id++)
        assert_int_equal(dpm_record_size(id), event_size(id));
}

/* What comes through the pipe while the trace grows is what the reader of the finished trace has, class by class. */
static void test_stream_is_the_trace(void **state)
{
    uint64_t seed = seed_of_run("stream");
    char copy[80], command[120];
    struct problem problem = {""};
    struct feeding_result fed;

    (void)state;
    struct trace_writer *writer = begin_trace("stream");
    snprintf(copy, sizeof(copy), "%s/copy", scratch);
    snprintf(command, sizeof(command), "cat > %s", copy);
    struct feeding *feeding = feed(command);
    for (unsigned i = 0; i < 5; i++) {
        add_records(writer, 1000, &seed);
        trace_writer_flush(writer, &problem);
    }
    end_trace(writer);
    feeding_end(feeding, NULL, NULL, &fed);

    int file = open(copy, O_RDONLY | O_CLOEXEC);
    struct packet_stream *stream;
    struct event event, expected;
    assert_int_equal(packet_stream_new(file, &stream), 0);
    const char *name = path;
    struct source *source;
    uint64_t complete, records = 0, sends = 0;
    assert_int_equal(trace_open(&name, 1, &source, &problem), 0);
    int result;
    while ((result = packet_stream_next(stream, &event, &problem)) > 0) {
        records++;
        if (event.header->id != EVENT_SEND)
            continue;
        do
            assert_int_equal(source->next(source, &expected, &complete, &problem), SOURCE_RECORD);
        while (expected.header->id != EVENT_SEND);
        assert_memory_equal(event.header, expected.header, sizeof(struct record));
        assert_int_equal(event.absent, expected.absent);
        assert_int_equal(event.wall_offset, expected.wall_offset);
        sends++;
    }
    assert_int_equal(result, 0);
    assert_int_equal(sends, 5000);
    assert_int_equal(records, fed.records);
    assert_int_equal(packet_stream_missed(stream), 0);
    trace_close(source);
    packet_stream_free(stream);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_all),           cmocka_unit_test(test_is_slow),
        cmocka_unit_test(test_never_reads),         cmocka_unit_test(test_ends_at_once),
        cmocka_unit_test(test_ends_in_the_middle),  cmocka_unit_test(test_is_told_to_stop),
        cmocka_unit_test(test_writer_goes_on),      cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_stream_is_the_trace), cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
