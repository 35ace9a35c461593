/* SPDX-License-Identifier: MIT */
/* reduced.c: records that lack fields. See reduced.h. */
#include "history/reduced.h"

#include "history/streams.h"

#define ABSENT_LOAD      (1ull << 2)
#define ABSENT_PROC_TIME (1ull << 5)
#define ABSENT_PC        (1ull << 6)
#define ABSENT_PATH      EVENT_BODY_FIELD_BIT(0) /* of a message ... */
#define ABSENT_BYTES     EVENT_BODY_FIELD_BIT(2) /* ... and its size */

/* The CPU time that the stream has used as far as is known. */
static uint64_t known_proc_time(const struct history *history, uint32_t origin, uint32_t number)
{
    const struct stream *stream = streams_find(history, origin, number);
    const struct stream_record *record = identities_stream(history->identities, origin, number);

    if (stream != NULL && stream->runs)
        return stream->proc_time & PROC_TIME_MASK;
    return record == NULL ? 0 : record_proc_time(&record->header);
}

static void set_proc_time(struct record_header *header, uint64_t time)
{
    header->proc_time_and_pc = (header->proc_time_and_pc & ~PROC_TIME_MASK) | time;
}

static struct record discarded(const struct record *record)
{
    return (struct record){
        .header = {.time = record->header.time,
                   .id = EVENT_DISCARDED,
                   .flags = record->header.flags & RECORD_NO_STREAM,
                   .sequence = record->header.sequence,
                   .stream = record->header.stream},
        .lost = {.count = 1, .ring = event_type(record->header.id)->ring},
    };
}

/* Whether the record is a message whose place is known without its size. */
static bool is_unsized_message(const struct history *history, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    unsigned id = record->header.id;

    if (!(event->absent & ABSENT_BYTES) || (id != EVENT_SEND && id != EVENT_SENDCALL &&
                                            id != EVENT_RECEIVE && id != EVENT_MESSAGEQUEUED))
        return false;
    const struct path_record *path =
        identities_path(history->identities, event->origin, record->message.path);
    return path != NULL && path->kind == PATH_CHANNEL;
}

/* What the record may lack and still be of use. */
static uint64_t bearable(const struct history *history, const struct event *event)
{
    const uint64_t body = ~(EVENT_BODY_FIELD_BIT(0) - 1);
    uint64_t fields = ABSENT_LOAD | ABSENT_PROC_TIME | ABSENT_PC;

    if (event->header->id == EVENT_TERMINATION)
        return fields | body;
    if (event->header->id == EVENT_DESTROYPATH)
        return fields | (body & ~ABSENT_PATH);
    return is_unsized_message(history, event) ? fields | ABSENT_BYTES : fields;
}

struct event reduced_take(struct history *history, struct origin *origin, const struct event *event)
{
    const struct record *record = (const struct record *)event->header;
    unsigned id = record->header.id;
    struct event taken = *event;

    if (event->absent == 0 || event_size(id) != sizeof(*record))
        return taken;
    origin->lacking.absent[id] |= event->absent;
    origin->lacking.records[id]++;
    origin->lacking.untimed += (event->absent & ABSENT_PROC_TIME) != 0;
    origin->lacking.timed +=
        (event->absent & ABSENT_PROC_TIME) == 0 && !(record->header.flags & RECORD_NO_STREAM);
    if ((event->absent & ~bearable(history, event)) != 0) {
        origin->reduced = discarded(record);
        origin->lacking.useless[id]++;
    } else {
        origin->reduced = *record;
        origin->lacking.unsized[id] += is_unsized_message(history, event);
        if (event->absent & ABSENT_PROC_TIME)
            set_proc_time(&origin->reduced.header,
                          known_proc_time(history, event->origin, record->header.stream));
    }
    taken.header = &origin->reduced.header;
    return taken;
}
