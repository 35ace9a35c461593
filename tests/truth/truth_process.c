/* SPDX-License-Identifier: MIT */
/*
 * truth_process.c: processes and threads, each with its own log; what they share; random numbers.
 *
 *      process --fork--> process        the parent logs CREATEPROCESS, the child begins a log
 *              --thread_start--> thread the creator learns the thread's id before it goes on
 */
#include "truth.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared *shared;
int shared_descriptor = -1;
const char *log_folder;
const char *socket_folder;

/* splitmix64 (Steele, Lea, Flood 2014): good enough for plans, and any seed will do. */
uint64_t random_next(struct random *random)
{
    uint64_t value = random->state += 0x9e3779b97f4a7c15u;

    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

size_t random_between(struct random *random, size_t lowest, size_t highest)
{
    return lowest + (size_t)(random_next(random) % (highest - lowest + 1));
}

bool random_chance(struct random *random, unsigned percent)
{
    return random_next(random) % 100 < percent;
}

struct random scene_random(const struct scene *scene, unsigned role)
{
    struct random random = {scene->seed};

    random.state = random_next(&random) + role;
    random_next(&random);
    return random;
}

void scene_wait(struct scene *scene, unsigned signal)
{
    while (sem_wait(&scene->signals[signal]) < 0)
        if (errno != EINTR)
            truth_fail("sem_wait: %s", strerror(errno));
}

void scene_post(struct scene *scene, unsigned signal)
{
    sem_post(&scene->signals[signal]);
}

void process_begin(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    process_limit();
}

void process_limit(void)
{
    alarm(shared->seconds);
    /* A closed partner must be an error of the call, not a signal. */
    signal(SIGPIPE, SIG_IGN);
}

pid_t process_fork(void)
{
    pid_t child = fork();

    if (child < 0)
        truth_fail("fork: %s", strerror(errno));
    if (child == 0) {
        process_begin();
        journal_begin();
    } else {
        journal_print("CREATEPROCESS %d process\n", (int)child);
    }
    return child;
}

void process_end(int code)
{
    journal_end(code << 8);
    _exit(code);
}

void process_wait(pid_t child, int status)
{
    int found;

    while (waitpid(child, &found, 0) < 0)
        if (errno != EINTR)
            truth_fail("waitpid: %s", strerror(errno));
    if (found != status)
        truth_fail("process %d ended with status %d instead of %d", (int)child, found, status);
}

static void *thread_main(void *argument)
{
    struct thread *thread = argument;

    journal_begin();
    thread->tid = journal.tid;
    sem_post(&thread->started);
    thread->run(thread->argument);
    journal_end(0);
    return NULL;
}

void thread_start(struct thread *thread, void (*run)(void *), void *argument)
{
    memset(thread, 0, sizeof(*thread));
    thread->run = run;
    thread->argument = argument;
    sem_init(&thread->started, 0, 0);
    int error = pthread_create(&thread->handle, NULL, thread_main, thread);
    if (error != 0)
        truth_fail("pthread_create: %s", strerror(error));
    while (sem_wait(&thread->started) < 0)
        ;
    journal_print("CREATEPROCESS %" PRIu32 " thread\n", thread->tid);
}

void thread_join(struct thread *thread)
{
    pthread_join(thread->handle, NULL);
    sem_destroy(&thread->started);
}
