/* SPDX-License-Identifier: MIT */
/*
 * processes.c: which process created which, and whose termination ended a wait.
 *
 *      parent   ------- BLOCK (wait) ~~~~~~~~~~~~~~~~o--
 *                                                   ^ edge: termination
 *      child    o STARTPROCESS ... TERMINATION ~~~~~~'
 *                                              it frees its resources
 *
 *      process --ended---> | end | end | ... |  of its latest children, circular
 *      origin  --orphans-> | end | end | ... |  of processes whose parent had terminated before
 *
 * A terminated process stays known while children of it live, which one of its ancestors may adopt.
 */
#include "history/processes.h"

#include "event/system_calls.h"
#include "history/holding.h"
#include "history/receiving.h"
#include "history/values.h"
#include "history/wakeups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- processes ---- */

static struct process *find_process(const struct history *history, uint32_t origin, uint32_t number)
{
    uint32_t found = lookup_find(&history->process_numbers, number_key(origin, number));

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
    if (lookup_set(&history->process_numbers, number_key(origin, number), (uint32_t)index) < 0) {
        pool_give(&history->processes, (uint32_t)index);
        return NULL;
    }
    process = pool_at(&history->processes, (uint32_t)index);
    process->origin = origin;
    process->number = number;
    process->index = (uint32_t)index;
    return process;
}

struct process *processes_parent(const struct history *history, const struct process *process)
{
    return process->parent == 0 ? NULL : find_process(history, process->origin, process->parent);
}

/* The process that may adopt the children of a terminated one: its nearest living ancestor. */
static struct process *heir_of(const struct history *history, const struct process *process)
{
    struct process *above = processes_parent(history, process);

    while (above != NULL && above->over)
        above = processes_parent(history, above);
    return above;
}

static void set_parent(struct history *history, struct process *process, struct process *parent);

/* To be called when something stops referring to the process. */
static void free_if_alone(struct history *history, struct process *process)
{
    if (process->streams > 0 || process->children > 0)
        return;
    set_parent(history, process, NULL);
    holding_wake_all(history, &process->waiters);
    lookup_remove(&history->process_numbers, number_key(process->origin, process->number));
    for (uint32_t i = 0; process->ended != NULL && i < ENDED_CHILDREN; i++)
        values_spend(history, &process->ended->at[i].termination.value);
    free(process->ended);
    pool_give(&history->processes, process->index);
}

static void set_parent(struct history *history, struct process *process, struct process *parent)
{
    struct process *before = processes_parent(history, process);

    process->parent = parent == NULL ? 0 : parent->number;
    if (parent != NULL)
        parent->children++;
    if (before != NULL) {
        before->children--;
        free_if_alone(history, before);
    }
}

/* Whether the process with this number is `process` or one of its descendants. */
static bool is_above(const struct history *history, const struct process *process, uint32_t number)
{
    const struct process *below = find_process(history, process->origin, number);

    while (below != NULL && below != process)
        below = processes_parent(history, below);
    return below != NULL;
}

void processes_leave(struct history *history, struct stream *stream)
{
    struct process *process = stream->process;

    stream->process = NULL;
    if (process == NULL || --process->streams > 0)
        return;
    process->over = true;
    /* keeps chains of terminated processes short */
    set_parent(history, process, heir_of(history, process));
    free_if_alone(history, process);
}

/* A process is created by the parent of its first stream. A stream without a STREAM record has no process. */
int processes_note_identity(struct history *history, struct stream *stream,
                            const struct stream_record *record)
{
    if (stream->process == NULL || stream->process->number != record->process) {
        struct process *process = add_process(history, stream->origin, record->process);
        if (process == NULL)
            return -ENOMEM;
        process->streams++;
        process->over = false;
        processes_leave(history, stream);
        stream->process = process;
    }
    if (stream->number != record->process || record->parent == 0 || stream->process->parent != 0)
        return 0;
    uint32_t found =
        lookup_find(&history->stream_numbers, number_key(stream->origin, record->parent));
    if (found == LOOKUP_NONE)
        return 0;
    const struct stream *parent = pool_at(&history->streams, found);
    /* a damaged trace must not make a process its own ancestor: loops over parents have to end */
    if (parent->process != NULL && !is_above(history, stream->process, parent->process->number))
        set_parent(history, stream->process, parent->process);
    return 0;
}

