/* SPDX-License-Identifier: MIT */
/*
 * notifier.h: delivers notifications (NOTIFY) without ever waiting for a receiver. Private to monitor/.
 *
 *      line --queue of its receiver, until it is due--> TCP connection: a line
 *                        |                              command: a line on standard input
 *                        |                              subject of NATS: a message
 *                        '-- full: the oldest is dropped, and counted
 *
 * All times are of CLOCK_MONOTONIC, in ns.
 */
#ifndef DPM_NOTIFIER_H
#define DPM_NOTIFIER_H

#include "monitor/monitor.h"

struct notifier;

#define NOTIFIER_QUEUE_MOST 1000 /* lines that wait for a receiver */

int notifier_new(struct notifier **ret_notifier, struct problem *problem);

/* A line for the user when a receiver cannot be reached: once, until it can. Call it before there are receivers. */
void notifier_listen(struct notifier *notifier, void (*note)(void *context, const char *line),
                     void *context);

/* Lines that still wait are lost. NULL is allowed. */
void notifier_free(struct notifier *notifier);

/* Who a view notifies: views with the same receiver share it. Returns its number or a negative errno with a line in
 * `problem`. */
int notifier_receiver(struct notifier *notifier, const struct view *view, struct problem *problem);

/* Queues a line, which is copied and gets a line end. It is sent at once; if another was sent not long ago, at `due`, or with another
 * one of this receiver. It counts as late if that is after `limit`. `of`: counts it, too, and outlives the notifier; NULL: nothing
 * does. Returns 0 or -ENOMEM. */
int notifier_notify(struct notifier *notifier, int receiver, const char *line, uint64_t due,
                    uint64_t limit, struct monitor_notified *of);

/* Readable when notifier_work has something to do; and when to call it at the latest (UINT64_MAX: not). */
int notifier_descriptor(const struct notifier *notifier);
uint64_t notifier_next(const struct notifier *notifier);
void notifier_work(struct notifier *notifier, uint64_t now);

/* Sends what waits, due or not, for at most so long. What is left counts as dropped. */
void notifier_finish(struct notifier *notifier, uint64_t most);

/* `ret_counts` of receiver number 0, 1 ...; false: there is no such receiver. `name` lives as long as the notifier. */
bool notifier_look(const struct notifier *notifier, size_t receiver,
                   struct monitor_notified *ret_counts);

#endif
