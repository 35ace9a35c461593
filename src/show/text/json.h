/* SPDX-License-Identifier: MIT */
/*
 * json.h: values that all JSON of DPM is made of, and how they are printed. Each returns NULL when out of memory, and
 * jansson's setters refuse NULL: one check at the end of an element is enough.
 */
#ifndef DPM_JSON_H
#define DPM_JSON_H

#include "base/histogram.h"

#include <jansson.h>
#include <stdio.h>

/* Prints a value as these flags of json_dumpf say, and frees it. NULL is what could not be made: -ENOMEM, which is also
 * returned where memory ends while it is printed. A failure to write stays in the file. */
int json_print(json_t *value, size_t flags, FILE *file);

/* A number that JSON may hold */
json_t *json_count(uint64_t value);

/* A text of at most `size` bytes that comes from a program */
json_t *json_text(const char *text, size_t size);

/* {count, mean, min, p50, p90, p99, max}; null: there are no values. */
json_t *json_distribution(const struct histogram *from);

/* An array of what `make` makes of each index below `count`. */
json_t *json_array_of(const void *context, size_t count,
                      json_t *(*make)(const void *context, size_t index));

#endif
