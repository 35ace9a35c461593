/* SPDX-License-Identifier: MIT */
/* libbpf_ways.h: what libbpf may do here, and say. Private to meter/load. */
#ifndef DPM_LIBBPF_WAYS_H
#define DPM_LIBBPF_WAYS_H

#include "base/base.h"

/* Has libbpf print nothing, unless DPM_DEBUG is set. */
void quiet_libbpf(void);

/* Whether this process has a capability (a number of linux/capability.h). */
bool have_capability(unsigned capability);

/* Where libbpf is to look for the kernel's types: NULL, wherever it likes; without CAP_SYS_ADMIN it must not look into
 * modules, for a type that the kernel itself lacks. */
const char *types_to_read(void);

#endif
