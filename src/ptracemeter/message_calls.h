/* SPDX-License-Identifier: MIT */
/* message_calls.h: data sent and received. See ptracemeter_types.h. */
#ifndef DPM_MESSAGE_CALLS_H
#define DPM_MESSAGE_CALLS_H

#include "ptracemeter/ptracemeter_types.h"

bool send_begins(struct ptracemeter *meter, struct tracee *tracee);
void send_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
bool receive_begins(struct ptracemeter *meter, struct tracee *tracee);
void receive_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
bool move_begins(struct ptracemeter *meter, struct tracee *tracee);
void move_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
void message_dropped(struct tracee *tracee);
/* Records a SENDCALL for a send that takes long, and another one whenever more of it has been received. */
void send_goes_on(struct ptracemeter *meter, struct tracee *tracee, uint64_t now);

/* One of several operations of a call (submit_calls.c) has ended, that sent, or received. `other_sends`,
 * `other_receives`: as in struct call. */
void send_submitted(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                    uint32_t other_sends, uint32_t bytes);
void receive_submitted(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
                       uint32_t other_receives, uint32_t bytes);

#endif
