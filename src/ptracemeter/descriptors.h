/* SPDX-License-Identifier: MIT */
/* descriptors.h: which file is behind a descriptor, once looked at. See ptracemeter_types.h. */
#ifndef DPM_DESCRIPTORS_H
#define DPM_DESCRIPTORS_H

#include "ptracemeter/ptracemeter_types.h"

struct table *table_new(void);
struct table *table_copy(struct ptracemeter *meter, const struct table *table);
void table_leave(struct ptracemeter *meter, struct table *table);
/* The object behind a descriptor of a stopped tracee; NULL: there is no such descriptor, or it cannot be
 * looked at; NO_OBJECT: no path. */
struct object *descriptor_object(struct ptracemeter *meter, struct tracee *tracee, int descriptor);
void descriptor_set(struct ptracemeter *meter, struct table *table, int descriptor,
                    struct object *object);
void descriptor_forget(struct ptracemeter *meter, struct table *table, int descriptor);
void descriptors_forget_range(struct ptracemeter *meter, struct table *table, uint32_t first,
                              uint32_t last);
/* The tracee has executed a program: those that were closed. */
void descriptors_after_exec(struct ptracemeter *meter, struct tracee *tracee);
/* Whether a descriptor can be written to, read from. */
bool descriptor_is_written(const struct tracee *tracee, int descriptor);
/* A copy of a tracee's descriptor; the caller closes it before the tracee is let go. -1: refused. */
int descriptor_borrow(struct tracee *tracee, int descriptor);

#endif
