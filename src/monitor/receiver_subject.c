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

uint64_t receiver_subject_work(struct receiver *receiver, uint64_t now)
{
    if (receiver->count == 0)
        return UINT64_MAX;
    if (receiver->subject == NULL &&
        fabric_subject_open(server_of(receiver->view), &receiver->subject, NULL) < 0) {
        receiver->counts.failed++;
        return now + RECEIVER_RETRY;
    }
    if (receiver->flush > now)
        return receiver->flush;
    while (receiver->count > 0) {
        const struct receiver_line *line = &receiver->lines[receiver->first];
        /* without the line end */
        if (fabric_subject_publish(receiver->subject, receiver->view->subject, line->text,
                                   line->size - 1) < 0)
            return now + LOOK_AGAIN;
        receiver_sent(receiver);
    }
    return UINT64_MAX;
}
