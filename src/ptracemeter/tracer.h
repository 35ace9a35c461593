/* SPDX-License-Identifier: MIT */
/* tracer.h: the tracing thread. See ptracemeter_types.h. */
#ifndef DPM_TRACER_H
#define DPM_TRACER_H

#include "ptracemeter/ptracemeter_types.h"

void *tracer_run(void *meter);
/* The marked process with this ID that was marked last, since IDs are used again; NULL: there is none. */
struct marked *tracer_find_marked(struct ptracemeter *meter, pid_t pid);
/* Reads memory of a stopped tracee. Returns whether all of it was read. */
bool tracer_read(const struct tracee *tracee, uint64_t address, void *to, size_t size);

#endif
