/* SPDX-License-Identifier: MIT */
/*
 * collectives.c: which rank others have waited for in a collective function of MPI.
 *
 *      call 7 of a communicator: MPI_Allreduce
 *
 *      rank 0   ----o WAKEUP ~~~~~~~~~~~~~~~~o BLOCK ---       a rank begins the call with a WAKEUP that names no stream
 *      rank 1   -------o WAKEUP ~~~~~~~~~~~~~o BLOCK ---
 *      rank 2   =========================o WAKEUP ------       the last one that came
 *                                         '--> edges to both BLOCKs
 *
 * All processes of a communicator call these functions in the same order, so the n-th call of each is the same one. What ends
 * a wait is the rank that came last, or the root of MPI_Bcast and its like, if it came during the wait. A root that was
 * there before has no edge: then others have passed on its data late, or the call itself took time. Ranks that bring
 * something to a root need nothing, and have none either.
 *
 * An arrival is found when the BLOCK is read from the source; the BLOCK is handed out once the arrival was, which may be held
 * with its stream. On several machines the BLOCK first waits until the others' records are read so far. The last arrival is known
 * if it is later than the others by more than their clocks may be wrong; else there is no edge.
 *
 *      rank 0 @web1  ----o~~~~~~~~~~~~~o BLOCK        db1's clock: within 1 ms
 *      rank 1 @db1   ------o~~~~~~~~~~~o BLOCK
 *      rank 2 @db1   -------------o                   the last one, by 7 ms: certain; without it, rank 0 and 1 could be either
 */
#include "history/collectives.h"

#include "history/clock_origins.h"
#include "history/holding.h"
#include "history/receiving.h"
#include "history/values.h"

#include <errno.h>
#include <stdlib.h>

#define CALLS_MOST 4096u /* beyond, the one that began first is forgotten */

/* The beginning of a call by one rank, as long as something refers to it: its call, BLOCKs that were not handed out, its own
 * record that was not. */
struct arrival {
    struct beginning begins; /* number NO_NUMBER: not handed out yet */
    struct stream *waiters;  /* streams whose BLOCK waits for it */
    uint32_t origin;
    uint32_t references;
};

/* The same call of all ranks. */
struct call {
    uint64_t key;
    uint32_t base; /* origin of the first arrival, whose clock these times have: */
    bool unsure;   /* a clock is not known */
    int64_t
        others; /* ns: the latest that an arrival on another machine than `latest` may be; INT64_MIN: none */
    uint32_t latest, root; /* arrivals: index + 1; 0: none */
    uint32_t count;        /* of ranks that have begun it ... */
    uint32_t of;           /* ... of so many; 0: not known */
    uint32_t newer;        /* the next one that began: index + 1 */
};

/* What a stream calls. */
struct caller {
    uint64_t key; /* of the call */
    uint64_t time;
    uint32_t stream; /* its life */
    uint8_t part;    /* enum collective_part */
};

/* A BLOCK that was not handed out yet. */
struct pending {
    uint32_t arrival; /* index + 1; 0: none */
    bool gives_up;
    bool undecided; /* other machines' arrivals may follow */
    struct caller caller;
};

struct collectives {
    struct lookup call_keys;
    struct lookup callers;  /* number_key of a stream -> its index */
    struct lookup unhanded; /* record_key of a WAKEUP -> its arrival */
    struct lookup pending;  /* record_key of a BLOCK -> its index */
    struct pool arrivals;
    struct pool calls;
    struct pool called;
    struct pool blocks;
    uint32_t oldest, newest; /* calls: index + 1 */
    uint32_t count;
};

static struct arrival *arrival_at(const struct collectives *collectives, uint32_t index)
{
    return pool_at(&collectives->arrivals, index);
}

static void let_go(struct history *history, uint32_t index)
{
    struct arrival *arrival = arrival_at(history->collectives, index);

    if (--arrival->references > 0)
        return;
    values_spend(history, &arrival->begins.value);
    pool_give(&history->collectives->arrivals, index);
}

static uint64_t record_key(const struct stream *stream, const struct record *record)
{
    const uint64_t parts[] = {number_key(stream->origin, stream->number), record->header.sequence};

    return hash_bytes(0, parts, sizeof(parts));
}

static enum collective_part part_of(const struct record *record)
{
    return (enum collective_part)(record->wakeup.communicator & COLLECTIVE_PART_MASK);
}

static uint64_t key_of(const struct record *record)
{
    return (uint64_t)(record->wakeup.communicator & ~(uint32_t)COLLECTIVE_PART_MASK) << 32 |
           record->wakeup.call;
}

/* ---- calls ---- */

