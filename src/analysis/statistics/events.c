/* SPDX-License-Identifier: MIT */
/*
 * events.c: counts an event for its stream, its process, and its endpoint. See statistics_state.h.
 *
 *      record --> stream, process:  CPU time, program counters, waits (waits.c)
 *            '--> endpoint, usage:  messages sent and received (messages.c), the receive queue (queues.c)
 */
#include "analysis/statistics/answers.h"
#include "analysis/statistics/queues.h"
#include "analysis/statistics/statistics_state.h"
#include "meter/shared/message.h"

/* ---- streams ---- */

/* procTime has 48 bits and only grows. A difference of more than half of the range means that one record overtook
 * another, not that the stream used so much CPU time. */
static void note_cpu_time(const struct statistics *statistics, struct stream *stream,
                          uint64_t proc_time)
{
    uint64_t more = stream->running ? proc_time_used(stream->proc_time, proc_time) : proc_time;

    if (stream->running && more == 0)
        return;
    process_sums(statistics, stream->process)->cpu += more;
    stream->proc_time = proc_time;
    stream->running = true;
}

/* Its process may have ended, and its index may be another's now. */
static bool has_process(const struct stream *stream, uint32_t origin)
{
    return !stream->ended && stream->process->number == stream->process_number &&
           stream->process->origin == origin;
}

/* The stream of an event. `process`: number of its process, if the stream is new. NULL: out of memory. */
static struct stream *stream_of(struct statistics *statistics, const struct history_event *event,
                                uint32_t process)
{
    uint32_t origin = event->event.origin, number = event->event.header->stream;
    struct stream *stream = event->stream_place == 0
                                ? &statistics->nameless
                                : places_at(&statistics->streams, event->stream_place - 1);

    if (stream == NULL)
        return NULL;
    bool is_its = stream->present && stream->number == number && stream->origin == origin;
    if (is_its && has_process(stream, origin))
        return stream;
    if (!is_its)
        *stream = (struct stream){.origin = origin, .number = number, .process_number = process};
    stream->process = process_rows_find(statistics, origin, stream->process_number);
    stream->present = true;
    if (stream->process == NULL)
        return NULL;
    process_rows_note_time(statistics, stream->process, event->event.header->time);
    return stream;
}

int events_add_stream(struct statistics *statistics, const struct history_event *event)
{
    const struct stream_record *record = (const struct stream_record *)event->event.header;

    if (event->stream_place == 0)
        return 0;
    struct stream *stream = stream_of(statistics, event, record->process);
    if (stream == NULL)
        return -ENOMEM;
    if (stream->process_number != record->process) {
        stream->process_number = record->process;
        stream->process = process_rows_find(statistics, event->event.origin, record->process);
        if (stream->process == NULL)
            return -ENOMEM;
        process_rows_note_time(statistics, stream->process, record->header.time);
    }
    stream->known = true;
    stream->image = record->image;
    scheduling_begin(&stream->schedule, record,
                     statistics->origins[event->event.origin].first_time);
    /* CPU time from before metering does not count. A later STREAM record may be the stream's last record, although
     * older events may still follow. */
    if (!stream->running) {
        stream->proc_time = record_proc_time(&record->header);
        stream->running = true;
    } else if (record_proc_time(&record->header) != 0) {
        stream->told_time = record_proc_time(&record->header);
    }
    return process_rows_note_identity(statistics, stream->process, record);
}

void events_count_told_times(struct statistics *statistics)
{
    for (uint32_t i = 0; i < places_end(&statistics->streams); i++) {
        struct stream *stream = places_find(&statistics->streams, i);
        if (stream == NULL || !stream->present)
            continue;
        if (stream->told_time != 0 && has_process(stream, stream->origin))
            note_cpu_time(statistics, stream, stream->told_time);
        stream->told_time = 0;
    }
}

static int end_stream(struct statistics *statistics, struct stream *stream,
                      const struct record *record, uint64_t when)
{
    struct communication_process *sums = process_sums(statistics, stream->process);

    stream->ended = true;
    sums->failed_sends += record->termination.failed_sends;
    sums->failed_receives += record->termination.failed_receives;
    return record->termination.last ? process_rows_end(statistics, stream->process, when) : 0;
}

static int add_to_stream(struct statistics *statistics, struct stream *stream,
                         const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    uint32_t origin = event->event.origin;
    unsigned id = record->header.id;

    note_cpu_time(statistics, stream, record_proc_time(&record->header));
    process_sums(statistics, stream->process)->spun += event->spun - stream->spun;
    stream->spun = event->spun;
    if (id != EVENT_SEND && id != EVENT_RECEIVE)
        return 0;
    statistics->unknown_streams += !stream->known;
    return procedures_count(&statistics->procedures, &stream->recent[id == EVENT_RECEIVE], origin,
                            stream->image, record);
}

