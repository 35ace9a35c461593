/* SPDX-License-Identifier: MIT */
/*
 * sources.c: chooses which of several sources is read. See history_types.h.
 *
 *      source 0   | next | ...      one whose records are waited for;
 *      source 1   | next | ...      else the one that is behind in time, by the clocks as far as they are known;
 *      source 2   | next | ...      or, if very much is in flight (clocks may be wrong), the one with the least load
 *
 * So none runs far ahead, and recordings of one machine are merged in the order of time.
 */
#include "history/sources.h"

#include "history/holding.h"

static uint64_t load_of(const struct origin *origin)
{
    return origin->held + origin->in_flight;
}

/* Whether `a` is to be read rather than `b`. */
static bool comes_before(const struct origin *a, const struct origin *b)
{
    bool a_wanted = a->waiters > 0 && load_of(a) < AHEAD_MOST;
    bool b_wanted = b->waiters > 0 && load_of(b) < AHEAD_MOST;

    /* all begin with their identities, in the order in which they were named */
    if (!a->begun || !b->begun)
        return !a->begun && b->begun;
    if (a_wanted != b_wanted)
        return a_wanted;
    if ((load_of(a) > UNDER_WAY_MOST || load_of(b) > UNDER_WAY_MOST) && load_of(a) != load_of(b))
        return load_of(a) < load_of(b);
    return a->when < b->when;
}

static bool is_readable(const struct origin *origin)
{
    return !origin->ended && !origin->idle;
}

static void set_quiet(struct history *history, struct origin *origin, bool quiet)
{
    history->quiet_count += (uint32_t)quiet - (uint32_t)origin->quiet;
    origin->quiet = quiet;
}

static void end_origin(struct history *history, struct origin *origin)
{
    set_quiet(history, origin, false);
    origin->ended = true;
    history->ended_count++;
    origin->progress = UINT64_MAX;
    holding_wake_origin(history, origin);
    holding_wake_impatient(history);
}

static void advance(struct history *history, struct origin *origin, uint64_t progress)
{
    if (progress > origin->progress || !origin->begun)
        origin->progress = progress;
    if (origin->heap_count > 0)
        holding_progress(history, origin);
}

/* An origin that is idle for too long is not waited for. */
static void note_idle(struct history *history, struct origin *origin, bool tells)
{
    if (history->patience == 0)
        return;
    uint64_t now = history->now(CLOCK_MONOTONIC);
    if (tells)
        set_quiet(history, origin, false);
    if (tells || origin->news == 0)
        origin->news = now;
    if (origin->quiet || now - origin->news < history->patience)
        return;
    set_quiet(history, origin, true);
    holding_wake_origin(history, origin);
    holding_wake_impatient(history);
}

/* Fetches the next record of a source, which stays valid until the source is asked for another. Returns SOURCE_RECORD;
 * 0: there is none, and streams may have been woken; or an error. */
static int look_ahead(struct history *history, struct origin *origin, struct problem *problem)
{
    uint64_t complete = 0;

    if (origin->has_next)
        return SOURCE_RECORD;
    int result = origin->source->next(origin->source, &origin->next, &complete, problem);
    if (result < 0)
        return result;
    if (result == SOURCE_RECORD) {
        origin->has_next = true;
        origin->news = 0;
        origin->next.origin = (uint32_t)(origin - history->origins);
        origin->wall_offset = origin->next.wall_offset;
        origin->when = (int64_t)(origin->next.header->time + (uint64_t)origin->offset);
        return SOURCE_RECORD;
    }
    if (result == SOURCE_NONE_YET) {
        bool tells = complete > origin->progress;
        origin->idle = true;
        if (tells)
            advance(history, origin, complete);
        note_idle(history, origin, tells);
        return 0;
    }
    end_origin(history, origin);
    return 0;
}

#define UNCERTAIN_MOST 1000000 /* ns */

static void note_time(const struct history *history, struct origin *origin)
{
    uint64_t time = origin->next.header->time, error;

    history_clock(history, origin->next.origin, time, &origin->offset, &error);
    origin->when = (int64_t)(time + (uint64_t)origin->offset);
    origin->uncertain = error == UINT64_MAX      ? 0
                        : error < UNCERTAIN_MOST ? (uint32_t)error
                                                 : UNCERTAIN_MOST;
}

/* The time until which `one` may be read while this is the next record of `other`. Within the uncertainty of the clocks
 * the order is unknown. */
static int64_t turn_until(const struct origin *one, const struct origin *other)
{
    uint32_t uncertain = one->uncertain > other->uncertain ? one->uncertain : other->uncertain;

    return (int64_t)((uint64_t)other->when + uncertain);
}

