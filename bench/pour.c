/* SPDX-License-Identifier: MIT */
/*
 * pour.c: the trace writer alone. Records made in memory are written as `dpm run` writes the meter's: every 10 ms those
 * due by then, and a flush every second.
 *
 *      pour TRACE SECONDS RATE    prints "RECORDS SECONDS CPU_SECONDS MOST_WAITING"
 *
 *      due = RATE * time      ----------------------->
 *      written                ------------->|<--------> waiting: the ring capacity this would need
 */
#include "trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define SECOND 1000000000ull
#define PAUSE  10000000 /* ns */

struct pouring {
    struct trace_writer *writer;
    uint64_t written;
    uint64_t most_waiting;
    uint64_t flushed; /* time of the last flush, CLOCK_MONOTONIC */
};

static void give_up(const char *text)
{
    fprintf(stderr, "pour: %s\n", text);
    exit(EXIT_FAILURE);
}

static void append(struct pouring *pouring, struct record_header *header)
{
    struct problem problem;

    if (trace_writer_append(pouring->writer, header, &problem) < 0)
        give_up(problem.text);
    pouring->written++;
}

/* One process with one path, which all messages use. */
static void begin(struct pouring *pouring, const char *path)
{
    struct stream_record stream = {
        .header = {.id = EVENT_STREAM, .flags = RECORD_NO_STREAM, .stream = 1},
        .pid = 1,
        .tid = 1,
        .process = 1,
        .name = "pour",
    };
    struct path_record end = {
        .header = {.id = EVENT_PATH, .flags = RECORD_NO_STREAM},
        .path = 1,
        .kind = PATH_UNIX_STREAM,
        .family = AF_UNIX,
        .cookie = 1,
        .peer = 2,
    };
    struct machine_record machine;
    struct problem problem;

    machine_describe(&machine);
    if (trace_writer_new(path, &machine, UINT64_MAX, &pouring->writer, &problem) < 0)
        give_up(problem.text);
    stream.header.time = end.header.time = machine.header.time;
    append(pouring, &stream.header);
    append(pouring, &end.header);
}

/* Writes SENDs until this many records have been written. */
static void write_until(struct pouring *pouring, uint64_t due)
{
    uint64_t time = clock_now(CLOCK_MONOTONIC);

    if (due > pouring->written && due - pouring->written > pouring->most_waiting)
        pouring->most_waiting = due - pouring->written;
    while (pouring->written < due) {
        uint32_t number = (uint32_t)pouring->written;
        struct record record = {
            .header = {.time = time, .id = EVENT_SEND, .sequence = number, .stream = 1},
            .message = {.path = 1, .offset = number, .bytes = 1},
        };
        append(pouring, &record.header);
    }
}

static void flush(struct pouring *pouring, uint64_t now)
{
    struct problem problem;

    if (now - pouring->flushed < SECOND)
        return;
    if (trace_writer_flush(pouring->writer, &problem) < 0)
        give_up(problem.text);
    pouring->flushed = now;
}

static void pour(struct pouring *pouring, uint64_t seconds, uint64_t rate)
{
    const struct timespec pause = {.tv_nsec = PAUSE};
    uint64_t begun = clock_now(CLOCK_MONOTONIC);
    uint64_t now = begun;

    pouring->flushed = begun;
    while (pouring->written < seconds * rate) {
        nanosleep(&pause, NULL);
        now = clock_now(CLOCK_MONOTONIC);
        uint64_t passed = now - begun < seconds * SECOND ? now - begun : seconds * SECOND;
        write_until(pouring, passed * rate / SECOND);
        flush(pouring, now);
    }
}

int main(int argc, char **argv)
{
    struct pouring pouring = {0};
    struct problem problem;
    uint64_t seconds = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t rate = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;

    if (seconds == 0 || rate == 0) {
        fprintf(stderr, "usage: pour TRACE SECONDS RATE\n");
        return 2;
    }
    uint64_t begun = clock_now(CLOCK_MONOTONIC);
    begin(&pouring, argv[1]);
    pour(&pouring, seconds, rate);
    if (trace_writer_close(pouring.writer, END_COMPLETE, &problem) < 0)
        give_up(problem.text);
    printf("%" PRIu64 " %.6f %.6f %" PRIu64 "\n", pouring.written,
           (double)(clock_now(CLOCK_MONOTONIC) - begun) / (double)SECOND,
           (double)clock_now(CLOCK_PROCESS_CPUTIME_ID) / (double)SECOND, pouring.most_waiting);
    return EXIT_SUCCESS;
}
