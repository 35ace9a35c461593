/* SPDX-License-Identifier: MIT */
/* descriptors.h: the object behind a descriptor, cached. See ptracemeter_types.h. */
#ifndef DPM_DESCRIPTORS_H
#define DPM_DESCRIPTORS_H

#include "ptracemeter/ptracemeter_types.h"

#include <sys/stat.h>

struct table *table_new(void);
struct table *table_copy(struct ptracemeter *meter, const struct table *table);
void table_leave(struct ptracemeter *meter, struct table *table);
/* The object behind a descriptor of a stopped tracee. NULL: there is no such descriptor, or it cannot be looked at.
 * Not is_object(): not a path. */
struct object *descriptor_object(struct ptracemeter *meter, struct tracee *tracee, int descriptor);
void descriptor_set(struct ptracemeter *meter, struct table *table, int descriptor,
                    struct object *object);
void descriptor_forget(struct ptracemeter *meter, struct table *table, int descriptor);
void descriptors_forget_range(struct ptracemeter *meter, struct table *table, uint32_t first,
                              uint32_t last);
/* Forgets the descriptors that the tracee's exec has closed. */
void descriptors_after_exec(struct ptracemeter *meter, struct tracee *tracee);
/* Whether a descriptor is open for writing. */
bool descriptor_is_written(struct ptracemeter *meter, struct tracee *tracee, int descriptor);
/* The file behind a descriptor. Returns false, and errno says why, if it cannot be looked at. */
bool descriptor_file(struct ptracemeter *meter, struct tracee *tracee, int descriptor,
                     struct stat *ret_file);
/* A copy of a tracee's descriptor, or -1. The caller closes it before the tracee is resumed. errno ENOTSUP: this kernel
 * cannot copy descriptors that the process's first thread does not share. */
int descriptor_borrow(struct ptracemeter *meter, struct tracee *tracee, int descriptor);
/* Whether /proc shows our processes: it may not be mounted, or be that of another PID namespace, where the same
 * numbers are other processes. */
bool descriptors_have_proc(void);

#endif
