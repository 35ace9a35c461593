/* SPDX-License-Identifier: MIT */
/*
 * raw_fuzz.c: the input is a file of raw records, behind two bytes that choose among layouts: with sizes in the header or without,
 * either byte order, sockets or processes. Whatever it is, it is refused with one line, or becomes whole records in order of time.
 */
#include "filter/raw_events.h"
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>

static struct descriptions *describe(unsigned choice)
{
    char text[1200];
    struct descriptions *all;
    struct problem problem;

    snprintf(
        text, sizeof(text),
        "set timeUnit=%s, byteOrder=%s, paths=%s;"
        "header 0, machine,0,1,10 traceType,1,1,10 time,2,%d,10 procTime,6,2,10 %s;"
        "SEND 1, from,0,1,10:from to,1,1,10:to bytes,2,1,10;"
        "RECEIVE 2, from,0,1,10:from to,1,1,10:to bytes,2,1,10;"
        "RECEIVECALL 3, task,0,1,10:process; FORK 4, task,0,1,10:process child,1,1,10:child;"
        "MESSAGEQUEUED 5, a,0,1,16:source b,1,1,16:destination channel,2,1,10 bytes,3,1,10;"
        "CONNECT 6, task,0,1,10:process a,1,1,16:source b,2,1,16:destination name,3,4,text:name;"
        "TERMINATION 7, task,0,1,10:process status,1,1,10; MOVE 8; DESTROYPATH 9, "
        "from,0,1,10:from to,1,1,10:to;",
        choice & 1 ? "s" : "ns", choice & 2 ? "big" : "little", choice & 4 ? "bytes" : "messages",
        choice & 8 ? 8 : 4, choice & 16 ? "recordSize,10,2,10" : "x,10,2,10");
    if (descriptions_parse("layout", text, strlen(text), &all, &problem) < 0) {
        fprintf(stderr, "%s\n", problem.text);
        abort();
    }
    return all;
}

static void check_made(struct raw_events *events, uint64_t *time)
{
    const struct record_header *header;

    while ((header = record_queue_peek(&events->made)) != NULL) {
        PROMISE(event_size(header->id) != 0 && header->time >= *time);
        PROMISE(header->stream <= events->streams);
        *time = header->time;
        record_queue_take(&events->made);
    }
}

static void convert(const struct raw_records *records)
{
    struct raw_events events;
    struct machine_record machine;
    struct problem problem;
    uint64_t time = 0, absent;

    raw_events_begin(&events, records);
    for (size_t i = 0; i < records->count; i++) {
        if (i == 0 || records->list[i].machine != records->list[i - 1].machine) {
            PROMISE(raw_events_machine(&events, i, &machine) == 0);
            time = machine.header.time;
        }
        PROMISE(raw_events_make(&events, i, &absent, &problem) == 0);
        check_made(&events, &time);
    }
    PROMISE(events.left_out <= records->count);
    raw_events_done(&events);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct raw_records records;
    struct problem problem = {""};

    if (size < 1)
        return 0;
    struct descriptions *all = describe(bytes[0]);
    unsigned char *copy = malloc(size);
    memcpy(copy, bytes + 1, size - 1);
    int result = raw_records_take(&records, all, "input", copy, size - 1, &problem);
    if (result == 0) {
        PROMISE(records.cut < 12 + DESCRIPTION_SIZE_MOST && records.count > 0);
        convert(&records);
        raw_records_done(&records);
    } else {
        PROMISE(result == -EINVAL && strncmp(problem.text, "input: ", 7) == 0);
        PROMISE(strchr(problem.text, '\n') == NULL);
    }
    descriptions_free(all);
    return 0;
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    static const uint8_t example[] = {
        0,                                             /* the layout; a header: */
        1, 3,  1, 0,   0,   0,  1,  0, 0, 0, 13, 0, 9, /* RECEIVECALL */
        2, 3,  0, 0,   0,   0,  0,  0, 0, 0, 13, 0, 9, /* another, earlier than the RECEIVE that it leads to */
        1, 1,  2, 0,   0,   0,  2,  0, 0, 0, 15, 0, 8, 9, 40, 2, 2,  1,  0, 0, 0, 9, 0,  0,
        0, 15, 0, 8,   9,   40, 1,  4, 3, 0, 0,  0, 1, 0, 0,  0, 14, 0,  9, 7, 1, 5, 5,  0,
        0, 0,  9, 0,   0,   0,  16, 0, 1, 2, 3,  4, 1, 6, 6,  0, 0,  0,  1, 0, 0, 0, 19, 0,
        9, 1,  2, 'a', 'b', 0,  0,  1, 7, 7, 0,  0, 0, 9, 0,  0, 0,  14, 0, 9, 1};

    if (sizeof(example) > room)
        return 0;
    memcpy(bytes, example, sizeof(example));
    return sizeof(example);
}
