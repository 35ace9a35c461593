/* SPDX-License-Identifier: MIT */
/*
 * clock_wall.c: clock offsets as the wall clocks have them, which knows nothing of messages.
 */
#include "history/history_private.h"

void history_clock_note(struct history *history, uint32_t from, uint64_t sent, uint32_t to,
                        uint64_t received)
{
    (void)history;
    (void)from;
    (void)sent;
    (void)to;
    (void)received;
}

void history_clock(const struct history *history, uint32_t origin, uint64_t time,
                   int64_t *ret_offset, uint64_t *ret_error)
{
    const struct origin *first = &history->origins[0];
    const struct origin *other = &history->origins[origin];
    bool one_clock =
        origin == 0 || (first->machine != NO_MACHINE && first->machine == other->machine);

    (void)time;
    *ret_offset =
        one_clock ? 0 : (int64_t)((uint64_t)other->wall_offset - (uint64_t)first->wall_offset);
    *ret_error = one_clock ? 0 : UINT64_MAX;
}
