/* SPDX-License-Identifier: MIT */
/* kernel_types.h: the kernel's own description of its types (BTF), by name. libbpf's look-up searches all types for each name. */
#ifndef DPM_KERNEL_TYPES_H
#define DPM_KERNEL_TYPES_H

#include <linux/btf.h>
#include <stdint.h>

struct kernel_types;

/* Reads them. Returns 0; or a negative errno: there are none, or they cannot be read. */
int kernel_types_read(struct kernel_types **ret_types);
void kernel_types_free(struct kernel_types *types);

/* The number of the first one of this name and kind (BTF_KIND_TYPEDEF, _FUNC, _STRUCT); 0: there is none. */
uint32_t kernel_types_find(const struct kernel_types *types, const char *name, uint32_t kind);

/* The one of this number, or NULL. It is followed by as much as its kind says, and lives as long as `types`. */
const struct btf_type *kernel_types_at(const struct kernel_types *types, uint32_t id);

/* A name of a type or member; "" if there is none at this offset. */
const char *kernel_types_name(const struct kernel_types *types, uint32_t offset);

#endif