/* ---- ends of children ---- */

static int note_in(struct history *history, struct ends **ends, const struct ended *ended)
{
    if (*ends == NULL)
        *ends = calloc(1, sizeof(**ends));
    if (*ends == NULL)
        return -ENOMEM;
    struct ended *place = &(*ends)->at[(*ends)->count++ % ENDED_CHILDREN];
    values_spend(history, &place->termination.value);
    *place = *ended;
    return 0;
}

static struct ended *find_noted(struct ends *ends, uint32_t stream, uint32_t sequence)
{
    for (uint32_t i = 0; ends != NULL && i < ENDED_CHILDREN; i++) {
        const struct beginning *termination = &ends->at[i].termination;
        if (termination->stream == stream && termination->sequence == sequence &&
            termination->number == NO_NUMBER)
            return &ends->at[i];
    }
    return NULL;
}

/* Where the termination of a process is noted: with its parent; or, if the parent has terminated, among the orphans,
 * since it is not reported which ancestor adopts it. NULL: it has no ancestor. */
static struct ends **place_of_end(struct history *history, const struct process *process,
                                  const struct process *heir)
{
    return heir == NULL                      ? NULL
           : heir->number == process->parent ? &processes_parent(history, process)->ended
                                             : &history->origins[process->origin].orphans;
}

int processes_note_end(struct history *history, const struct stream *stream,
                       const struct record *record)
{
    struct process *process = stream->process;

    if (process == NULL)
        return 0;
    const struct process *heir = heir_of(history, process);
    struct ends **ends = place_of_end(history, process, heir);
    process->over = true;
    if (ends == NULL)
        return 0;
    const struct ended ended = {
        .termination = {.number = NO_NUMBER,
                        .time = record->header.time,
                        .proc_time = record_proc_time(&record->header),
                        .stream = stream->number,
                        .sequence = record->header.sequence,
                        .id = EVENT_TERMINATION},
        .process = process->number,
        .heir = heir->number,
    };
    return note_in(history, ends, &ended);
}

int processes_hand_out_end(struct history *history, const struct stream *stream,
                           const struct record *record, struct history_event *event)
{
    struct ended *ended = NULL;
    struct process *above =
        stream->process == NULL ? NULL : processes_parent(history, stream->process);

    if (above != NULL)
        ended = find_noted(above->ended, stream->number, record->header.sequence);
    if (ended == NULL)
        ended = find_noted(history->origins[stream->origin].orphans, stream->number,
                           record->header.sequence);
    if (ended == NULL)
        return 0;
    for (; above != NULL; above = processes_parent(history, above))
        holding_wake_all(history, &above->waiters);
    return values_begin_at(history, &ended->termination, event);
}

/* ---- waits for them ---- */

#define TASK_INTERRUPTIBLE 1

/* What may end a BLOCK. */
enum awaited {
    AWAITS_OTHER,
    AWAITS_CHILD,
    AWAITS_SIGNAL, /* usually SIGCHLD, if a child has terminated then */
    AWAITS_DATA,   /* from a file: a signalfd, if a child terminates at the same time */
};

/* Whether what a BLOCK reads may be a signalfd: a meter that names it says so. */
static bool may_be_signalfd(const struct history *history, uint32_t origin,
                            const struct record *record)
{
    const char *name;

    if (record->block.object == 0)
        return true;
    identities_object(history->identities, origin, record->block.object, &name);
    return name != NULL && strcmp(name, "[signalfd]") == 0;
}

