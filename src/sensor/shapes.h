/* SPDX-License-Identifier: MIT */
/* shapes.h: whole structs as text: {a: 3, inner: {b: 9, name: "x"}}. Private to sensor/. */
#ifndef DPM_SENSOR_SHAPES_H
#define DPM_SENSOR_SHAPES_H

#include "sensor/kernel/sensor_code.h"
#include "sensor/types.h"

/* How the bytes of a struct become text. It belongs to its program. */
struct shape;

/* Its first SENSOR_TEXT_BYTES bytes, at most; `...` stands for what is behind them, and for what is too deep. Returns 0, -ENOENT: it
 * has no members that are known, or -ENOMEM. */
int shape_make(struct sensor_program *program, const struct type *type,
               const struct shape **ret_shape);

/* How many bytes of it are read. */
uint32_t shape_size(const struct shape *shape);

/* Cut, and ends with `...` then, if it is longer. */
void shape_text(const struct shape *shape, const void *bytes, char *text, size_t size);

#endif
