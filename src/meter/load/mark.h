/* SPDX-License-Identifier: MIT */
/* mark.h: marks the processes to be metered. Private to meter/load. */
#ifndef DPM_MARK_H
#define DPM_MARK_H

#include "meter/shared/meter_interface.h"

/* As in meter_interface. */
int meter_mark(struct meter_interface *interface, pid_t pid, struct problem *problem);
int meter_acquire(struct meter_interface *interface, pid_t pid, struct problem *problem);
int meter_begin(struct meter_interface *interface, struct meter_begun *ret_begun,
                struct problem *problem);

#endif
