/* SPDX-License-Identifier: MIT */
/* passing.h: messages on a UNIX socket that bring descriptors (unix(7), SCM_RIGHTS). */
#ifndef DPM_PASSING_H
#define DPM_PASSING_H

#include "base/base.h"

#include <sys/types.h>

#define PASSING_MOST 4 /* in one message */

/* Sends one message with `count` descriptors. Never raises SIGPIPE. Returns 0 or a negative errno. */
int passing_send(int connection, const void *message, size_t size, const int *descriptors,
                 size_t count);

/* Receives one message, and at most *count descriptors, which become the caller's; *count: how many came. They are
 * closed at exec. Returns the length of the message, 0 at the end, or a negative errno: -EMSGSIZE if the message or its
 * descriptors were too many; then there are none. */
ssize_t passing_receive(int connection, void *message, size_t size, int *ret_descriptors,
                        size_t *count);

void passing_close(const int *descriptors, size_t count);

#endif
