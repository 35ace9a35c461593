/* SPDX-License-Identifier: MIT */
/*
 * json.h: values that all JSON of DPM consists of, and how to print them. Each function returns NULL when out of
 * memory, and jansson's setters refuse NULL: one check at the end of an element is enough.
 */
#ifndef DPM_JSON_H
#define DPM_JSON_H

#include "base/histogram.h"

#include <jansson.h>
#include <stdio.h>

/* Prints a value with these json_dumpf flags and frees it. Returns 0, or -ENOMEM if `value` is NULL (it could not be
 * made) or memory runs out while printing. Write errors stay in the file. */
int json_print(json_t *value, size_t flags, FILE *file);

/* A number; JSON integers end at INT64_MAX, and larger values become that. */
json_t *json_count(uint64_t value);

/* A text of at most `size` bytes that a program supplied, made safe. */
json_t *json_text(const char *text, size_t size);

/* {count, mean, min, p50, p90, p99, max}; null if there are no values. */
json_t *json_distribution(const struct histogram *from);

/* An array of make(context, i) for each index i below `count`. */
json_t *json_array_of(const void *context, size_t count,
                      json_t *(*make)(const void *context, size_t index));

#endif
