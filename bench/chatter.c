/* SPDX-License-Identifier: MIT */
/*
 * chatter.c: sends and receives messages of one byte in a loop, each thread over its own socket pair: at a given number
 * of records per second, or as fast as possible.
 *
 *      chatter SECONDS RATE THREADS    prints "RECORDS SECONDS": records made, elapsed time
 *
 *      thread --sendmmsg, 64 messages--> socket pair --recvmmsg, 64 messages--> the same thread
 *             64 SENDs                                 64 RECEIVEs
 *
 * Each call handles many messages: otherwise most of the time would be spent in calls, for few records. RATE is records
 * per second of all threads together; every millisecond the program makes the records due by then. 0: as fast as
 * possible.
 */
#include "base/base.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define SECOND       1000000000ull
#define PAUSE        1000000 /* ns */
#define UNPACED      10      /* rounds between two checks of the clock */
#define MESSAGES     64u     /* in each round */
#define THREADS_MOST 64

struct talker {
    pthread_t thread;
    int pair[2];
    uint64_t begin; /* CLOCK_MONOTONIC */
    uint64_t end;
    double rounds_per_ns; /* 0: as fast as possible */
    uint64_t rounds;      /* done */
};

static int talk_once(const struct talker *talker, struct mmsghdr messages[MESSAGES])
{
    int received = 0;

    if (sendmmsg(talker->pair[0], messages, MESSAGES, 0) != (int)MESSAGES)
        return -1;
    while (received < (int)MESSAGES) {
        int more = recvmmsg(talker->pair[1], messages, MESSAGES - (unsigned)received, 0, NULL);
        if (more <= 0)
            return -1;
        received += more;
    }
    return 0;
}

static int talk_until(struct talker *talker, uint64_t rounds)
{
    char byte = 0;
    struct iovec piece = {&byte, 1};
    struct mmsghdr messages[MESSAGES];

    for (unsigned i = 0; i < MESSAGES; i++)
        messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &piece, .msg_iovlen = 1}};
    for (; talker->rounds < rounds; talker->rounds++)
        if (talk_once(talker, messages) < 0)
            return -1;
    return 0;
}

static void *talk(void *argument)
{
    const struct timespec pause = {.tv_nsec = PAUSE};
    struct talker *talker = argument;
    bool paced = talker->rounds_per_ns != 0;
    uint64_t now;

    while ((now = clock_now(CLOCK_MONOTONIC)) < talker->end) {
        uint64_t due = paced ? (uint64_t)((double)(now - talker->begin) * talker->rounds_per_ns)
                             : talker->rounds + UNPACED;
        if (talk_until(talker, due) < 0) {
            perror("chatter");
            exit(EXIT_FAILURE);
        }
        if (paced)
            nanosleep(&pause, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct talker talkers[THREADS_MOST];
    uint64_t seconds = argc == 4 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t rate = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t threads = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    uint64_t rounds = 0;

    if (seconds == 0 || threads == 0 || threads > THREADS_MOST) {
        fprintf(stderr, "usage: chatter SECONDS RATE THREADS\n");
        return 2;
    }
    uint64_t begin = clock_now(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < threads; i++) {
        talkers[i].begin = begin;
        talkers[i].end = begin + seconds * SECOND;
        talkers[i].rounds_per_ns = (double)rate / (2 * MESSAGES) / (double)threads / (double)SECOND;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, talkers[i].pair) < 0 ||
            pthread_create(&talkers[i].thread, NULL, talk, &talkers[i]) != 0) {
            perror("chatter");
            return EXIT_FAILURE;
        }
    }
    for (uint64_t i = 0; i < threads; i++) {
        pthread_join(talkers[i].thread, NULL);
        rounds += talkers[i].rounds;
    }
    printf("%" PRIu64 " %.6f\n", 2 * MESSAGES * rounds,
           (double)(clock_now(CLOCK_MONOTONIC) - begin) / (double)SECOND);
    return EXIT_SUCCESS;
}
