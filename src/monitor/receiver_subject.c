/* SPDX-License-Identifier: MIT */
/* receiver_subject.c: lines to a subject of a NATS server: a message each. */
#include "monitor/receiver.h"

#include "fabric/subject.h"

#include <string.h>

#define LOOK_AGAIN 50000000u /* ns: the connection has no descriptor */
#define FLUSH_MS   1000

void receiver_subject_done(struct receiver *receiver)
{
    fabric_subject_close(receiver->subject, FLUSH_MS);
    receiver->subject = NULL;
}

static const char *server_of(const struct view *view)
{
    const char *at = strrchr(view->host, '@');

    return at == NULL ? view->host : at + 1;
}

/* libnats connects in the background, and tries once a second, too. */
static void count_wait(struct receiver *receiver, uint64_t now)
{
    if (receiver->waits != 0 && now - receiver->waits < RECEIVER_RETRY)
        return;
    if (receiver->waits != 0)
        receiver_failed(receiver, "no connection", now);
    receiver->waits = now;
}

uint64_t receiver_subject_work(struct receiver *receiver, uint64_t now)
{
    struct problem problem = {""};

    if (receiver->count == 0)
        return UINT64_MAX;
    if (receiver->subject == NULL && receiver->retry > now)
        return receiver->retry;
    if (receiver->subject == NULL &&
        fabric_subject_open(server_of(receiver->view), &receiver->subject, &problem) < 0) {
        receiver_failed(receiver, problem.text, now);
        return receiver->retry;
    }
    if (receiver->flush > now)
        return receiver->flush;
    while (receiver->count > 0) {
        const struct receiver_line *line = &receiver->lines[receiver->first];
        /* without the line end */
        if (fabric_subject_publish(receiver->subject, receiver->view->subject, line->text,
                                   line->size - 1) < 0) {
            count_wait(receiver, now);
            return now + LOOK_AGAIN;
        }
        receiver->waits = 0;
        receiver_sent(receiver);
    }
    return UINT64_MAX;
}