static enum awaited awaited_by(const struct history *history, uint32_t origin,
                               const struct record *record)
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
        return (record->block.state & TASK_INTERRUPTIBLE) &&
                       may_be_signalfd(history, origin, record)
                   ? AWAITS_DATA
                   : AWAITS_OTHER;
    default:
        return AWAITS_OTHER;
    }
}

#define SOON 10000000ull /* ns: events so close together are related */

/* A BLOCK. */
struct sleep {
    const struct process *process;
    enum awaited awaited;
    uint64_t begin;
    uint64_t end;
};

/* Whether this termination can have ended a sleep. A parent that calls wait after the termination mostly did not sleep.
 * A termination within a wait for a child may precede its end by as much CPU time as the child has used, since memory
 * is freed faster than it is filled. A wait for a signal may be for another signal. */
static bool can_have_ended(const struct history *history, const struct ended *ended,
                           const void *context)
{
    const struct beginning *termination = &ended->termination;
    const struct sleep *sleep = context;
    bool within = termination->time >= sleep->begin;

    if (ended->waited || termination->time > sleep->end)
        return false;
    uint64_t later = sleep->end - termination->time;
    bool soon =
        sleep->awaited == AWAITS_DATA
            ? within && later <= SOON
            : later <=
                  DYING + (within && sleep->awaited == AWAITS_CHILD ? termination->proc_time : 0);
    return soon && is_above(history, sleep->process, ended->heir);
}

typedef bool can_function(const struct history *history, const struct ended *ended,
                          const void *context);

/* The latest of those for which `can` holds; NULL: none. */
static struct ended *last_of(const struct history *history, struct ends *ends, can_function *can,
                             const void *context)
{
    struct ended *last = NULL;

    for (uint32_t i = 0; ends != NULL && i < ENDED_CHILDREN; i++) {
        struct ended *ended = &ends->at[i];
        if (ended->termination.stream != 0 &&
            (last == NULL || ended->termination.time > last->termination.time) &&
            can(history, ended, context))
            last = ended;
    }
    return last;
}

/* What ended this BLOCK: the latest child that can have; or an orphan, if that terminated during the sleep and no child
 * did. NULL: none. */
static struct ended *child_that_ended(const struct history *history, const struct process *process,
                                      const struct record *record)
{
    enum awaited awaited =
        process == NULL ? AWAITS_OTHER : awaited_by(history, process->origin, record);
    uint64_t end = record->header.time;

    if (awaited == AWAITS_OTHER)
        return NULL;
    uint64_t begin = record->block.duration > end ? 0 : end - record->block.duration;
    const struct sleep sleep = {process, awaited, begin, end};
    struct ended *child = last_of(history, process->ended, can_have_ended, &sleep);
    if (awaited != AWAITS_CHILD || (child != NULL && child->termination.time >= begin))
        return child;
    struct ended *orphan =
        last_of(history, history->origins[process->origin].orphans, can_have_ended, &sleep);
    return orphan != NULL && orphan->termination.time >= begin ? orphan : child;
}

static struct ended *find_ended(struct ends *ends, uint32_t process)
{
    for (uint32_t i = 0; ends != NULL && i < ENDED_CHILDREN; i++)
        if (ends->at[i].termination.stream != 0 && ends->at[i].process == process)
            return &ends->at[i];
    return NULL;
}

/* The child, or orphan, with this number; NULL: it is none of the latest ones to end. */
static struct ended *find_child(const struct history *history, const struct process *process,
                                uint32_t number)
{
    struct ended *child = find_ended(process->ended, number);

    if (child != NULL)
        return child;
    child = find_ended(history->origins[process->origin].orphans, number);
    return child != NULL && is_above(history, process, child->heir) ? child : NULL;
}

/* Whether the process with this number is an ancestor of `process`, whose STREAM says so even if that was met first. */
static bool is_ancestor(const struct history *history, const struct process *process,
                        uint32_t number)
{
    const struct process *other = find_process(history, process->origin, number);
    const struct stream_record *own =
        identities_stream(history->identities, process->origin, process->number);

    return (other != NULL && is_above(history, other, process->number)) ||
           (own != NULL && own->parent != 0 && own->parent == number);
}

