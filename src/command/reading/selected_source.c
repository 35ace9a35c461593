/* SPDX-License-Identifier: MIT */
/*
 * selected_source.c: the part of a trace between two times, and of some paths only, as if no more had been recorded.
 *
 *      STREAM 1  PATH 5  SEND  SEND | --from     SEND   RECEIVE    --to | SEND  NAME  END
 *         held until then, dropped  | STREAM 1  PATH 5  DISCARDED       | STREAM 1 (its CPU time)  NAME  END
 *
 * Identities that still live at --from are handed out there. Of each thread with records left out, a DISCARDED says so:
 * messages whose other end lies outside count as removed by a selection, not as lost. CPU time, and the time that a thread
 * had to wait for a CPU (SCHEDULE), are counted from --from. A thread that computes without records across one of the two
 * times has computed all of the time that it can have.
 */
#include "command/shared/selection.h"

#include "event/record_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A thread, as far as it was read. */
struct selected_stream {
    uint32_t number;
    bool seen;     /* has records between the two times: `base` is final */
    bool dropped;  /* has records before them */
    bool ended;    /* after --to: its CPU time was told */
    uint64_t last; /* CPU time of its latest record, as recorded */
    uint64_t time; /* ... and when that was */
    uint64_t base; /* CPU time at --from */
    /* as its latest SCHEDULE before --from says, or 0 */
    uint64_t runnable;
    uint32_t voluntary, involuntary;
};

/* A STREAM or PATH of before --from. */
struct held_record {
    struct record_header *record; /* NULL: it has ended */
};

struct selected_source {
    struct source source; /* must be first */
    struct source *trace;
    struct selection *selection;
    int64_t begin;     /* wall clock */
    bool started;      /* the first record was read: the next two are known */
    uint64_t from, to; /* ns, the trace's own clock; `to` UINT64_MAX: no end */
    bool inside;       /* --from was reached */
    struct intern held_keys;
    struct held_record *held; /* by index */
    size_t held_room;
    struct intern stream_keys;
    struct selected_stream *streams; /* by index */
    size_t stream_room;
    struct identities *identities; /* of paths; NULL: all paths */
    struct record_queue queue;     /* to be handed out before anything is read */
    struct event event;            /* as read last; its header is in the queue */
};

static struct selected_source *selected(struct source *source)
{
    return (struct selected_source *)source;
}

/* ---- threads ---- */

/* NULL: out of memory. */
static struct selected_stream *stream_of(struct selected_source *source, uint32_t number)
{
    uint32_t count = source->stream_keys.count;

    if (array_reserve(&source->streams, &source->stream_room, count + 1UL,
                      sizeof(*source->streams)) < 0)
        return NULL;
    int64_t index = intern_add(&source->stream_keys, number);
    if (index < 0)
        return NULL;
    if (index == count)
        source->streams[index] = (struct selected_stream){.number = number};
    return &source->streams[index];
}

static bool is_of_stream(const struct record_header *header)
{
    return header->stream != 0 && event_is_metered(header->id) && record_is_of_stream(header);
}

static void set_proc_time(struct record_header *header, uint64_t time)
{
    header->proc_time_and_pc =
        (header->proc_time_and_pc & ~PROC_TIME_MASK) | (time & PROC_TIME_MASK);
}

/* The least CPU time that the thread can have used by --from, if it has used so much by its first record after that. */
static uint64_t base_of(const struct selected_source *source, const struct selected_stream *stream,
                        const struct record_header *header)
{
    uint64_t now = record_proc_time(header), since = header->time - source->from;
    uint64_t used = proc_time_used(stream->last, now);

    if (!stream->dropped)
        return 0;
    return used > since ? stream->last + (used - since) : stream->last;
}

static uint64_t since_base(uint64_t sum, uint64_t base)
{
    return sum > base ? sum - base : 0;
}

