/* SPDX-License-Identifier: MIT */
/* file_calls.h: READ and WRITE. See ptracemeter_types.h. */
#ifndef DPM_FILE_CALLS_H
#define DPM_FILE_CALLS_H

#include "ptracemeter/ptracemeter_types.h"

/* A call that may read from files or write to them begins; returns whether it does. */
bool file_call_begins(struct ptracemeter *meter, struct tracee *tracee);
void file_call_ends(struct ptracemeter *meter, struct tracee *tracee, int64_t result);
/* A call has opened a descriptor. */
void file_opened(struct ptracemeter *meter, struct tracee *tracee, int64_t descriptor);
/* A call is about to close a descriptor. */
void file_closes(struct ptracemeter *meter, struct tracee *tracee, int descriptor);
/* dup2 is about to give a descriptor's number to another file. This is not counted as a close of the one that had it, as
 * in the kernel meter. */
void file_replaced(struct ptracemeter *meter, struct tracee *tracee, int descriptor);
/* The process has ended; 0: so have all. */
void traced_files_end(struct ptracemeter *meter, uint32_t process);
void traced_files_init(struct ptracemeter *meter);
void traced_files_free(struct ptracemeter *meter);

#endif
