/* SPDX-License-Identifier: MIT */
/*
 * busy_queue.c: a queue whose length changes all the time, with its own account of it: what a view of it must say.
 *
 *      busy-queue LOG SECONDS RATE [SEED]      once a line or the end comes on standard input
 *
 * The length goes one up or down, between 0 and 49, and is above 24 a third of the time. queue_changed() is called
 * after each change. LOG gets a line for each: the time before it and the time after it, in ns since 1970, and the length.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NS   1000000000ull
#define MOST 50

struct queue {
    int32_t length;
    uint64_t changes;
} queue;

struct change {
    uint64_t before, after;
    int32_t length;
};

static uint64_t now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_nsec;
}

void queue_changed(void);

__attribute__((noinline)) void queue_changed(void)
{
    __asm__ volatile("" ::: "memory");
}

/* It is long for 0.1 s or so, then short for twice as long; waves of other seeds are longer. */
static int step(uint64_t *random, uint64_t number, uint64_t wave)
{
    *random = *random * 6364136223846793005ull + 1442695040888963407ull;
    uint64_t up = number % wave < wave / 3 ? 75 : 25;
    int way = (*random >> 33) % 100 < up ? 1 : -1;

    if (queue.length + way < 0 || queue.length + way >= MOST)
        way = -way;
    return way;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    uint64_t rate = strtoull(argv[3], NULL, 10), count = strtoull(argv[2], NULL, 10) * rate;
    uint64_t random = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    uint64_t wave = rate * (10 + random) / 32;
    struct change *changes = calloc(count, sizeof(*changes));

    if (changes == NULL)
        return 1;
    while (getchar() >= ' ')
        ;
    uint64_t begin = now(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t due = begin + i * NS / rate;
        struct timespec wake = {.tv_sec = (time_t)(due / NS), .tv_nsec = (long)(due % NS)};
        if (now(CLOCK_MONOTONIC) < due)
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
        changes[i].before = now(CLOCK_REALTIME);
        queue.length += step(&random, i, wave);
        queue.changes++;
        queue_changed();
        changes[i].after = now(CLOCK_REALTIME);
        changes[i].length = queue.length;
    }
    FILE *log = fopen(argv[1], "w");
    for (uint64_t i = 0; log != NULL && i < count; i++)
        fprintf(log, "%" PRIu64 " %" PRIu64 " %d\n", changes[i].before, changes[i].after,
                changes[i].length);
    return log == NULL || fclose(log) != 0;
}
