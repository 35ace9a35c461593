/* SPDX-License-Identifier: MIT */
/* decisions.c: see decisions.h. */
#include "analysis/statistics/decisions.h"

#include "analysis/statistics/machines.h"
#include "analysis/statistics/statistics_clocks.h"
#include "analysis/statistics/statistics_state.h"

#include <errno.h>
#include <stdlib.h>

int decision_note(struct decisions *decisions, uint32_t origin,
                  const struct decision_record *record)
{
    if (decisions->count >= MOST_DECISIONS) {
        decisions->left_out++;
        return 0;
    }
    if (array_reserve(&decisions->list, &decisions->capacity, decisions->count + 1,
                      sizeof(*decisions->list)) < 0)
        return -ENOMEM;
    decisions->list[decisions->count++] = (struct decision){origin, *record};
    return 0;
}

int decisions_build(const struct statistics *statistics, uint64_t begin,
                    struct communication *result)
{
    const struct decisions *from = &statistics->decisions;

    result->decisions_left_out = from->left_out;
    result->decisions = calloc(from->count + 1, sizeof(*result->decisions));
    if (result->decisions == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < from->count; i++) {
        const struct decision *decision = &from->list[i];
        uint64_t time =
            CLOCK_BASE + decision->record.header.time + clock_offset(statistics, decision->origin);
        result->decisions[result->decision_count++] =
            (struct communication_decision){.machine = machine_index(statistics, decision->origin),
                                            .time = time > begin ? time - begin : 0,
                                            .record = decision->record};
    }
    return 0;
}

void decisions_done(struct decisions *decisions)
{
    free(decisions->list);
}
