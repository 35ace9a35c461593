/* SPDX-License-Identifier: MIT */
/*
 * duplicates.c: which of the latest datagrams an endpoint has received. This distinguishes duplicates from late
 * datagrams and from those whose SEND records are missing.
 *
 *      identification n has bit n % NUMBERS_SEEN
 *
 *      ... |1|1|0|1|1|1|0|1|            0: lost, or late
 *           ^             ^ highest
 *           highest - NUMBERS_SEEN + 1
 *
 * The receiver's meter counts datagrams itself; the low 16 bits of its numbers are the packets' identification (IPv4).
 */
#include "analysis/statistics/duplicates.h"

#include "analysis/statistics/statistics_state.h"

#include <stdlib.h>
#include <string.h>

#define NUMBERS_SEEN 1024

struct numbers_seen {
    uint64_t bits[NUMBERS_SEEN / 64];
    uint16_t highest;
    bool any;
};

static uint64_t *word_of(struct numbers_seen *seen, uint16_t number)
{
    return &seen->bits[number % NUMBERS_SEEN / 64];
}

static uint64_t bit_of(uint16_t number)
{
    return 1ULL << number % 64;
}

static bool are_covering(const struct numbers_seen *seen, uint16_t number)
{
    return seen->any && (uint16_t)(seen->highest - number) < NUMBERS_SEEN;
}

static bool have(struct numbers_seen *seen, uint16_t number)
{
    return are_covering(seen, number) && (*word_of(seen, number) & bit_of(number)) != 0;
}

/* After a jump, which IPv4 identifications may make, the window begins anew. */
static void note(struct numbers_seen *seen, uint16_t number)
{
    if (!seen->any ||
        (!are_covering(seen, number) && (uint16_t)(number - seen->highest) >= NUMBERS_SEEN)) {
        memset(seen->bits, 0, sizeof(seen->bits));
        seen->highest = number;
        seen->any = true;
    }
    while ((int16_t)(uint16_t)(number - seen->highest) > 0) {
        seen->highest++;
        *word_of(seen, seen->highest) &= ~bit_of(seen->highest);
    }
    *word_of(seen, number) |= bit_of(number);
}

int duplicates_note(struct statistics *statistics, struct endpoint *endpoint,
                    const struct history_event *event)
{
    const struct record *record = (const struct record *)event->event.header;
    uint16_t number = (uint16_t)record->message.offset;

    if (endpoint->kind != PATH_UDP ||
        history_machine(statistics->history, endpoint->origin) ==
            history_machine(statistics->history, endpoint->partner->origin))
        return 0;
    if (endpoint->seen == NULL)
        endpoint->seen = calloc(1, sizeof(*endpoint->seen));
    if (endpoint->seen == NULL)
        return -ENOMEM;
    if (event->edge_count > 0)
        note(endpoint->seen, number);
    else if (event->rest == REST_UNMATCHED && have(endpoint->seen, number))
        endpoint->duplicates++;
    return 0;
}