/* A SCHEDULE has sums since the thread's beginning. */
static void rebase_schedule(const struct selected_stream *stream, struct record *record)
{
    record->schedule.runnable = since_base(record->schedule.runnable, stream->runnable);
    record->schedule.voluntary =
        (uint32_t)since_base(record->schedule.voluntary, stream->voluntary);
    record->schedule.involuntary =
        (uint32_t)since_base(record->schedule.involuntary, stream->involuntary);
}

/* A record of a thread between the two times: counts its CPU time from --from. */
static int rebase(struct selected_source *source, struct record_header *header)
{
    struct selected_stream *stream = stream_of(source, header->stream);

    if (stream == NULL)
        return -ENOMEM;
    if (!stream->seen)
        stream->base = base_of(source, stream, header);
    stream->seen = true;
    stream->last = record_proc_time(header);
    stream->time = header->time;
    set_proc_time(header, proc_time_used(stream->base, stream->last));
    if (header->id == EVENT_SCHEDULE)
        rebase_schedule(stream, (struct record *)header);
    return 0;
}

/* ---- identities ---- */

static uint64_t key_of(const struct record_header *header)
{
    return header->id == EVENT_PATH
               ? (uint64_t)EVENT_PATH << 32 | ((const struct path_record *)header)->path
               : (uint64_t)EVENT_STREAM << 32 | header->stream;
}

static int hold(struct selected_source *source, const struct record_header *header)
{
    size_t size = event_size(header->id);
    struct record_header *copy = malloc(size);
    uint32_t count = source->held_keys.count;
    int64_t index = -ENOMEM;

    if (copy != NULL &&
        array_reserve(&source->held, &source->held_room, count + 1UL, sizeof(*source->held)) == 0)
        index = intern_add(&source->held_keys, key_of(header));
    if (index < 0) {
        free(copy);
        return -ENOMEM;
    }
    memcpy(copy, header, size);
    if (index < count)
        free(source->held[index].record);
    source->held[index].record = copy;
    return 0;
}

static void release(struct selected_source *source, uint64_t key)
{
    int64_t index = intern_find(&source->held_keys, key);

    if (index < 0)
        return;
    free(source->held[index].record);
    source->held[index].record = NULL;
}

/* A thread that is not the last of its process may be its first one, whose name is the process's. */
static void release_ended(struct selected_source *source, const struct record *record)
{
    uint32_t process = 0;
    uint64_t key = (uint64_t)EVENT_STREAM << 32 | record->header.stream;
    int64_t index = intern_find(&source->held_keys, key);

    if (index < 0 || source->held[index].record == NULL)
        return;
    process = ((const struct stream_record *)source->held[index].record)->process;
    if (record->termination.last || process != record->header.stream)
        release(source, key);
    if (record->termination.last)
        release(source, (uint64_t)EVENT_STREAM << 32 | process);
}

/* ---- before --from ---- */

static bool describes(unsigned id)
{
    return ((EVENT_IDENTITY_FLAGS & ~(EVENT_FLAG(EVENT_STREAM) | EVENT_FLAG(EVENT_PATH))) |
            EVENT_FLAG(EVENT_FLAGS) | EVENT_FLAG(EVENT_CLASS) | EVENT_FLAG(EVENT_END)) >>
               id &
           1;
}

static int add_clamped(struct selected_source *source, const struct record_header *header,
                       uint64_t time)
{
    int result = record_queue_add(&source->queue, header);

    if (result == 0) {
        struct record_header *last =
            (struct record_header *)(source->queue.bytes + source->queue.end -
                                     event_size(header->id));
        last->time = time;
    }
    return result;
}

