/* SPDX-License-Identifier: MIT */
/*
 * connections.h: connections, and their rows, pairs and processes in a result. Private to statistics/.
 *
 *      two live endpoints           --+
 *      a row of ended connections   --+--> struct connection --> a row of the paths, pairs, processes
 */
#ifndef DPM_CONNECTIONS_H
#define DPM_CONNECTIONS_H

#include "analysis/statistics/likes.h"

struct endpoint;
struct statistics;
struct usage;

/* A live connection, or all ended ones of the same like. */
struct connection {
    struct communication_path sums; /* its row, without the histograms */
    struct like like;
    struct usage *usages[2]; /* of its local and its remote end */
};

/* Which connection an endpoint is counted with. */
enum connection_part {
    PART_FIRST, /* its connection, as the first of its two ends */
    PART_OTHER, /* its connection, which is counted with its partner */
    PART_NONE,  /* none: no messages between processes; a listener; a connection that failed */
};

/* Fills in the local and the remote end of its connection; NULL: an unmonitored end. */
enum connection_part connection_of(struct endpoint *endpoint, struct endpoint *ret_ends[2]);

#define ADDRESS_SIZE (ENDPOINT_SIZE + 2) /* with space for "*" */

/* Which new texts and lists of a like are kept; the others are NULL in it. */
enum keeping {
    KEEP_ALL,
    KEEP_PROCESSES,
    KEEP_NOTHING,
};

/* Describes a connection. Its full addresses go to `addresses`. The texts and lists of its like are kept in `rows`,
 * whose processes and totals also count the connection and what is left in its queues. Returns 0 or -ENOMEM. */
int connection_describe(const struct statistics *statistics, struct communication *rows,
                        struct endpoint *const ends[2], enum keeping keeping,
                        struct connection *ret_connection, char addresses[2][ADDRESS_SIZE]);

/* Names its row by the full addresses. Returns 0 or -ENOMEM. */
int connection_name(struct communication *rows, struct connection *connection,
                    char addresses[2][ADDRESS_SIZE]);

#define SEVERAL_PROCESSES (NO_PROCESS - 1)

/* Updates the process that has sent from each end: NO_PROCESS: none so far; or SEVERAL_PROCESSES. */
void connection_note_senders(const struct connection *connection, uint32_t senders[2]);

/* Adds the counts of its usages to `path`, the row of its like, and to pairs and processes. `senders`: those of all
 * connections of the row (connection_note_senders). Returns 0 or -ENOMEM. */
int connection_add(struct communication *rows, const struct connection *connection,
                   const uint32_t senders[2], struct communication_path *path);

/* Adds the counts of usages without a connection to their processes; `times` and `asked` (or NULL): and there. */
int usages_add_to_processes(struct communication *rows, const struct usage *first,
                            struct times *times, struct request_parts *asked);

#endif