static void forget_oldest(struct history *history)
{
    struct collectives *collectives = history->collectives;
    uint32_t index = collectives->oldest - 1;
    struct call *call = pool_at(&collectives->calls, index);

    if (call->latest != 0)
        let_go(history, call->latest - 1);
    if (call->root != 0)
        let_go(history, call->root - 1);
    collectives->oldest = call->newer;
    if (call->newer == 0)
        collectives->newest = 0;
    lookup_remove(&collectives->call_keys, call->key);
    pool_give(&collectives->calls, index);
    collectives->count--;
}

/* NULL: out of memory. */
static struct call *call_of(struct history *history, uint64_t key)
{
    struct collectives *collectives = history->collectives;
    uint32_t found = lookup_find(&collectives->call_keys, key);

    if (found != LOOKUP_NONE)
        return pool_at(&collectives->calls, found);
    if (collectives->count == CALLS_MOST)
        forget_oldest(history);
    int64_t index = pool_take(&collectives->calls);
    if (index < 0 || lookup_set(&collectives->call_keys, key, (uint32_t)index) < 0)
        return NULL;
    struct call *call = pool_at(&collectives->calls, (uint32_t)index);
    *call = (struct call){.key = key, .others = INT64_MIN};
    if (collectives->newest == 0)
        collectives->oldest = (uint32_t)index + 1;
    else
        ((struct call *)pool_at(&collectives->calls, collectives->newest - 1))->newer =
            (uint32_t)index + 1;
    collectives->newest = (uint32_t)index + 1;
    collectives->count++;
    return call;
}

static void refer(struct history *history, uint32_t *index_and_1, uint32_t arrival)
{
    arrival_at(history->collectives, arrival)->references++;
    if (*index_and_1 != 0)
        let_go(history, *index_and_1 - 1);
    *index_and_1 = arrival + 1;
}

static int note_caller(struct history *history, const struct stream *stream,
                       const struct record *record)
{
    struct collectives *collectives = history->collectives;
    uint64_t number = number_key(stream->origin, stream->number);
    uint32_t found = lookup_find(&collectives->callers, number);
    int64_t index = found == LOOKUP_NONE ? pool_take(&collectives->called) : (int64_t)found;

    if (index < 0 ||
        (found == LOOKUP_NONE && lookup_set(&collectives->callers, number, (uint32_t)index) < 0))
        return -ENOMEM;
    *(struct caller *)pool_at(&collectives->called, (uint32_t)index) =
        (struct caller){key_of(record), record->header.time, stream->life, part_of(record)};
    return 0;
}

/* When it was by the clock of the call's first arrival, and the latest that this may be; false: not known. */
static bool time_of(const struct history *history, const struct call *call, uint32_t index,
                    int64_t *ret_time, int64_t *ret_latest)
{
    const struct arrival *arrival = arrival_at(history->collectives, index);
    int64_t offset;
    uint64_t error;

    if (!history_clock_between(history, arrival->origin, arrival->begins.time, call->base, &offset,
                               &error))
        return false;
    *ret_time = (int64_t)arrival->begins.time + offset;
    *ret_latest = *ret_time + (int64_t)error;
    return true;
}

/* The latest one, so far; and how late those on other machines may have been. */
static void note_latest(struct history *history, struct call *call, uint32_t index)
{
    int64_t time, latest, before, before_latest;

    if (call->latest == 0) {
        call->base = arrival_at(history->collectives, index)->origin;
        refer(history, &call->latest, index);
        return;
    }
    if (!time_of(history, call, index, &time, &latest) ||
        !time_of(history, call, call->latest - 1, &before, &before_latest)) {
        call->unsure = true;
        return;
    }
    bool elsewhere =
        !history_have_one_clock(history, arrival_at(history->collectives, index)->origin,
                                arrival_at(history->collectives, call->latest - 1)->origin);
    int64_t other = time < before ? latest : before_latest;
    if (elsewhere && other > call->others)
        call->others = other;
    if (time >= before)
        refer(history, &call->latest, index);
}

static int note_begin(struct history *history, const struct stream *stream,
                      const struct record *record)
{
    struct collectives *collectives = history->collectives;
    struct call *call = call_of(history, key_of(record));
    int64_t index = call == NULL ? -ENOMEM : pool_take(&collectives->arrivals);

    if (index < 0 ||
        lookup_set(&collectives->unhanded, record_key(stream, record), (uint32_t)index) < 0 ||
        note_caller(history, stream, record) < 0)
        return -ENOMEM;
    *arrival_at(collectives, (uint32_t)index) = (struct arrival){
        .begins = {.number = NO_NUMBER,
                   .time = record->header.time,
                   .stream = stream->number,
                   .sequence = record->header.sequence,
                   .id = EVENT_WAKEUP},
        .origin = stream->origin,
        .references = 1, /* in `unhanded` */
    };
    note_latest(history, call, (uint32_t)index);
    if (part_of(record) == COLLECTIVE_GIVES)
        refer(history, &call->root, (uint32_t)index);
    call->count++;
    call->of = record->wakeup.waker;
    return 0;
}

