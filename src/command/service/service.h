/* SPDX-License-Identifier: MIT */
/*
 * service.h: `dpm agent --service`: measures the whole machine from boot on, reduces it here, and sends summaries. Private to
 * command/.
 *
 *      all processes --> kernel meter --> RECORDS/NAME: the newest records, kept here
 *                                     |         '--> dpm live, a child without capabilities: /metrics (service_metrics.h)
 *                                     '-> statistics --every interval--> RECORDS/summaries.jsonl
 *                                                                    '-> a NATS server of the site: notice "summary"
 */
#ifndef DPM_SERVICE_H
#define DPM_SERVICE_H

#include "base/base.h"

#include <jansson.h>

/* Runs until a signal. `path`: the configuration (dpm-agent(1)). Returns the exit status. */
int service_run(const char *path);

/* ---- service_sender.c: a thread, since a server may be away for long ---- */

struct service_sender;

struct service_destination {
    const char *url, *credentials, *authorities; /* the last may be NULL: files */
    const char *session;
    const char *
        unsent; /* file: what waits when a sender stops, for the next one, until the server has it */
};

/* Starts it; it connects by itself, now or later. `destination` must outlive it. Errors, with a line in `problem`. */
int service_sender_start(const struct service_destination *destination,
                         struct service_sender **ret_sender, struct problem *problem);

/* Takes over `summary`. While the server is away the newest hour of them waits. */
void service_sender_put(struct service_sender *sender, json_t *summary);

/* Sends what waits, within a few seconds, or keeps it in the file `unsent`. NULL is allowed. */
void service_sender_stop(struct service_sender *sender);

#endif
