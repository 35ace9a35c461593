/* SPDX-License-Identifier: MIT */
/* programs.h: handles the kernel programs one by one, to find out which of them a kernel accepts. */
#ifndef DPM_PROGRAMS_H
#define DPM_PROGRAMS_H

#include "meter/shared/meter_interface.h"

/* Calls `each` for every program; the section says where it is attached: "tp_btf/NAME", "iter/NAME" ... Loads none.
 * Stops at the first negative result of `each`, and returns it. Else returns 0, or a negative errno of libbpf. */
int programs_each(int (*each)(const char *name, const char *section, void *context), void *context);

/* Loads and attaches this program alone, and removes it again. Returns 0, or a negative errno with the messages of the
 * verifier and libbpf in `log`, which the caller has filled with zeros. */
int program_try(const char *name, char *log, size_t log_size);

/* Opens each iterator of an open kernel meter, without reading from it. Errors: with a line in `problem`. */
int programs_try_iterators(struct meter_interface *meter, struct problem *problem);

#endif
