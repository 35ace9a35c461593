/* SPDX-License-Identifier: MIT */
/*
 * subject.h: messages to a subject of any NATS server, without a session: what views notify. Nothing here waits: the
 * connection is made, and made again, in the background.
 */
#ifndef DPM_SUBJECT_H
#define DPM_SUBJECT_H

#include "base/base.h"

struct fabric_subject;

/* Returns 0, or -ELIBACC with a line in `problem`: libnats is not here. */
int fabric_subject_check(struct problem *problem);

/* `server`: HOST or HOST:PORT (4222). Returns 0, or a negative errno with a line in `problem`: -EINVAL, -ENOMEM,
 * -ELIBACC (without libnats). */
int fabric_subject_open(const char *server, struct fabric_subject **ret_subject,
                        struct problem *problem);

/* Hands out what was published, for at most `timeout_ms`. NULL is allowed. */
void fabric_subject_close(struct fabric_subject *subject, int timeout_ms);

bool fabric_subject_connected(const struct fabric_subject *subject);

/* Returns 0: handed to the connection; -EAGAIN: there is none now; or another negative errno. */
int fabric_subject_publish(struct fabric_subject *subject, const char *name, const void *bytes,
                           size_t size);

#endif
