/* SPDX-License-Identifier: MIT */
/*
 * base.h: the little that no library gives: problems (error texts), an interning table, clocks as
 * numbers, a growing array, and memory for what is freed together.
 *
 * Convention of all DPM libraries: functions that can fail return 0 or a positive result, or a
 * negative errno; `ret_` parameters are written only on success; libraries never print and never
 * exit; where an errno is too little for a person, the function takes a `struct problem` and puts
 * one line there: what, where, and what to do.
 */
#ifndef DPM_BASE_H
#define DPM_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* ---- problems ---- */

struct problem {
    char text[512];
};

/* Writes the line, with '?' for each control character, and returns `error` (a negative errno), so that a caller can
 * `return problem_set(problem, -EINVAL, "...")`. `problem` may be NULL. */
int problem_set(struct problem *problem, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- interning table: a 64-bit key to a dense index 0, 1, 2 ... ---- */

struct intern {
    uint64_t *keys;  /* by index, in order of arrival */
    uint32_t *slots; /* open addressing: index + 1, 0 = free */
    uint32_t count;
    uint32_t slot_count; /* a power of two, or 0 before the first key */
};

/* Index of `key`, adding it if it is new (then the index is the old count).
 * Returns the index, or -ENOMEM and the table is unchanged. An all-zero struct is an empty table. */
int64_t intern_add(struct intern *table, uint64_t key);

/* Index of `key`, or -ENOENT. */
int64_t intern_find(const struct intern *table, uint64_t key);

/* Takes all keys out, and keeps the memory. */
void intern_clear(struct intern *table);

void intern_done(struct intern *table);

/* ---- clocks ---- */

/* Nanoseconds of a clock (CLOCK_MONOTONIC, CLOCK_REALTIME). */
uint64_t clock_now(clockid_t clock);

/* ---- hash ---- */

/* Of `size` bytes (XXH3), after those that gave `hash`; 0 before the first. */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size);

/* ---- memory for what is freed together ---- */

/* An all-zero one is empty. */
struct arena {
    struct arena_block *block; /* that is being filled */
    size_t used;               /* bytes of it */
};

/* Memory for any type, as it comes, or NULL. It stays until the arena is done. */
void *arena_allocate(struct arena *arena, size_t size);

void arena_done(struct arena *arena);

/* ---- room for large arrays ---- */

/* Room for so many bytes, all zero, that takes memory as it is used, in huge pages where there are some: who looks all over
 * a large array finds its pages more quickly. It stays where it is. NULL: there is none. */
void *memory_reserve(size_t size);

/* `memory` may be NULL. */
void memory_release(void *memory, size_t size);

/* ---- growing array ---- */

/* Makes room for at least `count` elements of `size` bytes in *array, whose present room is
 * *capacity elements; new elements are zero. Returns 0, or -ENOMEM and nothing has changed. */
int array_reserve(void *array, size_t *capacity, size_t count, size_t size);

#endif
