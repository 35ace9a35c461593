/* SPDX-License-Identifier: MIT */
/*
 * processes.c: who created whom, and whose end has ended a wait.
 *
 *      parent   ------- BLOCK (wait) ~~~~~~~~~~~~~~~~o--
 *                                                   ^ edge: termination
 *      child    o STARTPROCESS ... TERMINATION ~~~~~~'
 *                                              it gives back what it has
 *
 *      process --ended--> | end | end | ... |  of its children, the last ones, around
 */
#include "history/history_private.h"

#include <errno.h>
#include <stdlib.h>

/* ---- processes ---- */

static struct process *find_process(const struct history *history, uint32_t origin, uint32_t number)
{
    uint32_t found = lookup_find(&history->process_numbers, number_in_origin(origin, number));

    return found == LOOKUP_NONE ? NULL : pool_at(&history->processes, found);
}

static struct process *add_process(struct history *history, uint32_t origin, uint32_t number)
{
    struct process *process = find_process(history, origin, number);

    if (process != NULL)
        return process;
    int64_t index = pool_take(&history->processes);
    if (index < 0)
        return NULL;
    if (lookup_set(&history->process_numbers, number_in_origin(origin, number), (uint32_t)index) <
        0) {
        pool_give(&history->processes, (uint32_t)index);
        return NULL;
    }
    process = pool_at(&history->processes, (uint32_t)index);
    process->origin = origin;
    process->number = number;
    process->index = (uint32_t)index;
    return process;
}

void processes_leave(struct history *history, struct stream *stream)
{
    struct process *process = stream->process;

    stream->process = NULL;
    if (process == NULL || --process->streams > 0)
        return;
    lookup_remove(&history->process_numbers, number_in_origin(process->origin, process->number));
    for (uint32_t i = 0; process->ended != NULL && i < ENDED_CHILDREN; i++)
        values_spend(history, &process->ended[i].value);
    free(process->ended);
    pool_give(&history->processes, process->index);
}

/* A process is created by the parent of its first stream; a stream without a STREAM is of none. */
int processes_note_identity(struct history *history, struct stream *stream,
                            const struct stream_record *record)
{
    if (stream->process == NULL || stream->process->number != record->process) {
        struct process *process = add_process(history, stream->origin, record->process);
        if (process == NULL)
            return -ENOMEM;
        process->streams++;
        processes_leave(history, stream);
        stream->process = process;
    }
    if (stream->number != record->process || record->parent == 0 || stream->process->parent != 0)
        return 0;
    uint32_t found =
        lookup_find(&history->stream_numbers, number_in_origin(stream->origin, record->parent));
    if (found != LOOKUP_NONE) {
        const struct stream *parent = pool_at(&history->streams, found);
        stream->process->parent = parent->process == NULL ? 0 : parent->process->number;
    }
    return 0;
}

/* ---- ends of children ---- */

static struct beginning *find_ended(const struct process *process, uint32_t stream,
                                    uint32_t sequence)
{
    for (uint32_t i = 0; process->ended != NULL && i < ENDED_CHILDREN; i++) {
        struct beginning *ended = &process->ended[i];
        if (ended->stream == stream && ended->sequence == sequence && ended->number == NO_NUMBER)
            return ended;
    }
    return NULL;
}

/* The process that waits for this stream's, if it lives. */
static struct process *process_of_parent(const struct history *history, const struct stream *stream)
{
    return stream->process == NULL || stream->process->parent == 0
               ? NULL
               : find_process(history, stream->origin, stream->process->parent);
}

int processes_note_end(struct history *history, const struct stream *stream,
                       const struct record *record)
{
    struct process *parent = process_of_parent(history, stream);

    if (parent == NULL || parent == stream->process)
        return 0;
    if (parent->ended == NULL)
        parent->ended = calloc(ENDED_CHILDREN, sizeof(*parent->ended));
    if (parent->ended == NULL)
        return -ENOMEM;
    struct beginning *place = &parent->ended[parent->ended_count++ % ENDED_CHILDREN];
    values_spend(history, &place->value);
    *place = (struct beginning){
        .number = NO_NUMBER,
        .time = record->header.time,
        .stream = stream->number,
        .sequence = record->header.sequence,
        .id = EVENT_TERMINATION,
    };
    return 0;
}

