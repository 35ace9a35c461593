/* SPDX-License-Identifier: MIT */
/*
 * replay.c: turns a fuzz target into a plain test. It runs the files named on the command line; without any, the
 * target's example and some hundred mutations of it:
 *
 *      example --> 1 to 8 mutations --> target        again and again, each from the example
 */
#include "fuzz.h"
#include "seeded.h"

#include <string.h>

#define MUTANTS   1000 /* with ./dev test --all */
#define ROOM      65536u
#define FILE_MOST (16u << 20)

/* Copies the input to memory of exactly its size, so that a sanitizer detects reading beyond it. */
static void try_input(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);

    if (copy == NULL)
        abort();
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* ---- mutations ---- */

/* Numbers at which programs behave differently. */
static uint64_t odd_number(uint64_t *state)
{
    uint64_t number = 1ULL << random_below(state, 64);

    switch (random_below(state, 4)) {
    case 0:
        return number - 1;
    case 1:
        return 0 - number;
    case 2:
        return random_below(state, 100);
    default:
        return number;
    }
}

static size_t mutate(uint8_t *bytes, size_t size, uint64_t *state)
{
    size_t at = random_below(state, size);
    size_t left = size - at;
    size_t some = 1 + random_below(state, left);
    uint64_t number = odd_number(state);

    switch (random_below(state, 6)) {
    case 0:
        bytes[at] ^= (uint8_t)(1u << random_below(state, 8));
        return size;
    case 1:
        bytes[at] = (uint8_t)random_number(state);
        return size;
    case 2: /* overwrite with a number */
        at &= ~(size_t)7;
        memcpy(bytes + at, &number, size - at < sizeof(number) ? size - at : sizeof(number));
        return size;
    case 3: /* truncate */
        return at > 0 ? at : size;
    case 4: /* remove */
        memmove(bytes + at, bytes + at + some, left - some);
        return size - some > 0 ? size - some : 1;
    default: /* duplicate */
        if (size + some > ROOM)
            return size;
        memmove(bytes + at + some, bytes + at, left);
        return size + some;
    }
}

static void try_mutants(void)
{
    static uint8_t example[ROOM], mutant[ROOM];
    uint64_t state = seed_of_run("replay");
    size_t size = fuzz_example(example, sizeof(example));

    if (size == 0)
        abort();
    try_input(example, size);
    try_input(example, 0);
    for (uint64_t number = 0; number < rounds_of_run(MUTANTS); number++) {
        size_t mutant_size = size;
        memcpy(mutant, example, size);
        for (uint64_t times = 1 + random_below(&state, 8); times > 0; times--)
            mutant_size = mutate(mutant, mutant_size, &state);
        try_input(mutant, mutant_size);
    }
    printf("%" PRIu64 " mutants tried\n", rounds_of_run(MUTANTS));
}

/* ---- files ---- */

static int try_file(const char *name)
{
    FILE *file = fopen(name, "rbe");
    uint8_t *bytes = malloc(FILE_MOST);

    if (file == NULL || bytes == NULL) {
        perror(name);
        if (file != NULL)
            fclose(file);
        free(bytes);
        return 1;
    }
    size_t size = fread(bytes, 1, FILE_MOST, file);
    fclose(file);
    try_input(bytes, size);
    free(bytes);
    printf("%s: %zu bytes tried\n", name, size);
    return 0;
}

int main(int count, char **arguments)
{
    int failed = 0;

    if (count < 2)
        try_mutants();
    for (int i = 1; i < count; i++)
        failed |= try_file(arguments[i]);
    return failed;
}