static int note_before(struct selected_source *source, const struct record_header *header)
{
    const struct record *record = (const struct record *)header;

    if (header->id == EVENT_STREAM || header->id == EVENT_PATH)
        return hold(source, header);
    if (describes(header->id))
        return add_clamped(source, header, source->from);
    if (header->id == EVENT_DESTROYPATH)
        release(source, (uint64_t)EVENT_PATH << 32 | record->message.path);
    if (header->id == EVENT_TERMINATION)
        release_ended(source, record);
    if (!is_of_stream(header))
        return 0;
    struct selected_stream *stream = stream_of(source, header->stream);
    if (stream == NULL)
        return -ENOMEM;
    stream->dropped = true;
    stream->last = record_proc_time(header);
    stream->time = header->time;
    if (header->id == EVENT_SCHEDULE) {
        stream->runnable = record->schedule.runnable;
        stream->voluntary = record->schedule.voluntary;
        stream->involuntary = record->schedule.involuntary;
    }
    return 0;
}

static int add_discarded(struct selected_source *source, uint32_t stream, uint64_t time)
{
    struct record record = {.header = {.time = time, .id = EVENT_DISCARDED, .stream = stream},
                            .lost.count = 1};

    return record_queue_add(&source->queue, &record.header);
}

/* Hands out the identities that still live, and says of which threads records were left out. */
static int enter(struct selected_source *source)
{
    int result = 0;

    source->inside = source->selection->reached = true;
    if (source->from == 0)
        return 0;
    for (uint32_t i = 0; result == 0 && i < source->held_keys.count; i++) {
        struct record_header *record = source->held[i].record;
        if (record == NULL)
            continue;
        if (record->id == EVENT_STREAM)
            set_proc_time(record, 0);
        result = add_clamped(source, record, source->from);
        if (result == 0 && record->id == EVENT_STREAM &&
            intern_find(&source->stream_keys, record->stream) >= 0)
            result = add_discarded(source, record->stream, source->from);
    }
    return result;
}

/* ---- after --to ---- */

/* The first record of a thread after --to tells how much CPU time it had used by then. */
static int end_stream(struct selected_source *source, const struct record_header *header)
{
    struct selected_stream *stream = stream_of(source, header->stream);
    int64_t held = intern_find(&source->held_keys, (uint64_t)EVENT_STREAM << 32 | header->stream);

    if (stream == NULL)
        return -ENOMEM;
    if (stream->ended || held < 0 || source->held[held].record == NULL)
        return 0;
    stream->ended = true;
    int result = add_discarded(source, header->stream, source->to);
    if (result < 0 || !stream->seen)
        return result;
    uint64_t used = proc_time_used(stream->last, record_proc_time(header));
    uint64_t most = source->to - stream->time;
    struct stream_record last = *(const struct stream_record *)source->held[held].record;
    set_proc_time(&last.header,
                  proc_time_used(stream->base, stream->last) + (used < most ? used : most));
    return add_clamped(source, &last.header, source->to);
}

static int note_after(struct selected_source *source, const struct record_header *header)
{
    if (describes(header->id))
        return add_clamped(source, header, source->to);
    return is_of_stream(header) ? end_stream(source, header) : 0;
}

/* ---- between them ---- */

static int accepts_path(struct selected_source *source, const struct event *event)
{
    struct dump_choice *choice = &source->selection->choice;

    if (source->identities == NULL || !dump_choice_has_path(event->header->id))
        return 1;
    if (event->header->id == EVENT_PATH && identities_add(source->identities, event) < 0)
        return -ENOMEM;
    return dump_choice_accepts_path(choice, source->identities, event);
}

/* A sleep that began before --from. */
static void clamp_wait(const struct selected_source *source, struct record *record)
{
    uint64_t since = record->header.time - source->from;

    if (record->header.id == EVENT_BLOCK && record->block.duration > since)
        record->block.duration = since;
}

