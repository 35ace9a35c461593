/* SPDX-License-Identifier: MIT */
/*
 * calibrate_messages.c: sends, echoes and times the messages of `dpm calibrate`. See calibrate.h.
 *
 *      on the wire:  "DPMC" | n | how many | message, echoed | message, echoed ...
 */
#include "calibrate/calibrate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define MAGIC      0x44504d43u /* "DPMC" */
#define TURNS_MOST 10000u

/* Seconds for one peer, because others are waiting: more than the longest --time takes for all lengths. A peer that
 * takes longer is dropped. */
#define PEER_MOST 600

const uint32_t calibrate_sizes[CALIBRATE_SIZES] = {1, 10, 100, 1000, 10000, 100000};

struct header {
    uint32_t magic, size, turns; /* big-endian */
};

/* ---- messages ---- */

volatile sig_atomic_t calibrate_interrupted;

static uint64_t seconds_from_now(unsigned seconds)
{
    return clock_now(CLOCK_MONOTONIC) + seconds * 1000000000ULL;
}

/* Whether to continue with a message that is incomplete. Most messages are complete at once and cost no look at the
 * clock. *until is 0 at first. */
static int go_on(uint64_t *until)
{
    if (calibrate_interrupted)
        return -EINTR;
    if (*until == 0)
        *until = seconds_from_now(CALIBRATE_PATIENCE);
    return clock_now(CLOCK_MONOTONIC) < *until ? 0 : -ETIMEDOUT;
}

/* What a failed call means; 0: try again. A socket's own timeout ends with EAGAIN. */
static int call_failed(void)
{
    if (errno == EINTR && !calibrate_interrupted)
        return 0;
    return errno == EAGAIN ? -ETIMEDOUT : -errno;
}

static int send_all(int file, const char *data, size_t size)
{
    uint64_t until = 0;
    int result = 0;

    while (size > 0 && result == 0) {
        ssize_t sent = write(file, data, size);
        if (sent < 0) {
            result = call_failed();
            continue;
        }
        data += sent;
        size -= (size_t)sent;
        if (size > 0)
            result = go_on(&until);
    }
    return result;
}

/* Returns 0; 1 if the other side closed before the first byte; or a negative errno. */
static int receive_all(int file, char *data, size_t size)
{
    uint64_t until = 0;
    size_t left = size;
    int result = 0;

    while (left > 0 && result == 0) {
        ssize_t received = read(file, data, left);
        if (received < 0) {
            result = call_failed();
            continue;
        }
        if (received == 0)
            return left == size ? 1 : -ECONNRESET;
        data += received;
        left -= (size_t)received;
        if (left > 0)
            result = go_on(&until);
    }
    return result;
}

static int echo_one(struct link link, char *buffer, uint32_t size)
{
    int result = receive_all(link.in, buffer, size);

    return result != 0 ? result : send_all(link.out, buffer, size);
}

int calibrate_echo(struct link link, char *buffer)
{
    uint64_t until = seconds_from_now(PEER_MOST);
    struct header header;
    int result;

    while ((result = receive_all(link.in, (char *)&header, sizeof(header))) == 0) {
        uint32_t size = ntohl(header.size), turns = ntohl(header.turns);
        if (ntohl(header.magic) != MAGIC || size == 0 || size > CALIBRATE_SIZE_MOST ||
            turns > TURNS_MOST)
            return -EPROTO;
        for (uint32_t i = 0; i < turns && result == 0; i++) {
            result = echo_one(link, buffer, size);
            if (result == 0)
                result = go_on(&until);
        }
        if (result != 0)
            break;
    }
    return result;
}

/* ---- measuring ---- */

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

static int ask(struct link link, uint32_t size, uint32_t turns)
{
    const struct header header = {htonl(MAGIC), htonl(size), htonl(turns)};

    return send_all(link.out, (const char *)&header, sizeof(header));
}

