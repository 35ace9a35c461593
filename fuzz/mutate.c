/* SPDX-License-Identifier: MIT */
/*
 * mutate.c: makes libFuzzer begin with the target's valid example instead of an empty input; after that it uses its own
 * mutations.
 */
#include "fuzz.h"

#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
    (void)seed;
    if (size <= 1) {
        size_t example = fuzz_example(bytes, max_size);
        size = example > 0 ? example : size;
    }
    return LLVMFuzzerMutate(bytes, size, max_size);
}
