/* SPDX-License-Identifier: MIT */
/* subject.c: messages to a subject of any NATS server. See subject.h. */
#include "fabric/subject.h"
#include "fabric/nats_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define WRITE_MS                                                                                   \
    10 /* that a message may wait for a link that takes nothing; then the connection is made anew */

struct fabric_subject {
    natsOptions *options;
    natsConnection *connection;
};

/* With this, libnats connects in the background. */
static void connected(natsConnection *connection, void *context)
{
    (void)connection;
    (void)context;
}

static natsStatus connect_to(struct fabric_subject *subject, const char *server)
{
    char url[300];
    natsStatus status = natsOptions_Create(&subject->options);

    snprintf(url, sizeof(url), "nats://%s", server);
    if (status == NATS_OK)
        status = natsOptions_SetURL(subject->options, url);
    if (status == NATS_OK)
        status = natsOptions_SetRetryOnFailedConnect(subject->options, true, connected, NULL);
    if (status == NATS_OK)
        status = natsOptions_SetMaxReconnect(subject->options, -1);
    if (status == NATS_OK)
        status = natsOptions_SetReconnectWait(subject->options, 1000);
    if (status == NATS_OK)
        status = natsOptions_SetWriteDeadline(subject->options, WRITE_MS);
    if (status == NATS_OK)
        status = natsConnection_Connect(&subject->connection, subject->options);
    return status == NATS_NOT_YET_CONNECTED ? NATS_OK : status;
}

int fabric_subject_check(struct problem *problem)
{
    return nats_library_load(problem);
}

int fabric_subject_open(const char *server, struct fabric_subject **ret_subject,
                        struct problem *problem)
{
    int error = nats_library_load(problem);
    struct fabric_subject *subject = error != 0 ? NULL : calloc(1, sizeof(*subject));

    if (error != 0)
        return error;
    if (subject == NULL)
        return problem_set(problem, -ENOMEM, "out of memory for a connection");
    sigset_t before;
    nats_library_without_signals(&before);
    natsStatus status = connect_to(subject, server);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status != NATS_OK) {
        fabric_subject_close(subject, 0);
        return problem_set(problem, -EINVAL, "NATS server '%s': %s", server,
                           natsStatus_GetText(status));
    }
    *ret_subject = subject;
    return 0;
}

void fabric_subject_close(struct fabric_subject *subject, int timeout_ms)
{
    if (subject == NULL)
        return;
    if (timeout_ms > 0 && fabric_subject_connected(subject))
        natsConnection_FlushTimeout(subject->connection, timeout_ms);
    natsConnection_Destroy(subject->connection);
    natsOptions_Destroy(subject->options);
    free(subject);
}

bool fabric_subject_connected(const struct fabric_subject *subject)
{
    return natsConnection_Status(subject->connection) == NATS_CONN_STATUS_CONNECTED;
}

int fabric_subject_publish(struct fabric_subject *subject, const char *name, const void *bytes,
                           size_t size)
{
    if (!fabric_subject_connected(subject))
        return -EAGAIN;
    return natsConnection_Publish(subject->connection, name, bytes, (int)size) == NATS_OK ? 0
                                                                                          : -EIO;
}
