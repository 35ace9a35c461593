/* SPDX-License-Identifier: MIT */
/* agent_command.c: `dpm agent`: what a remote shell starts on each machine. See agent.h. */
#include "control/command.h"

#include "agent/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int command_agent(int argc, char **argv)
{
    struct agent_options options = {0};
    struct problem problem;
    int option;

    while ((option = command_next_option(&agent_command, argc, argv)) != -1)
        return option == OPTION_HELP ? command_help("agent") : command_usage_error("agent", NULL);
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
    .usage = "",
    .function = command_agent,
};
