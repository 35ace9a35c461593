/* SPDX-License-Identifier: MIT */
/*
 * measure.c: runs a command and measures its time and memory.
 *
 *      measure FILE COMMAND...    writes "SECONDS KIBIBYTES CPU_SECONDS" to FILE; exits as COMMAND does
 *
 * The memory is anonymous memory (RssAnon of /proc/PID/status: no file pages), the maximum of samples taken every
 * millisecond.
 */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_EACH 1000000 /* ns */

static unsigned long anonymous_memory(const char *status)
{
    FILE *file = fopen(status, "re");
    unsigned long kibibytes = 0;
    char line[256];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "RssAnon: %lu kB", &kibibytes) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kibibytes;
}

/* Waits until the process has ended. Returns the maximum of its memory. */
static unsigned long watch(pid_t process, int *ret_status)
{
    const struct timespec pause = {.tv_nsec = LOOK_EACH};
    unsigned long most = 0;
    char status[64];

    snprintf(status, sizeof(status), "/proc/%d/status", (int)process);
    while (waitpid(process, ret_status, WNOHANG) == 0) {
        unsigned long now = anonymous_memory(status);
        most = now > most ? now : most;
        nanosleep(&pause, NULL);
    }
    return most;
}

/* Of the command, which has ended. */
static double processor_time(void)
{
    struct rusage usage = {0};

    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    int status = 0;

    if (argc < 3) {
        fprintf(stderr, "usage: measure FILE COMMAND...\n");
        return 2;
    }
    FILE *result = fopen(argv[1], "we");
    if (result == NULL) {
        fprintf(stderr, "measure: %s: %s\n", argv[1], strerror(errno));
        return EXIT_FAILURE;
    }
    uint64_t begin = clock_now(CLOCK_MONOTONIC);
    pid_t process = fork();
    if (process == 0) {
        execvp(argv[2], argv + 2);
        fprintf(stderr, "measure: %s: %s\n", argv[2], strerror(errno));
        _exit(127);
    }
    unsigned long most = process < 0 ? 0 : watch(process, &status);
    double seconds = (double)(clock_now(CLOCK_MONOTONIC) - begin) / 1e9;
    if (process < 0 || fprintf(result, "%.6f %lu %.6f\n", seconds, most, processor_time()) < 0 ||
        fclose(result) != 0) {
        fprintf(stderr, "measure: %s: %s\n", argv[1], strerror(errno));
        return EXIT_FAILURE;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