/* The clocks of the two disagree, as has turned out, and no messages have tied them since. */
static bool is_astray(const struct history *history, uint32_t number, const struct origin *than)
{
    int64_t offset;
    uint64_t error;

    return history->origins[number].astray &&
           !history_clock_between(history, than->next.origin, than->next.header->time, number,
                                  &offset, &error);
}

static int64_t known_until(const struct origin *origin)
{
    return (int64_t)(origin->progress + (uint64_t)origin->offset);
}

/* The idle origin whose time is least: later records, `best` the first of them, wait for it. NULL: none. */
static struct origin *waited_for(const struct history *history, const struct origin *best)
{
    struct origin *least = NULL;

    for (uint32_t i = 0; history->patience > 0 && i < history->origin_count; i++) {
        struct origin *origin = &history->origins[i];
        if (!origin->idle || origin->ended || origin->quiet || !origin->begun ||
            is_astray(history, i, best))
            continue;
        if (least == NULL || known_until(origin) < known_until(least))
            least = origin;
    }
    return least;
}

/* Signs of life come all the time. If an origin's time does not come to that of the next record nevertheless, clocks are
 * wrong. The patience is for silence, and ends first. */
static void note_wait(const struct history *history, struct origin *best, struct origin *idle)
{
    uint64_t now = history->now(CLOCK_MONOTONIC);

    if (best->waits_since == 0)
        best->waits_since = now;
    if (now - best->waits_since >= 2 * history->patience)
        idle->astray = true;
}

#define TURN 16 /* records of one source */

/* Chooses one source, to be read until another one is behind it. */
static struct origin *begin_turn(struct history *history)
{
    struct origin *best = NULL, *second = NULL;

    for (uint32_t i = 0; i < history->origin_count; i++) {
        struct origin *origin = &history->origins[i];
        if (!is_readable(origin))
            continue;
        if (best == NULL || comes_before(origin, best)) {
            second = best;
            best = origin;
        } else if (second == NULL || comes_before(origin, second)) {
            second = origin;
        }
    }
    if (best == NULL)
        return NULL;
    note_time(history, best);
    struct origin *idle = waited_for(history, best);
    if (idle != NULL && best->begun && best->when > known_until(idle)) {
        note_wait(history, best, idle);
        return NULL;
    }
    best->waits_since = 0;
    history->current = best->next.origin;
    history->turn = best->begun && best->waiters == 0 ? TURN : 0;
    history->turn_until =
        second == NULL || best->when > second->when ? INT64_MAX : turn_until(best, second);
    if (idle != NULL && known_until(idle) < history->turn_until)
        history->turn_until = known_until(idle);
    return best;
}

static int look_ahead_everywhere(struct history *history, struct problem *problem)
{
    int result = SOURCE_RECORD;

    for (uint32_t i = 0; i < history->origin_count && result >= 0; i++)
        if (is_readable(&history->origins[i]))
            result = look_ahead(history, &history->origins[i], problem);
    return result;
}

int sources_choose(struct history *history, struct origin **ret_origin, struct problem *problem)
{
    struct origin *current = &history->origins[history->current];
    uint32_t ended = history->ended_count;
    int result = 0;

    *ret_origin = NULL;
    if (history->turn > 0 && is_readable(current)) {
        history->turn--;
        result = look_ahead(history, current, problem);
        if (result == SOURCE_RECORD && current->when <= history->turn_until)
            *ret_origin = current;
        if (result < 0 || *ret_origin != NULL)
            return result < 0 ? result : 0;
    }
    result = look_ahead_everywhere(history, problem);
    if (result >= 0 && history->ended_count == ended)
        *ret_origin = begin_turn(history);
    return result < 0 ? result : 0;
}

/* Packets of a copy are missing before the record: as with LOST, what they had will not come. */
static void note_missing(struct history *history, struct origin *origin)
{
    uint64_t missing = origin->source->states[0].missing_packets;

    if (missing == origin->missing_packets)
        return;
    origin->missing_packets = missing;
    origin->loses = true;
    origin->gap_time = origin->next.header->time;
    holding_wake_origin(history, origin);
}

/* Counts what comes too late from an origin that nothing waited for. */
static void note_late(struct history *history, struct origin *origin)
{
    if (origin->quiet) {
        history->counts.late += origin->when < history->gone_on;
        if (origin->when >= history->gone_on)
            set_quiet(history, origin, false);
    } else if (history->quiet_count > 0 && origin->when > history->gone_on) {
        history->gone_on = origin->when;
    }
}

struct event sources_take(struct history *history, struct origin *origin)
{
    const struct event event = origin->next;

    origin->has_next = false;
    note_missing(history, origin);
    if (history->patience > 0)
        note_late(history, origin);
    origin->read_time = event.header->time;
    advance(history, origin, event.header->time);
    origin->begun = true;
    return event;
}

void sources_ask_again(struct history *history)
{
    for (uint32_t i = 0; i < history->origin_count; i++)
        history->origins[i].idle = false;
}
