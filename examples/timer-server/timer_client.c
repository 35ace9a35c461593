/* SPDX-License-Identifier: MIT */
/*
 * timer_client.c: asks the timer server, which starts it with the connection as standard input.
 *
 *     sleep ──► request ──► work ──► wait for the answer, which must be the same bytes ──► again
 *
 * It works in parallel with the server if each has a processor.
 */
#include "work.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int ask(uint64_t number, unsigned long work_us)
{
    const uint64_t request[2] = {number, ~number};
    uint64_t answer[2];

    if (send(STDIN_FILENO, request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
        return -1;
    if (work_us > 0)
        work(work_us * 1000);
    if (recv(STDIN_FILENO, answer, sizeof(answer), MSG_WAITALL) != sizeof(answer) ||
        memcmp(request, answer, sizeof(request)) != 0)
        return -1;
    return 0;
}

int main(int argument_count, char **arguments)
{
    if (argument_count != 4) {
        fprintf(stderr, "timer-client: is started by timer-server\n");
        return 2;
    }
    const unsigned long requests = strtoul(arguments[1], NULL, 10);
    const unsigned long think_us = strtoul(arguments[2], NULL, 10);
    const unsigned long work_us = strtoul(arguments[3], NULL, 10);
    const struct timespec think = {.tv_sec = (time_t)(think_us / 1000000),
                                   .tv_nsec = (long)(think_us % 1000000) * 1000};
    for (unsigned long number = 0; number < requests; number++) {
        if (think_us)
            nanosleep(&think, NULL);
        if (ask(number, work_us) < 0) {
            fprintf(stderr, "timer-client: request %lu was not answered\n", number);
            return 1;
        }
    }
    return 0;
}
