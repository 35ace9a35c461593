/* SPDX-License-Identifier: MIT */
/* agent_command.c: `dpm agent`: what a remote shell starts on each machine. See agent.h. */
#include "control/command.h"

#include "agent/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define PATIENCE_MOST (7u * 24 * 3600) /* s */

enum { PATIENCE = OPTION_HELP + 1 };

static const struct command_option agent_options[] = {
    {"patience", PATIENCE, {"TIME"}, "end after TIME without a connection (1m)"},
    {0},
};

static int take_patience(struct agent_options *options)
{
    uint64_t patience = 0;
    int result = option_time("agent", "patience", &patience);

    if (result >= 0)
        return result;
    if (patience < 1000000000ull || patience / 1000000000 > PATIENCE_MOST)
        return command_usage_error("agent", "--patience '%s': give a time from 1s to 168h", optarg);
    options->patience = (unsigned)(patience / 1000000000);
    return -1;
}

static int command_agent(int argc, char **argv)
{
    struct agent_options options = {0};
    struct problem problem;
    int option, result = -1;

    while (result < 0 && (option = command_next_option(&agent_command, argc, argv)) != -1) {
        if (option == PATIENCE)
            result = take_patience(&options);
        else
            result =
                option == OPTION_HELP ? command_help("agent") : command_usage_error("agent", NULL);
    }
    if (result >= 0)
        return result;
    if (optind < argc)
        return command_usage_error("agent", "unexpected argument '%s'", argv[optind]);
    if (isatty(STDIN_FILENO))
        return command_usage_error("agent", "a remote shell starts it, for dpm on another machine: "
                                            "see dpm acquire --host");
    if (agent_front(STDIN_FILENO, STDOUT_FILENO, &options, &problem) < 0)
        return command_error("agent: %s", problem.text);
    return EXIT_SUCCESS;
}

const struct command agent_command = {
    .name = "agent",
    .description = "record on this machine for dpm on another one",
    .usage = "[OPTION]...",
    .function = command_agent,
    .options = agent_options,
};
