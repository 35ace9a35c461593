/* SPDX-License-Identifier: MIT */
/*
 * holders.c: threads take turns on one lock, and its holder computes. The lock is a futex of the program's own, so that a
 * trace has the procedure that waits for it.
 *
 *      usage: holders THREADS TURNS MS [greedy]     prints for how many ms of CPU time the lock was held
 *
 * greedy: a thread keeps the lock until it has had all its turns, but wakes another one after each, in vain; as with
 * locks that a thread can take again before the one that it has woken has come that far.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int lock; /* 0: free, 1: held, 2: held, and others wait */
static int turns;
static int64_t length; /* ns */
static int64_t held;
static bool greedy;

static int64_t cpu_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static __attribute__((noinline)) void wait_for_table(void)
{
    while (atomic_exchange(&lock, 2) != 0)
        syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static __attribute__((noinline)) void release_table(void)
{
    if (atomic_exchange(&lock, 0) == 2)
        syscall(SYS_futex, &lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void compute(void)
{
    int64_t begin = cpu_time();

    while (cpu_time() < begin + length)
        ;
    held += cpu_time() - begin;
}

static void *take_turns(void *context)
{
    for (int i = 0; i < turns; i++) {
        int is_free = 0;
        if (!atomic_compare_exchange_strong(&lock, &is_free, 1))
            wait_for_table();
        compute();
        for (; greedy && i < turns - 1; i++) {
            syscall(SYS_futex, &lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
            compute();
        }
        release_table();
        usleep(200); /* another one has its turn */
    }
    return context;
}

int main(int count, char **arguments)
{
    pthread_t threads[64];

    if (count < 4)
        return 2;
    int used = atoi(arguments[1]);
    turns = atoi(arguments[2]);
    length = atoi(arguments[3]) * 1000000LL;
    greedy = count > 4;
    for (int i = 0; i < used && i < 64; i++)
        if (pthread_create(&threads[i], NULL, take_turns, NULL) != 0)
            return 1;
    for (int i = 0; i < used && i < 64; i++)
        pthread_join(threads[i], NULL);
    printf("%f\n", (double)held / 1e6);
    return 0;
}
