/* SPDX-License-Identifier: MIT */
/* traffic_graph.h: traffic between parties, as a graph of few nodes. */
#ifndef DPM_TRAFFIC_GRAPH_H
#define DPM_TRAFFIC_GRAPH_H

#include "analysis/statistics/statistics.h"

struct traffic_node {
    struct party party;     /* empty for the node of the others */
    struct traffic traffic; /* sent and received */
};

/* Nodes with heavy traffic between them are close to each other. */
struct traffic_graph {
    struct traffic_node *nodes;
    size_t count;
    struct traffic *sent; /* [count * count]: from row to column */
    struct traffic most;  /* maxima of `sent`, without the others */
    size_t others;        /* number of parties that share the last node; 0: no such node */
    uint32_t *numbers;    /* holds the processes of parties */
};

/* Makes nodes of the `most` parties with the most traffic, and one of the others. Processes without traffic are nodes,
 * too. The graph points into the statistics and must not outlive them. Returns 0 or -ENOMEM; call traffic_graph_done in
 * both cases. */
int traffic_graph_make(const struct communication *communication, size_t most,
                       struct traffic_graph *graph);
void traffic_graph_done(struct traffic_graph *graph);

#endif
