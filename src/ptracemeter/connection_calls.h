/* SPDX-License-Identifier: MIT */
/* connection_calls.h: connections made, refused, accepted; listeners. See ptracemeter_types.h. */
#ifndef DPM_CONNECTION_CALLS_H
#define DPM_CONNECTION_CALLS_H

#include "ptracemeter/ptracemeter_types.h"

void accept_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
void connect_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
void listen_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);

/* getsockopt: whether its end matters, since it asks how a connect() ended. */
bool option_begins(struct ptracemeter *meter, struct tracee *tracee);
void option_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);

/* The tracee is about to close a descriptor: looks how a connect() ended that is still open. */
void connection_closes(struct ptracemeter *meter, struct tracee *tracee, int descriptor);

#endif
