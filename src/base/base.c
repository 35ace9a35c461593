/* SPDX-License-Identifier: MIT */
/* base.c: problems, the interning table, clocks, the hash, arenas, the growing array. See base.h. */
#include "base/base.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

/* A problem is one line, and file names may contain control characters. */
static void replace_controls(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

int problem_set(struct problem *problem, int error, const char *format, ...)
{
    if (problem != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(problem->text, sizeof(problem->text), format, arguments);
        va_end(arguments);
        replace_controls(problem->text);
    }
    return error;
}

const char *privilege_advice(void)
{
    return geteuid() == 0 ? ", which root lacks here (a container?); dpm check shows what to do"
                          : "; run dpm as root, e.g. with sudo (see dpm check)";
}

/* Keys are often small consecutive numbers with an origin in the upper half. The multiplication spreads them over the
 * slots (Knuth's multiplicative hashing). */
static uint32_t hash_key(uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15ULL) >> 32);
}

/* The slot that holds `key`, or the free slot where it belongs. Requires at least one free slot. */
static uint32_t find_slot(const struct intern *table, uint64_t key)
{
    uint32_t mask = table->slot_count - 1;
    uint32_t slot = hash_key(key) & mask;

    while (table->slots[slot] != 0 && table->keys[table->slots[slot] - 1] != key)
        slot = (slot + 1) & mask;
    return slot;
}

/* Doubles the table. At most half of the slots are in use. */
static int grow(struct intern *table)
{
    uint32_t slot_count = table->slot_count == 0 ? 16 : table->slot_count * 2;

    if (slot_count < table->slot_count)
        return -ENOMEM;
    uint64_t *keys = realloc(table->keys, slot_count / 2 * sizeof(*keys));
    if (keys == NULL)
        return -ENOMEM;
    table->keys = keys;
    uint32_t *slots = calloc(slot_count, sizeof(*slots));
    if (slots == NULL)
        return -ENOMEM;
    free(table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
    for (uint32_t index = 0; index < table->count; index++)
        slots[find_slot(table, keys[index])] = index + 1;
    return 0;
}

int64_t intern_add(struct intern *table, uint64_t key)
{
    int64_t found = intern_find(table, key);

    if (found >= 0)
        return found;
    if (table->count >= table->slot_count / 2) {
        int result = grow(table);
        if (result < 0)
            return result;
    }
    table->keys[table->count] = key;
    /* Increment `count` last: find_slot must not see the new key before its slot is set. */
    table->slots[find_slot(table, key)] = table->count + 1;
    return table->count++;
}

int64_t intern_find(const struct intern *table, uint64_t key)
{
    if (table->slot_count == 0)
        return -ENOENT;
    uint32_t value = table->slots[find_slot(table, key)];
    return value == 0 ? -ENOENT : (int64_t)value - 1;
}

void intern_done(struct intern *table)
{
    free(table->keys);
    free(table->slots);
    memset(table, 0, sizeof(*table));
}

/* ---- clocks ---- */

static int64_t namespace_offset; /* ns that our time namespace adds to CLOCK_MONOTONIC */

/* A process's time namespace never changes. Without the file, the kernel has no time namespaces. */
static void read_namespace_offset(void)
{
    FILE *offsets = fopen("/proc/self/timens_offsets", "re");
    char clock[32];
    long long seconds, nanoseconds;

    while (offsets != NULL && fscanf(offsets, "%31s %lld %lld", clock, &seconds, &nanoseconds) == 3)
        if (strcmp(clock, "monotonic") == 0)
            namespace_offset = seconds * 1000000000 + nanoseconds;
    if (offsets != NULL)
        fclose(offsets);
}

uint64_t clock_now(clockid_t clock)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct timespec now;

    clock_gettime(clock, &now);
    uint64_t time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (clock != CLOCK_MONOTONIC)
        return time;
    pthread_once(&once, read_namespace_offset);
    return time - (uint64_t)namespace_offset;
}

int poll_timeout(uint64_t time, uint64_t now)
{
    if (time == UINT64_MAX)
        return -1;
    uint64_t wait = time > now ? time - now : 0;
    uint64_t pause = wait / 1000000 + (wait % 1000000 != 0);
    return pause < INT_MAX ? (int)pause : INT_MAX;
}

/* ---- hashes ---- */

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    return XXH3_64bits_withSeed(bytes, size, hash);
}

#define ARENA_BLOCK 65536

struct arena_block {
    struct arena_block *next; /* the previous block, full */
    size_t size;
    _Alignas(max_align_t) char bytes[];
};

static int add_block(struct arena *arena, size_t least)
{
    size_t size = least > ARENA_BLOCK ? least : ARENA_BLOCK;
    struct arena_block *block = malloc(sizeof(*block) + size);

    if (block == NULL)
        return -ENOMEM;
    block->next = arena->block;
    block->size = size;
    arena->block = block;
    arena->used = 0;
    return 0;
}

void *arena_allocate(struct arena *arena, size_t size)
{
    size_t whole = (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);

    if ((arena->block == NULL || whole > arena->block->size - arena->used) &&
        add_block(arena, whole) < 0)
        return NULL;
    void *memory = arena->block->bytes + arena->used;
    arena->used += whole;
    return memory;
}

void arena_done(struct arena *arena)
{
    for (struct arena_block *block = arena->block, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    *arena = (struct arena){0};
}

void *memory_reserve(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, size, MADV_HUGEPAGE); /* on failure it is only slower */
    return memory;
}

void memory_release(void *memory, size_t size)
{
    if (memory != NULL)
        munmap(memory, size);
}

/* Below this capacity an array doubles, above it grows by half: new elements are zeroed, so they take real memory. */
#define DOUBLED_MOST 4096

int array_grow(void *array, size_t *capacity, size_t count, size_t size)
{
    size_t wanted = *capacity < 8 ? 8 : *capacity;
    while (wanted < count) {
        if (wanted > SIZE_MAX / 2 / size)
            return -ENOMEM;
        wanted += wanted < DOUBLED_MOST ? wanted : wanted / 2;
    }
    void *old;
    memcpy(&old, array, sizeof(old));
    char *grown = realloc(old, wanted * size);
    if (grown == NULL)
        return -ENOMEM;
    memset(grown + *capacity * size, 0, (wanted - *capacity) * size);
    memcpy(array, &grown, sizeof(grown));
    *capacity = wanted;
    return 0;
}
