/* SPDX-License-Identifier: MIT */
/*
 * clock.h: how far the clocks of machines are apart, as messages between them tell. Private to history/.
 *
 *      B - A
 *        |        o       o    o  o       messages A -> B, received later than sent: not above them
 *        |   ^.   o  ^   .o^      ^
 *        |  o   '.o'   'o   'o..'         the corridor: no clock runs away from the other faster
 *        |      .     .   .      .        than CLOCK_DRIFT_PPM, so a message says something about
 *        |  x..'  ' x'  x' 'x.'x.' x      the time before it and after it, too
 *        |  x    x      x      x          messages B -> A: not below them
 *        +--------------------------> A's time
 *
 * Times are ns of CLOCK_MONOTONIC of each machine: any number of years apart. A time of 2^61 ns (73 years
 * since the machine was started) or more is damage, and is not believed.
 */
#ifndef DPM_CLOCK_H
#define DPM_CLOCK_H

#include "base/base.h"

/* How fast one clock may gain on another. Crystals differ by some 10 ppm, but NTP slews clocks, at 500
 * ppm (adjtime(3), and the most that the kernel takes as a frequency). A clock that does more has jumped. */
#define CLOCK_DRIFT_PPM 500

/* ---- two machines ---- */

#define CLOCK_BOUNDS  64 /* of each direction, the latest that tell something */
#define CLOCK_PIECES  64 /* of what was before */
#define CLOCK_CORNERS 8  /* of a piece, on each side */

/* B - A is at most `value` at `time`; as a lower bound, A - B is. */
struct clock_bound {
    uint64_t time; /* A's */
    int64_t value; /* ns */
};

/* The bounds from one side, ascending in time; none follows from another. */
struct clock_side {
    unsigned count;
    struct clock_bound bounds[CLOCK_BOUNDS];
};

/* Corners of a convex polygon that lies over all bounds, from the beginning of a piece to its end. */
struct clock_hull {
    unsigned count; /* 0: there are no bounds */
    struct clock_bound corners[CLOCK_CORNERS];
};

/* A stretch of A's time, and the polygons between which the corridor lies in it. */
struct clock_piece {
    uint64_t begin;
    uint64_t end;
    struct clock_hull hulls[2]; /* [side] */
    bool after_jump;            /* a clock jumped between the piece before and this one */
    bool jumped;                /* ... or within this one */
    double cost; /* area that the corridor gains if this one and the next become one */
};

/* The clocks of two machines, A and B. All zero is a new one; nothing need be freed. */
struct clock_pair {
    bool begun;
    bool after_jump;            /* a clock jumped between the last piece and `begin` */
    uint64_t begin;             /* what was before stands in the pieces */
    uint64_t since;             /* no jump was seen since this time */
    struct clock_side sides[2]; /* from above, from below */
    unsigned piece_count;
    struct clock_piece pieces[CLOCK_PIECES]; /* ascending in time */
};

enum clock_direction { CLOCK_A_TO_B, CLOCK_B_TO_A };

/* A message: `time_a` is A's time when A sent or received it, `time_b` B's. Takes constant time, amortised,
 * whatever the order in which messages come; best is the order of time, about. Returns whether more is known now. */
bool clock_pair_add(struct clock_pair *pair, uint64_t time_a, uint64_t time_b,
                    enum clock_direction direction);

/* What to add to A's time to have B's: *ret_offset ns, at most *ret_error ns wrong. UINT64_MAX: not known,
 * as no messages went both ways, or none since a clock jumped; the offset is then 0. */
void clock_pair_offset(const struct clock_pair *pair, uint64_t time_a, int64_t *ret_offset,
                       uint64_t *ret_error);

/* By how many ns clocks may part in `duration` ns, rounded up. */
static inline int64_t clock_growth(uint64_t duration)
{
    const uint64_t rate = ((uint64_t)CLOCK_DRIFT_PPM << 40) / 1000000 + 1;

    return duration == 0 ? 0 : (int64_t)((unsigned __int128)duration * rate >> 40) + 1;
}

/* ---- several machines ---- */

/* The clocks of origins 0 .. count - 1, told in that of the first machine which messages both ways tie theirs to. */
struct clocks;

int clocks_new(uint32_t count, struct clocks **ret_clocks);
void clocks_free(struct clocks *clocks);

/* These two origins are one machine, and have one clock. To be said before messages of `origin` are added. */
void clocks_share(struct clocks *clocks, uint32_t origin, uint32_t with);

/* A message between two origins. Allocates only for the first one between two machines. Returns 0 or
 * -ENOMEM. */
int clocks_add(struct clocks *clocks, uint32_t from, uint64_t sent, uint32_t to, uint64_t received);

/* The first origin of the first machine that messages both ways tie this one's machine to, maybe through others: of itself,
 * if none do. */
uint32_t clocks_reference(struct clocks *clocks, uint32_t origin);

/* What to add to a time of this origin to have that of its reference, as with clock_pair_offset: directly or
 * through other machines, whichever is least uncertain. The way is looked for anew where time has gone on by
 * 100 ms, or messages have become more by an eighth. As long as messages tell nothing new, what was found for one time
 * serves for those within 100 us of it, and counts as that much less certain as clocks may part in between. */
void clocks_offset(struct clocks *clocks, uint32_t origin, uint64_t time, int64_t *ret_offset,
                   uint64_t *ret_error);

/* The same, and what clocks_offset finds later is as if this had not been asked. */
void clocks_offset_aside(struct clocks *clocks, uint32_t origin, uint64_t time, int64_t *ret_offset,
                         uint64_t *ret_error);

#endif
