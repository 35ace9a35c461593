/* SPDX-License-Identifier: MIT */
/* code_places.h: places in the code of a running program. Private to sensor/. */
#ifndef DPM_SENSOR_CODE_PLACES_H
#define DPM_SENSOR_CODE_PLACES_H

#include "sensor/compile.h"

#define PLACES_MOST 32 /* of one sensor */

struct places {
    struct place list[PLACES_MOST];
    size_t count;
};

/* Finds "function", "file.c:123" or "provider:name". Returns 0, or -ENOENT, -EINVAL, -ENOSPC (too many places), with a
 * line in `problem`. */
int places_find(struct sensor_program *program, const char *text, struct places *ret_places,
                struct problem *problem);

/* usdt.c: adds the places of a USDT probe. Returns 0 or -ENOSPC; without such a probe, no place is added. */
struct nearest;
int usdt_find(struct sensor_program *program, const char *provider, size_t provider_size,
              const char *name, struct places *places, struct nearest *nearest);

/* Reads the arguments of a probe: "-4@%eax 8@-16(%rbp)". Those that are not understood end the list. */
void usdt_arguments(const char *text, struct place *place);

/* Adds a place unless it is there already. Returns 0 or -ENOSPC. */
int places_add(struct places *places, const struct place *place);

#endif
