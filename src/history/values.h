/* SPDX-License-Identifier: MIT */
/* values.h: what an analysis keeps with events. See history_types.h. */
#ifndef DPM_VALUES_H
#define DPM_VALUES_H

#include "history/history_types.h"

/* A value for an event that is handed out; *index_and_1 is 0 if none are kept. Returns 0 or -ENOMEM. */
int values_take(struct history *history, uint32_t *index_and_1, struct history_event *event);
static inline void *values_at(const struct history *history, uint32_t index_and_1)
{
    return index_and_1 == 0 ? NULL : pool_at(&history->values, index_and_1 - 1);
}
/* A further event may begin edges there: it takes one more values_spend. 0 is allowed. Returns 0 or -ENOMEM. */
int values_share(struct history *history, uint32_t index_and_1);
/* No edge will begin there any more. The value stays in memory until the next event is asked for. */
void values_spend(struct history *history, uint32_t *index_and_1);
void values_give_spent(struct history *history);

/* The first hands out an event that was noted as the beginning of one edge; the second adds that edge. Return 0 or
 * -ENOMEM. */
int values_begin_at(struct history *history, struct beginning *beginning,
                    struct history_event *event);
int values_add_edge(struct history *history, enum edge_kind kind, uint32_t origin,
                    struct beginning *beginning);

#endif
