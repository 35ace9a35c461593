/* SPDX-License-Identifier: MIT */
/*
 * connections.h: connections, and their rows, pairs and processes in a result. Private to statistics/.
 *
 *      two endpoints that live   --+
 *      a row of what has ended   --+--> struct connection --> a row of the paths, pairs, processes
 */
#ifndef DPM_CONNECTIONS_H
#define DPM_CONNECTIONS_H

#include "analysis/statistics/likes.h"

struct endpoint;
struct statistics;
struct usage;

/* A connection, or several of the same like that have ended. */
struct connection {
    struct communication_path sums; /* its row, except what is distributed */
    struct like like;
    struct usage *usages[2]; /* of its local and its remote end */
};

/* With what an endpoint is counted. */
enum connection_part {
    PART_FIRST, /* its connection: there it comes first */
    PART_OTHER, /* the same, with its partner */
    PART_NONE,  /* nothing: no process talked to another */
};

/* Which endpoints its connection has: the local and the remote end; NULL: that is not monitored. */
enum connection_part connection_of(struct endpoint *endpoint, struct endpoint *ret_ends[2]);

#define ADDRESS_SIZE (ENDPOINT_SIZE + 2) /* with room for "*" */

/* How much of a like is kept that is not known yet; the rest is NULL in it. */
enum keeping {
    KEEP_ALL,
    KEEP_PROCESSES,
    KEEP_NOTHING,
};

/* Describes it, except its full addresses, which are given beside it. `rows` keep the texts and lists of its like; their
 * processes and totals count what is left in its queues, and it, from then on. Returns 0 or -ENOMEM. */
int connection_describe(const struct statistics *statistics, struct communication *rows,
                        struct endpoint *const ends[2], enum keeping keeping,
                        struct connection *ret_connection, char addresses[2][ADDRESS_SIZE]);

/* Keeps the full addresses in its sums. Returns 0 or -ENOMEM. */
int connection_name(struct communication *rows, struct connection *connection,
                    char addresses[2][ADDRESS_SIZE]);

#define SEVERAL_PROCESSES (NO_PROCESS - 1)

/* Which processes have sent from its ends: NO_PROCESS before any has, SEVERAL_PROCESSES. */
void connection_note_senders(const struct connection *connection, uint32_t senders[2]);

/* Adds what its usages have counted to row `path`, which is that of its like, to pairs and to processes. `senders`: of all
 * connections of the row. Returns 0 or -ENOMEM. */
int connection_add(struct communication *rows, const struct connection *connection,
                   const uint32_t senders[2], struct communication_path *path);

/* The same of usages that belong to no connection: to their processes. */
int usages_add_to_processes(struct communication *rows, const struct usage *first,
                            struct times *times);

#endif
