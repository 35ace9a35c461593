/* SPDX-License-Identifier: MIT */
/* sensor_values.h: from what the machine has calculated to values for users. Private to sensor/. */
#ifndef DPM_SENSOR_VALUES_H
#define DPM_SENSOR_VALUES_H

#include "sensor/compile.h"

/* Not for texts. */
struct sensor_value value_of_bits(const struct compiled *compiled, uint64_t bits, bool known);

#endif
