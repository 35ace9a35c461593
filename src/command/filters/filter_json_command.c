/* SPDX-License-Identifier: MIT */
/*
 * filter_json_command.c: a custom filter for the shell: records as JSON, one a line, as `dpm dump --json` writes them.
 *
 *      dpm run --filter 'dpm filter --to-json | jq ...' -- COMMAND
 */
#include "command/filters/filter_json_command.h"

#include "command/shared/command.h"
#include "filter/packet_stream.h"
#include "show/show.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* What is printed goes on before the next packet is waited for. */
static void flush_if_idle(void)
{
    if (poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, 0) == 0)
        fflush(stdout);
}

static int write_all(struct packet_stream *stream, struct identities *identities,
                     struct problem *problem)
{
    struct record_face face = {
        .file = stdout, .identities = identities, .json = true, .machines = true};
    struct event event;
    int result;

    while ((result = packet_stream_next(stream, &event, problem)) > 0) {
        show_note_record(&face, &event);
        if (identities_add(identities, &event) < 0 || show_record(&face, &event) < 0)
            return problem_set(problem, -ENOMEM, "out of memory");
        identities_fade(identities, &event); /* else memory would grow with the stream */
        if (ferror(stdout))
            break;
        flush_if_idle();
    }
    int flushed = command_flush_output(problem);
    return result < 0 ? result : flushed;
}

int filter_to_json(int argc, char **argv)
{
    struct packet_stream *stream = NULL;
    struct identities *identities = NULL;
    struct problem problem;
    char missed[COUNTED_SIZE];

    if (optind < argc)
        return command_usage_error("filter",
                                   "--to-json reads packets from standard input: "
                                   "unexpected argument '%s' (dpm dump --json reads traces)",
                                   argv[optind]);
    if (isatty(STDIN_FILENO))
        return command_usage_error("filter",
                                   "--to-json reads packets from standard input: use it in "
                                   "--filter 'dpm filter --to-json | ...'");
    int result = packet_stream_new(STDIN_FILENO, &stream);
    if (result == 0)
        result = identities_new(&identities);
    if (result < 0)
        problem_set(&problem, result, "out of memory");
    else
        result = write_all(stream, identities, &problem);
    if (result >= 0 && packet_stream_missed(stream) > 0) {
        show_counted(packet_stream_missed(stream), "packet", missed);
        command_say("%s never came", missed);
    }
    packet_stream_free(stream);
    identities_free(identities);
    return result < 0 ? command_error("%s", problem.text) : EXIT_SUCCESS;
}