/* ---- waits ---- */

/* Whether no other machine's arrival may be later than the latest one. */
static bool is_latest_of_machines(const struct history *history, const struct call *call)
{
    int64_t time, latest;

    return !call->unsure && time_of(history, call, call->latest - 1, &time, &latest) &&
           (call->others == INT64_MIN || 2 * time - latest > call->others);
}

/* If not all members of the communicator are known to have come, one that is not recorded may have been later. That is unlikely
 * if the wait soon ended then. `came`: the latest, by the clock of the wait. */
static bool is_last(const struct history *history, const struct call *call, uint64_t came,
                    uint64_t begin, uint64_t end)
{
    if (!is_latest_of_machines(history, call))
        return false;
    if (call->of != 0)
        return call->count >= call->of;
    return end - came <= came - begin && call->others == INT64_MIN;
}

/* What has ended the wait of a caller: index + 1 of an arrival; 0: not known. */
static uint32_t what_ended(const struct history *history, const struct stream *stream,
                           const struct caller *caller, uint64_t end)
{
    const struct collectives *collectives = history->collectives;
    uint32_t found = lookup_find(&collectives->call_keys, caller->key);

    if (found == LOOKUP_NONE)
        return 0;
    const struct call *call = pool_at(&collectives->calls, found);
    uint32_t index = caller->part == COLLECTIVE_ALL || caller->part == COLLECTIVE_COLLECTS
                         ? call->latest
                     : caller->part == COLLECTIVE_TAKES ? call->root
                                                        : 0;
    if (index == 0)
        return 0;
    const struct arrival *arrival = arrival_at(collectives, index - 1);
    bool is_own = arrival->origin == stream->origin && arrival->begins.stream == stream->number;
    int64_t offset;
    uint64_t error;
    if (is_own || !history_clock_between(history, arrival->origin, arrival->begins.time,
                                         stream->origin, &offset, &error))
        return 0;
    uint64_t came = arrival->begins.time + (uint64_t)offset;
    if (came <= caller->time + error || came > end + error)
        return 0;
    return caller->part == COLLECTIVE_TAKES || is_last(history, call, came, caller->time, end)
               ? index
               : 0;
}

static int note_wait(struct history *history, struct stream *stream, const struct record *record)
{
    struct collectives *collectives = history->collectives;
    uint32_t found = lookup_find(&collectives->callers, number_key(stream->origin, stream->number));

    if (found == LOOKUP_NONE)
        return 0;
    struct caller *caller = pool_at(&collectives->called, found);
    uint64_t waited = record->block.duration_and_object & BLOCK_LONGEST;
    bool several = history->machine_count > 1;
    /* a wait that began later is another call's */
    if (caller->stream != stream->life || record->header.time - waited > caller->time)
        return 0;
    uint32_t arrival = several ? 0 : what_ended(history, stream, caller, record->header.time);
    if (arrival == 0 && !several)
        return 0;
    int64_t index = pool_take(&collectives->blocks);
    if (index < 0 ||
        lookup_set(&collectives->pending, record_key(stream, record), (uint32_t)index) < 0)
        return -ENOMEM;
    struct pending *block = pool_at(&collectives->blocks, (uint32_t)index);
    *block = (struct pending){.undecided = several, .caller = *caller};
    if (arrival != 0)
        refer(history, &block->arrival, arrival - 1);
    return 0;
}

static struct collectives *collectives_new(void)
{
    struct collectives *collectives = calloc(1, sizeof(*collectives));

    if (collectives == NULL)
        return NULL;
    collectives->arrivals.size = sizeof(struct arrival);
    collectives->calls.size = sizeof(struct call);
    collectives->called.size = sizeof(struct caller);
    collectives->blocks.size = sizeof(struct pending);
    return collectives;
}

int collectives_note(struct history *history, struct stream *stream, const struct record *record)
{
    if (!begins_collective(record))
        return history->collectives == NULL ? 0 : note_wait(history, stream, record);
    if (history->collectives == NULL && (history->collectives = collectives_new()) == NULL)
        return -ENOMEM;
    return note_begin(history, stream, record);
}

/* ---- handing out ---- */

