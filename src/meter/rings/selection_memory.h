/* SPDX-License-Identifier: MIT */
/* selection_memory.h: the memory that a recorder and the hooks of its meter share (meter/shared/kernel_selection.h). */
#ifndef DPM_SELECTION_MEMORY_H
#define DPM_SELECTION_MEMORY_H

struct selection;

/* Maps it. The descriptor may be closed then. Returns 0 or a negative errno. */
int selection_map(int descriptor, struct selection **ret_selection);

/* NULL is allowed. */
void selection_unmap(struct selection *selection);

#endif
