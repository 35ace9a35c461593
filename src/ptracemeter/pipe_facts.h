/* SPDX-License-Identifier: MIT */
/* pipe_facts.h: what a pipe or FIFO is. See ptracemeter_types.h. */
#ifndef DPM_PIPE_FACTS_H
#define DPM_PIPE_FACTS_H

#include "ptracemeter/ptracemeter_types.h"

/* Finds out what pipe a stopped tracee has as `descriptor`. Returns false if pipes are not metered. */
bool pipe_look(struct ptracemeter *meter, struct tracee *tracee, struct object *object,
               int descriptor);
/* What distinguishes a FIFO from others that have its inode number at other times; 0: not known. */
uint64_t pipe_generation(struct ptracemeter *meter, struct tracee *tracee, int descriptor);
/* Whether a FIFO that no call uses has been emptied, as the kernel does when all have closed it. */
bool pipe_was_emptied(struct ptracemeter *meter, struct tracee *tracee, const struct object *fifo,
                      int descriptor);

#endif
