/* SPDX-License-Identifier: MIT */
/* asked_clock.c: what answers say of a clock. See asked_clock.h. */
#include "clocks/asked_clock.h"

#include "clocks/clock.h"

uint64_t asked_clock_bound(const struct asked_clock *clock, uint64_t now)
{
    return clock->time == 0 ? UINT64_MAX
                            : clock->bound + (now - clock->time) * CLOCK_DRIFT_PPM / 1000000 + 1;
}

enum asked_answer asked_clock_take(struct asked_clock *clock, const struct asked_clock *answer)
{
    uint64_t bound = asked_clock_bound(clock, answer->time);
    uint64_t apart = answer->ahead > clock->ahead ? (uint64_t)(answer->ahead - clock->ahead)
                                                  : (uint64_t)(clock->ahead - answer->ahead);
    bool jumped = clock->time != 0 && apart > bound + answer->bound;

    if (!jumped && answer->bound > bound)
        return ASKED_WORSE;
    *clock = *answer;
    return jumped ? ASKED_JUMP : ASKED_BETTER;
}