/* ---- counting an event ---- */

static int add_arrival(struct statistics *statistics, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    if (event->end_place == 0)
        return 0;
    struct endpoint *endpoint = endpoint_of(statistics, event, record->queued.path);
    return endpoint == NULL ? -ENOMEM : queues_arrived(statistics, endpoint, event);
}

/* Receives from before may have been held back, and follow. */
static int add_end_of_path(struct statistics *statistics, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    if (event->end_place == 0) {
        files_end(&statistics->files, event->event.origin, record);
        return 0;
    }
    struct endpoint *endpoint = endpoint_of(statistics, event, record->message.path);
    if (endpoint == NULL)
        return -ENOMEM;
    for (const struct usage *usage = endpoint->usages; usage != NULL; usage = usage->next)
        if (answers_cover(statistics, usage) < 0)
            return -ENOMEM;
    endpoint->closed = event->when;
    queues_close(statistics, endpoint);
    return ended_note_closed(statistics, endpoint);
}

/* Whether a record of a stream shows that its process uses a path. A RECEIVECALL without a path waits for any of
 * several. */
static bool uses_path(const struct record *record)
{
    const uint64_t users = EVENT_FLAG(EVENT_SEND) | EVENT_FLAG(EVENT_SENDCALL) |
                           EVENT_FLAG(EVENT_RECEIVECALL) | EVENT_FLAG(EVENT_RECEIVE) |
                           EVENT_FLAG(EVENT_CONNECT) | EVENT_FLAG(EVENT_ACCEPT);

    return record->header.id < 64 && (users >> record->header.id & 1) &&
           (record->header.id != EVENT_RECEIVECALL || record->message.path != 0);
}

/* Its path never becomes a connection. */
static int add_failure(struct statistics *statistics, uint32_t process,
                       const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    if (event->end_place != 0) {
        struct endpoint *endpoint = endpoint_of(statistics, event, record->failed.path);
        if (endpoint == NULL)
            return -ENOMEM;
        endpoint->unconnected = true;
    }
    return failures_count(statistics, process, event);
}

/* The kernel records bytes that were received or sent outside of any metered call. */
static int add_without_stream(struct statistics *statistics, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    /* the stream that tried has ended */
    if (record->header.id == EVENT_CONNECTFAILED)
        return add_failure(
            statistics,
            process_rows_of_stream(statistics, event->event.origin, record->header.stream), event);
    if (record->header.id == EVENT_RECEIVE)
        statistics->unseen_bytes += record->message.bytes;
    else if (record->header.id == EVENT_SEND)
        statistics->unseen_sent_bytes += record->message.bytes;
    return 0;
}

static int add_failure_of(struct statistics *statistics, struct stream *stream,
                          const struct history_event *event)
{
    int64_t process = process_rows_decide(statistics, stream->process);

    return process < 0 ? -ENOMEM : add_failure(statistics, (uint32_t)process, event);
}

static int add_message(struct statistics *statistics, struct endpoint *endpoint,
                       struct usage *usage, uint64_t first_byte, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    int result = messages_count(statistics, endpoint, usage, event);

    if (result < 0 || !endpoint->known)
        return result;
    return record->header.id == EVENT_SEND ? queues_sent(statistics, endpoint, first_byte, event)
                                           : queues_received(statistics, endpoint, usage, event);
}

static int add_to_endpoint(struct statistics *statistics, struct stream *stream,
                           const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    bool is_message = record->header.id == EVENT_SEND || record->header.id == EVENT_RECEIVE;
    struct endpoint *endpoint = event->end_place == 0
                                    ? &statistics->unknown
                                    : endpoint_of(statistics, event, record->message.path);
    int64_t process = process_rows_decide(statistics, stream->process);

    if (endpoint == NULL || process < 0)
        return -ENOMEM;
    uint64_t first_byte = is_message ? waits_first_byte(stream, record) : 0;
    struct usage *usage = endpoint_usage(statistics, endpoint, (uint32_t)process);
    if (usage == NULL || waits_note(statistics, stream, endpoint, usage, record) < 0)
        return -ENOMEM;
    return is_message ? add_message(statistics, endpoint, usage, first_byte, event) : 0;
}

static int cover_file(struct statistics *statistics, uint32_t process, const struct record *record)
{
    uint64_t span = message_span(record);

    if (record->header.id == EVENT_CREATEPATH)
        return 0;
    return coverings_add(&statistics->coverings,
                         record->header.id == EVENT_READ ? COVERING_READS : COVERING_WRITES,
                         process, NO_PROCESS, record->header.time - span, record->header.time);
}

