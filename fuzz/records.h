/* SPDX-License-Identifier: MIT */
/*
 * records.h: the input as records of up to three sources, in order of arrival, with any content; for targets that read
 * a history.
 *
 *      | source | id | flags | stream | ... 48 bytes of a record, or more of an identity | source ...
 */
#ifndef DPM_RECORDS_H
#define DPM_RECORDS_H

#include "fuzz.h"
#include "history/history.h"

#include <string.h>

#define SOURCES      3
#define RECORDS_MOST 8192
#define STREAMS      16

/* The header before each record. */
struct item {
    uint8_t source;
    uint8_t id;
    uint8_t flags;
    uint8_t stream;
    uint32_t later; /* ns after the previous record */
    uint8_t body[40];
};

struct tape {
    struct source source;
    struct source_state state;
    uint8_t (*records)[sizeof(struct machine_record)];
    uint32_t count;
    uint32_t at;
    uint64_t time;
    uint32_t sequences[STREAMS];
    uint32_t last[STREAMS];
    bool began[STREAMS];
    bool pauses;
};

static inline int tape_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                            struct problem *problem)
{
    struct tape *tape = (struct tape *)source;

    (void)problem;
    tape->pauses = !tape->pauses && tape->count % 2;
    if (tape->pauses) {
        *ret_complete = 0;
        return SOURCE_NONE_YET;
    }
    if (tape->at == tape->count)
        return SOURCE_END;
    *ret_event = (struct event){(const struct record_header *)tape->records[tape->at++], 0, 0};
    return SOURCE_RECORD;
}

/* Ensures what a reader guarantees: times never decrease. Everything else comes from the input. */
static inline void add_record(struct tape *tape, const struct item *item)
{
    uint8_t *bytes = tape->records[tape->count];
    struct record_header header = {
        .id = (uint8_t)(1 + item->id % (EVENT_ID_END - 1)),
        .flags = item->flags,
        .stream = item->stream % STREAMS,
    };

    tape->time += item->later % 4 == 0 ? (uint64_t)item->later << 4 : item->later % 10000;
    header.time = tape->time;
    header.proc_time_and_pc = item->later;
    header.sequence = tape->sequences[header.stream]++;
    memset(bytes, 0, sizeof(*tape->records));
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + sizeof(header), item->body, sizeof(item->body));
    tape->count++;
}

/* Makes the tapes from the input; returns how many records they have, or -1: too many. */
static inline int64_t tapes_make(struct tape tapes[SOURCES], const uint8_t *bytes, size_t size)
{
    size_t count = size / sizeof(struct item);

    memset(tapes, 0, SOURCES * sizeof(*tapes));
    if (count > RECORDS_MOST)
        return -1;
    for (unsigned i = 0; i < SOURCES; i++) {
        tapes[i].source = (struct source){tape_next, 1, &tapes[i].state};
        tapes[i].records = calloc(count + 1, sizeof(*tapes[i].records));
        PROMISE(tapes[i].records != NULL);
    }
    for (size_t i = 0; i < count; i++) {
        struct item item;
        memcpy(&item, bytes + i * sizeof(item), sizeof(item));
        add_record(&tapes[item.source % SOURCES], &item);
    }
    return (int64_t)count;
}

/* A history of the tapes, from their beginning. */
static inline struct history *tapes_history(struct tape tapes[SOURCES])
{
    struct source *sources[SOURCES];
    struct problem problem = {""};
    struct history *history;

    for (unsigned i = 0; i < SOURCES; i++) {
        sources[i] = &tapes[i].source;
        tapes[i].at = 0;
    }
    PROMISE(history_new(sources, SOURCES, &history, &problem) == 0);
    return history;
}

static inline void tapes_done(struct tape tapes[SOURCES])
{
    for (unsigned i = 0; i < SOURCES; i++)
        free(tapes[i].records);
}

/* ---- the example: a connection of two machines, a pipe, a child ---- */

struct example {
    struct item *items;
    size_t count;
    size_t room;
};

static inline void add(struct example *example, uint8_t source, enum event_id id, uint8_t flags,
                       uint8_t stream, const void *body, size_t size)
{
    struct item item = {source, (uint8_t)(id - 1), flags, stream, 1001, {0}};

    if (example->count == example->room)
        return;
    memcpy(item.body, body, size < sizeof(item.body) ? size : sizeof(item.body));
    example->items[example->count++] = item;
}

static inline void add_path(struct example *example, uint8_t source, uint8_t kind, uint32_t number,
                            uint64_t cookie, uint64_t peer)
{
    struct path_record path = {.path = number, .kind = kind, .family = 2, .cookie = cookie};

    path.peer = peer;
    add(example, source, EVENT_PATH, RECORD_NO_STREAM, 0, &path.path,
        sizeof(path) - sizeof(path.header));
}

static inline void add_message(struct example *example, uint8_t source, enum event_id id,
                               uint8_t stream, uint32_t path, uint32_t offset, uint32_t bytes)
{
    const uint32_t body[4] = {path, offset, bytes, 0};

    add(example, source, id, 0, stream, body, sizeof(body));
}

size_t fuzz_example(uint8_t *bytes, size_t room)
{
    struct item items[48];
    struct example example = {items, 0, ARRAY_SIZE(items)};
    const uint32_t process[] = {1, 1, 3, 0};
    const uint32_t child[] = {4, 0, 0, 0};
    const uint32_t wait[] = {61, 1, 5000, 0};
    const uint32_t last[] = {0, 1, 0, 0};

    for (uint8_t source = 0; source < 2; source++) {
        struct machine_record machine = {.machine_id = {source}, .meter_flags = UINT32_MAX};
        add(&example, source, EVENT_MACHINE, RECORD_NO_STREAM, 0, machine.machine_id, 40);
        add_path(&example, source, PATH_TCP, 1, 0, 0);
        add_path(&example, source, PATH_PIPE, 2, 5, 6);
        add_path(&example, source, PATH_PIPE, 3, 6, 5);
        add(&example, source, EVENT_STREAM, RECORD_NO_STREAM, 1, process, sizeof(process));
        add(&example, source, EVENT_CREATEPROCESS, 0, 1, child, sizeof(child));
        for (uint32_t i = 0; i < 3; i++) {
            add_message(&example, source, EVENT_SENDCALL, 1, 2, i * 10 + 5, 5);
            add_message(&example, source, EVENT_SEND, (uint8_t)(1 + i % 2), 2, i * 10, 10);
            add_message(&example, source, EVENT_RECEIVE, 3, 3, i * 10, 10);
            add_message(&example, source, source == 0 ? EVENT_SEND : EVENT_RECEIVE, 1, 1, i * 10,
                        10);
        }
        add(&example, source, EVENT_TERMINATION, 0, 4, last, sizeof(last));
        add(&example, source, EVENT_BLOCK, 0, 1, wait, sizeof(wait));
        add_message(&example, source, EVENT_DESTROYPATH, 1, 2, 0, 0);
        add_message(&example, source, EVENT_DESTROYPATH, 1, 3, 0, 0);
    }
    size_t size = example.count * sizeof(struct item);
    if (size > room)
        return 0;
    memcpy(bytes, items, size);
    return size;
}
#endif