/* Stores the round-trip time in ns of each message. */
static int take_turns(struct link link, char *buffer, uint32_t size, uint32_t turns,
                      uint64_t *times)
{
    int result = ask(link, size, turns);

    for (uint32_t i = 0; result == 0 && i < turns; i++) {
        uint64_t begin = clock_now(CLOCK_MONOTONIC);
        result = send_all(link.out, buffer, size);
        if (result == 0)
            result = receive_all(link.in, buffer, size);
        if (result > 0)
            result = -ECONNRESET;
        times[i] = clock_now(CLOCK_MONOTONIC) - begin;
    }
    return result;
}

#define WARM_UP   20u
#define CPU_TURNS 1000u
#define CPU_SIZE  100u

static uint64_t cpu_now(void)
{
    return clock_now(CLOCK_THREAD_CPUTIME_ID);
}

/* What reading the clock adds to each of the times below. */
static uint64_t clock_cost(uint64_t *times)
{
    for (uint32_t i = 0; i < CPU_TURNS; i++) {
        uint64_t begin = cpu_now();
        times[i] = cpu_now() - begin;
    }
    qsort(times, CPU_TURNS, sizeof(*times), by_value);
    return times[CPU_TURNS / 2];
}

static uint64_t median_above(uint64_t *times, uint32_t count, uint64_t clock)
{
    qsort(times, count, sizeof(*times), by_value);
    return times[count / 2] > clock ? times[count / 2] - clock : 0;
}

/* At most CPU_TURNS turns; `times` has space for twice as many. */
static int measure_cpu(struct link link, char *buffer, uint32_t turns, uint64_t *times,
                       struct calibrate_cpu *cpu)
{
    uint64_t *sends = times, *receives = times + CPU_TURNS, clock = clock_cost(times);
    int result = ask(link, CPU_SIZE, turns);

    for (uint32_t i = 0; result == 0 && i < turns; i++) {
        uint64_t begin = cpu_now();
        result = send_all(link.out, buffer, CPU_SIZE);
        uint64_t sent = cpu_now();
        if (result == 0)
            result = receive_all(link.in, buffer, CPU_SIZE);
        if (result > 0)
            result = -ECONNRESET;
        sends[i] = sent - begin;
        receives[i] = cpu_now() - sent;
    }
    if (result == 0)
        *cpu = (struct calibrate_cpu){median_above(sends, turns, clock),
                                      median_above(receives, turns, clock)};
    return result;
}

/* As many turns as take this time: so that a slow network takes no longer than a fast one. */
static uint32_t turns_within(uint64_t time, uint64_t turn, uint32_t most)
{
    uint64_t turns = time / (turn + 1);

    return turns < WARM_UP ? WARM_UP : turns > most ? most : (uint32_t)turns;
}

int calibrate_measure(struct link link, uint64_t time, uint64_t medians[CALIBRATE_SIZES],
                      struct calibrate_cpu *cpu)
{
    uint64_t *times = calloc(TURNS_MOST, sizeof(*times));
    char *buffer = calloc(1, CALIBRATE_SIZE_MOST);
    int result = times == NULL || buffer == NULL ? -ENOMEM : 0;

    for (size_t i = 0; i < CALIBRATE_SIZES && result == 0; i++) {
        result = take_turns(link, buffer, calibrate_sizes[i], WARM_UP, times);
        if (result < 0)
            break;
        qsort(times, WARM_UP, sizeof(*times), by_value);
        uint32_t turns = turns_within(time, times[WARM_UP / 2], TURNS_MOST);
        result = take_turns(link, buffer, calibrate_sizes[i], turns, times);
        qsort(times, turns, sizeof(*times), by_value);
        medians[i] = times[turns / 2] / 2;
    }
    if (cpu != NULL && result == 0)
        result =
            measure_cpu(link, buffer, turns_within(time, 2 * medians[0], CPU_TURNS), times, cpu);
    free(times);
    free(buffer);
    return result;
}
