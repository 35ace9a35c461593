/* SPDX-License-Identifier: MIT */
/* programs.h: the programs of the kernel side one by one, to find out which of them a kernel takes. */
#ifndef DPM_PROGRAMS_H
#define DPM_PROGRAMS_H

#include "meter/shared/meter_interface.h"

/* Calls `each` for each of them: "tp_btf/NAME", "iter/NAME" ... is the section, which says what it is attached to.
 * Loads none. Stops when it returns a negative errno. Returns that, 0, or a negative errno of libbpf's. */
int programs_each(int (*each)(const char *name, const char *section, void *context), void *context);

/* Loads and attaches this program alone, and takes it out again. Returns 0, or a negative errno and what the kernel's
 * verifier and libbpf say of it in `log`, which was all zero. */
int program_try(const char *name, char *log, size_t log_size);

/* Opens each iterator of a kernel meter that is open, and reads nothing. Errors: with a line in `problem`. */
int programs_try_iterators(struct meter_interface *meter, struct problem *problem);

#endif