/* What a READ has found of other processes. */
static int add_inputs(struct statistics *statistics, uint32_t process,
                      const struct history_event *event)
{
    int result = 0;

    for (uint32_t i = 0; i < event->edge_count && result == 0; i++) {
        const struct history_edge *edge = &event->edges[i];
        const uint32_t *writer = history_value_at(edge->value, statistics->writer_value);
        if (edge->kind == EDGE_FILE && writer != NULL && *writer != 0 && *writer - 1 != process)
            result = inputs_count(&statistics->inputs, statistics->identities, statistics->rows,
                                  *writer - 1, process, event, edge);
    }
    return result;
}

/* A mapping passes no bytes by itself, and a change of length none at all. */
static bool is_call_on_file(const struct record *record)
{
    return record->header.id == EVENT_CREATEPATH ||
           (record->header.flags & (RECORD_MAPPED | RECORD_TRUNCATED)) == 0;
}

static int add_to_file(struct statistics *statistics, struct stream *stream,
                       const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    int64_t process = process_rows_decide(statistics, stream->process);

    if (process < 0)
        return -ENOMEM;
    if (record->header.id == EVENT_READ && add_inputs(statistics, (uint32_t)process, event) < 0)
        return -ENOMEM;
    uint32_t *writer = record->header.id == EVENT_WRITE
                           ? history_value_at(event->value, statistics->writer_value)
                           : NULL;
    if (writer != NULL)
        *writer = (uint32_t)process + 1;
    if (!is_call_on_file(record))
        return 0;
    if (cover_file(statistics, (uint32_t)process, record) < 0)
        return -ENOMEM;
    return files_count(&statistics->files, statistics->identities, statistics->rows,
                       event->event.origin, (uint32_t)process, record);
}

/* A stream without identity counts as a process of its own. If its process has one stream, that has the process's
 * number, and a late identity finds it. */
static int add_of_stream(struct statistics *statistics, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    const uint64_t of_files =
        EVENT_FLAG(EVENT_READ) | EVENT_FLAG(EVENT_WRITE) | EVENT_FLAG(EVENT_CREATEPATH);

    struct stream *stream = stream_of(statistics, event, record->header.stream);
    if (stream == NULL || add_to_stream(statistics, stream, event) < 0)
        return -ENOMEM;
    if (of_files >> record->header.id & 1 && add_to_file(statistics, stream, event) < 0)
        return -ENOMEM;
    int result = uses_path(record) ? add_to_endpoint(statistics, stream, event)
                                   : waits_note(statistics, stream, NULL, NULL, record);
    if (result == 0 && record->header.id == EVENT_CONNECTFAILED)
        result = add_failure_of(statistics, stream, event);
    statistics->left += record->header.id == EVENT_EXEC && record->exec.left != 0;
    return result == 0 && record->header.id == EVENT_TERMINATION
               ? end_stream(statistics, stream, record, event->when)
               : result;
}

/* It says something about a stream, and is no activity of it: it neither ends a wait nor uses a path. */
static int add_schedule(struct statistics *statistics, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;

    if (event->stream_place == 0)
        return 0;
    struct stream *stream = stream_of(statistics, event, record->header.stream);
    if (stream == NULL)
        return -ENOMEM;
    if (stream->running)
        note_cpu_time(statistics, stream, record_proc_time(&record->header));
    scheduling_add(&stream->schedule, record,
                   &process_sums(statistics, stream->process)->scheduled);
    return 0;
}

/* Prefetches the objects of an event, which are apart in memory. */
static void fetch(const struct statistics *statistics, const struct history_event *event)
{
    if (event->stream_place != 0)
        places_fetch(&statistics->streams, event->stream_place - 1);
    if (event->end_place != 0)
        places_fetch(&statistics->endpoints, event->end_place - 1);
    if (event->partner_place != 0 && event->event.header->id != EVENT_SEND)
        places_fetch(&statistics->endpoints, event->partner_place - 1);
}

int events_count(struct statistics *statistics, const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    struct statistics_origin *origin = &statistics->origins[event->event.origin];

    fetch(statistics, event);
    if (askings_see(&statistics->askings, statistics->identities, event, &statistics->asking) < 0)
        return -ENOMEM;
    answers_note_vain(statistics, event);
    statistics->events++;
    if (event->when > origin->last_event)
        origin->last_event = event->when;
    if (record->header.id == EVENT_DESTROYPATH && add_end_of_path(statistics, event) < 0)
        return -ENOMEM;
    if (record->header.id == EVENT_MESSAGEQUEUED)
        return add_arrival(statistics, event);
    if (record->header.id == EVENT_SCHEDULE)
        return add_schedule(statistics, event);
    return record->header.flags & RECORD_NO_STREAM ? add_without_stream(statistics, event)
                                                   : add_of_stream(statistics, event);
}
