/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h: what a fuzz target gives. A target NAME_fuzz.c is linked either
 *   with libFuzzer and mutate.c, as NAME_fuzz: random input without end, or
 *   with replay.c, as NAME_replay: a plain test with any compiler.
 */
#ifndef DPM_FUZZ_H
#define DPM_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs one input; returns 0. Aborts if a PROMISE is broken. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Writes a small valid input, the origin of mutations, to `bytes`, which has `room` bytes. Returns its size, or 0 if
 * `room` is too small. */
size_t fuzz_example(uint8_t *bytes, size_t room);

/* For fuzz_example: a text, without the NUL that ends it. */
static inline size_t fuzz_text(uint8_t *bytes, size_t room, const char *text)
{
    size_t size = strlen(text);

    if (size > room)
        return 0;
    memcpy(bytes, text, size);
    return size;
}

/* What must hold for every input. */
#define PROMISE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition);        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
