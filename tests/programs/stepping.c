/* SPDX-License-Identifier: MIT */
/*
 * stepping.c: takes steps, which sensors count, and ends: a program that may be over before it is found.
 *
 *      stepping 60 5000              60 steps, each 5000 us after the one before; 0: at once
 *      stepping 60 0 fork 4          then 4 children, which take 60 steps each
 *      stepping 60 0 exec            then it executes itself once more, for 60 steps
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int steps;    /* so far */
static volatile int lists[4]; /* the third one: ten times as many */

__attribute__((noipa)) static void step(int number)
{
    steps = number;
    lists[2] = number * 10;
    __asm__ volatile("" ::: "memory");
}

/* A sensor at its entry sees what `step` has done. */
__attribute__((noipa)) static void stepped(void)
{
    __asm__ volatile("" ::: "memory");
}

static void walk(int count, int pause)
{
    for (int i = 1; i <= count; i++) {
        step(i);
        stepped();
        if (pause > 0)
            usleep((useconds_t)pause);
    }
}

int main(int count, char **words)
{
    if (count < 3)
        return 2;
    int many = atoi(words[1]), pause = atoi(words[2]);
    int children = count > 4 && strcmp(words[3], "fork") == 0 ? atoi(words[4]) : 0;

    walk(many, pause);
    for (int i = 0; i < children; i++)
        if (fork() == 0) {
            walk(many, pause);
            return 0;
        }
    while (wait(NULL) > 0)
        ;
    if (count == 4 && strcmp(words[3], "exec") == 0)
        execl("/proc/self/exe", words[0], words[1], words[2], (char *)NULL);
    return 0;
}
