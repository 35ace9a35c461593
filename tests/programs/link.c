/* SPDX-License-Identifier: MIT */
/*
 * link.c: a slow cable between two hosts (network namespaces), for scripts/hosts. Each packet that is routed into the
 * device at one end comes out of the one at the other end, in order, a fixed time later.
 *
 *      link [--time 25ms] [--loss PERCENT] [--rate MBIT] [--seed N] [--keeper PID] PID DEVICE PID DEVICE
 *
 *      one host           | link                                        | the other
 *      route --> DEVICE --> read --> queue: until sent, and TIME longer --> write --> DEVICE
 *
 * With a rate, a packet waits until those before it are sent; where it would wait longer than LONGEST_WAIT it is dropped,
 * as a router does. Prints "ready" when both devices exist. They vanish with this process, which ends with PID of
 * --keeper, and with either host.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND       1000000000ULL
#define LONGEST_WAIT (SECOND / 10) /* for earlier packets, with --rate */
#define PACKET_MOST  2048          /* bytes; the devices' MTU is 1500 */
#define QUEUE        16384         /* packets on their way in one direction: a power of two */
#define AT_ONCE      64            /* packets read before others are looked after */

struct packet {
    uint64_t due;
    uint32_t length;
    uint8_t bytes[PACKET_MOST];
};

struct direction {
    int from;
    int to;
    uint64_t sent; /* when the last packet will have left the sender */
    uint32_t first;
    uint32_t count;
    struct packet *packets;
};

struct options {
    uint64_t time; /* ns */
    double loss;   /* of 1 */
    double rate;   /* bits in a ns; 0: no limit */
    uint64_t seed;
    int keeper; /* pidfd; -1: none */
};

static void fail(const char *what)
{
    fprintf(stderr, "link: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void fail_usage(void)
{
    fprintf(stderr, "usage: link [--time 25ms] [--loss PERCENT] [--rate MBIT] [--seed N] "
                    "[--keeper PID] PID DEVICE PID DEVICE\n");
    exit(2);
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* A number from 0 on, below 1. */
static double draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*seed >> 11) / (double)(1ULL << 53);
}

/* ---- devices ---- */

/* The device in the network of a process. Changes ours. */
static int make_device(const char *pid, const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
    int network = open(path, O_RDONLY | O_CLOEXEC);
    if (network < 0 || setns(network, CLONE_NEWNET) < 0)
        fail(path);
    close(network);
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    if (device < 0 || ioctl(device, TUNSETIFF, &request) < 0)
        fail("/dev/net/tun");
    return device;
}

/* ---- packets ---- */

/* When a packet that comes now will have left its sender; 0: it is dropped. */
static uint64_t leaves(const struct options *options, const struct direction *direction,
                       uint32_t length, uint64_t time)
{
    if (options->rate == 0)
        return time;
    uint64_t begins = direction->sent > time ? direction->sent : time;
    return begins - time > LONGEST_WAIT ? 0 : begins + (uint64_t)(length * 8 / options->rate);
}

/* Returns false if there is none. */
static bool take(struct options *options, struct direction *direction)
{
    struct packet *packet =
        &direction->packets[(direction->first + direction->count) & (QUEUE - 1)];
    ssize_t length = read(direction->from, packet->bytes, sizeof(packet->bytes));

    if (length < 0 && (errno == EAGAIN || errno == EINTR || errno == EIO))
        return false; /* EIO: the device is not up yet */
    if (length <= 0)
        exit(EXIT_SUCCESS); /* the host has ended, and its devices */
    uint64_t left = leaves(options, direction, (uint32_t)length, now());
    if (left == 0)
        return true;
    direction->sent = left;
    if (options->loss > 0 && draw(&options->seed) < options->loss)
        return true;
    packet->length = (uint32_t)length;
    packet->due = left + options->time;
    direction->count++;
    return true;
}

/* A full queue leaves packets in the device, which drops those that find no room there. */
static void take_all(struct options *options, struct direction *direction)
{
    for (unsigned i = 0; i < AT_ONCE && direction->count < QUEUE && take(options, direction); i++)
        continue;
}

/* Delivers what is due. */
static void deliver(struct direction *direction)
{
    while (direction->count > 0) {
        const struct packet *packet = &direction->packets[direction->first];
        if (packet->due > now())
            return;
        if (write(direction->to, packet->bytes, packet->length) < 0 && errno == EBADFD)
            exit(EXIT_SUCCESS);
        direction->first = (direction->first + 1) & (QUEUE - 1);
        direction->count--;
    }
}

/* ---- the loop ---- */

static void wait_for_packets(const struct options *options, const struct direction directions[2])
{
    struct pollfd files[3] = {{.fd = options->keeper, .events = POLLIN}};
    uint64_t next = UINT64_MAX, time = now();

    for (unsigned i = 0; i < 2; i++) {
        const struct direction *direction = &directions[i];
        files[i + 1] = (struct pollfd){.fd = direction->count < QUEUE ? direction->from : -1,
                                       .events = POLLIN};
        if (direction->count > 0 && direction->packets[direction->first].due < next)
            next = direction->packets[direction->first].due;
    }
    uint64_t left = next > time ? next - time : 0;
    struct timespec timeout = {(time_t)(left / SECOND), (long)(left % SECOND)};
    if (ppoll(files, 3, next == UINT64_MAX ? NULL : &timeout, NULL) < 0 && errno != EINTR)
        fail("poll");
    if (files[0].revents != 0)
        exit(EXIT_SUCCESS);
}

/* ---- options ---- */

static uint64_t time_of(const char *text)
{
    static const struct {
        const char *name;
        double length;
    } units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    double value = strtod(text, &end);

    for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (end != text && strcmp(end, units[i].name) == 0 && value >= 0 &&
            value * units[i].length <= 60e9)
            return (uint64_t)(value * units[i].length);
    fprintf(stderr, "link: '%s': give a time of at most a minute, e.g. 300us, 25ms or 1s\n", text);
    exit(2);
}

static double number_of(const char *text, double most)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value >= 0 && value <= most)) {
        fprintf(stderr, "link: '%s': give a number from 0 to %g\n", text, most);
        exit(2);
    }
    return value;
}

