/* SPDX-License-Identifier: MIT */
/*
 * duplicates.c: which datagrams of a path were received, among the latest: what comes twice is told from
 * what comes late.
 *
 *      number n has bit n % NUMBERS_SEEN
 *
 *      ... |1|1|0|1|1|1|0|1|            0: lost, or late
 *           ^             ^ highest
 *           highest - NUMBERS_SEEN + 1
 */
#include "analysis/statistics/queues.h"

#include <string.h>

static uint64_t *word_of(struct numbers_seen *seen, uint32_t number)
{
    return &seen->bits[number % NUMBERS_SEEN / 64];
}

static uint64_t bit_of(uint32_t number)
{
    return 1ULL << number % 64;
}

bool numbers_cover(const struct numbers_seen *seen, uint32_t number)
{
    return seen->any && seen->highest - number < NUMBERS_SEEN;
}

bool numbers_have(struct numbers_seen *seen, uint32_t number)
{
    return numbers_cover(seen, number) && (*word_of(seen, number) & bit_of(number)) != 0;
}

/* Numbers that jump, which identifications of IPv4 may do, begin anew. */
void numbers_note(struct numbers_seen *seen, uint32_t number)
{
    if (!seen->any || (!numbers_cover(seen, number) && number - seen->highest >= NUMBERS_SEEN)) {
        memset(seen->bits, 0, sizeof(seen->bits));
        seen->highest = number;
        seen->any = true;
    }
    while ((int32_t)(number - seen->highest) > 0) {
        seen->highest++;
        *word_of(seen, seen->highest) &= ~bit_of(seen->highest);
    }
    *word_of(seen, number) |= bit_of(number);
    seen->last = number;
}
