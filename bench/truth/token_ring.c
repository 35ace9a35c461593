/* SPDX-License-Identifier: MIT */
/*
 * token_ring.c: three processes pass two tokens round, which each makes it compute; the first also sleeps. Each keeps a log of its
 * own: how much CPU time it had used when it received, sent and slept. token_ring.py finds P and t_max in these logs.
 *
 *      ring ROUNDS SLEEP-MS
 *
 *      0 R 1200345        process 0 has received, at 1.2 ms of its CPU time
 *      0 Z 6200345 10     has slept for 10 ms
 *      0 S 6200345        has sent
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 3
#define TOKENS    2
#define MS        1000000ll

static struct {
    char what;
    int64_t cpu;
} events[100000];
static unsigned count;

static int64_t cpu_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000 * MS + now.tv_nsec;
}

static void note(char what)
{
    events[count].what = what;
    events[count++].cpu = cpu_time();
}

static void compute(int64_t ns)
{
    for (int64_t end = cpu_time() + ns; cpu_time() < end;)
        ;
}

static void work(int index, int in, int out, int rounds, int sleep_ms)
{
    const struct timespec nap = {0, sleep_ms * MS};
    char token = 0;

    for (int i = 0; index == 0 && i < TOKENS; i++) {
        note('S');
        if (write(out, &token, 1) != 1)
            exit(1);
    }
    for (int i = 0; i < rounds * TOKENS; i++) {
        if (read(in, &token, 1) != 1)
            exit(1);
        note('R');
        compute((3 + (index + i) % 4) * MS);
        if (index == 0 && sleep_ms > 0 && i % TOKENS == 0) {
            nanosleep(&nap, NULL);
            note('Z');
        }
        if (index != 0 || i + TOKENS < rounds * TOKENS) {
            note('S');
            if (write(out, &token, 1) != 1)
                exit(1);
        }
    }
    note('E');
}

static void print(int index, int sleep_ms)
{
    for (unsigned i = 0; i < count; i++)
        printf("%d %c %lld %d\n", index, events[i].what, (long long)events[i].cpu,
               events[i].what == 'Z' ? sleep_ms : 0);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 40, sleep_ms = argc > 2 ? atoi(argv[2]) : 10;
    int pipes[PROCESSES][2], done;
    pid_t children[PROCESSES];

    for (int i = 0; i < PROCESSES; i++)
        if (pipe(pipes[i]) < 0)
            return 1;
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] < 0)
            return 1;
        if (children[i] == 0) {
            work(i, pipes[(i + PROCESSES - 1) % PROCESSES][0], pipes[i][1], rounds, sleep_ms);
            print(i, sleep_ms);
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++)
        waitpid(children[i], &done, 0);
    return 0;
}
