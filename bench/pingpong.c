/* SPDX-License-Identifier: MIT */
/*
 * pingpong.c: two processes pass one message back and forth, pinned to one CPU: the cost of a round trip (two sends,
 * two receives, two switches) without the noise of two CPUs. `lock`: instead of a message, each wakes the other with a
 * shared semaphore. `file`: one process writes the message to a file and reads it again, and the other does nothing.
 *
 *      pingpong tcp|udp|unix|pipe|lock|file ROUNDS SECONDS [GATE]
 *
 * prints three figures: nanoseconds per round trip, CPU time of both processes per round trip in nanoseconds, and the
 * number of round trips. It ends after ROUNDS or after SECONDS, whichever comes first. A tenth as many warm-up rounds
 * come first; only the first figure excludes them. With GATE, a file name, both processes wait until that file exists:
 * time to attach a tool to them.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE 64
#define LOOK    16 /* round trips between two checks of the clock */

/* What a player receives from and sends to: one socket, the ends of two pipes, semaphores, or a file. */
struct player {
    int from;
    int to;
    bool is_pipe;
    bool is_file;       /* `from`; when `to` is closed, the other one ends */
    struct turn *waits; /* NULL: there are messages */
    struct turn *lets_go;
};

/* Shared by both. */
struct turn {
    sem_t may_go;
    bool is_over;
};

static int tcp_pair(int pair[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&address, length) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (void *)&address, &length) < 0 ||
        connect(pair[0], (void *)&address, length) < 0 ||
        (pair[1] = accept(listener, NULL, NULL)) < 0)
        return -1;
    close(listener);
    setsockopt(pair[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(pair[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return 0;
}

static int udp_pair(int pair[2])
{
    struct sockaddr_in address[2] = {{.sin_family = AF_INET}, {.sin_family = AF_INET}};
    socklen_t length = sizeof(address[0]);

    for (int i = 0; i < 2; i++) {
        address[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        pair[i] = socket(AF_INET, SOCK_DGRAM, 0);
        if (bind(pair[i], (void *)&address[i], length) < 0 ||
            getsockname(pair[i], (void *)&address[i], &length) < 0)
            return -1;
    }
    return connect(pair[0], (void *)&address[1], length) < 0 ||
                   connect(pair[1], (void *)&address[0], length) < 0
               ? -1
               : 0;
}

static int unix_pair(int pair[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

static const struct {
    const char *name;
    int (*make)(int pair[2]);
} kinds[] = {{"tcp", tcp_pair}, {"udp", udp_pair}, {"unix", unix_pair}};

static int make_turns(struct player players[2])
{
    struct turn *turns =
        mmap(NULL, 2 * sizeof(*turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (turns == MAP_FAILED || sem_init(&turns[0].may_go, 1, 0) < 0 ||
        sem_init(&turns[1].may_go, 1, 0) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        players[i] = (struct player){-1, -1, false, &turns[i], &turns[1 - i]};
    return 0;
}

static int make_players(const char *name, struct player players[2])
{
    int pair[2], there[2], back[2];

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(name, kinds[i].name) != 0)
            continue;
        if (kinds[i].make(pair) < 0)
            return -1;
        players[0] = (struct player){.from = pair[0], .to = pair[0]};
        players[1] = (struct player){.from = pair[1], .to = pair[1]};
        return 0;
    }
    if (strcmp(name, "lock") == 0)
        return make_turns(players);
    if (strcmp(name, "file") == 0) {
        int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
        if (file < 0 || pipe(there) < 0)
            return -1;
        players[0] = (struct player){.from = file, .to = there[1], .is_file = true};
        players[1] = (struct player){.from = there[0], .to = there[0], .is_pipe = true};
        return 0;
    }
    if (strcmp(name, "pipe") != 0 || pipe(there) < 0 || pipe(back) < 0)
        return -1;
    players[0] = (struct player){.from = back[0], .to = there[1], .is_pipe = true};
    players[1] = (struct player){.from = there[0], .to = back[1], .is_pipe = true};
    return 0;
}

static void leave(const struct player *player)
{
    if (player->waits != NULL)
        return;
    close(player->from);
    if (player->to != player->from)
        close(player->to);
}

static ssize_t give(const struct player *player, const void *message, size_t size)
{
    if (player->lets_go != NULL) {
        player->lets_go->is_over = size == 0;
        sem_post(&player->lets_go->may_go);
        return (ssize_t)size;
    }
    if (player->is_file)
        return pwrite(player->from, message, size, 0);
    return player->is_pipe ? write(player->to, message, size) : send(player->to, message, size, 0);
}

static ssize_t take(const struct player *player, void *message, size_t size, int flags)
{
    if (player->waits != NULL) {
        while (sem_wait(&player->waits->may_go) != 0)
            ;
        return player->waits->is_over ? 0 : (ssize_t)size;
    }
    if (player->is_file)
        return pread(player->from, message, size, 0);
    return player->is_pipe ? read(player->from, message, size)
                           : recv(player->from, message, size, flags);
}

static void serve(const struct player *player)
{
    char message[MESSAGE];
    ssize_t got;

    while ((got = take(player, message, sizeof(message), 0)) > 0)
        if (give(player, message, (size_t)got) != got)
            break;
}

static double now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* CPU time of the children that were waited for, in nanoseconds. */
static double cpu_time_of_children(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

/* Returns the number of round trips, or -1. */
static long play(const struct player *player, long rounds, double seconds)
{
    char message[MESSAGE] = "";
    double end = now(CLOCK_MONOTONIC) + seconds * 1e9;
    long i;

    for (i = 0; i < rounds && (i % LOOK != 0 || now(CLOCK_MONOTONIC) < end); i++)
        if (give(player, message, sizeof(message)) != sizeof(message) ||
            take(player, message, sizeof(message), MSG_WAITALL) != sizeof(message))
            return -1;
    return i;
}

/* Warms up, plays, waits for the other process to end, and prints the figures. */
static int measure(const struct player *player, long rounds, double seconds)
{
    double cpu_time = now(CLOCK_PROCESS_CPUTIME_ID);
    long warm = play(player, rounds / 10, seconds / 10);
    double begin = now(CLOCK_MONOTONIC);
    long timed = play(player, rounds, seconds);
    double end = now(CLOCK_MONOTONIC);

    if (warm < 0 || timed <= 0)
        return -1;
    cpu_time = now(CLOCK_PROCESS_CPUTIME_ID) - cpu_time;
    give(player, "", 0); /* ends a datagram peer */
    leave(player);
    wait(NULL);
    cpu_time += cpu_time_of_children();
    printf("%.1f %.1f %ld\n", (end - begin) / (double)timed, cpu_time / (double)(warm + timed),
           warm + timed);
    return 0;
}

int main(int argc, char **argv)
{
    cpu_set_t cpu;
    struct player players[2];

    if (argc < 4 || make_players(argv[1], players) < 0) {
        fprintf(stderr, "usage: pingpong tcp|udp|unix|pipe|lock|file ROUNDS SECONDS [GATE]\n");
        return 2;
    }
    CPU_ZERO(&cpu);
    CPU_SET(0, &cpu);
    sched_setaffinity(0, sizeof(cpu), &cpu);
    pid_t other = fork();

    alarm(120);
    if (other == 0) {
        leave(&players[0]);
        serve(&players[1]);
        _exit(0);
    }
    leave(&players[1]);
    for (int i = 0; argc > 4 && i < 10000 && access(argv[4], F_OK) < 0; i++)
        usleep(10000);
    return measure(&players[0], atol(argv[2]), atof(argv[3])) < 0;
}