static int note_inside(struct selected_source *source, const struct record_header *header)
{
    int result = record_queue_add(&source->queue, header);
    struct record_header *copy =
        (struct record_header *)(source->queue.bytes + source->queue.end - event_size(header->id));

    if (result < 0 || !selection_has_times(source->selection))
        return result;
    if (header->id == EVENT_COST) { /* the overhead of all of the recording */
        source->queue.end -= event_size(header->id);
        return 0;
    }
    if (header->id == EVENT_STREAM && (result = hold(source, header)) == 0) {
        int64_t known = intern_find(&source->stream_keys, header->stream);
        if (known >= 0 && record_proc_time(header) != 0)
            set_proc_time(copy,
                          proc_time_used(source->streams[known].base, record_proc_time(header)));
        return 0;
    }
    clamp_wait(source, (struct record *)copy);
    return result == 0 && is_of_stream(header) ? rebase(source, copy) : result;
}

/* ---- as a source ---- */

static void start(struct selected_source *source, const struct event *event)
{
    int64_t first = source->begin - event->wall_offset;

    source->started = true;
    source->from = source->selection->from == 0 ? 0 : (uint64_t)first + source->selection->from;
    source->to = source->selection->to == 0 ? UINT64_MAX : (uint64_t)first + source->selection->to;
}

static int note(struct selected_source *source, const struct event *event)
{
    int accepted = accepts_path(source, event), result = 0;

    if (accepted <= 0)
        return accepted;
    if (event->header->time < source->from)
        return note_before(source, event->header);
    if (!source->inside)
        result = enter(source);
    if (result < 0)
        return result;
    return event->header->time >= source->to ? note_after(source, event->header)
                                             : note_inside(source, event->header);
}

static int next(struct source *base, struct event *ret_event, uint64_t *ret_complete,
                struct problem *problem)
{
    struct selected_source *source = selected(base);
    const struct record_header *header;

    while ((header = record_queue_peek(&source->queue)) == NULL) {
        int result = source->trace->next(source->trace, &source->event, ret_complete, problem);
        if (result != SOURCE_RECORD)
            return result;
        if (!source->started)
            start(source, &source->event);
        if (note(source, &source->event) < 0)
            return problem_set(problem, -ENOMEM, "out of memory for the selection");
    }
    *ret_event = source->event;
    /* only the record itself may lack fields, none that was made for it */
    if (memcmp(header, source->event.header, sizeof(*header)) != 0)
        ret_event->absent = 0;
    ret_event->header = header;
    record_queue_take(&source->queue);
    return SOURCE_RECORD;
}

int selected_source_begin(struct source *source, int64_t *ret_begin, struct problem *problem)
{
    struct event event;
    uint64_t complete;
    int result = source->next(source, &event, &complete, problem);

    if (result < 0)
        return result;
    *ret_begin =
        result == SOURCE_RECORD ? (int64_t)event.header->time + event.wall_offset : INT64_MAX;
    return 0;
}

int selected_source_new(struct source *trace, struct selection *selection, int64_t begin,
                        struct source **ret_source)
{
    struct selected_source *source = calloc(1, sizeof(*source));

    if (source == NULL)
        return -ENOMEM;
    *source = (struct selected_source){
        .source = {.next = next, .origins = trace->origins, .states = trace->states},
        .trace = trace,
        .selection = selection,
        .begin = begin,
    };
    if (selection->choice.paths.count > 0 && identities_new(&source->identities) < 0) {
        free(source);
        return -ENOMEM;
    }
    *ret_source = &source->source;
    return 0;
}

void selected_source_rewind(struct source *base)
{
    struct selected_source *source = selected(base);

    for (uint32_t i = 0; i < source->held_keys.count; i++)
        free(source->held[i].record);
    intern_done(&source->held_keys);
    intern_done(&source->stream_keys);
    record_queue_done(&source->queue);
    source->held_keys = source->stream_keys = (struct intern){0};
    source->started = source->inside = false;
    source->source.states = source->trace->states;
}

void selected_source_free(struct source *base)
{
    struct selected_source *source = selected(base);

    if (source == NULL)
        return;
    selected_source_rewind(base);
    free(source->held);
    free(source->streams);
    identities_free(source->identities);
    free(source);
}
