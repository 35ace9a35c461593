/* SPDX-License-Identifier: MIT */
/*
 * history_fuzz.c: the input is the records of up to three sources, in order of arrival. Whatever they contain, the
 * history returns each record once, those of a stream in order and every cause before its effect, and ends.
 */
#include "records.h"

static void check_event(struct tape *tapes, const struct history_event *event, uint64_t number)
{
    const struct record_header *header = event->event.header;

    PROMISE(event->event.origin < SOURCES);
    PROMISE(event->number == number);
    for (uint32_t i = 0; i < event->edge_count; i++) {
        PROMISE(event->edges[i].number < number);
        PROMISE(event->edges[i].origin < SOURCES);
        PROMISE(event->edges[i].kind < EDGE_KIND_COUNT);
    }
    struct tape *tape = &tapes[event->event.origin];
    if (header->stream == 0 || (header->flags & RECORD_NO_STREAM) || event_size(header->id) != 48)
        return;
    PROMISE(!tape->began[header->stream] || header->sequence > tape->last[header->stream]);
    tape->began[header->stream] = true;
    tape->last[header->stream] = header->sequence;
}

static void read_all(struct tape *tapes, uint64_t total)
{
    struct history *history = tapes_history(tapes);
    struct problem problem = {""};
    struct history_counts counts;
    struct history_event event;
    uint64_t number = 0;
    uint64_t pauses = 0;
    int result;

    history_find_rooms(history);
    while ((result = history_next(history, &event, &problem)) != SOURCE_END) {
        PROMISE(result == SOURCE_RECORD || result == SOURCE_NONE_YET);
        if (result == SOURCE_RECORD)
            check_event(tapes, &event, number++);
        else
            PROMISE(++pauses <= 4 * total + 16);
    }
    PROMISE(number == total);
    PROMISE(history_next(history, &event, &problem) == SOURCE_END);
    history_counts(history, &counts);
    PROMISE(counts.events == total);
    history_free(history);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct tape tapes[SOURCES];
    int64_t count = tapes_make(tapes, bytes, size);

    if (count < 0)
        return 0;
    read_all(tapes, (uint64_t)count);
    tapes_done(tapes);
    return 0;
}
