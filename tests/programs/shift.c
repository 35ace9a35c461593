/* SPDX-License-Identifier: MIT */
/*
 * shift.c: copies a trace as if a different machine with a different clock had recorded it.
 *
 *      usage: shift FROM TO SECONDS [PPM]
 *
 * Every time is SECONDS later, also by the wall clock, and the machine is a new one. With PPM, its clock is faster, too, by
 * so many millionths from the beginning of the trace on.
 */
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const struct problem *problem)
{
    fprintf(stderr, "shift: %s\n", problem->text);
    exit(1);
}

/* The clock of the copy. */
struct clock {
    uint64_t shift, begin; /* ns */
    double ppm;
};

static uint64_t by_clock(const struct clock *clock, uint64_t time)
{
    double gone = (double)(int64_t)(time - clock->begin);

    return time + clock->shift + (uint64_t)(int64_t)(gone * clock->ppm * 1e-6);
}

/* The machine of the copy, made from the first record. */
static struct machine_record machine_of(struct source *source, struct clock *clock,
                                        struct problem *problem)
{
    struct event event;
    uint64_t complete;

    if (source->next(source, &event, &complete, problem) != SOURCE_RECORD ||
        event.header->id != EVENT_MACHINE) {
        problem_set(problem, -1, "the trace does not begin with its machine");
        fail(problem);
    }
    struct machine_record machine = *(const struct machine_record *)event.header;
    clock->begin = machine.header.time;
    machine.header.time = by_clock(clock, machine.header.time);
    machine.boot_id[0] ^= 0xff;
    machine.machine_id[0] ^= 0xff;
    return machine;
}

static int copy(struct source *source, struct trace_writer *writer, const struct clock *clock,
                struct problem *problem)
{
    struct event event;
    uint64_t complete;
    int result;

    while ((result = source->next(source, &event, &complete, problem)) == SOURCE_RECORD) {
        char record[1024];
        memcpy(record, event.header, event_size(event.header->id));
        struct record_header *header = (struct record_header *)record;
        header->time = by_clock(clock, header->time);
        if (header->id == EVENT_STREAM)
            ((struct stream_record *)record)->start += clock->shift;
        if (header->id == EVENT_END)
            continue; /* the writer makes its own */
        if (trace_writer_append(writer, header, problem) < 0)
            return -1;
    }
    return result;
}

int main(int count, char **arguments)
{
    struct problem problem = {""};
    struct trace_writer *writer;
    struct source *source;

    if (count != 4 && count != 5) {
        fprintf(stderr, "usage: shift FROM TO SECONDS [PPM]\n");
        return 2;
    }
    struct clock clock = {.shift = strtoull(arguments[3], NULL, 10) * 1000000000u,
                          .ppm = count == 5 ? atof(arguments[4]) : 0};
    const char *from[] = {arguments[1]};
    if (trace_open(from, 1, &source, &problem) < 0)
        fail(&problem);
    struct machine_record machine = machine_of(source, &clock, &problem);
    if (trace_writer_new(arguments[2], &machine, 1ULL << 32, &writer, &problem) < 0 ||
        copy(source, writer, &clock, &problem) < 0 ||
        trace_writer_close(writer, END_COMPLETE, &problem) < 0)
        fail(&problem);
    trace_close(source);
    return 0;
}
