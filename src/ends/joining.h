/* SPDX-License-Identifier: MIT */
/* joining.h: which two PATH records are the two ends of one connection. Used by history/ and analysis/statistics/. */
#ifndef DPM_JOINING_H
#define DPM_JOINING_H

#include "event/event.h"

#define NO_END UINT32_MAX

struct path_end {
    const struct path_record *record; /* NULL: not described (yet) */
    uint32_t machine;
    uint32_t partner;     /* index of the other end, possibly its own, or NO_END */
    uint32_t life;        /* how many ends with this index have been forgotten or succeeded */
    uint32_t origin : 24; /* traces named on a command line are never that many */
    uint32_t hung : 7;    /* how many chains it is in; at most HUNG_MOST */
    uint32_t destroyed : 1;
};

#define HUNG_MOST 127u

/* Ends that wait for their partner are in chains, the latest first, under the keys by which the partner will search. A
 * joined end stays in its chains until a search passes it. */
struct waiting_end {
    uint32_t end;
    uint32_t life;  /* of that end */
    uint32_t chain; /* index of its key */
    uint32_t next;  /* index into waiting + 1, 0: last */
};

struct joiner {
    struct path_end *ends; /* by the caller's index */
    size_t end_capacity;
    struct intern keys;
    uint32_t *heads; /* by interned key: index into waiting + 1 */
    size_t head_capacity;
    struct waiting_end *waiting;
    size_t waiting_count;
    size_t waiting_capacity;
    size_t passed; /* of these, entries of ends that no longer wait */
    /* A closed end may be joined with an end of another origin. Its origin is read at another time, and the caller
     * forgets it when it is over. */
    bool closed_too;
};

/* Describes end `index`, as reported by `origin`, and joins it if its partner waits. `record` must stay where it is.
 * An end of UDP whose partner was closed is joined again, with the next one of the same addresses and origin: the former
 * partner then has none, and gets none. An end may be described again, under the same index, when more is known of it;
 * if it still waits, its partner is searched again. Returns 0 or -ENOMEM. */
int joiner_add(struct joiner *joiner, uint32_t index, const struct path_record *record,
               uint32_t machine, uint32_t origin);

/* Whether its starting positions distinguish it from all other connections. */
bool joiner_knows_starts(const struct path_record *record);

/* The end was closed for good. No effect before it is described. */
void joiner_destroyed(struct joiner *joiner, uint32_t index);

/* Forgets an end, also as a partner. Its index may then be used for another end. */
void joiner_forget(struct joiner *joiner, uint32_t index);

/* The end with this index. If it was never described, it has no record and no partner. */
struct path_end joiner_end(const struct joiner *joiner, uint32_t index);

/* Converts an address to IPv6. A dual-stack socket shows an IPv4 peer as ::ffff:a.b.c.d, while the peer shows itself as
 * a.b.c.d; both must compare equal. */
void long_address(unsigned family, const uint8_t *address, uint8_t to[16]);

/* Whether an address in this form means the host itself. */
bool is_loopback(const uint8_t address[16]);

void joiner_done(struct joiner *joiner);

#endif
