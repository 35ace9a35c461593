/* SPDX-License-Identifier: MIT */
/*
 * connections.h: the paths and pairs of a result that is being built. Private to analysis/.
 *
 *      communication.c   processes, machines --> build_connections() --> totals
 */
#ifndef DPM_CONNECTIONS_H
#define DPM_CONNECTIONS_H

#include "analysis/statistics.h"

struct builder {
    const struct statistics *statistics;
    struct communication *result; /* has its processes: in their order of the statistics */
    bool leaving;                 /* only paths that leave */
    size_t path_capacity;
};

/* Makes a row of each connection, and of each pair that sent over them; adds what is counted with these
 * to the totals, and what is left in queues to their owners. Returns 0 or -ENOMEM. */
int build_connections(struct builder *builder);

#endif
