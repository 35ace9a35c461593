/* SPDX-License-Identifier: MIT */
/*
 * clock_origins.c: the clocks of the sources, related by the history's edges or, without edges, by the wall
 * clocks. See clock.h.
 */
#include "history/clock_origins.h"

void history_clock_share(struct history *history, uint32_t origin)
{
    for (uint32_t i = 0; i < history->origin_count; i++)
        if (i != origin && history->origins[i].machine == history->origins[origin].machine) {
            clocks_share(history->clocks, origin, i);
            return;
        }
}

int64_t history_wall_offset(const struct history *history, uint32_t origin)
{
    return history->origins[origin].wall_offset;
}

int history_clock_note(struct history *history, uint32_t from, uint64_t sent, uint32_t to,
                       uint64_t received)
{
    return clocks_add(history->clocks, from, sent, to, received);
}

uint32_t history_clock(const struct history *history, uint32_t origin, uint64_t time,
                       int64_t *ret_offset, uint64_t *ret_error)
{
    uint32_t reference = clocks_reference(history->clocks, origin);

    clocks_offset(history->clocks, origin, time, ret_offset, ret_error);
    if (*ret_error == UINT64_MAX) {
        reference = origin;
        *ret_offset = 0;
    }
    if (reference == 0)
        return 0;
    *ret_offset =
        (int64_t)((uint64_t)*ret_offset + (uint64_t)history->origins[reference].wall_offset -
                  (uint64_t)history->origins[0].wall_offset);
    *ret_error = UINT64_MAX;
    return reference;
}

uint64_t history_common_time(const struct history *history, uint32_t origin, uint64_t time)
{
    int64_t offset;
    uint64_t error;

    if (origin == 0)
        return time;
    history_clock(history, origin, time, &offset, &error);
    return time + (uint64_t)offset;
}

bool history_clock_between(const struct history *history, uint32_t from, uint64_t time, uint32_t to,
                           int64_t *ret_offset, uint64_t *ret_error)
{
    struct clocks *clocks = history->clocks;
    int64_t own, other;
    uint64_t own_error, other_error;

    *ret_offset = 0;
    *ret_error = 0;
    if (history_have_one_clock(history, from, to))
        return true;
    if (clocks_reference(clocks, from) != clocks_reference(clocks, to))
        return false;
    clocks_offset_aside(clocks, from, time, &own, &own_error);
    /* the latest record read shows roughly what time it was there */
    clocks_offset_aside(clocks, to, history->origins[to].read_time, &other, &other_error);
    clocks_offset_aside(clocks, to, time + (uint64_t)own - (uint64_t)other, &other, &other_error);
    if (own_error > UINT64_MAX / 2 || other_error > UINT64_MAX / 2)
        return false;
    *ret_offset = (int64_t)((uint64_t)own - (uint64_t)other);
    *ret_error = own_error + other_error;
    return true;
}

bool history_have_one_clock(const struct history *history, uint32_t a, uint32_t b)
{
    uint32_t machine = history->origins[a].machine;

    return a == b || (machine != NO_MACHINE && machine == history->origins[b].machine);
}

uint64_t history_known_beyond(const struct history *history, uint32_t number, uint32_t origin,
                              uint64_t time)
{
    const struct origin *other = &history->origins[number];
    int64_t own, its;
    uint64_t own_error, its_error;

    if (!other->tells || time > UINT64_MAX / 2)
        return UNRELATED;
    if (history_have_one_clock(history, number, origin))
        return time + MOMENT;
    history_clock(history, origin, time, &own, &own_error);
    history_clock(history, number, other->progress, &its, &its_error);
    if (own_error > UINT64_MAX / 8 || its_error > UINT64_MAX / 8)
        return UNRELATED;
    return time + (uint64_t)own - (uint64_t)its + own_error + its_error + MOMENT;
}
