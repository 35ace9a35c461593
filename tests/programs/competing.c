/* SPDX-License-Identifier: MIT */
/*
 * competing.c: competing MS [CPU]: two threads compete for a CPU, MS of CPU time each: one computes all the time, one
 * sleeps now and then. Each prints "TID WAITED VOLUNTARY INVOLUNTARY TIME", as the kernel counts it, at its end: ns that it
 * has waited for a CPU, and context switches, at this time (CLOCK_MONOTONIC, ns). In between they send to each other.
 *
 * competing MS CPU spin: a thread that only computes, on this CPU.
 */
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t most; /* ns */
static int ends[2];

static int64_t used(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* From here on to its end nothing makes the thread wait for its CPU, if it may have a real-time priority. */
static void print_own(void)
{
    const struct sched_param priority = {.sched_priority = 1};
    char path[64], line[128];
    unsigned long long run, waited;
    struct rusage usage;
    long tid = syscall(SYS_gettid);
    struct timespec time;

    sched_setscheduler(0, SCHED_FIFO, &priority);
    clock_gettime(CLOCK_MONOTONIC, &time);
    snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", tid);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%llu %llu", &run, &waited) != 2)
        errx(1, "%s", path);
    fclose(file);
    getrusage(RUSAGE_THREAD, &usage);
    int length =
        snprintf(line, sizeof(line), "%ld %llu %ld %ld %lld\n", tid, waited, usage.ru_nvcsw,
                 usage.ru_nivcsw, time.tv_sec * 1000000000LL + time.tv_nsec);
    if (write(1, line, (size_t)length) != length)
        err(1, "write");
}

static void compute(int64_t until)
{
    while (used() < until)
        ;
}

static void *sleeps(void *unused)
{
    char byte;

    for (int64_t part = 1; part <= 20; part++) {
        compute(most * part / 20);
        usleep(1000);
        if (send(ends[1], "x", 1, 0) != 1 || recv(ends[1], &byte, 1, MSG_DONTWAIT) > 1)
            err(1, "send");
    }
    print_own();
    return unused;
}

static void *computes(void *unused)
{
    for (int64_t part = 1; part <= 20; part++) {
        compute(most * part / 20);
        if (send(ends[0], "x", 1, 0) != 1)
            err(1, "send");
    }
    print_own();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    cpu_set_t cpus;

    if (argc < 2)
        errx(2, "usage: competing MS [CPU [spin]]");
    most = atoll(argv[1]) * 1000000;
    CPU_ZERO(&cpus);
    CPU_SET(argc > 2 ? atoi(argv[2]) : 0, &cpus);
    if (argc > 2 && sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
        err(1, "CPU %s", argv[2]);
    if (argc > 3) {
        compute(most);
        return 0;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        err(1, "socketpair");
    pthread_create(&threads[0], NULL, computes, NULL);
    pthread_create(&threads[1], NULL, sleeps, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    print_own();
    return 0;
}
