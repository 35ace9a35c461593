/* SPDX-License-Identifier: MIT */
/* agent_command.c: `dpm agent`: what a remote shell starts on each machine. See agent.h. */
#include "command/shared/command.h"

#include "agent/agent.h"
#include "command/service/service.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

#define CONFIGURATION "/etc/dpm/agent.json"

enum { SERVICE = OPTION_HELP + 1, CONFIG };

static const struct command_option agent_options[] = {
    {"service", SERVICE, {0}, "measure this machine until a signal, and send summaries"},
    {"config", CONFIG, {"FILE", ARGUMENT_FILE}, "of the service (" CONFIGURATION ")"},
    {0},
};

static int command_agent(int argc, char **argv)
{
    struct agent_options options = {0};
    struct problem problem;
    int option;

    const char *configuration = NULL;
    bool service = false;

    while ((option = command_next_option(&agent_command, argc, argv)) != -1) {
        if (option == SERVICE)
            service = true;
        else if (option == CONFIG)
            configuration = optarg;
        else
            return option == OPTION_HELP ? command_help("agent")
                                         : command_usage_error("agent", NULL);
    }
    if (optind < argc)
        return command_usage_error("agent", "unexpected argument '%s'", argv[optind]);
    if (!service && configuration != NULL)
        return command_usage_error("agent", "--config is for --service");
    if (service)
        return service_run(configuration != NULL              ? configuration
                           : access(CONFIGURATION, F_OK) == 0 ? CONFIGURATION
                                                              : NULL);
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
    .usage = "[--service [--config FILE]]",
    .function = command_agent,
    .options = agent_options,
};
