/* SPDX-License-Identifier: MIT */
/*
 * short_lived.c: writes a trace of very many idle processes, few of which exist at the same time.
 *
 *      usage: short-lived TRACE PROCESSES LIVING
 *
 *      creator  CREATEPROCESS    CREATEPROCESS    CREATEPROCESS ...
 *                    \ STARTPROCESS EXEC ... TERMINATION
 *                                      \ STARTPROCESS EXEC ... TERMINATION
 */
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>

#define CREATOR 1u
#define TICK    1000u /* ns from one record to the next */

struct world {
    struct trace_writer *writer;
    uint64_t time;
    uint32_t created; /* records of the creator so far */
};

static _Noreturn void fail(const struct problem *problem)
{
    fprintf(stderr, "short-lived: %s\n", problem->text);
    exit(1);
}

static void append(struct world *world, struct record_header *header)
{
    struct problem problem;

    header->time = world->time += TICK;
    if (trace_writer_append(world->writer, header, &problem) < 0)
        fail(&problem);
}

static void tell_stream(struct world *world, uint32_t number, uint32_t parent)
{
    struct stream_record record = {
        .header = {.id = EVENT_STREAM, .flags = RECORD_NO_STREAM, .stream = number},
        .pid = number,
        .tid = number,
        .process = number,
        .parent = parent,
        .start = world->time,
        .name = "job"};

    append(world, &record.header);
}

static void tell(struct world *world, enum event_id id, uint32_t stream, uint32_t sequence,
                 uint32_t child)
{
    struct record record = {.header = {.id = (uint8_t)id,
                                       .stream = stream,
                                       .sequence = sequence,
                                       .proc_time_and_pc = (uint64_t)(sequence + 1) * TICK}};

    if (id == EVENT_CREATEPROCESS)
        record.create.child = child;
    if (id == EVENT_TERMINATION)
        record.termination.last = 1;
    append(world, &record.header);
}

static void create(struct world *world, uint32_t number)
{
    tell_stream(world, number, CREATOR);
    tell(world, EVENT_CREATEPROCESS, CREATOR, world->created++, number);
    tell(world, EVENT_STARTPROCESS, number, 0, 0);
    tell(world, EVENT_EXEC, number, 1, 0);
}

int main(int count, char **arguments)
{
    struct world world = {.time = 1000000000};
    struct machine_record machine = {
        .header = {.time = world.time, .id = EVENT_MACHINE, .flags = RECORD_NO_STREAM},
        .machine_id = {1},
        .boot_id = {1},
        .meter_flags = METER_EVENT_FLAGS,
        .name = "one"};
    struct problem problem;

    if (count != 4) {
        fputs("usage: short-lived TRACE PROCESSES LIVING\n", stderr);
        return 2;
    }
    uint32_t processes = (uint32_t)strtoul(arguments[2], NULL, 10);
    uint32_t living = (uint32_t)strtoul(arguments[3], NULL, 10);
    if (trace_writer_new(arguments[1], &machine, UINT64_MAX, &world.writer, &problem) < 0)
        fail(&problem);
    tell_stream(&world, CREATOR, 0);
    for (uint32_t i = 0; i < processes + living; i++) {
        if (i < processes)
            create(&world, CREATOR + 1 + i);
        if (i >= living)
            tell(&world, EVENT_TERMINATION, CREATOR + 1 + i - living, 2, 0);
    }
    tell(&world, EVENT_TERMINATION, CREATOR, world.created, 0);
    if (trace_writer_close(world.writer, END_COMPLETE, &problem) < 0)
        fail(&problem);
    return 0;
}