int processes_hand_out_end(struct history *history, const struct stream *stream,
                           const struct record *record, struct history_event *event)
{
    struct process *parent = process_of_parent(history, stream);
    struct beginning *ended =
        parent == NULL ? NULL : find_ended(parent, stream->number, record->header.sequence);

    if (ended == NULL)
        return 0;
    holding_wake_all(history, &parent->waiters);
    return values_begin_at(history, ended, event);
}

/* ---- waits for them ---- */

enum { CALL_READ = 0, CALL_PAUSE = 34, CALL_WAIT4 = 61 }; /* numbers of x86-64 */
enum { CALL_SIGTIMEDWAIT = 128, CALL_SIGSUSPEND = 130, CALL_WAITID = 247 };

#define TASK_INTERRUPTIBLE 1

/* What may end a BLOCK. */
enum awaited {
    AWAITS_OTHER,
    AWAITS_CHILD,
    AWAITS_SIGNAL, /* that a child has ended, as a rule, where one has ended then */
    AWAITS_DATA,   /* of a file: of a signalfd, if it comes with a child's end */
};

static enum awaited awaited_by(const struct record *record)
{
    if (record->header.id != EVENT_BLOCK)
        return AWAITS_OTHER;
    switch (record->block.system_call) {
    case CALL_WAIT4:
    case CALL_WAITID:
        return AWAITS_CHILD;
    case CALL_PAUSE:
    case CALL_SIGTIMEDWAIT:
    case CALL_SIGSUSPEND:
        return AWAITS_SIGNAL;
    case CALL_READ:
        return record->block.state == TASK_INTERRUPTIBLE ? AWAITS_DATA : AWAITS_OTHER;
    default:
        return AWAITS_OTHER;
    }
}

/* A process tells of its end before it gives back what it has, and only then its parent's wait can end: a
 * wait may begin so long, ns, after the record. */
#define DYING 100000000ull
#define SOON  10000000ull /* ns: what comes so soon after another thing is no coincidence */

/* Whether this end can have ended a wait of the parent, which slept from `begin` to `end`. */
static bool can_have_ended(const struct beginning *ended, enum awaited awaited, uint64_t begin,
                           uint64_t end)
{
    if (ended->stream == 0 || ended->time > end)
        return false;
    switch (awaited) {
    case AWAITS_CHILD:
        return ended->time + DYING >= begin;
    case AWAITS_SIGNAL:
        return ended->time + DYING >= end;
    default:
        return ended->time >= begin && ended->time + SOON >= end;
    }
}

/* The last child whose end can have ended this BLOCK; NULL: none. */
static struct beginning *child_that_ended(const struct process *process,
                                          const struct record *record)
{
    enum awaited awaited = awaited_by(record);
    uint64_t end = record->header.time;
    struct beginning *last = NULL;

    if (awaited == AWAITS_OTHER || process == NULL || process->ended == NULL)
        return NULL;
    uint64_t begin = record->block.duration > end ? 0 : end - record->block.duration;
    for (uint32_t i = 0; i < ENDED_CHILDREN; i++) {
        struct beginning *ended = &process->ended[i];
        if (can_have_ended(ended, awaited, begin, end) &&
            (last == NULL || ended->time > last->time))
            last = ended;
    }
    return last;
}

bool processes_wait_for_end(const struct stream *stream, const struct record *record,
                            struct process **ret_process)
{
    const struct beginning *ended = child_that_ended(stream->process, record);

    *ret_process = stream->process;
    return ended != NULL && ended->number == NO_NUMBER;
}

int processes_end_wait(struct history *history, const struct stream *stream,
                       const struct record *record)
{
    struct beginning *ended = child_that_ended(stream->process, record);

    if (ended == NULL || ended->number == NO_NUMBER)
        return 0;
    int result = values_add_edge(history, EDGE_TERMINATION, stream->origin, ended);
    ended->stream = 0; /* one end ends one wait */
    return result;
}
