/* SPDX-License-Identifier: MIT */
/* traffic_graph.h: who sends to whom, as a graph of few nodes. */
#ifndef DPM_TRAFFIC_GRAPH_H
#define DPM_TRAFFIC_GRAPH_H

#include "analysis/statistics/statistics.h"

struct traffic_node {
    struct party party;     /* of the others: nobody */
    struct traffic traffic; /* sent and received */
};

/* Nodes with heavy traffic between them stand near each other. */
struct traffic_graph {
    struct traffic_node *nodes;
    size_t count;
    struct traffic *sent; /* [count * count]: from row to column */
    struct traffic most;  /* the greatest of `sent`, without others */
    size_t others;        /* parties that share the last node; 0: there is no such node */
    uint32_t *numbers;    /* that parties point to */
};

/* The `most` parties with most traffic, and one node of the others; processes without traffic are nodes, too. It points
 * into the statistics and lives no longer. Returns 0 or -ENOMEM; traffic_graph_done either way. */
int traffic_graph_make(const struct communication *communication, size_t most,
                       struct traffic_graph *graph);
void traffic_graph_done(struct traffic_graph *graph);

#endif
