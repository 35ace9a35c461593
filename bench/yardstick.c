/* SPDX-License-Identifier: MIT */
/*
 * yardstick.c: reads files and adds up one word in every 48 bytes, the size of a record: the minimum work of any trace
 * reader. Readers are compared with its speed.
 *
 *      yardstick FILE...    prints the sum
 *
 *      | word | 40 bytes | word | 40 bytes | ...      1 MiB at a time, as the trace's reader
 */
#include "event/record.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WORDS_PER_RECORD (sizeof(struct record) / sizeof(uint64_t))
#define WINDOW           (1u << 20)

/* Returns -1 if the file cannot be read. */
static int add_file(const char *name, uint64_t *sum)
{
    static uint64_t window[WINDOW / sizeof(uint64_t)];
    int file = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t size = -1;

    while (file >= 0 && (size = read(file, window, sizeof(window))) > 0)
        for (size_t i = 0; i < (size_t)size / sizeof(uint64_t); i += WORDS_PER_RECORD)
            *sum += window[i];
    if (file >= 0)
        close(file);
    return size < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;

    for (int i = 1; i < argc; i++)
        if (add_file(argv[i], &sum) < 0) {
            perror(argv[i]);
            return EXIT_FAILURE;
        }
    printf("%" PRIu64 "\n", sum);
    return EXIT_SUCCESS;
}
