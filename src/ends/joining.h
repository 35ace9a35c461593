/* SPDX-License-Identifier: MIT */
/*
 * joining.h: which two PATH records are the two ends of one connection. Used by history/ and statistics/.
 */
#ifndef DPM_JOINING_H
#define DPM_JOINING_H

#include "event/event.h"

#define NO_END UINT32_MAX

struct path_end {
    const struct path_record *record; /* NULL: not described (yet) */
    uint32_t machine;
    uint32_t partner;     /* index of the other end, possibly its own, or NO_END */
    uint32_t life;        /* how many ends with this index have been forgotten */
    uint32_t origin : 24; /* traces named on a command line: never so many */
    uint32_t hung : 7;    /* how often it hangs in chains; at most HUNG_MOST */
    uint32_t destroyed : 1;
};

#define HUNG_MOST 127u

/* Ends that wait for their partner hang in chains, the latest first, found by what the partner
 * will ask for. An end that has been joined stays in its chains until somebody walks over it. */
struct waiting_end {
    uint32_t end;
    uint32_t life;  /* of that end */
    uint32_t chain; /* index of its key */
    uint32_t next;  /* index into waiting + 1, 0: last */
};

struct joiner {
    struct path_end *ends; /* by index, as the caller numbers them */
    size_t end_capacity;
    struct intern keys;
    uint32_t *heads; /* by interned key: index into waiting + 1 */
    size_t head_capacity;
    struct waiting_end *waiting;
    size_t waiting_count;
    size_t waiting_capacity;
    size_t passed;   /* of these that wait no more */
    bool closed_too; /* an older end of another origin may be joined though it was closed: it is
                        read at another time, and forgotten when it is over */
};

/* Describes end `index`, which `origin` tells of, and joins it if its partner waits. `record` must stay where it is.
 * An end may be described again, at the same place, when more is known of it: if it still waits, it
 * is looked for anew. Returns 0 or -ENOMEM. */
int joiner_add(struct joiner *joiner, uint32_t index, const struct path_record *record,
               uint32_t machine, uint32_t origin);

/* Whether its starting positions tell it from all other connections. */
bool joiner_knows_starts(const struct path_record *record);

/* The end was closed for good; has no effect before it is described. */
void joiner_destroyed(struct joiner *joiner, uint32_t index);

/* Forgets an end, and that it is somebody's partner: its index may be used for another one. */
void joiner_forget(struct joiner *joiner, uint32_t index);

/* The end with this index; never described ones have no record and no partner. */
struct path_end joiner_end(const struct joiner *joiner, uint32_t index);

/* An address as IPv6 has it: a dual-stack socket shows an IPv4 peer as ::ffff:a.b.c.d, its peer
 * shows itself as a.b.c.d, and both must compare equal. */
void long_address(unsigned family, const uint8_t *address, uint8_t to[16]);

/* Whether a long address means the host itself. */
bool is_loopback(const uint8_t address[16]);

void joiner_done(struct joiner *joiner);

#endif
