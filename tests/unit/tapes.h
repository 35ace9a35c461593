/* SPDX-License-Identifier: MIT */
/*
 * tapes.h: sources made of arrays, and records for them.
 *
 *      tape  | MACHINE | STREAM | PATH | SEND | RECEIVE |  --next--> history
 */
#ifndef DPM_TAPES_H
#define DPM_TAPES_H

#include "history/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "seeded.h"

struct tape {
    struct source source;
    struct source_state state;
    struct record_header **records;
    size_t count;
    size_t capacity;
    size_t at;
    /* random numbers: now and then there is no record yet; NULL: there always is */
    uint64_t *patience;
    int64_t wall_offset;
    uint64_t last_time;
};

static inline int tape_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                            struct problem *problem)
{
    struct tape *tape = (struct tape *)source;

    (void)problem;
    if (tape->patience != NULL && random_below(tape->patience, 4) == 0) {
        *ret_complete = tape->at < tape->count ? tape->records[tape->at]->time : UINT64_MAX / 2;
        return SOURCE_NONE_YET;
    }
    if (tape->at == tape->count)
        return SOURCE_END;
    *ret_event = (struct event){tape->records[tape->at++], 0, tape->wall_offset};
    return SOURCE_RECORD;
}

static inline void tape_init(struct tape *tape)
{
    *tape = (struct tape){.source = {.next = tape_next, .origins = 1}};
    tape->source.states = &tape->state;
}

static inline struct record_header *tape_add(struct tape *tape, const void *record)
{
    size_t size = event_size(((const struct record_header *)record)->id);
    struct record_header *copy = malloc(size);

    assert_non_null(copy);
    assert_int_equal(array_reserve(&tape->records, &tape->capacity, tape->count + 1, sizeof(copy)),
                     0);
    memcpy(copy, record, size);
    assert_true(copy->time >= tape->last_time);
    tape->last_time = copy->time;
    tape->records[tape->count++] = copy;
    return copy;
}

static inline void tape_done(struct tape *tape)
{
    for (size_t i = 0; i < tape->count; i++)
        free(tape->records[i]);
    free(tape->records);
}

/* ---- records, for both kinds of tests ---- */

static inline void add_machine(struct tape *tape, uint64_t time, uint8_t machine, uint64_t flags)
{
    struct machine_record record = {.header = {.time = time, .id = EVENT_MACHINE, .flags = 16},
                                    .machine_id = {machine},
                                    .boot_id = {machine},
                                    .meter_flags = flags};

    snprintf(record.addresses, sizeof(record.addresses), "10.0.0.%u", machine);
    tape_add(tape, &record);
}

static inline void add_stream(struct tape *tape, uint64_t time, uint32_t stream, uint32_t process,
                              uint32_t parent)
{
    struct stream_record record = {
        .header = {.time = time, .id = EVENT_STREAM, .flags = 16, .stream = stream},
        .process = process,
        .parent = parent};

    tape_add(tape, &record);
}

static inline struct record *add_event(struct tape *tape, uint64_t time, enum event_id id,
                                       uint32_t stream, uint32_t sequence)
{
    struct record record = {
        .header = {.time = time, .id = (uint8_t)id, .stream = stream, .sequence = sequence}};

    record.header.proc_time_and_pc = time & 0xffffffffffffULL;
    return (struct record *)tape_add(tape, &record);
}

static inline struct record *add_message(struct tape *tape, uint64_t time, enum event_id id,
                                         uint32_t stream, uint32_t sequence, uint32_t path,
                                         uint32_t offset, uint32_t bytes)
{
    struct record *record = add_event(tape, time, id, stream, sequence);

    record->message.path = path;
    record->message.offset = offset;
    record->message.bytes = bytes;
    return record;
}

static inline struct path_record *add_unix(struct tape *tape, uint64_t time, uint32_t path,
                                           uint8_t kind, uint64_t cookie, uint64_t peer)
{
    struct path_record record = {.header = {.time = time, .id = EVENT_PATH, .flags = 16},
                                 .path = path,
                                 .kind = kind,
                                 .family = AF_UNIX,
                                 .cookie = cookie,
                                 .peer = peer};

    return (struct path_record *)tape_add(tape, &record);
}

static inline struct path_record *add_internet(struct tape *tape, uint64_t time, uint32_t path,
                                               uint8_t kind, uint8_t local, uint16_t local_port,
                                               uint8_t remote, uint16_t remote_port)
{
    struct path_record record = {.header = {.time = time, .id = EVENT_PATH, .flags = 16},
                                 .path = path,
                                 .kind = kind,
                                 .family = AF_INET,
                                 .local = {10, 0, 0, local},
                                 .remote = {10, 0, 0, remote},
                                 .local_port = local_port,
                                 .remote_port = remote_port};

    return (struct path_record *)tape_add(tape, &record);
}

#endif