static void read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"time", required_argument, NULL, 't'},   {"loss", required_argument, NULL, 'l'},
        {"rate", required_argument, NULL, 'r'},   {"seed", required_argument, NULL, 's'},
        {"keeper", required_argument, NULL, 'k'}, {0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
        switch (option) {
        case 't':
            options->time = time_of(optarg);
            break;
        case 'l':
            options->loss = number_of(optarg, 100) / 100;
            break;
        case 'r':
            options->rate = number_of(optarg, 1e6) / 1e3;
            break;
        case 's':
            options->seed = strtoull(optarg, NULL, 10);
            break;
        case 'k':
            options->keeper = (int)syscall(SYS_pidfd_open, atoi(optarg), 0);
            if (options->keeper < 0)
                fail("--keeper");
            break;
        default:
            fail_usage();
        }
    if (argc - optind != 4)
        fail_usage();
}

int main(int argc, char **argv)
{
    struct options options = {.seed = now(), .keeper = -1};
    struct direction directions[2];

    read_options(argc, argv, &options);
    prctl(PR_SET_TIMERSLACK, 1UL);
    int one = make_device(argv[optind], argv[optind + 1]);
    int other = make_device(argv[optind + 2], argv[optind + 3]);
    directions[0] = (struct direction){.from = one, .to = other};
    directions[1] = (struct direction){.from = other, .to = one};
    for (unsigned i = 0; i < 2; i++)
        if ((directions[i].packets = calloc(QUEUE, sizeof(struct packet))) == NULL)
            fail("packets");
    printf("ready, seed %" PRIu64 "\n", options.seed);
    fflush(stdout);
    for (;;) {
        wait_for_packets(&options, directions);
        for (unsigned i = 0; i < 2; i++) {
            take_all(&options, &directions[i]);
            deliver(&directions[i]);
        }
    }
}
