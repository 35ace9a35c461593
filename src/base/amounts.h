/* SPDX-License-Identifier: MIT */
/* amounts.h: sizes and times as a user types them. */
#ifndef DPM_AMOUNTS_H
#define DPM_AMOUNTS_H

#include <stdint.h>

/* Parses a size in bytes: "65536", "64K", "500M", "4G" (powers of 1024; lower case, too). Returns 0, -EINVAL for bad
 * syntax, or -ERANGE. */
int parse_size(const char *text, uint64_t *ret_size);

/* The unit of time at the beginning of a text: ns, us, ms, s, m or h. Returns what is behind it; NULL: there is none. */
const char *parse_time_unit(const char *text, uint64_t *ret_ns);

/* Parses a time: "10" (seconds), "10s", "500ms", "2.5m", "1h". Returns 0, -EINVAL for bad syntax, or -ERANGE. */
int parse_duration(const char *text, uint64_t *ret_ns);

#endif
