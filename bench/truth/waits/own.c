/* SPDX-License-Identifier: MIT */
/* own.c: see own.h. */
#include "own.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct {
    uint64_t began;
    _Atomic uint64_t wall, delay, cpu;
    _Atomic uint64_t of; /* 0: the elapsed time */
    _Atomic pid_t pid;
} * all; /* shared with children */

static uint64_t time_of(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000 * MS + (uint64_t)time.tv_nsec;
}

uint64_t clock_ns(void)
{
    return time_of(CLOCK_MONOTONIC);
}

/* For how long this thread could run, but had no CPU. */
static uint64_t delay_ns(void)
{
    char text[100] = "";
    int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    unsigned long long cpu, delay = 0;

    if (file < 0 || read(file, text, sizeof(text) - 1) < 0 ||
        sscanf(text, "%llu %llu", &cpu, &delay) != 2)
        delay = 0;
    close(file);
    return delay;
}

void own_start(void)
{
    all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(all == MAP_FAILED ? -1 : 0, "mmap");
    all->began = clock_ns();
    all->pid = getpid();
}

/* The three at one moment: the thread has not lacked a CPU while they were read. */
struct span own_begin(void)
{
    struct span now;

    do {
        now.delay = delay_ns();
        now.wall = clock_ns();
        now.cpu = time_of(CLOCK_THREAD_CPUTIME_ID);
    } while (delay_ns() != now.delay);
    return now;
}

void own_end(const struct span *begun)
{
    struct span now = own_begin();

    all->wall += now.wall - begun->wall;
    all->cpu += now.cpu - begun->cpu;
    all->delay += now.delay - begun->delay;
}

uint64_t own_elapsed(void)
{
    return clock_ns() - all->began;
}

void own_blame(pid_t pid)
{
    all->pid = pid;
}

void own_is(uint64_t wait, uint64_t of)
{
    all->wall = wait;
    all->of = of;
}

void own_write(void)
{
    uint64_t awake = all->cpu + all->delay, wait = all->wall > awake ? all->wall - awake : 0;
    FILE *file = fopen("own", "w");

    must(file == NULL ? -1 : 0, "own");
    fprintf(file, "%d %.1f %.1f %.1f\n", (int)all->pid, (double)wait / MS, (double)awake / MS,
            (double)(all->of != 0 ? all->of : own_elapsed()) / MS);
    fclose(file);
}

void sleep_ns(uint64_t ns)
{
    struct timespec time = {(time_t)(ns / (1000 * MS)), (long)(ns % (1000 * MS))};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

void sleep_own(uint64_t ns)
{
    OWN(sleep_ns(ns));
}

void compute_ns(uint64_t ns)
{
    uint64_t end = time_of(CLOCK_THREAD_CPUTIME_ID) + ns;

    while (time_of(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

long must(long result, const char *what)
{
    if (result < 0) {
        perror(what);
        exit(1);
    }
    return result;
}

void tell(const char *file, long number)
{
    char name[100];

    snprintf(name, sizeof(name), "%s.new", file);
    FILE *new = fopen(name, "w");
    must(new == NULL ? -1 : 0, name);
    fprintf(new, "%ld\n", number);
    fclose(new);
    must(rename(name, file), file);
}

long told(const char *file)
{
    FILE *told;
    long number = 0;

    while ((told = fopen(file, "r")) == NULL)
        sleep_ns(2 * MS);
    must(fscanf(told, "%ld", &number) == 1 ? 0 : -1, file);
    fclose(told);
    return number;
}
