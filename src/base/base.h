/* SPDX-License-Identifier: MIT */
/*
 * base.h: what no library provides: problems (error texts), an interning table, clocks as numbers, a hash, an arena
 * and a growing array.
 *
 * Conventions of all DPM libraries:
 *   - A function that can fail returns 0 or a positive result, or a negative errno.
 *   - `ret_` parameters are written only on success.
 *   - Libraries never print and never exit.
 *   - Where an errno is not enough for a person, the function takes a `struct problem` and writes one line to it:
 *     what failed, where, and what to do.
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

/* Formats the line, replaces control characters by '?', and returns `error` (a negative errno). A caller can therefore
 * write `return problem_set(problem, -EINVAL, "...")`. `problem` may be NULL. */
int problem_set(struct problem *problem, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What to do if a capability is missing, as the end of a line: "sensors need CAP_BPF" "; run dpm as root, ...". The root
 * of a container may lack it, too. */
const char *privilege_advice(void);

/* ---- interning table: maps a 64-bit key to a dense index 0, 1, 2 ... ---- */

struct intern {
    uint64_t *keys;  /* by index, in insertion order */
    uint32_t *slots; /* open addressing: index + 1; 0: free */
    uint32_t count;
    uint32_t slot_count; /* a power of two, or 0 before the first key */
};

/* Returns the index of `key`. A new key is added and gets the old count as its index. On -ENOMEM the table is
 * unchanged. An all-zero struct is an empty table. */
int64_t intern_add(struct intern *table, uint64_t key);

/* The index of `key`, or -ENOENT. */
int64_t intern_find(const struct intern *table, uint64_t key);

void intern_done(struct intern *table);

/* ---- clocks ---- */

/* The time of `clock` (CLOCK_MONOTONIC, CLOCK_REALTIME ...) in nanoseconds. CLOCK_MONOTONIC is the machine's, as the
 * kernel's hooks see it, even in a time namespace that shifts it (time_namespaces(7)). */
uint64_t clock_now(clockid_t clock);

/* The timeout in ms for poll(2) to wait from `now` until a time, both in ns; UINT64_MAX: without limit. */
int poll_timeout(uint64_t time, uint64_t now);

/* ---- numbers ---- */

static inline uint64_t smaller_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t larger_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- hash ---- */

/* The XXH3 hash of `size` bytes, seeded with `hash`. To hash several pieces, pass 0 first, then each result. */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size);

/* ---- arena: memory that is freed together ---- */

/* An all-zero struct is an empty arena. */
struct arena {
    struct arena_block *block; /* the block being filled */
    size_t used;               /* bytes used of `block` */
};

/* Returns uninitialized memory, aligned for any type, or NULL. It stays valid until arena_done. */
void *arena_allocate(struct arena *arena, size_t size);

void arena_done(struct arena *arena);

/* ---- memory for large arrays ---- */

/* Reserves `size` bytes, all zero. Pages are allocated when first touched, as huge pages if available, which makes
 * random access to a large array faster. The memory never moves. Returns NULL if there is none. */
void *memory_reserve(size_t size);

/* `memory` may be NULL. */
void memory_release(void *memory, size_t size);

/* ---- growing array ---- */

/* Ensures that *array, which holds *capacity elements of `size` bytes, has a capacity of at least `count`. New
 * elements are zero. Returns 0, or -ENOMEM, which leaves everything unchanged. */
int array_grow(void *array, size_t *capacity, size_t count, size_t size);
static inline int array_reserve(void *array, size_t *capacity, size_t count, size_t size)
{
    return count <= *capacity ? 0 : array_grow(array, capacity, count, size);
}

#endif
