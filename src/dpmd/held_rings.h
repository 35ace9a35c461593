/* SPDX-License-Identifier: MIT */
/*
 * held_rings.h: whether anybody still has the rings that a session has handed out. Private to dpmd.
 *
 * A ring lives as long as anyone has its descriptor or has mapped it, also after the session has ended. As long it must
 * count as one of its user's, who could otherwise take ring after ring.
 */
#ifndef DPM_HELD_RINGS_H
#define DPM_HELD_RINGS_H

struct held_rings {
    int watch; /* an epoll instance; negative: no ring is watched */
};

#define HELD_RINGS_NONE ((struct held_rings){-1})

/* Watches a ring, or the memory of selection rules, which is a map like it. Returns 0 or a negative errno. */
int held_rings_add(struct held_rings *rings, int ring);

/* Waits until nobody has any of them. We have closed ours. */
void held_rings_wait(struct held_rings *rings);

#endif