/* Adds the edge from the child whose thread woke this process from a wait for children, or for the signal that a child has
 * ended: the kernel says so, however long that child took to die. What ends a wait for children by its own end is a child,
 * even if nothing more is known of it, unless it is known to be an ancestor. The thread need not be the one whose
 * TERMINATION is the process's last. */
static int add_child_that_woke(struct history *history, const struct stream *stream,
                               const struct record *record, const struct beginning *by_end)
{
    const struct stream_record *waker =
        identities_stream(history->identities, stream->origin, by_end->stream);

    if (by_end->id != EVENT_TERMINATION || waker == NULL ||
        waker->process == stream->process->number)
        return 0;
    if (is_ancestor(history, stream->process, waker->process))
        return 0; /* it is no child: its end has sent a signal */
    struct ended *child = find_child(history, stream->process, waker->process);
    if (child == NULL && awaited_by(history, stream->origin, record) != AWAITS_CHILD)
        return 0; /* another process, whose end has sent a signal, or closed a file */
    if (child != NULL)
        child->waited = true;
    if (child != NULL && child->termination.number == by_end->number)
        return values_add_edge(history, EDGE_TERMINATION, stream->origin, &child->termination);
    return history_add_edge_from(history, EDGE_TERMINATION, stream->origin, 0, by_end);
}

bool processes_wait_for_end(struct history *history, struct stream *stream,
                            const struct record *record, struct process **ret_process)
{
    const struct ended *ended = child_that_ended(history, stream->process, record);
    const struct beginning *by_end;

    *ret_process = stream->process;
    return ended != NULL && ended->termination.number == NO_NUMBER &&
           !wakeups_show_end(history, stream, record, &by_end);
}

int processes_end_wait(struct history *history, struct stream *stream, const struct record *record)
{
    const struct beginning *by_end;

    if (stream->process == NULL || awaited_by(history, stream->origin, record) == AWAITS_OTHER)
        return 0;
    if (wakeups_show_end(history, stream, record, &by_end))
        return by_end == NULL ? 0 : add_child_that_woke(history, stream, record, by_end);
    struct ended *ended = child_that_ended(history, stream->process, record);
    if (ended == NULL || ended->termination.number == NO_NUMBER)
        return 0;
    ended->waited = true;
    return values_add_edge(history, EDGE_TERMINATION, stream->origin, &ended->termination);
}

/* ---- the end of a file ---- */

/* A file that this process or one of its descendants closes. */
struct closing {
    const struct process *process;
    uint64_t time;
};

static bool can_have_closed(const struct history *history, const struct ended *ended,
                            const void *context)
{
    const struct closing *closing = context;
    uint64_t ended_at = ended->termination.time;

    return ended_at <= closing->time && closing->time - ended_at <= DYING &&
           is_above(history, closing->process, ended->heir);
}

const struct beginning *processes_last_below(const struct history *history,
                                             const struct process *process, uint64_t time)
{
    const struct closing closing = {process, time};
    struct ends *orphans = history->origins[process->origin].orphans;
    const struct ended *child = last_of(history, process->ended, can_have_closed, &closing);
    const struct ended *orphan = last_of(history, orphans, can_have_closed, &closing);

    if (child == NULL || (orphan != NULL && orphan->termination.time > child->termination.time))
        child = orphan;
    return child == NULL ? NULL : &child->termination;
}

static void forget_not_handed(struct ends *ends)
{
    for (uint32_t i = 0; ends != NULL && i < ENDED_CHILDREN; i++)
        if (ends->at[i].termination.number == NO_NUMBER)
            ends->at[i].termination.stream = 0;
}

void processes_give_up(struct history *history, const struct stream *stream)
{
    for (struct process *above = stream->process; above != NULL;
         above = processes_parent(history, above))
        forget_not_handed(above->ended);
    forget_not_handed(history->origins[stream->origin].orphans);
}
