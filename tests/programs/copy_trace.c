/* SPDX-License-Identifier: MIT */
/*
 * copy_trace.c: copies a trace packet by packet while it grows, as it would be sent to another machine.
 *
 *      copy-trace TRACE COPY [drop=N] [stop=N] [each=MS] [first=N]
 *
 *      drop=N  the packet of data with this number is not copied
 *      stop=N  ends after so many packets; the next call goes on
 *      each=MS waits so long before each packet; first=N: not before these. It says how long the longest wait became.
 *
 * It waits for the trace to begin, and for its end.
 */
#include "trace/packets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void stop(int result, const struct problem *problem)
{
    if (result >= 0)
        return;
    fprintf(stderr, "copy-trace: %s\n", problem->text);
    exit(1);
}

static void pause_for(uint64_t milliseconds)
{
    const struct timespec time = {.tv_sec = (time_t)(milliseconds / 1000),
                                  .tv_nsec = (long)(milliseconds % 1000) * 1000000};

    nanosleep(&time, NULL);
}

static void pause_a_moment(void)
{
    pause_for(20);
}

/* Before a packet. Returns how long it is since the one before, in ns. */
static uint64_t wait_between(uint64_t each, uint64_t *first, uint64_t *last)
{
    if (*first > 0)
        (*first)--;
    else
        pause_for(each);
    uint64_t now = clock_now(CLOCK_MONOTONIC), passed = *last == 0 ? 0 : now - *last;
    *last = now;
    return passed;
}

static uint64_t option(int argc, char **argv, const char *name)
{
    for (int i = 3; i < argc; i++)
        if (strncmp(argv[i], name, strlen(name)) == 0)
            return strtoull(argv[i] + strlen(name), NULL, 10);
    return UINT64_MAX;
}

static struct trace_copy *open_copy(struct trace_packets *packets, const char *path)
{
    struct trace_copy *copy;
    struct trace_packet metadata;
    struct problem problem;

    stop(trace_packets_next(packets, &metadata, &problem), &problem);
    stop(trace_copy_open(path, metadata.bytes, metadata.size, NULL, &copy, &problem), &problem);
    const struct trace_position positions[RING_COUNT] = {
        trace_copy_position(copy, RING_CONTROL),
        trace_copy_position(copy, RING_DATA),
    };
    trace_packets_skip_to(packets, positions);
    return copy;
}

int main(int argc, char **argv)
{
    struct trace_packets *packets;
    struct trace_packet packet;
    struct problem problem;
    int result;

    if (argc < 3)
        return 2;
    uint64_t drop = option(argc, argv, "drop="), left = option(argc, argv, "stop=");
    uint64_t each = option(argc, argv, "each="), first = option(argc, argv, "first=");
    uint64_t last = 0, longest = 0;
    bool waits = each != UINT64_MAX;
    for (int i = 0; (result = trace_packets_open(argv[1], &packets, &problem)) < 0 && i < 500; i++)
        pause_a_moment();
    stop(result, &problem);
    struct trace_copy *copy = open_copy(packets, argv[2]);
    while (left > 0 && (result = trace_packets_next(packets, &packet, &problem)) > 0) {
        if (result == TRACE_PACKETS_NONE_YET) {
            pause_a_moment();
        } else if (packet.is_metadata) {
            stop(trace_copy_metadata(copy, packet.bytes, packet.size, &problem), &problem);
        } else if (packet.ring != RING_DATA || packet.number != drop) {
            uint64_t passed = waits ? wait_between(each, &first, &last) : 0;
            longest = passed > longest ? passed : longest;
            stop(
                trace_copy_add(copy, packet.ring, packet.file, packet.bytes, packet.size, &problem),
                &problem);
            left--;
        }
    }
    stop(result, &problem);
    printf("%llu packets\n", (unsigned long long)trace_copy_counts(copy).stored);
    if (waits)
        printf("%llu ms at most between two\n", (unsigned long long)longest / 1000000);
    trace_packets_close(packets);
    stop(trace_copy_close(copy, &problem), &problem);
    return 0;
}
