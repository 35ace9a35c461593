/* SPDX-License-Identifier: MIT */
/* receiver.h: one receiver of notifications: its queue, and how lines leave it. Private to monitor/. */
#ifndef DPM_RECEIVER_H
#define DPM_RECEIVER_H

#include "monitor/monitor.h"

#include <sys/types.h>

#define RECEIVER_RETRY 1000000000u /* ns between two attempts to reach a receiver */

struct receiver_line {
    char *text; /* with its line end */
    size_t size;
    uint64_t limit;
    struct monitor_notified *of; /* of its view; NULL: nothing counts it but the receiver */
};

struct receiver {
    const struct view *view; /* the first one that named it */
    char name[VIEW_RECEIVER_SIZE];
    struct receiver_line *lines; /* ring of NOTIFIER_QUEUE_MOST */
    size_t first, count;
    uint64_t flush; /* when the queue must be sent: the earliest `due`; UINT64_MAX: nothing waits */
    uint64_t latest; /* when a line left it last; 0: none has */
    struct monitor_notified counts;
    void (*note)(void *context, const char *line); /* NULL: there is no listener */
    void *context;
    bool away;      /* that it cannot be reached was noted, and no line has left since */
    int epoll;      /* borrowed from the notifier */
    int descriptor; /* of the connection, or pidfd of the command; negative: none */
    uint64_t retry; /* not before: the last attempt has failed */
    /* a TCP connection */
    struct receiver_address *address;
    size_t written; /* of the first line */
    bool connected;
    /* a command */
    pid_t pid;
    struct monitor_notified *of; /* of the line that it got */
    /* a subject of NATS */
    struct fabric_subject *subject;
    uint64_t waits; /* since when there is no connection; 0: there is */
};

/* The first line has left: it is counted and removed. */
void receiver_sent(struct receiver *receiver);

/* An attempt to send the first line has failed: it is counted, and noted once until a line has left. `retry` is set. */
void receiver_failed(struct receiver *receiver, const char *why, uint64_t now);

/* Removes the first line. */
void receiver_take(struct receiver *receiver);

/* Sends what is due. Each returns when to be called again at the latest. */
uint64_t receiver_tcp_work(struct receiver *receiver, uint64_t now);
uint64_t receiver_command_work(struct receiver *receiver, uint64_t now);
uint64_t receiver_subject_work(struct receiver *receiver, uint64_t now);

/* Ends the connection. A command that runs goes on. */
void receiver_tcp_close(struct receiver *receiver);
void receiver_tcp_done(struct receiver *receiver);
void receiver_command_done(struct receiver *receiver);
void receiver_subject_done(struct receiver *receiver);

/* Registers `descriptor` with the notifier's epoll; `out`: also for when it can be written. */
void receiver_watch(const struct receiver *receiver, bool out);

#endif
