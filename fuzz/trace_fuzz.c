/* SPDX-License-Identifier: MIT */
/*
 * trace_fuzz.c: the input is a trace's two stream files; its metadata is valid. Whatever they contain, the reader keeps
 * the guarantees of trace.h, and repair either closes the trace or leaves it unchanged.
 *
 *      | u32 length of control | control ... | data ... |
 */
#include "trace_example.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ---- files ---- */

static void write_file(const char *name, const void *bytes, size_t size)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size || close(file) < 0) {
        perror(path);
        abort();
    }
}

static bool has_content(const char *name, const uint8_t *bytes, size_t size)
{
    static uint8_t found[1u << 20];
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = read(file, found, sizeof(found));
    close(file);
    return got == (ssize_t)size && (size == 0 || memcmp(found, bytes, size) == 0);
}

static void make_trace(void)
{
    char *text;
    size_t length;

    if (!make_directory())
        return;
    if (trace_metadata_make(uuid, "host", 0, &text, &length) < 0)
        abort();
    write_file("metadata", text, length);
    free(text);
}

/* ---- reading ---- */

struct outcome {
    int result;
    uint64_t records;
    uint64_t sum; /* checksum of all bytes of all records */
    struct source_state state;
    uint64_t partial;
};

static uint64_t sum_bytes(const struct record_header *header)
{
    const uint8_t *bytes = (const uint8_t *)header;
    uint64_t sum = 0;

    for (size_t i = 0; i < event_size(header->id); i++)
        sum = sum * 31 + bytes[i];
    return sum;
}

static void check_event(const struct event *event, uint64_t times[RING_COUNT], uint64_t *last)
{
    const struct event_type *type = event_type(event->header->id);

    PROMISE(type != NULL);
    PROMISE((uintptr_t)event->header % 8 == 0);
    PROMISE(event->origin == 0);
    PROMISE(event->header->time >= times[type->ring]);
    PROMISE(event->header->time >= *last);
    times[type->ring] = *last = event->header->time;
}

static void check_problem(const struct problem *problem)
{
    PROMISE(problem->text[0] != '\0');
    PROMISE(strchr(problem->text, '\n') == NULL);
    PROMISE(strstr(problem->text, "dpm-fuzz-") != NULL);
}

static void read_to_end(struct source *source, size_t size, struct outcome *outcome)
{
    uint64_t times[RING_COUNT] = {0};
    uint64_t last = 0;
    uint64_t complete;
    struct problem problem = {""};
    struct event event;
    bool ended = false;

    while ((outcome->result = source->next(source, &event, &complete, &problem)) > 0) {
        PROMISE(outcome->result == SOURCE_RECORD);
        PROMISE(!ended);
        check_event(&event, times, &last);
        outcome->sum += sum_bytes(event.header);
        ended = event.header->id == EVENT_END;
        /* Bounded: no record is shorter than 48 bytes. */
        PROMISE(++outcome->records <= size / sizeof(struct record));
    }
    outcome->state = source->states[0];
    PROMISE(outcome->state.records == outcome->records);
    outcome->partial = trace_partial_tail(source, 0);
    PROMISE(outcome->partial <= size);
    PROMISE(!outcome->state.complete || ended);
    PROMISE(outcome->state.complete == (outcome->state.end_reason != 0));
    if (outcome->result < 0)
        check_problem(&problem);
    /* The end, or the error, is final. */
    PROMISE(source->next(source, &event, &complete, &problem) == outcome->result);
}

static struct outcome read_trace(size_t size)
{
    struct outcome outcome = {0};
    const char *path = directory;
    struct problem problem = {""};
    struct source *source;

    outcome.result = trace_open(&path, 1, &source, &problem);
    if (outcome.result < 0) {
        check_problem(&problem);
        return outcome;
    }
    PROMISE(source->origins == 1);
    read_to_end(source, size, &outcome);
    trace_close(source);
    return outcome;
}

/* ---- repairing ---- */

/* Afterwards the trace is whole and has the same records, with an END if there was none. */
static void check_repaired(const struct outcome *before, const struct trace_repair *repair,
                           size_t size)
{
    struct outcome after = read_trace(size + TRACE_PAGE_SIZE);
    bool whole = before->state.complete;

    PROMISE(after.result == 0);
    PROMISE(after.state.complete);
    PROMISE(after.partial == 0);
    PROMISE(after.state.lost == before->state.lost);
    PROMISE(repair->trimmed == before->partial);
    PROMISE(repair->end_written == !whole);
    PROMISE(whole || after.state.end_reason == END_REPAIRED);
    PROMISE(after.records == before->records || (!whole && after.records == before->records + 1));
    PROMISE(!whole || after.sum == before->sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint32_t control;
    struct trace_repair repair;
    struct problem problem = {""};

    if (size < sizeof(control) || size > 512 * 1024)
        return 0;
    memcpy(&control, bytes, sizeof(control));
    bytes += sizeof(control);
    size -= sizeof(control);
    control = control < size ? control : (uint32_t)size;
    make_trace();
    write_file("control", bytes, control);
    write_file("data", bytes + control, size - control);
    struct outcome outcome = read_trace(size);
    int result = trace_repair(directory, &repair, &problem);
    PROMISE(result == outcome.result);
    if (result == 0) {
        check_repaired(&outcome, &repair, size);
    } else {
        check_problem(&problem);
        PROMISE(has_content("control", bytes, control));
        PROMISE(has_content("data", bytes + control, size - control));
    }
    return 0;
}

/* ---- the example ---- */

/* A class, and a record of it: a SEND without its offset. */
static void add_class(struct example *example)
{
    struct record class = {
        .header = {.id = EVENT_CLASS, .flags = RECORD_NO_STREAM},
        .class = {EVENT_CLASS_FIRST, EVENT_SEND, EVENT_BODY_FIELD_BIT(1)},
    };

    add_bytes(example, &class, sizeof(class));
    add_record(example, EVENT_SEND);
    memset(example->bytes + example->size - sizeof(class) + 8, EVENT_CLASS_FIRST, 1);
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    struct example example = {.bytes = bytes, .size = sizeof(uint32_t)};

    if (room < 3072)
        return 0;
    begin_packet(&example);
    add_record(&example, EVENT_MACHINE);
    finish_packet(&example, RING_CONTROL);
    begin_packet(&example);
    add_record(&example, EVENT_STREAM);
    add_record(&example, EVENT_PATH);
    add_record(&example, EVENT_CREATEPATH);
    add_record(&example, EVENT_LOST);
    finish_packet(&example, RING_CONTROL);
    /* The data are older than END, which is last in its file. */
    example.time += 10;
    begin_packet(&example);
    add_end(&example, 14);
    finish_packet(&example, RING_CONTROL);
    uint32_t control = (uint32_t)(example.size - sizeof(control));
    memcpy(bytes, &control, sizeof(control));
    example.time -= 10;
    for (int i = 0; i < 2; i++) {
        begin_packet(&example);
        add_record(&example, EVENT_SEND);
        add_record(&example, i == 0 ? EVENT_RECEIVE : EVENT_BLOCK);
        add_class(&example);
        finish_packet(&example, RING_DATA);
    }
    return example.size;
}
