/* SPDX-License-Identifier: MIT */
/* collectives.h: which rank others have waited for in a collective function of MPI. See history_types.h. */
#ifndef DPM_COLLECTIVES_H
#define DPM_COLLECTIVES_H

#include "history/history_types.h"
#include "history/receiving.h"

/* Whether the stream begins a collective function. */
static inline bool begins_collective(const struct record *record)
{
    return record->header.id == EVENT_WAKEUP && record->wakeup.woken == 0 &&
           record->wakeup.communicator != 0;
}

static inline bool is_of_collective(const struct record *record)
{
    return begins_collective(record) || block_is_of_mpi(record);
}

/* Notes such a record, in the order of the origin's clock. Returns 0 or -ENOMEM. */
int collectives_note(struct history *history, struct stream *stream, const struct record *record);

/* Whether a BLOCK must wait for records of other machines, where ranks may have begun the same call: as *ret_wait says. */
bool collectives_wait_for_machines(struct history *history, const struct stream *stream,
                                   const struct record *record, struct wait *ret_wait);

/* Whether a BLOCK must wait for the beginning of the same call in another rank, which is held: the stream then joins
 * *ret_waiters. */
bool collectives_wait(struct history *history, const struct stream *stream,
                      const struct record *record, struct stream ***ret_waiters);

/* The BLOCK no longer waits for what is held. Returns whether it did. */
bool collectives_give_up(struct history *history, const struct stream *stream,
                         const struct record *record);

/* Hands out the beginning of a call, at which edges may begin from now on; or a BLOCK, adding its edge. Returns 0 or -ENOMEM. */
int collectives_hand_out(struct history *history, const struct stream *stream,
                         const struct record *record, struct history_event *event);

void collectives_free(struct collectives *collectives);

#endif
