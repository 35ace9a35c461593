/* SPDX-License-Identifier: MIT */
/*
 * history_memory_test.c: if only one end of a path is active, the history of twice as many records takes no more
 * memory.
 *
 *      flood: | MACHINE | PATH | PATH | SEND | SEND | SEND ... (made as they are asked for)
 */
#include "tapes.h"

#include <malloc.h>

#define T0 100000000000ull

/* A source that makes its records on demand. */
struct flood {
    struct source source;
    struct source_state state;
    uint64_t at;
    uint64_t count;
    uint8_t kind;
    enum event_id id;
    bool joined;
    struct machine_record machine;
    struct path_record path;
    struct record record;
};

static int flood_next(struct source *source, struct event *ret_event, uint64_t *ret_complete,
                      struct problem *problem)
{
    struct flood *flood = (struct flood *)source;
    uint64_t at = flood->at++;

    (void)problem;
    (void)ret_complete;
    if (at == flood->count)
        return SOURCE_END;
    flood->machine = (struct machine_record){
        .header = {.time = T0, .id = EVENT_MACHINE, .flags = 16}, .meter_flags = METER_EVENT_FLAGS};
    flood->path = (struct path_record){.header = {.time = T0, .id = EVENT_PATH, .flags = 16},
                                       .path = (uint32_t)at,
                                       .kind = flood->kind,
                                       .family = AF_UNIX,
                                       .cookie = at + 6,
                                       .peer = flood->joined ? 15 - at : 0};
    flood->record = (struct record){.header = {.time = T0 + at * 100000,
                                               .id = (uint8_t)flood->id,
                                               .stream = 1,
                                               .sequence = (uint32_t)at}};
    flood->record.message.path = 1;
    flood->record.message.bytes = 1;
    flood->record.message.offset = (uint32_t)at;
    *ret_event = (struct event){at == 0   ? &flood->machine.header
                                : at <= 2 ? &flood->path.header
                                          : &flood->record.header,
                                0, 0};
    return SOURCE_RECORD;
}

/* Bytes of memory in use after this many records of one kind. */
static size_t memory_of(uint8_t kind, enum event_id id, bool joined, uint64_t count)
{
    struct flood flood = {.source = {.next = flood_next, .origins = 1},
                          .count = count,
                          .kind = kind,
                          .id = id,
                          .joined = joined};
    struct source *sources[1] = {&flood.source};
    struct history *history;
    struct history_event event;
    struct problem problem;

    flood.source.states = &flood.state;
    assert_int_equal(history_new(sources, 1, &history, &problem), 0);
    history_keep_values(history, 64, METER_EVENT_FLAGS);
    history_find_rooms(history);
    while (history_next(history, &event, &problem) == SOURCE_RECORD)
        ;
    size_t used = mallinfo2().uordblks + mallinfo2().hblkhd;
    history_free(history);
    return used;
}

static void assert_bound(uint8_t kind, enum event_id id, bool joined)
{
    assert_true(memory_of(kind, id, joined, 2000000) <
                memory_of(kind, id, joined, 1000000) + (1 << 20));
}

/* Only one end is recorded, or only one of the two is active. */
static void memory_has_a_bound(void **state)
{
    (void)state;
    assert_bound(PATH_PIPE, EVENT_RECEIVE, false);
    assert_bound(PATH_UNIX_STREAM, EVENT_SEND, true);
    assert_bound(PATH_UNIX_STREAM, EVENT_SEND, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_has_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
