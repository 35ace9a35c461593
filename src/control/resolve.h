/* SPDX-License-Identifier: MIT */
/* resolve.h: names of addresses, for `dpm stats --resolve`. Private to control/. */
#ifndef DPM_RESOLVE_H
#define DPM_RESOLVE_H

#include "analysis/statistics/statistics.h"

/* Puts the name of its host in place of each address of an end that is not metered, where the resolver
 * of this machine knows one; asks for each address once, and waits for the answer. Returns 0 or
 * -ENOMEM. */
int resolve_addresses(struct communication *communication);

#endif
