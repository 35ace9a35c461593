/* SPDX-License-Identifier: MIT */
/* clock.c: clocks in nanoseconds. */
#include "meter/meter_private.h"

#include <time.h>

uint64_t clock_now(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
