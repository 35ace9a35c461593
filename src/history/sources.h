/* SPDX-License-Identifier: MIT */
/* sources.h: which of several sources is read. See history_types.h. */
#ifndef DPM_SOURCES_H
#define DPM_SOURCES_H

#include "history/history_types.h"

/* Which source is to be read; NULL: none can be now, or it is not known before streams that were woken are looked at.
 * Returns 0 or an error. */
int sources_choose(struct history *history, struct origin **ret_origin, struct problem *problem);

/* Its next record, which is read now; valid until the source is asked for another. */
struct event sources_take(struct history *history, struct origin *origin);

/* Live sources that had nothing may have something now. */
void sources_ask_again(struct history *history);

#endif
