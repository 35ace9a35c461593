/* SPDX-License-Identifier: MIT */
/*
 * short_of_memory.c: a library to be preloaded into a program (LD_PRELOAD). COUNT_TO names a file for the number of
 * allocations.
 *
 * FAIL_EACH lists allocations ("1 2 5"): the program runs once for each of them, and that allocation fails. Each run is
 * a fork of the loaded process, which is much cheaper than loading it again. Its outputs go to out.NUMBER and
 * err.NUMBER. The library prints a line for each run, "NUMBER STATUS", with the exit status as in a shell.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static long fail_at, allocations; /* the first is 1 */

static void redirect(int descriptor, const char *name, long number)
{
    char path[32];

    snprintf(path, sizeof(path), "%s.%ld", name, number);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || dup2(file, descriptor) < 0)
        abort();
    close(file);
}

/* Returns in each of the copies; the process itself ends. */
static void fail_each(const char *numbers)
{
    char *end;
    int status;

    for (long number = strtol(numbers, &end, 10); end != numbers;
         number = strtol(numbers, &end, 10)) {
        numbers = end;
        pid_t child = fork();
        if (child == 0) {
            redirect(STDOUT_FILENO, "out", number);
            redirect(STDERR_FILENO, "err", number);
            fail_at = number;
            return;
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
            abort();
        dprintf(STDOUT_FILENO, "%ld %d\n", number,
                WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    _exit(0);
}

__attribute__((constructor)) static void begin(void)
{
    const char *each = getenv("FAIL_EACH");

    if (each != NULL)
        fail_each(each);
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
    if (allocations != fail_at)
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
