/* SPDX-License-Identifier: MIT */
/* descriptor_calls.h: descriptors made, copied, closed. See ptracemeter_types.h. */
#ifndef DPM_DESCRIPTOR_CALLS_H
#define DPM_DESCRIPTOR_CALLS_H

#include "ptracemeter/ptracemeter_types.h"

bool closing_begins(struct ptracemeter *meter, struct tracee *tracee);
void closing_ends(struct ptracemeter *meter, struct tracee *tracee);
void making_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);

#endif
