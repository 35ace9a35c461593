/* SPDX-License-Identifier: MIT */
/* resolve.h: host names for addresses, for `dpm stats --resolve`. Private to command/. */
#ifndef DPM_RESOLVE_H
#define DPM_RESOLVE_H

#include "analysis/statistics/statistics.h"

/* Replaces the addresses of unmonitored ends by host names, where this machine's resolver knows one. Resolves each
 * address once, and blocks until the answer. Returns 0 or -ENOMEM. */
int resolve_addresses(struct communication *communication);

#endif
