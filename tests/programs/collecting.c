/* SPDX-License-Identifier: MIT */
/*
 * collecting.c: `collecting LIBRARY COUNT [wait]`: loads the library (collected.c) as java loads libjvm.so, with dlopen, and
 * "collects" COUNT times in a thread, and as often in a child that it forks. With `wait`, it first waits until the probes
 * are in force, a minute at most. Prints how often it collected, and how many ns of CPU time each of the four reports of a
 * collection took the thread.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void (*collect)(int);
static int count;

static long cpu_time;

static long thread_time(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void *run(void *unused)
{
    long begin = thread_time();

    for (int i = 0; i < count; i++)
        collect(i % 2);
    cpu_time = thread_time() - begin;
    return unused;
}

static int wait_for_probes(int (*is_probed)(void))
{
    for (int i = 0; i < 6000 && !is_probed(); i++)
        usleep(10000);
    return is_probed() ? 0 : -1;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *library = argc < 3 ? NULL : dlopen(argv[1], RTLD_NOW);

    if (library == NULL)
        return 2;
    count = atoi(argv[2]);
    *(void **)&collect = dlsym(library, "collect");
    int (*is_probed)(void);
    *(void **)&is_probed = dlsym(library, "is_probed");
    if (argc > 3 && strcmp(argv[3], "wait") == 0 && wait_for_probes(is_probed) < 0)
        return 3;
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        return 4;
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) {
        run(NULL);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    printf("%d\n", 2 * count);
    fprintf(stderr, "%ld ns\n", cpu_time / count / 4);
    return status;
}
