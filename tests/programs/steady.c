/* SPDX-License-Identifier: MIT */
/*
 * steady.c: sends messages at a steady rate, to be metered while something fails.
 *
 *      usage: steady RATE SECONDS     child -- UNIX stream socket, RATE messages of 64 bytes a second --> parent
 *
 * Says how many it sent: "sent N" when the parent has received all of them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PAUSE 5000000 /* ns, between bursts */
#define SIZE  64

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* What is late is not made up for: the rate is a bound. */
static void send_all(int file, double rate, double seconds)
{
    const struct timespec pause = {.tv_nsec = PAUSE};
    const double begin = now();
    const long burst = (long)(rate * PAUSE * 1e-9);
    static const char message[SIZE];

    while (now() - begin < seconds) {
        for (long i = 0; i < burst; i++)
            if (send(file, message, SIZE, 0) != SIZE)
                exit(EXIT_FAILURE);
        nanosleep(&pause, NULL);
    }
}

int main(int count, char **words)
{
    int ends[2];
    static char buffer[SIZE];
    long bytes = 0;
    ssize_t got;

    if (count != 3 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return EXIT_FAILURE;
    pid_t child = fork();
    if (child < 0)
        return EXIT_FAILURE;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        send_all(ends[1], atof(words[1]), atof(words[2]));
        return EXIT_SUCCESS;
    }
    close(ends[1]);
    while ((got = recv(ends[0], buffer, SIZE, 0)) > 0)
        bytes += got;
    printf("sent %ld\n", bytes / SIZE);
    return EXIT_SUCCESS;
}
