/* SPDX-License-Identifier: MIT */
/*
 * reduced.h: records that lack fields, inside history/. A selection has removed them, so they are not 0.
 *
 *      lacks procTime        it gets the CPU time that its stream had used before, so none is made up
 *      lacks PC, load        they are 0, which means unknown there
 *      lacks bytes           of another system (PATH_CHANNEL): its size is unknown, its bytes are 0
 *      TERMINATION           it is the end of a thread, whatever it lacks; ...
 *      DESTROYPATH           ... of the path that it names
 *      lacks anything else   nothing can be said of the event: it counts as a removed one (DISCARDED)
 */
#ifndef DPM_REDUCED_H
#define DPM_REDUCED_H

#include "history/history_types.h"

/* The event as the analyses may see it; valid until the next call for this origin. */
struct event reduced_take(struct history *history, struct origin *origin,
                          const struct event *event);

#endif
