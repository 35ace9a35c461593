/* SPDX-License-Identifier: MIT */
/*
 * turns.c: processes that write into one pipe, one at a time, under a lock. The first of them computes for long before its
 * last write, the others compute little and write often. What reads waits for the messages only.
 *
 *      usage: turns WRITERS MS     prints for how many ms of CPU time the first one computed
 */
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MESSAGES 4

struct message {
    int64_t used; /* ns of CPU time before it */
    char text[72];
};

static int64_t cpu_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int64_t compute(int64_t length)
{
    int64_t begin = cpu_time();

    while (cpu_time() < begin + length)
        ;
    return cpu_time() - begin;
}

static void write_messages(sem_t *lock, int pipe, int64_t last)
{
    for (int i = 0; i < MESSAGES; i++) {
        struct message message = {compute(i == MESSAGES - 1 ? last : 100000), "done"};
        sem_wait(lock);
        if (write(pipe, &message, sizeof(message)) != sizeof(message))
            _exit(1);
        sem_post(lock);
    }
    _exit(0);
}

int main(int count, char **arguments)
{
    int pipes[2];

    if (count < 3 || pipe(pipes) != 0)
        return 2;
    int writers = atoi(arguments[1]);
    sem_t *lock =
        mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (lock == MAP_FAILED || sem_init(lock, 1, 1) != 0)
        return 1;
    for (int i = 0; i < writers; i++)
        if (fork() == 0)
            write_messages(lock, pipes[1], i == 0 ? atoi(arguments[2]) * 1000000LL : 200000);
    int64_t longest = 0;
    for (int i = 0; i < writers * MESSAGES; i++) {
        struct message message;
        if (read(pipes[0], &message, sizeof(message)) != sizeof(message))
            return 1;
        longest = message.used > longest ? message.used : longest;
    }
    printf("%f\n", (double)longest / 1e6);
    return 0;
}