static struct pending *find_pending(const struct history *history, const struct stream *stream,
                                    const struct record *record, uint32_t *ret_index)
{
    if (history->collectives == NULL || history->collectives->pending.count == 0 ||
        !block_is_of_mpi(record))
        return NULL;
    *ret_index = lookup_find(&history->collectives->pending, record_key(stream, record));
    return *ret_index == LOOKUP_NONE ? NULL : pool_at(&history->collectives->blocks, *ret_index);
}

/* Whether all of its ranks have begun a call; also if it is not known how many there are, or forgotten. */
static bool is_whole(const struct collectives *collectives, uint64_t key)
{
    uint32_t found = lookup_find(&collectives->call_keys, key);
    const struct call *call = found == LOOKUP_NONE ? NULL : pool_at(&collectives->calls, found);

    return call == NULL || call->of == 0 || call->count >= call->of;
}

bool collectives_wait_for_machines(struct history *history, const struct stream *stream,
                                   const struct record *record, struct wait *ret_wait)
{
    uint64_t time = record->header.time;
    uint32_t index;
    struct pending *block = find_pending(history, stream, record, &index);

    if (block == NULL || !block->undecided)
        return false;
    bool whole = is_whole(history->collectives, block->caller.key);
    for (uint32_t i = 0; !whole && i < history->origin_count; i++) {
        const struct origin *other = &history->origins[i];
        uint64_t beyond = history_known_beyond(history, i, stream->origin, time);
        if (i == stream->origin || other->ended || other->quiet || beyond == UNRELATED ||
            other->progress > beyond)
            continue;
        *ret_wait = (struct wait){.origin = i, .deadline = beyond};
        return true;
    }
    block->undecided = false;
    uint32_t arrival = what_ended(history, stream, &block->caller, time);
    if (arrival != 0)
        refer(history, &block->arrival, arrival - 1);
    return false;
}

bool collectives_wait(struct history *history, const struct stream *stream,
                      const struct record *record, struct stream ***ret_waiters)
{
    uint32_t index;
    const struct pending *block = find_pending(history, stream, record, &index);

    if (block == NULL || block->gives_up || block->arrival == 0)
        return false;
    struct arrival *arrival = arrival_at(history->collectives, block->arrival - 1);
    *ret_waiters = &arrival->waiters;
    return arrival->begins.number == NO_NUMBER;
}

bool collectives_give_up(struct history *history, const struct stream *stream,
                         const struct record *record)
{
    uint32_t index;
    struct pending *block = find_pending(history, stream, record, &index);

    if (block == NULL)
        return false;
    block->gives_up = true;
    return true;
}

static int hand_out_begin(struct history *history, const struct stream *stream,
                          const struct record *record, struct history_event *event)
{
    uint64_t key = record_key(stream, record);
    uint32_t index = lookup_find(&history->collectives->unhanded, key);
    if (index == LOOKUP_NONE)
        return 0;
    struct arrival *arrival = arrival_at(history->collectives, index);
    int result = values_begin_at(history, &arrival->begins, event);
    holding_wake_all(history, &arrival->waiters);
    lookup_remove(&history->collectives->unhanded, key);
    let_go(history, index);
    return result;
}

static int hand_out_wait(struct history *history, const struct stream *stream,
                         const struct record *record)
{
    uint32_t index;
    struct pending *block = find_pending(history, stream, record, &index);
    int result = 0;

    if (block == NULL)
        return 0;
    if (block->arrival != 0) {
        const struct arrival *arrival = arrival_at(history->collectives, block->arrival - 1);
        if (arrival->begins.number != NO_NUMBER)
            result = history_add_edge_from(history, EDGE_COLLECTIVE, arrival->origin, 0,
                                           &arrival->begins);
        let_go(history, block->arrival - 1);
    }
    lookup_remove(&history->collectives->pending, record_key(stream, record));
    pool_give(&history->collectives->blocks, index);
    return result;
}

int collectives_hand_out(struct history *history, const struct stream *stream,
                         const struct record *record, struct history_event *event)
{
    if (history->collectives == NULL)
        return 0;
    return begins_collective(record) ? hand_out_begin(history, stream, record, event)
                                     : hand_out_wait(history, stream, record);
}

void collectives_free(struct collectives *collectives)
{
    if (collectives == NULL)
        return;
    lookup_done(&collectives->call_keys);
    lookup_done(&collectives->callers);
    lookup_done(&collectives->unhanded);
    lookup_done(&collectives->pending);
    pool_done(&collectives->arrivals);
    pool_done(&collectives->calls);
    pool_done(&collectives->called);
    pool_done(&collectives->blocks);
    free(collectives);
}
