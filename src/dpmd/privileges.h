/* SPDX-License-Identifier: MIT */
/* privileges.h: what dpmd may do. Private to dpmd. */
#ifndef DPM_PRIVILEGES_H
#define DPM_PRIVILEGES_H

#include "base/base.h"

/*
 * Gives up all capabilities but those that the kernel meter needs, for good and for all children:
 *      CAP_BPF, CAP_PERFMON    load and attach its programs
 *      CAP_NET_ADMIN           attach programs to the root cgroup: UDP on kernels without trampolines
 *      CAP_SYS_ADMIN           only before Linux 6.2, which casts no pointers for anybody else
 * Errors: -EPERM (it has not even these), with a line in `problem`.
 */
int privileges_keep_needed(struct problem *problem);

#endif
