/* SPDX-License-Identifier: MIT */
/* queue_calls.h: messages in System V and POSIX message queues. See ptracemeter_types.h. */
#ifndef DPM_QUEUE_CALLS_H
#define DPM_QUEUE_CALLS_H

#include "ptracemeter/ptracemeter_types.h"

/* A call on a message queue begins; returns whether it matters. */
bool queue_call_begins(struct ptracemeter *meter, struct tracee *tracee);
void queue_call_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
/* It ends, or will not end as usual. */
void queue_call_dropped(struct ptracemeter *meter, struct tracee *tracee);
bool queue_call_receives(const struct call *call);
/* To be called from time to time: forgets types that are used no more. */
void queues_sweep(struct ptracemeter *meter, uint64_t now);
/* The metering ends, and with it all paths. */
void queues_end(struct ptracemeter *meter);
void queues_init(struct ptracemeter *meter);
void queues_free(struct ptracemeter *meter);

#endif
