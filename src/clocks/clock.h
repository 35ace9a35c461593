/* SPDX-License-Identifier: MIT */
/*
 * clock.h: how far the clocks of machines are apart, as messages between them show. Used by history/.
 *
 *      B - A
 *        |        o       o    o  o       messages A -> B, received later than sent: not above them
 *        |   ^.   o  ^   .o^      ^
 *        |  o   '.o'   'o   'o..'         the corridor: no clock gains on the other by more than
 *        |      .     .   .      .        CLOCK_DRIFT_PPM, so a message also bounds the offset
 *        |  x..'  ' x'  x' 'x.'x.' x      at times before and after it
 *        |  x    x      x      x          messages B -> A: not below them
 *        +--------------------------> A's time
 *
 * Example: A sends at 1,000 ns, B receives that at 6,300 ns by its own clock: B - A is at most 5,300. B sends at 7,000,
 * A receives that at 2,000: B - A is at least 5,000. Half-way, at 1,500 ns of A, clocks may have drifted by 1 ns
 * (rounded up) since either message, so the offset is 5,150 ns with an error of at most 152 ns.
 *
 * Times are ns of each machine's CLOCK_MONOTONIC, so they may be years apart. A time of 2^61 ns (73 years since the
 * machine was started) or more is damaged, and ignored.
 */
#ifndef DPM_CLOCK_H
#define DPM_CLOCK_H

#include "base/base.h"

/* How fast one clock may gain on another. Crystals differ by some 10 ppm, but NTP slews clocks by up to 500 ppm
 * (adjtime(3); the kernel accepts no larger frequency correction). A clock that drifts faster has jumped. */
#define CLOCK_DRIFT_PPM 500

/* ---- two machines ---- */

#define CLOCK_BOUNDS  64 /* the latest useful ones in each direction */
#define CLOCK_PIECES  64 /* for the time before these */
#define CLOCK_CORNERS 8  /* of a piece, on each side */

/* B - A is at most `value` at `time`. A lower bound is stored as an upper bound of A - B. */
struct clock_bound {
    uint64_t time; /* A's */
    int64_t value; /* ns */
};

/* The bounds from one side, ascending in time; none follows from another one. */
struct clock_side {
    unsigned count;
    struct clock_bound bounds[CLOCK_BOUNDS];
};

/* Corners of a convex polygon that lies over all bounds, from the beginning of a piece to its end. */
struct clock_hull {
    unsigned count; /* 0: there are no bounds */
    struct clock_bound corners[CLOCK_CORNERS];
};

/* An interval of A's time, and the polygons between which the corridor lies in it. */
struct clock_piece {
    uint64_t begin;
    uint64_t end;
    struct clock_hull hulls[2]; /* [side] */
    bool after_jump;            /* a clock jumped between the piece before and this one */
    bool jumped;                /* ... or within this one */
    double cost; /* area that the corridor gains if this piece and the next are merged */
};

/* The clocks of two machines, A and B. A new pair is all zero; nothing has to be freed. */
struct clock_pair {
    bool begun;
    bool after_jump;            /* a clock jumped between the last piece and `begin` */
    uint64_t begin;             /* what was before is in the pieces */
    uint64_t since;             /* no jump was seen since this time */
    struct clock_side sides[2]; /* from above, from below */
    unsigned piece_count;
    struct clock_piece pieces[CLOCK_PIECES]; /* ascending in time */
};

enum clock_direction { CLOCK_A_TO_B, CLOCK_B_TO_A };

/* Adds a message: `time_a` is when A sent or received it by A's clock, `time_b` the same for B. Takes constant
 * amortised time in any order of messages; best is roughly the order of time. Returns whether the message added
 * information. */
bool clock_pair_add(struct clock_pair *pair, uint64_t time_a, uint64_t time_b,
                    enum clock_direction direction);

/* Add *ret_offset ns to A's time to get B's; the result is wrong by at most *ret_error ns. UINT64_MAX: not known, since
 * no messages went both ways, or none since a clock jumped; the offset is then 0. */
void clock_pair_offset(const struct clock_pair *pair, uint64_t time_a, int64_t *ret_offset,
                       uint64_t *ret_error);

/* By how many ns clocks may part in `duration` ns, rounded up. */
static inline int64_t clock_growth(uint64_t duration)
{
    const uint64_t rate = ((uint64_t)CLOCK_DRIFT_PPM << 40) / 1000000 + 1;

    return duration == 0 ? 0 : (int64_t)((unsigned __int128)duration * rate >> 40) + 1;
}

/* ---- several machines ---- */

/* The clocks of origins 0 .. count - 1, each converted to that of its reference: the first machine that messages in
 * both directions tie its own to. */
struct clocks;

int clocks_new(uint32_t count, struct clocks **ret_clocks);
void clocks_free(struct clocks *clocks);

/* From now on there are `count` origins, at least as many as before. Returns 0 or -ENOMEM, which changes nothing. */
int clocks_grow(struct clocks *clocks, uint32_t count);

/* These two origins are on one machine, and have one clock. To be called before messages of `origin` are added. */
void clocks_share(struct clocks *clocks, uint32_t origin, uint32_t with);

/* Adds a message between two origins. Allocates only for the first one between two machines. Returns 0 or -ENOMEM. */
int clocks_add(struct clocks *clocks, uint32_t from, uint64_t sent, uint32_t to, uint64_t received);

/* The first origin of the first machine that messages in both directions tie this origin's machine to, perhaps through
 * others. If none do: of its own machine. */
uint32_t clocks_reference(struct clocks *clocks, uint32_t origin);

/* Add *ret_offset to a time of this origin to get that of its reference, with errors as in clock_pair_offset. Converts
 * directly or through other machines, whichever is least uncertain. The route is recomputed when time has moved by 100
 * ms, or when there are an eighth more messages. Until a message adds information, a result is reused for times within
 * 100 us of its own; the error grows by the drift in between. */
void clocks_offset(struct clocks *clocks, uint32_t origin, uint64_t time, int64_t *ret_offset,
                   uint64_t *ret_error);

/* The same, without any effect on later results of clocks_offset. */
void clocks_offset_aside(struct clocks *clocks, uint32_t origin, uint64_t time, int64_t *ret_offset,
                         uint64_t *ret_error);

#endif
