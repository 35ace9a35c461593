/* SPDX-License-Identifier: MIT */
/*
 * generator.c: the first process of a pipeline: writes KIB of lines of numbers, the same for the same seed, as fast as
 * they are read.
 *
 *     generator KIB [SEED]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_SIZE 4096u

static uint64_t next_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 44;
}

/* A block of lines; they compress about as well as text. */
static void fill(char *block, uint64_t *state)
{
    size_t filled = 0;
    while (filled < BLOCK_SIZE) {
        char line[48];
        const int length = snprintf(line, sizeof(line), "measurement %" PRIu64 " of many\n",
                                    next_number(state) % 10000);
        const size_t rest = BLOCK_SIZE - filled;
        const size_t part = (size_t)length < rest ? (size_t)length : rest;
        memcpy(block + filled, line, part);
        filled += part;
    }
}

static int write_all(const char *block, size_t size)
{
    while (size > 0) {
        const ssize_t part = write(STDOUT_FILENO, block, size);
        if (part < 0 && errno != EINTR)
            return -errno;
        if (part > 0) {
            block += part;
            size -= (size_t)part;
        }
    }
    return 0;
}

int main(int argument_count, char **arguments)
{
    char block[BLOCK_SIZE];
    char *end = NULL;
    const unsigned long kib = argument_count > 1 ? strtoul(arguments[1], &end, 10) : 0;
    if (argument_count < 2 || argument_count > 3 || *end || kib == 0) {
        fprintf(stderr, "usage: generator KIB [SEED]\n");
        return 2;
    }
    uint64_t state = argument_count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    for (unsigned long written = 0; written < kib; written += BLOCK_SIZE / 1024) {
        fill(block, &state);
        const int error = write_all(block, sizeof(block));
        if (error < 0) {
            fprintf(stderr, "generator: %s\n", strerror(-error));
            return 1;
        }
    }
    return 0;
}
