/* SPDX-License-Identifier: MIT */
/*
 * answers.h: request latencies of clients, service times of servers. Private to statistics/.
 *
 *      client   connect, SEND .. RECEIVE ... RECEIVE ... RECEIVE   SEND
 *               |-- VALUE_ANSWER -->|                       |      the next request
 *               |-- VALUE_ANSWER_WHOLE -------------------->|
 *
 * Which connects, retries and answers belong to a request of a client, client_requests.h knows.
 *
 * After selection rules a message in between may be missing, and the time would be that of no request. So it counts only
 * once both directions have gone on without a gap in their positions:
 *
 *      SEND 1   RECEIVE 1   SEND 2   RECEIVE 2      that of 1 counts with RECEIVE 2
 */
#ifndef DPM_ANSWERS_H
#define DPM_ANSWERS_H

#include "base/histogram.h"
#include "history/history.h"

struct asking_step;
struct endpoint;
struct statistics;
struct usage;

/* With selection rules only. */
struct answer_checks {
    bool are_made;  /* times are held until they are certain */
    bool gap;       /* a message is missing since the request in progress */
    uint64_t began; /* the answer in progress */
    struct {
        uint64_t asked, began, ended;
    } held; /* the latest whole answer; asked 0: none, or it has counted */
};

/* These return 0 or -ENOMEM. */

/* Notes a message of a usage of this endpoint, and what it is for the client that asks there. */
int answers_note(struct statistics *statistics, struct endpoint *endpoint, struct usage *usage,
                 const struct record *record, uint64_t when, const struct asking_step *step);

/* A NETWORK of its endpoint. */
void answers_note_network(struct usage *usage, const struct asking_step *step);

/* Any event: a question of a client is known to have no answer, or to have one after all. */
void answers_note_vain(struct statistics *statistics, const struct history_event *event);

/* Adds the answer in progress to the time covered by answers of its process. */
int answers_cover(struct statistics *statistics, const struct usage *usage);

/* Treat the answer in progress as complete: add its time to the values of `to`; to a histogram. */
int answers_close(struct usage *to, const struct usage *from);
int answers_add_open(const struct usage *usage, struct histogram *histogram, unsigned most);

#endif
