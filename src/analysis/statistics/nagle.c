/* SPDX-License-Identifier: MIT */
/* nagle.c: messages that Nagle's algorithm holds back. See nagle.h. */
#include "analysis/statistics/nagle.h"

#include "analysis/statistics/statistics_state.h"

#define MILLISECOND 1000000u

/* Linux delays an acknowledgement by 40 ms and a tick at first, later by up to 200 ms. What takes 200 ms may also be a
 * retransmission, or a corked segment. */
#define DELAY_LEAST (30 * MILLISECOND)
#define DELAY_MOST  (120 * MILLISECOND)

/* How long a message takes that is not held back. In a slow network, other delays cannot be told from this one. */
#define QUICK (10 * MILLISECOND)

/* `before`: the message before it in this direction. `answered`: when the receiver sent last. */
static bool is_held(const struct nagle_state *before, uint64_t answered, uint64_t sent,
                    uint64_t queued)
{
    uint64_t took = time_since(sent, queued), quick = time_since(before->sent, before->queued);

    return before->sent != 0 && sent >= before->sent && took >= DELAY_LEAST && quick <= QUICK &&
           time_since(before->queued, queued) <= DELAY_MOST && before->taken <= queued &&
           answered <= before->queued;
}

int nagle_note(struct statistics *statistics, const struct endpoint *receiver, uint64_t sent,
               uint64_t queued, uint64_t taken)
{
    struct endpoint *sender = receiver->partner;
    struct nagle_state *state = &sender->queue.nagle;
    int result = 0;

    if (receiver->kind != PATH_TCP)
        return 0;
    if (is_held(state, receiver->queue.latest_sent, sent, queued)) {
        state->held.messages++;
        state->held.time += queued - sent;
        result = coverings_add(&statistics->coverings, COVERING_HELD, peer_of(receiver), NO_PROCESS,
                               sent, queued);
    }
    state->sent = sent;
    state->queued = queued;
    state->taken = taken;
    return result;
}
