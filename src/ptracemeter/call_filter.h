/* SPDX-License-Identifier: MIT */
/* call_filter.h: which calls stop at all (seccomp). See ptracemeter_types.h. */
#ifndef DPM_CALL_FILTER_H
#define DPM_CALL_FILTER_H

#include "ptracemeter/ptracemeter_types.h"

int filter_enter(void *meter);

int filter_make(struct ptracemeter *meter, struct problem *problem);
void filter_free(struct ptracemeter *meter);

#endif
