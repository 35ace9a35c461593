/* SPDX-License-Identifier: MIT */
/* change.h: what processes record, changed while they run. Private to meter/load. */
#ifndef DPM_CHANGE_H
#define DPM_CHANGE_H

#include "meter/shared/meter_interface.h"

/* As meter_interface.change. */
int meter_change(struct meter_interface *interface, pid_t pid, const struct meter_change *change,
                 struct problem *problem);

#endif
