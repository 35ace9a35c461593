/* SPDX-License-Identifier: MIT */
/*
 * unpaired.h: ends without a partner that may be each other's partner all the same.
 *
 *      client   10.1.0.2:4000 > 10.96.0.10:80          the address is translated on the way (NAT), so neither end
 *      server   10.2.0.2:8080 > 10.2.0.1:31644         has the other's
 *
 * Where only addresses connect two ends (UDP; TCP with the ptrace meter), an end without a partner leads to an unmonitored
 * peer for certain only if no such end is recorded that may be its other end.
 */
#ifndef DPM_UNPAIRED_H
#define DPM_UNPAIRED_H

#include "history/history_types.h"

/* Notes an end without a partner: a connection when it is described, others when a message is first sent or received there. */
void unpaired_note_connection(struct history *history, struct end *end);
void unpaired_note(struct history *history, struct end *end);

/* It has got a partner. */
void unpaired_joined(struct history *history, struct end *end);

/* Whether what it sends is kept even if its address says that it leads away: whether a recorded end may be the other one is
 * known later. Recordings of the ptrace meter are small, and its TCP is known by addresses, too. */
bool unpaired_are_kept(const struct history *history, const struct end *end);

/* Whether an end without a partner may have one that is recorded. */
bool unpaired_may_be_partners(const struct history *history, const struct end *end);

#endif
