/* SPDX-License-Identifier: MIT */
/*
 * consumer.c: the last process of a pipeline: reads everything, and is slow now and then.
 *
 *     consumer EVERY-KIB BUSY-MS
 *
 *     read EVERY-KIB ──► compute BUSY-MS ──► read EVERY-KIB ──► ...
 *                        (the pipe fills up)
 */
#include "work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long number(const char *text)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    return *text && !*end && value <= 1000000 ? value : 0;
}

int main(int argument_count, char **arguments)
{
    char block[4096];
    const uint64_t every = argument_count == 3 ? number(arguments[1]) * 1024 : 0;
    const uint64_t busy_ms = argument_count == 3 ? number(arguments[2]) : 0;
    uint64_t bytes = 0, pauses = 0;
    ssize_t part;

    if (every == 0) {
        fprintf(stderr, "usage: consumer EVERY-KIB BUSY-MS\n");
        return 2;
    }
    while ((part = read(STDIN_FILENO, block, sizeof(block))) != 0) {
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0) {
            fprintf(stderr, "consumer: %s\n", strerror(errno));
            return 1;
        }
        bytes += (uint64_t)part;
        for (; pauses < bytes / every; pauses++)
            work(busy_ms * 1000000);
    }
    printf("bytes      %" PRIu64 "\npauses     %" PRIu64 "\n", bytes, pauses);
    return 0;
}
