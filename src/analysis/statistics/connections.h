/* SPDX-License-Identifier: MIT */
/*
 * connections.h: the paths and pairs of a result that is being built. Private to statistics/.
 *
 *      two paths of the tables    --+
 *      a row that others share    --+--> struct connection --> rows of paths, pairs, processes
 */
#ifndef DPM_CONNECTIONS_H
#define DPM_CONNECTIONS_H

#include "analysis/statistics/statistics_private.h"

/* A connection, or several that share a row. */
struct connection {
    struct communication_path sums; /* its row, but for what is distributed */
    struct party
        parties[2]; /* what pairs call its ends: the holders, or if nobody is known the address */
    uint32_t first_use[2]; /* of its local and its remote end */
    bool by_sends
        [2]; /* what is sent by that end is counted where it is sent, not where it is received */
    bool local;
    bool to_itself; /* it has one direction only */
};

/* With what a path is counted. */
enum path_part {
    PART_FIRST, /* its connection: there it comes first */
    PART_OTHER, /* the same, with its partner */
    PART_NONE,  /* nothing: it is not known, or nobody talked to anybody */
};

/* Which paths its connection has: at its local and its remote end; NO_END: that is not metered. */
enum path_part connection_of(const struct statistics *statistics, uint32_t path,
                             uint32_t ret_paths[2]);

/* What was sent over it, both ways. */
struct traffic connection_traffic(const struct statistics *statistics, const uint32_t paths[2]);

#define ADDRESS_SIZE (ENDPOINT_SIZE + 2) /* with room for "*" */

/* What is to be counted of it, without addresses, which are given beside it. The processes of its ends and what is
 * left in queues are told in the words of `rows`, whose totals count it from then on. Returns 0 or -ENOMEM. */
int describe_connection(const struct statistics *statistics, struct communication *rows,
                        const uint32_t paths[2], struct connection *ret_connection,
                        char addresses[2][ADDRESS_SIZE]);

/* Gives it addresses. Returns 0 or -ENOMEM. */
int name_connection(struct communication *rows, struct connection *connection, const char *local,
                    const char *remote);

/* Adds what its uses have counted to its row `path` (only what is distributed), to the pairs, and to the processes.
 * Returns 0 or -ENOMEM. */
int add_connection(const struct statistics *statistics, struct communication *rows,
                   const struct connection *connection, struct communication_path *path);

/* The same of a path that belongs to no connection: to its processes, and what is not known to the totals. */
int add_path_alone(const struct statistics *statistics, struct communication *rows, uint32_t path);

/* ---- alike.c; these return 0 or -ENOMEM ---- */

/* Adds a connection to the row of its like; its uses are in `alike` then, too. */
int alike_add(struct statistics *statistics, const uint32_t paths[2]);

/* There are too many rows: the smaller ones share one for each kind of path. */
int alike_fold(struct statistics *statistics);

/* Rows were replaced, or their processes share rows now: finds them again, and those that have become alike are
 * one. */
int alike_find(struct statistics *statistics);

/* Adds what the uses of this row have counted to `rows`: the statistics' own, or a copy. */
int alike_build(const struct statistics *statistics, struct communication *rows, uint32_t index);

/* Frees the uses of a row. */
void alike_forget(struct statistics *statistics, uint32_t index);

void alike_done(struct statistics *statistics);

#endif
