/* SPDX-License-Identifier: MIT */
/*
 * event_generator.c: the event generators of the perturbation experiment (Ogle, Schwan, Snodgrass 1993, section IV.C). The program
 * has two names, generator-1 and generator-2, and does what its standard input says:
 *
 *      assign 5000        computes 5000 times for a while, and each time may assign 0 or 1 to its attribute, at random
 *      -> {"assignments": 2511, "ones": 1243, "changes": 1262, "elapsed": ns, "cpu": ns}
 *
 * changes: assignments of another value than the one before; the first of all counts, too.
 *
 *      generator-1 SEED
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORK_TURNS 20000 /* about 20 us */

/* What views observe. */
int attribute;
long assignments;

static uint64_t state;

/* The attribute has been assigned. */
void assigned(void);

__attribute__((noinline)) void assigned(void)
{
    __asm__ volatile("" ::: "memory");
}

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 32;
}

static void compute(void)
{
    static volatile uint64_t sink;
    uint64_t number = sink;

    for (int i = 0; i < WORK_TURNS; i++)
        number = number * 6364136223846793005u + 1442695040888963407u;
    sink = number;
}

static int64_t now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void generate(long events)
{
    int64_t begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    long before = assignments, ones = 0, changes = 0;
    int last = -1; /* none */

    for (long i = 0; i < events; i++) {
        compute();
        if ((draw() & 1) == 0)
            continue;
        attribute = (int)(draw() & 1);
        assignments++;
        ones += attribute;
        changes += attribute != last;
        last = attribute;
        assigned();
    }
    printf("{\"assignments\": %ld, \"ones\": %ld, \"changes\": %ld, \"elapsed\": %lld, "
           "\"cpu\": %lld}\n",
           assignments - before, ones, changes, (long long)(now(CLOCK_MONOTONIC) - begin),
           (long long)(now(CLOCK_PROCESS_CPUTIME_ID) - cpu));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char line[100];

    if (argc != 2) {
        fprintf(stderr, "usage: generator-1 SEED\n");
        return 2;
    }
    state = strtoull(argv[1], NULL, 10) * 2 + 1;
    while (fgets(line, sizeof(line), stdin) != NULL)
        if (strncmp(line, "assign ", 7) == 0)
            generate(strtol(line + 7, NULL, 10));
    return EXIT_SUCCESS;
}
