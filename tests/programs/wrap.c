/* SPDX-License-Identifier: MIT */
/*
 * wrap.c: records a command as `dpm run` does, with given initial values for the sequence numbers, the lost records of
 * each stream and the skipped hooks, so that a test sees them pass 2^32.
 *
 *      usage: wrap TRACE FIRST_SEQUENCE FIRST_LOST FIRST_SKIPPED RING_SIZE READ_EVERY_MS COMMAND [ARGUMENT]...
 *
 * FIRST_PATH in the environment: how many paths have got their number already. Then files are metered, too.
 */
#include "launch/launch.h"
#include "meter/load/meter.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *sentence, void *context)
{
    (void)context;
    fprintf(stderr, "wrap: %s\n", sentence);
}

static int give_up(const struct problem *problem)
{
    fprintf(stderr, "wrap: %s\n", problem->text);
    return EXIT_FAILURE;
}

/* Returns as source.next() does. */
static int drain(struct meter_interface *meter, struct trace_writer *writer,
                 struct problem *problem)
{
    struct source *source = &meter->source;
    struct event event;
    uint64_t complete;
    int result;

    while ((result = source->next(source, &event, &complete, problem)) == SOURCE_RECORD)
        if ((result = trace_writer_append(writer, event.header, problem)) < 0)
            return result;
    for (unsigned ring = 0; ring < RING_COUNT; ring++)
        trace_writer_lost(writer, ring, meter->lost(meter, ring));
    return result;
}

int main(int argc, char **argv)
{
    struct meter_options options = {.flags = METER_EVENT_FLAGS};
    struct machine_record machine;
    struct launched command;
    struct meter_interface *meter;
    struct trace_writer *writer;
    struct problem problem;
    const char *first_path = getenv("FIRST_PATH");

    if (argc < 8) {
        fprintf(stderr, "usage: wrap TRACE FIRST_SEQUENCE FIRST_LOST FIRST_SKIPPED RING_SIZE "
                        "READ_EVERY_MS COMMAND ...\n");
        return 2;
    }
    options.first_sequence = (uint32_t)strtoul(argv[2], NULL, 0);
    options.first_lost = strtoull(argv[3], NULL, 0);
    options.first_skipped = strtoull(argv[4], NULL, 0);
    if (first_path != NULL) {
        options.first_path = (uint32_t)strtoul(first_path, NULL, 0);
        options.kinds = METER_ALL_KINDS | METER_FILE;
    }
    options.ring_size = (uint32_t)strtoul(argv[5], NULL, 0);
    useconds_t pause = (useconds_t)strtoul(argv[6], NULL, 0) * 1000;
    struct launch_options launch = {.arguments = argv + 7};
    machine_describe(&machine);
    machine.meter_flags = options.flags;
    if (launch_suspended(&launch, &command, &problem) < 0 ||
        meter_open(&options, &meter, &problem) < 0 ||
        trace_writer_new(argv[1], &machine, 4ULL << 30, &writer, &problem) < 0 ||
        meter->mark(meter, command.pid, &problem) < 0 || launch_release(&command, &problem) < 0)
        return give_up(&problem);
    int status;
    while (waitpid(command.pid, &status, WNOHANG) == 0) {
        usleep(pause);
        if (drain(meter, writer, &problem) < 0)
            return give_up(&problem);
    }
    int result;
    meter->detach(meter);
    while ((result = drain(meter, writer, &problem)) == SOURCE_NONE_YET)
        usleep(1000);
    if (result < 0 || trace_writer_close(writer, END_COMPLETE, &problem) < 0)
        return give_up(&problem);
    meter->report(meter, say, NULL);
    meter->close(meter);
    return EXIT_SUCCESS;
}
