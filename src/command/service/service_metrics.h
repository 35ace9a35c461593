/* SPDX-License-Identifier: MIT */
/*
 * service_metrics.h: the metrics of `dpm agent --service`, by a child without any capability: who reads from the network has
 * nothing of those that load the meter. Private to command/.
 *
 *      service --writes--> trace --reads-- dpm live (a child) <-- GET /metrics
 */
#ifndef DPM_SERVICE_METRICS_H
#define DPM_SERVICE_METRICS_H

#include <stdint.h>
#include <sys/types.h>

struct service_metrics {
    uint16_t port;              /* 0: no metrics */
    const char *listen, *token; /* as options of dpm live; NULL: not given */
    const char *trace;
    pid_t pid; /* of the child; 0: there is none */
};

/* Starts the child, or another one in place of one that has ended. Says what failed. */
void service_metrics_keep(struct service_metrics *metrics);

/* Ends it. */
void service_metrics_stop(struct service_metrics *metrics);

#endif
