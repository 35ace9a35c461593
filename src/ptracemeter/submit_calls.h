/* SPDX-License-Identifier: MIT */
/* submit_calls.h: io_submit(2). See ptracemeter_types.h. */
#ifndef DPM_SUBMIT_CALLS_H
#define DPM_SUBMIT_CALLS_H

#include "ptracemeter/ptracemeter_types.h"

/* Returns whether the call must also stop at its end: some of its operations are on sockets or pipes. */
bool submit_begins(struct ptracemeter *meter, struct tracee *tracee);
void submit_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
/* The call will not end as usual, or its end has been handled. */
void submit_dropped(struct tracee *tracee);

#endif
