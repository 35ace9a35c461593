/* SPDX-License-Identifier: MIT */
/* sources.h: chooses which of several sources is read. See history_types.h. */
#ifndef DPM_SOURCES_H
#define DPM_SOURCES_H

#include "history/history_types.h"

/* The source to read. NULL: none now, or woken streams must be looked at first. Returns 0 or an error. */
int sources_choose(struct history *history, struct origin **ret_origin, struct problem *problem);

/* Takes its next record, which counts as read now; valid until the source is asked for another. */
struct event sources_take(struct history *history, struct origin *origin);

/* Live sources that had nothing may have records now. */
void sources_ask_again(struct history *history);

#endif
