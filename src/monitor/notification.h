/* SPDX-License-Identifier: MIT */
/* notification.h: what a receiver is sent: one line of JSON. Private to monitor/. */
#ifndef DPM_NOTIFICATION_H
#define DPM_NOTIFICATION_H

#include "monitor/monitor.h"

/* {"view": "Queue-size", "row": "queued 812", "time": 1764252000000000000, "values": {"size": 15}}. "row" is left out if
 * the view has no [*]; an unknown value is null. The caller frees it. NULL: out of memory. */
char *notification_text(const struct view_change *change);

#endif
