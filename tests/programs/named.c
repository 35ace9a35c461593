/* SPDX-License-Identifier: MIT */
/*
 * named.c: named GO SECONDS ARGUMENT...: threads and a process get names, and send so many messages under each:
 *
 *      3   "worker-1", a thread that renames itself
 *      5   "worker-2", a thread that the main thread renames
 *      7   "boss", the main thread
 *      2   "boss", a child of it that executes nothing
 *
 * Then, unless SECONDS is 0, it waits for the file GO ("-": it does not), writes the title "named: at work" over its
 * arguments, and ends so many seconds later.
 */
#include <err.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t ready, renamed;

static void talk(unsigned count)
{
    int ends[2];
    char byte;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        err(1, "socketpair");
    for (unsigned i = 0; i < count; i++)
        if (send(ends[0], "x", 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
            err(1, "send");
    close(ends[0]);
    close(ends[1]);
}

static void *renames_itself(void *unused)
{
    pthread_setname_np(pthread_self(), "worker-1");
    talk(3);
    return unused;
}

static void *is_renamed(void *unused)
{
    sem_post(&ready);
    sem_wait(&renamed);
    talk(5);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

    sem_init(&ready, 0, 0);
    sem_init(&renamed, 0, 0);
    pthread_create(&thread, NULL, renames_itself, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, is_renamed, NULL);
    sem_wait(&ready);
    pthread_setname_np(thread, "worker-2");
    sem_post(&renamed);
    pthread_join(thread, NULL);
    prctl(PR_SET_NAME, "boss");
    talk(7);
    pid_t child = fork();
    if (child == 0) {
        talk(2);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    if (seconds == 0)
        return 0;
    while (strcmp(argv[1], "-") != 0 && access(argv[1], F_OK) < 0)
        usleep(1000);
    size_t room = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
    memset(argv[0], 0, room);
    strncpy(argv[0], "named: at work", room);
    sleep(seconds);
    return 0;
}
