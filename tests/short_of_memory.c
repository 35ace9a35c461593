/* SPDX-License-Identifier: MIT */
/*
 * short_of_memory.c: a library to be loaded before a program (LD_PRELOAD), whose FAIL_AT-th allocation then fails, once
 * or (FAIL_ON is set) with all that follow it. COUNT_TO names a file that gets how many allocations there were.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static long fail_at = -1, allocations;
static bool fail_on;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT");

    fail_at = at == NULL ? -1 : atol(at);
    fail_on = getenv("FAIL_ON") != NULL;
    allocations = 0;
}

__attribute__((destructor)) static void end(void)
{
    long count = allocations;
    const char *name = getenv("COUNT_TO");
    FILE *file = name == NULL ? NULL : fopen(name, "we");

    if (file == NULL)
        return;
    fprintf(file, "%ld\n", count);
    fclose(file);
}

static bool fails(void)
{
    allocations++;
    if (allocations != fail_at && !(fail_on && fail_at > 0 && allocations > fail_at))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}
