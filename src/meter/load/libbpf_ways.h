/* SPDX-License-Identifier: MIT */
/* libbpf_ways.h: what libbpf may read and print. Private to meter/load. */
#ifndef DPM_LIBBPF_WAYS_H
#define DPM_LIBBPF_WAYS_H

#include "base/base.h"

/* Silences libbpf, unless DPM_DEBUG is set. */
void quiet_libbpf(void);

/* Whether this process has a capability (a number from linux/capability.h). */
bool have_capability(unsigned capability);

/* The capabilities that we have or may have, a bit each. */
uint64_t permitted_capabilities(void);

/* Where libbpf reads the kernel's types. NULL: libbpf's default. Without CAP_SYS_ADMIN libbpf must not search modules
 * for a type that the kernel itself lacks. */
const char *types_to_read(void);

#endif
