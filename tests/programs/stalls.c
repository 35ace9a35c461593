/* SPDX-License-Identifier: MIT */
/*
 * stalls: runs until SIGTERM; then prints for how many ns CPUs stood still meanwhile, together: a thread of real-time
 * priority on each wakes every 2 ms, and what it is late by more than 1 ms counts. So it was not another program that
 * kept it from running, but the machine: the host of a virtual machine took the CPU, or interrupts did. Programs take
 * such a time for a part of what they were doing.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PERIOD 2000000
#define LATE   1000000

static uint64_t stalled;

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *watch(void *argument)
{
    (void)argument;
    for (;;) {
        const uint64_t due = now() + PERIOD;
        const struct timespec until = {.tv_sec = (time_t)(due / 1000000000),
                                       .tv_nsec = (long)(due % 1000000000)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
        }
        const uint64_t woken = now();
        if (woken > due + LATE)
            __atomic_fetch_add(&stalled, woken - due, __ATOMIC_RELAXED);
    }
    return NULL;
}

int main(void)
{
    const struct sched_param priority = {.sched_priority = 50};
    cpu_set_t allowed;
    sigset_t end;
    int signal;

    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, NULL);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
        return EXIT_FAILURE;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t one;
        pthread_attr_t attributes;
        pthread_t thread;

        if (!CPU_ISSET(cpu, &allowed))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_attr_init(&attributes);
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
        pthread_attr_setschedparam(&attributes, &priority);
        pthread_attr_setaffinity_np(&attributes, sizeof(one), &one);
        if (pthread_create(&thread, &attributes, watch, NULL) != 0)
            return EXIT_FAILURE;
    }
    sigwait(&end, &signal);
    printf("%llu\n", (unsigned long long)__atomic_load_n(&stalled, __ATOMIC_RELAXED));
    return EXIT_SUCCESS;
}
